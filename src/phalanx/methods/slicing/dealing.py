# SPDX-License-Identifier: Apache-2.0
"""Buckets of slicing that are dealt out at random, and buckets that are put together until they
keep a promise.
"""

from collections.abc import Callable

import numpy as np

from phalanx.arrays import Ints
from phalanx.randomness import Stream


def at_random(rows: int, size: int, stream: Stream) -> Ints:
    """Buckets of ``size`` rows dealt at random, the last ones one larger; shape (rows,)."""
    buckets = np.empty(rows, dtype=np.int64)
    buckets[stream.permutation(rows)] = np.arange(rows) % max(1, rows // size)
    return buckets


def merged(buckets: Ints, keeps: Callable[[Ints], bool]) -> Ints:
    """Buckets, 0 .. g-1, of which those that do not keep the promise are put together until all do;
    it is kept by all rows as one bucket.
    """
    order = np.argsort(buckets, kind="stable")
    good: list[Ints] = []
    waiting: list[Ints] = []
    for piece in np.split(order, np.flatnonzero(np.diff(buckets[order])) + 1):
        (good if keeps(piece) else waiting).append(piece)
    while waiting:
        piece = waiting.pop()
        if not waiting and not good:
            good.append(piece)
            break
        joined = np.concatenate([piece, good.pop(0) if good else waiting.pop()])
        (good if keeps(joined) else waiting).append(joined)
    bucket_of = np.empty(len(buckets), dtype=np.int64)
    for b, piece in enumerate(good):
        bucket_of[piece] = b
    return bucket_of
