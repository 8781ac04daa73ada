# SPDX-License-Identifier: Apache-2.0
"""m-invariance of a series: a person who stays is published under one signature of m values (Xiao &
Tao, SIGMOD 2007, Definition 17).
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

import polars as pl

from phalanx.arrays import Bools
from phalanx.errors import PlanError
from phalanx.exact import whole
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.m_invariance.following import Following, has_persons, without
from phalanx.guarantees.m_invariance.hosts import hosts_of, moved_cases
from phalanx.guarantees.m_invariance.hosts import whom as whom_of
from phalanx.guarantees.m_invariance.remembered import (
    beside,
    shape_faults,
    succession_faults,
    under,
)
from phalanx.guarantees.m_invariance.signatures import Signatures
from phalanx.guarantees.views.groups import tells_values
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.signatures import Remembered
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest

CONSECUTIVE = "-consecutive"
_FILLED: Final = (
    "missing values were filled as in the paper, so the bound is against an adversary who ignores"
    " the method: an adversary who knows it can name values of counterfeits"
)

_SUPPRESSED: Final = (
    "persons whose rows may have been suppressed are among them, and are not covered; give the"
    " ledger, which alone tells who they are"
)
_AS_MANY: Final = "as many rows were suppressed; give the ledger, which alone tells whose"

_IGNORING: Final = (
    " Places of missing values were filled as in the paper, so this is promised only against"
    " an adversary who ignores the method."
)


@dataclass(frozen=True)
class MInvariance:
    """Every release is m-unique, and all groups that ever host a person have the same signature;
    then the risk of a value is at most 1/m.

    The paper's Lemma 3. We differ in one thing: the lifespan runs over everything ever published,
    gaps included, because a person who returns under another signature is exposed. With
    ``consecutive`` the promise is the paper's own, over neighbouring releases only. Where the
    manifest says ``privacy_unit: record`` it covers each pair of person and value, against an
    adversary who does not know which records are one person's. Suppressed rows are not covered, nor
    those who share a group with a person who was suppressed before, nor values of kept columns.

    ``balancing`` says how the places of missing values were filled, which no file shows. "exact":
    by counterfeits alone, and then the bound also holds against an adversary who knows the method.
    "paper": by new tuples where they could be spared, and then it does not.

    The files alone show m-uniqueness and the counterfeits. Signatures by person need
    ``evidence.groups``, or for the last release alone what the series remembered ``before`` it and
    remembers ``after`` it (``evidence.state``); the candidate sets of the public view need ``evidence.microdata``; what
    cannot be checked is a verdict that starts with ``not checked``. PlanError where m is below 1,
    or ``balancing`` neither.
    """

    name: ClassVar[str] = "m-invariance"
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        name + CONSECUTIVE: {"consecutive": True}
    }
    forms: ClassVar[tuple[str, ...]] = ("generalized",)
    hides: ClassVar[tuple[str, ...]] = ("records", "values")
    over_series: ClassVar[bool] = True
    of_each_person: ClassVar[bool] = True
    m: int
    consecutive: bool = False
    balancing: Literal["exact", "paper"] = "exact"

    def __post_init__(self) -> None:
        whole(self.m, "m")
        if not isinstance(self.consecutive, bool):
            raise PlanError(f"consecutive must be true or false, and is {self.consecutive!r}.")
        if self.balancing not in ("exact", "paper"):
            raise PlanError(f"balancing is {self.balancing!r} and must be 'exact' or 'paper'.")

    @property
    def full_name(self) -> str:
        """The name that says which releases the promise is over."""
        return self.name + (CONSECUTIVE if self.consecutive else "")

    @staticmethod
    def no_breach(public: Mapping[str, Any], manifest: Manifest) -> str:
        """Whom the promise is not about."""
        if str(public["name"]).endswith(CONSECUTIVE):
            return "it is promised for two releases in a row alone"
        if manifest.privacy_unit == "record":
            return "it is promised for each record, and a person whose value changed has several"
        return ""

    def check(
        self, release: Release, earlier: Sequence[Release] = (), evidence: Evidence | None = None
    ) -> list[Verdict]:
        """m-uniqueness, counterfeits, persons and groups, signatures by person, candidate sets by
        box.
        """
        series, evidence = [*earlier, release], evidence or Evidence()
        by_memory = evidence.state is not None and release.number in evidence.groups
        if evidence.state is not None and self.consecutive:
            series = series[-2:]  # each pair was checked when its second was published
        elif by_memory:
            series = [release]
        if not all(map(tells_values, series)):
            return self._nothing_sensitive()
        so_far = self._follow(series, evidence)
        remembered = not self.consecutive and by_memory
        for each in series:
            so_far.add(each, last=each is series[-1], hosted=not remembered)
        if evidence.state is None or not remembered:
            return self._verdicts(so_far)
        before, after = map(Remembered.of_tables, evidence.state)
        return [
            *self._of_groups(so_far),
            *self._remembered(release, evidence, before, after),
            *self._candidate_sets(so_far),
        ]

    def check_each(
        self, releases: Sequence[Release], evidence: Evidence | None = None
    ) -> Iterator[list[Verdict]]:
        """For each release of a series, in order, what ``check`` finds of it and those before it;
        in one pass.
        """
        evidence = replace(evidence or Evidence(), state=None)
        units = {r.manifest.privacy_unit for r in releases}
        if len(units) > 1 or not all(map(tells_values, releases)):
            for place, release in enumerate(releases):  # which is no series of ours
                yield self.check(release, releases[:place], evidence)
            return
        so_far = self._follow(releases, evidence)
        for release in releases:
            so_far.add(release, last=release is releases[-1])
            yield self._verdicts(so_far)

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""
        return {"name": self.full_name, "m": self.m, "balancing": self.balancing}

    def in_words(self, *, sensitive: bool) -> str:
        """The promise as a sentence, and against whom it holds where places were filled as in the
        paper.
        """
        filled = _IGNORING if self.balancing == "paper" else ""
        if self.consecutive:
            return (
                "From one release to the next, no person's sensitive value is linked to them with"
                f" more than 1/{self.m}, as long as the value persists. A person who leaves and"
                " returns is not covered, nor those in whose groups they stood (m-invariance as in"
                f" the paper, which forgets).{filled}"
            )
        return (
            "Over all releases of this series, no person's sensitive value is linked to them with"
            f" more than 1/{self.m}, as long as the value persists: every group has at least"
            f" {self.m} different values, and a person who is published again, also after a gap, is"
            f" published among the same values (m-invariance).{filled}"
        )

    def limits(
        self,
        manifest: Manifest,
        earlier: Sequence[Manifest] = (),
        *,
        reidentified: float | None = None,
    ) -> Iterator[tuple[str, str]]:
        """Whom the paper's way to fill places leaves out."""
        if self.balancing == "paper":
            yield (
                "Only against those who ignore the method",
                (
                    "Places of missing values were filled with new rows where these could be"
                    " spared. An adversary who knows the method sees from a counterfeit which"
                    " value was short, and links some persons to their value with more than is"
                    " promised. Set"
                    ' balancing = "exact" unless you are comparing with the paper.'
                ),
            )

    def _named(self, part: str) -> str:
        return f"{self.full_name}: {part}"

    def _not_checked(self, part: str, bound: int, why: str) -> Verdict:
        return Verdict(
            name=self._named(part), bound=bound, worst=None, holds=True, note=f"not checked: {why}"
        )

    def _follow(self, series: Sequence[Release], evidence: Evidence) -> Following:
        """The beginning of a pass over a series, which has at least one release."""
        records = any(r.manifest.privacy_unit == "record" for r in series)
        return Following(self.m, evidence, series[0], consecutive=self.consecutive, records=records)

    def _verdicts(self, so_far: Following) -> list[Verdict]:
        """What the check of the whole series has found, after each release of a pass."""
        return [
            *self._of_groups(so_far),
            *self._signatures(so_far),
            *self._candidate_sets(so_far),
        ]

    def _nothing_sensitive(self) -> list[Verdict]:
        note = "no sensitive attribute is published, and this promise is about one"
        return [Verdict(name=self.full_name, bound=self.m, worst=None, holds=False, note=note)]

    def _of_groups(self, so_far: Following) -> Iterator[Verdict]:
        yield self._uniqueness(so_far)
        yield self._counterfeits(so_far)
        yield from self._persons_and_groups(so_far)

    def _uniqueness(self, so_far: Following) -> Verdict:
        """Every release is m-unique; the first that is not is shown."""
        series, verdicts = so_far.series, so_far.unique
        worst = min((v.worst for v in verdicts if isinstance(v.worst, int)), default=None)
        wrong = [(r, v) for r, v in zip(series, verdicts, strict=True) if not v.holds]
        shown = wrong[0] if wrong else (series[-1], verdicts[-1])
        note = (
            "; ".join(f"release {r.number}: {v.note}" for r, v in wrong)
            or f"{len(series)} release(s)"
        )
        return Verdict(
            name=self._named("m-uniqueness"),
            bound=self.m,
            worst=worst,
            holds=not wrong,
            note=note,
            worst_cases=shown[1].worst_cases,
        )

    def _counterfeits(self, so_far: Following) -> Verdict:
        """Counts name groups that exist, each once, at least 1 and less than the group's rows:
        every group hosts a person.
        """
        series, faults = so_far.series, so_far.counted_faults
        counted = sum(r.manifest.counterfeits for r in series) if not faults else 0
        note = "; ".join(faults) or f"{counted} counterfeit(s) in {len(series)} release(s)"
        note += f"; {_FILLED}" if self.balancing == "paper" else ""
        return Verdict(
            name=self._named("counterfeits"),
            bound=0,
            worst=len(faults),
            holds=not faults,
            note=note,
        )

    def _persons_and_groups(self, so_far: Following) -> Iterator[Verdict]:
        """The mapping covers exactly the published persons: each once, in a group that exists, as
        many as the group has real rows.
        """
        part, given, faults = "persons and groups", so_far.mapped, so_far.mapping_faults
        if given:
            note = "; ".join(faults) or f"{len(given)} release(s)"
            yield Verdict(
                name=self._named(part), bound=0, worst=len(faults), holds=not faults, note=note
            )
        if len(given) < len(so_far.series):
            yield self._not_checked(
                part,
                0,
                "no person-to-group mapping was given for release(s)"
                f" {without(so_far.series, given)}",
            )

    def _signatures(self, so_far: Following) -> Iterator[Verdict]:
        """How many different signatures a person's groups have, which may be one."""
        part, mapped, given = "signatures by person", so_far.mapped, so_far.attributed
        if given:
            whom = "record(s) (person and value)" if so_far.records else "person(s)"
            moved, worst, cases = so_far.stood.moved, 1, pl.DataFrame()
            if moved:
                hosted = [so_far.hosts(r) for r in given]
                who = so_far.stood.worst(hosted)
                moved, worst = who.height, int(who["signatures"].max())  # type: ignore[arg-type]
                cases = moved_cases(who, hosted, given)
            yield Verdict(
                name=self._named(part),
                bound=1,
                worst=worst,
                holds=not moved,
                note=(
                    f"{moved} {whom} stand under more than one signature"
                    if moved
                    else f"{so_far.stood.looked_at} {whom} in {len(given)} release(s), counted in"
                    " each"
                ),
                worst_cases=cases,
            )
        if len(mapped) < len(so_far.series):
            yield self._not_checked(
                part,
                1,
                "no person-to-group mapping was given for release(s)"
                f" {without(so_far.series, mapped)}",
            )
        if len(given) < len(mapped):
            yield self._not_checked(
                part,
                1,
                "the promise is per record, and without the microdata of release(s)"
                f" {without(mapped, given)} nothing says which value a person had;"
                f" {so_far.persons.moved} person(s) stand under more than one signature, each of"
                " whom must have changed the value in between",
            )

    def _remembered(
        self, release: Release, evidence: Evidence, before: Remembered, after: Remembered
    ) -> Iterator[Verdict]:
        """A person who stands in the last release stands under the signature that the series
        remembers of them; and what it remembers is of all persons, and never changes.
        """
        faults = [*shape_faults(before, "before"), *shape_faults(after, "after")]
        if not faults:
            is_published = yield from self._under_remembered(release, evidence, after)
            records = release.manifest.privacy_unit == "record"
            faults = list(succession_faults(before, after, is_published, records=records))
        yield Verdict(
            name=self._named("remembered signatures"),
            bound=0,
            worst=len(faults),
            holds=not faults,
            note="; ".join(faults) or f"{after.persons.height} person(s), or records of theirs",
        )

    def _under_remembered(
        self, release: Release, evidence: Evidence, remembered: Remembered
    ) -> Generator[Verdict, None, Bools]:
        """How many signatures a person has: that of the group, and the remembered one where it is
        another. Returns whether each of those who are remembered is in the release.
        """
        part, signatures = "signatures by person", Signatures.of_series([release])
        records = release.manifest.privacy_unit == "record"
        attributed = not records or has_persons(evidence.microdata.get(release.number))
        known = under(remembered, signatures)
        known = known if records else known.drop("value")
        hosts = hosts_of(release, evidence, signatures, records=records and attributed)
        moved, is_published = beside(hosts, known)
        whom = "record(s) (person and value)" if records else "person(s)"
        if attributed or moved.height:
            yield Verdict(
                name=self._named(part),
                bound=1,
                worst=2 if moved.height else 1,
                holds=not moved.height,
                note=(
                    f"{moved.height} {whom} stand under more than one signature"
                    if moved.height
                    else f"{hosts.height} {whom}, beside what is remembered of them"
                ),
                worst_cases=moved_cases(moved.select(whom_of(hosts)).unique(), [hosts], [release]),
            )
        if not attributed:
            several = known.group_by("person").agg(pl.col("signature").n_unique())
            yield self._not_checked(
                part,
                1,
                f"the promise is per record, and without the microdata of release {release.number}"
                " nothing says which value a person had;"
                f" {int((several['signature'] > 1).sum())} person(s) are remembered under more than"
                " one signature, each of whom must have changed the value in between",
            )
        return is_published

    def _candidate_sets(self, so_far: Following) -> Iterator[Verdict]:
        """How many values the public view leaves a person: over the releases, the intersection of
        what all boxes around the person hold.
        """
        part, given, candidates = "candidate sets by box", so_far.in_boxes, so_far.candidates
        whom = "record(s) (person and value)" if so_far.records else "person(s)"
        holds = candidates.fewest is None or candidates.fewest >= self.m
        if not holds and so_far.may_be_suppressed():
            fewer = f"up to {max(candidates.short)} {whom} of a release have fewer values"
            yield self._not_checked(part, self.m, f"{fewer}, and {_AS_MANY}")
        elif given:
            note = f"{len(given)} release(s), {len(candidates)} {whom}"
            if not holds and any(map(so_far.tells_not_whose, given)):
                note += f"; {_SUPPRESSED}"
            yield Verdict(
                name=self._named(part),
                bound=self.m,
                worst=candidates.fewest,
                holds=holds,
                note=note,
                worst_cases=candidates.smallest,
            )
        if len(given) < len(so_far.series):
            yield self._not_checked(
                part,
                self.m,
                "no microdata with persons was given for release(s)"
                f" {without(so_far.series, given)}",
            )
