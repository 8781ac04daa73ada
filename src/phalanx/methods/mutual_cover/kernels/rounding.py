# SPDX-License-Identifier: Apache-2.0
"""Random output tables in whole numbers: every row sums to the denominator, and delta-probability
holds with no tolerance.

A table of floating point numbers keeps its promise up to rounding, and a promise that holds up to
rounding does not hold. Here a cell is n_ij of D, and what is promised is checked as integers: sum_j
n_ij = D, n_ij >= 0 and den * n_ij <= num * f_j, where f_j = sum_i c_i n_ij and delta = num / den.

Where the nearest whole numbers keep it, they are taken; a denominator with many divisors makes that
frequent, as optimal tables are made of small fractions. Else all cells are rounded down, and
further to the greatest table below that keeps delta-probability, which a row then misses a few
units of D. They are added where there is room: to cells that are below what delta allows, or to one
column for all rows that miss something. Where even that is too tight, a little more is taken from
all cells for the one column, which any table of m > 1/delta tuples allows.

Every function here releases the lock.
"""

from typing import Any, Final

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.kernels import njit
from phalanx.methods.mutual_cover.kernels.program import Grid

NEAREST, ROOM, COLUMN, MIXED = 0, 1, 2, 3
_PASSES: Final = 64

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def _allowed(f: int, num: int, den: int) -> int:
    """The greatest integer that is at most num/den of ``f``, without overflow as both parts are
    below 2**31.
    """
    return f // den * num + f % den * num // den


@_kernel
def _mass(c: Ints, n: Ints, j: int) -> int:
    """How many units all tuples together give to column ``j``."""
    f = 0
    for i in range(len(c)):
        f += c[i] * n[i, j]
    return f


@_kernel
def _keeps(c: Ints, n: Ints, num: int, den: int, d: int) -> bool:
    """Whether rows sum to ``d`` and columns keep delta-probability, in integers."""
    holds = True
    for i in range(len(c)):
        holds = holds and n[i].sum() == d and n[i].min() >= 0
    for j in range(len(c)):
        holds = holds and n[:, j].max() <= _allowed(_mass(c, n, j), num, den)
    return holds


@_kernel
def _floor(p: Floats, scale: float, n: Ints) -> None:
    """``scale`` times ``p`` rounded down; what floating point left just below a whole number is
    that number, and no row becomes more than whole.
    """
    k = len(n)
    for i in range(k):
        for j in range(k):
            n[i, j] = np.int64(np.floor(p[i, j] * scale + 1.0 / (8.0 * k)))


@_kernel
def _down(c: Ints, num: int, den: int, n: Ints) -> bool:
    """Lower cells to the greatest table below whose columns keep delta-probability; False where
    that would be far below.
    """
    k = len(c)
    for j in range(k):
        lowered, passes = True, 0
        while lowered:
            lowered = False
            passes += 1
            most = _allowed(_mass(c, n, j), num, den)
            tuples = 0
            for i in range(k):
                tuples += c[i] if n[i, j] > 0 else 0
            if tuples * num < den:  # too few to cover for each other, however little they give
                most = 0
            for i in range(k):
                if n[i, j] > most:
                    n[i, j] = most
                    lowered = True
            if passes > _PASSES:
                return False
    return True


