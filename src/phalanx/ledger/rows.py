# SPDX-License-Identifier: Apache-2.0
"""The rows of a ledger: every entry authenticated, every segment sealed, and how many there are,
other users may write into the database.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np

from phalanx.data.persons import PersonKey
from phalanx.errors import LedgerError, kind_of
from phalanx.ledger.entries import ReleaseEntry
from phalanx.ledger.keys import Keyring
from phalanx.ledger.marks import Mark, Marked, check_not_older
from phalanx.ledger.sealing import parts, seal, unseal
from phalanx.ledger.store import Store

PERSON: Final = "person"
"""The segment with the first release of a series that came from another ledger, or from before the
key was changed: its person key, which is not the one that this ledger would derive.
"""
MOVED: Final = "moved"
"""The segment with the last release of a series that was moved to another ledger: the day."""
RECONCILED: Final = "reconciled"
"""The segment with a release at which a steward said what was published: what was said."""
CHECK: Final = b"this is the key"
_HEAD: Final = "head"
_ENTRIES: Final = """
    SELECT s.promise, s.head, r.number, r.folder, r.staging, r.digest, r.day, r.summary,
           r.authentic, coalesce(g.name, '')
    FROM series s LEFT JOIN releases r ON r.series = s.name
    LEFT JOIN segments g ON g.series = r.series AND g.number = r.number
    WHERE s.name = $1 ORDER BY r.number"""
_TYPES: Final = (int, str, str, str, str, str, bytes)
Entries = Sequence[tuple[ReleaseEntry, Sequence[str]]]
"""The releases of a series in order, each with the names of its segments, sorted."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """How far a series is: it only ever grows, and is sealed, so that no entry is missing at the
    end unnoticed.
    """

    releases: int
    chain: str
    """A hash over the promise and the digests of all releases, each over the one before."""
    moves: int
    """How often the series left this ledger or came back to it."""

    @classmethod
    def of(cls, promise: str, digests: Sequence[str], moves: int) -> "Head":
        """The head of a series with these releases."""
        chain = hashlib.sha256(promise.encode()).hexdigest()
        for number, digest in enumerate(digests, start=1):
            chain = hashlib.sha256(json.dumps([chain, number, digest]).encode()).hexdigest()
        return cls(releases=len(digests), chain=chain, moves=moves)


class Rows:
    """What stands in a ledger about one series or another, read and written row by row; the caller
    holds rows together by a transaction.
    """

    def __init__(self, store: Store, keys: Keyring) -> None:
        self.store = store
        self.keys = keys
        self.mark = Mark.beside(store.key_file)

    def entries(self, series: str) -> Entries:
        """Every release; LedgerError where one was changed by others than Phalanx, or more were
        published than are here.
        """
        return self.known(series)[0]

    def known(self, series: str, *, stale: bool = False) -> tuple[Entries, Marked]:
        """The same, and what the mark would have to say; with ``stale`` it is no error that the
        newest ones are missing.
        """
        # before the ledger, which another process may bring further meanwhile, and its mark after it
        marked = Marked() if stale else self.mark.read().get(series, Marked())
        entries, head = self._read(series)
        recorded = Marked.of([entry for entry, _ in entries], head.moves)
        if not stale:
            check_not_older(self.store.where, series, self.mark, marked, recorded)
            if head.releases > len(entries):
                raise self._removed(series, head.releases, len(entries))
        return entries, recorded

    def recorded(self, series: str) -> int:
        """How many releases were recorded, which may be more than are still here."""
        return self._read(series)[1].releases

    def promise(self, series: str) -> str | None:
        """What a series promises, as JSON; None where it has not begun."""
        rows = self.store.run("SELECT promise FROM series WHERE name = $1", named(series))
        if rows and not _is_json(rows[0][0]):
            raise self.changed(series, 1)
        return str(rows[0][0]) if rows else None

    def table(
        self, series: str, entry: ReleaseEntry, segments: Sequence[str], name: str
    ) -> bytes | memoryview:
        """The content of a table of a release, whose entry names these segments, one of which is in
        memory beside it at a time.
        """
        named, *further = parts(name, segments)
        first = self.segment(series, entry, named)
        if not further:
            return first
        table = np.empty(len(first) * (1 + len(further)), dtype=np.uint8).data
        at = 0
        for piece in chain([first], (self.segment(series, entry, part) for part in further)):
            table[at : at + len(piece)] = piece
            at += len(piece)
        return table[:at]

    def segment(self, series: str, entry: ReleaseEntry, name: str) -> bytes:
        """The content of a segment; LedgerError where it was changed by others than Phalanx, or
        stems from another release than the entry's.
        """
        rows = self.store.run(
            "SELECT sealed FROM segments WHERE series = $1 AND number = $2 AND name = $3",
            series,
            entry.number,
            name,
        )
        sealed = rows[0][0] if rows else None
        content = (
            unseal(self.keys.sealing(series), sealed, series, entry.number, entry.digest, name)
            if isinstance(sealed, bytes)
            else None
        )
        if content is None:
            raise self.changed(series, entry.number)
        return content

    def person_key(self, series: str, entries: Entries) -> PersonKey:
        """The key that a series brought along, else the one that is derived from the ledger's."""
        brought = any(PERSON in names for _, names in entries[:1])
        return (
            PersonKey(self.segment(series, entries[0][0], PERSON))
            if brought
            else self.keys.person(series)
        )

    def moved(self, series: str, entries: Entries) -> str | None:
        """The day on which a series was moved to another ledger; None where it goes on here."""
        moved = next((entry for entry, names in entries[-1:] if MOVED in names), None)
        return None if moved is None else self.segment(series, moved, MOVED).decode()

    def check_key(self) -> None:
        """LedgerError where the key was changed since this ledger was opened; it is not, until the
        transaction ends.
        """
        self.store.settle("")
        if not is_key(self.store, self.keys):
            raise self._key_changed()

    def insert_series(self, series: str, promise: str, created: str, head: Head) -> None:
        """Begin a series."""
        self.store.run(
            "INSERT INTO series (name, promise, created, head) VALUES ($1, $2, $3, $4)",
            series,
            promise,
            created,
            self._head(series, head),
        )

    def set_head(self, series: str, head: Head) -> None:
        """Say how far a series is."""
        self.store.run(
            "UPDATE series SET head = $1 WHERE name = $2", self._head(series, head), series
        )

    def insert_release(
        self, series: str, promise: str, entry: ReleaseEntry, segments: Sequence[str]
    ) -> None:
        """Record a release; its segments, which its entry names, come after it."""
        summary = canonical(entry.summary)
        authentic = self._authenticate(series, promise, entry, summary, segments)
        self.store.run(
            "INSERT INTO releases (series, number, folder, staging, digest, day, summary,"
            " authentic) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            *(
                series,
                entry.number,
                entry.folder,
                entry.staging,
                entry.digest,
                entry.day,
                summary,
                authentic,
            ),
        )

    def seal(
        self, content: bytes | memoryview, series: str, entry: ReleaseEntry, name: str
    ) -> bytes:
        """A segment as it is stored, bound to the release that it stems from."""
        return seal(self.keys.sealing(series), content, series, entry.number, entry.digest, name)

    def insert_segment(self, series: str, number: int, name: str, sealed: bytes) -> None:
        """Store a segment that was sealed."""
        self.store.run(
            "INSERT INTO segments (series, number, name, sealed) VALUES ($1, $2, $3, $4)",
            series,
            number,
            name,
            sealed,
        )

    def delete_segment(self, series: str, number: int, name: str) -> None:
        """Remove a segment; the entry of its release has to be authenticated anew."""
        self.store.run(
            "DELETE FROM segments WHERE series = $1 AND number = $2 AND name = $3",
            series,
            number,
            name,
        )

    def delete_series(self, series: str) -> None:
        """Remove a series."""
        self.store.run("DELETE FROM segments WHERE series = $1", series)
        self.store.run("DELETE FROM releases WHERE series = $1", series)
        self.store.run("DELETE FROM series WHERE name = $1", series)

    def authenticate_anew(self, series: str, entry: ReleaseEntry, segments: Sequence[str]) -> None:
        """Bind a recorded release to the segments that it has now."""
        self.authenticate(series, self.promise(series) or "", entry, segments)

    def authenticate(
        self, series: str, promise: str, entry: ReleaseEntry, segments: Sequence[str]
    ) -> None:
        """The same, of a series whose promise is at hand."""
        summary = canonical(entry.summary)
        authentic = self._authenticate(series, promise, entry, summary, segments)
        self.store.run(
            "UPDATE releases SET authentic = $1 WHERE series = $2 AND number = $3",
            authentic,
            series,
            entry.number,
        )

    def changed(self, series: str, number: int) -> LedgerError:
        """What to say where something about a release is not as Phalanx wrote it, or was written
        under another key than ours.
        """
        if not is_key(self.store, self.keys):
            return self._key_changed()
        return LedgerError(
            f"the ledger {self.store.where} was changed by others than Phalanx at release {number}"
            f" of series {series!r}; put back a copy of it that is whole."
        )

    def _read(self, series: str) -> tuple[list[tuple[ReleaseEntry, list[str]]], Head]:
        """The releases from the first one on, each as it was recorded, and the head, which may say
        that there were more.
        """
        rows = self.store.run(
            _ENTRIES, named(series)
        )  # one statement, so that a commit meanwhile is seen wholly or not at all
        if not rows:
            return [], Head.of("", [], 0)
        promise, sealed = rows[0][:2]
        names: dict[tuple[Any, ...], list[str]] = {}
        for row in rows:
            if row[2] is not None:
                names.setdefault(tuple(row[2:-1]), []).extend([row[-1]] if row[-1] else [])
        entries: list[tuple[ReleaseEntry, list[str]]] = []
        for expected, (columns, segments) in enumerate(names.items(), start=1):
            entry = self._entry(series, promise, columns, segments)
            if entry is None or entry.number != expected:
                raise self.changed(series, expected)
            entries.append((entry, sorted(segments)))
        head = self._head_of(series, sealed)
        digests = [entry.digest for entry, _ in entries]
        if (
            head is None
            or head.releases < len(entries)
            or (head.releases == len(entries) and head != Head.of(promise, digests, head.moves))
        ):
            raise self.changed(series, max(1, len(entries)))
        return entries, head

    def _entry(
        self, series: str, promise: str, columns: Sequence[Any], segments: Sequence[str]
    ) -> ReleaseEntry | None:
        """An entry from its columns; None where it is not as it was recorded, whatever a damaged
        database gives for it.
        """
        if not all(
            isinstance(value, kind)
            for value, kind in zip(
                (promise, *segments, *columns),
                (str, *(str for _ in segments), *_TYPES),
                strict=True,
            )
        ):
            return None
        number, folder, staging, digest, day, summary, authentic = columns
        if not _is_json(summary):
            return None
        entry = ReleaseEntry(
            number=number,
            folder=folder,
            staging=staging,
            digest=digest,
            summary=json.loads(summary),
            day=day,
        )
        mine = self._authenticate(series, promise, entry, summary, segments)
        return entry if hmac.compare_digest(mine, authentic) else None

    def _head(self, series: str, head: Head) -> bytes:
        return seal(
            self.keys.sealing(series),
            json.dumps([head.releases, head.chain, head.moves]).encode(),
            series,
            0,
            _HEAD,
        )

    def _head_of(self, series: str, sealed: object) -> Head | None:
        content = (
            unseal(self.keys.sealing(series), sealed, series, 0, _HEAD)
            if isinstance(sealed, bytes)
            else None
        )
        if content is None:
            return None
        releases, chain, moves = json.loads(content)
        return Head(releases=releases, chain=chain, moves=moves)

    def _key_changed(self) -> LedgerError:
        return LedgerError(
            f"the key of the ledger {self.store.where} was changed meanwhile; nothing was recorded,"
            " so try again."
        )

    def _removed(self, series: str, recorded: int, here: int) -> LedgerError:
        return LedgerError(
            f"the ledger {self.store.where} was changed by others than Phalanx at release"
            f" {here + 1} of series {series!r}: of {recorded} it has {here}. Put it back, or use"
            " 'phalanx series reconcile'."
        )

    def _authenticate(
        self, series: str, promise: str, entry: ReleaseEntry, summary: str, segments: Sequence[str]
    ) -> bytes:
        record = [
            series,
            promise,
            entry.number,
            entry.folder,
            entry.staging,
            entry.digest,
            entry.day,
            summary,
            sorted(segments),
        ]
        return self.keys.authenticate(series, json.dumps(record).encode())


def is_key(store: Store, keys: Keyring) -> bool:
    """Whether the keys are those of a ledger."""
    rows = store.run("SELECT value FROM meta WHERE name = $1", "check")
    return (
        bool(rows)
        and isinstance(rows[0][0], bytes)
        and unseal(keys.check(), rows[0][0], "check") == CHECK
    )


def canonical(content: Mapping[str, Any]) -> str:
    """JSON that is the same text for the same content."""
    return json.dumps(content, sort_keys=True, allow_nan=False)


def named(series: str) -> str:
    """The name of a series; LedgerError where it is none, or some database could not hold it."""
    if not isinstance(series, str):
        raise LedgerError(f"the name of the series is {kind_of(series)}; give a text.")
    if not series or not fits(series):
        raise LedgerError(
            "a series needs a name that is text (not empty, no NUL); change it in the plan."
        )
    return series


def fits(text: str) -> bool:
    """Whether every database can hold the text."""
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)


def _is_json(text: object) -> bool:
    """Whether this is the JSON of an object."""
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def gone(series: str, day: str) -> LedgerError:
    """What to say of a series that was moved."""
    return LedgerError(
        f"series {series!r} was moved to another ledger on {day} and goes on there; name that"
        " ledger, or import the series back into this one."
    )
