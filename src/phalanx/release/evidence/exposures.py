# SPDX-License-Identifier: Apache-2.0
"""The format in which a series carries what persons have been exposed to so far; makers and
checkers share it, and nothing that computes with it.

A release carries on what is known about the persons who are in it. What is known about those who
left is laid aside once, and read again where they return; it takes no part in any other release.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Integers, Ints

SCALE: Final = 16 * math.lcm(*range(1, 42))
"""Survival is a whole number of this many parts (below 2**62): the shares of groups of up to 41 are
exact, all others are rounded down.
"""
PERSONS, HISTORIES, PAIRS, VALUES = "persons", "histories", "pairs", "values"
LEFT: Final = "left"
"""The memory table (person, release, history) of who left, as often as they did: the first release
without them, and their history among those that it laid aside.
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
        )

    @classmethod
    def of_tables(cls, tables: Mapping[str, pl.DataFrame]) -> "Exposures":
        """What a release carried; none where it carried nothing."""
        if PERSONS not in tables:
            return cls.none()
        return cls._of(tables[PERSONS], tables[HISTORIES], tables[PAIRS], tables[VALUES])

    @classmethod
    def laid_aside(cls, tables: Mapping[str, pl.DataFrame], release: int) -> "Exposures":
        """What was laid aside with a release, of those whom :data:`LEFT` names with it, in its order.

        KeyError where nothing was.
        """
        of = tables[LEFT].filter(pl.col("release") == release)
        histories, pairs = (tables[_aside(name, release)] for name in (HISTORIES, PAIRS))
        return cls._of(of, histories, pairs, tables[VALUES])

    @classmethod
    def _of(
        cls,
        persons: pl.DataFrame,
        histories: pl.DataFrame,
        pairs: pl.DataFrame,
        values: pl.DataFrame,
    ) -> "Exposures":
        pairs_of = histories["pairs"].to_numpy()
        starts = np.concatenate([[0], np.cumsum(pairs_of, dtype=np.int64)])
        value, times = (_whole(pairs[name]) for name in ("value", "times"))
        survival = pairs["survival"].to_numpy().astype(np.int64, copy=False)
        history = persons["history"].to_numpy().astype(np.int64)
        return cls(persons["person"], history, starts, value, survival, times, values["value"])

    @property
    def alike(self) -> Ints:
        """How many persons have each history, shape (h,)."""
        return np.bincount(self.history, minlength=len(self.starts) - 1)

    @property
    def links(self) -> int:
        """How many pairs of a person and a value there are."""
        return int(self.alike @ np.diff(self.starts))

    def to_tables(self) -> dict[str, pl.DataFrame]:
        """The tables to carry: (person, history), (pairs), (value, survival, times), (value)."""
        return {
            PERSONS: self._persons(),
            HISTORIES: self._histories(),
            PAIRS: self._pairs(),
            VALUES: self.values.alias("value").to_frame(),
        }

    def to_tables_aside(self, release: int) -> dict[str, pl.DataFrame]:
        """The tables to remember of persons who are not in a release any more, whose values are those
        that it carries; none where there are no such persons.
        """
        if not len(self.persons):
            return {}
        left = self._persons().select(
            "person", pl.lit(release, pl.UInt32).alias("release"), "history"
        )
        return {
            LEFT: left,
            _aside(HISTORIES, release): self._histories(),
            _aside(PAIRS, release): self._pairs(),
        }

    def _persons(self) -> pl.DataFrame:
        return pl.DataFrame({"person": self.persons, "history": self.history.astype(np.uint32)})

    def _histories(self) -> pl.DataFrame:
        return pl.DataFrame({"pairs": np.diff(self.starts).astype(np.uint32)})

    def _pairs(self) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "value": _narrow(self.value),
                "survival": self.survival,
                "times": _narrow(self.times),
            }
        )


def _aside(name: str, release: int) -> str:
    """The name of a table that was laid aside with a release, which no other one adds to."""
    return f"left {name} {release}"


def _whole(column: pl.Series) -> Integers:
    """The numbers of a column as they are stored; no numbers that are whole are others then."""
    numbers: Integers = column.to_numpy()
    narrow = numbers.dtype.kind == "u" and numbers.dtype.itemsize <= 4
    return numbers if narrow else numbers.astype(np.int64, copy=False)


def _narrow(numbers: Integers) -> Integers:
    """Whole numbers from 0 on in as few bytes each as hold them."""
    return numbers.astype(np.min_scalar_type(int(numbers.max(initial=0))), copy=False)
