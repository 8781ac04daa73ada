# SPDX-License-Identifier: Apache-2.0
"""Groups whose tuples publish alike, after rows were exchanged between those near each other."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from phalanx.arrays import Ints, in_order
from phalanx.data.column import Column
from phalanx.data.distances import Distance, Levels
from phalanx.methods.mutual_cover.kernels import exchanges as kernel
from phalanx.methods.mutual_cover.program import in_threads

_BLOCK: Final = 16384
"""Rows are exchanged within about so many, which stand together as the table was cut."""
_LARGE: Final = 500_000
"""And in tables of so many rows within half of them: these have others near enough."""
_GROUPS: Final = 2048
"""And within no more groups than about so many: which were compared takes the square of them."""


def exchanged(
    columns: Sequence[Column], distances: Sequence[Distance], group: Ints, asked: kernel.Asked
) -> Ints:
    """The group of every row, 0 .. g-1, shape (n,), after exchanges that bring the rows of a group
    nearer to each other: as many groups, in the same order, each large enough, with rows that can
    all change where they could before.

    By quasi-identifiers alone, without randomness, and the same whatever the number of threads. A
    distance by a matrix is taken for the line of its values.
    """
    n, rows = len(group), as_rows(columns, distances)
    order, size = in_order(group), np.bincount(group)
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    most = _BLOCK if n < _LARGE else _BLOCK // 2
    block = min(most, max(1, _GROUPS * n // max(1, len(size))))
    ends = np.searchsorted(first, np.append(np.arange(0, n, block), n))
    blocks = np.unique(ends)
    of = group.copy()
    work = partial(kernel.exchange, asked, rows, of, order, first, blocks)
    in_threads(work, np.arange(len(blocks) - 1), alone=2)
    return of


def as_rows(columns: Sequence[Column], distances: Sequence[Distance]) -> kernel.Rows:
    """Where rows lie, as kernels take it."""
    codes = np.stack([column.codes for column in columns], axis=1)
    n = len(codes)
    at, nodes, steps = [np.zeros((n, 0))], [np.zeros((n, 0), np.int32)], [np.zeros(0)]
    for column, distance in zip(columns, distances, strict=True):
        if isinstance(distance, Levels):
            levels = distance.ancestors[:-1]
            nodes.append(levels[:, column.codes].T)
            steps.append(np.full(len(levels), 1 / max(len(levels), 1)))
        else:
            at.append(distance.line[column.codes, None])
    return kernel.Rows(
        codes, np.concatenate(at, axis=1), np.concatenate(nodes, axis=1), np.concatenate(steps)
    )
