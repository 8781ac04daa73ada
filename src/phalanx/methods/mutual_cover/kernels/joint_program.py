# SPDX-License-Identifier: Apache-2.0
"""Random output tables of all attributes of a group at once, where every tuple must change on some
attribute.

Source: Li, Ma, Xi, Zhang, Xie, Shang, "MuCo", section 4. How we differ: the paper solves each
attribute by itself and afterwards changes the tuples that came out as they went in. Here a tuple
changes on at least ``changes`` of d attributes because its tables say so: over its attributes, the
probabilities of its own values sum to at most d - changes. By systematic sampling one can then draw
from the tables so that every tuple does change.

The program is that of ``methods/mutual_cover/kernels/program.py`` for all attributes, one row per
class, and a row per tuple type (tuples of one group with the same values) for that sum. A type's
price is one for every tuple of it that stays, so it only makes the own value of its classes dearer:
covers are found as without it. The same prices prove the optimum.

Every function here releases the lock.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.kernels import njit
from phalanx.methods.mutual_cover.kernels.program import (
    Grid,
    Solution,
    cover,
    inverted,
    leaves,
    price,
)

_ENOUGH: Final = 1e-10
"""A cover that saves less than this part of the greatest distance is not worth a step."""
_SUM: Final = 1e-10
"""A row's sum is no further from 1."""
_LESS: Final = 1e-9
"""By so much a type's own values are less probable than they may be, which leaves room for
rounding.
"""
_MOST: Final = 40
"""So many steps per row are taken before a group is given up."""
_FRESH: Final = 2
"""After so many steps per row the inverse is made anew, which costs as much as that many steps."""
_ARTIFICIAL: Final = -1
_SPARE: Final = -2

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Group(NamedTuple):
    """The program of one group, or of one attribute of it."""

    counts: Ints
    """The tuples of each class, one attribute after the other."""
    first: Ints
    """Attribute a has the classes ``first[a] .. first[a + 1] - 1``, shape (attributes + 1,)."""
    distances: Floats
    """Of its classes, row by row, from ``at[a]`` on."""
    at: Ints
    types: Ints
    """The class of each tuple type on each attribute, shape (types, attributes)."""
    caps: Floats
    """What the probabilities of a type's own values may sum to, shape (types,)."""


class Attempt(NamedTuple):
    """How to go about it."""

    dearness: float
    """What it costs not to cover a class."""
    slack: float
    """How far weights may fall below zero on the way, which helps where covers are nearly alike."""


@_kernel
def _blocks(a: Ints, first: Ints) -> Ints:
    """The block of every class, where ``first`` says where each of the blocks ``a`` begins, and the
    end.
    """
    of = np.empty(first[-1], np.int64)
    for b in range(len(a)):
        of[first[b] : first[b + 1]] = b
    return of


@_kernel
def _dearer(group: Group, u: Floats, dear: Floats) -> None:
    """Fill ``dear`` with the distances, on the diagonal with what the prices ``u`` of types add for
    tuples that stay.
    """
    c, first, d, at, types, _ = group
    dear[:] = d
    k = first[-1]
    for t in range(len(types)):
        if u[k + t] != 0.0:
            for a in range(types.shape[1]):
                i = types[t, a]
                size = first[a + 1] - first[a]
                dear[at[a] + i * size + i] -= u[k + t] / c[first[a] + i]


