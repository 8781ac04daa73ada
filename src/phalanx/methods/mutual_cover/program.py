# SPDX-License-Identifier: Apache-2.0
"""The linear program of random output tables: of each attribute by itself, and of all attributes of
a group at once, so that every tuple changes.

The kernels solve it, with a proof; HiGHS stands in where they do not get there. All numbers are
floating point ones.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Floats, Ints
from phalanx.errors import MethodError
from phalanx.methods.mutual_cover.kernels import joint_program as joint_kernel
from phalanx.methods.mutual_cover.kernels import program as kernel
from phalanx.methods.mutual_cover.kernels.joint_program import Attempt
from phalanx.methods.mutual_cover.problems import Layout, Problems, ranges
from phalanx.methods.threads import on_all, threads

LARGE: Final = 320
"""Groups with more classes and tuple types than this are large: the time of all attributes at once
grows with the cube of their number.
"""
_LARGEST: Final = 2**30
"""A delta whose parts are larger does not fit the kernels; it is tightened to one that does."""
_FEW: Final = 64
"""Up to so many values covers are made when they pay; with more, HiGHS gets there in fewer steps.
"""
_PROVEN: Final = 1e-9
"""A table is optimal where this part of its cost, or of a thousandth of the greatest distance a
tuple, could at most be saved.
"""
_PROVEN_TOGETHER: Final = 1e-7
"""The same of the tables of a group."""
_SLACK: Final = 1e-9
"""How far weights may fall below zero in the second attempt."""
_ATTEMPTS: Final = (Attempt(10.0, 0.0), Attempt(10.0, _SLACK), Attempt(1e4, _SLACK))
"""How dear it is not to cover a class, and how far weights may fall below zero, at first and where
that brought nothing.
"""
_LESS: Final = 1e-9
"""By so much less than it may be is an own value's probability, which leaves room for rounding."""
_ALONE: Final = 64
"""Below this many problems threads cost more than they save."""


@dataclass(frozen=True, eq=False)
class Solved:
    """The tables of problems, each different problem solved once."""

    problems: Problems
    """The different problems."""
    of: Ints
    """Which of these each problem is, shape (problems,)."""
    probabilities: Floats
    """Cell (i, j) of a table: with which probability a tuple of class i publishes the value of
    class j; in the places of the distances.
    """
    cost: Floats
    """What each different table costs, summed over its tuples."""
    bound: Floats
    """What any table of that problem costs at least, proven by the prices of its classes."""

    def table(self, problem: int) -> Floats:
        """The table of a problem, shape (k, k)."""
        return self.problems.part(self.probabilities, int(self.of[problem]))

    def cells(self, problems: Problems) -> Floats:
        """The tables of all ``problems``, in the places of their distances."""
        starts = self.problems.cells[self.of]
        return np.asarray(self.probabilities[ranges(starts, np.diff(problems.cells))])


def solve(problems: Problems, delta: Fraction) -> Solved:
    """The random output tables of least cost that keep delta-probability: no tuple feeds more than
    ``delta`` of what all give to a value.

    Every table comes with a proof, a lower bound on the cost of any table, which meets its own cost
    up to rounding (where delta is nearly but not quite a simple fraction, such as 1/3 + 1e-9, up to
    some 1e-8 of it). The number of threads has no influence on them.

    Raises MethodError where delta is above 1, or below 1/m for a group of m tuples: all of them
    together do not cover each other so well.

    Source: Li, Ma, Xi, Zhang, Xie, Shang, "MuCo", section 4; how we differ stands at the head of
    ``methods/mutual_cover/kernels/program.py``.

    >>> import numpy as np
    >>> from phalanx.data.distances import Line
    >>> ages = Line(np.array([30.0, 31.0]))
    >>> two = Problems.on(ages, np.array([0, 1]), np.array([2, 1]), np.array([0, 2]))
    >>> tables = solve(two, Fraction(1, 2))
    >>> tables.table(0).tolist(), tables.cost.tolist()
    ([[1.0, 0.0], [1.0, 0.0]], [1.0])
    """
    check_delta(problems, delta)
    different, of = problems.distinct()
    delta = fitting(delta, different)
    table, cost, bound = (
        np.zeros(size) for size in (different.cells[-1], len(different), len(different))
    )

    def attempt(which: Ints, slack: float) -> None:
        asked = different.grid, delta.numerator, delta.denominator, slack
        in_threads(partial(kernel.least, *asked, kernel.Solution(table, cost, bound)), which)

    only = different.tuples * delta.numerator == delta.denominator
    few = (np.diff(different.starts) <= _FEW) | only
    cost[~few] = math.inf
    attempt(np.flatnonzero(few), 0.0)
    attempt(np.flatnonzero(few & ~_proven(different, cost, bound)), _SLACK)
    for t in np.flatnonzero(~_proven(different, cost, bound)).tolist():
        c, d = different.of(t)
        other, prices = by_highs(c, d, float(delta))
        other_cost, other_bound = kernel.proven(c, d, float(delta), other, prices)
        bound[t] = max(bound[t], other_bound) if np.isfinite(bound[t]) else other_bound
        if other_cost < cost[t] or not np.isfinite(cost[t]):
            different.part(table, t)[:], cost[t] = other, other_cost
        if not np.isfinite(cost[t]):
            raise MethodError(
                f"no random output table was found for a group of {c.sum()} tuples with"
                f" {len(c)} values; make groups smaller, or values coarser."
            )
    return Solved(different, of, table, cost, bound)


