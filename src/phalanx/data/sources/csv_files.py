# SPDX-License-Identifier: Apache-2.0
"""CSV as people write it: one header, types inferred from every row, nothing guessed away."""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from phalanx.data.names import check_names
from phalanx.data.sources.available_memory import memory_left
from phalanx.data.sources.dialects import (
    SEPARATOR_NAMES,
    Decimal,
    Dialect,
    Encoding,
    Separator,
    decimal_of,
    encoding_of,
    separator_of,
)
from phalanx.data.sources.quotes import lines_ended, stray_quote, unlike_row
from phalanx.data.sources.reading import MAX_VALUE, check_size, refusing, unreadable
from phalanx.errors import SourceError

MAX_EXPANSION: Final = 200
"""So often may a .gz file grow when unpacked, beyond ``ALWAYS_BYTES``."""
ALWAYS_BYTES: Final = 1 << 27
MAX_LINE: Final = MAX_VALUE
"""Bytes that a line may have; checked before anything is made of it."""

_PART: Final = 1 << 20
"""Bytes that are unpacked at a time, so that a small file never asks for much."""
_CELL: Final = 16
"""Bytes that a value takes as text, beside its own."""
_PROBE: Final = 200
"""So many values decide which types are worth trying on the whole column."""
_TYPED: Final = re.compile(r"[\s\d+.-]|nan|inf", re.IGNORECASE)
"""How numbers and dates begin: of a wide table, most columns are known as text by one value."""
_TIMESTAMPS: Final = (
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M",
    "%Y-%m-%d %H:%M",
)
_DOTTED: Final = r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}($|[ T])"
"""No one writes the month first with points."""
_DOTTED_TIMESTAMPS: Final = ("%d.%m.%Y %H:%M:%S%.f", "%d.%m.%Y %H:%M")


def read_csv(
    path: Path,
    *,
    dialect: Dialect | None = None,
    packed: bool = False,
    text: Collection[str] | None = (),
) -> pl.DataFrame:
    """Read a CSV file whole, written in ``dialect``; ``None``: as ``dialect_of`` detects.

    Columns in ``text`` (``None``: all) are text whatever they hold, so that no row decides how
    another one's value is written.

    Types of the others come from every row: whole numbers, numbers, dates and timestamps (ISO, or
    day.month.year), else text. A column is text as soon as one value has a leading zero before
    another digit or a plus sign (zip codes, telephone numbers), or more digits than a number keeps.

    Missing values: an empty field is missing. A quoted empty field (``""``) is the empty text, a
    value, in a column of text, as in Parquet and in SQL's COPY; in a column of numbers or dates it
    is missing. ``NaN`` in a column of numbers is a missing number, ``NA`` is text.

    Raises SourceError for bytes that are not of its encoding, rows with too many or too few fields,
    and header names that are empty or occur twice, with the line; and for numbers that ``decimal_of``
    says have a comma before their decimals, where the dialect does not state what they have.
    """
    frame, used = _read(path, dialect, packed=packed)
    typed = [c for c in frame.get_columns() if text is not None and c.name not in text]
    with refusing(_malformed(path)):
        decimal = used.decimal or decimal_of(used.separator, typed)
    if dialect is not None and dialect.decimal is None and decimal == ",":
        raise other_decimals(path)
    with refusing(_malformed(path)):
        return frame.with_columns(inferred(column, decimal) for column in typed)


def dialect_of(path: Path, *, packed: bool = False) -> Dialect:
    """The dialect of a CSV file: the separator by its header line (a tab in a ``.tsv``), the
    encoding by its bytes, the decimal mark by its columns.

    Raises SourceError as ``read_csv``.
    """
    frame, used = _read(path, None, packed=packed)
    with refusing(_malformed(path)):
        return used._replace(decimal=decimal_of(used.separator, frame.get_columns()))


def _read(path: Path, dialect: Dialect | None, *, packed: bool) -> tuple[pl.DataFrame, Dialect]:
    """All columns as text, and how they were written, but for decimals that are not stated."""
    with refusing(unreadable(path)):
        check_size(path, 0, 2 * path.stat().st_size)
        data = _unpacked(path) if packed else path.read_bytes()
    return parsed(data, path, dialect, packed=packed)


