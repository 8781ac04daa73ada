# SPDX-License-Identifier: Apache-2.0
"""The composition adversary: two publishers, each of whom published about the same persons by
itself (Ganta, Kasiviswanathan & Smith, KDD 2008).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl

from phalanx.adversaries.base import Attack, Interval, Looks, asked, between, percent, wilson
from phalanx.adversaries.series.sightings import Sightings, telling
from phalanx.adversaries.showing import Shown, interval, share
from phalanx.arrays import Bools, Floats, Ints
from phalanx.errors import ReleaseError
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True, kw_only=True)
class Composed(Attack):
    """What two publishers' releases tell together of the persons who are in both. ``success`` is
    how often the most probable value is the right one.
    """

    interval: Interval
    """The 95 % confidence interval of ``success``, by Wilson."""
    alone: tuple[tuple[int, float], tuple[int, float]]
    """Of each publisher alone: how many of these persons are exposed, and how often the most
    probable value is right.
    """

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what is to be compared with it."""
        (first, first_right), (second, second_right) = self.alone
        return (
            f"exposes {self.exposed} of {self.persons} persons who are in both, and is right about"
            f" {percent(self.success or 0)} ({between(self.interval)}), where one publisher alone"
            f" exposes {first} or {second}, right about {percent(first_right)} or"
            f" {percent(second_right)}"
        )

    def tables(self) -> Iterator[Shown]:
        (first, first_right), (second, second_right) = self.alone
        rows = [
            ["both publishers", self.exposed, share(self.success), interval(self.interval)],
            ["the first alone", first, share(first_right), ""],
            ["the second alone", second, share(second_right), ""],
            ["none: the most frequent value", 0, share(self.baseline), ""],
        ]
        yield Shown(
            [
                f"by the releases of, of {self.persons} persons in both",
                "exposed",
                "right",
                "95 % interval",
            ],
            rows,
            (1, 2),
        )
        yield Shown(["values left by both", "persons"], sorted(self.histogram.items()), (0, 1))

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and interval, alone (of each publisher: exposed, success)."""
        alone = [
            {"exposed": exposed, "success": round(success, 6)} for exposed, success in self.alone
        ]
        return super().to_json() | {
            "interval": [round(end, 6) for end in self.interval],
            "alone": alone,
        }


@dataclass(frozen=True)
class Composition:
    """Knows each person's quasi-identifiers and who is in the releases of two publishers, and
    intersects the values that both leave possible.

    ``beside``: the second publisher's releases, of which ``known`` is the evidence: its original
    tables, whose persons are hashed under the same key as those of the first. Each publisher's
    release leaves a person the values of the groups that may host them (sliced, bucketized or
    generalized), each with a probability by the law of the posterior adversary. The two chose their
    groups without each other, so that both are true of the one value, and their probabilities are
    multiplied, and divided by the value's share in all releases, which both contain. A person is
    exposed if one value is left and it is theirs.

    Only persons in both are counted. The attack is about a value that is the same in both tables;
    where it is not, the two contradict each other, which the note counts. No promise of this
    package about one series bounds what two publishers tell together, but differential privacy,
    whose budgets add up.

    Source: Ganta, Kasiviswanathan & Smith, "Composition attacks and auxiliary information in data
    privacy", section 3. How we differ: the paper intersects sets; we count these, and let the
    adversary name the most probable of what is left.

    Raises
    ------
    ReleaseError
        Where an original table with persons is missing, or no person is in both.
    """

    question: ClassVar[str] = "linkability"
    looks_at: ClassVar[Looks] = "publishers"
    asks_for: ClassVar[Mapping[str, bool]] = {"original": True, "identifier": True}
    exposes: ClassVar[str] = ""
    no_breach: ClassVar[str] = "no publisher promises what two of them tell together"

    beside: Sequence[Release]
    """The second publisher's releases, in order."""
    known: Evidence | None = field(default=None, repr=False)
    """What lies beside these."""

    @property
    def name(self) -> str:
        return "composition"

    @property
    def knows(self) -> str:
        return (
            "each person's quasi-identifier values, and who is in the releases of both publishers;"
            " it intersects the values that these leave possible"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Composed:
        """How many persons both publishers expose together, beside each alone."""
        both_publishers = (
            asked(releases, evidence, of_values=True, of_single=self.name),
            asked(self.beside, self.known, of_values=True, of_single=self.name),
        )
        ours, theirs = (
            telling([(release, evidence_of) for release in sorted(of, key=_number)])
            for of, evidence_of in both_publishers
        )
        seen = Sightings.of([*ours, *theirs])
        sides = [range(len(ours)), range(len(ours), len(seen.each))]
        both = _in_both(seen, sides)
        if not len(both):
            raise ReleaseError(
                "no person is in the releases of both publishers; check the identifier columns,"
                " which must name persons alike."
            )
        true = seen.true[both]
        first, second, together = (
            _Left.of(seen, among, both) for among in (*sides, range(len(seen.each)))
        )
        alone = (first.summed, second.summed)
        exposed, success = together.summed
        size = together.size
        contradicted = int((size == 0).sum())
        notes = (
            [
                (
                    f"the two contradict each other about {contradicted} person(s), whose value is not"
                    " the same in both"
                )
            ]
            if contradicted
            else []
        )
        if wrong := int(((size == 1) & ~together.holds).sum()):
            notes.append(f"the adversary is certain and wrong about {wrong} person(s)")
        return Composed(
            adversary=self.name,
            knows=self.knows,
            persons=len(true),
            exposed=exposed,
            success=success,
            baseline=int(np.bincount(true).max()) / len(true),
            histogram={
                int(values): int(persons)
                for values, persons in zip(*np.unique(size, return_counts=True), strict=True)
            },
            note="; ".join(notes),
            per_person=pl.DataFrame(
                {
                    "person": seen.persons.gather(both),
                    "candidates": size,
                    "exposed": (size == 1) & together.holds,
                }
            ),
            interval=wilson(success, len(true)),
            alone=alone,
        )


def _number(release: Release) -> int:
    return release.number


def _in_both(seen: Sightings, sides: Sequence[range]) -> Ints:
    """The persons whom a release of either publisher may host."""
    there = np.zeros((len(sides), len(seen.persons)), dtype=bool)
    for side, own in zip(sides, there, strict=True):
        for i in side:
            own[seen.each[i].who] = True
    return np.flatnonzero(there.all(axis=0)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class _Left:
    """What some releases together leave of each of some persons, shape (n,) each."""

    size: Ints
    """How many values."""
    holds: Bools
    """Whether the person's own is one of them."""
    named: Floats
    """How often the most probable value is right."""

    @classmethod
    def of(cls, seen: Sightings, among: Sequence[int], people: Ints) -> "_Left":
        """Of so many persons at a time as fit; each is judged by itself."""
        parts = []
        for some in seen.in_blocks(people):
            left, true = seen.together(among, some), seen.true[some]
            parts.append((left.candidates, left.holds(true), left.named(true)))
        size, holds, named = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(size, holds, named)

    @property
    def summed(self) -> tuple[int, float]:
        """Persons with one possible value, which is theirs, and how often the most probable value
        is right.
        """
        return int(((self.size == 1) & self.holds).sum()), float(self.named.mean())