@_kernel
def _together(
    group: Group, delta: float, attempt: Attempt, table: Floats
) -> tuple[float, float, float]:
    """Fill ``table`` with the tables of one group; returns their cost, a lower bound on it, and
    what is left uncovered (0 where all is well).
    """
    c, first, d, at, types, caps = group
    attributes = len(first) - 1
    k, rows = first[-1], first[-1] + len(types)
    m = c[: first[1]].sum()
    greatest = d.max()
    if greatest == 0.0:
        greatest = 1.0
    sums = np.ones(rows)
    sums[k:] = caps
    basis, inverse, work, x = np.eye(rows), np.eye(rows), np.empty((rows, rows)), sums.copy()
    costs, values = np.zeros(rows), np.full(rows, _SPARE)
    values[:k] = _ARTIFICIAL
    costs[:k] = attempt.dearness * m * greatest * c
    block = _blocks(np.arange(attributes), first)
    longest = 0
    for a in range(attributes):
        longest = max(longest, first[a + 1] - first[a])
    orders = np.empty((k, longest), np.int64)
    for j in range(k):
        orders[j] = np.arange(longest)
    u, reduced, w, full, step = (
        np.empty(rows),
        np.empty(longest),
        np.empty(longest),
        np.zeros(rows),
        np.empty(rows),
    )
    dear = np.empty(len(d))
    nonzero, new = np.empty(rows, np.int64), np.empty(rows)
    last, taken, age, most = 0, 0, 0, _MOST * (rows + 5)
    while True:
        if age == 0:
            u[:] = 0.0
            for b in range(rows):
                if costs[b] != 0.0:
                    for i in range(rows):
                        u[i] += costs[b] * inverse[b, i]
        _dearer(group, u, dear)
        entering, saving = -1, -_ENOUGH * greatest
        for t in range(len(types)):
            if -u[k + t] < saving:
                entering, saving = k + t, -u[k + t]
        for turn in range(
            attributes
        ):  # the first attribute in turn on which a cover pays is enough
            a = (last + turn) % attributes
            lo, hi = first[a], first[a + 1]
            size = hi - lo
            for j in range(lo, hi):
                cost = price(
                    c[lo:hi],
                    dear[at[a] : at[a] + size * size].reshape(size, size),
                    delta,
                    u[lo:hi],
                    j - lo,
                    orders[j, :size],
                    reduced,
                )
                if cost < saving:
                    entering, saving = j, cost
            if entering >= 0:
                last = (a + 1) % attributes
                break
        if entering < 0 or taken >= most:
            if age == 0 or not inverted(basis, sums, inverse, work, x):
                break
            age = 0
            continue
        full[:] = 0.0
        coming = 0.0
        if entering < k:
            a = block[entering]
            lo, hi = first[a], first[a + 1]
            size = hi - lo
            own_variable = entering - lo
            cover(c[lo:hi], delta, orders[entering, :size], w[:size])
            for i in range(size):
                full[lo + i] = w[i]
                coming += c[lo + i] * w[i] * d[at[a] + i * size + own_variable]
            for t in range(len(types)):
                if types[t, a] == own_variable:
                    full[k + t] = w[own_variable]
        else:
            full[entering] = 1.0
        reached = 0
        for i in range(rows):
            if full[i] != 0.0:
                nonzero[reached] = i
                reached += 1
        for b in range(rows):
            sum_of = 0.0
            for r in range(reached):
                sum_of += inverse[b, nonzero[r]] * full[nonzero[r]]
            step[b] = sum_of
        out = leaves(x, inverse, step, attempt.slack)
        if out < 0:
            break
        inverse[out] /= step[out]
        x[out] /= step[out]
        new[:] = inverse[out]
        for b in range(rows):
            factor = step[b]
            if b != out and factor != 0.0:
                old = inverse[b]
                for i in range(rows):
                    old[i] -= factor * new[i]
                x[b] -= factor * x[out]
        for i in range(rows):  # the prices move by what the cover that came in saves
            u[i] += saving * new[i]
        basis[out], values[out], costs[out] = full, (entering if entering < k else _SPARE), coming
        taken += 1
        age += 1
        if age >= _FRESH * rows:
            age = 0
            if not inverted(basis, sums, inverse, work, x):
                break
    table[:] = 0.0
    uncovered = 0.0
    for b in range(rows):
        if values[b] == _ARTIFICIAL:
            uncovered += max(x[b], 0.0)
        elif values[b] >= 0 and x[b] > 0.0:
            a = block[values[b]]
            lo, hi = first[a], first[a + 1]
            for i in range(lo, hi):
                table[at[a] + (i - lo) * (hi - lo) + values[b] - lo] += x[b] * basis[b, i]
    return _cost(group, table), _bound(group, delta, u, dear), uncovered


