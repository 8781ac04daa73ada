# SPDX-License-Identifier: Apache-2.0
"""CSV as people write it: UTF-8, one header, types inferred from every row, nothing guessed
away.
"""

import csv
import gzip
import io
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

import polars as pl

from phalanx.data.names import check_names
from phalanx.data.sources.available_memory import memory_left
from phalanx.data.sources.reading import MAX_VALUE, check_size, refusing
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


def read_csv(
    path: Path, *, separator: str = ",", packed: bool = False, text: Collection[str] | None = ()
) -> pl.DataFrame:
    """Read a CSV file whole.

    Columns in ``text`` (``None``: all) are text whatever they hold, so that no row decides how
    another one's value is written.

    Types of the others come from every row: whole numbers, numbers, ISO dates, ISO timestamps, else
    text. A column is text as soon as one value has a leading zero before another digit or a plus
    sign (zip codes, telephone numbers), or more digits than a number keeps.

    Missing values: an empty field is missing. A quoted empty field (``""``) is the empty text, a
    value, in a column of text, as in Parquet and in SQL's COPY; in a column of numbers or dates it
    is missing. ``NaN`` in a column of numbers is a missing number, ``NA`` is text.

    Raises SourceError for bytes that are not UTF-8, rows with too many or too few fields, and
    header names that are empty or occur twice, with the line.
    """
    with refusing(
        SourceError(
            f"the file {path.name!r} cannot be read; check that you may read it, and that its disk"
            " is sound."
        )
    ):
        check_size(path, 0, 2 * path.stat().st_size)
        data = (_unpacked(path) if packed else path.read_bytes()).removeprefix(b"\xef\xbb\xbf")
    _check_lines(data, path.name)
    if not data.strip():
        raise SourceError(f"the file {path.name!r} is empty; give a table with a header line.")
    header = _header(data, path.name, separator)
    check_names(header, SourceError)
    cells = data.count(separator.encode()) + data.count(b"\n")
    check_size(path, cells, len(data) + _CELL * cells)
    if len(header) > 1:
        data = data.rstrip(b"\r\n")
    unreadable = SourceError(
        f"the file {path.name!r} cannot be read as CSV; save it again as CSV in UTF-8."
    )
    try:
        with refusing(unreadable):
            frame = pl.read_csv(data, separator=separator, infer_schema=False, raise_if_empty=False)
    except SourceError as refused:
        raise (
            _explained(data, path.name, separator, len(header))
            if refused is unreadable
            else refused
        ) from None
    if frame.width != len(header) or (
        frame.width > 1
        and frame.height
        and frame[:, -1].null_count()
        and _is_short(data, separator, frame)
    ):
        raise _explained(data, path.name, separator, len(header))
    frame.columns = header
    with refusing(unreadable):
        return frame.with_columns(
            inferred(column)
            for column in frame.get_columns()
            if text is not None and column.name not in text
        )


def inferred(text: pl.Series) -> pl.Series:
    """A column of text as whole numbers, numbers, dates or timestamps where every value is one;
    else as it is.

    >>> inferred(pl.Series(["01234", "99999"])).dtype, inferred(pl.Series(["1", "", "2"])).to_list()
    (String, [1, None, 2])
    """
    values = text.set(text == "", None) if (text == "").any() else text
    probe = values.drop_nulls().head(_PROBE)
    if not len(probe) or not _TYPED.match(probe[0]):
        return text
    for parse in (_whole, _number, _date, _timestamp):
        if parse(probe) is not None and (parsed := parse(values)) is not None:
            return parsed
    return text


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


def _date(values: pl.Series) -> pl.Series | None:
    return _complete(values.str.to_date("%Y-%m-%d", strict=False), values)


def _timestamp(values: pl.Series) -> pl.Series | None:
    for form in _TIMESTAMPS:
        if (parsed := _complete(values.str.to_datetime(form, strict=False), values)) is not None:
            return parsed
    return None


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


def _check_lines(data: bytes, file: str) -> None:
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


def _header(data: bytes, file: str, separator: str) -> list[str]:
    head = data[: 1 << 20]
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
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
    try:
        names = next(
            csv.reader(
                io.StringIO(head.decode("utf-8", errors="surrogateescape"), newline=""),
                delimiter=separator,
            ),
            [],
        )
    except csv.Error:
        raise SourceError(
            f"the header of {file!r} is not a line of names; write one name per column in the first"
            " line."
        ) from None
    if any("\udc80" <= c <= "\udcff" for name in names for c in name):
        raise _not_utf8(data, file) or SourceError(
            f"the header of {file!r} is not UTF-8; save it as UTF-8."
        )
    if len(names) == 1 and ";" in names[0]:
        raise SourceError(
            f"the file {file!r} seems to be separated by semicolons; save it with commas."
        )
    if any(
        "\n" in name or "\r" in name for name in names
    ):  # a quote that is not closed makes names of rows, which no message may quote
        raise SourceError(
            f"the header of {file!r} goes on over several lines; close its quotes, and write every"
            " name on the first line."
        )
    seen: set[str] = set()
    for i, name in enumerate(names, 1):
        if name == "":
            raise SourceError(
                f"the header of {file!r} has no name for column {i}; name it (a table saved with"
                " its row numbers has such a column; save it without)."
            )
        if name in seen:
            raise SourceError(
                f"the header of {file!r} names {name!r} twice; rename one of the columns."
            )
        seen.add(name)
    return names


def _is_short(data: bytes, separator: str, frame: pl.DataFrame) -> bool:
    """Whether some row has too few fields, which Polars fills up silently."""
    if b'"' not in data:
        return data.count(separator.encode()) != (frame.width - 1) * (frame.height + 1)
    return _first_wrong(data, separator, frame.width) is not None


def _first_wrong(data: bytes, separator: str, width: int) -> tuple[int, int] | None:
    """Line and number of fields of the first row that has not ``width`` of them."""
    longest = csv.field_size_limit(len(data) + 1)  # which belongs to the process
    try:
        reader = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=separator)
        start = 1
        for row in reader:
            if len(row) != width:
                return start, len(row)
            start = reader.line_num + 1
        return None
    finally:
        csv.field_size_limit(longest)


def _explained(data: bytes, file: str, separator: str, width: int) -> SourceError:
    if error := _not_utf8(data, file):
        return error
    try:
        wrong = _first_wrong(data, separator, width)
    except csv.Error:
        wrong = None
    if wrong is None:
        return SourceError(
            f"the quotes in {file!r} do not pair up; quote fields that hold a quote, a comma or a"
            " line break, and double the quotes inside."
        )
    line, fields = wrong
    return SourceError(
        f"line {line} of {file!r} has {fields} field(s) where the header has {width}; repair the"
        " line (a field with a comma in it needs quotes)."
    )


def _not_utf8(data: bytes, file: str) -> SourceError | None:
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        line = data.count(b"\n", 0, wrong.start) + 1
        return SourceError(
            f"line {line} of {file!r} is not UTF-8; save the file as UTF-8 (it may be Latin-1 or"
            " Windows-1252)."
        )
    return None
