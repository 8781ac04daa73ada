# SPDX-License-Identifier: Apache-2.0
"""How many rows in excess of a crowd the parts of a box would have, after every cut and in every
child, for the private partition.

Rows are given by cells: ``fixed`` (r,), ascending, the cell that the fixed attributes put a row
into; rows of different such cells are never published as one, so the excess is taken in each of
them and added up.
"""

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.kernels import njit


@njit(cache=True, nogil=True, fastmath=False)
def _end(fixed: Ints, start: int) -> int:
    """Where the rows end that have the fixed cell of the row at ``start``."""
    end = start
    while end < len(fixed) and fixed[end] == fixed[start]:
        end += 1
    return end


@njit(cache=True, nogil=True, fastmath=False)
def cut_excess(fixed: Ints, cell: Codes, low: int, high: int, crowd: int) -> tuple[Ints, Ints]:
    """The sum of max(0, rows - ``crowd``) on either side of every cut of one attribute.

    ``cell`` (r,): the attribute's cell of every row, ``low <= cell < high``. Returns the excess
    below and above each of the high - low - 1 inner edges.
    """
    m = high - low
    below = np.zeros(m - 1, dtype=np.int64)
    above = np.zeros(m - 1, dtype=np.int64)
    rows = np.zeros(m, dtype=np.int64)
    start = 0
    while start < len(fixed):
        end = _end(fixed, start)
        if end - start > crowd:
            rows[:] = 0
            for i in range(start, end):
                rows[cell[i] - low] += 1
            left = 0
            for e in range(m - 1):
                left += rows[e]
                if left > crowd:
                    below[e] += left - crowd
                if end - start - left > crowd:
                    above[e] += end - start - left - crowd
        start = end
    return below, above


@njit(cache=True, nogil=True, fastmath=False)
def child_excess(fixed: Ints, child: Codes, children: int, crowd: int) -> Ints:
    """The sum of max(0, rows - ``crowd``) in every child of a node, shape (``children``,).

    ``child`` (r,): the child of every row, 0 .. children-1.
    """
    excess = np.zeros(children, dtype=np.int64)
    rows = np.zeros(children, dtype=np.int64)
    start = 0
    while start < len(fixed):
        end = _end(fixed, start)
        if end - start > crowd:
            for i in range(start, end):
                rows[child[i]] += 1
            for i in range(start, end):
                if rows[child[i]] > crowd:
                    excess[child[i]] += rows[child[i]] - crowd
                rows[child[i]] = 0
        start = end
    return excess
