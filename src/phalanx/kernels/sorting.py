# SPDX-License-Identifier: Apache-2.0
"""Short runs of whole numbers in order, for kernels: numba takes ten times as long to compile its
own sorts, which a first run waits for.
"""

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.kernels import njit


@njit(cache=True, nogil=True, fastmath=False)
def sort(keys: Ints | Codes) -> None:
    """Put ``keys`` (n,) into ascending order, in place.

    Source: Shell, "A high-speed sorting procedure", Communications of the ACM 2(7), 1959; the gaps
    grow by 9/4 (Tokuda).
    """
    n, gap = len(keys), 1
    while gap < n // 2:
        gap = gap * 9 // 4 + 1
    while gap > 0:
        for i in range(gap, n):
            key, j = keys[i], i
            while j >= gap and keys[j - gap] > key:
                keys[j] = keys[j - gap]
                j -= gap
            keys[j] = key
        gap = 1 if gap == 2 else gap * 4 // 9


@njit(cache=True, nogil=True, fastmath=False)
def from_most(counts: Ints) -> Ints:
    """The places of ``counts`` (q,), none below 0, from the largest to the smallest; equal ones as
    they stand.

    Counts times q stay below 2^63.
    """
    q, most = len(counts), 0
    for count in counts:
        most = max(most, count)
    keys = np.empty(q, dtype=np.int64)
    for place in range(q):
        keys[place] = (most - counts[place]) * q + place
    sort(keys)
    for place in range(q):
        keys[place] %= q
    return keys


__all__ = ["from_most", "sort"]
