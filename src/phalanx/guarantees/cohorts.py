"""Cohorts, as a check of files and mappings sees them: whoever once stood in a group with a permanent value stands with the same people for good."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import polars as pl

from phalanx.guarantees.groups import Groups
from phalanx.release.folder import Release


@dataclass(eq=False)
class Cohort:
    """Its founding members, and how many carriers of each permanent value it showed the last time."""

    members: frozenset[bytes]
    carriers: dict[Any, int] = field(default_factory=dict)


def worst_share(releases: Sequence[Release], permanent: Collection[Any]) -> Fraction:
    """The largest share of a permanent value in a group: what its members carry it with, if the cohorts are as they should be."""
    worst = Fraction(0)
    for release in releases:
        groups = Groups.of(release).members
        if groups.values is None:
            continue
        lasting = groups.values.is_in(pl.Series(list(permanent)).cast(groups.values.dtype, strict=False).implode()).fill_null(value=False).to_numpy()
        for cell in lasting[groups.cell_value].nonzero()[0].tolist():
            worst = max(worst, Fraction(int(groups.cell_count[cell]), int(groups.sizes[groups.cell_group[cell]])))
    return worst


def faults(releases: Sequence[Release], mappings: Mapping[int, pl.DataFrame], permanent: Collection[Any]) -> Iterator[str]:
    """What is wrong with the cohorts of a series, release by release; nothing where every rule of docs/explanation/cohorts.md is kept."""
    cohort_of: dict[bytes, Cohort] = {}
    for release in releases:
        for fault in _of_release(release, mappings[release.number], permanent, cohort_of):
            yield f"release {release.number}: {fault}"


def _of_release(release: Release, mapping: pl.DataFrame, permanent: Collection[Any], cohort_of: dict[bytes, Cohort]) -> Iterator[str]:
    groups = Groups.of(release).members
    shown = _shown(groups, permanent)
    registered = {} if release.form.registered is None else dict(release.form.registered.iter_rows())
    hosts: dict[int, list[bytes]] = {}
    for person, group in mapping.iter_rows():
        if group > 0:
            hosts.setdefault(group, []).append(person)
    size = dict(zip(groups.ids.to_list(), zip(groups.sizes.tolist(), groups.counterfeits.tolist(), strict=True), strict=True))
    there = {person for persons in hosts.values() for person in persons}
    elsewhere = Counter(id(cohort_of[person]) for group, persons in hosts.items() if group not in shown for person in persons if person in cohort_of)
    if elsewhere:
        yield f"{sum(elsewhere.values())} member(s) of cohorts stand in groups without a permanent value"
    for group, values in shown.items():
        present, (rows, invented) = frozenset(hosts.get(group, [])), size[group]
        known = {id(cohort_of[person]): cohort_of[person] for person in present if person in cohort_of}
        if registered.get(group):
            yield f"group {group} holds a permanent value and registered persons"
        if not known:
            if invented or len(present) != rows:
                yield f"group {group} is a new cohort and has {invented} counterfeit(s)"
            cohort = Cohort(present)
            cohort_of.update(dict.fromkeys(present, cohort))
        elif len(known) > 1 or not present <= (cohort := next(iter(known.values()))).members:
            yield f"group {group} holds a permanent value and mixes members of a cohort with others"
            continue
        if (cohort.members & there) - present:
            yield f"group {group} lacks {len((cohort.members & there) - present)} member(s) of its cohort who are in the release"
        yield from _changed(group, cohort, present, rows, invented, values)
        cohort.carriers.update(values)
    met = {id(cohort_of[p]) for g in shown for p in hosts.get(g, []) if p in cohort_of}
    if lost := len({id(cohort_of[p]) for p in there if p in cohort_of} - met):
        yield f"{lost} cohort(s) of whom somebody is in the release are not published"


def _changed(group: int, cohort: Cohort, present: frozenset[bytes], rows: int, invented: int, values: Mapping[Any, int]) -> Iterator[str]:
    """What is wrong with a cohort's group beside the last time: its size, its counterfeits, its carriers."""
    if rows != len(cohort.members) or invented != rows - len(present):
        yield f"group {group} has {rows} rows and {invented} counterfeit(s), and its cohort {len(cohort.members)} members, of whom {len(present)} are there"
    for value in sorted({*values, *cohort.carriers}, key=str):
        before, now = cohort.carriers.get(value, 0), values.get(value, 0)
        if now < before:
            yield f"group {group} has fewer carriers of a permanent value than before ({now} instead of {before})"
        if now > before and invented:
            yield f"group {group} has more carriers of a permanent value than before while {invented} member(s) are absent"


def _shown(groups: Groups, permanent: Collection[Any]) -> dict[int, dict[Any, int]]:
    """The permanent values of every group that has one, with the number of rows that hold them."""
    found: dict[int, dict[Any, int]] = {}
    if groups.values is None:
        return found
    lasting = groups.values.is_in(pl.Series(list(permanent)).cast(groups.values.dtype, strict=False).implode()).fill_null(value=False).to_numpy()
    ids, values = groups.ids.to_list(), groups.values.to_list()
    for cell in lasting[groups.cell_value].nonzero()[0].tolist():
        found.setdefault(ids[int(groups.cell_group[cell])], {})[values[int(groups.cell_value[cell])]] = int(groups.cell_count[cell])
    return found
