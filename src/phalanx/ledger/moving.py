"""Moving a series from one ledger to another, through a file."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from phalanx.errors import LedgerError
from phalanx.ledger.entries import ReleaseEntry, SeriesFile
from phalanx.ledger.rows import MOVED, PERSON, Rows, named, today
from phalanx.ledger.transfer import Contents, Incoming, Outgoing, key_beside


def export_series(rows: Rows, series: str, file: Path, *, copy: bool) -> SeriesFile:
    """Write a series into a new file with its key beside it, and mark it as moved unless it is a copy, all of it or nothing."""
    store = rows.store
    with Outgoing.to(file) as out, store.snapshot() if copy else store.transaction(series):
        entries = rows.entries(series)
        promise = rows.promise(series)
        if promise is None or not entries:
            raise LedgerError(f"the ledger {store.where} knows no series {series!r}; 'phalanx series list' names those that it has.")
        if not copy and (day := rows.moved(series, entries)) is not None:
            raise LedgerError(f"series {series!r} was moved to another ledger on {day}; export it from there, or take a copy of what is left here.")
        releases = [(entry, [name for name in names if name not in {PERSON, MOVED}]) for entry, names in entries]
        ((created,),) = store.run("SELECT created FROM series WHERE name = $1", series)
        key = rows.person_key(series, entries).key
        out.write(Contents(series=series, promise=promise, created=created, person_key=key, copy=copy, releases=releases).to_bytes())
        for entry, names in releases:
            for name in names:
                out.write(rows.segment(series, entry.number, name))
        if not copy:
            last, segments = entries[-1]
            rows.insert_segment(series, last.number, MOVED, rows.seal(today().encode(), series, last.number, MOVED))
            rows.authenticate_anew(series, last, [*segments, MOVED])
        out.finish()  # before the ledger commits: a series is never moved into a file that a power failure takes back
    return SeriesFile(series=series, releases=len(releases), folders=[entry.folder for entry, _ in entries], file=file, key=key_beside(file), copy=copy)


def import_series(rows: Rows, file: Path, key_file: Path, *, folder: Path | None) -> SeriesFile:
    """Take in the series of a file, sealed anew under the keys of this ledger, all of it or nothing."""
    with Incoming.of(file, key_file) as incoming:
        c = incoming.contents
        series = named(c.series)
        releases = [(entry if folder is None else _standing_in(folder, entry), names) for entry, names in c.releases]
        with rows.store.transaction(series):
            _make_room(rows, series, [entry.digest for entry, _ in releases])
            rows.insert_series(series, c.promise, c.created)
            for entry, names in releases:
                rows.insert_release(series, c.promise, entry, [*names, PERSON] if entry.number == 1 else names)
                for name in names:
                    rows.insert_segment(series, entry.number, name, rows.seal(incoming.read(), series, entry.number, name))
            rows.insert_segment(series, 1, PERSON, rows.seal(c.person_key, series, 1, PERSON))
            incoming.end()
    return SeriesFile(series=series, releases=len(releases), folders=[entry.folder for entry, _ in releases], file=file, key=key_file, copy=c.copy)


def _make_room(rows: Rows, series: str, digests: Sequence[str]) -> None:
    """A name that is free needs none; a series that was moved away from here makes room for itself when it comes back."""
    here = rows.entries(series)
    if not here and rows.promise(series) is None:
        return
    if rows.moved(series, here) is None:
        raise LedgerError(f"the ledger {rows.store.where} has a series {series!r} already; nothing was imported, so use another ledger.")
    if [entry.digest for entry, _ in here] != list(digests[: len(here)]):
        raise LedgerError(f"the ledger {rows.store.where} had another series {series!r}, which was moved away; nothing was imported, so use another ledger.")
    rows.delete_series(series)


def _standing_in(folder: Path, entry: ReleaseEntry) -> ReleaseEntry:
    return replace(entry, folder=str(folder.resolve() / Path(entry.folder).name))
