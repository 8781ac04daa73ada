# SPDX-License-Identifier: Apache-2.0
"""Cohorts: who once stood in a group with a permanent value is published with the same people for
good.

A permanent value (once true, always true) cannot be spread over ever new groups: whoever is in all
of them has it. So the first group that holds one becomes a cohort for life. It is published whole
or not at all; whoever is absent is stood in for by a counterfeit, which shows their permanent
value, or else what a random row of the table shows; and carriers are never fewer. What is published
then is the same whoever the carriers are, so each member is one with probability carriers /
members. See docs/explanation/cohorts.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.methods.global_guarantee.protected import Protected
from phalanx.randomness import Stream

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MEMBERS: Final = "cohorts"
"""Memory table (person, cohort): everybody who ever was in a group with a permanent value."""
CARRIERS: Final = "carriers"
"""Memory table (person, value): the permanent values that were published for them."""


@dataclass(eq=False)
class Counterfeit:
    """What stands in for an absent member: their permanent values, and beside them what a random
    row of the table holds.
    """

    carries: frozenset[Any]
    copy: int = -1
    """The row whose other values it shows; -1 for none."""
    without: set[int] = field(default_factory=set)
    """Protected values (by code) that it does not show."""


@dataclass(frozen=True, eq=False)
class Cohort:
    """One cohort as it is published now: the rows of the members who are there, and what stands in
    for the others.
    """

    number: int
    size: int
    rows: list[int]
    """Rows of the members who are published."""
    counterfeits: list[Counterfeit]
    """One for each member who is not."""


@dataclass(eq=False)
class Cohorts:
    """The cohorts of a series beside a table, and what this release does with them."""

    known: pl.DataFrame
    carried: dict[bytes, set[Any]]
    """Person -> permanent values published for them."""
    of_row: Ints
    """The cohort of each row's person, and then of each registered one, -1 for none."""
    next_number: int
    cohorts: list[Cohort] = field(default_factory=list)
    new_members: list[tuple[bytes, int]] = field(default_factory=list)
    new_carriers: list[tuple[bytes, Any]] = field(default_factory=list)

    @classmethod
    def recall(cls, tables: Mapping[str, pl.DataFrame], persons: pl.Series) -> "Cohorts":
        """Who of a table is in which cohort."""
        known = tables.get(MEMBERS, pl.DataFrame(schema={"person": pl.Binary, "cohort": pl.Int64}))
        carried: dict[bytes, set[Any]] = {}
        for person, value in tables[CARRIERS].iter_rows() if CARRIERS in tables else ():
            carried.setdefault(person, set()).add(value)
        found = (
            persons.alias("person")
            .to_frame()
            .join(known, on="person", how="left", maintain_order="left")["cohort"]
            .fill_null(-1)
        )
        return cls(
            known,
            carried,
            found.to_numpy().astype(np.int64),
            int(known["cohort"].max() or 0) + 1 if known.height else 1,  # type: ignore[arg-type]
        )

    def publish_again(self, persons: pl.Series, held: Protected, l: Fraction, gone: Bools) -> Ints:
        """The cohorts of whom somebody is there; returns the rows from which a permanent value that
        was published for them is missing.

        ``gone`` (entries of ``held``,) is set where a permanent value cannot be shown: of somebody
        who became a carrier while others are absent, or where the cohort would then have too many.
        """
        missing: list[int] = []
        keys = persons.to_list()
        members = {
            number: group["person"].to_list() for (number,), group in self.known.group_by("cohort")
        }
        by_cohort: dict[int, list[int]] = {}
        for row in np.flatnonzero(self.of_row[: len(keys)] >= 0).tolist():
            by_cohort.setdefault(int(self.of_row[row]), []).append(row)
        for number, present in sorted(by_cohort.items()):
            rows = [
                row
                for row in present
                if self.carried.get(keys[row], set()) <= self._permanent(held, row)
            ]
            missing += [row for row in present if row not in rows]
            size = len(members[number])
            counts: dict[Any, int] = {}
            for person in members[number]:
                for value in self.carried.get(person, ()):
                    counts[value] = counts.get(value, 0) + 1
            for row in rows:
                for entry in range(int(held.starts[row]), int(held.starts[row + 1])):
                    value = held.names[int(held.codes[entry])]
                    if not held.permanent[held.codes[entry]] or value in self.carried.get(
                        keys[row], ()
                    ):
                        continue
                    if len(rows) == size and l * (counts.get(value, 0) + 1) <= size:
                        counts[value] = counts.get(value, 0) + 1
                        self._carries(keys[row], value)
                    else:
                        gone[entry] = True
            if rows:
                there = {keys[row] for row in rows}
                absent = [
                    Counterfeit(frozenset(self.carried.get(person, ())))
                    for person in members[number]
                    if person not in there
                ]
                self.cohorts.append(Cohort(number, size, rows, absent))
        return np.array(missing, dtype=np.int64)

    def found(self, persons: pl.Series, held: Protected, rows: Ints) -> None:
        """Make a group with a permanent value a cohort."""
        number, self.next_number = self.next_number, self.next_number + 1
        for row in rows.tolist():
            person = persons[row]
            self.new_members.append((person, number))
            for value in self._permanent(held, row):
                self._carries(person, value)
        self.cohorts.append(Cohort(number, len(rows), rows.tolist(), []))

    def to_remember(self) -> dict[str, pl.DataFrame]:
        """What to append to memory."""
        remember = {}
        if self.new_members:
            remember[MEMBERS] = pl.DataFrame(
                self.new_members, schema={"person": pl.Binary, "cohort": pl.Int64}, orient="row"
            )
        if self.new_carriers:
            persons, values = zip(*self.new_carriers, strict=True)
            remember[CARRIERS] = pl.DataFrame(
                {"person": pl.Series(persons, dtype=pl.Binary), "value": pl.Series(values)}
            )
        return remember

    def _carries(self, person: bytes, value: Any) -> None:
        self.carried.setdefault(person, set()).add(value)
        self.new_carriers.append((person, value))

    def _permanent(self, held: Protected, row: int) -> set[Any]:
        codes = held.codes[held.starts[row] : held.starts[row + 1]]
        return {held.names[int(code)] for code in codes if held.permanent[code]}


