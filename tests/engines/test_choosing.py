# SPDX-License-Identifier: Apache-2.0
"""Whether a table fits the memory is estimated before it is read, and said where it does not."""

import numpy as np
import polars as pl
import pytest

from phalanx import Anatomy, GlobalGuarantee, MInvariance, Mondrian, SafeSampling, Schema, Slicing
from phalanx.data.sources.batches import Batches
from phalanx.data.sources.dialects import Dialect
from phalanx.data.sources.source import read_source
from phalanx.engines import choosing
from phalanx.engines.choosing import bytes_of, divide, fetch, within
from phalanx.engines.fetched import Lines
from phalanx.errors import MethodError, PlanError, SourceError

SCHEMA = Schema(quasi=["age", "zip"], sensitive="ill")


@pytest.fixture
def source(tmp_path):
    """A folder with a file of 6,000 rows of three columns."""
    rng = np.random.default_rng(19)
    frame = pl.DataFrame({name: rng.integers(0, 50, 6_000) for name in ("age", "zip", "ill")})
    frame.write_parquet(tmp_path / "t.parquet")
    return tmp_path


def left(monkeypatch, size):
    monkeypatch.setattr(choosing, "memory_left", lambda: size)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("4 GiB", 4 << 30), ("600MB", 600_000_000), ("1.5 kib", 1536), ("77", 77), (12, 12)),
        *(("2 kB", 2_000), ("3 MiB", 3 << 20), ("3g", 3 * 10**9), ("2 TB", 2 * 10**12)),
        ("1TiB", 1 << 40),
    ],
)
def test_a_limit_is_written_as_people_write_it(text, size):
    """Decimal and binary units, with or without a blank."""
    assert bytes_of(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1 GB", "0", "4 parsecs", "1e9"])
def test_what_is_no_limit_is_refused(text):
    """In one sentence that shows how it is written."""
    with pytest.raises(PlanError, match="write it as '4 GiB'"):
        bytes_of(text)


def test_a_table_that_fits_is_published_whole(monkeypatch, source):
    """Nothing is divided where the estimate is within the memory, nor where the plan says so."""
    left(monkeypatch, 6_000 * 3 * 170)
    assert divide(source / "t.parquet", SCHEMA, Mondrian(k=2)) is None
    left(monkeypatch, 1)
    assert divide(source / "t.parquet", SCHEMA, Mondrian(k=2), engine="local") is None
    assert divide(pl.read_parquet(source / "t.parquet"), SCHEMA, Mondrian(k=2)) is None


@pytest.mark.parametrize(
    "method",
    [Mondrian(k=2, l=2), Anatomy(l=2), Slicing(l=2), MInvariance(m=2), GlobalGuarantee(l=2)],
    ids=lambda m: m.name,
)
def test_a_table_that_does_not_fit_is_divided(monkeypatch, source, method):
    """By one byte too many, into parts that take their share of the memory; and it is known whether
    the plan asks for it.
    """
    left(monkeypatch, 6_000 * 3 * method.bytes_per_value - 1)
    divided = divide(source / "t.parquet", SCHEMA, method)
    assert divided is not None
    assert divided.rows == 6_000
    assert divided.most == 2_399
    assert not divided.asked
    assert divide(source / "t.parquet", SCHEMA, method, engine="out-of-core").asked


@pytest.mark.parametrize("drop", [["zip", "ill"], ["age", "zip", "ill"]])
def test_columns_that_are_dropped_take_no_memory(monkeypatch, source, drop):
    """Where no other is left, which is refused when the table is read, it is as if one were."""
    left(monkeypatch, 1_000_000)
    schema = Schema(quasi=["age"] if len(drop) == 2 else ["place"], drop=drop)
    divided = divide(source / "t.parquet", schema, Mondrian(k=2), engine="out-of-core")
    assert divided.most == 400_000 // 170


WHOLE = {
    "m-invariance, forgetting": MInvariance(m=2, remember=False),
    "m-invariance, suppressed": MInvariance(m=2, not_eligible="suppress"),
    "global guarantee, rare values": GlobalGuarantee(l=2, protect={"least_frequent": 0.1}),
    "global guarantee, cohorts": GlobalGuarantee(l=2, permanent=["7"]),
    "global guarantee, named values": GlobalGuarantee(l=2, protect=["7"]),
    "t": Mondrian(k=2, t=0.3),
    "slicing, closeness": Slicing(l=2, t=0.3),
    "slicing, leaning": Slicing(l=2, cuts="relaxed"),
    "slicing, boxes": Slicing(l=2, generalize_columns_k=2),
    "slicing, random": Slicing(l=2, grouping="random", bucket_size=4),
    "slicing, suppressed": Slicing(l=2, not_eligible="suppress"),
    "a partition": SafeSampling(epsilon=1, delta=1e-6, epsilon_scheme=0.1, choose="partition"),
}


@pytest.mark.parametrize("method", WHOLE.values(), ids=WHOLE)
def test_a_method_that_needs_the_whole_table_says_how_much(monkeypatch, source, method):
    """The refusal names the estimate and what may be taken."""
    left(monkeypatch, 1_000_000)
    schema = Schema(identifier="zip", quasi=["age"], sensitive="ill")
    with pytest.raises(
        MethodError, match=r"6,000 rows of 3 columns .* \d+(\.\d)? MB where 1\.0 MB"
    ):
        divide(source / "t.parquet", schema, method)


@pytest.mark.parametrize("method", WHOLE.values(), ids=WHOLE)
def test_where_the_whole_table_fits_no_memory_is_asked_for(monkeypatch, source, method):
    """But that the engine is left out, which divides it."""
    left(monkeypatch, 6_000 * 3 * getattr(method, "bytes_per_value", 170))
    with pytest.raises(MethodError, match=r"needs? the whole table .*leave the engine out\.$"):
        divide(source / "t.parquet", SCHEMA, method, engine="out-of-core")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("u.parquet", "there is no file .*; did you mean 't.parquet'"),
        ("folder.parquet", "is a folder without a Parquet file"),
        ("empty.parquet", "is not a whole Parquet file"),
        ("part.parquet", "is not a whole Parquet file"),
        ("blank.parquet", "has a column without a name; name it"),
        ("huge.parquet", "holds a type that is not read, such as numbers beyond 64 bits"),
    ],
)
def test_a_path_that_leads_to_no_parquet_is_refused_as_in_memory(source, name, told):
    """Who asks for the engine gives a Parquet file by its name, and it is that which is wrong."""
    (source / "folder.parquet").mkdir()
    (source / "empty.parquet").write_bytes(b"")
    pl.DataFrame({"age": [1], "": [2]}).write_parquet(source / "blank.parquet")
    huge = pl.read_parquet(source / "t.parquet").with_columns(pl.lit(1, pl.Int128).alias("huge"))
    huge.write_parquet(source / "huge.parquet")
    (source / "part.parquet").write_bytes((source / "t.parquet").read_bytes()[:-9])
    for refusing in (
        lambda path: divide(path, SCHEMA, Mondrian(k=2), engine="out-of-core"),
        read_source,
    ):
        with pytest.raises(SourceError, match=told):
            refusing(source / name)


