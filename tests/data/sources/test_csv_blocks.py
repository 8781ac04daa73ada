# SPDX-License-Identifier: Apache-2.0
"""A CSV file that is read some lines at a time says what it says whole, and is refused for the same
line.
"""

import os
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.sources import batches, csv_blocks, csv_files, reading
from phalanx.data.sources.batches import read_or_sample
from phalanx.data.sources.csv_blocks import (
    Types,
    dialect_by_blocks,
    end_of_rows,
    fits,
    rows_of,
    sample_by_blocks,
    text_blocks,
    typed,
)
from phalanx.data.sources.csv_files import dialect_of, read_csv
from phalanx.data.sources.dialects import Dialect
from phalanx.errors import SourceError

VALUES = [
    *("", '""', "1", "02", "-3", "+4", "1.5", "1,5", "x", "NaN", "é", "  ", "12345678901234567"),
    *('"a,b"', '"a;b"', '"a\nb"', '"a\r\n\nb"', '"q""q"', '"""q"""'),
    *("2020-01-02", "01.02.2020", "2020-01-02T10:00:00", "01.02.2020 10:00", "10:00"),
]
STRAY = ['"', 'a"b', '"a', 'a"', '"a"b']


@st.composite
def files(draw: st.DrawFn, values: list[str]) -> tuple[str, Dialect]:
    """A small file, most of whose rows have as many values as its header, and how it is written."""
    separator, line = draw(st.sampled_from([",", ";"])), draw(st.sampled_from(["\n", "\r\n"]))
    width = draw(st.integers(1, 3))
    one = st.sampled_from(values)
    row = st.lists(one, min_size=width, max_size=width) | st.lists(one, max_size=3)
    rows = [list("abc")[:width], *draw(st.lists(row, max_size=8))]
    text = line.join(separator.join(row) for row in rows) + draw(
        st.sampled_from(["", "\n", "\n\n"])
    )
    return text, Dialect(
        separator, None if separator == "," else draw(st.sampled_from([",", None]))
    )


def by_blocks(path: Path, dialect: Dialect) -> pl.DataFrame | str:
    """All rows, or what is said of the file."""
    types = Types(dialect, ["b"])
    frames = []
    try:
        for frame in text_blocks(path, dialect):
            types.see(frame)
            frames.append(frame)
        types.check_decimals(path)
    except SourceError as refused:
        return str(refused)
    return typed(pl.concat(frames), types.parsers)


def whole(path: Path, dialect: Dialect) -> pl.DataFrame | str:
    """The same of all of it at once."""
    try:
        return read_csv(path, dialect=dialect, text=["b"])
    except SourceError as refused:
        return str(refused)


def same(one: pl.DataFrame | str, other: pl.DataFrame | str) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return isinstance(one, str) and isinstance(other, str) and one == other
    return one.equals(other) and one.schema == other.schema


@given(files(VALUES), st.integers(1, 60))
@settings(max_examples=400, deadline=None)
def test_lines_at_a_time_are_the_same_table(file: tuple[str, Dialect], at_once: int) -> None:
    """Types, missing values, line breaks within quotes; and what is wrong in which line."""
    text, dialect = file
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        path = Path(place, "t.csv")
        path.write_text(text, newline="")
        patch.setattr(csv_blocks, "_AT_ONCE", at_once)
        assert same(by_blocks(path, dialect), whole(path, dialect))


@given(files([*VALUES, *STRAY]), st.integers(1, 60))
@settings(max_examples=400, deadline=None)
def test_a_stray_quote_is_refused_or_means_the_same(
    file: tuple[str, Dialect], at_once: int
) -> None:
    """No row is taken for another one's: where quotes do not pair up, that is said."""
    text, dialect = file
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        path = Path(place, "t.csv")
        path.write_text(text, newline="")
        patch.setattr(csv_blocks, "_AT_ONCE", at_once)
        found = by_blocks(path, dialect)
        assert isinstance(found, str) or same(found, whole(path, dialect))