@_kernel
def _cost(group: Group, table: Floats) -> float:
    """What the tables cost; infinity where a row does not sum to 1, or a type stays too often."""
    c, first, d, at, types, caps = group
    cost = 0.0
    for a in range(len(first) - 1):
        size = first[a + 1] - first[a]
        for i in range(size):
            row = 0.0
            for j in range(size):
                p = table[at[a] + i * size + j]
                row += p
                cost += c[first[a] + i] * d[at[a] + i * size + j] * p
            if not abs(row - 1.0) <= _SUM:
                return np.inf
    for t in range(len(types)):
        stays = 0.0
        for a in range(len(first) - 1):
            size = first[a + 1] - first[a]
            stays += table[at[a] + types[t, a] * (size + 1)]
        if not stays <= caps[t] + _SUM:
            return np.inf
    return cost


@_kernel
def _bound(group: Group, delta: float, u: Floats, dear: Floats) -> float:
    """The bound that prices prove: types' prices above 0 are none, and where a cover undercuts the
    others, all prices of a tuple are lowered by as much.
    """
    c, first, _, at, types, caps = group
    k = first[-1]
    for t in range(len(types)):
        u[k + t] = min(u[k + t], 0.0)
    _dearer(group, u, dear)
    bound = (caps * u[k:]).sum()
    for a in range(len(first) - 1):
        lo, hi = first[a], first[a + 1]
        size = hi - lo
        order, reduced, short = np.arange(size), np.empty(size), 0.0
        for j in range(size):
            short = min(
                short,
                price(
                    c[lo:hi],
                    dear[at[a] : at[a] + size * size].reshape(size, size),
                    delta,
                    u[lo:hi],
                    j,
                    order,
                    reduced,
                ),
            )
        bound += u[lo:hi].sum() + c[lo:hi].sum() * short
    return float(bound)


@_kernel
def least_together(
    grid: Grid,
    types: Ints,
    first_type: Ints,
    num: int,
    den: int,
    changes: int,
    attempt: Attempt,
    solution: Solution,
    which: Ints,
) -> None:
    """Solve the groups ``which``, all attributes at once: fill their parts of the ``solution``,
    whose bound is one on tables that give equal values one row.

    Group g has on attribute a the problem ``a * groups + g`` of the ``grid``, and the tuple types
    ``first_type[g] .. first_type[g + 1] - 1`` of ``types`` (classes on each attribute). delta is
    ``num / den``; every type changes on at least ``changes`` attributes; ``attempt``: how. A cost
    is infinite where there are no such tables, or none were found.
    """
    groups, d = len(first_type) - 1, types.shape[1]
    starts, cells = grid.starts, grid.cells
    table, cost, bound = solution
    for g in which:
        here = np.arange(d) * groups + g
        k = starts[here + 1] - starts[here]
        table[cells[here[k == 1]]] = 1.0
        attribute = np.flatnonzero(k > 1)
        varying = len(attribute)
        cost[g], bound[g] = np.inf, np.inf
        if varying < changes:
            continue
        problem = here[attribute]
        first, at = np.zeros(varying + 1, np.int64), np.zeros(varying + 1, np.int64)
        first[1:], at[1:] = np.cumsum(k[attribute]), np.cumsum(k[attribute] ** 2)
        c, distance, part = np.empty(first[-1], np.int64), np.empty(at[-1]), np.empty(at[-1])
        for v in range(varying):
            p = problem[v]
            c[first[v] : first[v + 1]] = grid.counts[starts[p] : starts[p + 1]]
            distance[at[v] : at[v + 1]] = grid.distances[cells[p] : cells[p + 1]]
        own = types[first_type[g] : first_type[g + 1]][:, attribute].copy()
        cap = float(varying - changes)
        cap -= min(_LESS, cap)
        group = Group(c, first, distance, at, own, np.full(len(own), cap))
        cost[g], bound[g], uncovered = _together(group, num / den, attempt, part)
        if uncovered > _SUM:
            cost[g] = np.inf
        for v in range(varying):
            p = problem[v]
            table[cells[p] : cells[p + 1]] = part[at[v] : at[v + 1]]


@_kernel
def least_capped(group: Group, num: int, den: int, attempt: Attempt, table: Floats) -> float:
    """Solve a ``group`` on one attribute, with a cap on the probabilities of some classes' own
    values: fill ``table``, and return its cost, infinite where there is none.

    delta is ``num / den``; ``attempt``: how.
    """
    cost, _, uncovered = _together(group, num / den, attempt, table)
    return cost if uncovered <= _SUM else np.inf