def parsed(
    data: bytes,
    path: Path,
    dialect: Dialect | None,
    *,
    packed: bool = False,
    before: int = 0,
) -> tuple[pl.DataFrame, Dialect]:
    """The same of the bytes of a file, or of some of its lines behind its header, with so many
    lines ``before`` them.
    """
    check_lines(data, path.name)
    encoding = encoding_of(data) if dialect is None else dialect.encoding
    data = _as_utf8(data, path.name, encoding, before).removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise SourceError(f"the file {path.name!r} is empty; give a table with a header line.")
    head = _head(data, path.name)
    if dialect is None:
        tabs = (Path(path.stem) if packed else path).suffix.lower() == ".tsv"
        dialect = Dialect("\t" if tabs else separator_of(head), encoding=encoding)
    separator = dialect.separator
    header = _header(head, data, path.name, separator)
    if (line := stray_quote(data, separator)) is not None:
        raise _not_utf8(data, path.name, before) or unpaired(path.name, separator, before + line)
    check_names(header, SourceError)
    cells = data.count(separator.encode()) + data.count(b"\n")
    check_size(path, cells, len(data) + _CELL * cells)
    if len(header) > 1:
        data = _without_last_lines(data)
    malformed = _malformed(path)
    try:
        with refusing(malformed):
            frame = pl.read_csv(data, separator=separator, infer_schema=False, raise_if_empty=False)
    except SourceError as refused:
        raise (
            _explained(data, path.name, separator, len(header), before)
            if refused is malformed
            else refused
        ) from None
    rows = lines_ended(data)[0] - data.endswith(b"\n")
    may_be_short = frame.width > 1 and frame.height and frame[:, -1].null_count()
    if (frame.width, frame.height) != (len(header), rows) or (
        (may_be_short or data[-4:].rstrip(b"\r\n").endswith(separator.encode()))
        and _is_short(data, separator, frame)
    ):
        raise _explained(data, path.name, separator, len(header), before)
    frame.columns = header
    return frame, dialect


def _without_last_lines(data: bytes) -> bytes:
    """Without the empty lines behind the last row, and not copied where there are none."""
    if data[-3:].rstrip(b"\r\n") and data[-3:].count(b"\n") <= 1:
        return data
    rows = data.rstrip(b"\r\n")
    return rows + data[len(rows) : data.find(b"\n", len(rows)) + 1]


def _malformed(path: Path) -> SourceError:
    return SourceError(
        f"the file {path.name!r} cannot be read as CSV; save it again as CSV in UTF-8."
    )


def other_decimals(path: Path) -> SourceError:
    """What says that numbers are written otherwise than a dialect states."""
    return SourceError(
        f'numbers in {path.name!r} have a comma before their decimals; write decimal = "," under'
        ' [source] of the plan (or ".", if they are no numbers).'
    )


def _as_utf8(data: bytes, file: str, encoding: Encoding, before: int) -> bytes:
    if encoding == "utf-8":
        return data
    try:
        return data.decode(encoding).encode()
    except UnicodeDecodeError as wrong:
        line = before + data.count(b"\n", 0, wrong.start) + 1
        raise SourceError(
            f"line {line} of {file!r} is not Windows-1252; save the file as UTF-8."
        ) from None


def inferred(text: pl.Series, decimal: Decimal | None = None) -> pl.Series:
    """A column of text as whole numbers, numbers, dates or timestamps where every value is one;
    else as it is.

    >>> inferred(pl.Series(["01234", "99999"])).dtype, inferred(pl.Series(["1", "", "2"])).to_list()
    (String, [1, None, 2])
    """
    values = filled(text)
    return next((made for _, made in parsed_by(parsers(decimal), values)), text)


Parser = Callable[[pl.Series], pl.Series | None]
"""A column of text as one type, written in one form; None where a value is not."""


