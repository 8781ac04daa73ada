"""The ledger: series, their releases, and the sealed memory of persons, committed one release at a time."""

import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Self

import polars as pl

from phalanx.data.persons import PersonKey
from phalanx.errors import LedgerError
from phalanx.ledger.entries import ReleaseEntry, SeriesEntry
from phalanx.ledger.keys import Keyring
from phalanx.ledger.postgresql import Postgresql
from phalanx.ledger.sealing import pack, pack_groups, seal, unpack, unpack_groups, unseal
from phalanx.ledger.sqlite import Sqlite
from phalanx.ledger.store import Store, table_definitions

_FORMAT: Final = b"phalanx-ledger-1"
_CHECK: Final = b"this is the key"
_GROUPS: Final = "groups"
_MEMORY: Final = "memory/"
_CARRIED: Final = "carried/"
_ENTRIES: Final = """
    SELECT r.number, s.promise, r.folder, r.staging, r.digest, r.summary, r.authentic, coalesce(g.name, '')
    FROM releases r JOIN series s ON s.name = r.series LEFT JOIN segments g ON g.series = r.series AND g.number = r.number
    WHERE r.series = $1 ORDER BY r.number"""


class Ledger:
    """The private record of series: a release is in it completely or not at all, and nobody reads persons in it without the key.

    In plain stand names, counts, dates and digests. Everything about persons (memory, groups) is sealed with AES-256-GCM
    under a key of its series and bound to series, release and segment name; the plain entry of a release is authenticated
    together with the names of its segments. So a changed, swapped, added or removed segment or entry is a LedgerError; an
    older copy of the whole ledger is not recognised here, but by the release folders, which name their predecessors.

    A ledger is used by one thread at a time, and as a context manager:

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger.open(f"sqlite:///{folder.name}/ledger.db") as ledger:
    ...     entry = ReleaseEntry(number=1, folder="r1", staging=".r1", digest="00", summary={"rows": 2})
    ...     ledger.commit("visits", entry, promise={"m": 2}, remember={}, groups=None)
    ...     [(s.name, s.releases) for s in ledger.series()]
    [('visits', 1)]
    >>> folder.cleanup()
    """

    def __init__(self, store: Store, keys: Keyring) -> None:
        self._store = store
        self._keys = keys

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> "Ledger":
        """Open the ledger of a url (``sqlite:///file.db`` or ``postgresql://host/database``), or create it and its key file.

        LedgerError where it cannot be opened or made, is something else, or the key is missing, wrong or not private.
        """
        store = _store(url, create=create)
        try:
            tables = store.tables()
            if "meta" in tables:
                keys = Keyring.load(store.key_file)
            elif tables:
                raise LedgerError(f"{store.where} is a database and not a ledger; name another {store.kind}.")
            elif not create:
                raise LedgerError(f"there is no ledger at {store.where} (the {store.kind} is empty); 'publish' makes one, so check the name.")
            else:
                keys = Keyring.create(store.key_file)
                _begin(store, keys)
            _recognise(store, keys)
        except BaseException:
            store.close()
            raise
        return cls(store, keys)

    def person_key(self, series: str) -> PersonKey:
        """The key that turns identifiers into person keys; another one for each series, the same each time."""
        return self._keys.person(_name(series))

    def series(self) -> list[SeriesEntry]:
        """All series, by name."""
        rows = self._store.run("SELECT name, promise, created, (SELECT count(*) FROM releases WHERE releases.series = series.name) FROM series ORDER BY name")
        return [SeriesEntry(name=name, promise=json.loads(promise), created=created, releases=releases) for name, promise, created, releases in rows]

    def promise(self, series: str) -> Mapping[str, Any] | None:
        """What the series promises; None where it has not begun."""
        text = self._promise_text(series)
        return None if text is None else dict(json.loads(text))

    def releases(self, series: str) -> list[ReleaseEntry]:
        """The releases of a series in order, once commits under way are decided; LedgerError where an entry was changed by others than Phalanx."""
        self._store.settle(_name(series))
        return [entry for entry, _ in self._entries(series)]

    def remembered(self, series: str) -> dict[str, pl.DataFrame]:
        """The memory of a series: what its releases remembered, one table per name, in release order."""
        parts: dict[str, list[pl.DataFrame]] = {}
        for entry, segments in self._entries(series):
            for segment in segments:
                if segment.startswith(_MEMORY):
                    parts.setdefault(segment.removeprefix(_MEMORY), []).append(unpack(self._segment(series, entry.number, segment)))
        return {name: pl.concat(frames, how="vertical_relaxed") for name, frames in sorted(parts.items())}

    def carried(self, series: str) -> dict[str, pl.DataFrame]:
        """What the last release of a series carries on, one table per name; empty before the first."""
        number, segments = next(((entry.number, names) for entry, names in reversed(self._entries(series))), (0, []))
        return {name.removeprefix(_CARRIED): unpack(self._segment(series, number, name)) for name in segments if name.startswith(_CARRIED)}

    def groups(self, series: str, number: int) -> pl.DataFrame | None:
        """Which group each person was published in: (person Binary, group Int64), sorted by person; None where the release keeps none."""
        for entry, segments in self._entries(series):
            if entry.number == number and _GROUPS in segments:
                return unpack_groups(self._segment(series, number, _GROUPS))
        return None

    def commit(
        self,
        series: str,
        entry: ReleaseEntry,
        *,
        promise: Mapping[str, Any],
        remember: Mapping[str, pl.DataFrame],
        groups: pl.DataFrame | None,
        carry: Mapping[str, pl.DataFrame] | None = None,
    ) -> None:
        """Record a release and what it remembers, in one transaction: afterwards all of it is in the ledger, or, with an error, nothing.

        LedgerError where the release is not the next of its series (somebody else was faster), the promise is not the
        series' own, or the ledger cannot be written.
        """
        carry = carry or {}
        _check_names(_name(series), [*remember, *carry])
        tables = {_MEMORY + name: pack(frame) for name, frame in remember.items()} | {_CARRIED + name: pack(frame) for name, frame in carry.items()}
        if groups is not None:
            tables[_GROUPS] = pack_groups(groups)
        key = self._keys.sealing(series)
        sealed = {segment: seal(key, content, series, entry.number, segment) for segment, content in sorted(tables.items())}
        said = _canonical(promise)
        summary = _canonical(entry.summary)
        authentic = self._authenticate(series, said, entry, summary, list(sealed))
        with self._store.transaction(series):
            self._check_next(series, entry.number)
            if entry.number > 1:
                self._drop_carried(series, entry.number - 1)
            own = self._promise_text(series)
            if own is None:
                self._store.run("INSERT INTO series (name, promise, created) VALUES ($1, $2, $3)", series, said, datetime.now(UTC).date().isoformat())
            elif own != said:
                raise LedgerError(f"series {series!r} promises something else than this release, and keeps its promise; give the plan another series name.")
            self._store.run(
                "INSERT INTO releases (series, number, folder, staging, digest, summary, authentic) VALUES ($1, $2, $3, $4, $5, $6, $7)",
                *(series, entry.number, entry.folder, entry.staging, entry.digest, summary, authentic),
            )
            for segment, blob in sealed.items():
                self._store.run("INSERT INTO segments (series, number, name, sealed) VALUES ($1, $2, $3, $4)", series, entry.number, segment, blob)

    def _drop_carried(self, series: str, number: int) -> None:
        """Remove what a release carries, which the next one replaces, and authenticate its entry anew."""
        entry, segments = self._entries(series)[number - 1]
        replaced = [name for name in segments if name.startswith(_CARRIED)]
        for name in replaced:
            self._store.run("DELETE FROM segments WHERE series = $1 AND number = $2 AND name = $3", series, number, name)
        if replaced:
            left = [name for name in segments if name not in replaced]
            authentic = self._authenticate(series, self._promise_text(series) or "", entry, _canonical(entry.summary), left)
            self._store.run("UPDATE releases SET authentic = $1 WHERE series = $2 AND number = $3", authentic, series, number)

    def close(self) -> None:
        """Close the ledger."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._store.where!r})"

    def _promise_text(self, series: str) -> str | None:
        rows = self._store.run("SELECT promise FROM series WHERE name = $1", _name(series))
        return str(rows[0][0]) if rows else None

    def _entries(self, series: str) -> list[tuple[ReleaseEntry, list[str]]]:
        """Every release with the names of its segments, each authenticated."""
        rows = self._store.run(_ENTRIES, _name(series))  # one statement, so that a commit meanwhile is seen wholly or not at all
        said: dict[tuple[Any, ...], list[str]] = {}
        for *entry_of, segment in rows:
            said.setdefault(tuple(entry_of), []).extend([segment] if segment else [])
        entries: list[tuple[ReleaseEntry, list[str]]] = []
        for expected, ((number, promise, folder, staging, digest, summary, authentic), segments) in enumerate(said.items(), start=1):
            names = sorted(segments)
            try:
                entry = ReleaseEntry(number=number, folder=folder, staging=staging, digest=digest, summary=json.loads(summary))
            except ValueError:
                raise self._changed(series, expected) from None
            mine = self._authenticate(series, promise, entry, summary, names)
            if number != expected or not hmac.compare_digest(mine, authentic):
                raise self._changed(series, expected)
            entries.append((entry, names))
        return entries

    def _segment(self, series: str, number: int, name: str) -> bytes:
        rows = self._store.run("SELECT sealed FROM segments WHERE series = $1 AND number = $2 AND name = $3", series, number, name)
        content = unseal(self._keys.sealing(series), rows[0][0], series, number, name) if rows else None
        if content is None:
            raise self._changed(series, number)
        return content

    def _authenticate(self, series: str, promise: str, entry: ReleaseEntry, summary: str, segments: list[str]) -> bytes:
        said = [series, promise, entry.number, entry.folder, entry.staging, entry.digest, summary, segments]
        return self._keys.authenticate(series, json.dumps(said).encode())

    def _changed(self, series: str, number: int) -> LedgerError:
        return LedgerError(
            f"the ledger {self._store.where} was changed by others than Phalanx at release {number} of series {series!r}; put back a copy of it that is whole."
        )

    def _check_next(self, series: str, number: int) -> None:
        last = int(self._store.run("SELECT coalesce(max(number), 0) FROM releases WHERE series = $1", series)[0][0])
        if number <= last:
            raise LedgerError(f"release {number} of series {series!r} was published by somebody else meanwhile; publish again to make release {last + 1}.")
        if number != last + 1:
            raise LedgerError(f"release {number} of series {series!r} cannot follow release {last}; publish again to make release {last + 1}.")


def _store(url: str, *, create: bool) -> Store:
    scheme, colon, _ = url.partition(":")
    if colon and scheme == "sqlite":
        return Sqlite.open(url, create=create)
    if scheme in ("postgresql", "postgres"):
        return Postgresql.open(url)
    raise LedgerError(f"a ledger url starts with sqlite:/// or postgresql://, and this one does not; write sqlite:///{'ledger.db' if colon else url}.")


def _begin(store: Store, keys: Keyring) -> None:
    """Make the tables, unless another process made them while we waited for the lock."""
    with store.transaction():
        if "meta" in store.tables():
            return
        for definition in table_definitions(store):
            store.run(definition)
        store.run("INSERT INTO meta (name, value) VALUES ($1, $2)", "format", _FORMAT)
        store.run("INSERT INTO meta (name, value) VALUES ($1, $2)", "check", seal(keys.check(), _CHECK, "check"))


def _recognise(store: Store, keys: Keyring) -> None:
    meta = dict(store.run("SELECT name, value FROM meta")) if store.tables() >= {"meta", "series", "releases", "segments"} else {}
    if meta.get("format") != _FORMAT:
        raise LedgerError(f"{store.where} is not a ledger of this version of Phalanx; use the version that made it, or name another {store.kind}.")
    if unseal(keys.check(), meta.get("check", b""), "check") != _CHECK:
        raise LedgerError(f"{keys.origin} does not hold the key of the ledger {store.where}; put the right key back.")


def _canonical(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, allow_nan=False)


def _name(series: str) -> str:
    if not series or not _fits(series):
        raise LedgerError("a series needs a name that is text (not empty, no NUL); change it in the plan.")
    return series


def _check_names(series: str, remember: Sequence[str]) -> None:
    if unfit := [name for name in remember if not name or not _fits(name)]:
        raise ValueError(f"series {series!r}: {unfit[0]!r} cannot name a table of a memory")


def _fits(text: str) -> bool:
    """Whether every database can hold the text."""
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)
