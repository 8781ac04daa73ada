# SPDX-License-Identifier: Apache-2.0
"""A database behind the ledger, through ADBC: statements in, rows out, every failure one
sentence.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
from adbc_driver_manager import Error

from phalanx.errors import LedgerError


class Store:
    """One open database in autocommit mode; a subclass per database says what differs.

    Parameters are ``$1``, ``$2``, … and appear in that order in the statement, which SQLite and
    PostgreSQL both understand.
    """

    kind: ClassVar[str]
    """What holds the ledger, as error messages call it."""
    blob: ClassVar[str]
    """The type of a column of bytes."""
    table_end: ClassVar[str]
    """What a table's definition ends in."""
    begin: ClassVar[str]
    """Begins a transaction that writes."""
    begin_reading: ClassVar[str]
    """Begins a transaction in which every statement sees the same state."""

    def __init__(self, where: str, key_file: Path) -> None:
        self.where = where
        """The database as error messages name it; never with a password."""
        self.key_file = key_file

    def tables(self) -> set[str]:
        """The names of the tables that exist."""
        raise NotImplementedError

    def explain(self, error: Error, statement: str) -> str:
        """One sentence for a failure of the driver, whose own words may quote statements and
        values.
        """
        raise NotImplementedError

    def check_writable(self, series: str) -> None:
        """LedgerError where this user may not record a release of a series."""
        raise NotImplementedError

    def damaged(self) -> LedgerError:
        """What to say where the database gives what we cannot have put there."""
        return LedgerError(
            f"the ledger {self.where} is damaged; put back a copy of it, together with its key"
            " file."
        )

    def exclude(self, series: str) -> None:
        """Keep all others out of a series until the transaction ends; nothing to do where
        ``begin`` does it.
        """

    def settle(self, series: str) -> None:
        """Return once no commit of others to a series is under way; nothing to do where a
        publisher's death ends its commits.
        """

    def rows(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """What the driver answers to one statement, once it is done."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        raise NotImplementedError

    def run(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """Run one statement to its end, so that no lock outlives it; LedgerError where it fails."""
        try:
            return self.rows(statement, parameters)
        except Error as error:
            raise LedgerError(self.explain(error, statement)) from None
        except (
            ValueError,
            TypeError,
            OverflowError,
            pa.ArrowException,
        ):  # rows that are no text, or of which one column holds things of several kinds
            raise self.damaged() from None

    @contextmanager
    def transaction(self, series: str = "") -> Iterator[None]:
        """All statements inside, or none of them; no other process publishes into that series
        meanwhile ("" is the ledger's own tables).
        """
        with self._until_commit(self.begin):
            self.exclude(series)
            yield

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Every statement inside reads the same state, whatever others commit meanwhile."""
        with self._until_commit(self.begin_reading, "END"):
            yield

    @contextmanager
    def _until_commit(self, begin: str, end: str = "COMMIT") -> Iterator[None]:
        """``end`` is COMMIT where something may be recorded, and only there: what a failure leaves
        open depends on it.
        """
        self.run(begin)
        try:
            yield
            self.run(end)
        except BaseException:
            with suppress(LedgerError):  # a failed COMMIT may have rolled back already
                self.run("ROLLBACK")
            raise


def table_definitions(store: Store) -> Sequence[str]:
    """The tables of a ledger. Everything about persons is in the sealed blobs of ``segments``."""
    bytes_, end = store.blob, store.table_end
    return (
        f"CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value {bytes_} NOT NULL){end}",
        (
            "CREATE TABLE series (name TEXT NOT NULL PRIMARY KEY, promise TEXT NOT NULL, created"
            f" TEXT NOT NULL, head {bytes_} NOT NULL){end}"
        ),
        f"""CREATE TABLE releases (
            series TEXT NOT NULL REFERENCES series (name), number INTEGER NOT NULL,
            folder TEXT NOT NULL, staging TEXT NOT NULL, digest TEXT NOT NULL,
            day TEXT NOT NULL, summary TEXT NOT NULL, authentic {bytes_} NOT NULL,
            PRIMARY KEY (series, number)){end}""",
        f"""CREATE TABLE segments (
            series TEXT NOT NULL, number INTEGER NOT NULL, name TEXT NOT NULL,
            sealed {bytes_} NOT NULL, PRIMARY KEY (series, number, name),
            FOREIGN KEY (series, number) REFERENCES releases (series, number)){end}""",
    )
