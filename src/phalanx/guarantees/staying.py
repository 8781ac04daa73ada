# SPDX-License-Identifier: Apache-2.0
"""The check of releases in parts whose promise is about every person over the series: part by part,
since each person stays in one, which is checked, too.

A part of all releases is then a series by itself, and what holds of all persons of every part holds
of all persons. One part of all releases is in memory at a time, of each process that looks at one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import polars as pl

from phalanx.data.repeated import Repeated
from phalanx.guarantees.base import Followed, Guarantee, Verdict
from phalanx.guarantees.parts import Worst
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest
from phalanx.release.part import Part

T = TypeVar("T")
Beside = Sequence[pl.DataFrame | None]
"""The tables that lie beside one part."""

NAME: Final = "persons and parts"
_ROOM: Final = 1 << 27
"""Bytes that may be taken to compare persons of several parts."""


class EachBeside(Protocol):
    """Calls a function with each number from 0 and what lies beside it, and gives what it returned,
    in their order.
    """

    def __call__(
        self, work: Callable[[int, Beside], T], tables: Iterable[Beside], /
    ) -> Iterable[T]: ...


def in_turn(work: Callable[[int, Beside], T], tables: Iterable[Beside]) -> Iterator[T]:
    """One after the other, here.

    Parameters
    ----------
    work : Callable[[int, Beside], T]
        What is called.
    tables : Iterable[Beside]
        What lies beside each number.

    Returns
    -------
    Iterator[T]
        What it gave.
    """
    return (work(number, beside) for number, beside in enumerate(tables))


def persons_and_parts(twice: int, persons: int) -> Verdict:
    """The verdict on whether persons stay in their parts.

    Parameters
    ----------
    twice : int
        How many persons are in a further part.
    persons : int
        How many are in any, counted in each of theirs.

    Returns
    -------
    Verdict
        It holds where there is none.
    """
    note = (
        f"{twice} person(s) are in more than one part, and each part was checked by itself"
        if twice
        else f"{persons} person(s), each in one part of all releases"
    )
    return Verdict(name=NAME, bound=0, worst=twice, holds=not twice, note=note)


@dataclass(frozen=True)
class _Place:
    """Where one part of the series is in one of its releases."""

    release: Release
    at: int
    part: int
    known: Mapping[int, pl.DataFrame] | None
    """Who is in which group of the release, by part; None where it is not known."""

    def groups(self) -> pl.DataFrame | None:
        """Who is in which of the part's groups, as they are numbered in the release."""
        return None if self.known is None else self.known[self.part]


def followed_in_parts(
    guarantee: Guarantee,
    series: Sequence[Release],
    evidence: Evidence,
    unfit: Callable[[Guarantee, Release], list[Verdict]],
    each: EachBeside = in_turn,
) -> Mapping[int, list[Verdict]]:
    """What is found of each release of a series, of which all are in parts.

    Parameters
    ----------
    guarantee : Guarantee
        The promise, which is about every person by themselves.
    series : Sequence[Release]
        The releases, in order.
    evidence : Evidence
        Who is in which group of which part, where that is known.
    unfit : Callable[[Guarantee, Release], list[Verdict]]
        Why the promise does not hold of a release of this form, whatever is in it; nothing where
        it may.
    each : EachBeside, optional
        Looks at the parts: here, or where it may.

    Returns
    -------
    Mapping[int, list[Verdict]]
        The verdicts by the number of the release.
    """
    strange = [r.number for r in series if not _is_of(r, evidence)]
    if strange:
        note = f"the parts that are recorded of release(s) {strange} are not those it has"
        wrong = Verdict(name=NAME, bound=0, worst=len(strange), holds=False, note=note)
        return {release.number: [wrong] for release in series}
    of_parts: dict[Any, list[_Place]] = {}
    for release in series:
        known = evidence.parted.get(release.number)
        for at in range(len(release.manifest.parts)):
            part = at if known is None else list(known)[at]
            key = (release.number, at) if known is None else part
            of_parts.setdefault(key, []).append(_Place(release, at, part, known))
    worst = {release.number: Worst() for release in series}
    rows, seen = sum(release.manifest.rows for release in series), 0
    with Repeated(rows, _ROOM) as repeated:

        def all_parts() -> Iterator[Beside]:
            nonlocal seen
            for places in of_parts.values():
                groups = [place.groups() for place in places]
                if persons := [mapping["person"] for mapping in groups if mapping is not None]:
                    distinct = pl.concat(persons).unique()
                    repeated.see(distinct)
                    seen += len(distinct)
                yield groups

        files = [
            [(place.release.path, place.release.manifest, place.at) for place in places]
            for places in of_parts.values()
        ]
        looked = each(partial(_looked, guarantee, files, unfit), all_parts())
        for places, checked in zip(of_parts.values(), looked, strict=True):
            for place, verdicts in zip(places, checked, strict=True):
                worst[place.release.number].add(verdicts, place.at)
        of_release = {r.number: worst[r.number].verdicts(len(r.manifest.parts)) for r in series}
        if evidence.parted:
            of_release[series[-1].number].append(persons_and_parts(repeated.twice(), seen))
    return of_release


def _looked(
    guarantee: Guarantee,
    files: Sequence[Sequence[tuple[Path, Manifest, int]]],
    unfit: Callable[[Guarantee, Release], list[Verdict]],
    number: int,
    groups: Beside,
) -> list[list[Verdict]]:
    """What is found of the part of this number, whose files are read where this runs."""
    parts = [Part.read_part(path, manifest, at) for path, manifest, at in files[number]]
    return _of_part(guarantee, parts, groups, unfit)


def _of_part(
    guarantee: Guarantee,
    parts: Sequence[Part],
    groups: Beside,
    unfit: Callable[[Guarantee, Release], list[Verdict]],
) -> list[list[Verdict]]:
    """What is found of one part in each release that it has rows in."""
    wrong = [unfit(guarantee, part) for part in parts]
    if any(wrong):
        return wrong
    beside = Evidence(
        groups={
            part.number: mapping.with_columns(pl.col("group") - part.before)
            for part, mapping in zip(parts, groups, strict=True)
            if mapping is not None
        }
    )
    if len(parts) > 1 and isinstance(guarantee, Followed):
        return list(guarantee.check_each(parts, beside))
    return [guarantee.check(part, parts[:at], beside) for at, part in enumerate(parts)]


def _is_of(release: Release, evidence: Evidence) -> bool:
    """Whether as many parts are recorded of a release as it has, where any are."""
    known = evidence.parted.get(release.number)
    return known is None or len(known) == len(release.manifest.parts)