def solve_together(
    layout: Layout,
    delta: Fraction,
    changes: int,
    which: Ints,
    table: Floats,
    cost: Floats,
    bound: Floats,
) -> None:
    """Solve the groups ``which`` on all attributes at once, until their cost is proven or no tables
    are found: the best ones found, and their cost, take the place of each attribute's by itself in
    ``table`` and ``cost``; ``bound`` becomes what tables with a row for each value cost at least.
    """
    problems, first = layout.problems, layout.types[1]
    delta = fitting(delta, problems)
    classes = np.diff(problems.starts).reshape(layout.attributes, -1).sum(axis=0)
    large = (np.diff(first) + classes)[which] > LARGE
    for g in which[large].tolist():
        cost[g] = change_by_turns(layout, delta, changes, g, table)
    which = which[~large]
    cost[which], bound[which] = math.inf, -math.inf
    span = problems.tuples[: layout.groups] * problems.greatest.reshape(layout.attributes, -1).max(
        axis=0, initial=0.0
    )
    for attempt in _ATTEMPTS:
        if not len(which):
            return
        solution, costs, bounds = np.zeros_like(table), np.empty_like(cost), np.empty_like(bound)
        asked = problems.grid, *layout.types, delta.numerator, delta.denominator, changes, attempt
        results = kernel.Solution(solution, costs, bounds)
        in_threads(partial(joint_kernel.least_together, *asked, results), which)
        proves = np.where(np.isfinite(costs[which]), bounds[which], -math.inf)
        bound[which] = np.maximum(bound[which], proves)
        better = which[costs[which] < cost[which]]
        cells = layout.cells(better)
        table[cells], cost[better] = solution[cells], costs[better]
        enough = _PROVEN_TOGETHER * (cost[which] + 1e-3 * span[which])
        proven = np.isfinite(cost[which]) & (cost[which] - bound[which] <= enough)
        most = layout.attributes * span[which]  # no tables cost more
        hopeless = ~np.isfinite(cost[which]) & (bounds[which] > 2.0 * most)
        which = which[~(proven | hopeless)]
    for g in which.tolist():
        _together_by_highs(layout, float(delta), changes, g, table, cost)


def change_by_turns(layout: Layout, delta: Fraction, changes: int, g: int, table: Floats) -> float:
    """Change the tables of a large group ``g`` so that own values have at most d - ``changes`` of d
    rows together; returns their cost, infinite where it cannot.

    ``table`` holds the tables of every attribute by itself, which cost least and change too little.
    For each change in turn one more attribute is solved anew: a class has to change as often as the
    tuple of it that changes least elsewhere needs. The attribute is the one on which this costs
    least.
    """
    problems, (types, first), d = layout.problems, layout.types, layout.attributes
    asked = [problems.of(p) for p in layout.tables[g].tolist()]
    parts = [problems.part(table, p) for p in layout.tables[g].tolist()]
    own_classes, remaining = types[first[g] : first[g + 1]], list(range(d))
    for turn in range(1, changes + 1):
        stays = np.stack([np.diagonal(p)[own_classes[:, a]] for a, p in enumerate(parts)], axis=1)
        others = {a: d - turn - (stays.sum(axis=1) - stays[:, a]) for a in remaining}
        solved = {a: _capped(*asked[a], own_classes[:, a], others[a], delta) for a in remaining}
        dearer = {a: cost - _cost([asked[a]], [parts[a]]) for a, (cost, _) in solved.items()}
        best = min(remaining, key=dearer.__getitem__, default=-1)
        if best < 0 or not math.isfinite(dearer[best]):
            return math.inf
        parts[best][:] = solved[best][1].reshape(parts[best].shape)
        remaining.remove(best)
    return _cost(asked, parts)


