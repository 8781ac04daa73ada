# SPDX-License-Identifier: Apache-2.0
"""A source is read whole and true, or refused in one sentence that names file and line."""

import datetime as dt
import gzip
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phalanx.data.sources import databases, reading, source
from phalanx.data.sources.csv_files import inferred
from phalanx.data.sources.databases import shown
from phalanx.data.sources.source import read_source
from phalanx.errors import ExtraError, SourceError

FRAME = pl.DataFrame(
    {
        "id": [1, 2, 3],
        "zip": ["01234", "99999", None],
        "when": [dt.date(2026, 1, 1), None, dt.date(2026, 1, 3)],
        "x": [1.5, -0.25, 3.0],
    }
)


def csv_of(tmp_path, content, name="t.csv"):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path / name


def test_every_file_format_gives_the_same_table(tmp_path):
    """CSV, TSV, gzipped CSV, Parquet, Arrow file and stream of one table are read as the same
    table.
    """
    FRAME.write_csv(tmp_path / "t.csv")
    FRAME.write_csv(tmp_path / "t.tsv", separator="\t")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_ipc(tmp_path / "t.arrow")
    FRAME.write_ipc_stream(tmp_path / "t.feather")

    for name in ["t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.arrow", "t.feather"]:
        assert read_source(tmp_path / name).equals(FRAME), name
        assert read_source(str(tmp_path / name)).schema == FRAME.schema, name


@pytest.mark.parametrize(
    ("fields", "dtype", "values"),
    [
        (["1", "2"], pl.Int64, [1, 2]),
        (["1", "", "-0"], pl.Int64, [1, None, 0]),
        (["1", "2.5", "-0.0"], pl.Float64, [1.0, 2.5, -0.0]),
        (["1e3", ".5"], pl.Float64, [1000.0, 0.5]),
        (["01234", "99999"], pl.String, ["01234", "99999"]),
        (["1.5", "00.5"], pl.String, ["1.5", "00.5"]),
        (["+491", "492"], pl.String, ["+491", "492"]),
        (["0", "0.5", "10"], pl.Float64, [0.0, 0.5, 10.0]),
        (["12345678901234567890", "1"], pl.String, ["12345678901234567890", "1"]),
        (["true", "false"], pl.String, ["true", "false"]),
        (["2026-01-31", ""], pl.Date, [dt.date(2026, 1, 31), None]),
        (["2026-01-31", "2026-02-30"], pl.String, ["2026-01-31", "2026-02-30"]),
        (
            ["2026-01-31T10:00:00"],
            pl.Datetime("us"),
            [dt.datetime(2026, 1, 31, 10)],  # noqa: DTZ001
        ),
        (["31.1.2026", "01.02.2026"], pl.Date, [dt.date(2026, 1, 31), dt.date(2026, 2, 1)]),
        (["31.01.26"], pl.String, ["31.01.26"]),
        (["30.02.2026"], pl.String, ["30.02.2026"]),
        (
            ["31.01.2026 10:00"],
            pl.Datetime("us"),
            [dt.datetime(2026, 1, 31, 10)],  # noqa: DTZ001
        ),
        (["NA", "1"], pl.String, ["NA", "1"]),
        (["", ""], pl.String, ["", ""]),
    ],
)
def test_types_are_inferred_without_loss(fields, dtype, values):
    """A column is a number or a date only where every field is one and none loses anything by
    it.
    """
    column = inferred(pl.Series("x", fields, dtype=pl.String))

    assert (column.dtype, column.to_list()) == (dtype, values)


def test_types_come_from_every_row(tmp_path):
    """One leading zero, letter or fraction after ten thousand whole numbers decides."""
    for last, dtype in [("07", pl.String), ("a", pl.String), ("1.5", pl.Float64), ("7", pl.Int64)]:
        path = csv_of(tmp_path, "x\n" + "".join(f"{i}\n" for i in range(10_000)) + last + "\n")

        assert read_source(path).dtypes == [dtype]


def test_empty_fields_are_missing_and_quoted_empty_ones_are_empty_text(tmp_path):
    """An empty field is missing; "" is the empty text among texts, and missing among numbers."""
    frame = read_source(csv_of(tmp_path, 'text,number\n,\n"",""\nx,1\n'))

    assert frame.rows() == [(None, None), ("", None), ("x", 1)]


def test_not_a_number_among_numbers(tmp_path):
    """NaN among numbers is a number that is missing, which encoding treats as such."""
    frame = read_source(csv_of(tmp_path, "x,y\nNaN,1\n1.5,2\n"))

    assert frame["x"].is_nan().to_list() == [True, False]


