# SPDX-License-Identifier: Apache-2.0
"""SQL databases as sources, through ADBC: SQLite files and PostgreSQL, opened to read only."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from phalanx.errors import SourceError, did_you_mean, require_extra

_OUR_FAULT: Final = re.compile(
    r"no such (?:table|column|function)[^\n]*|syntax"
    r" error[^\n]*|(?:relation|column|function|schema) [^\n]* does not exist|incomplete input",
    re.IGNORECASE,
)
"""What a database says about the query; all else it says may quote values and is not repeated."""


def read_query(url: str, query: str | None, text: Collection[str] = ()) -> Any:
    """The rows of a query as a PyArrow table; SourceError where the database cannot be opened or
    refuses the query.

    Of SQLite, where a column's type follows its rows, the columns in ``text`` are read as text, so
    that no row decides how another one's value is written.
    """
    scheme = url.split("://", 1)[0]
    if not query or not query.strip():
        raise SourceError(f'a {scheme} source needs a query; add query = "select …".')
    if scheme == "sqlite":
        connect, batches = _sqlite(url), {"adbc.sqlite.query.batch_rows": "1048576"}
    elif scheme in ("postgresql", "postgres"):
        connect, batches = _postgresql(url), {}
    else:
        raise SourceError(
            f"a source of the kind {scheme!r} is not known; give a path, sqlite:///file.db or"
            " postgresql://…."
        )
    return _fetch(connect, query, scheme, batches, text)


def sqlite_path(url: str) -> Path:
    """The file of ``sqlite:///relative.db`` or ``sqlite:////absolute.db``."""
    if not url.startswith("sqlite:///") or url == "sqlite:///":
        raise SourceError(
            f"{url!r} names no SQLite file; write sqlite:///file.db, with three slashes."
        )
    return Path(url.removeprefix("sqlite:///"))


def _sqlite(url: str) -> Any:
    import adbc_driver_sqlite.dbapi as sqlite

    path = sqlite_path(url)
    if not path.is_file():
        siblings = (
            [p.name for p in path.parent.iterdir() if p.is_file()] if path.parent.is_dir() else []
        )
        raise SourceError(
            "there is no database"
            f" {str(path)!r}{did_you_mean(path.name, siblings) or '; check the url of the source.'}"
        )
    return lambda: sqlite.connect(f"file:{quote(str(path.resolve()))}?mode=ro")


def _postgresql(url: str) -> Any:
    require_extra("postgres", "reading PostgreSQL")
    import adbc_driver_postgresql.dbapi as postgresql

    return lambda: postgresql.connect(url)


def _fetch(
    connect: Any, query: str, scheme: str, options: dict[str, str], text: Collection[str]
) -> Any:
    import adbc_driver_manager as adbc
    import pyarrow as pa

    try:
        connection = connect()
    except adbc.Error:  # its message holds the url, and that the password
        raise SourceError(
            f"the {scheme} database of the source cannot be opened; check its url and whether it"
            " is up."
        ) from None
    try:
        with connection, connection.cursor() as cursor:
            if scheme != "sqlite":
                cursor.execute("SET TRANSACTION READ ONLY")
            if options:
                cursor.adbc_statement.set_options(**options)
            if scheme == "sqlite" and text:
                query = _with_text(cursor, query, text)
            cursor.execute(query)
            return cursor.fetch_arrow_table()
    except (adbc.Error, pa.ArrowException, OSError) as refused:
        fault = _OUR_FAULT.search(str(refused))
        hint = f" ({fault[0].strip()})" if fault else ""
        raise SourceError(
            f"the {scheme} database refuses the query of the source{hint}; try the query in the"
            " database's own shell, with one type per column."
        ) from None


def _with_text(cursor: Any, query: str, text: Collection[str]) -> str:
    """The query with those of its columns that are to be text made so by SQLite, value by value."""
    inner = f"(\n{query.strip().rstrip(';')}\n)"
    cursor.execute(f"SELECT * FROM {inner} LIMIT 0")  # noqa: S608 - the steward's own query, in a database that is opened to read only
    columns = [
        (name, '"' + name.replace('"', '""') + '"')
        for name in cursor.fetch_arrow_table().column_names
    ]
    if not any(name in text for name, _ in columns):
        return query
    wanted = ", ".join(
        f"CAST({quoted} AS TEXT) AS {quoted}" if name in text else quoted
        for name, quoted in columns
    )
    return f"SELECT {wanted} FROM {inner}"  # noqa: S608 - the same


def shown(url: str) -> str:
    """The url without user and password, for messages.

    >>> shown("postgresql://ann:secret@host/db")
    'postgresql://host/db'
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
