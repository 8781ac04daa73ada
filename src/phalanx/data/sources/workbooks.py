# SPDX-License-Identifier: Apache-2.0
"""Excel workbooks with one table, read as the CSV that Excel would save of it."""

import logging
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final

import polars as pl

from phalanx.data.names import check_names
from phalanx.data.sources.available_memory import in_words
from phalanx.data.sources.csv_files import inferred
from phalanx.data.sources.reading import check_size, malformed, refusing
from phalanx.errors import SourceError, require_extra

_REFERENCE: Final = re.compile(rb"""\br\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
_COLUMNS: Final = 1 << 14
_ROWS: Final = 1 << 20
"""So large is a sheet at most, in Excel."""
_PART: Final = 1 << 22
_LONGEST_REFERENCE: Final = 64
_ALWAYS_UNPACKED: Final = 1 << 28
_MOST_UNPACKED: Final = 200
"""So often may a workbook unpack to its own size, beyond ``_ALWAYS_UNPACKED`` bytes; one whose
cells are all alike unpacks to 13 times its size.
"""
_NUMBER: Final = r"^-?[0-9]+(\.[0-9]+)?$"
_DAY_0: Final = date(1899, 12, 31)
"""To which Excel's times belong that have no date."""
_TIME: Final = r"^1899-12-31[ T]([0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?)$"
"""A time, as the reader writes it: alone whatever other cells of its column hold."""
_CELL: Final = 32
"""Bytes that the reader takes for a cell, an empty one too."""


def read_workbook(path: Path, *, text: Collection[str] | None = ()) -> pl.DataFrame:
    """The only sheet with anything in it, its first row the header; ExtraError where the reader is
    not installed.

    Types follow the rows as in ``read_csv``; a column of times that are all midnight is one of
    dates, as Excel has no dates without a time, and one of times without a date is one of times of
    day. Numbers are those that the cells hold. Empty rows at the end are no rows.

    Raises SourceError for a file that is no workbook or needs more memory than it should, for a
    second sheet that is not empty, a header that lacks a name or has one twice, and a cell that
    holds an error such as #N/A.
    """
    require_extra("files", "reading Excel files")
    import fastexcel

    for logs in ("calamine", "fastexcel"):  # what they log may quote the file
        logging.getLogger(logs).setLevel(logging.CRITICAL + 1)
    unreadable = malformed(path, "Excel")
    with refusing(unreadable):
        _check_cells(path)
        book = fastexcel.read_excel(path)
        sheets = [
            book.load_sheet(i, header_row=None, dtypes="string", skip_whitespace_tail_rows=True)
            for i in range(len(book.sheet_names))
        ]
        filled = [(i, sheet) for i, sheet in enumerate(sheets) if sheet.width]
        if len(filled) != 1:
            raise SourceError(
                f"the file {path.name!r} has {len(filled)} sheets that are not empty, and one table"
                " is read; save that table as a workbook of its own."
            )
        number, sheet = filled[0]
        cells, errors = sheet.to_arrow_with_errors()
        if errors is not None and errors.errors:
            row = errors.errors[0].position[0] + 1
            raise SourceError(
                f"row {row} of the table in {path.name!r} has a cell with an error such as #N/A;"
                " correct it, or empty the cell."
            )
        frame = pl.DataFrame(cells)
        frame, names = frame[1:], _header(path, frame.row(0))
        frame.columns = names

        def loaded(**kinds: Any) -> list[pl.Series]:
            asked = book.load_sheet(number, header_row=0, skip_whitespace_tail_rows=True, **kinds)
            return pl.DataFrame(asked.to_arrow_with_errors()[0]).get_columns()

        return pl.DataFrame(_as_cells_hold(frame, loaded, names if text is None else text))


def _header(path: Path, names: tuple[str | None, ...]) -> list[str]:
    header: list[str] = []
    for i, name in enumerate(names, 1):
        if not name:
            raise SourceError(
                f"the first row of {path.name!r} has no name for column {i}; name it, and leave"
                " nothing above the header."
            )
        if name in header:
            raise SourceError(
                f"the first row of {path.name!r} names {name!r} twice; rename one of the columns."
            )
        header.append(name)
    check_names(header, SourceError)
    return header


def _as_cells_hold(
    written: pl.DataFrame, loaded: Callable[..., list[pl.Series]], text: Collection[str]
) -> Iterator[pl.Series]:
    """Columns as they are ``written``, by the reader, which gives nine places of a number and the day
    0 to a time; with the types and numbers that it gives when it is asked for these, ``loaded``.
    """
    held = loaded(schema_sample_rows=None)
    mixed = [
        i
        for i, (texts, cells) in enumerate(zip(written, held, strict=True))
        if cells.dtype == pl.String and texts.str.contains(_NUMBER).any(ignore_nulls=True)
    ]
    numbers = loaded(dtypes=dict.fromkeys(mixed, "float")) if mixed else held
    for texts, cells, floats in zip(written, held, numbers, strict=True):
        name, is_text = texts.name, texts.name in text
        if cells.dtype == pl.Duration:
            yield (cells.dt.to_string("iso") if is_text else cells).alias(name)
        elif cells.dtype == pl.Datetime and (cells.drop_nulls().dt.date() <= _DAY_0).all():
            yield texts.str.replace(_TIME, "$1") if is_text else cells.dt.time().alias(name)
        elif floats.dtype != pl.Float64:
            yield texts.str.replace(_TIME, "$1") if is_text else _typed(texts)
        else:
            exact = _with_all_digits(texts, floats)
            alone = cells.dtype == pl.Float64 and cells.null_count() == texts.null_count()
            whole = not alone or (exact.equals(texts) and inferred(texts).dtype.is_integer())
            yield (
                exact.str.replace(_TIME, "$1")
                if is_text
                else _typed(exact)
                if whole
                else floats.alias(name)
            )


def _with_all_digits(texts: pl.Series, floats: pl.Series) -> pl.Series:
    """A column of texts, of which those are written anew that are other numbers than their cells."""
    other = (texts.cast(pl.Float64, strict=False) != floats).fill_null(value=False)
    return texts.set(other, None).fill_null(floats.set(~other, None).cast(pl.String))


def _typed(column: pl.Series) -> pl.Series:
    typed = inferred(column)
    if (
        typed.dtype == pl.Datetime
        and (typed.drop_nulls() == typed.drop_nulls().dt.truncate("1d")).all()
    ):
        return typed.cast(pl.Date)
    return typed


def _check_cells(path: Path) -> None:
    """Refuse a part that unpacks to more than it says, and a sheet that is large by one far cell,
    before the reader makes room for all between: by the references that stand in the file, as what
    it says of its size may be wrong.
    """
    with zipfile.ZipFile(path) as packed:
        parts = packed.infolist()
        weight, size = path.stat().st_size, sum(part.file_size for part in parts)
        if size > _ALWAYS_UNPACKED and size > _MOST_UNPACKED * weight:
            raise SourceError(
                f"the file {path.name!r} unpacks to {in_words(size)} from {weight} bytes, more"
                " than a workbook of this size holds; it is damaged or hostile, so get it anew."
            )
        check_size(path, 0, size)
        for part in parts:
            is_sheet = part.filename.lower().startswith("xl/worksheets/")
            rows = width = 1
            rest = b""
            for data in _unpacked(path, packed, part):
                for letters, digits in _REFERENCE.findall(rest + data) if is_sheet else ():
                    rows = max(rows, int(digits))
                    width = max(width, _number(letters.upper()))
                if rows > _ROWS or width > _COLUMNS:
                    raise malformed(path, "Excel")
                rest = data[-_LONGEST_REFERENCE:]
            check_size(path, rows * width, rows * width * _CELL)


def _unpacked(path: Path, packed: zipfile.ZipFile, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """All that a part holds; the reader unpacks it to its end, whatever length it states."""
    stated, part.file_size = part.file_size, sys.maxsize
    with packed.open(part) as file:
        while data := file.read(_PART):
            stated -= len(data)
            if stated < 0:
                raise malformed(path, "Excel")
            yield data


def _number(letters: bytes) -> int:
    """A column by its letters: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number
