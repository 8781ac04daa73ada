# SPDX-License-Identifier: Apache-2.0
"""The ledger: series, their releases, and the sealed memory of persons, committed one release at a
time.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import polars as pl

from phalanx.data.persons import PersonKey
from phalanx.data.sources.databases import sqlite_path
from phalanx.errors import LedgerError, path_of, place_of
from phalanx.ledger.committing import CARRIED, check_goes_on, commit
from phalanx.ledger.entries import Reconciliation, ReleaseEntry, SeriesEntry, SeriesFile
from phalanx.ledger.keys import Keyring
from phalanx.ledger.marks import Mark, check_marked
from phalanx.ledger.moving import backup, export_series, import_series
from phalanx.ledger.opening import check_new, opened, store_of
from phalanx.ledger.recall import GROUPS, MEMORY, Recall
from phalanx.ledger.reconciling import Standing, reconcile, reconciliations, standing
from phalanx.ledger.rotation import rotate
from phalanx.ledger.rows import MOVED, Entries, Rows, canonical, fits, named
from phalanx.ledger.sealing import SPLIT, pack, pack_groups, split, within
from phalanx.ledger.sqlite import Sqlite, key_file
from phalanx.ledger.store import Store
from phalanx.ledger.transfer import key_beside

_SERIES: Final = """
    SELECT s.name, s.promise, s.created,
           (SELECT count(*) FROM releases r WHERE r.series = s.name),
           (SELECT count(*) FROM segments g WHERE g.series = s.name AND g.name = $1)
    FROM series s"""


class Ledger:
    """The private record of series: a release is in it completely or not at all, and no reader
    finds persons in it without the key.

    In plain stand names, counts, dates and digests. Everything about persons (memory, groups) is
    sealed with AES-256-GCM under a key of its series and bound to series, release and segment name;
    the plain entry of a release is authenticated together with the names of its segments, and a
    sealed head says how many there are. So a changed, swapped, added or removed segment or entry is
    a LedgerError. So is an older copy of the whole ledger, by the mark beside the key, which says
    what was published.

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
        self._rows = Rows(store, keys)

    @classmethod
    def open(cls, url: str, *, create: bool = True) -> "Ledger":
        """Open the ledger of a url, or create it and its key file.

        Parameters
        ----------
        url : str
            ``sqlite:///file.db`` or ``postgresql://host/database``.
        create : bool, default True
            Whether to create one where there is none.

        Returns
        -------
        Ledger
            The ledger, to be closed.

        Raises
        ------
        LedgerError
            Where it cannot be opened or made, is something else, or the key is missing, wrong or
            not private.
        """
        return cls(*opened(url, create=create))

    @staticmethod
    def exists(url: str) -> bool:
        """Whether there is something at a url that a ledger would be opened from.

        Parameters
        ----------
        url : str
            As for ``open``.

        Returns
        -------
        bool
            Whether there is.

        Raises
        ------
        LedgerError
            Where that cannot be told.
        """
        if isinstance(url, str) and url.startswith("sqlite:"):
            return sqlite_path(url).exists()
        store = store_of(url, create=False)
        try:
            return bool(store.tables())
        finally:
            store.close()

    @staticmethod
    def check_place(url: str, series: str) -> None:
        """See beforehand that a release of a series could be recorded; nothing is made.

        Parameters
        ----------
        url : str
            As for ``open``.
        series : str
            Its name.

        Raises
        ------
        LedgerError
            Where the ledger, or the mark beside its key, may not be written or made, or is lost.
        """
        if isinstance(url, str) and url.startswith("sqlite:"):
            path = Sqlite.check_place(url)
            if not path.exists():
                check_new(str(path), key_file(path), series)
            return
        store = store_of(url, create=False)
        try:
            if not store.tables():
                check_new(store.where, store.key_file, series)
            Mark.beside(store.key_file).check_place()
            store.check_writable(series)
        finally:
            store.close()

    def check_writable(self, series: str) -> None:
        """See, before a table is worked on, that a release of a series could be recorded.

        Parameters
        ----------
        series : str
            Its name.

        Raises
        ------
        LedgerError
            Where the ledger, or the mark beside its key, may not be written.
        """
        self._rows.mark.check_place()
        self._store.check_writable(series)

    def person_key(self, series: str) -> PersonKey:
        """The key that turns identifiers into person keys; another one for each series, the same
        each time, also after a move to another ledger.

        Parameters
        ----------
        series : str
            Its name.

        Returns
        -------
        PersonKey
            The key, of 32 bytes.
        """
        with self._store.snapshot():
            return self._rows.person_key(series, self._rows.entries(series))

    def series(self) -> list[SeriesEntry]:
        """All series, by name.

        Raises
        ------
        LedgerError
            Where the ledger knows less of one than its mark, or an entry was changed.
        """
        for name in self._rows.mark.read():
            self._rows.known(name)
        try:
            listed = [
                SeriesEntry(
                    name=str(name),
                    promise=dict(json.loads(promise)),
                    created=str(created),
                    releases=releases,
                    moved=moved > 0,
                )
                for name, promise, created, releases, moved in self._store.run(_SERIES, MOVED)
            ]
        except (ValueError, TypeError, RecursionError):
            raise self._store.damaged() from None
        return sorted(listed, key=attrgetter("name"))

    def promise(self, series: str) -> Mapping[str, Any] | None:
        """What the series promises.

        Parameters
        ----------
        series : str
            Its name.

        Returns
        -------
        Mapping[str, Any] | None
            The method and the roles that its first release had; None where it has not begun.
        """
        text = self._rows.promise(series)
        return None if text is None else dict(json.loads(text))

    def releases(self, series: str, *, marked: bool = False) -> list[ReleaseEntry]:
        """The releases of a series in order, once commits under way are decided.

        Parameters
        ----------
        series : str
            Its name.
        marked : bool, default False
            For a series that goes on from them: also where no mark says whether there were more;
            and the mark says afterwards what the ledger does.

        Returns
        -------
        list[ReleaseEntry]
            One entry for each release.

        Raises
        ------
        LedgerError
            Where an entry was changed or removed by others than Phalanx.
        """
        self._store.settle(named(series))
        entries, recorded = self._rows.known(series)
        if marked and entries:
            check_marked(self._store.where, series, self._rows.mark, len(entries))
            self._rows.mark.advance(series, recorded)
        return [entry for entry, _ in entries]

    def recall(self, series: str, entries: Entries | None = None) -> Recall:
        """What a series remembers, to be read table by table.

        Parameters
        ----------
        series : str
            Its name.
        entries : Entries, optional
            Its releases, as ``Recall.entries`` gave them; as the ledger has them now if not given.

        Returns
        -------
        Recall
            All of it as of one moment.

        Raises
        ------
        LedgerError
            Where an entry was changed or removed by others than Phalanx.
        """
        return Recall(
            self._rows, series, self._rows.entries(series) if entries is None else entries
        )

    def remembered(self, series: str, part: int | None = None) -> dict[str, pl.DataFrame]:
        """The memory of a series, as ``Recall.remembered`` reads it.

        Parameters
        ----------
        series : str
            Its name.
        part : int, optional
            Of this part of the series alone.

        Returns
        -------
        dict[str, pl.DataFrame]
            A table for each name.
        """
        with self._store.snapshot():
            return dict(self.recall(series).remembered(part))

    def state(self, series: str, part: int | None = None) -> dict[str, pl.DataFrame]:
        """What the last release of a series carries on, as ``Recall.state`` reads it.

        Parameters
        ----------
        series : str
            Its name.
        part : int, optional
            Of this part of the series alone.

        Returns
        -------
        dict[str, pl.DataFrame]
            A table for each name.
        """
        with self._store.snapshot():
            return self.recall(series).state(part)

    def groups(self, series: str, number: int, part: int | None = None) -> pl.DataFrame | None:
        """Which group each person was published in, as ``Recall.groups`` reads it.

        Parameters
        ----------
        series : str
            Its name.
        number : int
            The release, from 1.
        part : int, optional
            Of this part of the series alone.

        Returns
        -------
        pl.DataFrame | None
            (person Binary, group Int64); None where the release keeps none.
        """
        with self._store.snapshot():
            return self.recall(series).groups(number, part)

    def parts(self, series: str) -> dict[int, list[int]]:
        """The parts of a series in which its persons stay, as ``Recall.parts`` says.

        Parameters
        ----------
        series : str
            Its name.

        Returns
        -------
        dict[int, list[int]]
            By release the numbers of those that have rows in it.
        """
        return self.recall(series).parts()

    def moved(self, series: str) -> str | None:
        """The day on which the series was moved to another ledger.

        Parameters
        ----------
        series : str
            Its name.

        Returns
        -------
        str | None
            The day as 2026-01-31; None where the series goes on here.
        """
        with self._store.snapshot():
            return self._rows.moved(series, self._rows.entries(series))

    def check_goes_on(self, series: str) -> None:
        """Nothing, where the series can be published from here; ``commit`` asks again.

        Parameters
        ----------
        series : str
            Its name.

        Raises
        ------
        LedgerError
            Where the series was moved to another ledger, or what it must remember is lost.
        """
        with self._store.snapshot():
            check_goes_on(self._rows, series, self._rows.entries(series))

    def reconciled(self, series: str) -> list[Reconciliation]:
        """What stewards said was published, because ledger or mark did not know.

        Parameters
        ----------
        series : str
            Its name.

        Returns
        -------
        list[Reconciliation]
            One entry each, in order.
        """
        with self._store.snapshot():
            return reconciliations(self._rows, series, self._rows.entries(series))

    def standing(self, series: str) -> Standing:
        """What the ledger knows of a series and what its mark says, be the ledger ever so old.

        Parameters
        ----------
        series : str
            Its name.

        Returns
        -------
        Standing
            Both.

        Raises
        ------
        LedgerError
            Where folders cannot make up for it.
        """
        return standing(self._rows, series)

    def reconcile(
        self,
        series: str,
        entered: Sequence[tuple[ReleaseEntry, Mapping[str, pl.DataFrame]]],
        *,
        forgotten: bool,
    ) -> Reconciliation:
        """Enter releases that the ledger does not know, with what can be remembered of them, and
        have the mark say what the ledger does; that this was done is recorded.

        Parameters
        ----------
        series : str
            Its name.
        entered : Sequence[tuple[ReleaseEntry, Mapping[str, pl.DataFrame]]]
            The entries, in order, each with what is remembered of it.
        forgotten : bool
            That what they must have remembered is lost, after which the series is not
            published any more.

        Returns
        -------
        Reconciliation
            What is recorded.

        Raises
        ------
        LedgerError
            Where the releases do not follow those that are known, or do not come up to what the
            mark says.
        """
        tables = [
            (entry, split({MEMORY + name: pack(frame) for name, frame in remember.items()}))
            for entry, remember in entered
        ]
        return reconcile(self._rows, series, tables, forgotten=forgotten)

    def rotate_key(self) -> str:
        """Seal everything anew under a fresh key, all of it or nothing; persons are recognised as
        before. Returns where the new key is.
        """
        self._rows.keys = rotate(self._rows)
        return self._rows.keys.origin

    def commit(
        self,
        series: str,
        entry: ReleaseEntry,
        *,
        promise: Mapping[str, Any],
        remember: Mapping[str, pl.DataFrame],
        groups: pl.DataFrame | Mapping[int, pl.DataFrame] | None,
        state: Mapping[str, pl.DataFrame] | None = None,
    ) -> None:
        """Record a release and what it remembers, in one transaction: afterwards all of it is in
        the ledger, or, with an error, nothing. Once it is recorded, the mark says so, before this
        returns.

        Parameters
        ----------
        series : str
            Its name.
        entry : ReleaseEntry
            The release: number, folders, digest, what the ledger shows of it.
        promise : Mapping[str, Any]
            The method and the roles, the same as of all releases of the series.
        remember : Mapping[str, pl.DataFrame]
            By name, rows that are appended to the series' memory; of those of a part ``within``
            makes the names. One table is asked for at a time.
        groups : pl.DataFrame | Mapping[int, pl.DataFrame] | None
            (person Binary, group Int64), or that of each part; None where the release keeps none.
        state : Mapping[str, pl.DataFrame], optional
            By name, tables that replace those of the release before.

        Raises
        ------
        LedgerError
            Where the release is not the next of its series (another publisher was faster), the
            promise is not the series' own, or the ledger cannot be written.
        """
        state = state or {}
        _check_names(named(series), [*remember, *state])
        of_parts = groups if isinstance(groups, Mapping) else {}
        whole = {} if groups is None or isinstance(groups, Mapping) else {GROUPS: groups}
        tables = chain(
            ((MEMORY + name, pack(remember[name])) for name in remember),
            ((CARRIED + name, pack(state[name])) for name in state),
            ((within(part, GROUPS), pack_groups(of_parts[part])) for part in of_parts),
            ((name, pack_groups(whole[name])) for name in whole),
        )
        commit(self._rows, series, entry, promise_text=canonical(promise), tables=tables)

    def export_series(self, series: str, to: str | Path, *, copy: bool = False) -> SeriesFile:
        """Put a series into a sealed file, from which another ledger takes it; the key of the file
        is written beside it, into ``FILE.key``.

        From then on this ledger keeps the series for reading and refuses to publish it, since two
        ledgers that both did would not know of each other's releases.

        Parameters
        ----------
        series : str
            Its name.
        to : str | Path
            The file, which must not be there yet.
        copy : bool, default False
            Whether the series goes on here, and the file is a backup.

        Returns
        -------
        SeriesFile
            What was written.

        Raises
        ------
        LedgerError
            And no file, where there is no such series, it was moved already, or the file exists or
            cannot be written.
        """
        where = place_of(to, "the file of the series", LedgerError)
        return export_series(self._rows, series, where, copy=copy)

    def backup(self, to: str | Path) -> list[SeriesFile]:
        """Put a copy of every series that goes on here into a new folder, which is there with all
        of them or not at all.

        Parameters
        ----------
        to : str | Path
            The folder.

        Returns
        -------
        list[SeriesFile]
            What was written, by series.

        Raises
        ------
        LedgerError
            Where the folder exists or cannot be written.
        """
        where = place_of(to, "the folder of the backup", LedgerError)
        return backup(self._rows, [s.name for s in self.series() if not s.moved], where)

    def import_series(
        self, file: str | Path, *, key: str | Path | None = None, folder: str | Path | None = None
    ) -> SeriesFile:
        """Take a series from a file that another ledger exported, with everything that it remembers
        about persons, or, with an error, nothing of it.

        Parameters
        ----------
        file : str | Path
            The sealed file.
        key : str | Path, optional
            The file of its key, by default beside it.
        folder : str | Path, optional
            Where the release folders stand now, by default where they stood.

        Returns
        -------
        SeriesFile
            What was read.

        Raises
        ------
        LedgerError
            Where the file was changed, the key is not its key, or the ledger has a series of that
            name, unless it is the one that was moved away from here.
        """
        file = path_of(file, "the file of the series", LedgerError)
        key_file = key_beside(file) if key is None else path_of(key, "its key", LedgerError)
        stands = (
            None
            if folder is None
            else path_of(folder, "the folder of the release folders", LedgerError)
        )
        return import_series(self._rows, file, key_file, folder=stands)

    def close(self) -> None:
        """Close the ledger."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({self._store.where!r})"


def _check_names(series: str, remember: Sequence[str]) -> None:
    if unfit := [name for name in remember if not name or not fits(name) or SPLIT in name]:
        raise ValueError(f"series {series!r}: {unfit[0]!r} cannot name a table of a memory")
