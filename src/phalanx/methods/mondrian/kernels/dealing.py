# SPDX-License-Identifier: Apache-2.0
"""How rows of a node are dealt out, where balanced cuts have to be even: into how many, and which;
numbers of rows and lots alone decide. Source: our own; see ``balanced.py``.
"""

from typing import Any, Final

import numpy as np

from phalanx.arrays import Codes
from phalanx.kernels import njit
from phalanx.methods.mondrian.kernels.dividing import Room, kth

DEALS: Final = 20
"""How often lots are drawn for parts of the same sizes."""

THIRDS: Final = 27
"""The largest number of parts, a power of three, into which a part is cut before it is halved."""
_HALVED: Final = 4
"""How much larger groups come to be where a part cannot be halved down to them: by so many over the
largest power of two that divides its rows.
"""
_APART: Final = 1.3
"""How much larger groups come to be, about, in what is left."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def dealt_apart(n: int, unit: int, smallest: int, d: int, most_thirds: int) -> tuple[int, int]:
    """How many of ``n`` rows are dealt out as one part, and the size that its groups come to, of
    ``unit`` rows at least: that times a power of two, and times a power of three up to
    ``most_thirds``, is the number of rows. All rows where the rest is dealt out no more.

    Neither of two parts is below ``smallest``. They are those that promise the narrowest boxes on
    ``d`` attributes: fewer rows stand further apart, and where a part can be halved more often,
    more cuts are tried where one fails.
    """
    best, rows_dealt, comes_to, thirds = np.inf, n, n, 1
    while thirds <= most_thirds:
        ways = thirds
        while ways <= n // unit:
            for most in (n, n - smallest):
                size = most // ways
                rows = size * ways
                rest = n - rows
                if size >= unit and (rest == 0 or min(rest, rows) >= smallest):
                    group = min(size * (1 + _HALVED / (rows & -rows)), rows)
                    width = rows * (group / rows) ** (1 / d)
                    width += rest * (_APART * unit / max(rest, 1)) ** (1 / d)
                    if width <= best:
                        best, rows_dealt, comes_to = width, rows, size
            ways *= 2
        thirds *= 3
    return rows_dealt, comes_to


@_kernel
def deal_out(lots: Codes, first: int, wanted: int, room: Room) -> None:
    """Set ``room.part_of`` to 0 for so many rows as are ``wanted``, of all with ``lots`` (r,), none
    of them twice, to 1 for the others: those from the ``first`` lot on, from 0, and after the last
    lot from the least one on. The rest of ``room`` is scratch.
    """
    size, end, spare = len(lots), first + wanted, np.empty(len(lots), np.int32)
    from_lot = kth(lots, size, first + 1, spare, room.counts)
    behind = end if end < size else end - size
    to_lot = kth(lots, size, behind + 1, spare, room.counts)
    for i in range(size):
        after, before = lots[i] >= from_lot, lots[i] < to_lot
        dealt = after and before if end < size else after or before
        room.part_of[i] = np.int32(0) if dealt else np.int32(1)
