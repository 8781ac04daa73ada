# SPDX-License-Identifier: Apache-2.0
"""Moving a series from one ledger to another, through a file."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from phalanx.errors import LedgerError
from phalanx.ledger.entries import ReleaseEntry, SeriesFile, today
from phalanx.ledger.keys import flush_folder
from phalanx.ledger.marks import Marked, check_marked
from phalanx.ledger.reconciling import reconciliations
from phalanx.ledger.rows import MOVED, PERSON, Head, Rows, named
from phalanx.ledger.transfer import Contents, Incoming, Outgoing, key_beside
from phalanx.randomness import Randomness

_UNNAMED: Final = ".phalanx-backup."
_LONGEST: Final = 255 - len(".series.key.new")
"""Bytes of a file's name in a backup, before its ending; a key that is written has the longest."""
_BEGIN: Final = 16
"""So many letters of a series, each of 12 bytes at most, begin it where the whole does not fit."""


def export_series(rows: Rows, series: str, file: Path, *, copy: bool) -> SeriesFile:
    """Write a series into a new file with its key beside it, and mark it as moved unless it is a
    copy, all of it or nothing.
    """
    store = rows.store
    with Outgoing.to(file) as out, store.snapshot() if copy else store.transaction(series):
        if not copy:
            rows.check_key()
            rows.mark.prepare()
        entries, recorded = rows.known(series)
        promise = rows.promise(series)
        if promise is None or not entries:
            raise LedgerError(
                f"the ledger {store.where} knows no series {series!r}; 'phalanx series list' names"
                " those that it has."
            )
        if not copy and (day := rows.moved(series, entries)) is not None:
            raise LedgerError(
                f"series {series!r} was moved to another ledger on {day}; export it from there, or"
                " take a copy of what is left here."
            )
        if not copy:  # where it arrives, it is taken for the newest
            check_marked(store.where, series, rows.mark, len(entries))
        releases = [
            (entry, [name for name in names if name not in {PERSON, MOVED}])
            for entry, names in entries
        ]
        ((created,),) = store.run("SELECT created FROM series WHERE name = $1", series)
        key = rows.person_key(series, entries).key
        out.write(
            Contents(
                series=series,
                promise=promise,
                created=created,
                person_key=key,
                copy=copy,
                moves=recorded.moves,
                releases=releases,
            ).to_bytes()
        )
        for entry, names in releases:
            for name in names:
                out.write(rows.segment(series, entry, name))
        if not copy:
            last, segments = entries[-1]
            rows.insert_segment(
                series, last.number, MOVED, rows.seal(today().encode(), series, last, MOVED)
            )
            rows.authenticate_anew(series, last, [*segments, MOVED])
            recorded = replace(recorded, moves=recorded.moves + 1)
            rows.set_head(series, Head.of(promise, recorded.digests, recorded.moves))
        # before the ledger commits: a series is never moved into a file that a power failure takes
        # back
        out.finish()
    if not copy:
        rows.mark.advance(series, recorded)
    return SeriesFile(
        series=series,
        releases=len(releases),
        folders=[entry.folder for entry, _ in entries],
        file=file,
        key=key_beside(file),
        copy=copy,
    )


def backup(rows: Rows, series: Sequence[str], to: Path) -> list[SeriesFile]:
    """Copies of several series in a new folder for its owner only, which gets its name once all are
    in it and on the disk.
    """
    if to.exists() or to.is_symlink():
        raise LedgerError(
            f"{to} exists already and is not overwritten; name a folder that is not there."
        )
    try:
        with _unnamed(to.parent) as beside:
            written = [
                export_series(rows, name, beside / f"{_file_name(name)}.series", copy=True)
                for name in series
            ]
            flush_folder(beside)
            beside.rename(to)
            flush_folder(to.parent)
    except (OSError, LedgerError) as error:
        failed = error if isinstance(error, OSError) else error.__cause__
        if not isinstance(failed, OSError):
            raise
        raise LedgerError(
            f"{to} cannot be written ({failed.strerror}); nothing was copied, so make room or choose"
            " another folder."
        ) from None
    return [replace(each, file=to / each.file.name, key=to / each.key.name) for each in written]


def _file_name(series: str) -> str:
    """The name of a series as that of a file; of a long one its beginning and a hash, after a sign
    that no quoted name has.

    >>> _file_name("a/b")
    'a%2Fb'
    >>> len(_file_name("é" * 100))
    129
    """
    name = quote(series, safe="")
    if len(name) <= _LONGEST:
        return name
    return f"{quote(series[:_BEGIN], safe='')}+{hashlib.sha256(series.encode()).hexdigest()[:32]}"


