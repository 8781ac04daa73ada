# SPDX-License-Identifier: Apache-2.0
"""What belongs to a Parquet file and what is hidden in it, by files that are put together byte by
byte: a writer of Thrift's compact protocol that is none of ours, nor of the reader's.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phalanx.guarantees.consistency.parquet_bytes import left_over

BOOL, BYTE, SHORT, INT, LONG, FLOAT, BYTES, LIST, SET, STRUCT = 1, 3, 4, 5, 6, 7, 8, 9, 10, 12
"""The kinds of the protocol; a false field has the number after a true one."""


def number(n: int) -> bytes:
    """An unsigned number, seven bits a byte, the low ones first."""
    return bytes([n]) if n < 128 else bytes([n % 128 + 128]) + number(n // 128)


def signed(n: int) -> bytes:
    """A number as an unsigned one: 0, -1, 1, -2 and 2 are 0, 1, 2, 3 and 4."""
    return number(2 * n if n >= 0 else -2 * n - 1)


def written(kind: int, value: Any) -> bytes:
    """A value of a kind, as it stands in a list or after the mark of its field."""
    if kind in (BOOL, BOOL + 1, BYTE):
        return bytes([value])
    if kind in (SHORT, INT, LONG):
        return signed(value)
    if kind == FLOAT:
        return bytes(value)
    if kind == BYTES:
        return number(len(value)) + value
    if kind in (LIST, SET):
        of, items = value
        head = bytes([len(items) * 16 + of]) if len(items) < 15 else bytes([15 * 16 + of])
        size = b"" if len(items) < 15 else number(len(items))
        return head + size + b"".join(written(of, item) for item in items)
    return struct(value)


def struct(fields: dict[int, tuple[int, Any]]) -> bytes:
    """A structure: each field by how far its number is from the one before, where that fits into
    four bits, and else by itself.
    """
    content, before = b"", 0
    for at, (kind, value) in fields.items():
        mark = kind + (kind == BOOL and not value)
        step = at - before
        content += bytes([step * 16 + mark]) if 0 < step < 16 else bytes([mark]) + signed(at)
        content += b"" if kind == BOOL else written(kind, value)
        before = at
    return content + b"\0"


INTEGERS = st.integers(-(2**63), 2**63 - 1)
PLAIN: dict[int, st.SearchStrategy[Any]] = {
    BYTE: st.integers(0, 255), SHORT: INTEGERS, INT: INTEGERS, LONG: INTEGERS, FLOAT: st.binary(min_size=8, max_size=8), BYTES: st.binary(max_size=200),
}  # fmt: skip


def values(depth: int) -> st.SearchStrategy[tuple[int, Any]]:
    """A kind and a value of it, with lists and structures in it down to a depth."""
    plain = [st.tuples(st.just(kind), some) for kind, some in PLAIN.items()]
    if depth == 0:
        return st.one_of(plain)

    def lists(kind: int) -> st.SearchStrategy[tuple[int, Any]]:
        if kind in PLAIN:
            some = PLAIN[kind]
        else:
            some = structs(depth - 1) if kind == STRUCT else st.integers(1, 2)
        return st.tuples(
            st.sampled_from([LIST, SET]),
            st.tuples(st.just(kind), st.lists(some, max_size=20)),
        )

    kinds = [BOOL, BOOL + 1, *PLAIN, STRUCT]
    return st.one_of(
        *plain,
        st.sampled_from(kinds).flatmap(lists),
        structs(depth - 1).map(lambda fields: (STRUCT, fields)),
    )


def structs(depth: int) -> st.SearchStrategy[dict[int, tuple[int, Any]]]:
    """Structures without the field of a footer that says where pages are."""
    some = st.one_of(values(depth), st.tuples(st.just(BOOL), st.booleans()))
    numbers = st.integers(-300, 300).filter(lambda at: at != 4)
    return st.dictionaries(numbers, some, max_size=5)


def file(footer: bytes, pages: bytes = b"") -> bytes:
    """A Parquet file: a mark, pages, the footer, its length, the mark."""
    return b"PAR1" + pages + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def left(path: Path, content: bytes) -> int | None:
    """How many bytes of such a file belong to nothing."""
    (path / "t.parquet").write_bytes(content)
    return left_over(path / "t.parquet")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fields=structs(2), more=st.binary(max_size=9), between=st.binary(max_size=9))
def test_whatever_a_footer_says_it_is_read_to_its_end(
    tmp_path: Path, fields: dict[int, tuple[int, Any]], more: bytes, between: bytes
) -> None:
    """Fields that nobody knows, of every kind, are bytes that belong to the file; those after
    the last of them and before the first are left over.
    """
    assert left(tmp_path, file(struct(fields))) == 0
    assert left(tmp_path, file(struct(fields) + more, between)) == len(more) + len(between)


def page(size: int) -> bytes:
    """A page of so many bytes with its header."""
    return struct({1: (INT, 0), 2: (INT, 3 * size), 3: (INT, size)}) + b"p" * size


def chunk(
    column: dict[int, tuple[int, Any]], beside: dict[int, tuple[int, Any]] | None = None
) -> bytes:
    """The footer of a file of one column."""
    described = {3: (STRUCT, column)} | (beside or {})
    groups = [{1: (LIST, (STRUCT, [described]))}]
    return struct({1: (INT, 2), 4: (LIST, (STRUCT, groups))})


PAGES = page(200) + page(70) + page(0)
FIRST = {9: (LONG, 4), 7: (LONG, len(PAGES))}


@pytest.mark.parametrize("first", [9, 10, 11])
def test_pages_are_bytes_of_the_file(tmp_path: Path, first: int) -> None:
    """From the first of them, whether it holds rows, an index or a dictionary, to the last; what
    stands behind them is left over.
    """
    later = {at: (LONG, 4 if at == first else 90) for at in (9, first)}
    column = {7: (LONG, len(PAGES)), **later}
    assert left(tmp_path, file(chunk(column), PAGES)) == 0
    assert left(tmp_path, file(chunk(column), PAGES + b"hid")) == 3


@pytest.mark.parametrize(("where", "size"), [(4, 5), (6, 7), (14, 15)])
def test_indexes_are_bytes_of_the_file(tmp_path: Path, where: int, size: int) -> None:
    """An index of pages or a filter, as long as it is said to be; without a place or a length it
    is none.
    """
    at = 4 + len(PAGES)
    for fields, hidden in (
        ({where: (LONG, at), size: (INT, 30)}, 0),
        ({where: (LONG, at + 2), size: (INT, 25)}, 5),
        ({where: (LONG, at)}, 30),
        ({size: (INT, 30)}, 30),
    ):
        footer = chunk(FIRST | fields) if where == 14 else chunk(FIRST, fields)
        assert left(tmp_path, file(footer, PAGES + b"i" * 30)) == hidden


def test_a_copy_of_the_description_is_a_part_of_the_file(tmp_path: Path) -> None:
    """Behind the pages of a column its description may stand again; another one is hidden."""
    again = struct(FIRST)
    assert left(tmp_path, file(chunk(FIRST), PAGES + again)) == 0
    other = struct(FIRST | {7: (LONG, len(PAGES) - 1)})
    assert len(again) == len(other)
    assert left(tmp_path, file(chunk(FIRST), PAGES + other)) == len(other)


@pytest.mark.parametrize(
    "column",
    [
        {9: (LONG, 4)},
        {7: (LONG, 5)},
        {9: (LONG, 4), 7: (LONG, len(PAGES) - 1)},
        {9: (LONG, 4), 7: (LONG, len(PAGES) + 1)},
        {9: (LONG, 5), 7: (LONG, len(PAGES) - 1)},
        {9: (BYTES, b"4"), 7: (LONG, len(PAGES))},
    ],
)
def test_pages_that_are_not_where_they_should_be(
    tmp_path: Path, column: dict[int, tuple[int, Any]]
) -> None:
    """Without a place or a length, or where the pages do not end where they should, nobody can
    say what is hidden.
    """
    assert left(tmp_path, file(chunk(column), PAGES)) is None


@pytest.mark.parametrize("size", [-3, -4, -300])
def test_a_page_that_goes_back(tmp_path: Path, size: int) -> None:
    """A page of no bytes, its header counted, or of less would be read for ever."""
    header = struct({3: (INT, size)})
    column = {9: (LONG, 4), 7: (LONG, len(header))}
    assert left(tmp_path, file(chunk(column), header)) is None


def test_how_deep_and_how_long(tmp_path: Path) -> None:
    """Structures and numbers that no Parquet file has are refused, so that no file makes the check
    read for ever, or fill its stack.
    """

    def deep(levels: int) -> bytes:
        inner: dict[int, tuple[int, Any]] = {1: (INT, 1)}
        for _ in range(levels):
            inner = {1: (STRUCT, inner)}
        return file(struct(inner))

    assert left(tmp_path, deep(32)) == 0
    assert left(tmp_path, deep(33)) is None
    for length, hidden in ((10, 0), (11, None)):
        assert left(tmp_path, file(b"\x15" + b"\x80" * length + b"\x01\0")) == hidden
    many = b"\x19\xf3" + number(5000)
    assert left(tmp_path, file(many + b"\0" * 4000)) is None
    assert left(tmp_path, file(b"\x1b\0")) is None, "a kind that Parquet has not"


def test_the_smallest_file(tmp_path: Path) -> None:
    """Two marks and a length; a shorter one, other marks, and a footer longer than the file are
    no Parquet file.
    """
    assert left(tmp_path, file(b"\0")) == 0
    assert left(tmp_path, b"PAR1" + b"\0" * 4 + b"PAR1") == 0
    for other in (
        b"PAR1" + b"\0" * 3 + b"PAR1",
        b"PAR1" + b"\1\0\0\0" + b"PAR1",
        b"PARE" + file(b"\0")[4:],
        file(b"\0")[:-4] + b"PARE",
        file(b"\0")[:-8] + b"\2\0\0\0PAR1",
    ):
        assert left(tmp_path, other) is None
