# SPDX-License-Identifier: Apache-2.0
"""What the ledger says in plain: names, counts, digests, dates. Nothing here is about a person."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


def today() -> str:
    """The day, as 2026-01-31."""
    return datetime.now(UTC).date().isoformat()


@dataclass(frozen=True, kw_only=True)
class ReleaseEntry:
    """One release of a series."""

    number: int
    """Its place in the series, from 1."""
    folder: str
    """Where the release folder is."""
    staging: str
    """Where it was written before its rename into place; an interrupted publisher finds it
    there.
    """
    digest: str
    """SHA-256 of its manifest."""
    summary: Mapping[str, Any]
    """Counts that JSON can hold: rows, groups, counterfeits, suppressed, suppressed_rows by reason,
    checks; and figures of the published tables that later reports show. Never a value of a person.
    """
    day: str = field(default_factory=today)
    """The day on which it was published, as 2026-01-31."""


@dataclass(frozen=True, kw_only=True)
class SeriesEntry:
    """One series of the ledger."""

    name: str
    promise: Mapping[str, Any]
    """What every release of it promises."""
    created: str
    """The day on which it began, as 2026-01-31."""
    releases: int
    """How many releases it has."""
    moved: bool = False
    """Whether it was moved to another ledger and goes on there."""


@dataclass(frozen=True, kw_only=True)
class SeriesFile:
    """A series in a file, on its way to another ledger."""

    series: str
    """Its name."""
    releases: int
    """How many releases it has."""
    folders: Sequence[str]
    """Where its release folders are, by number, as the ledger that it is in or comes to has
    them.
    """
    file: Path
    """The sealed file."""
    key: Path
    """The file of its key."""
    copy: bool
    """Whether the series goes on where it came from."""
    reconcile: bool = False
    """Whether the ledger that it came to refuses to publish it before ``series reconcile``."""

    def to_json(self) -> dict[str, Any]:
        """Stable keys: series, releases, folders, file, key, copy, reconcile."""
        return asdict(self) | {
            "folders": list(self.folders),
            "file": str(self.file),
            "key": str(self.key),
        }


@dataclass(frozen=True, kw_only=True)
class Reconciliation:
    """A steward's word on what was published, because the ledger or its mark did not know; recorded
    with the release that was then the last.
    """

    number: int
    """The release with which it is recorded."""
    day: str
    """The day on which it was given, as 2026-01-31."""
    entered: Sequence[int]
    """The releases that were entered again, from their folders."""
    forgotten: bool
    """Whether what these releases must have remembered is lost, so that the series
    cannot go on.
    """

    def to_json(self) -> dict[str, Any]:
        """Stable keys: number, day, entered, forgotten."""
        return asdict(self) | {"entered": list(self.entered)}
