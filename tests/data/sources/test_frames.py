# SPDX-License-Identifier: Apache-2.0
"""Any kind of table comes in, and the same kind goes out."""

import gc
import sqlite3
import subprocess
import sys

import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from phalanx.data.sources.frames import like, to_polars
from phalanx.data.sources.source import read_source
from phalanx.errors import ReleaseError, SourceError
from phalanx.release.foreign import Foreign

ROWS = {"n": [1, 2, 3], "t": ["a", None, "c"]}


class StreamOnly:
    """A stranger's table that speaks the Arrow PyCapsule interface and nothing else."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.table(ROWS).__arrow_c_stream__(requested_schema)


KINDS = {
    "pandas": lambda: pd.DataFrame(ROWS),
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy": lambda: pl.LazyFrame(ROWS),
    "arrow": lambda: pa.table(ROWS),
    "batch": lambda: pa.RecordBatch.from_pydict(ROWS),
    "narwhals": lambda: nw.from_native(pl.DataFrame(ROWS)),
    "narwhals lazy": lambda: nw.from_native(pl.LazyFrame(ROWS)),
    "narwhals pandas": lambda: nw.from_native(pd.DataFrame(ROWS)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_in_and_out(kind):
    """The same rows come in whatever the kind, and what goes out is of the kind that came in."""
    table = KINDS[kind]()
    frame = to_polars(table)

    assert frame.rows() == list(zip(*ROWS.values(), strict=True))
    assert type(like(table, frame)) is type(table)
    assert to_polars(like(table, frame)).equals(frame)
    assert to_polars(like(table, frame.clear())).columns == ["n", "t"]


def test_the_capsule_interface():
    """A table that only speaks Arrow is read, and answered with a PyArrow table."""
    assert to_polars(StreamOnly()).equals(pl.DataFrame(ROWS))
    assert isinstance(like(StreamOnly(), pl.DataFrame(ROWS)), pa.Table)


def test_duckdb_relations():
    """A DuckDB relation comes in through the capsule interface."""
    duckdb = pytest.importorskip(
        "duckdb", reason="DuckDB is a reader's tool, not a part of Phalanx"
    )

    assert to_polars(duckdb.sql("select 1 as a, 'x' as b")).rows() == [(1, "x")]


def test_a_pandas_index_is_not_data():
    """A named, shuffled or doubled index leaves no column."""
    table = pd.DataFrame(ROWS, index=pd.Index([3, 3, 1], name="MARKER"))

    assert to_polars(table).columns == ["n", "t"]
    assert list(like(table, pl.DataFrame(ROWS)).index) == [0, 1, 2]


def test_pandas_missing_values_and_categories():
    """None, NaN, NA and NaT are missing; unused categories stay behind; numbered columns get their
    number as name.
    """
    table = pd.DataFrame(
        {
            0: pd.Categorical(["a", None], categories=["a", "MARKER"]),
            "f": [1.5, float("nan")],
            "i": pd.array([1, None], dtype="Int64"),
            "d": pd.to_datetime(["2026-01-01", None]),
        }
    )
    frame = to_polars(table)

    assert frame.columns == ["0", "f", "i", "d"]
    assert frame.dtypes[0] == pl.String
    assert frame.null_count().row(0) == (1, 1, 1, 1)


def test_pandas_gets_every_whole_number() -> None:
    """Beside a missing one, too, where pandas has floats: a number that no float holds stays what it
    is.
    """
    numbers = {
        "small": [1, None, 3],
        "large": [2**53 + 1, None, -(2**63)],
        "whole": [2**53 + 1] * 3,
    }
    frame = pl.DataFrame(numbers)
    out = like(pd.DataFrame(), frame)

    assert out.dtypes.astype(str).to_list() == ["float64", "Int64", "int64"]
    assert to_polars(out)["large"].equals(frame["large"])


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (5, "int is not a table"),
        ([{"a": 1}], "list is not a table"),
        (pl.DataFrame({"l": [[1.5]]}), "column 'l' holds List"),
        (pl.DataFrame({"b": [b"x"]}), "column 'b' holds Binary"),
        (pl.DataFrame({"": [1]}), "without a name"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns called 'a'"),
        (pa.table([[1], [2]], names=["a", "a"]), "two columns called 'a'"),
        (
            pd.DataFrame({"m": [1, "SECRET"]}),
            "column 'm' of the pandas table holds values of several types",
        ),
        (pd.DataFrame({"m": [{"SECRET"}, 2]}), "column 'm'"),
        (pd.DataFrame({"a": [1, 2], "m": [1j, 2j]}), "column 'm' .* of one that is not read"),
        (pa.table({"a": [1], "m": pa.nulls(1, pa.month_day_nano_interval())}), "column 'm' of"),
        (pd.DataFrame({"m": pd.PeriodIndex(["2026-01", "2026-02"], freq="M")}), "holds periods"),
        (pd.DataFrame({"m": pd.cut([1, 2, 3], 2)}), r"'m' holds intervals.*\.astype\(str\)"),
    ],
)
def test_what_is_no_table_of_plain_columns(table, said):
    """What cannot be read is refused by column, never by value."""
    with pytest.raises(SourceError, match=said) as refused:
        to_polars(table)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("mixed", [False, True])
def test_what_was_read_of_pandas_stays(mixed):
    """Numbers that are changed in the table's own memory afterwards are not changed in what was
    read, also where the table is read column by column.
    """
    table = pd.DataFrame({"n": [1, 2], "f": [0.5, 1.5], "m": [1, "x" if mixed else 2]})
    read = to_polars(table, drop=["m"])
    gc.collect()  # of what pandas would copy for
    table.loc[:, "n"] = 7
    table.loc[:, "f"] = 7.5

    assert read.select("n", "f").rows() == [(1, 0.5), (2, 1.5)]


def test_one_column_is_dropped_by_its_name():
    """A text is one name, as in a schema, and not all that it holds."""
    table = pl.DataFrame({"l": [[1.5]], "all": [1]})
    assert read_source(table, drop="l").width == 2
    with pytest.raises(SourceError, match="'l' holds List"):
        read_source(table, drop="all")


def test_a_dropped_column_may_hold_anything():
    """What is left out anyway needs no plain type, nor one that can be read."""
    assert to_polars(pl.DataFrame({"a": [1], "l": [[1.5]]}), drop=["l"]).width == 2
    for table in (
        pd.DataFrame({"l": [1j, 2j], "a": [1, 2]}),
        pd.DataFrame({"l": ["x", 2], "a": [1, 2]}),
        pd.DataFrame({"l": pd.PeriodIndex(["2026-01", "2026-02"], freq="M"), "a": [1, 2]}),
        pa.table({"l": pa.nulls(2, pa.month_day_nano_interval()), "a": [1, 2]}),
    ):
        read = to_polars(table, drop=["l"])
        assert read.columns == ["l", "a"] and read["a"].to_list() == [1, 2]


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_text_that_is_none_is_refused_by_its_column(kind: str) -> None:
    """Bytes that are no UTF-8 are found when the table comes in, and not when a release is written;
    a column that is dropped may hold them.
    """
    good, bad = pa.array(["é", None, "c"]), pa.array([b"a", None, b"\xe9"]).view(pa.string())
    of_kind = (
        (lambda a: a.dictionary_encode())
        if kind == "dictionary"
        else (lambda a: a.cast(pa.binary_view()).view(pa.string_view()))
        if kind == "string_view"
        else (lambda a: a.cast(getattr(pa, kind)(), safe=False))
    )
    numbers = pa.array([1, 2, 3])
    assert to_polars(pa.table({"n": numbers, "t": of_kind(good)}))["t"].to_list() == [
        "é",
        None,
        "c",
    ]
    table = pa.table({"n": numbers, "t": of_kind(bad)})
    with pytest.raises(SourceError, match="column 't' holds text that is not UTF-8; convert it"):
        to_polars(table)
    assert to_polars(table, drop=["t"])["n"].to_list() == [1, 2, 3]


def test_a_database_may_hold_text_that_is_none(tmp_path) -> None:
    """SQLite takes any bytes for text."""
    with sqlite3.connect(tmp_path / "d.db") as database:
        database.execute("create table t (who integer, ill text)")
        database.execute("insert into t values (1, 'flu'), (2, cast(x'ff' as text))")
    database.close()
    with pytest.raises(SourceError, match="column 'ill' holds text that is not UTF-8"):
        read_source(f"sqlite:///{tmp_path}/d.db", query="select * from t")


@pytest.mark.parametrize(
    "lists",
    [
        pl.Series([["b", "a"], [], None]),
        pl.Series([["b", "a"], [], None], dtype=pl.List(pl.Categorical)),
        pl.Series([["b", "a"], ["a", "a"], None], dtype=pl.Array(pl.Enum(["a", "b", "unused"]), 2)),
        pl.Series([[3, 1], [], None], dtype=pl.List(pl.UInt8)),
    ],
)
def test_lists_that_may_be_sets_are_lists_of_text(lists):
    """Lists of texts, of categories and of whole numbers come in from Polars, Arrow and pandas; no
    category that no row has stays behind.
    """
    frame = pl.DataFrame({"l": lists})
    expected = [None if v is None else [str(x) for x in v] for v in lists.to_list()]

    for table in (
        frame,
        frame.to_arrow(),
        frame.with_columns(pl.col("l").cast(pl.List(pl.String))).to_pandas(),
    ):
        read = to_polars(table)
        assert read["l"].dtype == pl.List(pl.String)
        assert read["l"].to_list() == expected


def test_pandas_is_not_imported_for_others():
    """Reading a Polars frame imports neither pandas nor narwhals."""
    script = (
        "import sys, polars as pl; from phalanx.data.sources.frames import like, to_polars; f ="
        " pl.DataFrame({'a': [1]}); like(f, to_polars(f)); print({'pandas', 'narwhals'} &"
        " set(sys.modules))"
    )

    assert (
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "set()"
    )


def test_extension_types_are_what_they_hold() -> None:
    """A column of an Arrow extension type, which Polars casts to nothing, comes in as its storage;
    somebody else's table with one is refused in a sentence.
    """
    values = pa.array([1, 0, 1], pa.int8()).cast(pa.bool8())
    frame = to_polars(pa.table({"a": values}), drop=None)
    assert frame["a"].dtype == pl.Int8 and frame["a"].to_list() == [1, 0, 1]
    with pytest.raises(ReleaseError, match="one value per cell is needed"):
        Foreign.read(pa.table({"a": values}), quasi=["a"])


@pytest.mark.parametrize("kind", [pl.Date, pl.Datetime("ms"), pl.Datetime("us")])
@pytest.mark.parametrize(("days", "fits"), [(-719162, True), (-719163, False), (2932896, True), (2932897, False), (95_000_000, False)])  # fmt: skip
def test_dates_are_of_the_years_1_to_9999(kind, days, fits) -> None:
    """Others cannot be written down, some not even by Polars: they are refused by the column's
    name, in a table and in another publisher's.
    """
    ticks = {"ms": 86_400_000, "us": 86_400_000_000}[kind.time_unit] if kind != pl.Date else 1
    dates = pl.Series("day", [None, days * ticks], dtype=pl.Int64)
    table = pl.DataFrame(dates.cast(pl.Int32).cast(pl.Date) if ticks == 1 else dates.cast(kind))
    if ticks == 1 and not fits:
        worst = pl.DataFrame(pl.Series("day", [2**31 - 1], dtype=pl.Int32).cast(pl.Date))
        with pytest.raises(SourceError, match="'day' holds a date outside the years 1 to 9999"):
            to_polars(worst)
    if fits:
        assert to_polars(table).equals(table)
        assert len(Foreign.read(table, quasi=["day"]).groups) == 2
        return
    assert to_polars(table, drop=["day"]).height == 2
    with pytest.raises(SourceError, match="'day' holds a date outside the years 1 to 9999"):
        to_polars(table)
    with pytest.raises(ReleaseError, match="'day' holds a date outside the years 1 to 9999"):
        Foreign.read(table, quasi=["day"])


def test_times_of_several_zones_are_refused() -> None:
    """All would be read in the zone of the first row, so that one row more in front changes the day
    of the others; of one zone they are read.
    """
    zones = ["2020-06-01 00:30+02:00", "2020-06-11 00:30+02:00", "2020-06-05 12:00+00:00"]
    times = [pd.Timestamp(zone) for zone in zones]
    for mixed in (times, times[::-1], [None, *times]):
        with pytest.raises(SourceError, match="'x' has times of several zones"):
            to_polars(pd.DataFrame({"x": pd.Series(mixed, dtype=object)}))
    assert to_polars(pd.DataFrame({"x": times[:2]})).height == 2
    assert to_polars(pd.DataFrame({"x": pd.Series(["a", None], dtype=object)})).height == 2


def test_times_of_several_zones_that_are_dropped_or_of_a_category() -> None:
    """What the plan drops is not looked at; categories of pandas are."""
    zones = ["2020-06-01 00:30+02:00", "2020-06-05 12:00+00:00"]
    mixed = pd.Series([pd.Timestamp(zone) for zone in zones], dtype=object)
    table = pd.DataFrame({"x": mixed, "y": [1, 2]})
    assert to_polars(table, drop=["x"])["y"].to_list() == [1, 2]
    with pytest.raises(SourceError, match="'x' has times of several zones"):
        to_polars(table.assign(x=mixed.astype("category")))