def stand_in(cohorts: Sequence[Cohort], pool: Ints, stream: Stream, *, beside: bool) -> None:
    """Let every counterfeit copy a random row of ``pool``; one that shows a permanent value only
    where values stand ``beside`` each other in a set.
    """
    invented = [
        c
        for cohort in cohorts
        for c in cohort.counterfeits
        if len(pool) and (beside or not c.carries)
    ]
    if invented:
        for counterfeit, at in zip(
            invented, stream.integers(len(pool), len(invented)), strict=True
        ):
            counterfeit.copy = int(pool[at])


def fit(
    cohort: Cohort,
    held: Protected,
    gone: Bools,
    allowed: Callable[[int, int, int], int],
    stream: Stream,
) -> int:
    """Suppress transient values of a cohort until every member may be near those that stay, real
    and counterfeit rows alike; returns how many.

    ``allowed(row, code, size)``: how many rows of a group of that size may hold a value, for this
    member.
    """
    where: dict[int, list[tuple[int, Counterfeit | None]]] = {}
    for row, counterfeit in [
        *((row, None) for row in cohort.rows),
        *((c.copy, c) for c in cohort.counterfeits if c.copy >= 0),
    ]:
        for entry in range(int(held.starts[row]), int(held.starts[row + 1])):
            code = int(held.codes[entry])
            if not held.permanent[code] and (counterfeit is not None or not gone[entry]):
                where.setdefault(code, []).append((entry, counterfeit))
    suppressed = 0
    for code, entries in where.items():
        most = max(min(allowed(row, code, cohort.size) for row in cohort.rows), 0)
        for i in stream.permutation(len(entries))[most:].tolist() if len(entries) > most else ():
            entry, counterfeit = entries[i]
            if counterfeit is None:
                gone[entry] = True
                suppressed += 1
            else:
                counterfeit.without.add(code)
    return suppressed
