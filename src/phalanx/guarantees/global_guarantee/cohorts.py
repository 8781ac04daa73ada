# SPDX-License-Identifier: Apache-2.0
"""Cohorts, as a check of files and mappings sees them: a person who once stood in a group with a
permanent value stands with the same people for good.

The rules, and why a carrier's probability is then the cohort's share of carriers, are in
docs/explanation/cohorts.md.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from phalanx.arrays import Bools
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.members import members
from phalanx.release.folder import Release

Lasting = Callable[[pl.Series], Bools]
"""Which values are permanent."""

_NONE = {"person": pl.Binary, "cohort": pl.Int64}


@dataclass(frozen=True)
class _Shown:
    """A group that holds permanent values."""

    rows: int
    counterfeits: int
    registered: int
    carriers: Mapping[str, int]
    """How many rows hold each permanent value."""


@dataclass
class _Known:
    """The cohorts so far: who is in which, how many were founded, and how many carriers each showed
    the last time.
    """

    persons: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_NONE))
    sizes: list[int] = field(default_factory=list)
    carriers: list[dict[str, int]] = field(default_factory=list)

    def found(self, people: Sequence[pl.Series], carriers: Sequence[Mapping[str, int]]) -> None:
        """New cohorts of these people, with these carriers."""
        sizes = [len(members) for members in people]
        number = np.repeat(
            np.arange(len(self.sizes), len(self.sizes) + len(people), dtype=np.int64), sizes
        )
        self.sizes += sizes
        self.carriers += [dict(held) for held in carriers]
        if people:
            self.persons = pl.concat(
                [self.persons, pl.DataFrame({"person": pl.concat(people), "cohort": number})]
            )


def faults(
    releases: Sequence[Release], mappings: Mapping[int, pl.DataFrame], lasting: Lasting
) -> Iterator[str]:
    """What is wrong with the cohorts of a series from its first release on; nothing where every
    rule is kept. Every release needs its mapping.
    """
    known = _Known()
    for release in releases:
        for fault in _of_release(
            release, mappings[release.number].filter(pl.col("group") > 0), lasting, known
        ):
            yield f"release {release.number}: {fault}"


def shown(groups: Groups, lasting: Lasting) -> Bools:
    """Which groups hold a permanent value, shape (g,); ``groups`` are those of single values."""
    cohorts = np.zeros(len(groups), dtype=bool)
    if groups.values is not None:
        cohorts[groups.cell_group[lasting(groups.values)[groups.cell_value]]] = True
    return cohorts


def _of_release(
    release: Release, mapping: pl.DataFrame, lasting: Lasting, known: _Known
) -> Iterator[str]:
    groups = _groups(release, lasting)
    hosts = mapping.with_columns(pl.col("group").cast(pl.Int64)).join(
        known.persons, on="person", how="left", maintain_order="left"
    )
    inside = hosts["group"].is_in(pl.Series(list(groups), dtype=pl.Int64).implode())
    if elsewhere := int((hosts["cohort"].is_not_null() & ~inside).sum()):
        yield f"{elsewhere} member(s) of cohorts stand in groups without a permanent value"
    there = dict(hosts.drop_nulls("cohort").group_by("cohort").len().iter_rows())
    of_group = {
        group: people
        for (group,), people in hosts.filter(inside).group_by("group", maintain_order=True)
    }
    founded = []
    for group, held in sorted(groups.items()):
        people = of_group.get(group, hosts.clear())
        if held.registered:
            yield (
                f"group {group} holds a permanent value and {held.registered} registered person(s)"
                " without a row"
            )
        cohorts = people["cohort"].drop_nulls().unique().to_list()
        if not cohorts:
            if held.counterfeits or people.height != held.rows:
                yield (
                    f"group {group} is a new cohort of {people.height} person(s) and has"
                    f" {held.rows} row(s), {held.counterfeits} of them counterfeit"
                )
            founded.append((people["person"], held.carriers))
        elif len(cohorts) > 1 or people["cohort"].null_count():
            yield f"group {group} holds a permanent value and mixes members of a cohort with others"
        else:
            yield from _again(
                group,
                held,
                people.height,
                there[cohorts[0]],
                known.sizes[cohorts[0]],
                known.carriers[cohorts[0]],
            )
            known.carriers[cohorts[0]] |= held.carriers
    known.found([people for people, _ in founded], [carriers for _, carriers in founded])


def _again(
    group: int, held: _Shown, present: int, there: int, size: int, carriers: Mapping[str, int]
) -> Iterator[str]:
    """What is wrong with a cohort's group beside the last time: who is in it, its counterfeits, its
    carriers.
    """
    if there != present:
        yield (
            f"group {group} lacks {there - present} member(s) of its cohort who are in the release"
        )
    if held.rows != size or held.counterfeits != size - present:
        yield (
            f"group {group} has {held.rows} row(s), {held.counterfeits} of them counterfeit, and"
            f" its cohort {size} members, {present} of whom are in it"
        )
    for value in sorted({*held.carriers, *carriers}):
        before, now = carriers.get(value, 0), held.carriers.get(value, 0)
        if now < before:
            yield f"group {group} has {now} carrier(s) of a permanent value and had {before}"
        if now > before and present < size:
            yield (
                f"group {group} has {now} carrier(s) of a permanent value and had {before}, while"
                f" {size - present} member(s) of its cohort are absent"
            )


def _groups(release: Release, lasting: Lasting) -> dict[int, _Shown]:
    """The groups that hold permanent values, by their ids."""
    groups = Groups.of(release).members
    if groups.values is None:
        return {}
    ids, values, n = (
        groups.ids.cast(pl.Int64, strict=False).fill_null(-1).to_list(),
        groups.values.to_list(),
        members(groups),
    )
    carriers: dict[int, dict[str, int]] = {}
    for cell in np.flatnonzero(lasting(groups.values)[groups.cell_value]).tolist():
        carriers.setdefault(int(groups.cell_group[cell]), {})[
            str(values[groups.cell_value[cell]])
        ] = int(groups.cell_count[cell])
    return {
        ids[g]: _Shown(
            int(groups.sizes[g]), int(groups.counterfeits[g]), int(n[g] - groups.sizes[g]), held
        )
        for g, held in carriers.items()
    }
