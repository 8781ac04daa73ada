# SPDX-License-Identifier: Apache-2.0
"""Learning from all releases of a series which values go with which quasi-identifiers, about
persons who keep theirs (after Kifer, SIGMOD 2009).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from phalanx.adversaries.base import Attack, Interval, Looks, asked, between, percent, wilson
from phalanx.adversaries.groups.learning import (
    BINS,
    MOST_ENTRIES,
    ROUNDS,
    SETTLED,
    SWEEPS,
    Feature,
    likelihood,
)
from phalanx.adversaries.groups.learning import believed as believed_alone
from phalanx.adversaries.series.possible import Possible
from phalanx.adversaries.series.sightings import Sighting, Sightings, telling
from phalanx.adversaries.showing import Shown, interval, share
from phalanx.arrays import Floats, Ints, places_in
from phalanx.errors import ReleaseError
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True, kw_only=True)
class Learned(Attack):
    """What was learned of each person from all releases. ``success`` is how often the most probable
    value is the right one, one of them where several are.
    """

    interval: Interval
    """The 95 % confidence interval of ``success``, by Wilson."""
    alone: float
    """How often the learner of one release is right about the same persons, from the last release
    that each is in.
    """
    alone_interval: Interval
    by_law: float
    """How often an adversary who learns nothing is right: the releases multiplied, every
    arrangement of a group's values equally likely.
    """
    by_law_interval: Interval

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what is to be compared with it."""
        return (
            f"is right about {percent(self.success or 0)} of {self.persons} persons"
            f" ({between(self.interval)}), where the last release of each alone teaches"
            f" {percent(self.alone)}, and {percent(self.baseline or 0)} would be without the"
            " releases"
        )

    def tables(self) -> Iterator[Shown]:
        rows = [
            ["learns from all releases", share(self.success), interval(self.interval)],
            [
                "learns from the last one that a person is in",
                share(self.alone),
                interval(self.alone_interval),
            ],
            [
                "learns nothing, and multiplies all releases",
                share(self.by_law),
                interval(self.by_law_interval),
            ],
            ["names the most frequent value, without the releases", share(self.baseline), ""],
        ]
        yield Shown(["what it does", "right", "95 % interval"], rows, (1,))
        yield Shown(["values possible", "persons"], sorted(self.histogram.items()), (0, 1))

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and interval, alone, alone_interval, by_law,
        by_law_interval.
        """
        intervals = {
            name: [round(end, 6) for end in getattr(self, name)]
            for name in ("interval", "alone_interval", "by_law_interval")
        }
        more = {
            "interval": intervals["interval"],
            "alone": round(self.alone, 6),
            "alone_interval": intervals["alone_interval"],
            "by_law": round(self.by_law, 6),
            "by_law_interval": intervals["by_law_interval"],
        }
        return super().to_json() | more


@dataclass(frozen=True)
class SeriesLearning:
    """Knows each person's quasi-identifiers and in which releases they are, and learns from all
    releases at once; persons keep their values.

    It begins with what the releases multiply to (see ``Sightings.together``), and does what the
    learner of one release does (``Posterior``, by learning), with one belief about a person for all
    releases: it learns, of the persons with each value, the share with each value of each
    quasi-identifier; it believes that; and it makes the belief fit the counts of every group of
    every release in turn. Quasi-identifiers are those of the last release that a person is in.
    No true value is used, but to count how often it is right.

    For persistent values: of persons whose value changed the releases may contradict each other,
    and then the last one counts; the note says of how many. A series of one release is attacked as
    by the learner of one release. No promise about p(t, s) or 1/m bounds what this finds.

    Source: Kifer, "Attacks on privacy and deFinetti's theorem"; that it is played over a series is
    ours.

    Raises
    ------
    ReleaseError
        Where an original table with persons is missing, or where the releases leave too much open
        to be kept in memory.
    """

    question: ClassVar[str] = "inference"
    looks_at: ClassVar[Looks] = "series"
    takes_values_to_stay: ClassVar[bool] = True
    asks_for: ClassVar[Mapping[str, bool]] = {"original": True, "identifier": True}
    not_of_one: ClassVar[str] = "posterior-learning is played on it"

    @property
    def name(self) -> str:
        return "learning"

    @property
    def knows(self) -> str:
        return (
            "each person's quasi-identifier values, and in which releases each person is; it learns"
            " from all of them which values go with which quasi-identifiers"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Learned:
        """Each person's most probable value by all releases, beside what the last alone and what no
        learning would name.
        """
        releases, evidence = asked(releases, evidence, of_values=True, of_single=self.name)
        series = sorted(releases, key=lambda release: release.number)
        seen = Sightings.of(telling([(release, evidence) for release in series]))
        for sighting in seen.each:
            _check(sighting)
        by_law = _law(seen)
        believed = _believed(seen, by_law)
        n, candidates = len(seen.persons), by_law.candidates
        success, law, alone = (
            float(right.sum()) / max(n, 1)
            for right in (believed.named(seen.true), by_law.named(seen.true), _alone(seen))
        )
        exposed = (candidates == 1) & by_law.holds(seen.true)
        notes = [
            (
                "its probabilities are its own belief, and may be far too sure; how often it is right"
                " is counted"
            )
        ]
        if seen.changed:
            notes.append(
                f"{seen.changed} person(s) changed the sensitive value between releases, which it"
                " does not expect"
            )
        return Learned(
            adversary=self.name,
            knows=self.knows,
            persons=n,
            exposed=int(exposed.sum()),
            success=success,
            baseline=int(np.bincount(seen.true).max()) / n if n else None,
            histogram={
                int(values): int(persons)
                for values, persons in zip(*np.unique(candidates, return_counts=True), strict=True)
            },
            note="; ".join(notes),
            per_person=pl.DataFrame(
                {"person": seen.persons, "candidates": candidates, "exposed": exposed}
            ),
            interval=wilson(success, n),
            alone=alone,
            alone_interval=wilson(alone, n),
            by_law=law,
            by_law_interval=wilson(law, n),
        )


def _check(sighting: Sighting) -> None:
    """ReleaseError where a release leaves too much open."""
    if (entries := int(sighting.open.sum())) > MOST_ENTRIES:
        raise ReleaseError(
            f"a release leaves {entries} values of persons in their groups open, and the"
            f" learning adversary takes up to {MOST_ENTRIES}; attack it alone."
        )


def _law(seen: Sightings) -> Possible:
    """What all releases multiply to; of whom they contradict each other, what the last one says."""
    everyone = np.arange(len(seen.persons))
    law = seen.together(range(len(seen.each)), everyone)
    last = np.full(len(everyone), -1, dtype=np.int64)
    for i, sighting in enumerate(seen.each):
        last[sighting.who] = i
    last[law.candidates > 0] = -1
    keys, ps = [law.key], [law.p]
    for i, sighting in enumerate(seen.each):
        those = np.flatnonzero(last == i)
        own = sighting.law(those)
        keys.append(those[own.person] * law.values + own.value)
        ps.append(own.p)
    return Possible.of(law.persons, law.values, np.concatenate(keys), np.concatenate(ps))


def _alone(seen: Sightings) -> Floats:
    """How often the learner of one release is right about each person, by the last release that
    each is in.
    """
    right = np.zeros(len(seen.persons))
    for sighting in seen.each:
        tuples = len(sighting.hosts.codes)
        owner, value, p = believed_alone(sighting.hosts)
        key = owner * sighting.values + sighting.value[value]
        own = Possible.of(tuples, sighting.values, key, p)
        right[sighting.who] = own.named(seen.true[sighting.who], sighting.tuples)
    return right


def _believed(seen: Sightings, by_law: Possible) -> Possible:
    """What is learned from all releases, in rounds, of the values that the law leaves."""
    believed = by_law
    fits = [_Fit.of(sighting, by_law) for sighting in seen.each]
    of_pairs = by_law.person, by_law.value
    features = [Feature.of(*of_pairs, *feature) for feature in _features(seen)]
    for _ in range(ROUNDS if len(seen.persons) else 0):
        p = by_law.p * likelihood(features, *of_pairs, believed.p)
        likely = by_law.with_p(p).scaled()
        before, believed = believed, _fitted(fits, likely)
        if np.abs(believed.p - before.p).sum() < 2 * SETTLED * len(seen.persons):
            break
    return believed


@dataclass(frozen=True, eq=False)
class _Fit:
    """The entries of one release that all releases leave possible: a person, a group that may host
    them, and a value of it.
    """

    cell: Ints
    place: Ints
    """The place of the person's value among what is possible."""
    law: Floats
    counts: Floats
    """How often each cell's value stands in its group."""

    @classmethod
    def of(cls, sighting: Sighting, possible: Possible) -> "_Fit":
        groups = sighting.hosts.groups
        person, cell, law = sighting.hosts.entries_of(sighting.tuples)
        value = sighting.value[groups.cell_value[cell]]
        place = places_in(sighting.who[person] * sighting.values + value, possible.key)
        left = place >= 0
        return cls(cell[left], place[left], law[left], groups.cell_count.astype(np.float64))


