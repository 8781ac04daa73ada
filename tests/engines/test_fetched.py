# SPDX-License-Identifier: Apache-2.0
"""The rows of a query, or of a CSV file, are the same in memory and on the disk, where they are too
many.
"""

import sqlite3

import polars as pl
import pyarrow as pa
import pytest

from phalanx.data.sources import csv_blocks
from phalanx.data.sources.batches import Batches
from phalanx.data.sources.dialects import Dialect
from phalanx.data.sources.source import read_source
from phalanx.engines import fetched
from phalanx.engines.fetched import Lines, Query
from phalanx.errors import MachineError, SourceError

SQL = "select * from people order by id"


@pytest.fixture
def url(tmp_path):
    """Eleven persons, of whom some lack a value."""
    connection = sqlite3.connect(tmp_path / "d.db")
    connection.execute("create table people (id integer, zip text, height real)")
    connection.executemany(
        "insert into people values (?, ?, ?)",
        [(i, f"0{i}" if i % 3 else None, i / 4 if i % 4 else None) for i in range(11)],
    )
    connection.commit()
    connection.close()
    return f"sqlite:///{tmp_path}/d.db"


def test_rows_that_fit_are_in_memory(url, tmp_path):
    """They are what a source gives that is read whole, and it is asked for each batch whether they
    fit.
    """
    asked = []
    frame = Query(url, SQL).fetch(lambda *some: asked.append(some) or True, tmp_path)
    assert frame.equals(read_source(url, query=SQL))
    assert frame.equals(Query(url, SQL).whole())
    assert frame.equals(pl.DataFrame(pa.table(Query(url, SQL))))
    assert asked == [(11, ["id", "zip", "height"])]


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_rows_that_do_not_fit_are_on_the_disk(url, tmp_path, monkeypatch, at_once):
    """The same rows, as often as they are asked for, two readings at once and some columns alone;
    no file has a name meanwhile.
    """
    monkeypatch.setattr(fetched, "AT_ONCE", at_once)
    expected = read_source(url, query=SQL)
    before = sorted(tmp_path.iterdir())
    laid = Query(url, SQL).fetch(lambda *_: False, tmp_path)
    assert isinstance(laid, Batches)
    assert sorted(tmp_path.iterdir()) == before
    assert (laid.rows, laid.names) == (11, ["id", "zip", "height"])
    for one, other in zip(laid.each(laid.names), laid.each(["zip"]), strict=True):
        assert one.select("zip").equals(other)
        assert one.height <= at_once
    assert pl.concat(laid.each(laid.names)).equals(expected)
    assert laid.evenly(3).equals(expected.gather_every(4))


def test_rows_are_laid_down_from_the_first_on(url, tmp_path, monkeypatch):
    """Where some fitted, and more did not."""
    whole = read_source(url, query=SQL).to_arrow()

    class InTwo:
        schema = whole.schema

        def __iter__(self):
            yield from whole.to_batches(max_chunksize=4)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            """Nothing is open."""

    monkeypatch.setattr(fetched, "rows_of_query", lambda *_: InTwo())
    laid = Query(url, SQL).fetch(lambda rows, _: rows < 8, tmp_path)
    assert pl.concat(laid.each(laid.names)).equals(pl.DataFrame(whole))


def test_no_file_is_left_where_the_disk_is_full(url, tmp_path, monkeypatch):
    """What goes wrong while rows are laid down is no word of the database."""

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.ParquetWriter.write_table", full)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(OSError, match="No space left"):
        Query(url, SQL).fetch(lambda *_: False, tmp_path)
    assert sorted(tmp_path.iterdir()) == before


def test_a_query_that_fails_is_refused(url, tmp_path):
    """In memory and on the disk, by the same sentence; a table that is not there is named."""
    for fits in (True, False):
        with pytest.raises(SourceError, match="no such table"):
            Query(url, "select * from persons").fetch(lambda *_, fits=fits: fits, tmp_path)


