# SPDX-License-Identifier: Apache-2.0
"""Quotes of a CSV file: rows between two stray ones are never one value of another row."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.sources import csv_blocks, quotes
from phalanx.data.sources.csv_blocks import text_blocks
from phalanx.data.sources.csv_files import read_csv
from phalanx.data.sources.dialects import Dialect
from phalanx.data.sources.quotes import lines_ended, stray_quote, unlike_row
from phalanx.errors import SourceError

ROWS = [f'"{100 + i:05d}","{20 + i}","flu"' for i in range(6)]


def quoted_within(*rows: int) -> list[str]:
    """Rows of which some have a quote in the middle of a value that is quoted."""
    return [row.replace("flu", '5" cut') if i in rows else row for i, row in enumerate(ROWS)]


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        (["who,age,ill", *quoted_within(1, 4)], 3),
        (["who,age,ill", *quoted_within(1, 2)], 3),
        (["who,age,ill", *quoted_within(2)], 4),
        (["who,age,ill", ROWS[0], '"7","30","pipe 5""', ROWS[1], '"8","31","pipe 6""'], 3),
        (["who,age,ill", ROWS[0], '"7","pipe 5"","flu"', ROWS[1], '"8","pipe 6"","flu"'], 3),
        (["who,age,ill", '"7","30",""5 cut"', '"8","31",""6 cut"'], 2),
        (['who,age,height 0"', "1,30,5", '2,31,71"', "3,32,6"], 1),
        (['who,a"ge,ill', *ROWS], 1),
        (["who,age,ill", "1,30,x", '2,31,5"', '3,32,6"'], 3),
        (["who,age,ill", '1,30, "a, b"', "2,31,x"], 2),
        (["who,age,ill", '1,30,"x', "2,31,y", "3,32,z"], 2),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("at_once", [3, 1 << 22])
def test_a_stray_quote_is_told_with_its_line(tmp_path, monkeypatch, lines, line, end, at_once):
    """Whole or some lines at a time, wherever a block ends; no row is read."""
    monkeypatch.setattr(quotes, "_AT_ONCE", at_once)
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", at_once + 20)
    path = tmp_path / "t.csv"
    path.write_text(end.join(lines) + end, newline="")
    told = rf"quotes in line {line} of 't.csv' do not pair up; quote values that hold a quote"
    with pytest.raises(SourceError, match=told):
        read_csv(path)
    with pytest.raises(SourceError, match=r"do not pair up"):
        list(text_blocks(path, Dialect()))


def test_a_stray_quote_beside_a_semicolon_or_in_a_single_column(tmp_path):
    """The separator is that of the file, and a table of one column has none."""
    path = tmp_path / "t.csv"
    path.write_text('a;b\n"p,q";"2"",""x"\n')
    assert read_csv(path, dialect=Dialect(";")).rows() == [("p,q", '2","x')]
    path.write_text('a;b\n"1","2";"3"\n"4","5";"6"\n')
    with pytest.raises(SourceError, match="line 2 of"):
        read_csv(path, dialect=Dialect(";"))
    path.write_text('a\n5" cut\n6" cut\n')
    with pytest.raises(SourceError, match="line 2 of"):
        read_csv(path)


@given(
    st.lists(st.sampled_from(['"', '""', "a", ",", "\n", "\r\n", 'x"', '",', '"\n', ',"', "ü"])),
    st.integers(1, 9),
)
@settings(max_examples=1000, deadline=None)
def test_quotes_are_stray_where_a_strict_reader_says_so(parts, at_once):
    """A twin of the standard library, which goes one character after the other; blocks of any length
    say the same.
    """
    data = "".join(parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quotes, "_AT_ONCE", at_once)
        line = stray_quote(data.encode(), ",")
        ended = lines_ended(data.encode())
    inside = [data[:i].count('"') % 2 for i in range(len(data) + 1)]
    assert ended == (
        sum(c == "\n" and not i for c, i in zip(data, inside, strict=False)),
        inside[-1],
    )
    assert (line is None) == well_quoted(data)
    if line is not None:
        assert 1 <= line <= data.count("\n") + 1
        return
    rows = list(csv.reader(io.StringIO(data, newline=""), strict=True))
    assert len(rows) == ended[0] + (not data.endswith("\n") and bool(data))


@given(
    st.lists(
        st.lists(
            st.sampled_from(['"a"', '""', "a", "", '"x,y"', '"1\n2"', '"q""q"', "ü"]), max_size=4
        ),
        min_size=1,
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.integers(1, 4),
    st.integers(1, 9),
)
@settings(max_examples=500, deadline=None)
def test_a_row_of_another_width_is_told_with_its_line(rows, end, last, width, at_once):
    """A twin of the rows as they were written; blocks of any length say the same."""
    data = end.join(",".join(row) for row in rows) + (end if last else "")
    expected, line = None, 1
    for i, row in enumerate(rows):
        text = ",".join(row)
        fields = len(row) if text else 0
        is_row = text or last or i < len(rows) - 1
        if expected is None and is_row and (fields or 1) != width:
            expected = line, fields
        line += text.count("\n") + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quotes, "_AT_ONCE", at_once)
        assert unlike_row(data.encode(), ",", width) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("city\nBonn\n,", "line 3 of 't.csv' has 2 field"),
        ('h\n"",\n', "line 2 of 't.csv' has 2 field"),
        ("a,b\n1,2\n3,4,\n", "line 3 of 't.csv' has 3 field"),
        ('a,b\n"x\ry",1\n7\n', "line 3 of 't.csv' has 1 field"),
    ],
)
def test_a_field_too_many_or_too_few_is_told(tmp_path, text, told):
    """Also in the last row, and of one column; a carriage return within quotes is no line."""
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with pytest.raises(SourceError, match=told):
        read_csv(path)


def test_a_carriage_return_alone_ends_no_row(tmp_path, monkeypatch):
    """The first of two before a line feed is of its value in every row, whole and some lines at a
    time.
    """
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", 3)
    path = tmp_path / "t.csv"
    path.write_bytes(b'a,b\n"x",1\n7\r,\n3,\n')
    assert read_csv(path)["b"].to_list() == [1, None, None]
    path.write_bytes(b"a,b\n1,2\r\r\n3,4\r\r\n5,6\r\r\n\r\n")
    assert read_csv(path)["b"].to_list() == ["2\r", "4\r", "6\r"]
    blocks = list(text_blocks(path, Dialect()))
    assert [value for block in blocks for value in block["b"].to_list()] == ["2\r", "4\r", "6\r"]


def well_quoted(data: str) -> bool:
    """Whether every value is quoted whole, its quotes doubled, or has none."""
    at = 0
    while at <= len(data):
        if data.startswith('"', at):
            at += 1
            while at < len(data) and (data[at] != '"' or data.startswith('""', at)):
                at += 2 if data[at] == '"' else 1
            if at >= len(data):
                return False
            at += 1
            if at < len(data) and data[at] not in ",\n\r":
                return False
        while at < len(data) and data[at] not in ",\n":
            if data[at] == '"':
                return False
            at += 1
        at += 1
    return True