def parsers(decimal: Decimal | None) -> list[Parser]:
    """What a column of text may be, in the order in which it is tried."""
    return [
        _whole,
        _number_with_comma if decimal == "," else _number,
        partial(_date, "%Y-%m-%d"),
        partial(_dotted, partial(_date, "%d.%m.%Y")),
        *(partial(_timestamp, form) for form in _TIMESTAMPS),
        *(partial(_dotted, partial(_timestamp, form)) for form in _DOTTED_TIMESTAMPS),
    ]


def filled(text: pl.Series) -> pl.Series:
    """A column of text in which an empty one is missing."""
    return text.set(text == "", None) if (text == "").any() else text


def parsed_by(some: Iterable[Parser], values: pl.Series) -> Iterator[tuple[Parser, pl.Series]]:
    """The parsers that take all values, and what they make of them; none where all are missing."""
    probe = values.drop_nulls().head(_PROBE)
    if not len(probe) or not _TYPED.match(probe[0]):
        return
    for parse in some:
        if parse(probe) is not None and (made := parse(values)) is not None:
            yield parse, made


def _complete(parsed: pl.Series, values: pl.Series) -> pl.Series | None:
    return parsed if parsed.null_count() == values.null_count() else None


def _whole(values: pl.Series) -> pl.Series | None:
    parsed = _complete(values.cast(pl.Int64, strict=False), values)
    return None if parsed is None or values.str.contains(r"^(\+|-?0[0-9])").any() else parsed


def _number(values: pl.Series) -> pl.Series | None:
    parsed = _complete(values.cast(pl.Float64, strict=False), values)
    return (
        None
        if parsed is None or values.str.contains(r"^(\+|-?0[0-9]|-?[0-9]{16,}$)").any()
        else parsed
    )


def _number_with_comma(values: pl.Series) -> pl.Series | None:
    return (
        None
        if values.str.contains(".", literal=True).any()
        else _number(values.str.replace(",", ".", literal=True))
    )


def _date(form: str, values: pl.Series) -> pl.Series | None:
    return _complete(values.str.to_date(form, strict=False), values)


def _timestamp(form: str, values: pl.Series) -> pl.Series | None:
    return _complete(values.str.to_datetime(form, strict=False), values)


def _dotted(parse: Parser, values: pl.Series) -> pl.Series | None:
    """Where each value begins with a day, a month and a year of four digits, with points between."""
    return parse(values) if values.str.contains(_DOTTED).all() else None


