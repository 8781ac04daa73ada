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

Every function here releases the lock, so that problems are solved by several threads at once.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.kernels import njit
from phalanx.methods.mutual_cover.kernels.simplex import cover, inverted, leaves, price

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

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
def least(
    counts: Ints,
    starts: Ints,
    distances: Floats,
    cells: Ints,
    num: int,
    den: int,
    which: Ints,
    slack: float,
    table: Floats,
    cost: Floats,
    bound: Floats,
) -> None:
    """Solve the problems ``which``: fill their parts of ``table``, their ``cost``, and the
    ``bound`` below which no table's cost is.

    Problem t has the classes ``starts[t] .. starts[t + 1] - 1`` of ``counts``; its distances and
    its table, row by row, stand from ``cells[t]`` on. delta is ``num / den``, at least 1/m of every
    problem. A cost is infinite where no table was found; a little ``slack`` finds it where covers
    are nearly alike.
    """
    for t in which:
        c = counts[starts[t] : starts[t + 1]]
        k = len(c)
        d = distances[cells[t] : cells[t] + k * k].reshape(k, k)
        p = table[cells[t] : cells[t] + k * k].reshape(k, k)
        if c.sum() * num == den:
            cost[t] = bound[t] = _only(c, d, p)
        else:
            cost[t], bound[t] = _least(c, d, num / den, p, _MOST * (k + 5), slack)


@_kernel
def proven(c: Ints, d: Floats, delta: float, table: Floats, u: Floats) -> tuple[float, float]:
    """What a ``table`` of somebody else's costs, and the lower bound that his prices ``u`` prove,
    for counts ``c``, distances ``d`` and ``delta``.
    """
    return _cost(c, d, table), _bound(c, d, delta, u)


@_kernel
def along(places: Floats, scale: float, starts: Ints, cells: Ints, distances: Floats) -> None:
    """Fill ``distances`` with those between ``places`` on a line, over ``scale``, for problems with
    ``starts`` and ``cells`` as in :func:`least`.
    """
    for t in range(len(starts) - 1):
        at = cells[t]
        for i in range(starts[t], starts[t + 1]):
            for j in range(starts[t], starts[t + 1]):
                distances[at] = abs(places[i] - places[j]) / scale
                at += 1


@_kernel
def between(codes: Ints, matrix: Floats, starts: Ints, cells: Ints, distances: Floats) -> None:
    """Fill ``distances`` from the ``matrix`` between all values of a domain, of which ``codes`` are
    those of the classes.

    ``starts`` and ``cells`` are those of :func:`least`.
    """
    for t in range(len(starts) - 1):
        at = cells[t]
        for i in range(starts[t], starts[t + 1]):
            for j in range(starts[t], starts[t + 1]):
                distances[at] = matrix[codes[i], codes[j]]
                at += 1


@_kernel
def under(
    codes: Ints, ancestors: npt.NDArray[np.int32], starts: Ints, cells: Ints, distances: Floats
) -> None:
    """Fill ``distances`` with the levels on which the ``ancestors`` (levels, domain) of the
    classes' ``codes`` meet, over the height of the tree.

    ``starts`` and ``cells`` are those of :func:`least`.
    """
    height = len(ancestors) - 1
    for t in range(len(starts) - 1):
        at = cells[t]
        for i in range(starts[t], starts[t + 1]):
            for j in range(starts[t], starts[t + 1]):
                level = 0
                while level < height and ancestors[level, codes[i]] != ancestors[level, codes[j]]:
                    level += 1
                distances[at] = level / height
                at += 1


@_kernel
def fingerprints(
    counts: Ints, starts: Ints, bits: Ints, cells: Ints, prints: npt.NDArray[np.uint64]
) -> None:
    """Fill ``prints`` with a number for every problem, the same for equal ones.

    ``counts``, ``starts`` and ``cells`` are those of :func:`least`; ``bits`` are the distances as
    integers.
    """
    for t in range(len(starts) - 1):
        h = np.uint64(starts[t + 1] - starts[t])
        for i in range(starts[t], starts[t + 1]):
            h = (h ^ np.uint64(counts[i])) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
        for x in range(cells[t], cells[t + 1]):
            h = (h ^ np.uint64(bits[x])) * np.uint64(0xBF58476D1CE4E5B9)
            h ^= h >> np.uint64(32)
        prints[t] = h


@_kernel
def twins(
    counts: Ints, starts: Ints, bits: Ints, cells: Ints, first: Ints, same: npt.NDArray[np.bool_]
) -> None:
    """Fill ``same`` with whether each problem is that of the number in ``first``, cell by cell.

    ``counts``, ``starts``, ``bits`` and ``cells`` are those of :func:`fingerprints`.
    """
    for t in range(len(first)):
        o = first[t]
        k = starts[t + 1] - starts[t]
        alike = k == starts[o + 1] - starts[o]
        x = 0
        while alike and x < k:
            alike = counts[starts[t] + x] == counts[starts[o] + x]
            x += 1
        x = 0
        while alike and x < k * k:
            alike = bits[cells[t] + x] == bits[cells[o] + x]
            x += 1
        same[t] = alike