def _fitted(fits: Sequence[_Fit], believed: Possible) -> Possible:
    """The beliefs made to fit the counts of every group of every release in turn, each person's
    adding up to 1.
    """
    p, masses = believed.p.copy(), [fit.law.copy() for fit in fits]
    scratch = np.empty(max((len(fit.law) for fit in fits), default=0))
    for _ in range(SWEEPS):
        for fit, mass in zip(fits, masses, strict=True):
            of_entry = scratch[: len(mass)]
            of_value = _ratio(p, _of_values(fit, mass, p))
            np.multiply(mass, _spread(of_value, fit.place, of_entry), out=mass)
            of_cell = np.bincount(fit.cell, weights=mass, minlength=len(fit.counts))
            wanted = _ratio(fit.counts, of_cell.astype(np.float64))
            np.multiply(mass, _spread(wanted, fit.cell, of_entry), out=mass)
            fitted = _of_values(fit, mass, p)
            of_person = believed.of_persons(fitted)
            total = of_person[believed.person]
            np.divide(fitted, total, out=p, where=total > 0)
            if (of_person == 0).any():
                # anyone who has no value left in this release, as it contradicts the others, is
                # left as they were
                np.copyto(mass, fit.law, where=_spread(total, fit.place, of_entry) == 0)
    return believed.with_p(p)


