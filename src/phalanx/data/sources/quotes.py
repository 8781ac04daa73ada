# SPDX-License-Identifier: Apache-2.0
"""Quotes of a CSV file: each begins or ends a value, or is doubled within one. Of others, all rows
between two of them would be taken for one value, and be published as that.
"""

from typing import Final

import numpy as np

_AT_ONCE: Final = 1 << 22
"""Bytes that are looked at together."""
_QUOTE, _LINE, _RETURN = b'"\n\r'


def lines_ended(block: bytes, inside: int = 0) -> tuple[int, int]:
    r"""How many line breaks of a block stand outside of quotes, and whether its end is ``inside`` of
    them (1) or not (0), as its beginning is.

    >>> lines_ended(b'a,"b\n"\n,"')
    (1, 1)
    """
    if not inside and b'"' not in block:
        return block.count(b"\n"), 0
    ended = 0
    for start in range(0, len(block), _AT_ONCE):
        of = np.frombuffer(block[start : start + _AT_ONCE], dtype=np.uint8)
        within = (np.cumsum(of == _QUOTE, dtype=np.uint8) + np.uint8(inside)) & np.uint8(1)
        ended += int(((of == _LINE) & (within == 0)).sum())
        inside = int(within[-1])
    return ended, inside


def unlike_row(data: bytes, separator: str, width: int) -> tuple[int, int] | None:
    r"""The line, from 1, and the number of fields of the first row that has not ``width`` of them, 0
    of an empty line, which is a row of one column; None where there is none. No quote is stray.

    >>> unlike_row(b'a,b\n1,"2,\n3"\n4\n', ",", 2)
    (4, 1)
    """
    inside = fields = begin = 0
    for start in range(0, len(data), _AT_ONCE):
        of = np.frombuffer(data[start : start + _AT_ONCE], dtype=np.uint8)
        within = (np.cumsum(of == _QUOTE, dtype=np.uint8) + np.uint8(inside)) & np.uint8(1)
        between = np.cumsum((of == ord(separator)) & (within == 0))
        ends = np.flatnonzero((of == _LINE) & (within == 0))
        separators = np.diff(between[ends], prepend=-fields)
        begins = np.append(begin, start + ends + 1)
        for row in np.flatnonzero(separators != width - 1).tolist():
            if wrong := _unlike(
                data, int(begins[row]), start + int(ends[row]), int(separators[row]), width
            ):
                return wrong
        fields = int(between[-1]) + (fields if not len(ends) else -int(between[ends[-1]]))
        inside, begin = int(within[-1]), int(begins[-1])
    return _unlike(data, begin, len(data), fields, width) if begin < len(data) else None


def _unlike(
    data: bytes, begin: int, end: int, separators: int, width: int
) -> tuple[int, int] | None:
    """The line and the number of fields of the row from ``begin`` to ``end``, if not ``width``."""
    fields = separators + 1 if data[begin:end].strip(b"\r") else 0
    return None if (fields or 1) == width else (_line(data, begin), fields)


def stray_quote(data: bytes, separator: str) -> int | None:
    r"""The line, from 1, in which a quote stands that neither begins nor ends a value, nor is
    doubled; or in which a value begins that no quote ends. None where there is none.

    Of the quotes one after the other, every other one begins a value or is the second of two that
    stand together, and each of the rest ends a value or is the first of two.

    >>> stray_quote(b'a,b\n1,"two ""2"" lines\nlong"\n', ",")
    >>> stray_quote(b'a,b\n1,5" high\n2,6" high\n', ",")
    2
    """
    before, behind = np.zeros(256, dtype=bool), np.zeros(256, dtype=bool)
    before[[_QUOTE, _LINE, ord(separator)]] = behind[[_QUOTE, _LINE, ord(separator)]] = True
    behind[_RETURN] = True
    start = quotes = 0
    while (start := data.find(b'"', start)) >= 0:
        end = start + _AT_ONCE  # and a character before and behind; the file is between two lines
        block = (
            (data[start - 1 : start] or b"\n") + data[start:end] + (data[end : end + 1] or b"\n")
        )
        of = np.frombuffer(block, dtype=np.uint8)
        at = np.flatnonzero(of[1:-1] == _QUOTE) + 1
        begin, other = at[quotes % 2 :: 2], at[1 - quotes % 2 :: 2]
        stray = begin[~before[of[begin - 1]]][:1], other[~behind[of[other + 1]]][:1]
        if len(stray[0]) and (not len(stray[1]) or stray[0] < stray[1]):
            return _line(data, start + int(stray[0][0]) - 1)
        if len(stray[1]):
            return _line(data, _begin(data, start + int(stray[1][0]) - 1))
        quotes += len(at)
        start = end
    return _line(data, _begin(data, len(data))) if quotes % 2 else None


def _begin(data: bytes, at: int) -> int:
    """Where the value begins that a quote, or what follows the last quote, is within."""
    at = data.rfind(b'"', 0, at)
    while data.endswith(b'"', 0, at):
        at = data.rfind(b'"', 0, at - 1)
    return at


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
