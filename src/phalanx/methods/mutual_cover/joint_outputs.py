# SPDX-License-Identifier: Apache-2.0
"""The random output tables of whole groups: laid out, solved so that every tuple changes, put into
whole numbers; groups that cannot are widened.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from phalanx.errors import MethodError
from phalanx.methods.mutual_cover.distances import Distance
from phalanx.methods.mutual_cover.joint_highs import together_by_highs
from phalanx.methods.mutual_cover.kernels import joint_outputs as kernel
from phalanx.methods.mutual_cover.large_groups import LARGE, change_by_turns
from phalanx.methods.mutual_cover.layout import Layout
from phalanx.methods.mutual_cover.outputs import (
    Floats,
    Ints,
    Problems,
    check_delta,
    denominator_for,
    fitting,
    in_threads,
    part,
    ranges,
    rounded,
    solve,
)
from phalanx.methods.mutual_cover.outputs import Tables as Solved

_ATTEMPTS: Final = ((10.0, 0.0), (10.0, 1e-9), (1e4, 1e-9))
"""How dear it is not to cover a class, and how far weights may fall below zero, at first and where
that brought nothing.
"""
_PROVEN: Final = 1e-7
"""Tables are optimal where this part of their cost, or of a thousandth of the greatest distance a
tuple, could at most be saved.
"""


@dataclass(frozen=True, eq=False)
class Tables:
    """Groups of rows and the tables in whole numbers that each is drawn from."""

    group: Ints
    """The group of every row, 0 .. g-1, shape (n,)."""
    own: Ints
    """The class of every row on every attribute, shape (n, d)."""
    of: Ints
    """Which table a group has on an attribute, shape (g, d)."""
    problems: Problems
    """What the tables solve."""
    codes: Ints
    """The code of every class, in the places of the problems' counts."""
    units: Ints
    """The cells, in the places of the problems' distances; rows sum to the denominator."""
    denominator: int
    cost: Floats
    """What the tables of a group cost, summed over its rows and attributes, shape (g,)."""
    bound: Floats
    """What any tables of that group cost at least, shape (g,)."""

    @property
    def table(self) -> Ints:
        """The table of every row on every attribute, shape (n, d)."""
        return self.of[self.group]

    def taking(
        self, rows: Ints, group: Ints, changed: npt.NDArray[np.bool_], newer: "Tables"
    ) -> "Tables":
        """The same with the groups of ``rows`` put together anew: ``group`` (n,) are all rows'
        groups now, of which the ``changed`` ones are ``newer``.
        """
        old = np.full(len(changed), -1, np.int64)
        old[group] = self.group  # for groups that are as they were, which of them they were
        own = self.own.copy()
        own[rows] = newer.own
        of = self.of[old]
        of[changed] = newer.of + len(self.problems)
        cost, bound = self.cost[old], self.bound[old]
        cost[changed], bound[changed] = newer.cost, newer.bound
        problems = Problems.joined([self.problems, newer.problems])
        codes, units = (
            np.concatenate([self.codes, newer.codes]),
            np.concatenate([self.units, newer.units]),
        )
        return replace(
            self,
            group=group,
            own=own,
            of=of,
            problems=problems,
            codes=codes,
            units=units,
            cost=cost,
            bound=bound,
        )

    def without_unused(self) -> "Tables":
        """The same without tables that no group has."""
        used, of = np.unique(self.of, return_inverse=True)
        if len(used) == len(self.problems):
            return self
        problems = self.problems.take(used)
        codes = self.codes[ranges(self.problems.starts[used], np.diff(problems.starts))]
        units = self.units[ranges(self.problems.cells[used], np.diff(problems.cells))]
        return replace(
            self, of=of.reshape(self.of.shape), problems=problems, codes=codes, units=units
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Maker:
    """Makes the tables of groups: of these columns (codes, d of shape (n,)), with these distances,
    under delta-probability.
    """

    columns: Sequence[npt.NDArray[np.int32]]
    sizes: Sequence[int]
    """How many values the domain of each column has."""
    places: Sequence[Floats]
    """By column, where each value of the domain is, from 0 to 1, to tell which groups are near each
    other.
    """
    distances: Sequence[Distance]
    delta: Fraction
    changes: int
    """On how many attributes each row changes at least."""
    coupled: bool
    """Whether the tables see to the changes; else it is enough that each group has as many
    attributes with more than one value.
    """

    def tables(self, group: Ints) -> Tables:
        """The tables of least cost for these groups, 0 .. g-1; groups that have none are widened to
        their neighbours in that order until all have.

        MethodError where not even all rows together have such tables, or delta is above 1 or below
        1/m for a group of m rows.
        """
        rows = np.arange(len(group))
        tables, bad = self._of(rows, group)
        while bad.any():
            wider = widened(
                tables.group,
                bad,
                np.stack(
                    [
                        place[column]
                        for place, column in zip(self.places, self.columns, strict=True)
                    ],
                    axis=1,
                ),
            )
            g = int(wider.max()) + 1
            parts = np.unique(wider * len(bad) + tables.group)
            changed = np.bincount(parts // len(bad), minlength=g) > 1
            rows = np.flatnonzero(changed[wider])
            newer, still = self._of(rows, (np.cumsum(changed) - 1)[wider[rows]])
            tables = tables.taking(rows, wider, changed, newer)
            bad = np.zeros(g, dtype=np.bool_)
            bad[changed] = still
        return tables.without_unused()

    def _of(self, rows: Ints, group: Ints) -> tuple[Tables, npt.NDArray[np.bool_]]:
        """The tables of some rows in their groups, and which groups have none that keep the
        promise.
        """
        layout = Layout.of(
            [column[rows] for column in self.columns], self.sizes, self.distances, group
        )
        denominator = denominator_for(len(self.columns[0]), self.delta)
        units, cost, bound, bad = units_of(
            layout, self.delta, self.changes if self.coupled else None, denominator
        )
        of = np.arange(layout.groups)[:, None] + np.arange(layout.attributes) * layout.groups
        if not self.coupled:
            bad = (np.diff(layout.problems.starts)[of] > 1).sum(axis=1) < self.changes
        return (
            Tables(
                group,
                layout.own,
                of,
                layout.problems,
                layout.codes,
                units,
                denominator,
                cost,
                bound,
            ),
            bad,
        )


def units_of(
    layout: Layout, delta: Fraction, changes: int | None, denominator: int
) -> tuple[Ints, Floats, Floats, npt.NDArray[np.bool_]]:
    """The tables of least cost in whole numbers of 1/``denominator``, their cost by group, a lower
    bound on it, and which groups have none.

    Tables keep delta-probability; with ``changes`` (not None), the own values of every tuple have
    at most d - changes of d rows together, exactly.
    """
    problems, groups = layout.problems, layout.groups
    check_delta(problems, delta)
    alone = solve(problems, delta)
    table = _spread(alone, problems)
    cost, bound = (
        each[alone.of].reshape(layout.attributes, groups).sum(axis=0)
        for each in (alone.cost, alone.bound)
    )
    bad = np.zeros(groups, dtype=np.bool_)
    if changes is None:
        return rounded(problems, table, delta, denominator), cost, bound, bad
    types, first = layout.types
    of_type = np.repeat(np.arange(groups), np.diff(first))
    places = np.arange(layout.attributes) * groups + of_type[:, None]
    most = layout.attributes - changes
    together = np.unique(of_type[layout.stays(table, types, places).sum(axis=1) > most])
    _solve_together(layout, delta, changes, together, table, cost, bound)
    bad = ~np.isfinite(cost)
    where = np.flatnonzero(np.repeat(np.tile(bad, layout.attributes), np.diff(problems.cells)))
    table[where] = _spread(alone, problems)[
        where
    ]  # what can be rounded stands in where there are none
    units = rounded(problems, table, delta, denominator)
    kept = layout.stays(units, types, places).sum(axis=1) <= most * denominator
    bad[of_type[~kept]] = True
    return units, cost, bound, bad


def _solve_together(
    layout: Layout,
    delta: Fraction,
    changes: int,
    which: Ints,
    table: Floats,
    cost: Floats,
    bound: Floats,
) -> None:
    """Solve the groups ``which`` on all attributes at once, until their cost is proven or no tables
    are found; the best ones found are kept.
    """
    problems, (types, first) = layout.problems, layout.types
    fitted = fitting(delta, problems)
    greatest = (
        np.maximum.reduceat(problems.distances, problems.cells[:-1])
        .reshape(layout.attributes, -1)
        .max(axis=0)
        if len(problems)
        else np.zeros(0)
    )
    enough = _PROVEN * 1e-3 * problems.tuples[: layout.groups] * greatest
    most = layout.attributes * problems.tuples[: layout.groups] * greatest
    arrays = (
        problems.counts,
        problems.starts,
        problems.distances,
        problems.cells,
        types,
        first,
        fitted.numerator,
        fitted.denominator,
        changes,
    )
    large = (np.diff(first) + np.diff(problems.starts).reshape(layout.attributes, -1).sum(axis=0))[
        which
    ] > LARGE
    for g in which[large].tolist():
        cost[g] = change_by_turns(layout, fitted, changes, g, table)
    which = which[~large]
    cost[which], bound[which] = math.inf, -math.inf
    for dearness, slack in _ATTEMPTS:
        if not len(which):
            return
        found, costs, bounds = np.zeros_like(table), np.empty_like(cost), np.empty_like(bound)
        in_threads(
            partial(kernel.least_together, *arrays, dearness, slack, found, costs, bounds), which
        )
        bound[which] = np.maximum(
            bound[which], np.where(np.isfinite(costs[which]), bounds[which], -math.inf)
        )
        better = which[costs[which] < cost[which]]
        cells = layout.cells(better)
        table[cells], cost[better] = found[cells], costs[better]
        proven = np.isfinite(cost[which]) & (
            cost[which] - bound[which] <= _PROVEN * cost[which] + enough[which]
        )
        hopeless = ~np.isfinite(cost[which]) & (
            bounds[which] > 2.0 * most[which]
        )  # no tables cost so much
        which = which[~(proven | hopeless)]
    for g in which.tolist():
        _by_highs(layout, float(fitted), changes, g, table, cost)


def _by_highs(
    layout: Layout, delta: float, changes: int, g: int, table: Floats, cost: Floats
) -> None:
    """Solve one group by the general solver, where that finds better tables than there are."""
    problems, (types, first) = layout.problems, layout.types
    of = np.arange(layout.attributes) * layout.groups + g
    counts = [problems.counts[problems.starts[p] : problems.starts[p + 1]] for p in of]
    distances = [part(problems, problems.distances, int(p)) for p in of]
    found = together_by_highs(counts, distances, types[first[g] : first[g + 1]], delta, changes)
    if found is None:
        return
    costs = sum(
        float((c[:, None] * d * p).sum()) for c, d, p in zip(counts, distances, found, strict=True)
    )
    if costs < cost[g]:
        cost[g] = costs
        for p, one in zip(of, found, strict=True):
            part(problems, table, int(p))[:] = one


def _spread(alone: Solved, problems: Problems) -> Floats:
    """The tables of all problems from those of the different ones."""
    cells: Floats = alone.probabilities[
        ranges(alone.problems.cells[alone.of], np.diff(problems.cells))
    ]
    return cells


def widened(group: Ints, bad: npt.NDArray[np.bool_], places: Floats) -> Ints:
    """Groups, 0 .. g-1, each bad one put together with the nearer one of its neighbours in their
    order, which follows how the table was cut.

    ``places`` (n, d): where every row is; groups are as near as their means (l1). MethodError where
    there is one group only.
    """
    g = len(bad)
    if g == 1:
        raise MethodError(
            "not even all rows together can all change: their quasi-identifiers have too few"
            " different values; ask for fewer changes, raise delta, or add quasi-identifiers."
        )
    sizes = np.bincount(group, minlength=g)
    means = np.stack(
        [
            np.bincount(group, weights=places[:, a], minlength=g) / sizes
            for a in range(places.shape[1])
        ],
        axis=1,
    )
    apart = np.abs(np.diff(means, axis=0)).sum(axis=1)
    joined = np.zeros(
        g - 1, dtype=np.bool_
    )  # whether a group is put together with the one after it
    for b in np.flatnonzero(bad):
        before, after = (apart[b - 1] if b else np.inf), (apart[b] if b < g - 1 else np.inf)
        joined[b - 1 if before <= after else b] = True
    label = np.concatenate([[0], np.cumsum(~joined)])
    found: Ints = label[group]
    return found
