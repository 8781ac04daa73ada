# SPDX-License-Identifier: Apache-2.0
"""Persons who are followed through several releases: in which they are, and how probable each
release by itself makes every value of each person.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from phalanx.adversaries.candidates import Values, hides_values
from phalanx.adversaries.groups.hosts import Hosts, original_table, shows_values
from phalanx.adversaries.series.possible import Possible
from phalanx.arrays import Ints, places_in
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

_AT_ONCE: Final = 1 << 22
"""So many entries, a value of a person in a group, are held at once where persons are taken by
themselves.
"""


@dataclass(frozen=True, eq=False)
class Sighting:
    """What one release makes of the persons whom some group of it may host."""

    microdata: Microdata
    hosts: Hosts
    rows: Ints
    """Their rows in the original table, shape (m,)."""
    who: Ints
    """The place of each among all persons, shape (m,)."""
    at: Ints
    """The place of each of all persons among these, -1 for who is not, shape (n,)."""
    value: Ints
    """The place among all values of each value that the release publishes, shape (q,)."""
    values: int
    """How many values there are in all."""

    @cached_property
    def tuples(self) -> Ints:
        """The tuple of each person, shape (m,)."""
        return self.hosts.of_person[self.rows]

    @cached_property
    def open(self) -> Ints:
        """How many entries each person has, a value in a group that may host them, shape (m,)."""
        return self.hosts.open[self.tuples]

    def law(self, people: Ints) -> Possible:
        """How probable the release by itself makes every value of some of all persons, by the law
        of the posterior adversary; of whom it may not host, none. They are numbered by their place
        in ``people``.
        """
        at = self.at[people]
        those = np.flatnonzero(at >= 0)
        person, cell, p = self.hosts.entries_of(self.tuples[at[those]])
        value = self.value[self.hosts.groups.cell_value[cell]]
        return Possible.of(
            len(people), self.values, those[person] * self.values + value, p
        ).scaled()


def telling(seen: Sequence[tuple[Release, Evidence]]) -> Sequence[tuple[Release, Evidence]]:
    """The releases, with what is laid beside each, but for those that hide all values."""
    some = [one for one in seen if not hides_values(one[0]) or shows_values(one[0])]
    return some or seen


@dataclass(frozen=True, eq=False)
class Sightings:
    """All persons whom some release may host, and what each release says of them."""

    persons: pl.Series
    """Keyed hashes, shape (n,)."""
    values: Values
    each: Sequence[Sighting]
    true: Ints
    """The place of each person's value in the last release that they are in, shape (n,)."""
    changed: int
    """How many persons had several values."""

    @classmethod
    def of(cls, seen: Sequence[tuple[Release, Evidence]]) -> "Sightings":
        """Releases in their order, each with what is laid beside it; ReleaseError where an original
        table with persons is missing.
        """
        tables = [original_table(release, evidence) for release, evidence in seen]
        if without := next(
            (
                release
                for (release, _), table in zip(seen, tables, strict=True)
                if table.persons is None
            ),
            None,
        ):
            raise ReleaseError(
                f"release {without.number} has no persons beside it, so that no person can"
                " be followed; name the identifier column."
            )
        hosts = [Hosts.of(release, table) for (release, _), table in zip(seen, tables, strict=True)]
        values = Values.of(
            [
                column
                for h, t in zip(hosts, tables, strict=True)
                for column in (h.groups.values, t.sensitive.domain.values)
                if column is not None
            ]
        )
        present = [np.flatnonzero(h.hosted[h.of_person]).astype(np.int64) for h in hosts]
        hashes = [
            t.persons.gather(rows)
            for t, rows in zip(tables, present, strict=True)
            if t.persons is not None
        ]
        persons = pl.concat(hashes).unique(maintain_order=True)
        numbered = pl.DataFrame({"person": persons, "who": np.arange(len(persons), dtype=np.int64)})
        true, changed, each = (
            np.full(len(persons), -1, dtype=np.int64),
            np.zeros(len(persons), dtype=bool),
            [],
        )
        for h, table, rows, person in zip(hosts, tables, present, hashes, strict=True):
            who = (
                person.to_frame("person")
                .join(numbered, on="person", how="left", maintain_order="left")["who"]
                .to_numpy()
            )
            true_values = values.places(table.sensitive.domain.values)[table.sensitive.codes[rows]]
            changed[who] |= (true[who] >= 0) & (true[who] != true_values)
            true[who] = true_values
            place = (
                np.zeros(0, dtype=np.int64)
                if h.groups.values is None
                else values.places(h.groups.values)
            )
            at = np.full(len(persons), -1, dtype=np.int64)
            at[who] = np.arange(len(who))
            each.append(Sighting(table, h, rows, who, at, place, len(values.domain)))
        return cls(persons, values, each, true, int(changed.sum()))

    def together(self, among: Sequence[int], people: Ints) -> Possible:
        """How probable some of the releases together make every value of some persons, each release
        telling what it tells by itself. They are numbered by their place in ``people``.

        Of a person's value v, a release is evidence law(v) / share(v), and the shares are those of
        all releases. A person has no value where the releases contradict each other, or where none
        of them has the person.
        """
        counts = np.zeros(len(self.values.domain))
        for sighting in self.each:
            np.add.at(counts, sighting.value, sighting.hosts.groups.totals)
        share = counts / counts.sum()
        nothing = np.zeros(0, dtype=np.int64)
        table = Possible(len(people), len(share), nothing, np.zeros(0))
        seen = np.zeros(len(people), dtype=bool)
        for i in among:
            law = self.each[i].law(people)
            there = self.each[i].at[people] >= 0
            before = places_in(law.key, table.key)
            left, first = before >= 0, ~seen[law.person]
            evidence = law.p / share[law.value]
            stays = ~there[table.person]
            table = Possible.of(
                len(people),
                len(share),
                np.concatenate([table.key[stays], law.key[left], law.key[first]]),
                np.concatenate(
                    [
                        table.p[stays],
                        table.p[before[left]] * evidence[left],
                        (share[law.value] * evidence)[first],
                    ]
                ),
            ).scaled()
            seen |= there
        return table

    def in_blocks(self, people: Ints) -> Iterator[Ints]:
        """The same persons, so many at a time as leave about as many entries open as are held at
        once.
        """
        entries = np.zeros(len(self.persons), dtype=np.int64)
        for sighting in self.each:
            entries[sighting.who] += sighting.open
        block = np.cumsum(entries[people]) // _AT_ONCE
        yield from np.split(people, np.flatnonzero(np.diff(block)) + 1)
