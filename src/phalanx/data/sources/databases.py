# SPDX-License-Identifier: Apache-2.0
"""SQL databases as sources, through ADBC: SQLite files and PostgreSQL, opened to read only."""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from phalanx.data.sources.available_memory import memory_left
from phalanx.data.sources.reading import check_value
from phalanx.errors import MachineError, SourceError, did_you_mean, require_extra

_FAULTS: Final = {
    r"no such (table|column|function)|(relation|column|function|schema) [^\n]* does not exist": (
        "no such {}"
    ),
    r"syntax error|incomplete input": "syntax error",
    r"out of memory|too big": "it needs too much memory for a row",
}
"""What a database may say about a query, and what is passed on: its other words may be the query's,
or values.
"""
_HEAP: Final = 1 << 29
"""Bytes that SQLite may take to make a row: a query can make a value of a gigabyte of nothing."""
_OTHER_TYPE: Final = "Type mismatch in column"
"""What SQLite's driver says of rows that came too late."""
_DIGITS: Final = 18
"""Whole numbers of so many digits are whole numbers of 64 bits."""
_BATCH_ROWS: Final = "adbc.sqlite.query.batch_rows"
_FIRST: Final = (1 << 10, 1 << 20)
"""By so many first rows SQLite's driver decides what type a column is: a few to begin with."""


def read_query(url: str, query: str | None, text: Collection[str] = ()) -> Any:
    """The rows of a query as a PyArrow table; SourceError where the database cannot be opened or
    refuses the query, or where they take more than half of the memory that is left.

    Of SQLite, where a column's type follows its rows, the columns in ``text`` are read as text, so
    that no row decides how another one's value is written; so are those that have a text among their
    first million rows. PostgreSQL's exact decimals are numbers, but for the columns in ``text``.
    """
    with rows_of_query(url, query, text) as reader:
        return within_memory(reader)


@contextmanager
def rows_of_query(url: str, query: str | None, text: Collection[str] = ()) -> Iterator["Rows"]:
    """The same rows some at a time, while the database is open; SourceError for a value that is too
    long, too.
    """
    scheme = url.split("://", 1)[0]
    if scheme not in ("sqlite", "postgresql", "postgres"):
        raise SourceError(
            f"a source of the kind {scheme!r} is not known; give a path, sqlite:///file.db or"
            " postgresql://…."
        )
    if not query or not query.strip():
        raise SourceError(f'a {scheme} source needs a query; add query = "select …".')
    if scheme == "sqlite":
        with (
            _nothing_left(sqlite_path(url)),
            _opened(_sqlite(url), query, scheme, text) as rows,
        ):
            yield rows
        return
    with _opened(_postgresql(url), query, scheme, text) as rows:
        yield rows


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
    return lambda: sqlite.connect(_uri(path, "ro"))


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path.resolve()))}?mode={mode}"


@contextmanager
def _nothing_left(path: Path) -> Iterator[None]:
    """A database with a write-ahead log that is not in use gets the log's two files by being read, and
    who may only read cannot take them away again. SQLite does, once a connection that may write has
    come and gone, unless another one is open.
    """
    import adbc_driver_sqlite.dbapi as sqlite

    logs = [Path(f"{path.resolve()}{end}") for end in ("-wal", "-shm")]
    before = any(log.exists() for log in logs)
    try:
        yield
    finally:
        if not before and any(log.exists() for log in logs):
            try:
                with sqlite.connect(_uri(path, "rw")) as connection, connection.cursor() as cursor:
                    cursor.execute("SELECT count(*) FROM sqlite_master")
                    cursor.fetchall()
            except sqlite.Error as refused:
                if "not a database" in str(refused):  # so that no other connection is open
                    for log in logs:
                        log.unlink(missing_ok=True)


def _postgresql(url: str) -> Any:
    require_extra("postgres", "reading PostgreSQL")
    import adbc_driver_postgresql.dbapi as postgresql

    return lambda: postgresql.connect(url)


class Rows:
    """Some rows after the other, of one schema, as PyArrow gives them."""

    def __init__(
        self, reader: Any, refused: Callable[[Exception], SourceError], text: Collection[str]
    ) -> None:
        self._decimals = decimals_of(reader.schema, text)
        self.schema = reader.schema
        for place, kind in self._decimals.items():
            field = self.schema.field(place).with_type(kind).remove_metadata()
            self.schema = self.schema.set(place, field)
        self._reader, self._refused = reader, refused

    def __iter__(self) -> Iterator[Any]:
        """Go on; SourceError for a value that is too long, and where the database fails."""
        import adbc_driver_manager as adbc
        import pyarrow as pa
        import pyarrow.compute as pc

        while True:
            try:
                batch = next(self._reader, None)
            except (pa.ArrowMemoryError, MemoryError):
                raise _too_many() from None
            except (adbc.Error, pa.ArrowException, OSError) as refused:
                raise self._refused(refused) from None
            if batch is None:
                return
            for name, values in zip(batch.schema.names, batch.columns, strict=True):
                if pa.types.is_string(values.type) or pa.types.is_binary(values.type):
                    check_value(name, pc.max(pc.binary_length(values)).as_py() or 0)
            if self._decimals:
                columns = list(batch.columns)
                for place, kind in self._decimals.items():
                    columns[place] = _numbers(batch.schema.names[place], columns[place], kind)
                batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
            yield batch


