# SPDX-License-Identifier: Apache-2.0
"""SQLite as a source, and what is said of databases that cannot be asked."""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from phalanx.data.sources import databases
from phalanx.data.sources.databases import shown
from phalanx.data.sources.source import read_source
from phalanx.errors import ExtraError, SourceError


@pytest.fixture
def database(tmp_path):
    """An SQLite file with a strange name, two ordinary rows, and a column whose type changes
    late.
    """
    path = tmp_path / "x #?%20.db"
    connection = sqlite3.connect(path)
    connection.execute('create table "p;--" (id integer, zip text, x real)')
    connection.executemany(
        'insert into "p;--" values (?, ?, ?)', [(1, "01234", 1.5), (2, None, None)]
    )
    connection.execute("create table mixed (x)")
    connection.executemany(
        "insert into mixed values (?)", [*((i,) for i in range(3000)), ("SECRET",)]
    )
    connection.commit()
    connection.close()
    return path


def test_sqlite(database):
    """The rows of a query, with their types; text of digits stays text, a type that changes late
    loses no row.
    """
    frame = read_source(f"sqlite:///{database}", query='select * from "p;--" order by id')

    assert frame.schema == {"id": pl.Int64, "zip": pl.String, "x": pl.Float64}
    assert frame.rows() == [(1, "01234", 1.5), (2, None, None)]
    assert read_source(f"sqlite:///{database}", query="select * from mixed").height == 3001


@pytest.mark.parametrize(
    "query",
    [
        'select x, x as "an ""x""" from numbers;',
        'with n as (select * from numbers) select x, x as "an ""x""" from n -- all\n',
    ],
)
def test_no_row_of_sqlite_decides_how_a_declared_category_is_read(tmp_path, query):
    """As text, a 1 is a 1 beside a 2.5 and a word as without them; without that, the driver takes
    one type for all.
    """
    read = {}
    for name, values in (("alone", [1, 1]), ("beside", [1, 1, 2.5, "x", None])):
        connection = sqlite3.connect(tmp_path / name)
        connection.execute("create table numbers (x)")
        connection.executemany("insert into numbers values (?)", [(value,) for value in values])
        connection.commit()
        connection.close()
        read[name] = read_source(
            f"sqlite:///{tmp_path / name}", query=query, text=["x", 'an "x"', "other"]
        )
    assert read["alone"].columns == ["x", 'an "x"']
    assert read["alone"].rows() == [("1", "1")] * 2
    assert read["beside"].rows() == [
        ("1", "1"),
        ("1", "1"),
        ("2.5", "2.5"),
        ("x", "x"),
        (None, None),
    ]


def logged(database):
    """The database, whose file says from now on that it is written through a log."""
    connection = sqlite3.connect(database)
    connection.execute("pragma journal_mode = wal")
    connection.close()
    return database


def test_the_log_of_sqlite_does_not_stay_where_nobody_uses_it(database):
    """Where a database has a log, to read it makes the log's files, also where the query is refused
    or the file is none any more: they go again, and no byte of the database changes.
    """
    before, files = logged(database).read_bytes(), sorted(database.parent.iterdir())

    assert read_source(f"sqlite:///{database}", query="select * from mixed").height == 3001
    with pytest.raises(SourceError, match="no such table"):
        read_source(f"sqlite:///{database}", query="select * from others")
    assert (database.read_bytes(), sorted(database.parent.iterdir())) == (before, files)
    database.write_bytes(before[:21] + bytes(3) + before[24:])
    with pytest.raises(SourceError, match="refuses the query"):
        read_source(f"sqlite:///{database}", query="select * from mixed")
    assert sorted(database.parent.iterdir()) == files


def test_the_log_of_sqlite_stays_where_somebody_uses_it(database):
    """What another one has written, and not moved out of the log, is read and stays."""
    other = sqlite3.connect(logged(database))
    other.execute("insert into mixed values (1)")
    other.commit()

    assert read_source(f"sqlite:///{database}", query="select * from mixed").height == 3002
    assert Path(f"{database}-wal").stat().st_size > 0
    assert other.execute("select count(*) from mixed").fetchone() == (3002,)
    other.close()


@pytest.mark.parametrize(
    "query",
    ["delete from mixed", "drop table mixed", "create table t (a)", "insert into mixed values (1)"],
)
def test_sqlite_is_opened_to_read_only(database, query):
    """A query that would change the source is refused and changes nothing."""
    before = database.read_bytes()

    for text in ((), ("x",)):
        with pytest.raises(SourceError, match="refuses the query"):
            read_source(f"sqlite:///{database}", query=query, text=text)
    assert database.read_bytes() == before


