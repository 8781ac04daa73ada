# SPDX-License-Identifier: Apache-2.0
"""m-invariance of a series: whoever stays is published under one signature of m values (Xiao & Tao,
SIGMOD 2007, Definition 17).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Final, Literal

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.errors import PlanError
from phalanx.exact import Ints, whole
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.m_invariance.m_uniqueness import MUniqueness
from phalanx.guarantees.m_invariance.remembered import shape_faults, succession_faults, under
from phalanx.guarantees.m_invariance.signatures import Signatures
from phalanx.guarantees.views.boxes import Bools, candidate_sets
from phalanx.guarantees.views.groups import Groups, places
from phalanx.guarantees.views.members import counted_faults, mapping_faults, place
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.signatures import Remembered
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest

CONSECUTIVE = "-consecutive"
_FILLED: Final = (
    "missing values were filled as in the paper, so the bound is against somebody who ignores the"
    " method: whoever knows it can name values of counterfeits"
)

_IGNORING: Final = (
    " Places of missing values were filled as in the paper, so this is promised only against"
    " somebody who ignores the method."
)


@dataclass(frozen=True)
class MInvariance:
    """Every release is m-unique, and all groups that ever host a person have the same signature;
    then the risk of a value is at most 1/m.

    The paper's Lemma 3. We differ in one thing: the lifespan runs over everything ever published,
    gaps included, because somebody who returns under another signature is exposed. With
    ``consecutive`` the promise is the paper's own, over neighbouring releases only. Where the
    manifest says ``privacy_unit: record`` it covers each pair of person and value, against somebody
    who does not know which records are one person's. Suppressed rows are not covered, nor those who
    share a group with somebody who was suppressed before, nor values of kept columns.

    ``balancing`` says how the places of missing values were filled, which no file shows. "exact":
    by counterfeits alone, and then the bound also holds against somebody who knows the method.
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
        mapping, remembers = evidence.groups.get(release.number), evidence.state is not None
        if remembers and self.consecutive:
            series = series[-2:]  # each pair was checked when its second was published
        elif remembers and mapping is not None:
            series = [release]
        if any(r.form.sensitive is None for r in series):
            note = "no sensitive attribute is published, and this promise is about one"
            return [Verdict(name=self.full_name, bound=self.m, worst=None, holds=False, note=note)]
        if evidence.state is not None and mapping is not None and not self.consecutive:
            before, after = map(Remembered.of_tables, evidence.state)
            return [
                self._uniqueness(series),
                self._counterfeits(series),
                *self._persons_and_groups(series, evidence),
                *self._remembered(release, evidence, before, after),
                *self._candidate_sets(series, evidence),
            ]
        return [
            self._uniqueness(series),
            self._counterfeits(series),
            *self._persons_and_groups(series, evidence),
            *self._signatures(series, evidence),
            *self._candidate_sets(series, evidence),
        ]

    def parameters(self) -> dict[str, Any]:
        """Name and parameters, as the manifest shows them."""
        return {"name": self.full_name, "m": self.m, "balancing": self.balancing}

    def in_words(self, *, sensitive: bool = True) -> str:
        """The promise as a sentence, and against whom it holds where places were filled as in the
        paper.
        """
        filled = _IGNORING if self.balancing == "paper" else ""
        if self.consecutive:
            return (
                "From one release to the next, nobody's sensitive value is linked to them with"
                f" more than 1/{self.m}, as long as the value persists. Whoever leaves and returns"
                " is not covered, nor those in whose groups they stood (m-invariance as in the"
                f" paper, which forgets).{filled}"
            )
        return (
            "Over all releases of this series, nobody's sensitive value is linked to them with"
            f" more than 1/{self.m}, as long as the value persists: every group has at least"
            f" {self.m} different values, and whoever is published again, also after a gap, is"
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
                    " spared. Whoever knows the method sees from a counterfeit which value was"
                    " short, and links some persons to their value with more than is promised. Set"
                    ' balancing = "exact" unless you are comparing with the paper.'
                ),
            )

    def _named(self, part: str) -> str:
        return f"{self.full_name}: {part}"

    def _not_checked(self, part: str, bound: int, why: str) -> Verdict:
        return Verdict(
            name=self._named(part), bound=bound, worst=None, holds=True, note=f"not checked: {why}"
        )

    def _uniqueness(self, series: Sequence[Release]) -> Verdict:
        """Every release is m-unique; the first that is not is shown."""
        verdicts = [MUniqueness(self.m).check(r)[0] for r in series]
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

    def _counterfeits(self, series: Sequence[Release]) -> Verdict:
        """Counts name groups that exist, each once, at least 1 and less than the group's rows:
        every group hosts somebody.
        """
        faults = [f"release {r.number}: {fault}" for r in series for fault in counted_faults(r)]
        counted = sum(r.form.counterfeit_rows for r in series) if not faults else 0
        note = "; ".join(faults) or f"{counted} counterfeit(s) in {len(series)} release(s)"
        note += f"; {_FILLED}" if self.balancing == "paper" else ""
        return Verdict(
            name=self._named("counterfeits"),
            bound=0,
            worst=len(faults),
            holds=not faults,
            note=note,
        )

    def _persons_and_groups(
        self, series: Sequence[Release], evidence: Evidence
    ) -> Iterator[Verdict]:
        """The mapping covers exactly the published persons: each once, in a group that exists, as
        many as the group has real rows.
        """
        part, given = "persons and groups", [r for r in series if r.number in evidence.groups]
        if given:
            faults = [
                f"release {r.number}: {fault}"
                for r in given
                for fault in mapping_faults(r, evidence.groups[r.number])
            ]
            note = "; ".join(faults) or f"{len(given)} release(s)"
            yield Verdict(
                name=self._named(part), bound=0, worst=len(faults), holds=not faults, note=note
            )
        if len(given) < len(series):
            yield self._not_checked(
                part,
                0,
                f"no person-to-group mapping was given for release(s) {_without(series, given)}",
            )

    def _signatures(self, series: Sequence[Release], evidence: Evidence) -> Iterator[Verdict]:
        """How many different signatures a person's groups have, which may be one."""
        part, signatures = "signatures by person", Signatures.of_series(series)
        mapped = [r for r in series if r.number in evidence.groups]
        records = any(r.manifest.privacy_unit == "record" for r in series)
        given = [r for r in mapped if not records or _has_records(evidence.microdata.get(r.number))]
        if given:
            hosted = [_hosts(r, evidence, signatures, records=records) for r in given]
            moved = _moved_next(hosted) if self.consecutive else _moved(hosted)
            whom = "record(s) (person and value)" if records else "person(s)"
            cases = _moved_cases(moved, hosted, given)
            looked = f"{sum(h.height for h in hosted)} {whom} in {len(given)} release(s)"
            note = (
                f"{moved.height} {whom} stand under more than one signature"
                if moved.height
                else looked
            )
            worst = int(moved["signatures"].max()) if moved.height else 1  # type: ignore[arg-type]
            yield Verdict(
                name=self._named(part),
                bound=1,
                worst=worst,
                holds=not moved.height,
                note=note,
                worst_cases=cases,
            )
        if len(mapped) < len(series):
            yield self._not_checked(
                part,
                1,
                f"no person-to-group mapping was given for release(s) {_without(series, mapped)}",
            )
        if len(given) < len(mapped):
            hosted = [_hosts(r, evidence, signatures, records=False) for r in mapped]
            several = (_moved_next(hosted) if self.consecutive else _moved(hosted)).height
            yield self._not_checked(
                part,
                1,
                "the promise is per record, and without the microdata of release(s)"
                f" {_without(mapped, given)} nothing says which value a person had; {several}"
                " person(s) stand under more than one signature, each of whom must have changed"
                " the value in between",
            )

    def _remembered(
        self, release: Release, evidence: Evidence, before: Remembered, after: Remembered
    ) -> Iterator[Verdict]:
        """Whoever stands in the last release stands under the signature that the series remembers
        of them; and what it remembers is of everybody, and never changes.
        """
        faults = [*shape_faults(before, "before"), *shape_faults(after, "after")]
        if not faults:
            yield from self._under_remembered(release, evidence, after)
            published = evidence.groups[release.number].filter(pl.col("group") != 0)["person"]
            records = release.manifest.privacy_unit == "record"
            faults = list(succession_faults(before, after, published, records=records))
        yield Verdict(
            name=self._named("remembered signatures"),
            bound=0,
            worst=len(faults),
            holds=not faults,
            note="; ".join(faults) or f"{after.persons.height} person(s), or records of theirs",
        )

    def _under_remembered(
        self, release: Release, evidence: Evidence, remembered: Remembered
    ) -> Iterator[Verdict]:
        """How many signatures a person has: that of the group, and the remembered one where it is
        another.
        """
        part, signatures = "signatures by person", Signatures.of_series([release])
        records = release.manifest.privacy_unit == "record"
        told = not records or _has_records(evidence.microdata.get(release.number))
        known = under(remembered, signatures)
        hosts = _hosts(release, evidence, signatures, records=records and told)
        one = [*_whom(hosts), "signature"]
        moved = hosts.join(known, on=one, how="anti")
        whom = "record(s) (person and value)" if records else "person(s)"
        if told or moved.height:
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
                worst_cases=_moved_cases(moved.select(_whom(hosts)).unique(), [hosts], [release]),
            )
        if not told:
            several = known.group_by("person").agg(pl.col("signature").n_unique())
            yield self._not_checked(
                part,
                1,
                f"the promise is per record, and without the microdata of release {release.number}"
                " nothing says which value a person had;"
                f" {int((several['signature'] > 1).sum())} person(s) are remembered under more than"
                " one signature, each of whom must have changed the value in between",
            )

    def _candidate_sets(self, series: Sequence[Release], evidence: Evidence) -> Iterator[Verdict]:
        """How many values the public view leaves a person: over the releases, the intersection of
        what all boxes around the person hold.
        """
        part, given = (
            "candidate sets by box",
            [
                r
                for r in series
                if r.number in evidence.microdata
                and evidence.microdata[r.number].persons is not None
            ],
        )
        if given:
            yield self._smallest_candidate_set(
                part,
                given,
                evidence,
                records=any(r.manifest.privacy_unit == "record" for r in series),
            )
        if len(given) < len(series):
            yield self._not_checked(
                part,
                self.m,
                f"no microdata with persons was given for release(s) {_without(series, given)}",
            )

    def _smallest_candidate_set(
        self, part: str, given: Sequence[Release], evidence: Evidence, *, records: bool
    ) -> Verdict:
        signatures = Signatures.of_series(given)
        numbers = [signatures.values(Groups.of(r).values.to_list()) for r in given]  # type: ignore[union-attr]
        rows = [_published_rows(evidence, r.number) for r in given]
        whose = _whose(
            [evidence.microdata[r.number] for r in given], rows, signatures, records=records
        )
        candidates = np.ones(
            (
                int(max((w.max(initial=-1) for w in whose), default=-1)) + 1,
                signatures.number_of_values,
            ),
            dtype=bool,
        )
        seen = np.zeros(len(candidates), dtype=bool)
        fewest, cases = None, candidates[:0]
        for release, kept, everybody, number in zip(given, rows, whose, numbers, strict=True):
            local = candidate_sets(evidence.microdata[release.number], release.generalized)[kept]
            boxed = local.any(axis=1)
            who, now = (
                everybody[boxed],
                np.zeros((int(boxed.sum()), signatures.number_of_values), dtype=bool),
            )
            now[:, number] = local[boxed]
            if self.consecutive:
                together = np.where(seen[who][:, None], candidates[who] & now, now)
                candidates[:], seen[:] = True, False
                candidates[who], seen[who] = now, True
            else:
                candidates[who] &= now
                seen[who] = True
                together = candidates[who]
            sizes = together.sum(axis=1)
            if len(sizes) and (fewest is None or sizes.min() < fewest):
                fewest, cases = int(sizes.min()), together[sizes == sizes.min()]
        holds = fewest is None or fewest >= self.m
        note = (
            f"{len(given)} release(s), {len(candidates)}"
            f" {'record(s) (person and value)' if records else 'person(s)'}"
        )
        return Verdict(
            name=self._named(part),
            bound=self.m,
            worst=fewest,
            holds=holds,
            note=note,
            worst_cases=_remaining(cases, signatures),
        )


