# SPDX-License-Identifier: Apache-2.0
"""Random output tables of least cost: one small linear program per group and attribute, solved to a
proven optimum.

Source: Li, Ma, Xi, Zhang, Xie, Shang, "MuCo: Publishing Microdata with Privacy Preservation through
Mutual Cover", section 4 (calculate_table). A problem has k classes (distinct original values) with
counts c_i, m tuples in all, and the distance d_ij from value i to value j. Its table p says with
which probability p_ij a tuple of class i publishes value j: sum_i c_i sum_j d_ij p_ij is least,
rows sum to 1, and no tuple feeds more than delta of a column: p_ij <= delta * sum_h c_h p_hj.

How we differ from the paper, which gives all k * k cells to a general solver: a column that keeps
delta-probability is a sum of covers, where a cover of value j is a column of mass 1 (sum_i c_i w_i
= 1, 0 <= w_i <= delta). So the program is to cover every class exactly once by covers, one row per
class, and covers are made when they pay: given the price u_i of class i, the best cover of j takes
the classes of least d_ij - u_i / c_i, each as far as delta goes. That is a simplex method with a k
x k basis. The same prices prove the optimum: where no cover costs less than its classes' prices,
sum_i u_i is a lower bound, and what is missing to that is given back with every table.

The steps of that method, from ``price`` to ``inverted``, are those of ``joint_program`` too.

Every function here releases the lock, so that problems are solved by several threads at once.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.kernels import njit


class Grid(NamedTuple):
    """Problems: t has the classes ``starts[t] .. starts[t + 1] - 1`` of ``counts``; its distances
    and its table, row by row, stand from ``cells[t]`` on.
    """

    counts: Ints
    starts: Ints
    distances: Floats
    cells: Ints


class Solution(NamedTuple):
    """What a kernel fills: the cells of tables, and of each problem or group, what its tables cost
    and a lower bound on that.
    """

    table: Floats
    cost: Floats
    bound: Floats


_PIVOT: Final = 1e-9
"""A pivot below this part of the greatest is taken for zero."""
_EQUAL: Final = 1e-12
"""Weights that differ by less are equal."""
_ENOUGH: Final = 1e-11
"""A cover that saves less than this part of the greatest distance is not worth a step."""
_SUM: Final = 1e-10
"""A row's sum is no further from 1."""
_MOST: Final = 40
"""So many steps per class are taken before a problem is given up."""
_FRESH: Final = 48
"""After so many steps the inverse is made anew."""
_ARTIFICIAL: Final = -1

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def _least(
    c: Ints, d: Floats, delta: float, table: Floats, most: int, slack: float
) -> tuple[float, float]:
    """Fill ``table`` with a problem's probabilities, in at ``most`` so many steps; returns its cost
    and a lower bound on every table's cost.
    """
    k, m, greatest = len(c), c.sum(), d.max()
    if greatest == 0.0:
        greatest = 1.0
    # At first every class is covered by an artificial cover, which costs more than any real ones
    # could.
    basis, costs, values = np.eye(k), 4.0 * m * greatest * c, np.full(k, _ARTIFICIAL)
    inverse, work, x, sums = np.eye(k), np.empty((k, k)), np.ones(k), np.ones(k)
    orders = np.empty((k, k), np.int64)
    for j in range(k):
        orders[j] = np.arange(k)
    u, reduced, w, step = np.empty(k), np.empty(k), np.empty(k), np.empty(k)
    taken, age = 0, 0
    while True:
        u[:] = 0.0
        for b in range(k):
            for i in range(k):
                u[i] += costs[b] * inverse[b, i]
        entering, saving = -1, -_ENOUGH * greatest
        for j in range(k):
            cost = price(c, d, delta, u, j, orders[j], reduced)
            if cost < saving:
                entering, saving = j, cost
        if entering < 0 or taken >= most:
            if age == 0 or not inverted(basis, sums, inverse, work, x):
                break
            age = 0
            continue
        cover(c, delta, orders[entering], w)
        for b in range(k):
            step[b] = 0.0
            for i in range(k):
                step[b] += inverse[b, i] * w[i]
        out = leaves(x, inverse, step, slack)
        if out < 0:
            break
        inverse[out] /= step[out]
        x[out] /= step[out]
        for b in range(k):
            factor = step[b]
            if b != out and factor != 0.0:
                for i in range(k):
                    inverse[b, i] -= factor * inverse[out, i]
                x[b] -= factor * x[out]
        basis[out], values[out], costs[out] = w, entering, 0.0
        for i in range(k):
            costs[out] += c[i] * w[i] * d[i, entering]
        taken += 1
        age += 1
        if age == _FRESH:
            age = 0
            if not inverted(basis, sums, inverse, work, x):
                break
    table[:] = 0.0
    for b in range(k):
        if values[b] != _ARTIFICIAL and x[b] > 0.0:
            for i in range(k):
                table[i, values[b]] += x[b] * basis[b, i]
    return _cost(c, d, table), _bound(c, d, delta, u)


