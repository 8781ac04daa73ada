# SPDX-License-Identifier: Apache-2.0
"""What linking a release to persons discloses: how often an own record is named, and a sensitive
value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import polars as pl

from phalanx.adversaries.base import Attack, Interval, between, original_of, percent, wilson
from phalanx.adversaries.candidates import Values
from phalanx.adversaries.showing import Shown, interval, share, small
from phalanx.arrays import Bools, Floats, Ints
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release


@dataclass(frozen=True, kw_only=True)
class Disclosed(Attack):
    """What an adversary that links persons to records concluded. ``success`` is how often it names
    the right sensitive value.
    """

    identity: float
    """Identity disclosure: how often the record that it picks is the person's own."""
    identity_interval: Interval
    """Its 95 % confidence interval, by Wilson."""
    identity_baseline: float
    """The same for an adversary who picks any record."""
    attribute: float | None
    """Attribute disclosure: how often the record that it picks has the person's sensitive value;
    None where the release has no sensitive attribute.
    """
    attribute_interval: Interval | None
    """Its 95 % confidence interval, by Wilson."""
    attribute_baseline: float | None
    """The same for an adversary who picks any record."""
    sample: int | None
    """How many persons were drawn to be attacked; None where all were."""

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what is to be compared with it."""
        named, interval = self.named_rightly
        value = (
            ""
            if self.attribute is None
            else f"; a record with the person's value in {percent(self.attribute)}"
        )
        return (
            f"names the own record of {percent(named)} of the persons ({between(interval)}), where"
            f" {percent(self.identity_baseline)} is any record{value}"
        )

    @property
    def named_rightly(self) -> tuple[float, Interval]:
        """How often the record that it would name as a person's is the person's own, and its 95 %
        confidence interval.
        """
        return self.identity, self.identity_interval

    def tables(self) -> Iterator[Shown]:
        yield Shown(
            ["what it picks", "how often", "95 % interval", "by picking any"], self._picks(), (1, 3)
        )
        yield from self._more()
        yield Shown(
            ["persons", "linked to their own record alone"], [[self.persons, self.exposed]], (0, 1)
        )
        bins = [
            ("0", -1, 0),
            ("1", 0, 1),
            ("2 to 5", 1, 5),
            ("6 to 10", 5, 10),
            ("11 to 100", 10, 100),
            ("more than 100", 100, inf),
        ]
        yield self.binned(["records left", "persons"], bins)

    def _picks(self) -> list[list[object]]:
        """How often it picks right, by what it picks."""
        rows: list[list[object]] = [
            [
                "the person's own record",
                share(self.identity),
                interval(self.identity_interval),
                small(self.identity_baseline),
            ]
        ]
        if (
            self.attribute is not None
            and self.attribute_interval is not None
            and self.attribute_baseline is not None
        ):
            rows.append(
                [
                    "a record with the person's value",
                    share(self.attribute),
                    interval(self.attribute_interval),
                    small(self.attribute_baseline),
                ]
            )
        return rows

    def _more(self) -> Iterator[Shown]:
        """What only one of them finds."""
        yield from ()

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and identity, identity_interval, identity_baseline, attribute,
        attribute_interval, attribute_baseline, sample.
        """
        more = {
            "identity": round(self.identity, 6),
            "identity_interval": _rounded(self.identity_interval),
            "identity_baseline": round(self.identity_baseline, 6),
            "attribute": None if self.attribute is None else round(self.attribute, 6),
            "attribute_interval": _rounded(self.attribute_interval),
            "attribute_baseline": (
                None if self.attribute_baseline is None else round(self.attribute_baseline, 6)
            ),
            "sample": self.sample,
        }
        return super().to_json() | more


def figures(
    identity: float, attribute: float | None, persons: int, off: tuple[float, float] = (0.0, 0.0)
) -> dict[str, Any]:
    """The fields that two means over so many persons fill; ``off``: by how much the means may be
    off beside that, as they were estimated.
    """
    identity, attribute = _share(identity), None if attribute is None else _share(attribute)
    by_identity = _wider(wilson(identity, persons), off[0])
    by_attribute = None if attribute is None else _wider(wilson(attribute, persons), off[1])
    return {
        "identity": identity,
        "identity_interval": by_identity,
        "attribute": attribute,
        "attribute_interval": by_attribute,
        "success": attribute,
    }