def test_line_ends_marks_quotes_and_strange_names(tmp_path):
    """Windows line ends, a byte order mark, quoted separators, line breaks in values, and any
    column name on one line are read as they are meant.
    """
    frame = read_source(
        csv_of(tmp_path, '\ufeff"say ""hi""","a,b",two words,🙂\r\n"1\n2","x,y",,z\r\n\r\n')
    )

    assert frame.columns == ['say "hi"', "a,b", "two words", "🙂"]
    assert frame.rows() == [("1\n2", "x,y", None, "z")]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a,b\nK\xc3\xb6ln,2\n1,\xff\n", r"line 3 of 't\.csv' is not UTF-8; save it as UTF-8\.$"),
        (b"a,\xe4\nK\xc3\xb6ln,2\n", r"line 1 of 't\.csv' is not UTF-8"),
        (b"a,b\n\x81,\xe4\n", r"line 2 of 't\.csv' is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-le"), "UTF-16"),
        ("a,b\n1,2\n".encode("utf-16-be"), "UTF-16"),
        (b'a,"b\n1,SECRET\n1,SECRET\n', r"the header of 't\.csv' goes on over several lines"),
        (b'a,"line\nbreak"\n1,2\n', r"the header of 't\.csv' goes on over several lines"),
        (
            b"a,b\n1,SECRET\n1,2,SECRET\n",
            r"line 3 of 't\.csv' has 3 field\(s\) where the header has 2",
        ),
        (b"a,b\n1,2\nSECRET\n", r"line 3 of 't\.csv' has 1 field\(s\)"),
        (b'a,b\n"1\n1",2\nSECRET\n', r"line 4 of 't\.csv' has 1 field\(s\)"),
        (b"a,b\n1,2\n\n3,4\n", r"line 3 of 't\.csv' is empty; delete it"),
        (b'a,b\n"SECRET,2\n3,4\n', r"line 2|quotes"),
        (b'a,b\nSEC"RET,2\n3"4,5\n', "quotes"),
        (b"a,a\n1,2\n", "names 'a' twice"),
        (b"a,\n1,2\n", "no name for column 2"),
        (b"sep=;\na;b\n1;SECRET\n", "Excel's word for the separator"),
        (b"a;b\n1;2;SECRET\n", r"line 2 of 't\.csv' has 3 field\(s\) .* with a semicolon in it"),
        (b"a,b\r1,2\r", "carriage return"),
    ],
)
def test_wrong_csv_is_one_sentence(tmp_path, content, said):
    """Each way to get a CSV wrong is refused with file and line, and without a value."""
    with pytest.raises(SourceError, match=said) as refused:
        read_source(csv_of(tmp_path, content))
    assert "SECRET" not in str(refused.value)


def test_missing_values_in_the_last_column_are_not_short_rows(tmp_path):
    """A row that ends in its separator is whole, quoted or not."""
    assert read_source(csv_of(tmp_path, "a,b\n1,\n2,3\n")).rows() == [(1, None), (2, 3)]
    assert read_source(csv_of(tmp_path, 'a,b\n"1",\n2,3\n')).rows() == [(1, None), (2, 3)]
    long = f'a,b\n"{"x" * 140_000}",\n"y",3\n'  # more than the module csv takes at first
    assert read_source(csv_of(tmp_path, long))["b"].to_list() == [None, 3]


def test_a_missing_file_names_its_neighbour(tmp_path):
    """A mistyped path gets the nearest file of its folder."""
    csv_of(tmp_path, "a\n1\n", "discharges.csv")

    with pytest.raises(SourceError, match=r"did you mean 'discharges\.csv'"):
        read_source(tmp_path / "discharge.csv")
    with pytest.raises(SourceError, match="no folder"):
        read_source(tmp_path / "nowhere" / "x.csv")
    with pytest.raises(SourceError, match="is a folder"):
        read_source(tmp_path)
    with pytest.raises(SourceError, match="not of a known kind"):
        read_source(csv_of(tmp_path, "a\n1\n", "t.ods"))


def test_a_path_is_no_pattern(tmp_path):
    """Stars and brackets in a file's name are just its name."""
    for name in ["t[1].csv", "t*.csv", "t[1].parquet"]:
        if name.endswith("csv"):
            FRAME.write_csv(tmp_path / name)
        else:
            FRAME.write_parquet(tmp_path / name)

        assert read_source(tmp_path / name).equals(FRAME)


