# SPDX-License-Identifier: Apache-2.0
"""What the phases hand on: the table beside what the series remembers, which no phase changes, and
what has been decided so far, of which every phase makes a new one.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Bools, Floats, Ints
from phalanx.data.microdata import Microdata
from phalanx.methods.global_guarantee.exposures import Demands, Onward, Statistics
from phalanx.methods.global_guarantee.kernels.exposures import Hosts
from phalanx.methods.global_guarantee.kernels.groups import FREE
from phalanx.methods.global_guarantee.protected import Protected
from phalanx.methods.global_guarantee.ratios import Strategy

Reasons = npt.NDArray[np.int8]

IN_COHORT: Final = -2
"""Beside FREE and the names of groups: in a cohort, and so in no other group."""
UNPROTECTED, SHARES = "unprotected", "shares"
"""Memory tables: the values that are too frequent to be protected (value); of the last release, the
share of every protected value in its groups (share).
"""


class Reason(IntEnum):
    """Why a protected value of a row is not shown."""

    SHOWN = 0
    NO_COHORT = 1
    SPENT = 2
    NO_GROUP = 3
    IN_COHORT = 4


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a plan asks of every release of a series."""

    bound: Fraction
    """The l of the guarantee."""
    least: int
    """The least size of any group."""
    balanced: bool
    """Whether the table is cut evenly; else groups grow around holders."""
    protect: str | Sequence[Any] | Mapping[str, float]
    """As in the plan: all values, those listed, or those that are rare at first."""
    permanent: Sequence[Any]
    """The protected values that stay with a person."""
    min_width: Mapping[str, float]
    """Per quasi-identifier the least width of a published interval."""
    spending: Callable[[Sequence[int], int], Strategy]
    """How budgets are spent, from the exposures that a series shows after so many releases."""


@dataclass(frozen=True, eq=False)
class Memberships:
    """Who is in which cohort since an earlier release."""

    members: Mapping[int, Sequence[bytes]]
    """By the number of a cohort."""
    carried: Mapping[bytes, frozenset[Any]]
    """Person -> permanent values published for them."""
    cohort: Ints
    """The number of each person's cohort, shape (e,); 0 for none."""
    past: Ints
    """In which releases each person was so far, shape (e,): two persons have the same number if
    they were in the same ones.
    """
    silent: Bools
    """Of whom nothing is shown since an earlier release, shape (e,)."""
    next_number: int


@dataclass(frozen=True, eq=False)
class Table:
    """What is known before anything is decided."""

    rules: Rules
    microdata: Microdata
    people: pl.Series
    """The person of every row, and then the registered persons, shape (e,)."""
    held: Protected
    """The protected values of all persons; registered persons hold none."""
    unprotected: pl.Series
    """The values that the first release found too frequent to be protected."""
    statistics: Statistics
    memberships: Memberships
    shares: Floats
    """The share of each protected value that was known then in the groups of the last release."""
    strategy: Strategy
    releases: int
    """How many were published before."""

    @cached_property
    def asked(self) -> Demands:
        """The ratio n / n_s that each person demands of a group: what the strategy asks (Section 6)."""
        return self.statistics.demands(self.strategy, self.least)

    @cached_property
    def least(self) -> Demands:
        """The least of it that keeps the guarantee."""
        return self.statistics.least(self.rules.bound)

    def at_most(self, times: float) -> Demands:
        """What is asked, and no more than ``times`` the least; computed once."""
        if times not in self._lessened:
            self._lessened[times] = self.asked.at_most(times, self.least)
        return self._lessened[times]

    @cached_property
    def _lessened(self) -> dict[float, Demands]:
        return {}

    @property
    def first(self) -> bool:
        """Whether this is the first release of its series."""
        return self.releases == 0

    @property
    def rows(self) -> int:
        """How many are to be published; the rest of all persons are registered persons."""
        return self.microdata.rows

    @property
    def of_sets(self) -> bool:
        """Whether a row may hold several values at once."""
        return self.microdata.sensitive.domain.type == "set"


@dataclass(frozen=True)
class Cohort:
    """One cohort as it is published now: the rows of the members who are there, and what stands in
    for the others.
    """

    number: int
    carries: Mapping[int, frozenset[Any]]
    """The permanent values with which the cohort was founded, of each row of a member; nothing else
    is shown of them.
    """
    counterfeits: Sequence[frozenset[Any]] = ()
    """The same of each member who is absent."""

    @property
    def size(self) -> int:
        """How many members it has."""
        return len(self.carries) + len(self.counterfeits)

    @property
    def shares(self) -> dict[Any, Fraction]:
        """The part of its members who were carriers when it was founded, by the value."""
        times = Counter(chain(*self.carries.values(), *self.counterfeits))
        return {value: Fraction(n, self.size) for value, n in times.items()}

    @property
    def rows(self) -> list[int]:
        """The rows of the members who are there."""
        return list(self.carries)


class Cut(NamedTuple):
    """Which rows were cut into groups, and what was demanded there."""

    demands: Demands
    rows: Ints


@dataclass(frozen=True, eq=False)
class State:
    """What has been decided so far."""

    group: Ints
    """Each person's group, named by one of its rows; FREE, or IN_COHORT, shape (e,)."""
    reason: Reasons
    """Why each entry of the table's ``held`` is not shown, a Reason."""
    emptied: Bools
    """Who is published without a value, whatever it is, if they have a row, shape (e,)."""
    hidden: Bools
    """Who of these is silent from now on, shape (e,)."""
    cuts: Sequence[Cut] = ()
    cohorts: Sequence[Cohort] = ()

    @classmethod
    def nothing(cls, table: Table) -> "State":
        """Nothing has been decided."""
        people = len(table.people)
        return cls(
            np.full(people, FREE, dtype=np.int64),
            np.full(len(table.held.codes), Reason.SHOWN, dtype=np.int8),
            np.zeros(people, dtype=bool),
            np.zeros(people, dtype=bool),
        )

    @property
    def shown(self) -> Bools:
        """Which entries of the table's ``held`` are shown."""
        shown: Bools = self.reason == Reason.SHOWN
        return shown

    def refused(self, entries: Bools, reason: Reason) -> Reasons:
        """``reason``, where those ``entries`` that were shown are not any more."""
        return np.where(entries & self.shown, reason, self.reason).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Exposed:
    """What a release adds to the statistics file."""

    place: Ints
    """The number of each person's group, shape (e,), cohorts last; NOWHERE for none."""
    groups: int
    """So many of them are no cohorts."""
    hosts: Hosts
    """The groups as they are written."""
    onward: Onward
    """The statistics file of the next release."""