@given(
    st.lists(
        st.lists(st.sampled_from(["1,5", "2.5", "3", "x", "", "Köln"]), min_size=2, max_size=2)
    ),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from(["utf-8", "windows-1252"]),
    st.integers(1, 30),
)
@settings(max_examples=200, deadline=None)
def test_the_dialect_is_found_by_blocks(
    rows: list[list[str]], separator: str, encoding: str, at_once: int
) -> None:
    """Separator, decimal mark and encoding are those that the whole file shows."""
    quoted = [[f'"{value}"' if separator in value else value for value in row] for row in rows]
    text = "\n".join(separator.join(row) for row in [["a", "b"], *quoted])
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        path = Path(place, "t.csv")
        path.write_text(text, encoding=encoding, newline="")
        patch.setattr(csv_blocks, "_AT_ONCE", at_once)
        assert dialect_by_blocks(path) == dialect_of(path)


@pytest.mark.parametrize("most", [1, 3, 10, 1000])
def test_a_sample_stands_at_equal_distances(tmp_path, monkeypatch, most):
    """At most so many rows, from the first one on, with the types that all rows allow."""
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", 64)
    path = tmp_path / "t.csv"
    frame = pl.DataFrame({"n": range(100), "zip": ["1"] * 99 + ["02"]})
    frame.write_csv(path)
    found, rows = sample_by_blocks(path, Dialect(), most)
    step = next(step for step in (1, 2, 4, 8, 16, 32, 64, 128) if -(-100 // step) <= most)
    assert rows == 100
    assert found["n"].to_list() == list(range(0, 100, step))
    assert found.schema == frame.schema


def test_a_table_to_look_at_is_a_sample_where_the_memory_does_not_hold_it(tmp_path, monkeypatch):
    """Else it is read whole."""
    path = tmp_path / "t.csv"
    pl.DataFrame({"n": range(100)}).write_csv(path)
    monkeypatch.setattr(batches, "_SAMPLE", 30)
    assert fits(path)
    assert read_or_sample(path)[0].height == 100
    monkeypatch.setattr(csv_blocks, "memory_left", lambda: path.stat().st_size)
    assert not fits(path)
    frame, rows = read_or_sample(path)
    assert (frame["n"].to_list(), rows) == (list(range(0, 100, 4)), 100)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("a\n" + "x" * 5000, 2, 2), ("a,b\n" + "1,2\n" * 900, 3, 60), ("", 0, 0)],
)
def test_what_a_whole_file_takes_is_twice_its_bytes_and_so_much_a_value(
    tmp_path, monkeypatch, text, least, most
):
    """Few long values take little beside their bytes, many short ones a multiple of them."""
    path = tmp_path / "t.csv"
    path.write_text(text)
    monkeypatch.setattr(csv_blocks, "memory_left", lambda: least * len(text) - 1)
    assert not fits(path)
    monkeypatch.setattr(csv_blocks, "memory_left", lambda: most * len(text))
    assert fits(path)


@pytest.mark.parametrize("mark", [".", ","])
def test_a_sample_has_numbers_by_the_decimal_mark(tmp_path, mark):
    """Which is that of the whole file."""
    path = tmp_path / "t.csv"
    path.write_text(f"a;b\n1{mark}5;x\n2{mark}5;y\n")
    found, _ = sample_by_blocks(path, Dialect(";", mark), 9)
    assert found.to_dict(as_series=False) == {"a": [1.5, 2.5], "b": ["x", "y"]}


@pytest.mark.parametrize("at_once", [1, 7, 1000])
@pytest.mark.parametrize(
    ("text", "rows"),
    [
        *(("", 0), ("a,b", 0), ("a,b\n", 0), ("a,b\n1,2\n", 1)),
        *(("a,b\n1,2", 1), ('a,b\n1,"2\n3"', 1)),
        ("a,b\n" + '1,"some\nlines, and\n""more"" of them"\n2,"x\ny\nz"\n' * 9, 18),
    ],
)
def test_rows_are_counted_by_line_breaks_outside_of_quotes(
    tmp_path, monkeypatch, text, rows, at_once
):
    """Wherever a piece of the file begins, and the header is none of them."""
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", at_once)
    path = tmp_path / "t.csv"
    path.write_text(text)
    assert rows_of(path) == rows


@pytest.mark.parametrize(
    ("held", "single", "whole"),
    [
        *((b"", False, 0), (b"1,2", False, 0), (b"1,2\n3,4", False, 4), (b",\n1", False, 2)),
        *((b"1,2\n\n\n", False, 4), (b"1,2\r\n\r\n", False, 5), (b"\n\n", False, 0)),
        *((b"1\n\n\n", True, 4), (b"\n12", True, 1)),
        *((b'1,"2\n3', False, 0), (b'1,"2\n3"\n4,"5\n', False, 8), (b'"1\n', True, 0)),
    ],
)
def test_whole_rows_end_before_empty_lines_and_open_quotes(held, single, whole):
    """Empty lines are left to what follows, but those that are rows of a single column."""
    assert end_of_rows(held, single=single) == whole