@_kernel
def _up(c: Ints, p: Floats, num: int, den: int, n: Ints) -> None:
    """Raise cells with a probability, none above the greatest of its column, until the columns keep
    delta-probability as well as that can do.
    """
    k = len(c)
    for j in range(k):
        top = n[:, j].max()
        need = top // num * den + (top % num * den + num - 1) // num - _mass(c, n, j)
        for i in range(k):
            if need > 0 and p[i, j] > 0.0 and n[i, j] < top:
                units = min(top - n[i, j], (need + c[i] - 1) // c[i])
                n[i, j] += units
                need -= units * c[i]


@_kernel
def _fill(c: Ints, n: Ints, num: int, den: int, missing: Ints) -> int:
    """Add what rows are ``missing`` to cells of theirs that are above 0 and have room for it;
    returns how many rows still miss something.
    """
    k = len(c)
    left = k + 1
    while True:
        now = 0
        for i in range(k):
            for j in range(k):
                if (
                    missing[i] > 0
                    and n[i, j] > 0
                    and n[i, j] + missing[i]
                    <= _allowed(_mass(c, n, j) + c[i] * missing[i], num, den)
                ):
                    n[i, j] += missing[i]
                    missing[i] = 0
            if missing[i] > 0:
                now += 1
        if now in {0, left}:
            return now
        left = now


@_kernel
def _into_one(c: Ints, d: Floats, n: Ints, num: int, den: int, missing: Ints) -> bool:
    """Add what rows are ``missing`` to one column, of those that allow it the one with the fewest
    new cells, of equals the cheapest.
    """
    k = len(c)
    best, fewest, cheapest = -1, k + 1, np.inf
    for j in range(k):
        most = _allowed(_mass(c, n, j) + (c * missing).sum(), num, den)
        allows, new, cost = True, 0, 0.0
        for i in range(k):
            allows = allows and n[i, j] + missing[i] <= most
            cost += c[i] * missing[i] * d[i, j]
            if missing[i] > 0 and n[i, j] == 0:
                new += 1
        if allows and (new < fewest or (new == fewest and cost < cheapest)):
            best, fewest, cheapest = j, new, cost
    if best < 0:
        return False
    for i in range(k):
        n[i, best] += missing[i]
    return True


@_kernel
def _exact(c: Ints, d: Floats, p: Floats, num: int, den: int, denominator: int, n: Ints) -> int:
    """Fill ``n`` with the units of a problem's table ``p``; returns which way it went, or -1 where
    none was found.
    """
    k = len(c)
    for i in range(k):
        for j in range(k):
            n[i, j] = np.int64(np.rint(p[i, j] * denominator))
    if _keeps(c, n, num, den, denominator):
        return NEAREST
    missing, spread = np.empty(k, np.int64), np.empty(k, np.int64)
    taken = 0  # units of every row that go to the one column beside what rounding left
    while True:
        _floor(p, np.float64(denominator - taken), n)
        if taken > 0:
            _up(c, p, num, den, n)
        if _down(c, num, den, n):
            for i in range(k):
                missing[i] = denominator - n[i].sum()
            least = missing.min()
            if least >= 0:
                for i in range(len(missing)):
                    spread[i] = missing[i] - least
                _fill(c, n, num, den, spread)
                spread += least
                if _fill(c, n, num, den, spread) == 0:
                    return ROOM
                if _into_one(c, d, n, num, den, spread):
                    return COLUMN if taken == 0 else MIXED
        if taken == denominator:
            return -1
        taken = min(max(1, 2 * taken), denominator)


@_kernel
def exact(
    grid: Grid,
    table: Floats,
    num: int,
    den: int,
    denominator: int,
    units: Ints,
    way: Ints,
    which: Ints,
) -> None:
    """Fill ``units`` with the tables of the problems ``which`` of the ``grid`` in whole numbers of
    1/``denominator``, and ``way`` with how they were found.

    ``table`` holds them as floating point numbers; delta is ``num / den``, at least 1/m of every
    problem. The ``denominator`` times the tuples of any problem is below 2**62, so that no sum
    overflows. A way of -1 says that no table was found, which happens to no table that
    :func:`~phalanx.methods.mutual_cover.kernels.program.least` makes.
    """
    starts, cells = grid.starts, grid.cells
    for t in which:
        c = grid.counts[starts[t] : starts[t + 1]]
        k = len(c)
        d = grid.distances[cells[t] : cells[t] + k * k].reshape(k, k)
        p = table[cells[t] : cells[t] + k * k].reshape(k, k)
        n = units[cells[t] : cells[t] + k * k].reshape(k, k)
        way[t] = _exact(c, d, p, num, den, denominator, n)
        if not _keeps(c, n, num, den, denominator):
            way[t] = -1
