# SPDX-License-Identifier: Apache-2.0
"""Every byte of a Parquet file by what needs it: pages, the indexes of pages, and the footer. What
is left over is hidden in the file.

The footer and the headers of pages are structures of Thrift's compact protocol, of which the
Parquet format says what each field is. They are read here without a Parquet reader, since readers
skip what they do not know.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

_MAGIC: Final = b"PAR1"
_DEEPEST: Final = 32
"""No structure of a Parquet file lies deeper than this."""
_ROW_GROUPS, _COLUMNS, _COLUMN = 4, 1, 3
_PAGES_SIZE, _DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE = 7, 9, 10, 11
_BLOOM_FILTER: Final = (14, 15)
_BESIDE: Final = ((4, 5), (6, 7))
"""The fields of a column chunk that say where its page indexes are, and how long."""
_COMPRESSED_SIZE: Final = 3


def left_over(path: Path) -> int | None:
    """How many bytes of a Parquet file belong to no page, no index and no footer; None where the
    file does not say where its parts are.
    """
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    if not (content.startswith(_MAGIC) and content.endswith(_MAGIC)) or length > len(content) - 12:
        return None
    begins = len(content) - 8 - length
    try:
        footer, end = _struct(content, begins, 0)
        parts = sorted(
            [
                (0, len(_MAGIC)),
                *_parts(content, footer),
                (begins, end),
                (len(content) - 8, len(content)),
            ]
        )
    except (IndexError, KeyError, TypeError, ValueError):
        return None
    covered = 0
    uncovered = 0
    for start, stop in parts:
        uncovered += max(0, start - covered)
        covered = max(covered, stop)
    return uncovered if covered == len(content) else None


def _parts(content: bytes, footer: dict[int, Any]) -> Iterator[tuple[int, int]]:
    """Where each page, with its header, and each index begins and ends."""
    for row_group in footer.get(_ROW_GROUPS, []):
        for chunk in row_group[_COLUMNS]:
            column = chunk[_COLUMN]
            start = min(
                column[field]
                for field in (_DATA_PAGE, _INDEX_PAGE, _DICTIONARY_PAGE)
                if field in column
            )
            stop = start + column[_PAGES_SIZE]
            yield from _pages(content, start, stop)
            yield stop, _repeated(content, stop, column)
            for where, size in (
                *((chunk.get(a), chunk.get(b)) for a, b in _BESIDE),
                tuple(column.get(field) for field in _BLOOM_FILTER),
            ):
                if where is not None and size is not None:
                    yield where, where + size


def _repeated(content: bytes, at: int, column: dict[int, Any]) -> int:
    """Where the copy of a column's description ends that some writers put behind its pages; where
    there is none, it ends where it would begin.
    """
    try:
        fields, end = _struct(content, at, 0)
    except (IndexError, ValueError):
        return at
    return end if fields == column else at


def _pages(content: bytes, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The pages of a column chunk; ValueError where they do not end where the footer says."""
    while start < stop:
        header, data = _struct(content, start, 0)
        end = data + header[_COMPRESSED_SIZE]
        if end <= start:
            raise ValueError
        yield start, end
        start = end
    if start != stop:
        raise ValueError


def _number(content: bytes, at: int) -> tuple[int, int]:
    """An unsigned number of seven bits a byte, and where it ends."""
    number = shift = 0
    while True:
        byte = content[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # the last byte has no mark
            return number, at
        if shift > 70:  # no number is longer
            raise ValueError


def _signed(content: bytes, at: int) -> tuple[int, int]:
    number, at = _number(content, at)
    return (number >> 1) ^ -(number & 1), at


def _struct(content: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The fields of a structure by their numbers, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while True:
        mark = content[at]
        at += 1
        if mark == 0:
            return fields, at
        if mark >> 4:
            number += mark >> 4
        else:
            number, at = _signed(content, at)
        kind = mark & 15
        fields[number], at = (kind == 1, at) if kind in (1, 2) else _value(content, at, kind, depth)


def _value(content: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of one of the protocol's kinds, and where it ends."""
    if depth > _DEEPEST:
        raise ValueError
    if kind in (1, 2, 3):
        return content[at], at + 1
    if kind in (4, 5, 6):
        return _signed(content, at)
    if kind == 7:  # a float
        return content[at : at + 8], at + 8
    if kind == 8:  # bytes
        length, at = _number(content, at)
        return content[at : at + length], at + length
    if kind in (9, 10):
        return _listed(content, at, depth)
    if kind == 12:  # a structure
        return _struct(content, at, depth + 1)
    raise ValueError


def _listed(content: bytes, at: int, depth: int) -> tuple[Sequence[Any], int]:
    size, kind = content[at] >> 4, content[at] & 15
    at += 1
    if size == 15:  # the size follows
        size, at = _number(content, at)
    if size > len(content):
        raise ValueError
    items = []
    for _ in range(size):
        value, at = _value(content, at, kind, depth + 1)
        items.append(value)
    return items, at
