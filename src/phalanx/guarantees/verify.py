# SPDX-License-Identifier: Apache-2.0
"""The independent check of one release or of a whole series."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from phalanx.data.combinations import Combinations
from phalanx.data.microdata import Microdata
from phalanx.data.standing import rows_of
from phalanx.guarantees import stated
from phalanx.guarantees.base import Followed, Guarantee, Verdict, is_of_each_person
from phalanx.guarantees.consistency import check as consistency
from phalanx.guarantees.consistency.forms import form_faults
from phalanx.guarantees.parts import Found, Merged
from phalanx.guarantees.registry import from_parameters
from phalanx.guarantees.sentences import lacking
from phalanx.guarantees.staying import EachBeside, followed_in_parts, in_turn
from phalanx.guarantees.strength import promises_nothing
from phalanx.guarantees.truth import check as truth
from phalanx.guarantees.truth import coverage
from phalanx.release.applicable import applicable_parts, not_applicable
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.part import Part

Passes = dict[str, Iterator[tuple[int, list[Verdict]]]]
"""By promise, a check of all releases that goes on from one to the next."""
Followings = dict[str, Mapping[int, list[Verdict]]]
"""By promise, what a check of all releases in parts found of each."""
EachPart = Callable[[Callable[[int], Found], Iterable[int]], Iterable[Found]]
"""Calls a function with each number of a part, and gives what it found, in their order."""


def verify(
    releases: Sequence[Release],
    evidence: Evidence | None = None,
    *,
    allow_seeded: bool = False,
    only_last: bool = False,
    by_rows: bool = True,
    each: EachPart = map,
    beside: EachBeside = in_turn,
) -> list[Verdict]:
    """Check every release: that it is consistent, and that it keeps each promise of its manifest,
    given those before it.

    ``releases`` of one series, in any order; ``allow_seeded`` accepts a release that was made with
    a seed; ``only_last`` checks the last one alone, against those before it; ``by_rows``: whether an
    original table that tells no persons is laid beside its release, too; ``each`` looks at the parts of a
    release that has some, one after the other or wherever it may, ``beside`` at those of all releases
    with the persons in them. All hold where
    ``all(verdict.holds for verdict in verify(...))``. ReleaseError where a promise is unknown.
    """
    series = sorted(releases, key=lambda release: release.number)
    verdicts: list[Verdict] = []
    passes: Passes = {}
    followed: Followings = {}
    for i, release in enumerate(series):
        if only_last and i < len(series) - 1:
            continue
        if release.manifest.parts:
            given = evidence or Evidence()
            original = given.combinations.get(release.number) or given.microdata.get(release.number)
            counted = any(map(_counts_parts, release.manifest.guarantees))
            checks = _in_parts(
                release,
                series,
                each,
                allow_seeded=allow_seeded,
                beside_original=original is not None,
                original=original if counted else None,
            )
            for public in _each_once(release.manifest.guarantees):
                if not _of_each_group(public):
                    checks += _over_parts(public, release, series, evidence, (followed, beside))
        else:
            whole = None if only_last else (series, passes)
            promised = release.manifest.guarantees
            checks = _checks(
                release, promised, series[:i], evidence, whole, allow_seeded=allow_seeded
            )
        if not only_last:
            checks += _before(release, [other.number for other in series[: i + 1]], checks)
        if not release.manifest.guarantees:
            note = "the manifest promises nothing, so nothing protects anybody"
            checks.append(
                Verdict(name="promises", bound="at least one", worst=None, holds=False, note=note)
            )
        if evidence is not None:
            checks += _truth(release, evidence, sound=checks[0].holds, by_rows=by_rows)
        verdicts += [
            replace(verdict, name=f"release {release.number}: {verdict.name}") for verdict in checks
        ]
    return verdicts


def _checks(
    release: Release,
    promised: Sequence[Mapping[str, Any]],
    earlier: Sequence[Release],
    evidence: Evidence | None,
    whole: tuple[Sequence[Release], Passes] | None,
    *,
    allow_seeded: bool,
    beside_original: bool = False,
    original: Combinations | Microdata | None = None,
) -> list[Verdict]:
    """What the files of a release show; ``promised``: the guarantees that are checked, ``whole`` as
    of :func:`_promise`, ``original``: the table of a release of which this is a part, for those that
    count it part by part.
    """
    checks = consistency.check(
        release,
        earlier,
        evidence=evidence,
        allow_seeded=allow_seeded,
        beside_original=beside_original,
    )
    beside = Evidence()
    if isinstance(original, Combinations):
        beside = Evidence(combinations={release.number: original})
    elif original is not None:
        beside = Evidence(microdata={release.number: original})
    for public in _each_once(promised):
        of_part = beside if _counts_parts(public) and original is not None else evidence
        checks += _promise(public, release, earlier, of_part, whole)
    return [*checks, *stated.check(release)]


def _in_parts(
    release: Release,
    series: Sequence[Release],
    each: EachPart,
    *,
    allow_seeded: bool,
    beside_original: bool,
    original: Combinations | Microdata | None,
) -> list[Verdict]:
    """The same of a release in parts, of which one is in memory at a time: each is checked as a
    release by itself, and the verdicts are merged.
    """
    merged = Merged()
    earlier = [before for before in series if before.number < release.number]
    look = partial(
        _of_part,
        release,
        earlier,
        allow_seeded=allow_seeded,
        beside_original=beside_original,
        original=original,
    )
    for part in each(look, range(len(release.manifest.parts))):
        merged.add(part)
    return merged.verdicts()


def _over_parts(
    public: Mapping[str, Any],
    release: Release,
    series: Sequence[Release],
    evidence: Evidence | None,
    following: tuple[Followings, EachBeside],
) -> list[Verdict]:
    """The check of a promise that is not about every group by itself: part by part where it is about
    every person, and all releases are in parts in which they stay; else of the whole release, which
    must be read for it.
    """
    given = evidence or Evidence()
    guarantee, whole = from_parameters(public), given.groups or given.microdata
    if not whole and is_of_each_person(guarantee) and all(each.manifest.parts for each in series):
        key, (followed, beside) = json.dumps(public, sort_keys=True), following
        if key not in followed:
            followed[key] = followed_in_parts(guarantee, series, given, _unfit, beside)
        return followed[key][release.number]
    earlier = [before for before in series if before.number < release.number]
    read = Release.read(release.path)
    return _promise(public, read, earlier, evidence if is_of_each_person(guarantee) else None, None)


def _of_part(
    release: Release,
    earlier: Sequence[Release],
    number: int,
    *,
    allow_seeded: bool,
    beside_original: bool,
    original: Combinations | Microdata | None,
) -> Found:
    """What the files of one part show, of all that is about every group by itself."""
    part = Part.read_part(release.path, release.manifest, number)
    promised = [public for public in part.manifest.guarantees if _of_each_group(public)]
    checks = _checks(
        part,
        promised,
        earlier,
        None,
        None,
        allow_seeded=allow_seeded,
        beside_original=beside_original,
        original=original,
    )
    return Found.of(part, checks)


def _each_once(promised: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The promises, of which one that stands twice is a fault of consistency, and checked once."""
    for place, public in enumerate(promised):
        if public not in promised[:place]:
            yield public


