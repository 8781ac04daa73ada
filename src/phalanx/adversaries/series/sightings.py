# SPDX-License-Identifier: Apache-2.0
"""Persons who are followed through several releases: in which they are, and how probable each
release by itself makes every value of each person.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from phalanx.adversaries.candidates import Values
from phalanx.adversaries.groups.hosts import Hosts, original_table
from phalanx.arrays import Floats, Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True, eq=False)
class Sighting:
    """What one release makes of the persons whom some group of it may host."""

    microdata: Microdata
    hosts: Hosts
    rows: Ints
    """Their rows in the original table, shape (m,)."""
    who: Ints
    """The place of each among all persons, shape (m,)."""
    value: Ints
    """The place among all values of each value that the release publishes, shape (q,)."""
    values: int
    """How many values there are in all."""

    @cached_property
    def law(self) -> Floats:
        """How probable the release by itself makes every value, by the law of the posterior
        adversary, shape (m, values).
        """
        table = np.zeros((len(self.hosts.codes), self.values))
        for tuples, p in self.hosts.tables(self.hosts.law):
            table[tuples, self.value] = p
        return table[self.hosts.of_person[self.rows]]


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
        hosts = [
            Hosts.of(release.form, table) for (release, _), table in zip(seen, tables, strict=True)
        ]
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
            each.append(Sighting(table, h, rows, who, place, len(values.domain)))
        return cls(persons, values, each, true, int(changed.sum()))

    def together(self, among: Sequence[int]) -> Floats:
        """How probable some of the releases together make every value of each person, each telling
        what it tells by itself, shape (n, values).

        Of a person's value v, a release is evidence law(v) / share(v), and the shares are those of
        all releases. A row is 0 where the releases contradict each other, and that of the shares
        where none of them has the person.
        """
        counts = np.zeros(len(self.values.domain))
        for sighting in self.each:
            np.add.at(counts, sighting.value, sighting.hosts.groups.totals)
        share = counts / counts.sum()
        table = np.tile(share, (len(self.persons), 1))
        for i in among:
            sighting = self.each[i]
            table[sighting.who] *= np.where(
                share > 0, sighting.law / np.where(share > 0, share, 1), 0
            )
            total = table[sighting.who].sum(axis=1, keepdims=True)
            table[sighting.who] /= np.where(total > 0, total, 1)
        return table


def named(probability: Floats, true: Ints) -> Floats:
    """How often the most probable value is each person's own, one of them where several are equally
    probable, shape (n,); 0 where none is.
    """
    most = probability.max(axis=1, keepdims=True, initial=0)
    first = (probability >= most * (1 - 1e-9)) & (most > 0)
    right = first[np.arange(len(true)), np.maximum(true, 0)] & (true >= 0)
    return np.asarray(right / np.maximum(first.sum(axis=1), 1))
