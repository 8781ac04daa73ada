# SPDX-License-Identifier: Apache-2.0
"""Where a region is cut, and which rows come into which part of it: of these, sensitive values have
no part.
"""

import numpy as np

from phalanx.arrays import Codes, Floats, Ints
from phalanx.kernels import njit


@njit(cache=True, nogil=True, fastmath=False)
def halved(counts: Ints, positions: Floats) -> tuple[int, float]:
    """The cut of a line that makes parts of most equal size, of two such the first, as the number
    of places before it, and by how much it takes off the spread.

    ``counts`` (p,): the rows at each place; ``positions`` (p,): where it lies. With a place or none
    there is no cut: 0.
    """
    rows = counts.sum()
    middle, before, nearest = 0, 0, rows + 1
    for place in range(len(counts) - 1):
        before += counts[place]
        off = abs(2 * before - rows)
        if off < nearest:
            middle, nearest = place + 1, off
    parts = _spread(counts[:middle], positions[:middle])
    parts += _spread(counts[middle:], positions[middle:])
    return middle, _spread(counts, positions) - parts


@njit(cache=True, nogil=True, fastmath=False)
def _spread(counts: Ints, positions: Floats) -> float:
    """Rows times the standard deviation of their positions; ``counts`` (p,) are at each of the
    ``positions`` (p,).
    """
    rows, total, squares = 0, 0.0, 0.0
    for place in range(len(counts)):
        rows += counts[place]
        total += counts[place] * positions[place]
    if rows == 0:
        return 0.0
    mean = total / rows
    for place in range(len(counts)):
        squares += counts[place] * (positions[place] - mean) ** 2
    return rows * float(np.sqrt(squares / rows))


@njit(cache=True, nogil=True, fastmath=False)
def parted(codes: Codes, rows: Ints, begins: int) -> tuple[Ints, Ints]:
    """Those of ``rows`` (r,) whose ``codes`` (n,) are below that where a second part ``begins``, and
    all others; both as they stand.
    """
    parts, i, j = np.empty_like(rows), 0, len(rows)
    for row in rows:
        if codes[row] < begins:
            parts[i] = row
            i += 1
        else:
            j -= 1
            parts[j] = row
    return parts[:i], parts[i:][::-1].copy()


__all__ = ["halved", "parted"]
