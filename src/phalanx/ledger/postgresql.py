# SPDX-License-Identifier: Apache-2.0
"""The ledger in a PostgreSQL database: all that is particular to PostgreSQL."""

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote

from adbc_driver_manager import dbapi

from phalanx.errors import LedgerError, require_extra
from phalanx.ledger.store import Store

lock_milliseconds = 30_000
"""How long to wait for another publisher of the same series, who needs the lock for as long as it
sends what is to be remembered.
"""
_IDLE_MILLISECONDS: Final = 300_000
"""After how long the server gives up a publisher who vanished in the middle of a commit, and frees
the series.
"""


_MAY_WRITE: Final = "SELECT current_setting('transaction_read_only') = 'off'"
_RIGHT_TO_MAKE: Final = "SELECT pg_catalog.has_schema_privilege(current_schema()::text, 'CREATE')"
_RIGHTS: Final = """
    SELECT pg_catalog.has_any_column_privilege(format('%I.%I', current_schema(), t), r)
    FROM (VALUES ('series', 'UPDATE'), ('releases', 'INSERT'), ('releases', 'UPDATE'),
                 ('segments', 'INSERT')) AS needed (t, r)
    UNION ALL
    SELECT EXISTS (SELECT FROM series WHERE name = $1)
        OR pg_catalog.has_table_privilege(format('%I.series', current_schema()), 'INSERT')"""
"""What every release needs, and the first one of a series, which inserts it."""


