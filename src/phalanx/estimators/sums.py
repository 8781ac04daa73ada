# SPDX-License-Identifier: Apache-2.0
"""The least sums of numbers of which so many are taken of each group, and which of them must be."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Taken:
    """The different numbers of all groups, and how many copies of each are in a least sum: ``must``,
    or ``may`` where it lowers the sum.
    """

    values: Floats
    must: Ints
    may: Ints

    @classmethod
    def of(
        cls,
        group: Ints,
        values: Floats,
        copies: Ints,
        low: Ints,
        high: Ints,
        other: Bools | None = None,
    ) -> "Taken":
        """Of each group at least ``low`` and at most ``high`` numbers are taken, always the
        smallest; with ``other``, shape of the numbers, those that are not come first.
        """
        order = np.lexsort((values, np.zeros(len(values)) if other is None else other, group))
        group, values, copies = group[order], values[order], copies[order]
        upto = np.cumsum(copies)
        begin = np.searchsorted(group, group)
        first = upto - copies - (upto - copies)[begin]
        last = first + copies
        must, may = (
            np.clip(np.minimum(last, most[group]) - first, 0, None) for most in (low, high)
        )
        return cls._together(pl.DataFrame({"value": values, "must": must, "may": may}))

    @classmethod
    def together(cls, parts: Sequence["Taken"]) -> "Taken":
        """What is taken of the groups of all of them."""
        each = (
            pl.DataFrame({"value": one.values, "must": one.must, "may": one.may}) for one in parts
        )
        return cls._together(pl.concat(each))

    @classmethod
    def _together(cls, taken: pl.DataFrame) -> "Taken":
        """Equal ones as one, as sums are asked for again and again until a mean is found."""
        sums = taken.filter(pl.col("may") > 0).group_by("value").sum()
        return cls(*(sums[name].to_numpy() for name in ("value", "must", "may")))

    def least(self, shift: float) -> float:
        """The least sum of the numbers, each plus ``shift``, which leaves their order as it is."""
        values = self.values + shift
        taken = np.where(values < 0, self.may, self.must)
        used = taken > 0
        if len(infinite := values[used][np.isinf(values[used])]):
            return float(infinite.min())  # of both infinities nothing bounds the sum
        try:
            return math.fsum((values[used] * taken[used]).tolist())
        except (OverflowError, ValueError):  # near the largest number that a float holds
            small = np.ldexp(self.values[used], -64) + math.ldexp(shift, -64)
            return float(np.ldexp(math.fsum((small * taken[used]).tolist()), 64))


@dataclass(frozen=True, eq=False)
class Numbers:
    """The entries that can be in: the group, the least and the greatest number of each, and how
    many copies; of every group how many of its rows are in; ``surely``: whether some row is.
    """

    group: Ints
    least: Floats
    greatest: Floats
    first: Floats
    """The number of one copy, which stands at the low end; NaN where none must."""
    last: Floats
    """The same at the high end."""
    copies: Ints
    low: Ints
    high: Ints
    ends_in: bool
    """Whether rows at these ends are in whatever others are."""
    surely: bool

    @cached_property
    def up(self) -> Taken:
        """Least sums of the numbers."""
        return self._taken(self.least, self.last)

    @cached_property
    def down(self) -> Taken:
        """The same of the numbers with the other sign."""
        return self._taken(-self.greatest, -self.first)

    @cached_property
    def up_anywhere(self) -> Taken:
        """As ``up``, if no row had to stand at an end of its box."""
        return Taken.of(self.group, self.least, self.copies, self.low, self.high)

    @cached_property
    def down_anywhere(self) -> Taken:
        """As ``down``, in the same way."""
        return Taken.of(self.group, -self.greatest, self.copies, self.low, self.high)

    def _taken(self, values: Floats, end: Floats) -> Taken:
        """The same, with one row of an entry at its ``end``."""
        there = ~np.isnan(end)
        group = np.concatenate([self.group, self.group[there]])
        at_end = np.arange(len(group)) >= len(self.group)
        return Taken.of(
            group,
            np.concatenate([values, end[there]]),
            np.concatenate([self.copies - there, np.ones(int(there.sum()), dtype=np.int64)]),
            self.low,
            self.high,
            ~(at_end & self.ends_in),
        )

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest number; the wrong way round where there is none."""
        return float(self.least.min(initial=math.inf)), float(self.greatest.max(initial=-math.inf))

    @cached_property
    def farthest(self) -> float:
        """How far from 0 a number is at most; an open end is none."""
        ends = np.abs(np.concatenate([self.least, self.greatest]))
        return float(ends[np.isfinite(ends)].max(initial=0))

    @cached_property
    def rows(self) -> int:
        """How many copies there are."""
        return int(self.copies.sum())


@dataclass(frozen=True, eq=False)
class Sums:
    """What is asked of :class:`Numbers`, of those of several parts together."""

    up: Taken
    down: Taken
    up_anywhere: Taken
    down_anywhere: Taken
    ends: tuple[float, float]
    farthest: float
    rows: int
    surely: bool

    @classmethod
    def of(cls, parts: Iterable[Numbers]) -> "Sums":
        """Each part is looked at before the next one is asked for, and forgotten."""
        each = [
            cls(
                one.up,
                one.down,
                one.up_anywhere,
                one.down_anywhere,
                one.ends,
                one.farthest,
                one.rows,
                one.surely,
            )
            for one in parts
        ]
        return cls(
            Taken.together([one.up for one in each]),
            Taken.together([one.down for one in each]),
            Taken.together([one.up_anywhere for one in each]),
            Taken.together([one.down_anywhere for one in each]),
            (min(one.ends[0] for one in each), max(one.ends[1] for one in each)),
            max(one.farthest for one in each),
            sum(one.rows for one in each),
            any(one.surely for one in each),
        )


def slack(numbers: Numbers | Sums, shift: float, *, exact: bool) -> float:
    """More than rounding can have changed in a sum of numbers less ``shift``; none where all of it
    are whole numbers that a float holds.
    """
    farthest = max(numbers.farthest, abs(shift)) if math.isfinite(shift) else numbers.farthest
    most = farthest * 2 * float(numbers.rows)
    return 0.0 if exact and most < 2**53 else most * 1e-12
