# SPDX-License-Identifier: Apache-2.0
"""Random output tables of groups: solved so that every tuple changes, and rounded to whole numbers
for which what is promised holds exactly; groups that have none are widened.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Bools, Floats, Ints
from phalanx.data.distances import Distance
from phalanx.errors import MethodError
from phalanx.methods.mutual_cover.alike import alike
from phalanx.methods.mutual_cover.kernels import rounding as kernel
from phalanx.methods.mutual_cover.problems import Layout, Problems, ranges
from phalanx.methods.mutual_cover.program import (
    check_delta,
    fitting,
    in_threads,
    solve,
    solve_together,
)

_MANY_DIVISORS: Final = 720_720
"""The least common multiple of 1 .. 16: optimal tables are made of small fractions, which are whole
numbers of its multiples.
"""
_FINE: Final = 2**40
"""Exact tables are at least about as fine as this."""


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
    changes: int
    """On how many attributes each row changes at least."""

    @property
    def table(self) -> Ints:
        """The table of every row on every attribute, shape (n, d)."""
        return self.of.take(self.group, axis=0)

    def taking(self, rows: Ints, group: Ints, changed: Bools, newer: "Tables") -> "Tables":
        """The same with the groups of ``rows`` put together anew: ``group`` (n,) are all rows'
        groups now, of which the ``changed`` ones are ``newer``.
        """
        old = np.full(len(changed), -1, np.int64)
        old[group] = self.group  # for groups that are as they were, which of them they were
        own = self.own.copy()
        own[rows] = newer.own
        of = self.of[old]
        of[changed] = newer.of + len(self.problems)
        return Tables(
            group=group,
            own=own,
            of=of,
            problems=Problems.joined([self.problems, newer.problems]),
            codes=np.concatenate([self.codes, newer.codes]),
            units=np.concatenate([self.units, newer.units]),
            denominator=self.denominator,
            changes=self.changes,
        )

    def without_unused(self) -> "Tables":
        """The same without tables that no group has."""
        used, of = np.unique(self.of, return_inverse=True)
        if len(used) == len(self.problems):
            return self
        problems = self.problems.take(used)
        codes = self.codes[ranges(self.problems.starts[used], np.diff(problems.starts))]
        units = self.units[ranges(self.problems.cells[used], np.diff(problems.cells))]
        of = of.reshape(self.of.shape)
        return replace(self, of=of, problems=problems, codes=codes, units=units)


@dataclass(frozen=True, kw_only=True, eq=False)
class Maker:
    """Makes the tables of groups: of these columns (codes, d of shape (n,)), with these distances,
    under delta-probability.
    """

    columns: Sequence[npt.NDArray[np.int32]]
    places: Sequence[Floats]
    """By column, where each value of the domain is, from 0 to 1, to tell which groups are near each
    other.
    """
    distances: Sequence[Distance]
    delta: Fraction
    changes: int
    """On how many attributes each row changes at least."""
    alike: bool = False
    """Whether the tuples of a group are to be as alike as they can, in place of what costs
    least.
    """

    def tables(self, group: Ints, part: Ints | None = None) -> Tables:
        """The tables for these groups, 0 .. g-1; groups that have none are widened to
        their neighbours in that order until all have. ``part`` (n,): rows that must not share a
        group have different numbers, and groups of equal ones stand together.

        MethodError where not even all rows of a part together have such tables, or delta is above 1
        or below 1/m for a group of m rows.
        """
        part = np.zeros(len(group), dtype=np.int64) if part is None else part
        tables, bad = self._of(np.arange(len(group)), group)
        places = [place[column] for place, column in zip(self.places, self.columns, strict=True)]
        while bad.any():
            wider = widened(tables.group, bad, np.stack(places, axis=1), part)
            g = int(wider.max()) + 1
            parts = np.unique(wider * len(bad) + tables.group)
            changed = np.bincount(parts // len(bad), minlength=g) > 1
            rows = np.flatnonzero(changed[wider])
            newer, still = self._of(rows, (np.cumsum(changed) - 1)[wider[rows]])
            tables = tables.taking(rows, wider, changed, newer)
            bad = np.zeros(g, dtype=np.bool_)
            bad[changed] = still
        return tables.without_unused()

    def _of(self, rows: Ints, group: Ints) -> tuple[Tables, Bools]:
        """The tables of some rows in their groups, and which groups have none that keep the
        promise.
        """
        layout = Layout.of([column[rows] for column in self.columns], self.distances, group)
        denominator = denominator_for(len(self.columns[0]), self.delta)
        units, bad = self._units(layout, denominator)
        own, problems, codes = layout.own, layout.problems, layout.codes
        of = layout.tables
        return Tables(group, own, of, problems, codes, units, denominator, self.changes), bad

    def _units(self, layout: Layout, denominator: int) -> tuple[Ints, Bools]:
        """Per group: solve, round; and which groups have no tables."""
        if self.alike:
            table, bad = alike(layout, self.delta, self.changes)
            units = rounded(layout.problems, table, self.delta, denominator)
            return units, bad | _stay(layout, units, self.changes, denominator)
        units, _, _, bad = units_of(layout, self.delta, self.changes, denominator)
        return units, bad


def units_of(
    layout: Layout, delta: Fraction, changes: int, denominator: int
) -> tuple[Ints, Floats, Floats, Bools]:
    """The tables of least cost in whole numbers of 1/``denominator``, their cost by group, a lower
    bound on it, and which groups have none.

    Tables keep delta-probability, and the own values of every tuple have at most d - ``changes`` of
    d rows together, exactly. Equal values share a row of a table, and so do the tables that the
    bound is about. The paper gives each tuple its own: on one attribute that costs as much, on all
    of them together it may cost less.
    """
    problems, (types, first) = layout.problems, layout.types
    check_delta(problems, delta)
    alone = solve(problems, delta)
    table = alone.cells(problems)
    cost, bound = (
        each[alone.of].reshape(layout.attributes, layout.groups).sum(axis=0)
        for each in (alone.cost, alone.bound)
    )
    of_type = np.repeat(np.arange(layout.groups), np.diff(first))
    most = layout.attributes - changes
    stays = layout.stays(table, types, layout.tables[of_type]).sum(axis=1)
    solve_together(layout, delta, changes, np.unique(of_type[stays > most]), table, cost, bound)
    bad = ~np.isfinite(cost)
    without = layout.cells(np.flatnonzero(bad))
    table[without] = alone.cells(problems)[without]  # so that all can be rounded
    units = rounded(problems, table, delta, denominator)
    return units, cost, bound, bad | _stay(layout, units, changes, denominator)


def _stay(layout: Layout, units: Ints, changes: int, denominator: int) -> Bools:
    """In which groups the own values of some tuple have more than d - ``changes`` rows together."""
    types, first = layout.types
    of_type, bad = (
        np.repeat(np.arange(layout.groups), np.diff(first)),
        np.zeros(layout.groups, np.bool_),
    )
    stays = layout.stays(units, types, layout.tables[of_type]).sum(axis=1)
    bad[of_type[stays > (layout.attributes - changes) * denominator]] = True
    return bad


def rounded(problems: Problems, probabilities: Floats, delta: Fraction, denominator: int) -> Ints:
    """The tables in whole numbers of 1/``denominator``, for which the promise holds exactly.

    Every row sums to the denominator, and ``n_ij <= delta * sum_h c_h n_hj`` holds in integers in
    every cell. ``probabilities`` are tables that keep that up to rounding, as those of
    :func:`solve`, in the places of the distances of ``problems``. Nearly all tables keep their
    cells of 0; where rounding needs room, rows give a few units to one more value.

    Raises MethodError where delta is above 1, or below 1/m for a group of m tuples, and where the
    denominator is below m or too large for exact sums.

    >>> import numpy as np
    >>> from phalanx.data.distances import Line
    >>> ages = Line(np.array([30.0, 31.0]))
    >>> two = Problems.on(ages, np.array([0, 1]), np.array([2, 1]), np.array([0, 2]))
    >>> rounded(two, solve(two, Fraction(1, 2)).probabilities, Fraction(1, 2), 100).tolist()
    [100, 0, 100, 0]
    """
    check_delta(problems, delta)
    largest = int(problems.tuples.max(initial=1))
    if not 1 <= denominator < 2**62 // largest:
        raise MethodError(
            f"tables of {largest} tuples cannot be kept exactly with denominator {denominator};"
            f" give a number from 1 to {2**62 // largest - 1}."
        )
    fitted = fitting(delta, problems)
    units, way = np.zeros(problems.cells[-1], np.int64), np.zeros(len(problems), np.int64)
    asked = problems.grid, np.ascontiguousarray(probabilities), *fitted.as_integer_ratio()
    in_threads(partial(kernel.exact, *asked, denominator, units, way), np.arange(len(problems)))
    if (way < 0).any():
        raise MethodError(
            f"{int((way < 0).sum())} random output table(s) cannot be made to keep delta ="
            f" {fitted} exactly; their rows do not sum to 1, or the denominator {denominator} is"
            " too small."
        )
    return units


def denominator_for(tuples: int, delta: Fraction) -> int:
    """A fine common denominator for tables of groups of at most so many ``tuples``: one with many
    divisors, so that most tables need no rounding at all.
    """
    base = math.lcm(_MANY_DIVISORS, delta.denominator)
    base = base if base <= _FINE else _MANY_DIVISORS
    room = min(_FINE, 2**61 // tuples)
    return base << max(0, (room // base).bit_length() - 1) if base <= room else room


def widened(group: Ints, bad: Bools, places: Floats, part: Ints | None = None) -> Ints:
    """Groups, 0 .. g-1, each bad one put together with the nearer one of its neighbours in their
    order, which follows how the table was cut.

    ``places`` (n, d): where every row is; groups are as near as their means (l1). ``part`` (n,):
    groups of different parts are no neighbours. MethodError where a bad group has none.
    """
    g = len(bad)
    part_of = np.zeros(g, dtype=np.int64)
    part_of[group] = 0 if part is None else part
    sizes = np.bincount(group, minlength=g)
    sums = [np.bincount(group, weights=place, minlength=g) for place in places.T]
    apart = np.abs(np.diff(np.stack([total / sizes for total in sums], axis=1), axis=0)).sum(axis=1)
    apart[np.diff(part_of) != 0] = np.inf
    joined = np.zeros(g - 1, dtype=np.bool_)  # whether a group is put together with the one after
    for b in np.flatnonzero(bad):
        before, after = (apart[b - 1] if b else np.inf), (apart[b] if b < g - 1 else np.inf)
        if np.isinf(min(before, after)):
            raise MethodError(
                f"not even all {'such rows' if part_of.any() else 'rows'} together can all change:"
                " values differ too little; ask for fewer changes or least-cost outputs, raise"
                " delta, or add quasi-identifiers."
            )
        joined[b - 1 if before <= after else b] = True
    label: Ints = np.concatenate([[0], np.cumsum(~joined)])[group]
    return label