def test_a_path_that_no_file_can_have_is_refused():
    """By what is said of every source."""
    with pytest.raises(SourceError, match="the source has a path that is too long for a file or"):
        divide("t\0.parquet", SCHEMA, Mondrian(k=2))


def test_what_cannot_be_divided_is_refused_in_a_sentence(monkeypatch, source):
    """A frame, a memory of too little, and values that are not applicable."""
    with pytest.raises(PlanError, match="reads Parquet, CSV that is not packed"):
        divide(pl.DataFrame({"a": [1]}), SCHEMA, Mondrian(k=2), engine="out-of-core")
    least = 2_000 * 3 * 170 * 5 // 2
    left(monkeypatch, least)
    assert divide(source / "t.parquet", SCHEMA, Mondrian(k=2)).most == 2_000
    left(monkeypatch, least - 1)
    with pytest.raises(MethodError, match="too little for parts of 2,000 rows"):
        divide(source / "t.parquet", SCHEMA, Mondrian(k=2))
    schema = Schema(quasi=["age", "zip"], sensitive="ill", not_applicable=[0])
    with pytest.raises(MethodError, match="values that are not applicable need the whole table"):
        divide(source / "t.parquet", schema, Mondrian(k=2))


def test_a_limit_of_the_plan_counts_what_is_taken_already(monkeypatch, source):
    """The limit is of the whole process."""
    monkeypatch.setattr(choosing, "memory_held", lambda: 50_000_000)
    fits = 50_000_000 + 6_000 * 3 * 170
    assert divide(source / "t.parquet", SCHEMA, Mondrian(k=2), memory_limit=fits) is None
    assert divide(source / "t.parquet", SCHEMA, Mondrian(k=2), memory_limit=fits - 1) is not None
    with pytest.raises(MethodError, match=r"^0\.0 MB of memory may be taken"):
        divide(source / "t.parquet", SCHEMA, Mondrian(k=2), memory_limit=1)


