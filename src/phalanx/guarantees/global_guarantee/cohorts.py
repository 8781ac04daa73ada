# SPDX-License-Identifier: Apache-2.0
"""Cohorts, as a check of files and mappings sees them: a person who once stood in a group with a
permanent value stands with the same people for good.

The rules, and why a carrier's probability is then the cohort's share of carriers, are in
docs/explanation/cohorts.md.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from phalanx.arrays import Bools, places_in
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.members import members
from phalanx.release.folder import Release

Lasting = Callable[[pl.Series], Bools]
"""Which values are permanent."""

_NONE = {"person": pl.Binary, "cohort": pl.Int64}


class _Shown(NamedTuple):
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
    groups = sorted(_groups(release, lasting).items())
    hosts = mapping.with_columns(pl.col("group").cast(pl.Int64)).join(
        known.persons, on="person", how="left", maintain_order="left"
    )
    cohort = hosts["cohort"].fill_null(-1).to_numpy()
    at = places_in(hosts["group"].to_numpy(), np.array([group for group, _ in groups], np.int64))
    if elsewhere := int(((cohort >= 0) & (at < 0)).sum()):
        yield f"{elsewhere} member(s) of cohorts stand in groups without a permanent value"
    there = np.bincount(cohort[cohort >= 0], minlength=len(known.sizes)).tolist()
    inside = at >= 0
    many = np.bincount(at[inside], minlength=len(groups)).tolist()
    least, most = np.full(len(groups), len(known.sizes)), np.full(len(groups), -1)
    np.minimum.at(least, at[inside], cohort[inside])
    np.maximum.at(most, at[inside], cohort[inside])
    founded = np.full(len(groups) + 1, -1)  # the last is for who is in none of these groups
    for g, (group, held) in enumerate(groups):
        present, of = many[g], int(most[g])
        if held.registered:
            yield (
                f"group {group} holds a permanent value and {held.registered} registered person(s)"
                " without a row"
            )
        if of < 0:
            if held.counterfeits or present != held.rows:
                yield (
                    f"group {group} is a new cohort of {present} person(s) and has"
                    f" {held.rows} row(s), {held.counterfeits} of them counterfeit"
                )
            founded[g] = len(known.sizes)
            known.sizes.append(present)
            known.carriers.append(dict(held.carriers))
        elif least[g] != of:
            yield f"group {group} holds a permanent value and mixes members of a cohort with others"
        else:
            yield from _again(group, held, present, there[of], known.sizes[of], known.carriers[of])
            known.carriers[of] |= held.carriers
    new = hosts.select("person", cohort=founded[at]).filter(pl.col("cohort") >= 0)
    known.persons = pl.concat([known.persons, new])


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
    cells = np.flatnonzero(lasting(groups.values)[groups.cell_value])
    carriers: dict[int, dict[str, int]] = {}
    for g, value, count in zip(
        groups.cell_group[cells].tolist(),
        groups.values.gather(groups.cell_value[cells]).to_list(),
        groups.cell_count[cells].tolist(),
        strict=True,
    ):
        carriers.setdefault(g, {})[_text(value)] = count
    which = np.array(list(carriers), dtype=np.int64)
    return dict(
        zip(
            groups.ids.cast(pl.Int64, strict=False).fill_null(-1).gather(which).to_list(),
            map(
                _Shown,
                groups.sizes[which].tolist(),
                groups.counterfeits[which].tolist(),
                (members(groups) - groups.sizes)[which].tolist(),
                carriers.values(),
            ),
            strict=True,
        )
    )


def _text(value: object) -> str:
    """A value as text; a whole number is the same with and without a fraction of 0."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)
