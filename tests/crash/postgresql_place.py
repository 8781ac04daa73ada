# SPDX-License-Identifier: Apache-2.0
"""A place whose ledger is in PostgreSQL: a database that is copied back for every publisher, on a
server whose files are searched too.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import adbc_driver_postgresql.dbapi as postgresql

from crash.forks import forked
from crash.places import Place, said


class PostgresqlPlace(Place):
    """A place on a server of its own. The server logs every statement, keeps its whole write-ahead
    log, and everything about it is in ``server``.
    """

    at_rest = re.compile(r"phalanx/([0-9a-f]{64})\.key phalanx/\1\.mark")

    def __init__(self, folder: Path, url: str, server: Path) -> None:
        super().__init__(folder)
        self._admin, self._server = url, server
        self._administer(
            "ALTER SYSTEM SET log_statement = 'all'",
            "ALTER SYSTEM SET log_parameter_max_length_on_error = -1",
            "ALTER SYSTEM SET wal_keep_size = '8GB'",
            "ALTER SYSTEM SET checkpoint_timeout = '1h'",
            "ALTER SYSTEM SET max_wal_size = '8GB'",
            "SELECT pg_reload_conf()",
        )
        version = int(Path(server, "data", "PG_VERSION").read_text())
        # A copy of each page in the write-ahead log would be searched as often as it is made.
        self._as_files = "STRATEGY FILE_COPY" if version >= 15 else ""

    @property
    def ledger(self) -> str:
        return self._admin.replace("/postgres?", "/visits?")

    def begin(self) -> None:
        super().begin()
        self._administer("DROP DATABASE IF EXISTS visits WITH (FORCE)", "CREATE DATABASE visits")

    def keep(self) -> None:
        super().keep()
        self._administer("DROP DATABASE IF EXISTS kept", "ALTER DATABASE visits RENAME TO kept")

    def reset(self) -> None:
        super().reset()
        self._administer(
            "DROP DATABASE IF EXISTS visits WITH (FORCE)",
            f"CREATE DATABASE visits TEMPLATE kept {self._as_files}",
        )

    def strays(self) -> list[str]:
        """The same, and rows of the database; a page on the disk may be packed."""
        return [
            *super().strays(),
            *(
                f"the ledger holds {what}"
                for what in said(b"\n".join(self._values()), released=False)
            ),
        ]

    def strays_of_all(self) -> list[str]:
        """Files of the server, its log and its write-ahead log among them."""
        return sorted(
            {f"the server's {path.name} holds {what}" for path, what in self._strays(self._server)}
        )

    def _administer(self, *statements: str) -> None:
        def run() -> bool:
            with (
                postgresql.connect(self._admin, autocommit=True) as connection,
                connection.cursor() as cursor,
            ):
                for statement in statements:
                    cursor.execute(statement)
                    cursor.fetchall()
            return True

        forked(run)

    def _values(self) -> Iterator[bytes]:
        """Every value of every table."""
        with postgresql.connect(self.ledger) as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = 'public'"
            )
            for (table,) in cursor.fetchall():
                cursor.execute(f'SELECT * FROM "{table}"')
                yield from (
                    value if isinstance(value, bytes) else str(value).encode()
                    for row in cursor.fetchall()
                    for value in row
                )