def _spread(figures: Floats, places: Ints, out: Floats) -> Floats:
    """The figure at each of some places, written into ``out``: there are millions."""
    return np.take(figures, places, out=out, mode="clip")


def _of_values(fit: _Fit, mass: Floats, p: Floats) -> Floats:
    """The mass of every person's value, whatever the group."""
    return np.bincount(fit.place, weights=mass, minlength=len(p)).astype(np.float64)


def _ratio(wanted: Floats, there: Floats) -> Floats:
    """One by the other, 0 where the other is."""
    return np.divide(wanted, there, out=np.zeros(len(there)), where=there > 0)


def _features(seen: Sightings) -> Iterator[tuple[Ints, int]]:
    """Each person's value of each quasi-identifier in their last release, as it is learned: numbers
    and dates of many values in intervals.
    """
    names = [
        a
        for a in seen.each[-1].microdata.schema.quasi
        if all(a in sighting.microdata.columns for sighting in seen.each)
    ]
    for name in names:
        columns = [sighting.microdata.columns[name] for sighting in seen.each]
        kinds = {column.domain.values.dtype for column in columns}
        kind = (
            next(iter(kinds))
            if len(kinds) == 1
            else pl.Float64()
            if all(k.is_numeric() for k in kinds)
            else pl.String()
        )
        own = pl.Series(name, [None] * len(seen.persons), dtype=kind)
        for sighting, column in zip(seen.each, columns, strict=True):
            own = own.scatter(
                sighting.who, column.domain.values.cast(kind).gather(column.codes[sighting.rows])
            )
        domain = own.unique().sort()
        place = own.to_frame("value").join(
            pl.DataFrame({"value": domain, "code": np.arange(len(domain), dtype=np.int64)}),
            on="value",
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )["code"]
        codes = place.to_numpy().astype(np.int64)
        if columns[-1].domain.type in ("numeric", "date") and len(domain) > 2 * BINS:
            persons = np.bincount(codes, minlength=len(domain))
            middle = (np.cumsum(persons) - persons / 2) / len(codes)
            yield np.minimum((middle * BINS).astype(np.int64), BINS - 1)[codes], BINS
        else:
            yield codes, len(domain)
