# SPDX-License-Identifier: Apache-2.0
"""A CSV file that is larger than the memory, some lines at a time: what ``csv_files`` makes of it,
which is all columns as text first, and then the types that all rows allow.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import polars as pl

from phalanx.data.sources.available_memory import memory_left
from phalanx.data.sources.csv_files import (
    MAX_LINE,
    Parser,
    check_lines,
    filled,
    other_decimals,
    parsed,
    parsed_by,
    parsers,
    unpaired,
)
from phalanx.data.sources.dialects import (
    SEPARATORS,
    Dialect,
    Marks,
    Separator,
    decimal_by,
    encoding_of_blocks,
    separator_of,
)
from phalanx.data.sources.frames import apart
from phalanx.data.sources.quotes import lines_ended
from phalanx.data.sources.reading import check_values, refusing, unreadable

_AT_ONCE: Final = 1 << 23
"""Bytes that are read at a time."""
_HEAD: Final = 1 << 20
_CELL: Final = 48
"""Bytes that a value takes while a file is read whole and looked at, beside those of the file."""


def text_blocks(path: Path, dialect: Dialect) -> Iterator[pl.DataFrame]:
    """All columns as text, some rows at a time, in their order; SourceError as ``read_csv``, with the
    line of the file.

    A line break within quotes is none between rows.
    """
    header, held, before, columns = b"", b"", 0, 0
    blocks = _blocks(path)
    more = next(blocks, b"")
    while more or held:
        held += more
        more = next(blocks, b"")
        if more and columns > 1 and not held.strip(b"\r\n"):
            held = b"\n"  # of empty lines, which are the last or the fault, one says as much
            continue
        end = end_of_rows(held, single=columns == 1) if more else len(held)
        if not end and len(held) > MAX_LINE + _AT_ONCE:
            check_lines(held, path.name)
            raise unpaired(path.name, dialect.separator, before + 1)
        if not end:
            continue
        rows, held = held[:end], held[end:]
        frame = parsed(header + rows, path, dialect, before=before - bool(header))[0]
        check_values(frame)
        columns = frame.width
        yield frame
        header = header or rows[: rows.find(b"\n") + 1]
        before += rows.count(b"\n")


def _blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, so many at a time; nothing is silenced while they are looked at."""
    with ExitStack() as opened:
        with refusing(unreadable(path)):
            file = opened.enter_context(path.open("rb"))
        while True:
            with refusing(unreadable(path)):
                block = file.read(_AT_ONCE)
            if not block:
                return
            yield block


class Types:
    """What the columns may be by all rows that were seen."""

    def __init__(self, dialect: Dialect, text: Collection[str] | None) -> None:
        """Nothing is seen yet; the columns in ``text`` are text, None: all."""
        self._dialect = dialect
        self._text = text
        self._left: dict[str, list[Parser]] = {}
        self._marks: dict[str, Marks] = {}

    def see(self, frame: pl.DataFrame) -> None:
        """Take in some rows, of which all columns are text."""
        if self._text is None:
            return
        for column in frame.get_columns():
            values = filled(column)
            if column.name in self._text or values.null_count() == len(values):
                continue
            left = self._left.get(column.name, parsers(self._dialect.decimal))
            self._left[column.name] = [parse for parse, _ in parsed_by(left, values)]
            if self._dialect.decimal is None and self._dialect.separator != ",":
                self._marks.setdefault(column.name, Marks()).see(column)

    def check_decimals(self, path: Path) -> None:
        """SourceError where they are written otherwise than the dialect states, as ``read_csv`` says."""
        if decimal_by(self._marks.values()) == ",":
            raise other_decimals(path)

    @property
    def parsers(self) -> Mapping[str, Parser]:
        """How each column is parsed that is no text."""
        return {name: left[0] for name, left in self._left.items() if left}


def head_of(path: Path) -> bytes:
    """The beginning of a file, with its header; SourceError where it may not be read."""
    with refusing(unreadable(path)), path.open("rb") as file:
        return file.read(_HEAD)


def fits(path: Path) -> bool:
    """Whether the memory holds a CSV file, and what it takes to read it whole and look at its
    columns, by how many values its beginning has.
    """
    head = head_of(path)
    size = path.stat().st_size
    cells = head.count(b"\n") + max(head.count(each.encode()) for each in SEPARATORS)
    return size * (2 + _CELL * cells // max(len(head), 1)) <= memory_left()


def rows_of(path: Path) -> int:
    """How many lines there are behind the header that do not end within quotes; so it is no matter
    how long values are.
    """
    rows, inside, block = -1, 0, b""
    for block in _blocks(path):
        ended, inside = lines_ended(block, inside)
        rows += ended
    return max(rows + (not block.endswith(b"\n")), 0)


def dialect_by_blocks(path: Path, text: Collection[str] | None = ()) -> Dialect:
    """As ``dialect_of`` finds it of all of a file that is not packed, some lines at a time; columns in
    ``text`` (``None``: all) hold no numbers.
    """
    head = head_of(path).decode("utf-8", errors="surrogateescape")
    separator: Separator = "\t" if path.suffix.lower() == ".tsv" else separator_of(head)
    encoding = encoding_of_blocks(lambda: _blocks(path))
    dialect = Dialect(separator, encoding=encoding)
    if separator == ",":
        return dialect
    marks: dict[str, Marks] = {}
    for frame in text_blocks(path, dialect):
        for column in frame.get_columns():
            if text is None or column.name in text:
                continue
            marks.setdefault(column.name, Marks()).see(column)
    return dialect._replace(decimal=decimal_by(marks.values()))


def sample_by_blocks(path: Path, dialect: Dialect, most: int) -> tuple[pl.DataFrame, int]:
    """At most so many rows at equal distances, and how many there are; types as all rows allow."""
    types, taken, step, rows = Types(dialect, ()), list[pl.DataFrame](), 1, 0
    for frame in text_blocks(path, dialect):
        types.see(frame)
        taken.append(apart(frame.gather_every(step, -rows % step)))
        rows += frame.height
        while sum(some.height for some in taken) > most:  # every other row of them
            taken, step = [pl.concat(taken).gather_every(2)], 2 * step
    return typed(pl.concat(taken), types.parsers), rows


def typed(frame: pl.DataFrame, parsers: Mapping[str, Parser]) -> pl.DataFrame:
    """Columns of text as what the parsers of some of them make of them."""
    made = (parse(filled(frame[name])) for name, parse in parsers.items() if name in frame)
    return frame.with_columns(column for column in made if column is not None)


def end_of_rows(held: bytes, *, single: bool = False) -> int:
    """Where the last row that is whole ends; 0 where none is. Empty lines behind it, which may be
    the last of the file, are left to what follows, unless they are rows of a ``single`` column.
    """
    end = len(held)
    if not single:
        end = len(held.rstrip(b"\r\n"))
        end = max(held.find(b"\n", end) + 1, end)
    quotes = held.count(b'"', 0, end)
    while (at := held.rfind(b"\n", 0, end)) >= 0:
        quotes -= held.count(b'"', at, end)
        row_end = at - held.startswith(b"\r", max(at - 1, 0))
        is_empty = held[max(row_end - 1, 0) : row_end] in (b"", b"\n")
        if quotes % 2 == 0 and (single or not is_empty):
            return at + 1
        end = at
    return 0