def _capped(
    counts: Ints, distances: Floats, own_classes: Ints, room: Floats, delta: Fraction
) -> tuple[float, Floats]:
    """The tables of one attribute in which the own value of every tuple (its class in ``own_classes``) has
    at most what there is ``room`` for, and their cost.
    """
    cap = np.ones(len(counts))
    np.minimum.at(cap, own_classes, room)
    table = np.zeros(len(counts) ** 2)
    if (cap < -_LESS).any():
        return math.inf, table
    cap = np.where(cap < 1, np.maximum(cap - _LESS, 0.0), 1.0)
    capped = np.flatnonzero(cap < 1)
    first, at = np.array([0, len(cap)]), np.array([0, len(table)])
    group = joint_kernel.Group(counts, first, np.ravel(distances), at, capped[:, None], cap[capped])
    for attempt in _ATTEMPTS[:2]:
        cost = joint_kernel.least_capped(group, *delta.as_integer_ratio(), attempt, table)
        if math.isfinite(cost):
            return float(cost), table
    return math.inf, table


def _together_by_highs(
    layout: Layout, delta: float, changes: int, g: int, table: Floats, cost: Floats
) -> None:
    """Solve one group by HiGHS, where that finds better tables than there are."""
    types, first = layout.types
    asked = [layout.problems.of(p) for p in layout.tables[g].tolist()]
    solved = together_by_highs(
        [counts for counts, _ in asked],
        [distances for _, distances in asked],
        types[first[g] : first[g + 1]],
        delta,
        changes,
    )
    if solved is not None and (costs := _cost(asked, solved)) < cost[g]:
        cost[g] = costs
        for p, one in zip(layout.tables[g].tolist(), solved, strict=True):
            layout.problems.part(table, p)[:] = one


def together_by_highs(
    counts: Sequence[Ints], distances: Sequence[Floats], types: Ints, delta: float, changes: int
) -> list[Floats] | None:
    """The tables of least cost by the general solver HiGHS, one of shape (k, k) for each attribute,
    or None where there are none.

    The paper's program of each attribute with one row per class (``counts``, and ``distances`` of
    shape (k, k)), and one row for each of the ``types`` (classes on each attribute, shape (t, d)):
    its own values have at most d - ``changes`` together.
    """
    import highspy

    solver = _highs()
    least, first = -highspy.kHighsInf, [0]
    for c, d in zip(counts, distances, strict=True):
        k, at = len(c), first[-1]
        for cost in (c[:, None] * d).ravel().tolist():
            solver.addVar(0.0, highspy.kHighsInf)
            solver.changeColCost(solver.getNumCol() - 1, cost)
        for i in range(k):
            row = np.arange(at + i * k, at + (i + 1) * k, dtype=np.int32)
            solver.addRow(1.0, 1.0, k, row, np.ones(k))
        for j in range(k):
            column = np.arange(at + j, at + k * k, k, dtype=np.int32)
            for i in range(k):
                share = -delta * c.astype(np.float64)
                share[i] += 1.0
                solver.addRow(least, 0.0, k, column, share)
        first.append(at + k * k)
    sizes, before = [len(c) for c in counts], solver.getNumRow()
    for own_classes in types.tolist():
        stays = [at + i * (k + 1) for at, i, k in zip(first, own_classes, sizes, strict=False)]
        cells = np.array(stays, dtype=np.int32)
        solver.addRow(least, len(sizes) - changes - _LESS, len(cells), cells, np.ones(len(cells)))
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        for added in range(before, before + len(types)):
            solver.changeRowBounds(added, least, len(sizes) - changes)
        solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    solution = np.maximum(np.array(solver.getSolution().col_value), 0.0)
    tables = [solution[at : at + k * k].reshape(k, k) for at, k in zip(first, sizes, strict=False)]
    return [table / table.sum(axis=1, keepdims=True) for table in tables]