def test_damaged_files_are_one_sentence(tmp_path):
    """Cut, overwritten or mislabelled Parquet, Arrow and gzip files are refused without a
    traceback.
    """
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_ipc(tmp_path / "t.arrow")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"a\n1\n" * 1000))
    for name in ["t.parquet", "t.arrow", "t.csv.gz"]:
        whole = (tmp_path / name).read_bytes()
        for broken in (
            whole[: len(whole) // 2],
            whole[: len(whole) // 3],
            b"",
            b"\0" * 100,
            whole[:8] + b"\xff" * 64 + whole[72:],
        ):
            if name == "t.arrow" and len(broken) == len(whole):
                continue  # plain Arrow has no check over its values
            (tmp_path / name).write_bytes(broken)
            with pytest.raises(SourceError, match=r"t\."):
                read_source(tmp_path / name)


def test_a_parquet_bomb_is_refused_before_reading(tmp_path, monkeypatch):
    """A file that declares more values than its bytes can hold is refused; a million equal rows are
    not.
    """
    pq.write_table(
        pa.table({f"c{i}": pa.repeat(pa.scalar("x"), 1_000_000) for i in range(5)}),
        tmp_path / "equal.parquet",
    )

    assert read_source(tmp_path / "equal.parquet").shape == (1_000_000, 5)

    monkeypatch.setattr(reading, "ALWAYS_CELLS", 1000)
    monkeypatch.setattr(reading, "MAX_CELLS_PER_BYTE", 100)
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("the bomb was read"))
    with pytest.raises(SourceError, match="damaged or hostile"):
        read_source(tmp_path / "equal.parquet")


def test_an_arrow_bomb_is_refused(tmp_path):
    """An Arrow file of a column of nothing may declare any number of rows in a few bytes."""
    table = pa.table({"x": pa.nulls(2**31 - 1)})
    with pa.ipc.new_file(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)

    with pytest.raises(SourceError, match="damaged or hostile"):
        read_source(tmp_path / "t.arrow")


def test_categories_leave_their_unused_values_behind(tmp_path):
    """A value that was filtered out of a dictionary column is in nothing that is read."""
    full = pa.table({"x": pa.array(["kept", "MARKER"]).dictionary_encode()})
    pq.write_table(full.filter(pa.array([True, False])), tmp_path / "t.parquet")
    frame = read_source(tmp_path / "t.parquet")

    assert frame.dtypes == [pl.String]
    frame.write_ipc(tmp_path / "out.arrow")
    assert b"MARKER" in (tmp_path / "t.parquet").read_bytes()
    assert b"MARKER" not in (tmp_path / "out.arrow").read_bytes()


def test_nested_columns_need_to_be_dropped(tmp_path):
    """A column of structs, or of lists that are no sets, is refused by name unless it is
    dropped.
    """
    pl.DataFrame({"a": [1], "l": [[1.5, 2.0]]}).write_parquet(tmp_path / "t.parquet")

    with pytest.raises(SourceError, match="column 'l' holds List"):
        read_source(tmp_path / "t.parquet")
    assert read_source(tmp_path / "t.parquet", drop=["l"]).columns == ["a", "l"]


def test_columns_of_sets_are_read(tmp_path):
    """Lists of text come out of Parquet and Arrow files as they are."""
    frame = pl.DataFrame({"a": [1, 2, 3], "l": [["rash", "fever"], [], None]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")

    assert read_source(tmp_path / "t.parquet").equals(frame)
    assert read_source(tmp_path / "t.arrow").equals(frame)


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
    with pytest.raises(SourceError, match="needs a database"):
        read_source(csv_of(tmp_path, "a\n1\n"), query="select 1")


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


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.arrow", "folder"])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch, name):
    """Half of its rows may be those of another table."""
    path = tmp_path / name
    table = pl.DataFrame({"a": [1, 2, 3]})

    def write(frame):
        if name == "folder":
            path.mkdir(exist_ok=True)
            frame.write_parquet(path / "one.parquet")
        elif name.endswith("gz"):
            path.write_bytes(gzip.compress(frame.write_csv().encode()))
        else:
            getattr(
                frame,
                {"csv": "write_csv", "parquet": "write_parquet", "arrow": "write_ipc"}[name[2:]],
            )(path)

    write(table)
    assert read_source(path).equals(table)
    kind = source._read_kind if name != "folder" else source.read_folder

    def changed(*given):
        read = kind(*given)
        write(table.with_columns(b=pl.lit(1)))
        return read

    monkeypatch.setattr(source, kind.__name__, changed)
    with pytest.raises(SourceError, match="changed while it was read"):
        read_source(path)
