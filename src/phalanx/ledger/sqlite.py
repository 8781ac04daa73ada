# SPDX-License-Identifier: Apache-2.0
"""The ledger in an SQLite file: all that is particular to SQLite."""

import errno
import os
import stat
from pathlib import Path
from typing import Any, Final

import adbc_driver_sqlite
import polars as pl
import pyarrow as pa
from adbc_driver_manager import AdbcConnection, AdbcStatement, Error

from phalanx.errors import LedgerError
from phalanx.ledger.store import Store

PREFIX: Final = "sqlite:///"
busy_milliseconds = 5000
"""How long to wait for another publisher, who needs the lock for milliseconds."""
_PAGE: Final = 16384
"""Bytes of a page of a file that is made, four times SQLite's own choice: segments are large."""


class Sqlite(Store):
    """One SQLite file, private from its first byte.

    A rollback journal rather than a write-ahead log: at rest the ledger is one file, which copies
    and network folders keep whole, and no series is published so often that readers would have to
    be let through meanwhile. ``synchronous=EXTRA`` is FULL plus a flush of the folder once the
    journal is gone, without which a power failure could take back a commit whose release folder
    stands already. Deleted pages are overwritten (the SQLite inside ADBC does not by default).

    The file is never opened by other means than SQLite while it exists: closing it would drop the
    locks of every connection of this process.
    """

    kind = "file"
    blob = "BLOB"
    table_end = " STRICT"
    begin = "BEGIN IMMEDIATE"
    begin_reading = "BEGIN"

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), key_file(path))
        self._database = adbc_driver_sqlite.connect(str(path))
        self._connection = AdbcConnection(self._database)

    @classmethod
    def open(cls, url: str, *, create: bool) -> "Sqlite":
        """Open, or create with mode 0600 whatever the umask; LedgerError where the file cannot be
        used.
        """
        path = _path(url)
        _make(path, create=create)
        try:
            store = cls(path)
        except Error as error:
            raise LedgerError(_sentence(str(path), str(error))) from None
        try:
            store.run(f"PRAGMA busy_timeout = {int(busy_milliseconds)}")
            for setting in (
                f"page_size = {_PAGE}",
                "secure_delete = ON",
                "synchronous = EXTRA",
                "foreign_keys = ON",
                "temp_store = MEMORY",
            ):
                store.run(f"PRAGMA {setting}")
            if store.run("PRAGMA journal_mode") != [("delete",)]:
                store.run("PRAGMA journal_mode = DELETE")
        except BaseException:
            store.close()
            raise
        return store

    @classmethod
    def check_place(cls, url: str) -> Path:
        """The file of a url; LedgerError where it cannot be written, or made. Nothing is made."""
        path = _path(url)
        if path.exists():
            _check_writable(path)
            return path
        try:
            if not stat.S_ISDIR(path.parent.stat().st_mode):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if not os.access(path.parent, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise _unmade(path, error.strerror) from None
        return path

    def rows(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """What SQLite answers; not through the driver's DB-API, which loads pandas where it is."""
        with AdbcStatement(self._connection) as prepared:
            prepared.set_sql_query(statement)
            if parameters:
                prepared.prepare()
                columns = [pl.Series(str(place), [p]) for place, p in enumerate(parameters)]
                prepared.bind_stream(pl.DataFrame(columns))
            stream, _ = prepared.execute_query()
            table = pa.RecordBatchReader.from_stream(stream).read_all()
            return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self._connection.close()
        self._database.close()

    def tables(self) -> set[str]:
        """The names of the tables that exist."""
        return {name for (name,) in self.run("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def check_writable(self, series: str) -> None:
        """LedgerError where the file may not be written."""
        del series  # all are in one file
        _check_writable(Path(self.where))

    def explain(self, error: Error, statement: str) -> str:
        """One sentence for a failure, told apart by SQLite's own words."""
        if statement == "COMMIT" and "disk I/O error" in str(
            error
        ):  # it may have been the last flush, of what is recorded already
            return f"the ledger {self.where} {_UNKNOWN}"
        return _sentence(self.where, str(error))


def key_file(path: Path) -> Path:
    """Where the key of a file is, or will be."""
    return path.with_name(path.name + ".key")


def _check_writable(path: Path) -> None:
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK):
        raise LedgerError(f"the ledger {path} {_SENTENCES['readonly database']}")


def _path(url: str) -> Path:
    if not url.startswith(PREFIX) or not (name := url[len(PREFIX) :]) or "\0" in name:
        raise LedgerError(
            f"the ledger url {url!r} names no file; write sqlite:///ledger.db for a file beside"
            " the plan, or sqlite:////folder/ledger.db."
        )
    path = Path(os.path.realpath(name))  # one key file, by whatever link the ledger is opened
    if path.is_dir():
        raise LedgerError(f"the ledger {path} is a folder; name a file inside it.")
    return path


def _make(path: Path, *, create: bool) -> None:
    """The file must be there before SQLite looks: SQLite would give it the umask's mode, and its
    journals the file's mode.
    """
    if path.exists():
        return
    if not create:
        raise LedgerError(f"there is no ledger at {path}; 'publish' makes one, so check the name.")
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return
    except OSError as error:
        raise _unmade(path, error.strerror) from None
    try:
        os.fchmod(handle, 0o600)  # whatever the umask
    finally:
        os.close(handle)


def _unmade(path: Path, why: str | None) -> LedgerError:
    return LedgerError(
        f"the ledger {path} cannot be made ({why}); name a folder that exists and may be written."
    )


def _sentence(where: str, message: str) -> str:
    """SQLite's words are stable and the driver hands on no code, so they are told apart by them."""
    for words, sentence in _SENTENCES.items():
        if words in message:
            return f"the ledger {where} {sentence}"
    return (
        f"the ledger {where} could not be used, for a reason that SQLite calls"
        f" {message.splitlines()[0].rsplit(': ', 1)[-1]!r}; nothing was changed."
    )


_UNKNOWN: Final = (
    "met an error of its disk in the moment of recording, so whether this was recorded is not"
    " known; check the disk, 'phalanx series show' says, and the next publish goes on from there."
)
_OTHER: Final = (
    "is damaged or was made by another version of Phalanx, since a table or column is missing; put"
    " back a copy of it."
)
_SENTENCES: Final = {
    "no such column": _OTHER,
    "no such table": _OTHER,
    "has no column": _OTHER,
    "database is locked": "is locked by another publisher; try again when it has finished.",
    "database or disk is full": (
        "cannot grow because the disk is full; nothing was changed, so make room and publish again."
    ),
    "file is not a database": (
        "is not a ledger but some other file; name another file, or remove this one."
    ),
    "malformed": "is damaged; put back a copy of it, together with its key file.",
    "readonly database": "may not be written; make the file and its folder writable for you.",
    "unable to open database file": (
        "cannot be opened; make the file and its folder readable and writable for you."
    ),
    "failed to open": (
        "cannot be opened; make the file and its folder readable and writable for you."
    ),
    "disk I/O error": (
        "cannot be read or written because the disk reports an error; nothing was changed, so check"
        " the disk and publish again."
    ),
}