@pytest.fixture
def lines(tmp_path):
    """A CSV file of some hundred bytes, whose last row decides that zip is no number."""
    frame = pl.DataFrame({"age": range(90), "zip": ["7"] * 89 + ["07"], "on": ["2026-01-02"] * 90})
    frame.write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def test_a_csv_file_that_fits_is_in_memory(lines):
    """It is asked whether so many rows of its columns fit, as its beginning tells."""
    asked = []
    of = Lines(lines, Dialect(), (), ["age"])
    frame = of.fetch(lambda *some: asked.append(some) or True, lines.parent)
    expected = read_source(lines, text=["age"])
    assert frame.equals(expected)
    assert pl.DataFrame(pa.table(of)).equals(expected)
    assert expected.dtypes == [pl.String, pl.String, pl.Date]
    assert asked == [(lines.stat().st_size // 3, ["age", "zip", "on"])]


def test_values_that_are_longer_decide_nothing(lines):
    """How many rows there are is counted, those with line breaks within quotes, too."""
    of = []
    for value in ("x", "a long value", '"with ""a"" line\nbreak, and more"'):
        text = "age,ill\n" + f"1,{value}\n" * 40
        lines.write_text(text)
        asked = []
        Lines(lines, Dialect()).fetch(lambda *some, asked=asked: asked.append(some), lines.parent)
        of.append(asked[1:])
    assert of == [[(40, ["age", "ill"])]] * 3


@pytest.mark.parametrize("at_once", [1, 50, 10_000])
def test_a_csv_file_that_does_not_fit_is_on_the_disk(lines, monkeypatch, at_once):
    """With the types that all rows allow, each column by itself, too; no file has a name; and its
    beginning, which tells the columns, may end within a row.
    """
    monkeypatch.setattr(csv_blocks, "_AT_ONCE", at_once)
    monkeypatch.setattr(csv_blocks, "_HEAD", len("age,zip,on\n0,7"))
    monkeypatch.setattr(fetched, "AT_ONCE", 7)
    before = sorted(lines.parent.iterdir())
    laid = Lines(lines, Dialect(), (), ["age"]).fetch(lambda *_: False, lines.parent)
    assert sorted(lines.parent.iterdir()) == before
    expected = read_source(lines, text=["age"])
    assert (laid.rows, laid.names) == (90, expected.columns)
    assert pl.concat(laid.each(laid.names)).equals(expected)
    for name in laid.names:
        assert pl.concat(laid.each([name])).equals(expected.select(name))


def test_a_csv_file_that_the_memory_does_not_hold_is_on_the_disk(lines, monkeypatch):
    """And is read from there, so that it is published as it would be if its values were shorter."""
    monkeypatch.setattr(csv_blocks, "memory_left", lambda: 2000)
    monkeypatch.setattr(fetched, "read_source", None)
    found = Lines(lines, Dialect()).fetch(lambda *_: True, lines.parent)
    assert found.equals(read_source(lines))


def test_a_csv_file_that_is_none_is_refused(lines, tmp_path):
    """One that is gone, one without a header, and one with a row that is too short, by its line."""
    with pytest.raises(SourceError, match="there is no file"):
        Lines(tmp_path / "gone.csv", Dialect()).fetch(lambda *_: False, tmp_path)
    for text, refusal in (("", "is empty"), (lines.read_text() + "1\n", "line 92 of")):
        lines.write_text(text)
        with pytest.raises(SourceError, match=refusal):
            Lines(lines, Dialect()).fetch(lambda *_: False, tmp_path)


def test_declared_text_does_not_choose_the_decimal_mark(tmp_path):
    """Whole and in pieces: sizes with a comma are text by the plan, and weights have a point."""
    path = tmp_path / "t.csv"
    path.write_text("size;weight\n" + "".join(f"{i},5;{i}.5\n" for i in range(9)))
    laid = Lines(path, None, (), ["size"]).fetch(lambda *_: False, tmp_path)
    found = pl.concat(laid.each(laid.names))
    assert found.equals(read_source(path, text=["size"]))
    assert found.dtypes == [pl.String, pl.Float64]


def test_a_query_whose_values_are_too_long_is_refused(url, tmp_path, monkeypatch):
    """Few rows may take much memory; that there are few decides how they would be published. They
    may take half of it.
    """
    with fetched.rows_of_query(url, SQL, ()) as rows:
        size = sum(batch.nbytes for batch in rows)
    monkeypatch.setattr(fetched, "memory_left", lambda: 2 * size)
    assert Query(url, SQL).fetch(lambda *_: True, tmp_path).height == 11
    monkeypatch.setattr(fetched, "memory_left", lambda: 2 * size - 1)
    with pytest.raises(MachineError, match="more rows than there is memory for"):
        Query(url, SQL).fetch(lambda *_: True, tmp_path)


def test_a_csv_file_that_changes_is_refused(lines, monkeypatch):
    """Rows of two tables would be taken for those of one."""
    blocks = fetched.text_blocks

    def growing(path, dialect):
        for frame in blocks(path, dialect):
            with path.open("a") as file:
                file.write("1,2,2026-01-02\n")
            yield frame

    monkeypatch.setattr(fetched, "text_blocks", growing)
    with pytest.raises(SourceError, match=r"'t\.csv' changed while it was read"):
        Lines(lines, Dialect()).fetch(lambda *_: False, lines.parent)


def test_what_is_asked_of_a_database_is_not_shown():
    """Its address may hold a password, and the query values."""
    of = Query("postgresql://ann:secret@host/db", "select * from t where name = 'Ann'")
    assert "secret" not in repr(of)
    assert "Ann" not in repr(of)


def test_many_rows_of_long_values_are_on_the_disk(url, tmp_path, monkeypatch):
    """That they take much memory refuses none that do not fit by their number."""
    monkeypatch.setattr(fetched, "memory_left", lambda: 100)
    assert isinstance(Query(url, SQL).fetch(lambda *_: False, tmp_path), Batches)
