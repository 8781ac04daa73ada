# SPDX-License-Identifier: Apache-2.0
"""A CSV is read as its plan says it is written; where no plan is, as the rules detect it."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from phalanx.data.sources.dialects import Dialect
from phalanx.data.sources.source import csv_dialect, read_source
from phalanx.errors import SourceError

GERMAN = Dialect(";", ",", "windows-1252")
WARD = (
    "Fallnummer;Größe;Gewicht;Ort;Aufnahme\r\n"
    '1;1,80;71;Köln;31.12.2025\r\n2;1,6;70,5;"Halle; Saale";01.01.2026\r\n'
)
ROWS = [
    (1, 1.8, 71.0, "Köln", "2025-12-31"),
    (2, 1.6, 70.5, "Halle; Saale", "2026-01-01"),
]


def written(tmp_path: Path, content: bytes, name: str = "t.csv") -> Path:
    """A file with these bytes."""
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def rows(table: pl.DataFrame) -> list[tuple[object, ...]]:
    """Rows, dates as text."""
    return table.with_columns(pl.col(pl.Date).cast(pl.String)).rows()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "windows-1252", "latin-1"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_a_table_of_a_german_hospital(tmp_path: Path, encoding: str, name: str) -> None:
    """Semicolons, decimal commas, dates with points, and letters in any of these bytes are read
    alike whether the rules detect them or the plan states them.
    """
    content = WARD.encode(encoding)
    path = written(tmp_path, gzip.compress(content) if name.endswith("gz") else content, name)
    dialect = csv_dialect(path)

    assert dialect == GERMAN._replace(
        encoding="utf-8" if encoding.startswith("utf") else "windows-1252"
    )
    for table in (read_source(path), read_source(path, dialect=dialect)):
        assert table.columns == ["Fallnummer", "Größe", "Gewicht", "Ort", "Aufnahme"]
        assert rows(table) == ROWS


@pytest.mark.parametrize(
    ("content", "dialect"),
    [
        ("a,b\n1,2\n", Dialect()),
        ("a;b,c\n1,2\n", Dialect()),
        ('"a,x";b\n1;2\n', Dialect(";")),
        ("a\tb\n1\t2\n", Dialect("\t")),
        ("a|b\n1,5|x\n", Dialect("|", ",")),
        ("a|b;c;d\n1;2;3\n", Dialect(";")),
        ("a\n1;2\n", Dialect()),
        ('a,b\n"1,5","2,5"\n', Dialect()),
        ("a;b\n1.5;x\n", Dialect(";")),
        ("a;b\n1,5;1.5\n", Dialect(";", ",")),
        ("a;b;c\n1,5;1.5;2.5\n", Dialect(";")),
        ("a;b\n1,5;x\n1,5,5;x\n", Dialect(";")),
        ("a;b\n1,5;x\nyes;x\n", Dialect(";")),
    ],
)
def test_what_the_rules_say(tmp_path: Path, content: str, dialect: Dialect) -> None:
    """The separator of most names in the header; a decimal comma only where commas do not separate,
    every value of a column is such a number, and no more columns have a point.
    """
    assert csv_dialect(written(tmp_path, content.encode())) == dialect


def test_a_tab_separates_a_tsv(tmp_path: Path) -> None:
    """Whatever its header looks like."""
    path = written(tmp_path, b"a;b;c\td\n1\t2\n", "t.tsv")

    assert csv_dialect(path).separator == "\t"
    assert read_source(path).columns == ["a;b;c", "d"]


def test_nothing_is_guessed_where_it_is_stated(tmp_path: Path) -> None:
    """Under a decimal comma a point makes text of a column, and under a point a comma does."""
    path = written(tmp_path, b"a;b\n1,5;1.5\n")

    assert read_source(path, dialect=Dialect(";", ",")).rows() == [(1.5, "1.5")]
    assert read_source(path, dialect=Dialect(";", ".")).rows() == [("1,5", 1.5)]


def test_words_that_look_like_numbers_are_no_reason_to_refuse(tmp_path: Path) -> None:
    """Where a column is declared text, has other words, or more columns have a point."""
    path = written(tmp_path, b"a;b;c\n1,5;x,1;2.5\n2,5;7;3.5\n")

    assert read_source(path, dialect=Dialect(";"), text=["a"]).dtypes == [
        pl.String, pl.String, pl.Float64
    ]  # fmt: skip
    points = written(tmp_path, b"a;b;c\n1,5;1.5;2.5\n", "points.csv")
    assert read_source(points, dialect=Dialect(";")).rows() == [("1,5", 1.5, 2.5)]


@pytest.mark.parametrize(
    ("content", "dialect", "said"),
    [
        (b"a;b\n1;SECRET\n", Dialect(), r"separated by semicolons; write separator = \";\" under"),
        (b"a\tb\n1\tSECRET\n", Dialect(";"), r"separated by tabs; write separator = \"\\t\" under"),
        (b"a,b\n1,SECRET\xe4\n", Dialect(), r'line 2 .* write encoding = "windows-1252"'),
        (b"a;b\n1;SECRET\x81\n", GERMAN, "line 2 of 't.csv' is not Windows-1252"),
        (b"a;b\n1,5;SECRET\n", Dialect(";"), r"comma before .* write decimal = \",\" under"),
        (b'a;b\n1;"SECRET\n2;3\n', GERMAN, "line 2|semicolon or a line break"),
    ],
)
def test_another_dialect_than_stated_is_refused(
    tmp_path: Path, content: bytes, dialect: Dialect, said: str
) -> None:
    """In a sentence that says what to write, and quotes nobody's value."""
    with pytest.raises(SourceError, match=said) as refused:
        read_source(written(tmp_path, content), dialect=dialect)
    assert "SECRET" not in str(refused.value)


def test_other_sources_have_none(tmp_path: Path) -> None:
    """A database and a Parquet file are not looked at; a file that is not there is said."""
    assert csv_dialect("sqlite:///nowhere.db") == csv_dialect("nowhere.parquet") == Dialect()
    with pytest.raises(SourceError, match="there is no file"):
        csv_dialect(tmp_path / "nowhere.csv")
