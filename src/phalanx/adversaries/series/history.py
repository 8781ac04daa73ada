# SPDX-License-Identifier: Apache-2.0
"""The history adversary: how likely a person was linked to a value in at least one release (Wong,
Fu, Liu, Wang, Xu, ICDE 2010, Lemma 4).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Any, ClassVar, Final

import numpy as np
import polars as pl

from phalanx.adversaries.base import Attack, Looks, asked, where_groups_stand
from phalanx.adversaries.showing import Shown
from phalanx.arrays import Floats
from phalanx.errors import PlanError, ReleaseError, did_you_mean
from phalanx.exact import Number, bounded, is_list
from phalanx.guarantees.global_guarantee.breach import Series
from phalanx.guarantees.global_guarantee.guarantee import GlobalGuarantee
from phalanx.guarantees.views.members import mapping_faults
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

_BINS: Final = 10
_ROUNDED: Final = 1e-9


@dataclass(frozen=True, kw_only=True)
class Linked(Attack):
    """What the history adversary concluded. ``exposed`` counts persons who were surely linked to a
    value, ``histogram`` how many values persons were linked to.
    """

    bound: Fraction
    """The probability above which persons are counted."""
    above: int
    """Persons whose largest probability of having ever been linked to a value is above the bound,
    compared exactly.
    """
    largest: Fraction
    """The largest probability of any person; 0 where none was linked to anything."""
    probabilities: Mapping[str, int]
    """Persons by their largest probability, rounded up to tenths; ``0`` are those who were never
    linked to anything.
    """

    @property
    def sentence(self) -> str:
        """What it found, in one sentence, beside what is to be compared with it."""
        return (
            f"links {self.above} of {self.persons} persons to some value with a probability above"
            f" {self.bound}, {self.exposed} of them for certain"
        )

    def tables(self) -> Iterator[Shown]:
        yield Shown(
            [
                "persons",
                f"linked with more than {self.bound}",
                "surely linked",
                "largest probability",
            ],
            [[self.persons, self.above, self.exposed, f"{float(self.largest):.6g}"]],
            range(4),
        )
        yield Shown(["linked with up to", "persons"], sorted(self.probabilities.items()), (0, 1))

    def to_json(self) -> dict[str, Any]:
        """The keys of every attack, and bound, above, largest (fractions as text),
        probabilities.
        """
        more = {
            "bound": str(self.bound),
            "above": self.above,
            "largest": str(self.largest),
            "probabilities": dict(self.probabilities),
        }
        return super().to_json() | more


@dataclass(frozen=True, kw_only=True)
class History:
    """Computes for every person and value the probability that some release linked them, and counts
    the persons for whom one is above ``bound``.

    It knows each person's group in every release (needs ``evidence.groups``) and finds every
    assignment of a group's rows to its members equally likely, independently of all other releases:
    what the global guarantee bounds, for values that come and go. ``values`` are those it looks
    for; all where none is named, and never a missing one. Works on any series of generalized
    releases; registered persons without a row dilute, and counterfeits are among the rows.

    Raises
    ------
    PlanError
        Where the bound is not between 0 and 1.
    """

    question: ClassVar[str] = "inference"
    looks_at: ClassVar[Looks] = "series"
    asks_for: ClassVar[Mapping[str, bool]] = {"ledger": True}

    bound: Number = field(
        default="1/2",
        metadata={"help": "Count the persons who are linked to a value with more than this."},
    )
    values: Sequence[Any] = field(
        default=(),
        metadata={
            "help": "Look for this sensitive value; repeat it. All values if not given.",
            "option": "--value",
        },
    )

    def __post_init__(self) -> None:
        bounded(self.bound, "the bound", 0, 1)
        if not is_list(self.values, lambda value: value is not None):
            raise PlanError(
                f"values = {self.values!r} must be a list of the sensitive values that it looks"
                " for."
            )

    @property
    def name(self) -> str:
        return "history"

    @property
    def knows(self) -> str:
        return (
            "in which group of each release each person was published, and finds every assignment"
            " of a group's rows to its members equally likely"
        )

    def attack(
        self, releases: Release | Sequence[Release], evidence: Evidence | None = None
    ) -> Linked:
        """Each person's probabilities; ReleaseError where a mapping is missing or does not fit the
        files, or no sensitive attribute is published.
        """
        releases, evidence = asked(releases, evidence, of_values=True)
        series = sorted(releases, key=lambda r: r.number)
        for release in series:
            _check(release, evidence)
        named = [str(value) if isinstance(value, date) else value for value in self.values]
        looks_for = GlobalGuarantee(2, protected=named or "all")
        links, bound = (
            Series.of(series, evidence.groups, looks_for.protects),
            bounded(self.bound, "the bound", 0, 1),
        )
        self._check_values(links)
        n = len(links.many)
        probability, values = np.zeros(n), np.zeros(n, dtype=np.int64)
        above, exposed, largest = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), Fraction(0)
        certain = links.cells.holding >= links.cells.members
        for pairs in links.parts():
            np.maximum.at(probability, pairs.history, 1 - pairs.survival)
            values += np.bincount(pairs.history, minlength=n)
            above[pairs.history[pairs.above(bound)]] = True
            exposed[
                pairs.history[np.logical_or.reduceat(certain[pairs.cell], pairs.starts[:-1])]
            ] = True
            largest = max(largest, pairs.worst()[0])
        people = pl.concat(
            [evidence.groups[r.number].filter(pl.col("group") != 0)["person"] for r in series]
        ).unique()
        columns = {
            "candidates": values[links.history],
            "exposed": exposed[links.history],
            "probability": probability[links.history],
            "above": above[links.history],
        }
        persons = (
            people.to_frame()
            .join(pl.DataFrame({"person": links.persons, **columns}), on="person", how="left")
            .fill_null(0)
            .fill_null(value=False)
        )
        return Linked(
            adversary=self.name,
            knows=self.knows,
            persons=persons.height,
            exposed=int(columns["exposed"].sum()),
            success=None,
            baseline=None,
            histogram=dict(sorted(persons["candidates"].value_counts().iter_rows())),
            note=self._note(links),
            per_person=persons,
            bound=bound,
            above=int(columns["above"].sum()),
            largest=largest,
            probabilities=_in_tenths(persons["probability"].to_numpy()),
        )

    def _check_values(self, links: Series) -> None:
        published_values = links.cells.values.cast(pl.String).to_list()
        known = {*published_values, *links.cells.values.to_list()}  # 1 is 1.0
        if unknown := [str(v) for v in self.values if v not in known and str(v) not in known]:
            raise ReleaseError(
                "no release shows the value"
                f" {unknown[0]!r}{did_you_mean(unknown[0], published_values) or '; name a published value.'}"
            )

    def _note(self, links: Series) -> str:
        return (
            f"looked for {len(links.cells.values)} value(s); the links of a person in several"
            " releases are taken to be independent, as they are for values that come and go, and"
            " not for values that stay"
        )


def _check(release: Release, evidence: Evidence) -> None:
    if release.form.sensitive is None:
        raise ReleaseError(
            "a release has no sensitive attribute, so there is nothing to link anybody to."
        )
    mapping = evidence.groups.get(release.number)
    if mapping is None:
        raise ReleaseError(
            f"release {release.number} has no person-to-group mapping, without which no"
            f" history is known; {where_groups_stand(release)}."
        )
    if list(mapping_faults(release, mapping)):
        raise ReleaseError(
            f"the person-to-group mapping does not fit the files of release {release.number}; use"
            " the ledger that it was published with."
        )


def _in_tenths(probability: Floats) -> dict[str, int]:
    """Persons by probability, rounded up to tenths; those with none are apart."""
    tenth = np.where(
        probability > 0, np.maximum(np.ceil(np.minimum(probability, 1) * _BINS - _ROUNDED), 1), 0
    ).astype(np.int64)
    counts = np.bincount(tenth, minlength=_BINS + 1)
    return {f"{i / _BINS:g}": int(n) for i, n in enumerate(counts.tolist()) if n}