def _hosts(
    release: Release, evidence: Evidence, signatures: Signatures, *, records: bool
) -> pl.DataFrame:
    """(person, signature, group) of a release; with ``records`` also the number of the person's own
    value.
    """
    mapping = evidence.groups[release.number].filter(pl.col("group") != 0)
    where, there = place(Groups.of(release), mapping["group"])
    hosts = mapping.select(
        "person", "group", pl.Series("signature", signatures.of(release)[where])
    ).filter(pl.Series(there))
    if not records:
        return hosts
    microdata = evidence.microdata[release.number]
    own = pl.DataFrame({"person": microdata.persons, "value": _values_of(microdata, signatures)})
    return hosts.join(own, on="person", how="inner")


def _whom(hosts: pl.DataFrame) -> list[str]:
    return [c for c in ("person", "value") if c in hosts.columns]


def _moved(hosted: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Those whose groups have more than one signature, with how many."""
    everywhere = pl.concat(hosted)
    whom = _whom(everywhere)
    spread = (
        everywhere.group_by(whom)
        .agg(low=pl.col("signature").min(), high=pl.col("signature").max())
        .filter(pl.col("low") != pl.col("high"))
    )
    return (
        everywhere.join(spread, on=whom, how="semi")
        .group_by(whom)
        .agg(signatures=pl.col("signature").n_unique())
    )


def _moved_next(hosted: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Those whose signature differs between two neighbouring releases."""
    whom = _whom(hosted[0])
    moved = [
        now.join(before, on=whom, how="inner", suffix="_before")
        .filter(pl.col("signature") != pl.col("signature_before"))
        .select(whom)
        for before, now in pairwise(hosted)
    ]
    return (
        pl.concat([hosted[0].select(whom).clear(), *moved])
        .unique()
        .with_columns(signatures=pl.lit(2))
    )


def _moved_cases(
    moved: pl.DataFrame, hosted: Sequence[pl.DataFrame], given: Sequence[Release]
) -> pl.DataFrame:
    """The groups of the first few who moved, as published: case, release, group, signature; nothing
    says who they are.
    """
    few = moved.head(5).with_row_index("case", offset=1)
    rows = []
    for hosts, release in zip(hosted, given, strict=True):
        stood = few.join(hosts, on=_whom(hosts), how="inner")
        groups = Groups.of(release)
        where, _ = place(groups, stood["group"])
        for case, group, at in zip(
            stood["case"].to_list(), stood["group"].to_list(), where.tolist(), strict=True
        ):
            rows.append((case, release.number, group, ", ".join(map(str, groups.signature(at)))))
    return pl.DataFrame(
        sorted(rows),
        schema={"case": pl.Int64, "release": pl.Int64, "group": pl.Int64, "signature": pl.String},
        orient="row",
    )


def _has_records(microdata: Microdata | None) -> bool:
    return microdata is not None and microdata.persons is not None


def _values_of(microdata: Microdata, signatures: Signatures) -> Ints:
    """The number of every row's own sensitive value."""
    column = microdata.sensitive
    return signatures.values(column.domain.values.to_list())[column.codes]


def _published_rows(evidence: Evidence, number: int) -> Ints:
    """The microdata rows that are published, as far as a mapping tells; else all."""
    microdata, mapping = evidence.microdata[number], evidence.groups.get(number)
    if mapping is None:
        return np.arange(microdata.rows)
    rows = pl.DataFrame({"person": microdata.persons}).with_row_index("row")
    return (
        rows.join(mapping.filter(pl.col("group") != 0), on="person", how="semi")["row"]
        .sort()
        .to_numpy()
        .astype(np.int64)
    )


def _whose(
    tables: Sequence[Microdata], rows: Sequence[Ints], signatures: Signatures, *, records: bool
) -> list[Ints]:
    """A number per chosen row for the person, or with ``records`` for the person and value, the
    same in all tables.
    """
    persons = pl.concat(
        [
            t.persons.rename("person").gather(kept)
            for t, kept in zip(tables, rows, strict=True)
            if t.persons is not None
        ]
    )
    _, who = places(persons)
    if records:
        values = np.concatenate(
            [_values_of(t, signatures)[kept] for t, kept in zip(tables, rows, strict=True)]
        )
        _, who = np.unique(who * (int(values.max(initial=0)) + 1) + values, return_inverse=True)
    return np.split(who, np.cumsum([len(kept) for kept in rows])[:-1])


def _remaining(sets: Bools, signatures: Signatures) -> pl.DataFrame:
    """The smallest candidate sets, and how many are left with each."""
    distinct, counts = (
        np.unique(sets, axis=0, return_counts=True)
        if len(sets)
        else (sets, np.zeros(0, dtype=np.int64))
    )
    order = np.argsort(-counts, kind="stable")[:10]
    texts = [
        ", ".join(str(signatures.value(v)) for v in np.flatnonzero(distinct[i]).tolist())
        for i in order.tolist()
    ]
    return pl.DataFrame(
        {"candidates": pl.Series(texts, dtype=pl.String), "how_many": counts[order]}
    )


def _without(series: Sequence[Release], given: Sequence[Release]) -> str:
    numbers = [str(r.number) for r in series if r not in given]
    return ", ".join(numbers[:8]) + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "")
