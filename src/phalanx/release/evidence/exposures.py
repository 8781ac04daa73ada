# SPDX-License-Identifier: Apache-2.0
"""The format in which a series carries what persons have been exposed to so far; makers and
checkers share it, and nothing that computes with it.

A release carries on what is known about the persons who are in it, or were in one of the last. The
histories of those who left are laid aside, each once, however many have it; they are read again where
one returns, and take no part in any other release.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Integers, Ints

SCALE: Final = 16 * math.lcm(*range(1, 42))
"""Survival is a whole number of this many parts (below 2**62): the shares of groups of up to 41 are
exact, all others are rounded down.
"""
PERSONS, HISTORIES, PAIRS, VALUES = "persons", "histories", "linked", "values"
PAIRS_ASIDE: Final = "laid pairs "
"""How the name of a table of pairs that were laid aside begins, before the number of the release."""
_OLDER: Final = "pairs"
"""The name of PAIRS where nothing was ever laid aside. A version from before that looks for it, and
goes on with no ledger in which it would not see who left.
"""
LEFT: Final = "left"
"""The memory table (person, history) of who left, as often as they did, with the origin of what is
known of them.
"""
LAID: Final = "laid"
"""The memory table (history, pairs, release) of the histories that were laid aside, by their origin:
how many pairs each has, and with which release they were. The pairs of one release are a table.
"""


@dataclass(frozen=True, eq=False)
class Exposures:
    """For every person and protected value that a group linked with them: the probability that no
    release so far did, rounded down.

    Who stood in the same groups has the same history, and a pair (history, value) stands for all
    of them: there are about as many histories as groups, and many more persons.
    """

    persons: pl.Series
    """Person keys (Binary), shape (p,), each once."""
    history: Ints
    """Which history each person has, shape (p,)."""
    starts: Ints
    """First pair of each history, shape (h + 1,)."""
    value: Integers
    """A place in ``values``, ascending within a history, shape (e,)."""
    survival: Ints
    """In parts of SCALE, shape (e,)."""
    times: Integers
    """In how many releases a group linked them, shape (e,)."""
    values: pl.Series
    """The sensitive values that pairs are about."""
    origin: Ints
    """A number that a history has as long as nothing is added to it, and no other one has, shape
    (h,).
    """
    laid: Bools
    """Whether a history was laid aside, as it still is, shape (h,)."""
    away: Integers
    """How many releases ago each person was in one, shape (p,)."""

    @classmethod
    def none(cls) -> "Exposures":
        """Before the first release."""
        empty = np.zeros(0, dtype=np.int64)
        return cls(
            pl.Series("person", [], dtype=pl.Binary),
            empty,
            np.zeros(1, dtype=np.int64),
            empty,
            empty,
            empty,
            pl.Series("value", [], dtype=pl.String),
            empty,
            np.zeros(0, dtype=bool),
            empty,
        )

    @classmethod
    def of_tables(cls, tables: Mapping[str, pl.DataFrame]) -> "Exposures":
        """What a release carried; none where it carried nothing."""
        if PERSONS not in tables:
            return cls.none()
        persons, histories, values = tables[PERSONS], tables[HISTORIES], tables[VALUES]["value"]
        carried = cls._of(histories, tables[PAIRS if PAIRS in tables else _OLDER], values)
        if "origin" in histories.columns:  # older ledgers have laid none aside
            origin, laid = (histories[name].to_numpy() for name in ("origin", "laid"))
            carried = replace(carried, origin=origin.astype(np.int64), laid=laid)
        history = persons["history"].to_numpy().astype(np.int64)
        away = persons["away"].to_numpy() if "away" in persons.columns else np.zeros_like(history)
        return replace(carried, persons=persons["person"], history=history, away=away)

    @classmethod
    def laid_aside(cls, tables: Mapping[str, pl.DataFrame], release: int) -> "Exposures":
        """The histories that were laid aside with a release, of no persons; KeyError where their pairs
        are not there.
        """
        releases = tables[LAID]["release"].to_numpy()  # ascending
        first, end = (int(np.searchsorted(releases, release, side)) for side in ("left", "right"))
        histories = tables[LAID][first:end]
        aside = cls._of(histories, tables[pairs_aside(release)], tables[VALUES]["value"])
        origin = histories["history"].to_numpy().astype(np.int64)
        return replace(aside, origin=origin, laid=np.ones(len(origin), dtype=bool))

    @classmethod
    def _of(cls, histories: pl.DataFrame, pairs: pl.DataFrame, values: pl.Series) -> "Exposures":
        """Of no persons, each history with its place as its origin."""
        starts = np.append([0], np.cumsum(histories["pairs"].to_numpy(), dtype=np.int64))
        value, times = (_whole(pairs[name]) for name in ("value", "times"))
        survival = pairs["survival"].to_numpy().astype(np.int64, copy=False)
        origin = np.arange(len(histories))
        of_none, laid = cls.none(), np.zeros(len(histories), dtype=bool)
        return replace(
            of_none,
            starts=starts,
            value=value,
            survival=survival,
            times=times,
            values=values,
            origin=origin,
            laid=laid,
        )

    def with_histories(self, some: Ints) -> "Exposures":
        """Some histories alone, as those of no persons."""
        many = self.starts[some + 1] - self.starts[some]
        starts = np.append([0], np.cumsum(many))
        at = np.repeat(self.starts[some] - starts[:-1], many) + np.arange(starts[-1])
        return replace(
            self.none(),
            starts=starts,
            value=self.value[at],
            survival=self.survival[at],
            times=self.times[at],
            values=self.values,
            origin=self.origin[some],
            laid=self.laid[some],
        )

    @property
    def alike(self) -> Ints:
        """How many persons have each history, shape (h,)."""
        return np.bincount(self.history, minlength=len(self.starts) - 1)

    def to_tables(self) -> dict[str, pl.DataFrame]:
        """The tables to carry: (person, history, away), (pairs, origin, laid), (value, survival,
        times), (value).
        """
        return {
            PERSONS: pl.DataFrame(
                {
                    "person": self.persons,
                    "history": self.history.astype(np.uint32),
                    "away": self.away.astype(np.uint8),
                }
            ),
            HISTORIES: pl.DataFrame(
                {"pairs": _pairs_of(self), "origin": self.origin, "laid": self.laid}
            ),
            PAIRS: _pairs(self),
            VALUES: self.values.alias("value").to_frame(),
        }

    def to_tables_aside(self, release: int) -> dict[str, pl.DataFrame]:
        """The tables to remember of persons who left, whose values are those that the release carries:
        with the histories that were not laid aside before.
        """
        if not len(self.persons):
            return {}
        left = pl.DataFrame({"person": self.persons, "history": self.origin[self.history]})
        new = self.with_histories(np.flatnonzero(~self.laid))
        if not len(new.origin):
            return {LEFT: left}
        laid = pl.DataFrame({"history": new.origin, "pairs": _pairs_of(new)})
        laid = laid.with_columns(release=pl.lit(release, pl.UInt32))
        return {LEFT: left, LAID: laid, pairs_aside(release): _pairs(new)}


def _pairs_of(carried: Exposures) -> Integers:
    return np.diff(carried.starts).astype(np.uint32)


def _pairs(carried: Exposures) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "value": _narrow(carried.value),
            "survival": carried.survival,
            "times": _narrow(carried.times),
        }
    )


def pairs_aside(release: int) -> str:
    """The name of the table of pairs that were laid aside with a release, to which no other one adds."""
    return f"{PAIRS_ASIDE}{release}"


def _whole(column: pl.Series) -> Integers:
    """The numbers of a column as they are stored; no numbers that are whole are others then."""
    numbers: Integers = column.to_numpy()
    narrow = numbers.dtype.kind == "u" and numbers.dtype.itemsize <= 4
    return numbers if narrow else numbers.astype(np.int64, copy=False)


def _narrow(numbers: Integers) -> Integers:
    """Whole numbers from 0 on in as few bytes each as hold them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))), copy=False)