@_kernel
def _cost(c: Ints, d: Floats, table: Floats) -> float:
    """What a ``table`` costs; infinity where a row does not sum to 1 as well as sums of fractions
    do.
    """
    cost = 0.0
    for i in range(len(c)):
        if not abs(table[i].sum() - 1.0) <= _SUM:
            return np.inf
        for j in range(len(c)):
            cost += c[i] * d[i, j] * table[i, j]
    return cost


@_kernel
def _bound(c: Ints, d: Floats, delta: float, u: Floats) -> float:
    """The bound that prices ``u`` prove, by the theorem of weak duality: where a cover undercuts
    them, all prices of a tuple are lowered by as much.
    """
    order, reduced = np.arange(len(c)), np.empty(len(c))
    short = 0.0
    for j in range(len(c)):
        short = min(short, price(c, d, delta, u, j, order, reduced))
    return float(u.sum() + c.sum() * short)


@_kernel
def _only(c: Ints, d: Floats, table: Floats) -> float:
    """The table where delta is 1/m, and a value published by anybody is published by all alike: the
    value at the least distance from all; its cost.
    """
    best, least_cost = 0, np.inf
    for j in range(len(c)):
        cost = 0.0
        for i in range(len(c)):
            cost += c[i] * d[i, j]
        if cost < least_cost:
            best, least_cost = j, cost
    table[:] = 0.0
    table[:, best] = 1.0
    return least_cost


@_kernel
def least(grid: Grid, num: int, den: int, slack: float, solution: Solution, which: Ints) -> None:
    """Solve the problems ``which`` of the ``grid``: fill their parts of the ``solution``.

    delta is ``num / den``, at least 1/m of every problem. A cost is infinite where no table was
    found; a little ``slack`` finds it where covers are nearly alike.
    """
    starts, cells = grid.starts, grid.cells
    table, cost, bound = solution
    for t in which:
        c = grid.counts[starts[t] : starts[t + 1]]
        k = len(c)
        d = grid.distances[cells[t] : cells[t] + k * k].reshape(k, k)
        p = table[cells[t] : cells[t] + k * k].reshape(k, k)
        if c.sum() * num == den:
            cost[t] = bound[t] = _only(c, d, p)
        else:
            cost[t], bound[t] = _least(c, d, num / den, p, _MOST * (k + 5), slack)


@_kernel
def proven(c: Ints, d: Floats, delta: float, table: Floats, u: Floats) -> tuple[float, float]:
    """What a ``table`` of another solver costs, and the lower bound that its prices ``u`` prove,
    for counts ``c``, distances ``d`` and ``delta``.
    """
    return _cost(c, d, table), _bound(c, d, delta, u)