def _counts_parts(public: Mapping[str, Any]) -> bool:
    return bool(getattr(from_parameters(public), "counts_parts", False))


def _of_each_group(public: Mapping[str, Any]) -> bool:
    return bool(getattr(from_parameters(public), "of_each_group", False))


def _promise(
    public: Mapping[str, Any],
    release: Release,
    earlier: Sequence[Release],
    evidence: Evidence | None,
    whole: tuple[Sequence[Release], Passes] | None,
) -> list[Verdict]:
    """The check of one promise; it does not hold on a form that it is not about. ``whole``: all
    releases, where each is checked, and the passes over them that have begun.
    """
    guarantee = from_parameters(public)
    if unfit := _unfit(guarantee, release):
        return unfit
    if not_applicable(release.form) and _is_about_values(guarantee):
        if whole is not None and any(form_faults(each.form) for each in whole[0]):
            whole = None
        series = [*earlier, release] if whole is None else whole[0]
        parts, beside = applicable_parts(series, evidence or Evidence())
        *earlier, release = parts[: len(earlier) + 1]
        evidence = None if evidence is None else beside
        if not release.form.rows:
            note = "no published value is applicable, so that nothing is promised to anybody"
            return [Verdict(name=guarantee.name, bound=1, worst=0, holds=False, note=note)]
        followed = whole is not None and all(part.form.rows for part in parts)
        whole = (parts, whole[1]) if whole is not None and followed else None
    if whole is not None and len(whole[0]) > 1 and isinstance(guarantee, Followed):
        series, passes = whole
        begun = passes.setdefault(
            json.dumps(public, sort_keys=True), enumerate(guarantee.check_each(series, evidence))
        )
        checks = next((checks for place, checks in begun if place == len(earlier)), None)
    else:
        checks = guarantee.check(release, earlier, evidence)
    return _answered(guarantee, checks)


