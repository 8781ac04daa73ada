"""What the ledger says in plain: names, counts, digests, dates. Nothing here is about a person."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ReleaseEntry:
    """One release of a series."""

    number: int
    """Its place in the series, from 1."""
    folder: str
    """Where the release folder is."""
    staging: str
    """Where it was written before its rename into place; an interrupted publisher finds it there."""
    digest: str
    """SHA-256 of its manifest."""
    summary: Mapping[str, Any]
    """Counts that JSON can hold: rows, groups, counterfeits, suppressed, held_back by reason, checks. Never a value of a person."""


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