def by_highs(counts: Ints, distances: Floats, delta: float) -> tuple[Floats, Floats]:
    """One problem by HiGHS: its table, shape (k, k), and the prices of its classes, shape (k,).

    Problems of one attribute may have hundreds of classes, so that columns have a variable for
    their mass, and each cell is bound by it.
    """
    import highspy

    k = len(counts)
    cell, i, j = np.arange(k * k), np.repeat(np.arange(k), k), np.tile(np.arange(k), k)
    rows = np.concatenate([i, k + j, 2 * k + cell, k + np.arange(k), 2 * k + cell])
    columns = np.concatenate([cell, cell, cell, k * k + np.arange(k), k * k + j])
    ones = np.ones(k * k)
    values = np.concatenate([ones, counts[i], ones, np.full(k, -1.0), -delta * ones])
    order = np.lexsort((rows, columns))
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = k * k + k, 2 * k + k * k
    program.col_cost_ = np.concatenate([(counts[:, None] * distances).ravel(), np.zeros(k)])
    program.col_lower_ = np.zeros(k * k + k)
    program.col_upper_ = np.full(k * k + k, highspy.kHighsInf)
    lowest = np.full(k * k, -highspy.kHighsInf)
    program.row_lower_ = np.concatenate([np.ones(k), np.zeros(k), lowest])
    program.row_upper_ = np.concatenate([np.ones(k), np.zeros(k + k * k)])
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    ends = np.cumsum(np.bincount(columns, minlength=k * k + k))
    program.a_matrix_.start_ = np.concatenate([[0], ends])
    program.a_matrix_.index_, program.a_matrix_.value_ = rows[order], values[order]
    solver = _highs(presolve="off", solver="simplex")
    solver.passModel(program)
    solver.run()
    solution = solver.getSolution()
    table = np.maximum(np.array(solution.col_value[: k * k]).reshape(k, k), 0.0)
    return table / table.sum(axis=1, keepdims=True), np.array(solution.row_dual[:k])


def _highs(**options: str) -> Any:
    """The solver, silent, on one thread and as exact as it can be."""
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    exact = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-10)
    for option, setting in ({"output_flag": False, "threads": 1} | options | exact).items():
        solver.setOptionValue(option, setting)
    return solver


def _cost(asked: Sequence[tuple[Ints, Floats]], tables: Sequence[Floats]) -> float:
    """What the tables of one group cost together."""
    pairs = zip(asked, tables, strict=True)
    return sum(float((counts[:, None] * distances * p).sum()) for (counts, distances), p in pairs)


def check_delta(problems: Problems, delta: Fraction) -> None:
    """Refuse a ``delta`` that no table can keep, before any work.

    Raises MethodError where delta is above 1, or below 1/m for a group of m tuples (Property 1 of
    the paper).
    """
    if delta > 1:
        raise MethodError(
            f"delta = {delta} bounds nothing, as it is about shares of a whole; give a number up to"
            " 1."
        )
    smallest = int(problems.tuples.min()) if len(problems) else 0
    if len(problems) and delta * smallest < 1:
        least = (
            f"at least {math.ceil(1 / delta)} tuples in every group"
            if delta > 0
            else "more tuples than there can be"
        )
        raise MethodError(
            f"delta = {delta} asks for {least} and a group has {smallest}; raise delta to at least"
            f" 1/{smallest}, or make groups larger."
        )


def fitting(delta: Fraction, problems: Problems) -> Fraction:
    """The same where its parts fit the kernels, else a fraction just below that every group can
    still keep.
    """
    if delta.denominator <= _LARGEST:
        return delta
    below = Fraction(math.floor(delta * _LARGEST), _LARGEST)
    return max(below, Fraction(1, int(problems.tuples.min())))


def in_threads(work: Callable[[Ints], None], which: Ints, alone: int | None = None) -> None:
    """Do ``work`` on each part of ``which``, on all cores, dealt out so that each has as much to
    do; on one where there are fewer than ``alone``, or so few that threads cost more than they save.
    """
    cores = threads()
    if len(which) < (_ALONE if alone is None else alone) or cores == 1:
        work(which)
    else:
        # laid out as ``which`` is, so that kernels are compiled once
        on_all(work, [np.ascontiguousarray(which[a :: 4 * cores]) for a in range(4 * cores)])


def _proven(problems: Problems, cost: Floats, bound: Floats) -> npt.NDArray[np.bool_]:
    """Whether each table is as good as optimal, by its own lower bound."""
    enough = _PROVEN * (cost + 1e-3 * problems.tuples * problems.greatest)
    proven: npt.NDArray[np.bool_] = np.isfinite(cost) & (cost - bound <= enough)
    return proven