def one_release(releases: Sequence[Release], adversary: str) -> Release:
    """The only release; ReleaseError where there are more or none."""
    if len(releases) != 1:
        raise ReleaseError(
            f"the {adversary} adversary looks at one release at a time, and {len(releases)} are"
            " given; name one of them."
        )
    return releases[0]


def published_table(release: Release, evidence: Evidence) -> tuple[Microdata, Ints]:
    """The original table of a perturbed release and every row's place in the file, from 0, -1 for a
    row that was not published.

    ReleaseError where one of the two is not known, or where places are no places of the file, each
    of one row.
    """
    microdata = original_of(release, evidence, "no quasi-identifiers are known")
    rows = evidence.published_rows(release.number)
    if rows is None:
        raise ReleaseError(
            f"nothing says which row of release {release.number} is whose; name the ledger, and the"
            " identifier column of the original table."
        )
    if (
        len(rows) != microdata.rows
        or rows.min(initial=0) < 0
        or rows.max(initial=0) > release.form.rows
        or np.bincount(rows[rows > 0]).max(initial=0) > 1
    ):
        raise ReleaseError(
            f"the rows that persons are said to have in release {release.number} are not those of"
            " its file; use the ledger that it was published with."
        )
    return microdata, rows - 1


def drawn(persons: Ints, sample: int | None) -> Ints:
    """So many of the persons, each equally likely, ascending; all of them where ``sample`` is None
    or not less.
    """
    if sample is None or sample >= len(persons):
        return persons
    # measuring protects no person, and who asks again shall see the same figures
    return np.sort(
        persons[Randomness.seeded(0).stream("persons").permutation(len(persons))[:sample]]
    )


def numbered(published: pl.Series, microdata: Microdata) -> tuple[Ints, Ints]:
    """Published sensitive values and those of all persons in the original table, numbered alike."""
    microdata.check_single_valued("attribute disclosure")
    domain = microdata.sensitive.domain.values
    values = Values.of([published, domain])
    return (
        values.places(published).astype(np.int64),
        values.places(domain).astype(np.int64)[microdata.sensitive.codes],
    )


def shares(published: Ints | None, rows: int) -> Floats:
    """The share of each value among the published ones."""
    return np.zeros(0) if published is None else np.bincount(published) / rows


def of_persons(
    microdata: Microdata,
    who: Ints,
    count: Ints,
    exposed: Bools,
    values: Ints | None,
    of_rows: Floats,
    rows: int,
    more: Mapping[str, Floats],
) -> dict[str, Any]:
    """The fields about the rows ``who`` of the original table: how many records are left for each,
    and who is linked to the own record alone.

    ``values``: their sensitive values; ``of_rows``: the share of each value among all published
    rows; ``more``: further columns about each.
    """
    per_person = pl.DataFrame({"candidates": count, "exposed": exposed} | dict(more))
    if microdata.persons is not None:
        per_person.insert_column(0, microdata.persons.gather(who).alias("person"))
    has_values = values is not None and len(values) > 0
    share = (
        np.append(of_rows, np.zeros(max(0, 1 + int(values.max()) - len(of_rows))))
        if values is not None and has_values
        else of_rows
    )
    return {
        "persons": len(who),
        "exposed": int(exposed.sum()),
        "baseline": (
            float(np.bincount(microdata.sensitive.codes).max()) / microdata.rows
            if values is not None and has_values
            else None
        ),
        "histogram": {
            int(records): int(m)
            for records, m in zip(*np.unique(count, return_counts=True), strict=True)
        },
        "per_person": per_person,
        "identity_baseline": 1 / rows,
        "attribute_baseline": float(share[values].mean()) if has_values else None,
    }


def _share(mean: float) -> float:
    """A mean of shares, which sums may leave above 1 by rounding."""
    return min(mean, 1.0)


def _wider(interval: Interval, off: float) -> Interval:
    return max(0.0, interval[0] - off), min(1.0, interval[1] + off)


def _rounded(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(end, 6) for end in interval]