def _unpacked(path: Path) -> bytes:
    limit = min(max(ALWAYS_BYTES, MAX_EXPANSION * path.stat().st_size), memory_left() // 2)
    whole = io.BytesIO()
    line = 0
    with (
        refusing(SourceError(f"the file {path.name!r} is not a whole gzip file; save it again.")),
        gzip.open(path) as packed,
    ):
        while part := packed.read(_PART):
            if whole.write(part) and whole.tell() > limit:
                raise SourceError(
                    f"the file {path.name!r} unpacks to more than {limit} bytes; it is damaged or"
                    " hostile, so unpack it by hand if you trust it."
                )
            end = part.rfind(b"\n") + 1
            line = len(part) - end + (0 if end else line)
            if line > MAX_LINE:
                raise _long_line(path.name)
    return whole.getvalue()


def check_lines(data: bytes, file: str) -> None:
    """SourceError where a line of some bytes of a file is longer than ``MAX_LINE``."""
    start = 0
    while len(data) - start > MAX_LINE:
        start = data.rfind(b"\n", start, start + MAX_LINE + 1) + 1
        if not start:
            raise _long_line(file)


def _long_line(file: str) -> SourceError:
    return SourceError(
        f"the file {file!r} has a line of more than {MAX_LINE >> 20} MB, which no row about a"
        " person needs; check what it is, and leave such a column out."
    )


def _head(data: bytes, file: str) -> str:
    """The beginning, with the header line in it."""
    head = data[: 1 << 20]
    half = [head[first::2].count(0) * 2 > len(head) // 2 for first in (0, 1)]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff") or (len(head) > 1 and any(half)):
        raise SourceError(
            f"the file {file!r} is UTF-16, and a CSV must be UTF-8; save it as UTF-8."
        )
    if b"\n" not in head and b"\r" in head.rstrip(b"\r"):
        raise SourceError(
            f"the file {file!r} ends its lines with a lone carriage return; save it with line"
            " feeds."
        )
    if b"\n" not in head and len(data) > len(head):
        raise SourceError(
            f"the header of {file!r} is longer than 1 MB; write one name per column in the first"
            " line."
        )
    return head.decode("utf-8", errors="surrogateescape")


def _header(head: str, data: bytes, file: str, separator: Separator) -> list[str]:
    try:
        names = next(csv.reader(io.StringIO(head, newline=""), delimiter=separator), [])
    except csv.Error:
        raise SourceError(
            f"the header of {file!r} is not a line of names; write one name per column in the first"
            " line."
        ) from None
    if any("\udc80" <= c <= "\udcff" for name in names for c in name):
        raise _not_utf8(data, file) or SourceError(
            f"the header of {file!r} is not UTF-8; save it as UTF-8."
        )
    if len(names) == 1 and (likely := separator_of(head)) != separator:
        raise SourceError(
            f"the header of {file!r} is separated by {SEPARATOR_NAMES[likely]}s; write separator ="
            f" {json.dumps(likely)} under [source] of the plan."
        )
    if any(
        "\n" in name or "\r" in name for name in names
    ):  # a quote that is not closed makes names of rows, which no message may quote
        raise SourceError(
            f"the header of {file!r} goes on over several lines; close its quotes, and write every"
            " name on the first line."
        )
    if not names:
        raise SourceError(
            f"the first line of {file!r} is empty; delete the empty lines above the header."
        )
    seen: set[str] = set()
    for i, name in enumerate(names, 1):
        if name == "" and names[0].lower().startswith("sep="):
            raise SourceError(
                f"the first line of {file!r} is Excel's word for the separator, and no header;"
                " delete it."
            )
        if name == "":
            raise SourceError(
                f"the header of {file!r} has no name for column {i}; name it (row numbers have none:"
                " save the table without them), or delete the lines above the header."
            )
        if name in seen:
            raise SourceError(
                f"the header of {file!r} names {name!r} twice; rename one of the columns."
            )
        seen.add(name)
    return names


def _is_short(data: bytes, separator: Separator, frame: pl.DataFrame) -> bool:
    """Whether some row has too few fields, which Polars fills up silently, or the last one too many,
    of which it leaves an empty one out.
    """
    if b'"' not in data:
        between, rows = separator.encode(), frame.height + 1
        last = data[data.rfind(b"\n", 0, -1) + 1 :]
        return data.count(between) != (frame.width - 1) * rows or last.count(between) >= frame.width
    return unlike_row(data, separator, frame.width) is not None


def _explained(
    data: bytes, file: str, separator: Separator, width: int, before: int
) -> SourceError:
    if error := _not_utf8(data, file, before):
        return error
    wrong = unlike_row(data, separator, width)
    if wrong is None:
        return _malformed(Path(file))
    line, fields = wrong
    if not fields:
        return SourceError(f"line {before + line} of {file!r} is empty; delete it.")
    return SourceError(
        f"line {before + line} of {file!r} has {fields} field(s) where the header has {width}; repair the"
        f" line (a field with a {SEPARATOR_NAMES[separator]} in it needs quotes)."
    )


def unpaired(file: str, separator: Separator, line: int) -> SourceError:
    """What says that quotes in a ``line`` of a file, from 1, neither begin nor end a value."""
    return SourceError(
        f"the quotes in line {line} of {file!r} do not pair up; quote values that hold a quote, a"
        f" {SEPARATOR_NAMES[separator]} or a line break, and double the quotes inside."
    )


def _not_utf8(data: bytes, file: str, before: int = 0) -> SourceError | None:
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        line = before + data.count(b"\n", 0, wrong.start) + 1
        likely = encoding_of(data)
        remedy = "" if likely == "utf-8" else f', or write encoding = "{likely}" under [source]'
        return SourceError(f"line {line} of {file!r} is not UTF-8; save it as UTF-8{remedy}.")
    return None
