# SPDX-License-Identifier: Apache-2.0
"""How a CSV file is written: between its values, within its numbers, and its letters in bytes.

A plan states it. Where no plan is, as for ``init`` or an original beside a release, it is detected
by rules that are written here and in the documentation, and never by a value alone.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, get_args

import polars as pl

Separator = Literal[",", ";", "\t", "|"]
Decimal = Literal[".", ","]
Encoding = Literal["utf-8", "windows-1252"]
SEPARATORS: Final[tuple[Separator, ...]] = get_args(Separator)
SEPARATOR_NAMES: Final = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
_PART: Final = 1 << 20
"""Bytes that are decoded at a time."""
_PROBE: Final = 200
"""So many values decide whether a column is worth trying whole."""
_OF_UTF8: Final = re.compile(rb"[\xc3-\xf4][\x80-\xbf]")
"""Hardly to be found in words of Windows-1252; where it is, the file is UTF-8 that was damaged."""
_OF_NO_TEXT: Final = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
"""Bytes that no text of Windows-1252 has."""


class Dialect(NamedTuple):
    """How a CSV file is written; by default as Phalanx writes its own."""

    separator: Separator = ","
    """What stands between values."""
    decimal: Decimal = "."
    """What stands before the decimals of a number."""
    encoding: Encoding = "utf-8"
    """How letters are bytes; Latin-1 text is Windows-1252, too."""


def separator_of(head: str) -> Separator:
    """The separator that makes most names of the header line; a comma where another makes as many.

    >>> separator_of("patient;age;weight, kg")
    ';'
    """
    return max(SEPARATORS, key=lambda separator: _names(head, separator))


def decimal_of(separator: Separator, texts: Iterable[pl.Series]) -> Decimal:
    """A comma where commas do not separate values, and as many columns or more are numbers with a
    comma before their decimals as are with a point.

    >>> decimal_of(";", [pl.Series(["1,5", "2"]), pl.Series(["1.2", "x"])])
    ','
    """
    if separator == ",":
        return "."
    columns = list(texts)
    with_comma = sum(_are_numbers(values, ",") for values in columns)
    with_point = sum(_are_numbers(values, r"\.") for values in columns)
    return "," if with_comma and with_comma >= with_point else "."


def encoding_of(data: bytes) -> Encoding:
    """Windows-1252 where the bytes are not UTF-8, no two of them look like a letter of UTF-8, and
    none is one that no text has; else UTF-8, as which a damaged file is refused.

    >>> encoding_of("Köln".encode()), encoding_of("Köln".encode("latin-1"))
    ('utf-8', 'windows-1252')
    """
    if _is_utf8(data) or _OF_UTF8.search(data) or _OF_NO_TEXT.search(data):
        return "utf-8"
    return "windows-1252"


def _names(head: str, separator: Separator) -> int:
    try:
        return len(next(csv.reader(io.StringIO(head, newline=""), delimiter=separator), []))
    except csv.Error:
        return 0


def _are_numbers(values: pl.Series, mark: str) -> bool:
    number = rf"^-?[0-9]+({mark}[0-9]+)?$"
    filled = values.filter(values != "")
    probe = filled.head(_PROBE)
    return bool(
        len(probe)
        and probe.str.contains(number).all()
        and filled.str.contains(mark).any()
        and filled.str.contains(number).all()
    )


def _is_utf8(data: bytes) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    whole = memoryview(data)
    try:
        for start in range(0, len(data), _PART):
            decoder.decode(whole[start : start + _PART])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