def test_a_query_of_sqlite_makes_no_file(database):
    """Another database that is attached would be made, wherever the query says."""
    there = sorted(database.parent.iterdir())
    for query in ("attach", "select 1) ; attach", "vacuum into"):
        asked = f"{query} database '{database}.made' as other".replace("into database", "into")
        with pytest.raises(SourceError, match="refuses the query"):
            read_source(f"sqlite:///{database}", query=asked)
    assert sorted(database.parent.iterdir()) == there


@pytest.mark.parametrize(
    ("url", "query", "said"),
    [
        ("sqlite:///{}", "select 1 from PASSWORD", r"\(no such table\)"),
        ("sqlite:///{}", "select PASSWORD from mixed", r"\(no such column\)"),
        ("sqlite:///{}", "select PASSWORD(1)", r"\(no such function\)"),
        ("sqlite:///{}", "select 'PASSWORD", "refuses the query of the source; try"),
        ("sqlite:///{}", "selec 1 PASSWORD", r"\(syntax error\)"),
        ("sqlite:///{}", None, "needs a query"),
        ("sqlite:///{}x", "select 1", "did you mean"),
        ("sqlite://x", "select 1", "three slashes"),
        ("mysql://u:PASSWORD@h/d", "select 1", "'mysql' is not known"),
        ("https://h/t.csv?PASSWORD", None, "'https' is not known; give a path"),
    ],
)
def test_wrong_databases_are_one_sentence(database, url, query, said):
    """What is wrong with a database or query is said without values, passwords and words of the
    query, also where some columns are to be text.
    """
    for text in ((), ("x",)):
        with pytest.raises(SourceError, match=said) as refused:
            read_source(url.format(database), query=query, text=text)
        assert "PASSWORD" not in str(refused.value)


def test_a_query_needs_a_database(tmp_path):
    """A query beside a file is an error, not ignored."""
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(SourceError, match="needs a database"):
        read_source(tmp_path / "t.csv", query="select 1")


def test_postgresql_without_its_driver_says_what_to_install(monkeypatch):
    """The extra is named where the driver is missing."""
    monkeypatch.setitem(sys.modules, "adbc_driver_postgresql", None)

    with pytest.raises(ExtraError, match=r"pip install 'phalanx\[postgres\]'") as refused:
        read_source("postgresql://u:PASSWORD@h/d", query="select 1")
    assert "PASSWORD" not in str(refused.value)


def test_a_shown_url_has_no_password():
    """User and password are left out of what messages show."""
    assert (
        shown("postgresql://ann:PASSWORD@host:5432/db?password=PASSWORD")
        == "postgresql://host:5432/db"
    )


def test_numbers_beside_a_word_keep_their_digits_in_sqlite(tmp_path):
    """The driver would write seven of them; also where the word comes late, and where it is the
    first of which the driver is asked.
    """
    numbers = [123456.78 + i / 100 for i in range(3_000)]
    for name, at in (("early", 0), ("late", 2_999)):
        values = [*numbers[:at], "N/A", *numbers[at + 1 :]]
        with closing(sqlite3.connect(tmp_path / name)) as connection:
            connection.execute("create table t (i, x)")
            connection.executemany("insert into t values (?, ?)", enumerate(values))
            connection.commit()
        frame = read_source(f"sqlite:///{tmp_path / name}", query="select i, x from t")
        assert frame["i"].to_list() == list(range(3_000))
        assert frame["x"][at] == "N/A"
        assert [float(x) for x in frame["x"] if x != "N/A"] == numbers[:at] + numbers[at + 1 :]


def test_a_column_that_is_empty_for_a_million_rows(tmp_path, monkeypatch):
    """The driver decides by the first rows; what to do about it is said, without a value."""
    monkeypatch.setattr(databases, "_FIRST", (4, 16))
    with closing(sqlite3.connect(tmp_path / "d.db")) as connection:
        connection.execute("create table t (note text)")
        connection.executemany("insert into t values (?)", [*[(None,)] * 40, ("SECRET",)])
        connection.commit()
    with pytest.raises(SourceError, match="has other types behind its first") as refused:
        read_source(f"sqlite:///{tmp_path}/d.db", query="select note from t")
    assert "SECRET" not in str(refused.value)
    sql = "select note from t order by note is null"
    assert read_source(f"sqlite:///{tmp_path}/d.db", query=sql)["note"][0] == "SECRET"