@contextmanager
def _unnamed(folder: Path) -> Iterator[Path]:
    """A hidden folder in another one, for its owner only, locked while its maker lives; it is
    removed if it did not get another name.

    What makers left who were killed, who hold no lock any more, is removed before.
    """
    for leftover in folder.glob(f"{_UNNAMED}*") if folder.is_dir() else ():
        with suppress(OSError), _locked(leftover):
            shutil.rmtree(leftover, ignore_errors=True)
    path = (
        folder / f"{_UNNAMED}{Randomness.secure().stream('backup folder').words(1).tobytes().hex()}"
    )
    path.mkdir(mode=0o700)
    try:
        with _locked(path):
            yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """OSError where another process has locked the folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def import_series(rows: Rows, file: Path, key_file: Path, *, folder: Path | None) -> SeriesFile:
    """Take in the series of a file, sealed anew under the keys of this ledger, all of it or
    nothing.

    The mark says afterwards what was taken in, but not of a copy: it is not known what was
    published since it was made, so a steward has to say.
    """
    with Incoming.of(file, key_file) as incoming:
        c = incoming.contents
        series = named(c.series)
        releases = [
            (entry if folder is None else _standing_in(folder, entry), names)
            for entry, names in c.releases
        ]
        rows.mark.prepare()
        with rows.store.transaction(series):
            rows.check_key()
            moves = _make_room(rows, c, [entry.digest for entry, _ in releases])
            taken = Marked.of([entry for entry, _ in releases], moves)
            rows.insert_series(
                series, c.promise, c.created, Head.of(c.promise, taken.digests, moves)
            )
            for entry, names in releases:
                rows.insert_release(
                    series, c.promise, entry, [*names, PERSON] if entry.number == 1 else names
                )
                for name in names:
                    rows.insert_segment(
                        series,
                        entry.number,
                        name,
                        rows.seal(incoming.read(), series, entry, name),
                    )
            first = releases[0][0]
            rows.insert_segment(series, 1, PERSON, rows.seal(c.person_key, series, first, PERSON))
            incoming.end()
            if not c.copy:
                rows.mark.begin(series)
        if not c.copy:
            rows.mark.advance(series, taken)
        marked = rows.mark.read().get(series)
    return SeriesFile(
        series=series,
        releases=len(releases),
        folders=[entry.folder for entry, _ in releases],
        file=file,
        key=key_file,
        copy=c.copy,
        reconcile=marked is None or not taken.covers(marked),
    )


def _make_room(rows: Rows, c: Contents, digests: Sequence[str]) -> int:
    """How often the series has left or come back, with this time; LedgerError where it may not
    come.

    A name that is free needs no room; a series that was moved away from here makes room for itself
    when it comes back, and one of which this ledger has forgotten releases, or what they remembered,
    for a file that still has them.
    """
    series, where = c.series, rows.store.where
    marked = rows.mark.read().get(series, Marked())
    here, recorded = rows.known(series, stale=True)
    began = max(recorded.moves, marked.moves)
    if not here and rows.promise(series) is None:
        return c.moves if c.copy else began + bool(marked.releases)
    older = list(digests) == recorded.digests[: len(digests)] and len(digests) < len(here)
    if older and rows.moved(series, here) is None:
        raise LedgerError(
            f"the ledger {where} has a series {series!r} already, with {len(here)} releases, of which"
            f" the file has the first {len(digests)}; nothing was imported, and nothing need be."
        )
    if recorded.digests != list(digests[: len(here)]):
        which = (
            f"had another series {series!r}, which was moved away"
            if rows.moved(series, here)
            else f"has another series {series!r}"
        )
        raise LedgerError(
            f"the ledger {where} {which}; nothing was imported, so use another ledger."
        )
    lacking = max(len(marked.releases), rows.recorded(series)) > len(here)
    forgotten = any(each.forgotten for each in reconciliations(rows, series, here))
    if rows.moved(series, here) is None and not (
        (lacking and len(digests) > len(here)) or (forgotten and len(digests) >= len(here))
    ):
        raise LedgerError(
            f"the ledger {where} has a series {series!r} already; nothing was imported, and nothing"
            " need be, unless it is to go on in another ledger."
        )
    rows.delete_series(series)
    return c.moves if c.copy else began + 1


def _standing_in(folder: Path, entry: ReleaseEntry) -> ReleaseEntry:
    return replace(entry, folder=str(folder.resolve() / Path(entry.folder).name))