@pytest.mark.parametrize(
    ("method", "word"),
    [
        (
            SafeSampling(epsilon=1, delta=1e-6, epsilon_scheme="1/2"),
            "counts of the table as a whole",
        ),
        (Slicing(l=2, grouping="random", bucket_size=4), "needs the whole table"),
    ],
)
def test_what_spark_does_not_divide_is_refused(source, method, word, monkeypatch):
    """Cells that are published each by themselves cannot be counted together."""
    monkeypatch.setattr(choosing, "require_extra", lambda *_: None)
    with pytest.raises(MethodError, match=word):
        divide(source / "t.parquet", SCHEMA, method, engine="spark")
    for columns in (2, [["age", "zip"], ["ill"]]):
        sliced = Slicing(l=2, columns=columns)
        assert divide(source / "t.parquet", SCHEMA, sliced, engine="spark") is not None


def test_cells_on_spark_fit_a_worker(source, monkeypatch):
    """Its memory is what the limit says, else 2 GiB; too small is where fewer than 2,000 rows fit."""
    monkeypatch.setattr(choosing, "require_extra", lambda *_: None)
    left(monkeypatch, 0)  # of the machine that starts it
    least = 2_000 * 3 * 170 * 5 // 2
    for limit, most in ((None, (2 << 30) * 2 // 5 // 510), ("5 MB", 3_921), (least, 2_000)):
        on = divide(source, SCHEMA, Mondrian(k=2), "spark", limit, spark_master="local[1]")
        assert (on.source, on.schema, on.most, on.master) == (source, SCHEMA, most, "local[1]")
    with pytest.raises(MethodError, match=r"2\.5 MB of memory may be taken, too little"):
        divide(source, SCHEMA, Mondrian(k=2), "spark", least - 1)


@pytest.mark.parametrize(
    ("engine", "began"),
    [("local", "out-of-core"), ("out-of-core", "local"), ("spark", "local")],
)
def test_a_series_goes_on_as_it_began(source, engine, began):
    """Another engine is refused, and without one it is the same."""
    with pytest.raises(PlanError, match=f"engine = '{engine}' is not how the series began"):
        divide(source / "t.parquet", SCHEMA, Mondrian(k=2), engine, began=began)
    divided = divide(source / "t.parquet", SCHEMA, Mondrian(k=2), began=began)
    assert (divided is None) == (began == "local")
    again = divide(source / "t.parquet", SCHEMA, Mondrian(k=2), began, began=began)
    assert (again is None) == (began == "local")


def test_a_series_in_parts_asks_for_a_table_that_can_be_read_so(source):
    """A frame, or a file that is no Parquet: the way out is not to leave an engine out that is not
    named.
    """
    table = pl.read_parquet(source / "t.parquet")
    with pytest.raises(PlanError, match=r"this series began in parts.*write the table into such"):
        divide(table, SCHEMA, Mondrian(k=2), began="out-of-core")
    with pytest.raises(PlanError, match="leave the engine out"):
        divide(table, SCHEMA, Mondrian(k=2), "out-of-core")


def test_a_csv_file_is_fetched_to_where_it_is_published(monkeypatch, tmp_path):
    """On the disk where it does not fit, or the plan or the series divides it; else in memory, and
    always where the method needs all of it.
    """
    path = tmp_path / "t.csv"
    path.write_text("age,zip,ill\n" + "1,2,3\n" * 100)
    whole = Mondrian(k=2, t=0.3)
    for room, method, engine, began, laid in (
        (100 * 3 * 170, Mondrian(k=2), None, None, False),
        (1 << 40, Mondrian(k=2), None, "out-of-core", True),
        (1 << 40, Mondrian(k=2), "out-of-core", None, True),
        (100 * 3 * 170 - 1, Mondrian(k=2), None, None, True),
        (1, Mondrian(k=2), "local", None, False),
        (1, Mondrian(k=2), None, "local", False),
        (1, whole, None, None, False),
    ):
        left(monkeypatch, room)
        found = fetch(Lines(path, Dialect()), SCHEMA, method, engine, began=began, place=tmp_path)
        assert isinstance(found, Batches if laid else pl.DataFrame)
    with pytest.raises(MethodError, match=r"needs the whole table .*leave the engine out"):
        fetch(Lines(path, Dialect()), SCHEMA, whole, "out-of-core", place=tmp_path)


def test_what_a_reader_let_go_of_may_be_used_again(monkeypatch, source):
    """What is held is what was held before a file was laid down, however much its reader took."""
    left(monkeypatch, 10**9)
    monkeypatch.setattr(choosing, "memory_held", lambda: 10**9)
    with pytest.raises(MethodError, match=r"0\.0 MB of memory may be taken"):
        divide(source / "t.parquet", SCHEMA, Mondrian(k=2), "out-of-core", "330 MB")
    divided = divide(
        source / "t.parquet", SCHEMA, Mondrian(k=2), "out-of-core", "330 MB", held=200 * 10**6
    )
    assert divided.room == int((330 - 200) * 10**6 * divided.share)


def test_what_is_not_divided_keeps_to_the_limit_of_the_plan(monkeypatch, source):
    """As a wave of a panel, or an Arrow file: one sentence says how much it would take."""
    left(monkeypatch, 10**9)
    frame = pl.read_parquet(source / "t.parquet")
    assert within(frame, Mondrian(k=2), None, 0) is frame
    assert within(frame, Mondrian(k=2), "300 MB", 0) is frame
    with pytest.raises(MethodError, match=r"6,000 rows of 3 columns take about .* where 1\.0 MB"):
        within(frame, Mondrian(k=2), "201 MB", 200 * 10**6)


def test_parts_are_smaller_beside_many_texts(monkeypatch, source):
    """Which are held while each is made; where they leave too little, that is said."""
    left(monkeypatch, 10**9)
    divided = divide(source / "t.parquet", SCHEMA, Mondrian(k=2), "out-of-core")
    assert divided.most_beside(divided.room // 10) == divided.most
    assert divided.most_beside(divided.room // 2) == divided.most // 2
    with pytest.raises(
        MethodError, match="the different texts of the quasi-identifiers take 400 MB"
    ):
        divided.most_beside(divided.room)


@pytest.mark.parametrize(
    ("room", "said"),
    [(10**6, "1.0 MB"), (10**8 - 1, "100 MB"), (10**9, "1000 MB"), (5 * 10**9, "5.0 GB")],
)
def test_sizes_are_said_in_the_unit_that_shows_them(monkeypatch, source, room, said):
    """From 2 GB on in GB, and small ones with a digit."""
    monkeypatch.setattr(Mondrian, "bytes_per_value", 10**6)
    left(monkeypatch, room)
    with pytest.raises(MethodError, match=f"to take 18.0 GB where {said} may be taken"):
        divide(source / "t.parquet", SCHEMA, Mondrian(k=2, t=0.3))