class Postgresql(Store):
    """One schema of a PostgreSQL database, for several publishers.

    A publisher holds an advisory lock on its series while it commits: a second one of the same
    series waits and is then told that another one was faster, and publishers of other series are
    not held up. The lock outlives a publisher that dies until the server has decided about its
    commit, which is why :meth:`settle` waits for it. ``synchronous_commit`` is on, whatever the
    server's default: a recorded release survives the server's power failure.

    All that the server sees about persons are sealed blobs, also in its write-ahead log, its logs
    of statements and its statistics: deleted rows stay in PostgreSQL until its vacuum and longer,
    and ``pg_stats.most_common_vals`` shows values of every column to each user who may read the
    table, so nothing else would do.
    """

    kind = "database"
    blob = "BYTEA"
    table_end = ""
    # a stricter one would look at the series before it waits for the lock
    begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

    def __init__(self, connection: dbapi.Connection, address: "Address") -> None:
        super().__init__(address.shown(), address.key_file())
        self._connection = connection
        self._schema = address.schema

    @classmethod
    def open(cls, url: str) -> "Postgresql":
        """Connect; LedgerError where the driver is missing, or the database cannot be reached or
        used.
        """
        address = Address.of(url)
        connection = _connect(_with_defaults(url), address)
        store = cls(connection, address)
        try:
            ((database, schema, encoding),) = store.run(
                "SELECT current_database()::text, current_schema()::text,"
                " current_setting('server_encoding')"
            )
            if schema is None:
                raise LedgerError(
                    f"the ledger {store.where} has no schema to be in; make the one that the url or"
                    " your user's search_path names."
                )
            if encoding != "UTF8":
                raise LedgerError(
                    f"the ledger {store.where} is in a database with encoding {encoding}, which"
                    " cannot hold every name; use one with UTF8."
                )
            store = cls(connection, replace(address, database=database, schema=schema))
            store.run(_SETTINGS, str(lock_milliseconds), str(_IDLE_MILLISECONDS))
        except BaseException:
            connection.close()
            raise
        return store

    def rows(self, statement: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        """What PostgreSQL answers; through the DB-API, so that Ctrl-C ends a wait for a lock."""
        with self._connection.cursor() as cursor:
            cursor.execute(statement, parameters or None)
            return cursor.fetchall()

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self._connection.close()

    def tables(self) -> set[str]:
        """The names of the tables that exist in the schema of the ledger."""
        return {
            name
            for (name,) in self.run(
                "SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname ="
                " current_schema()"
            )
        }

    def check_writable(self, series: str) -> None:
        """LedgerError where this user may not record a release of a series, or make the tables."""
        if not all(held for (held,) in self.run(_MAY_WRITE)):
            raise LedgerError(f"the ledger {self.where} {_SENTENCES['25006']}")
        is_there = "meta" in self.tables()
        rights = self.run(_RIGHTS, series) if is_there else self.run(_RIGHT_TO_MAKE)
        if not all(held for (held,) in rights):
            raise LedgerError(f"the ledger {self.where} {_SENTENCES['42501']}")

    def explain(self, error: dbapi.Error, statement: str) -> str:
        """One sentence for a failure, told apart by its SQLSTATE; the server's words may quote
        values, and are never shown.
        """
        state = error.sqlstate or ""
        if not state or state[:2] == "08" or state in _GONE:
            return f"the ledger {self.where} {_UNKNOWN if statement == 'COMMIT' else _LOST}"
        sentence = _SENTENCES.get(state) or _SENTENCES.get(state[:2])
        return (
            f"the ledger {self.where}"
            f" {sentence or f'could not be used, for a reason that PostgreSQL numbers {state}; nothing was changed.'}"
        )

    def exclude(self, series: str) -> None:
        """Hold the advisory lock of a series until the transaction ends."""
        self.run("SELECT pg_catalog.pg_advisory_xact_lock($1)", self._lock(series))

    def settle(self, series: str) -> None:
        """Wait for the process that holds the lock of a series, be it a dead publisher's commit
        that the server has not finished.
        """
        self.run("SELECT pg_catalog.pg_advisory_xact_lock_shared($1)", self._lock(series))

    def _lock(self, series: str) -> int:
        name = f"phalanx/{self._schema}/{series}".encode()
        return int.from_bytes(hashlib.sha256(name).digest()[:8], "big", signed=True)


@dataclass(frozen=True, kw_only=True)
class Address:
    """Where a ledger is, without user and password."""

    host: str
    """Host and port as the url has them, several separated by commas; else as libpq's environment
    has them.
    """
    database: str
    schema: str = "public"

    @classmethod
    def of(cls, url: str) -> "Address":
        """The address in a url; LedgerError, which shows nothing of it, where it is not one that
        PostgreSQL would understand as we do.
        """
        parts = _URL.fullmatch(url)
        if parts is None or "\0" in url:
            raise LedgerError(_NO_URL)
        options = dict(pair.partition("=")[::2] for pair in (parts["options"] or "").split("&"))
        host = (
            options.get("host")
            or options.get("hostaddr")
            or options.get("service")
            or parts["hosts"]
            or os.environ.get("PGHOST", "")
        )
        port = options.get("port") or (
            os.environ.get("PGPORT", "") if not re.search(r":\d+$", host) else ""
        )
        database = options.get("dbname") or parts["database"] or os.environ.get("PGDATABASE", "")
        return cls(host=unquote(host) + (f":{port}" if port else ""), database=unquote(database))

    def shown(self) -> str:
        """The address for messages."""
        schema = "" if self.schema == "public" else f" (schema {self.schema})"
        return (
            f"postgresql://{quote(self.host, safe=':,[]')}/{quote(self.database, safe='')}{schema}"
        )

    def key_file(self) -> Path:
        """The key file of a ledger that has no folder: in the user's own configuration, named after
        the address, so that every ledger has its own.
        """
        base = Path(os.environ.get("XDG_CONFIG_HOME", ""))
        try:  # the XDG specification says to ignore relative ones
            config = base if base.is_absolute() else Path.home() / ".config"
        except RuntimeError:
            raise LedgerError(
                "the key of a ledger in PostgreSQL lies in the user's home, and this user has none;"
                " set XDG_CONFIG_HOME to a private folder."
            ) from None
        host = self.host if re.search(r":\d+$", self.host) else f"{self.host}:5432"
        place = f"{host}\0{self.database}\0{self.schema}"
        return config / "phalanx" / f"{hashlib.sha256(place.encode()).hexdigest()}.key"


def _connect(url: str, address: Address) -> dbapi.Connection:
    require_extra("postgres", "a ledger in PostgreSQL")
    import adbc_driver_postgresql.dbapi as postgresql

    try:
        connection: dbapi.Connection = postgresql.connect(url, autocommit=True)
    except dbapi.Error as error:  # without a SQLSTATE, and it may quote the url
        refusal = str(error)
    else:
        return connection
    sentence = next(
        (sentence for words, sentence in _CONNECTING.items() if re.search(words, refusal)),
        _NOT_OPEN,
    )
    raise LedgerError(f"the ledger {address.shown()} {sentence}")


def _with_defaults(url: str) -> str:
    """A host that swallows packets would keep a publisher waiting for minutes, before it is
    connected and after, and a firewall would forget one who computes for an hour.
    """
    own = [
        ("connect_timeout", "PGCONNECT_TIMEOUT", "15"),
        ("keepalives_idle", "", "60"),
        ("tcp_user_timeout", "", "120000"),
        ("application_name", "PGAPPNAME", "phalanx"),
    ]
    added: list[Any] = [
        f"{name}={value}"
        for name, variable, value in own
        if f"{name}=" not in url and variable not in os.environ
    ]
    return url + ("&" if "?" in url else "?") + "&".join(added) if added else url


_HOST: Final = r"(?:\[[0-9A-Fa-f:.%]+\]|[^@:/?#,\[\]]*)(?::\d*)?"
_URL: Final = re.compile(
    rf"postgres(?:ql)?://(?:[^@/?#]*@)?(?P<hosts>{_HOST}(?:,{_HOST})*)(?:/(?P<database>[^@/?#]*))?(?:\?(?P<options>[^@#]*))?"
)
_NO_URL: Final = (
    "the ledger url is not one of PostgreSQL; write postgresql://user@host/database, with %40 for"
    " @, %2F for / and so on inside a name, and keep the password in ~/.pgpass."
)
_SETTINGS: Final = """
    SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit')
                      WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false),
           set_config('search_path', quote_ident(current_schema()), false),
           set_config('lock_timeout', $1, false),
           set_config('idle_in_transaction_session_timeout', $2, false),
           set_config('client_encoding', 'UTF8', false),
           (SELECT set_config(name, '0', false) FROM pg_settings
            WHERE name = 'idle_session_timeout')"""
"""What is sent is UTF-8, whatever a user's own encoding is, and a publisher who works on a table is
silent for long (PostgreSQL 14 can end such a session). The schema is pinned, so that a schema that
another user makes later and that comes first in the search path does not hide the ledger.
"""

_NOT_OPEN: Final = (
    "cannot be opened; check host, database, user and password, and the log of the server, which"
    " says why."
)
_CONNECTING: Final = {
    r"password authentication failed": (
        "refuses the user or the password; put the right password into ~/.pgpass."
    ),
    r"no password supplied": (
        "asks for a password and none is given; put it into ~/.pgpass, not into the plan."
    ),
    r'database ".*" does not exist': (
        "does not exist; have the database made (createdb), or correct the url."
    ),
    r'role ".*" does not exist': (
        "knows no such user; name one in the url, as in postgresql://user@host/database."
    ),
    r"no pg_hba.conf entry|Peer authentication failed|Ident authentication failed": (
        "does not let this user in from here; ask its administrator for an entry in pg_hba.conf."
    ),
    r"permission denied to set role": (
        "does not let this user act as the role of the url's options; have that role granted to it."
    ),
    r"permission denied|not permitted to log in": (
        "does not let this user connect; ask its administrator for the right to CONNECT."
    ),
    r"too many (clients|connections)|remaining connection slots": (
        "has no connection left; try again when others have finished."
    ),
    r"the database system is": "is starting or stopping; try again in a moment.",
    r"SSL|certificate|TLS": (
        "cannot be opened because the encryption of the connection was not agreed on; check sslmode"
        " and the certificates."
    ),
    r"statement timeout": (
        "allows a statement too little time; have statement_timeout raised for this user."
    ),
    r"Connection refused|could not translate|No such file|timeout|timed out|unreachable|No route|server closed": (
        "cannot be reached; check host and port of the url, and whether the server is up."
    ),
}
"""What libpq says when it cannot connect, for which it has no numbers; a server that speaks another
language gets the general sentence.
"""

_LOST: Final = "lost its server; nothing was changed, so try again when the server is back."
_UNKNOWN: Final = (
    "lost its server in the moment of recording, so whether this was recorded is not known; "
    "'phalanx series show' says when the server is back, and the next publish goes on from there."
)
_GONE: Final = {"57P01", "57P02", "57P03", "57P05", "25P03", "25P04"}
_SENTENCES: Final = {
    "22": "cannot hold what it was given; use a database with encoding UTF8.",
    "23": (
        "does not take this because another publisher was faster; nothing was changed, so publish"
        " again."
    ),
    "40": (
        "was changed by others at the same moment; nothing of this was recorded, so publish again."
    ),
    "42": (
        "is damaged or was made by another version of Phalanx, since a table or column is missing;"
        " put back a copy of it."
    ),
    "53": (
        "has too little memory or too few connections left on its server; nothing was changed, so"
        " publish again later."
    ),
    "54": (
        "does not take a table of this size; nothing was changed, so publish fewer persons per"
        " series."
    ),
    "XX": "is damaged; have its administrator put back a copy of it.",
    "25006": (
        "may only be read here (the server is a standby, or was told so); nothing was changed, so"
        " name the server that takes changes."
    ),
    "42501": (
        "does not give you the permission; ask its owner for USAGE and CREATE on its schema, and"
        " for SELECT, INSERT, UPDATE and DELETE on its tables."
    ),
    "53100": (
        "cannot grow because the disk of its server is full; nothing was changed, so have room made"
        " and publish again."
    ),
    "55P03": "is locked by another publisher of this series; try again when it has finished.",
    "57014": (
        "was interrupted in its work, by you, by its administrator or by its time limit"
        " (statement_timeout); nothing was changed, so publish again."
    ),
    "58030": (
        "cannot be read or written because the disk of its server reports an error; nothing was"
        " changed."
    ),
}
"""By SQLSTATE, or by its class."""
