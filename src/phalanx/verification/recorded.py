# SPDX-License-Identifier: Apache-2.0
"""What a ledger recorded of releases: whether the folders are those, and who is in which group, read
as it is asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import polars as pl

from phalanx.data.sources.available_memory import memory_left
from phalanx.errors import LedgerError
from phalanx.guarantees.base import Verdict
from phalanx.ledger import Ledger
from phalanx.ledger.rows import Entries
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.room import Room

_PARTS: Final = 16
"""Of the memory that is left, such a part may be kept of what was read of releases, and as much of
who is in which group.
"""


@dataclass(frozen=True)
class _Known:
    """The ledger of a series, as of one moment."""

    url: str
    series: str
    entries: Entries

    def groups(self, number: int, part: int | None = None) -> pl.DataFrame:
        """Who is in which group of a release, or of one of its parts; KeyError where it is not
        known.
        """
        with Ledger.open(self.url, create=False) as ledger:
            mapping = ledger.recall(self.series, self.entries).groups(number, part)
        if mapping is None:
            raise KeyError(number)
        return mapping


@dataclass(frozen=True)
class _OfParts(Mapping[int, pl.DataFrame]):
    """Who is in which group of each part of a release, read as it is asked for."""

    known: _Known
    number: int
    parts: Sequence[int]

    def __getitem__(self, part: int) -> pl.DataFrame:
        return self.known.groups(self.number, part)

    def __iter__(self) -> Iterator[int]:
        return iter(self.parts)

    def __len__(self) -> int:
        return len(self.parts)


@dataclass(frozen=True)
class _OfReleases(Mapping[int, pl.DataFrame]):
    """Who is in which group of each release, read as it is asked for, and kept as long as there is
    room.
    """

    known: _Known
    numbers: Sequence[int]
    room: Room[pl.DataFrame]

    def __getitem__(self, number: int) -> pl.DataFrame:
        if number not in self.numbers:
            raise KeyError(number)
        return self.room.get(number, partial(self.known.groups, number))

    def __contains__(self, number: object) -> bool:
        return number in self.numbers  # which reads nothing

    def __iter__(self) -> Iterator[int]:
        return iter(self.numbers)

    def __len__(self) -> int:
        return len(self.numbers)


def _size(mapping: pl.DataFrame) -> int:
    return int(mapping.estimated_size())


def share() -> float:
    """So many bytes of what was read of releases, or of who is in which group, are kept."""
    return memory_left() / _PARTS


def of_ledger(
    releases: Sequence[Release], ledger: Ledger, url: str | None
) -> tuple[list[Verdict], Evidence]:
    """Whether the folders are those that the ledger recorded, and what it knows beside them; with
    its ``url`` that of parts is read later. LedgerError where it, or what it remembers of these
    releases, was changed by others than Phalanx.
    """
    series = releases[0].manifest.series
    entries = {entry.number: entry for entry in ledger.releases(series)}
    if not entries:
        raise LedgerError(
            f"the ledger knows no series {series!r}; use the ledger that it was published with."
        )
    verdicts = []
    parted: dict[int, Mapping[int, pl.DataFrame]] = {}
    recall = ledger.recall(series)
    recall.check({release.number for release in releases})
    of_parts, known = recall.parts(), _Known(url or "", series, recall.entries)
    whole = [
        release.number for release in releases if url is None or not of_parts.get(release.number)
    ]
    for release in releases:
        entry = entries.get(release.number)
        same = entry is not None and entry.digest == release.digest
        verdicts.append(
            Verdict(
                name=f"release {release.number}: recorded in the ledger",
                bound=entry.digest if entry else "a record",
                worst=release.digest,
                holds=same,
                note=f"the manifest is {'' if same else 'not '}the one that the ledger recorded",
            )
        )
        if release.number not in whole:
            parted[release.number] = _OfParts(known, release.number, of_parts[release.number])
    mapped = [number for number in recall.mapped() if number in whole]
    groups: Mapping[int, pl.DataFrame]
    if url is None:
        read = {number: recall.groups(number) for number in whole}
        groups = {number: mapping for number, mapping in read.items() if mapping is not None}
    else:
        groups = _OfReleases(known, mapped, Room(share(), _size))
    parts: dict[int, object] = {}
    drawn = {release.number: release.form_type.drawn_from for release in releases}
    if any(drawn.values()):
        remembered = recall.remembered()
        parts = {
            number: drawn_from.of_frames(remembered, number)
            for number, drawn_from in drawn.items()
            if drawn_from is not None
        }
    return verdicts, Evidence(groups=groups, parts=parts, parted=parted)