@_kernel
def price(
    c: Ints, d: Floats, delta: float, u: Floats, j: int, order: Ints, reduced: Floats
) -> float:
    """What the best cover of value ``j`` costs more than its classes' prices; ``order`` becomes the
    classes by what a unit of them costs.

    ``c`` are the tuples of the classes, ``d`` the distances, ``delta`` the greatest weight, ``u``
    the prices of the classes; ``reduced`` is filled with what a unit of each class costs more than
    its price.
    """
    k = len(c)
    for i in range(k):
        reduced[i] = d[i, j] - u[i] / c[i]
    for x in range(1, k):  # the order of last time is nearly the order of now
        i = order[x]
        r = reduced[i]
        y = x - 1
        while y >= 0 and reduced[order[y]] > r:
            order[y + 1] = order[y]
            y -= 1
        order[y + 1] = i
    left, cost = 1.0, 0.0
    for x in range(k):
        i = order[x]
        part = min(left, delta * c[i])
        cost += part * reduced[i]
        left -= part
        if left <= 0.0:
            break
    return cost


@_kernel
def cover(c: Ints, delta: float, order: Ints, w: Floats) -> None:
    """The cover that takes classes of ``c`` tuples in ``order``, each as far as ``delta`` goes,
    into ``w``.
    """
    w[:] = 0.0
    left = 1.0
    for x in range(len(c)):
        i = order[x]
        if delta * c[i] >= left:
            w[i] = left / c[i]
            return
        w[i] = delta
        left -= delta * c[i]


@_kernel
def invert(basis: Floats, inverse: Floats, work: Floats) -> bool:
    """Fill ``inverse`` with that of the matrix whose columns are the rows of ``basis``; False where
    there is none worth the name. ``work`` is overwritten.
    """
    k = len(basis)
    for i in range(k):
        for b in range(k):
            work[i, b] = basis[b, i]
            inverse[i, b] = 1.0 if i == b else 0.0
    for step in range(k):
        best = step
        for i in range(step + 1, k):
            if abs(work[i, step]) > abs(work[best, step]):
                best = i
        pivot = work[best, step]
        if abs(pivot) < 1e-13:
            return False
        for b in range(k):
            work[step, b], work[best, b] = work[best, b], work[step, b]
            inverse[step, b], inverse[best, b] = inverse[best, b], inverse[step, b]
        for b in range(k):
            work[step, b] /= pivot
            inverse[step, b] /= pivot
        for i in range(k):
            if i != step and work[i, step] != 0.0:
                factor = work[i, step]
                for b in range(k):
                    work[i, b] -= factor * work[step, b]
                    inverse[i, b] -= factor * inverse[step, b]
    return True


@_kernel
def leaves(x: Floats, inverse: Floats, step: Floats, slack: float) -> int:
    """The basic cover that goes first when another comes in, or -1.

    ``x`` are the weights of the basic covers, ``inverse`` is that of the basis, and ``step`` by how
    much each weight falls for one of what comes in. Of equals the lexicographically least, so that
    the method never turns in a circle. With ``slack``, weights may fall that far below zero for a
    greater pivot, which keeps the inverse good where covers are nearly alike.
    """
    k = len(x)
    pivot = max(_PIVOT * step.max(), 0.0)
    out = -1
    if slack > 0.0:
        reach = np.inf
        for b in range(k):
            if step[b] > pivot:
                reach = min(reach, (max(x[b], 0.0) + slack) / step[b])
        for b in range(k):
            if step[b] > pivot and x[b] <= reach * step[b] and (out < 0 or step[b] > step[out]):
                out = b
        return out
    for b in range(k):
        if step[b] <= pivot:
            continue
        if out < 0:
            out = b
            continue
        difference = x[b] / step[b] - x[out] / step[out]
        column = 0
        while abs(difference) <= _EQUAL and column < k:
            difference = inverse[b, column] / step[b] - inverse[out, column] / step[out]
            column += 1
        if difference < 0.0:
            out = b
    return out


@_kernel
def inverted(basis: Floats, sums: Floats, inverse: Floats, work: Floats, x: Floats) -> bool:
    """Make ``inverse`` and the weights ``x`` of the basic covers anew from the ``basis``; False
    where it has no inverse.

    ``sums`` is what the rows are to sum to; ``work`` is overwritten.
    """
    if not invert(basis, inverse, work):
        return False
    for b in range(len(x)):
        x[b] = 0.0
        for i in range(len(x)):
            x[b] += inverse[b, i] * sums[i]
    return True
