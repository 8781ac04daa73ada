# SPDX-License-Identifier: Apache-2.0
"""The values that each of many persons may have, with how probable each is: entries of a table of
all persons and all values, of which most are 0.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from phalanx.adversaries.naming import named_rightly
from phalanx.arrays import Bools, Floats, Ints, different, places_in


@dataclass(frozen=True, eq=False)
class Possible:
    """Persons and values that have a probability above 0; all others have 0."""

    persons: int
    """How many there are in all."""
    values: int
    """The same of values."""
    key: Ints
    """A person's number times the values, and the value; ascending, all different, shape (e,)."""
    p: Floats
    """How probable each is, shape (e,)."""

    @classmethod
    def of(cls, persons: int, values: int, key: Ints, p: Floats) -> "Possible":
        """Entries in any order; those with the same key are added up.

        >>> Possible.of(2, 3, np.array([4, 1, 4]), np.array([0.5, 1.0, 0.25])).p
        array([1.  , 0.75])
        """
        keys, place = different(key)
        summed = np.bincount(place, weights=p, minlength=len(keys)).astype(np.float64)
        there = summed > 0
        return cls(persons, values, keys[there], summed[there])

    @cached_property
    def person(self) -> Ints:
        """Whose each entry is, ascending, shape (e,)."""
        return self.key // self.values

    @cached_property
    def value(self) -> Ints:
        """The value of each entry, shape (e,)."""
        return self.key % self.values

    @property
    def candidates(self) -> Ints:
        """How many values each person may have, shape (persons,)."""
        return np.bincount(self.person, minlength=self.persons).astype(np.int64)

    def of_persons(self, weights: Floats) -> Floats:
        """The sum of a figure of each entry for every person, shape (persons,)."""
        return np.bincount(self.person, weights=weights, minlength=self.persons).astype(np.float64)

    def scaled(self) -> "Possible":
        """The same, each person's adding up to 1."""
        return self.with_p(self.p / self.of_persons(self.p)[self.person])

    def with_p(self, p: Floats) -> "Possible":
        """Other probabilities of the same entries, shape (e,)."""
        other = Possible(self.persons, self.values, self.key, p)
        other.__dict__.update(person=self.person, value=self.value)  # as they were worked out
        return other

    def holds(self, true: Ints) -> Bools:
        """Whether the value of each person is possible, shape (persons,); -1 is no value."""
        own = places_in(np.arange(self.persons) * self.values + true, self.key)
        return np.asarray((own >= 0) & (true >= 0))

    def named(self, true: Ints, row: Ints | None = None) -> Floats:
        """How often the most probable value is each person's own, one of them where several are
        equally probable; 0 where none is.

        Parameters
        ----------
        true : Ints
            The place of each person's value, -1 for none, shape (n,).
        row : Ints, optional
            As whom each person is here, where many are alike, shape (n,); as itself if not given.

        Returns
        -------
        Floats
            Shape (n,).
        """
        row = np.arange(self.persons) if row is None else row
        own = np.where(true >= 0, places_in(row * self.values + true, self.key), -1)
        return named_rightly(self.person, self.p, own, row)
