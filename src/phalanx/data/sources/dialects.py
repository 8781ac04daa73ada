# SPDX-License-Identifier: Apache-2.0
"""How a CSV file is written: between its values, within its numbers, and its letters in bytes.

A plan states it. Where no plan is, as for ``init`` or an original beside a release, it is detected
by rules that are written here and in the documentation, and never by a value alone.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal, NamedTuple, get_args

import polars as pl

Separator = Literal[",", ";", "\t", "|"]
Decimal = Literal[".", ","]
Encoding = Literal["utf-8", "windows-1252"]
SEPARATORS: Final[tuple[Separator, ...]] = get_args(Separator)
SEPARATOR_NAMES: Final = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
_PART: Final = 1 << 20
"""Bytes that are decoded at a time."""
_MARKS: Final = (",", r"\.")
_PROBE: Final = 200
"""So many values decide whether a column is worth trying whole."""
_OF_UTF8: Final = re.compile(rb"[\xc2-\xf4][\x80-\xbf]")
"""Hardly to be found in words of Windows-1252; where it is, the file is UTF-8 that was damaged."""
_OF_NO_TEXT: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
"""Bytes that no text of Windows-1252 has."""


class Dialect(NamedTuple):
    """How a CSV file is written; by default as Phalanx writes its own."""

    separator: Separator = ","
    """What stands between values."""
    decimal: Decimal | None = None
    """What stands before the decimals of a number; None: a point, as nothing says otherwise."""
    encoding: Encoding = "utf-8"
    """How letters are bytes; Latin-1 text is Windows-1252, too."""


def separator_of(head: str) -> Separator:
    """The separator that makes most names of the header line; a comma where another makes as many.

    >>> separator_of("patient;age;weight, kg")
    ';'
    """
    return max(SEPARATORS, key=lambda separator: _names(head, separator))


def decimal_of(separator: Separator, texts: Iterable[pl.Series]) -> Decimal | None:
    """A comma where commas do not separate values, and as many columns or more are numbers with a
    comma before their decimals as are with a point; else None.

    >>> decimal_of(";", [pl.Series(["1,5", "2"]), pl.Series(["1.2", "x"])])
    ','
    """
    if separator == ",":
        return None
    marks = [Marks() for _ in columns] if (columns := list(texts)) else []
    for seen, values in zip(marks, columns, strict=True):
        seen.see(values)
    return decimal_by(marks)


class Marks:
    """Which mark stands before the decimals of a column, by all rows that were seen."""

    def __init__(self) -> None:
        self._numbers = dict.fromkeys(_MARKS, True)
        self._there = dict.fromkeys(_MARKS, False)

    def see(self, texts: pl.Series) -> None:
        """Take in some rows."""
        filled = texts.filter(texts != "")
        probe = filled.head(_PROBE)
        for mark in _MARKS:
            number = rf"^-?[0-9]+({mark}[0-9]+)?$"
            self._numbers[mark] = bool(
                self._numbers[mark]
                and probe.str.contains(number).all()
                and filled.str.contains(number).all()
            )
            self._there[mark] = self._numbers[mark] and (
                self._there[mark] or bool(filled.str.contains(mark).any())
            )

    def are(self, mark: str) -> bool:
        """Whether all values are numbers, and one at least has the mark."""
        return self._numbers[mark] and self._there[mark]


def decimal_by(columns: Iterable[Marks]) -> Decimal | None:
    """What ``decimal_of`` says, by the marks of each column."""
    seen = list(columns)
    with_comma, with_point = (sum(column.are(mark) for column in seen) for mark in _MARKS)
    return "," if with_comma and with_comma >= with_point else None


def encoding_of(data: bytes) -> Encoding:
    """Windows-1252 where the bytes are not UTF-8, no two of them look like a letter of UTF-8, and
    none is one that no text has; else UTF-8, as which a damaged file is refused.

    >>> encoding_of("Köln".encode()), encoding_of("Köln".encode("latin-1"))
    ('utf-8', 'windows-1252')
    """
    return encoding_of_blocks(lambda: _parts(data))


def encoding_of_blocks(blocks: Callable[[], Iterable[bytes | memoryview]]) -> Encoding:
    """The same of bytes of which there are some at a time, as often as is asked."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for block in blocks():
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    last = b""
    for block in blocks():
        both = last + block
        if _OF_UTF8.search(both) or _OF_NO_TEXT.search(both):
            return "utf-8"
        last = both[-1:]
    return "windows-1252"


def _names(head: str, separator: Separator) -> int:
    try:
        return len(next(csv.reader(io.StringIO(head, newline=""), delimiter=separator), []))
    except csv.Error:
        return 0


def _parts(data: bytes) -> Iterator[memoryview]:
    whole = memoryview(data)
    return (whole[start : start + _PART] for start in range(0, len(data), _PART))
