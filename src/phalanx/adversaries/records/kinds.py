# SPDX-License-Identifier: Apache-2.0
"""Persons of a group whose own quasi-identifiers are equal, and rows of it that show equal ones: what
an adversary believes of one of them it believes of all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from phalanx.arrays import Ints, row_numbers
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows

_AT_ONCE: Final = 1 << 19
"""Pairs of a kind of persons and one of rows that are held at once."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """Persons of one group whose own quasi-identifiers are equal, and rows of one group that show
    equal ones, by kind, those of one group after the other.
    """

    of: Ints
    """The kind of each person, or of each person's row, shape (n,)."""
    first: Ints
    """A person of each kind, or whose row is of it, shape (k,)."""
    group: Ints
    """The group of each kind, ascending, shape (k,)."""
    many: Ints
    """How many there are of each kind, shape (k,)."""

    @classmethod
    def by(cls, group: Ints, classes: Ints) -> "Kinds":
        """Of persons, or rows, with their ``group`` (n,) and ``classes`` (n, d)."""
        of = row_numbers([group, *classes.T], len(group))
        first = np.zeros(int(of.max(initial=-1)) + 1, dtype=np.int64)
        first[of] = np.arange(len(of))
        return cls(of, first, group[first], np.bincount(of, minlength=len(first)))

    def per_group(self, groups: int) -> Ints:
        """How many kinds each group has."""
        return np.bincount(self.group, minlength=groups)


def kinds_of(drawn: DrawnRows) -> tuple[Kinds, Kinds]:
    """Those of persons, and those of rows."""
    group = drawn.classes.group
    return Kinds.by(group, drawn.classes.own), Kinds.by(group, drawn.shown)


def pairs_by_group(persons: Kinds, rows: Kinds) -> Ints:
    """How many pairs of a kind of persons and one of rows each group has."""
    groups = int(persons.group.max(initial=-1)) + 1
    return persons.per_group(groups) * rows.per_group(groups)


def all_pairs(group: Ints, of_rows: Ints) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of one of ``group`` and one of ``of_rows``, both ascending, in the same group, some
    at a time.
    """
    begins, ends = (np.searchsorted(of_rows, group, side=side) for side in ("left", "right"))
    length = ends - begins
    reached, begin = np.cumsum(length), 0
    while begin < len(group):
        so_far = int(reached[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(reached, so_far + _AT_ONCE, side="right")))
        part = length[begin:end]
        within = np.arange(int(part.sum())) - np.repeat(np.cumsum(part) - part, part)
        yield (
            np.repeat(np.arange(begin, end), part),
            np.repeat(begins[begin:end], part) + within,
        )
        begin = end
