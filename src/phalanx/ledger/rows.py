"""The rows of a ledger: every entry authenticated, every segment sealed, whoever else may write into the database."""

import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from phalanx.data.persons import PersonKey
from phalanx.errors import LedgerError
from phalanx.ledger.entries import ReleaseEntry
from phalanx.ledger.keys import Keyring
from phalanx.ledger.sealing import seal, unseal
from phalanx.ledger.store import Store

PERSON: Final = "person"
"""The segment with the first release of a series that came from another ledger: its person key, which is not the one that this ledger would derive."""
MOVED: Final = "moved"
"""The segment with the last release of a series that was moved to another ledger: the day."""
_ENTRIES: Final = """
    SELECT r.number, s.promise, r.folder, r.staging, r.digest, r.summary, r.authentic, coalesce(g.name, '')
    FROM releases r JOIN series s ON s.name = r.series LEFT JOIN segments g ON g.series = r.series AND g.number = r.number
    WHERE r.series = $1 ORDER BY r.number"""
Entries = Sequence[tuple[ReleaseEntry, Sequence[str]]]
"""The releases of a series in order, each with the names of its segments, sorted."""


class Rows:
    """What stands in a ledger about one series or another, read and written row by row; whoever calls holds rows together by a transaction."""

    def __init__(self, store: Store, keys: Keyring) -> None:
        self.store = store
        self._keys = keys

    def entries(self, series: str) -> Entries:
        """Every release; LedgerError where one was changed by others than Phalanx."""
        rows = self.store.run(_ENTRIES, named(series))  # one statement, so that a commit meanwhile is seen wholly or not at all
        said: dict[tuple[Any, ...], list[str]] = {}
        for *entry_of, segment in rows:
            said.setdefault(tuple(entry_of), []).extend([segment] if segment else [])
        entries: list[tuple[ReleaseEntry, list[str]]] = []
        for expected, ((number, promise, folder, staging, digest, summary, authentic), segments) in enumerate(said.items(), start=1):
            try:
                entry = ReleaseEntry(number=number, folder=folder, staging=staging, digest=digest, summary=json.loads(summary))
            except ValueError:
                raise self._changed(series, expected) from None
            mine = self._authenticate(series, promise, entry, summary, segments)
            if number != expected or not hmac.compare_digest(mine, authentic):
                raise self._changed(series, expected)
            entries.append((entry, sorted(segments)))
        return entries

    def promise(self, series: str) -> str | None:
        """What a series promises, as JSON; None where it has not begun."""
        rows = self.store.run("SELECT promise FROM series WHERE name = $1", named(series))
        return str(rows[0][0]) if rows else None

    def segment(self, series: str, number: int, name: str) -> bytes:
        """The content of a segment; LedgerError where it was changed by others than Phalanx."""
        rows = self.store.run("SELECT sealed FROM segments WHERE series = $1 AND number = $2 AND name = $3", series, number, name)
        content = unseal(self._keys.sealing(series), rows[0][0], series, number, name) if rows else None
        if content is None:
            raise self._changed(series, number)
        return content

    def person_key(self, series: str, entries: Entries) -> PersonKey:
        """The key that a series brought along, else the one that is derived from the ledger's."""
        brought = any(PERSON in names for _, names in entries[:1])
        return PersonKey(self.segment(series, 1, PERSON)) if brought else self._keys.person(series)

    def moved(self, series: str, entries: Entries) -> str | None:
        """The day on which a series was moved to another ledger; None where it goes on here."""
        moved = next((entry.number for entry, names in entries[-1:] if MOVED in names), None)
        return None if moved is None else self.segment(series, moved, MOVED).decode()

    def insert_series(self, series: str, promise: str, created: str) -> None:
        """Begin a series."""
        self.store.run("INSERT INTO series (name, promise, created) VALUES ($1, $2, $3)", series, promise, created)

    def insert_release(self, series: str, promise: str, entry: ReleaseEntry, segments: Sequence[str]) -> None:
        """Record a release; its segments, which its entry names, come after it."""
        summary = canonical(entry.summary)
        authentic = self._authenticate(series, promise, entry, summary, segments)
        self.store.run(
            "INSERT INTO releases (series, number, folder, staging, digest, summary, authentic) VALUES ($1, $2, $3, $4, $5, $6, $7)",
            *(series, entry.number, entry.folder, entry.staging, entry.digest, summary, authentic),
        )

    def seal(self, content: bytes, series: str, number: int, name: str) -> bytes:
        """A segment as it is stored."""
        return seal(self._keys.sealing(series), content, series, number, name)

    def insert_segment(self, series: str, number: int, name: str, sealed: bytes) -> None:
        """Store a segment that was sealed."""
        self.store.run("INSERT INTO segments (series, number, name, sealed) VALUES ($1, $2, $3, $4)", series, number, name, sealed)

    def delete_segment(self, series: str, number: int, name: str) -> None:
        """Remove a segment; the entry of its release has to be authenticated anew."""
        self.store.run("DELETE FROM segments WHERE series = $1 AND number = $2 AND name = $3", series, number, name)

    def delete_series(self, series: str) -> None:
        """Remove a series."""
        self.store.run("DELETE FROM segments WHERE series = $1", series)
        self.store.run("DELETE FROM releases WHERE series = $1", series)
        self.store.run("DELETE FROM series WHERE name = $1", series)

    def authenticate_anew(self, series: str, entry: ReleaseEntry, segments: Sequence[str]) -> None:
        """Bind a recorded release to the segments that it has now."""
        authentic = self._authenticate(series, self.promise(series) or "", entry, canonical(entry.summary), segments)
        self.store.run("UPDATE releases SET authentic = $1 WHERE series = $2 AND number = $3", authentic, series, entry.number)

    def _authenticate(self, series: str, promise: str, entry: ReleaseEntry, summary: str, segments: Sequence[str]) -> bytes:
        said = [series, promise, entry.number, entry.folder, entry.staging, entry.digest, summary, sorted(segments)]
        return self._keys.authenticate(series, json.dumps(said).encode())

    def _changed(self, series: str, number: int) -> LedgerError:
        return LedgerError(
            f"the ledger {self.store.where} was changed by others than Phalanx at release {number} of series {series!r}; put back a copy of it that is whole."
        )


def canonical(content: Mapping[str, Any]) -> str:
    """JSON that is the same text for the same content."""
    return json.dumps(content, sort_keys=True, allow_nan=False)


def today() -> str:
    """The day, as 2026-01-31."""
    return datetime.now(UTC).date().isoformat()


def named(series: str) -> str:
    """The name of a series; LedgerError where some database could not hold it."""
    if not series or not fits(series):
        raise LedgerError("a series needs a name that is text (not empty, no NUL); change it in the plan.")
    return series


def fits(text: str) -> bool:
    """Whether every database can hold the text."""
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)