def decimals_of(schema: Any, text: Collection[str]) -> dict[int, Any]:
    """Which columns are exact decimals of PostgreSQL, of which the driver gives the text, and what
    type of number they are read as; SourceError for an amount of money, of which it gives cents.
    """
    import pyarrow as pa

    decimals: dict[int, Any] = {}
    for place, field in enumerate(schema):
        kind = (field.metadata or {}).get(b"POSTGRESQL:type")
        if kind == b"money":
            raise SourceError(
                f"the query's column {field.name!r} is of the type money, which is read as cents or"
                " the like; cast it to numeric in the query."
            )
        if kind == b"numeric" and field.name not in text:
            modifier = int(field.metadata.get(b"POSTGRESQL:typmod", b"-1")) - 4
            digits, behind = modifier >> 16, modifier & 0x7FF
            whole = modifier >= 0 and behind == 0 and digits <= _DIGITS
            decimals[place] = pa.int64() if whole else pa.float64()
    return decimals


def _numbers(name: str, texts: Any, kind: Any) -> Any:
    """Decimals as numbers: whole numbers as they are, others as the nearest float; SourceError for
    one that has more digits than floats tell apart, as a number of a person may.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = pc.cast(getattr(texts, "storage", texts), kind)
    if pa.types.is_floating(kind):
        large = pc.and_(pc.is_finite(numbers), pc.greater_equal(pc.abs(numbers), 2.0**53))
        if pc.any(large).as_py():
            raise SourceError(
                f"the query's column {name!r} has decimals beyond 2^53, which floats do not tell apart;"
                " cast it to bigint, text or double precision in the query."
            )
    return numbers


@contextmanager
def _opened(connect: Any, query: str, scheme: str, text: Collection[str]) -> Iterator[Rows]:
    import adbc_driver_manager as adbc
    import pyarrow as pa

    def refusal(refused: Exception) -> SourceError:
        if scheme == "sqlite" and _OTHER_TYPE in str(refused):
            return SourceError(
                "a column of the query has other types behind its first million rows; order the rows"
                " so that each column has a value before, or cast it to one type."
            )
        return SourceError(
            f"the {scheme} database refuses the query of the source{_hint(str(refused))}; try the query in the"
            " database's own shell, with one type per column."
        )

    try:
        connection = connect()
    except adbc.Error:  # its message holds the url, and that the password
        raise SourceError(
            f"the {scheme} database of the source cannot be opened; check its url and whether it"
            " is up."
        ) from None
    with ExitStack() as opened:
        try:
            opened.enter_context(connection)
            cursor = opened.enter_context(connection.cursor())
            if scheme == "sqlite":
                cursor.execute(f"PRAGMA hard_heap_limit = {_HEAP}")
                cursor.execute(f"EXPLAIN SELECT * FROM {_inner(query)}")  # noqa: S608 - explained only: what is no SELECT may make files
                reader = _asked(connection, opened, query, text)
            else:
                cursor.execute("SET TRANSACTION READ ONLY")
                cursor.execute(query)
                reader = cursor.fetch_record_batch()
            rows = Rows(reader, refusal, text)
        except (adbc.Error, pa.ArrowException, OSError) as refused:
            raise refusal(refused) from None
        yield rows


def check_room(batch: Any, room: int) -> int:
    """What is left of the room for rows behind some of them; MachineError where there is none."""
    if batch.nbytes > room:
        raise _too_many()
    return room - int(batch.nbytes)


def _too_many() -> MachineError:
    return MachineError(
        "the query gives more rows than there is memory for; ask for fewer, or read it on a"
        " larger machine."
    )


def within_memory(rows: Rows) -> Any:
    """All rows, as a table; MachineError before they take more than half of the memory that is
    left.
    """
    import pyarrow as pa

    batches, room = [], memory_left() // 2
    for batch in rows:
        room = check_room(batch, room)
        batches.append(batch)
    return pa.Table.from_batches(batches, schema=rows.schema)


def _hint(message: str) -> str:
    for pattern, words in _FAULTS.items():
        if fault := re.search(pattern, message, re.IGNORECASE):
            kind = next(filter(None, fault.groups()), "")
            return f" ({words.format(kind.lower())})"
    return ""


def _asked(connection: Any, opened: ExitStack, query: str, text: Collection[str]) -> Any:
    """What reads the rows of a query to SQLite: of columns that have a text as text, as numbers beside
    it come from the driver with seven digits, and from SQLite with all. Each time it is asked by
    another cursor, as one goes on where it was when it is asked the same again.
    """
    import pyarrow as pa

    texts, looks = set(text), list(_FIRST)
    while True:
        cursor = opened.enter_context(connection.cursor())
        cursor.adbc_statement.set_options(**{_BATCH_ROWS: str(looks[0])})
        cursor.execute(_with_text(cursor, query, texts) if texts else query)
        reader = cursor.fetch_record_batch()
        more = {f.name for f in reader.schema if pa.types.is_string(f.type)} - texts
        if not more and len(looks) == 1:
            return reader
        reader.close()
        cursor.close()
        texts |= more
        looks = looks[-1:]


def _with_text(cursor: Any, query: str, text: Collection[str]) -> str:
    """The query with those of its columns that are to be text made so by SQLite, value by value."""
    inner = _inner(query)
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


def _inner(query: str) -> str:
    """The query as a part of another one, which nothing can be but a SELECT."""
    return f"(\n{query.strip().rstrip(';')}\n)"


def shown(url: str) -> str:
    """The url without user and password, for messages.

    >>> shown("postgresql://ann:secret@host/db")
    'postgresql://host/db'
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}{parts.path}"