def test_quotes_that_never_end_are_no_endless_row(tmp_path, monkeypatch):
    """A file that goes on within quotes is refused before it is all held."""
    held = []
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", 64)
    monkeypatch.setattr(csv_blocks, "MAX_LINE", 1000)
    monkeypatch.setattr(
        csv_blocks, "end_of_rows", lambda some, **how: held.append(some) or end_of_rows(some, **how)
    )
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"' + "x\n" * 5000)
    with pytest.raises(SourceError, match=r"quotes in .* do not pair up"):
        list(text_blocks(path, Dialect()))
    assert 1000 < max(map(len, held)) <= 1000 + 2 * 64


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1," + "x" * 3000 + "\n",
        "a" * 3000 + ",b\n1,2\n",
        "a,b\r" + "1,2\r" * 900,
        'a,b\n1,"' + "x" * 3000 + '"\n',
    ],
)
def test_a_line_that_is_too_long_is_no_open_quote(tmp_path, monkeypatch, text):
    """It is refused as of a file that is read whole, before all of it is held."""
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", 64)
    for module in (csv_blocks, csv_files):
        monkeypatch.setattr(module, "MAX_LINE", 1000)
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")
    assert "has a line of more than" in by_blocks(path, Dialect())
    assert by_blocks(path, Dialect()) == whole(path, Dialect())


@pytest.mark.parametrize("text", ["a\n1\n" + "\n" * 1000 + "2\n", "a,b\n1,2\n" + "\n" * 1000])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
def test_many_empty_lines_are_what_they_are(tmp_path, monkeypatch, text, line):
    """Rows of one column without a value, or the end of the file."""
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", 100)
    monkeypatch.setattr(csv_blocks, "MAX_LINE", 200)
    path = tmp_path / "t.csv"
    path.write_text(text, newline=line)
    assert same(by_blocks(path, Dialect()), whole(path, Dialect()))


def test_an_empty_line_among_many_is_refused_where_it_stands(tmp_path, monkeypatch):
    """By the first one's number, as of a small file."""
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", 10)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n" + "\n" * 100 + "3,4\n")
    assert by_blocks(path, Dialect()) == whole(path, Dialect())


def test_a_value_that_is_too_long_is_refused(tmp_path, monkeypatch):
    """Also one of many short lines within quotes."""
    monkeypatch.setattr(reading, "MAX_VALUE", 50)
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"' + "x\n" * 40 + '"\n')
    with pytest.raises(SourceError, match="holds a value of more than"):
        list(text_blocks(path, Dialect()))


def test_what_may_not_be_read_is_said_of_the_file(tmp_path):
    """And not of the folder in which releases are to lie."""
    for read in (fits, dialect_by_blocks, rows_of, csv_blocks.head_of):
        with pytest.raises(SourceError, match="cannot be read; check that you may read it"):
            read(tmp_path)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("a,b\nx,y,", "line 2 of .* has 3 field"),
        ("a,b\nu,v\nx,y,\n", "line 3 of .* has 3 field"),
        ('a,b\nu,v\nx,"",\n\n', "line 3 of .* has 3 field"),
        ("a,b\n\nu,v\nx,,\n", "line 2 of .* is empty; delete it"),  # one too few, and one too many
        ("a\n1\n\n1,5\n", "line 4 of .* has 2 field"),
    ],
)
def test_a_field_too_many_in_the_last_row_is_refused(tmp_path, text, refusal):
    """Be it empty; of one column an empty line is a row, and not what is wrong."""
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(SourceError, match=refusal):
        read_csv(tmp_path / "t.csv", dialect=Dialect())


def test_nothing_is_silenced_while_rows_are_looked_at(tmp_path, monkeypatch, capfd):
    """A reader's panic is kept from standard error, and no progress nor warning of whoever reads on;
    nor waits another thread that reads.
    """
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", 8)
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "1,2\n" * 20)
    for number, _ in enumerate(text_blocks(path, Dialect())):
        os.write(2, f"{number};".encode())
        assert not reading._one_at_a_time._is_owned()
    assert capfd.readouterr().err.startswith("0;1;2;")