def _answered(guarantee: Guarantee, checks: object) -> list[Verdict]:
    """What a guarantee found, which may be one of another package; where that is no verdict, or
    none, it has checked nothing.
    """
    if isinstance(checks, Sequence) and checks and all(isinstance(v, Verdict) for v in checks):
        return list(checks)
    note = "it gives no verdict, so that nothing was checked; the makers of its package should know"
    return [Verdict(name=guarantee.name, bound="a verdict", worst=None, holds=False, note=note)]


def _unfit(guarantee: Guarantee, release: Release) -> list[Verdict]:
    """Why a promise does not hold of a release, whatever its rows are; nothing where it may."""
    if release.form.kind not in (forms := guarantee.forms):
        note = (
            f"the release is {release.form.kind}, and this is promised of {' or '.join(forms)}"
            " releases only"
        )
        return [
            Verdict(
                name=guarantee.name,
                bound=f"a {' or '.join(forms)} release",
                worst=release.form.kind,
                holds=False,
                note=note,
            )
        ]
    if nothing := promises_nothing(guarantee):
        return [
            Verdict(name=guarantee.name, bound="a promise", worst=None, holds=False, note=nothing)
        ]
    if form_faults(release.form):
        note = "not checked, since the release contradicts itself; see consistency"
        bound = "a consistent release"
        return [Verdict(name=guarantee.name, bound=bound, worst=None, holds=False, note=note)]
    return []


def _before(
    release: Release, numbers: Sequence[int], checks: Sequence[Verdict]
) -> Iterator[Verdict]:
    """That a promise about all releases together was not checked of those that were not given,
    unless its own check says so.
    """
    absent = lacking(numbers)
    if not absent or any(absent in verdict.note for verdict in checks):
        return
    for public in release.manifest.guarantees:
        if getattr(from_parameters(public), "over_series", False):
            name = f"{public['name']}: releases before"
            note = f"not checked: {absent}"
            yield Verdict(name=name, bound="all", worst=None, holds=True, note=note)


def _is_about_values(guarantee: Guarantee) -> bool:
    return "values" in getattr(guarantee, "hides", ()) or getattr(guarantee, "of_values", False)


def _truth(release: Release, evidence: Evidence, *, sound: bool, by_rows: bool) -> list[Verdict]:
    """Whether what was published about each person is so, and each person is published or
    suppressed, where the original table is given; ``by_rows``: also where it tells no persons, as far
    as its rows show it.
    """
    number = release.number
    microdata, mapping = evidence.microdata.get(number), evidence.groups.get(number)
    original = evidence.combinations.get(number) if microdata is None else microdata
    if original is None or (microdata is not None and microdata.persons is None and not by_rows):
        return []
    if not sound:
        note = "not checked, since the release contradicts itself; see consistency"
        return [
            Verdict(
                name=coverage.NAME if mapping is None else "truth",
                bound=0,
                worst=None,
                holds=False,
                note=note,
            )
        ]
    if mapping is None or microdata is None or microdata.persons is None:
        verdict = coverage.check(release, original, hides_values=truth.suppresses(release))
        return [] if verdict is None else [verdict]
    rows = rows_of(microdata.persons, mapping["person"])
    of_person = mapping["group"].cast(pl.Int64).fill_null(0).to_numpy()
    groups = np.append(of_person, 0)[rows]
    has_a_row = np.zeros(mapping.height, dtype=np.bool_)
    has_a_row[rows[rows >= 0]] = True
    verdict = truth.check(release, microdata, groups, registered=of_person[~has_a_row])
    return [
        verdict,
        *(
            [coverage.check_mapped(release, microdata, int((groups > 0).sum()))]
            if not release.form.tells_itself_alone
            else []
        ),
    ]
