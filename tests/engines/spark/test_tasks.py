# SPDX-License-Identifier: Apache-2.0
"""What the workers of Spark do, done here without Spark: partitions are read in any order, twice, and
rows come to their cells in any order.
"""

import json
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phalanx import Schema, Slicing
from phalanx.data.persons import PersonKey
from phalanx.engines.cells import Cells
from phalanx.engines.regions import merged
from phalanx.engines.spark import running, tasks
from phalanx.engines.spark.faults import WorkerFault, raise_told, told
from phalanx.engines.spark.session import _started
from phalanx.engines.spark.source import OnSpark
from phalanx.errors import MethodError, NotEligible, PlanError, SchemaError, SourceError
from phalanx.randomness import Randomness

MARKER = "Zq7Marker"
SCHEMA = Schema(identifier="who", quasi=["age", "sex"], sensitive="ill", drop=["notes"])


def people(rows=6_000):
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "who": rng.permutation(rows),
            "age": rng.integers(0, 80, rows),
            "sex": pl.Series(rng.choice(["f", "m"], rows)),
            "ill": pl.Series(rng.choice(["flu", "gout", "rash"], rows)),
        }
    )


def batches(frame):
    return pa.Table.from_pandas(frame.to_pandas()).to_batches(max_chunksize=700)


def records(made):
    return [record for batch in made for record in batch.to_pylist()]


def numbers(_, microdata, rng):
    """A work that tells who was given what, and what it drew."""
    age = microdata.columns["age"]
    return {
        "ages": age.domain.values.gather(age.codes).to_list(),
        "drawn": rng.stream("deal").integers(1 << 40, 3).tolist(),
    }


class Pretended:
    """The stages on a table of some partitions, of which each is read when it is asked for."""

    def __init__(self, frame, monkeypatch, by="regions", seed=5, key=None):
        third = -(-frame.height // 3)
        self.partitions = [frame[n * third : (n + 1) * third] for n in range(3)]
        self.patch, self.by = monkeypatch, by
        self.shared = Randomness.seeded(seed).shared()
        self.rows, self.key = frame.height, key

    def read(self, place, columns):
        self.patch.setattr(tasks, "place_of_worker", lambda: place)
        return batches(self.partitions[place].select(columns))

    def cells(self, order=(0, 1, 2)):
        if self.by == "chance":
            return Cells.by_chance(SCHEMA, self.rows, 500)
        looked = [
            each
            for place in order
            for each in tasks.look(
                self.read(place, SCHEMA.quasi), SCHEMA, Fraction(1, 2), self.shared
            )
        ]
        (cut,) = records(tasks.cut(looked, SCHEMA, self.rows, 500))
        assert cut["fault"] is None
        return tasks.cells_of(SCHEMA, cut["reach"], cut["cuts"])

    def tagged(self, cells, order=(0, 1, 2)):
        tagging = tasks.Tagging(cells, self.shared, self.key, 2)
        columns = ["who", "age", "sex", "ill"]
        return [
            r for place in order for r in records(tasks.tag(self.read(place, columns), tagging))
        ]

    def settled(self, method, order=(0, 1, 2)):
        drawn = [
            each
            for place in order
            for each in tasks.draw(
                self.read(place, ["age", "sex", "ill"]), SCHEMA, Fraction(1, 2), self.shared
            )
        ]
        (settled,) = records(tasks.settle(drawn, SCHEMA, method))
        return settled

    def solved(self, cells, tagged, work=numbers):
        counts = [sum(r["rows"] for r in tagged if r["part"] == n) for n in range(cells.root.end)]
        together = merged(counts, 60)
        sizes = [sum(counts[n] for n in each) for each in together]
        at_of = {part: at for at, each in enumerate(together) for part in each}
        at_of |= {-1: len(together), -2: len(together) + 1}
        solving = tasks.Solving(cells, sizes, self.shared, work)
        return [
            record
            for at in range(len(together) + (2 if self.key else 0))
            for record in records(
                tasks.solve(
                    [
                        pa.RecordBatch.from_pylist([{**r, "at": at}])
                        for r in tagged
                        if at_of[r["part"]] == at
                    ],
                    solving,
                )
            )
        ]


@pytest.mark.parametrize("by", ["regions", "chance"])
def test_a_task_that_is_run_twice_gives_the_same(monkeypatch, by):
    """Whatever the order in which partitions are read and pieces arrive: the same rows in the same
    order in the same cells, with the same draws; nothing twice, nothing lost.
    """
    monkeypatch.setattr(tasks, "AT_ONCE", 1_000)
    frame = people()
    one = Pretended(frame, monkeypatch, by)
    cells = one.cells()
    assert cells.root.end > 6
    first = one.solved(cells, one.tagged(cells))
    assert [record["fault"] for record in first] == [None] * len(first)
    again = Pretended(frame, monkeypatch, by)
    tagged = again.tagged(again.cells((2, 0, 1)), (1, 2, 0))[::-1]
    assert again.solved(cells, tagged) == first
    ages = [age for record in first for age in json.loads(record["figures"])["ages"]]
    assert sorted(ages) == sorted(frame["age"].to_list())
    drawn = {tuple(json.loads(record["figures"])["drawn"]) for record in first}
    assert len(drawn) == len(first)
    other = Pretended(frame, monkeypatch, by, seed=6)
    assert other.solved(cells, other.tagged(cells)) != first


def test_columns_are_chosen_where_rows_were_drawn(monkeypatch):
    """The same whatever the order of partitions; what comes back are parameters that are published,
    and no row.
    """
    frame = people().with_columns(
        ill=pl.when(pl.col("age") < 40).then(pl.lit(MARKER)).otherwise("ill")
    )
    method = Slicing(l=1.5, columns=2)
    first = Pretended(frame, monkeypatch).settled(method)
    assert first["fault"] is None
    assert Pretended(frame, monkeypatch).settled(method, (2, 0, 1)) == first
    chosen = json.loads(first["settled"])
    assert sorted(name for column in chosen["columns"] for name in column) == ["age", "ill", "sex"]
    assert MARKER not in first["settled"]
    assert not replace(method, **chosen).settles
    broken = Pretended(frame.with_columns(age=pl.lit(None, pl.Int64)), monkeypatch).settled(method)
    assert broken["settled"] is None
    with pytest.raises(SourceError, match="'age' is missing"):
        raise_told(broken["fault"])


def test_no_sensitive_value_has_a_part_in_the_cells(monkeypatch):
    """The broken twin of a partition would differ here: sensitive values are exchanged, and every
    row is where it was.
    """
    frame = people()
    places = []
    for values in (frame["ill"], frame["ill"].reverse(), pl.Series([MARKER] * 6_000)):
        one = Pretended(frame.with_columns(ill=values), monkeypatch)
        cells = one.cells()
        records = one.solved(cells, one.tagged(cells))
        places.append([json.loads(record["figures"])["ages"] for record in records])
    assert places[0] == places[1] == places[2]


def test_a_person_who_is_there_twice_is_counted(monkeypatch):
    """By keyed hashes, over all partitions; identifiers go nowhere."""
    frame = people().with_columns(who=pl.when(pl.col("who") == 17).then(4).otherwise("who"))
    one = Pretended(frame, monkeypatch, "chance", key=PersonKey(bytes(32)))
    cells = one.cells()
    tagged = one.tagged(cells)
    made = one.solved(cells, tagged)
    told_twice = [json.loads(r["figures"]).get("twice") for r in made]
    assert sum(twice or 0 for twice in told_twice) == 1
    cell = next(tasks.unpacked(r["packed"]) for r in tagged if r["part"] >= 0)
    assert cell.columns == ["age", "sex", "ill"]
    key = next(tasks.unpacked(r["packed"]) for r in tagged if r["part"] < 0)
    assert key.columns == ["person"] or key.width == 1
    assert key.dtypes == [pl.Binary]


def test_what_goes_wrong_is_told_and_quotes_nothing(monkeypatch):
    """In every task, whatever it is: our own sentences, and of a fault its class and place."""
    frame = people().with_columns(
        ill=pl.when(pl.int_range(pl.len()) == 9).then(None).otherwise(pl.col("ill"))
    )

    def refuses(*_):
        raise NotEligible("one value is too frequent.")

    def fails(*_):
        raise ValueError(f"could not convert {MARKER}")

    for by, work, kind, words in (
        ("regions", refuses, NotEligible, "one value is too frequent."),
        ("regions", fails, WorkerFault, "ValueError in test_tasks.py"),
        ("chance", numbers, Exception, "is missing in 1 of"),
    ):
        one = Pretended(people() if work is not numbers else frame, monkeypatch, by)
        cells = one.cells()
        made = one.solved(cells, one.tagged(cells), work)
        faults = {record["fault"] for record in made if record["fault"]}
        assert len(faults) == 1
        assert MARKER not in str(made)
        with pytest.raises(kind, match=words):
            raise_told(faults.pop())
    strange = people().rename({"age": "years"})
    (record,) = records(tasks.look(batches(strange), SCHEMA, Fraction(1), one.shared))
    assert record["fault"] is not None
    (record,) = records(tasks.cut([pa.RecordBatch.from_pylist([record])], SCHEMA, 10, 5))
    assert record["fault"] is not None
    (record,) = records(
        tasks.tag(batches(strange), tasks.Tagging(cells, one.shared, PersonKey(bytes(32)), 1))
    )[-1:]
    assert record["fault"] is not None


def test_a_source_that_gives_other_rows_the_second_time_is_refused(monkeypatch):
    """A cell with a row too few is not published: that row would be lost, or be in another one
    twice.
    """
    one = Pretended(people(), monkeypatch)
    cells = one.cells()
    tagged = one.tagged(cells)
    counts = [sum(r["rows"] for r in tagged if r["part"] == n) for n in range(cells.root.end)]
    solving = tasks.Solving(cells, [count + 1 for count in counts], one.shared, numbers)
    pieces = [pa.RecordBatch.from_pylist([{**r, "at": 0}]) for r in tagged if r["part"] == 0]
    (record,) = records(tasks.solve(pieces, solving))
    with pytest.raises(MethodError, match="the source changed while it was read"):
        raise_told(record["fault"])


@pytest.mark.parametrize(
    "error", [SchemaError("a column has no role."), OSError(28, "No space left on device", "/x")]
)
def test_an_error_of_a_worker_is_the_same_error_here(error):
    """Its class, its sentence, its number."""
    with pytest.raises(type(error)) as caught:
        raise_told(told(error))
    assert str(caught.value) == str(error)


@pytest.mark.parametrize("name", ["age", "house no.", "a.b", "50%", "a`b", "a%2Eb", "Straße."])
def test_spark_is_told_a_name_without_dots(name):
    """A dot or a backtick in a name would be taken for something else; workers know the name."""
    told = tasks.spelled(name)
    assert not set(told) & {".", "`"}
    batch = pa.record_batch({told: pa.array([1])})
    assert tasks._plain(batch, Schema(quasi=[name])).columns == [name]


@pytest.mark.parametrize("name", ["people.parquet", "people/1.parquet"])
def test_columns_are_checked_before_spark_is_started(name, tmp_path):
    """A file, or the first one of a folder, tells which columns there are; it need not be whole."""
    frame = people(50).with_columns(notes=pl.lit("n"), more=pl.lit(1))
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    frame.write_parquet(path)
    source = path if path.parent == tmp_path else path.parent
    with (
        pytest.raises(SchemaError, match="'more' have no role"),
        OnSpark(source, SCHEMA, 1, None).running(tmp_path),
    ):
        pass
    frame.drop("more").write_parquet(path)
    tasks.check_path(source, SCHEMA)


@pytest.mark.parametrize("content", [b"", b"no Parquet at all"])
@pytest.mark.parametrize("name", ["people.parquet", "people/1.parquet"])
def test_what_is_no_parquet_is_named(content, name, tmp_path):
    """Before Spark is started, whose words for it would quote the file, and so are not told."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    source = path if path.parent == tmp_path else path.parent
    with pytest.raises(SourceError, match=rf"^the file '{path.name}' is not a whole Parquet file"):
        tasks.check_path(source, SCHEMA)


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("notes", pa.timestamp("ns"), "'notes' holds nanoseconds, which Spark does not read"),
        ("notes", pa.time32("ms"), "'notes' holds times of a day, which Spark"),
        ("notes", pa.float16(), "'notes' holds numbers of two bytes, which Spark"),
        ("a.b", pa.timestamp("us", "Asia/Tokyo"), "'a.b' holds timestamps of the zone Asia/Tokyo"),
        ("notes", pa.timestamp("us", "Asia/Tokyo"), None),
        ("a.b", pa.timestamp("us", "UTC"), None),
        ("a.b", pa.timestamp("ms"), None),
    ],
)
def test_types_that_spark_does_not_read_as_here_are_named(tmp_path, name, kind, told):
    """Of any column, as Spark looks at all types; where only days differ, of a published one."""
    schema = Schema(quasi=["a.b"], drop=["notes"])
    columns = {"a.b": pa.array([1], pa.int64()), "notes": pa.array([1], pa.int64())}
    value = np.float16(1) if kind == pa.float16() else 1
    table = pa.table({**columns, name: pa.array([value], kind)})
    pq.write_table(table, tmp_path / "t.parquet")
    if told is None:
        tasks.check_path(tmp_path / "t.parquet", schema)
        return
    with pytest.raises(SourceError, match=told.replace(".", r"\.")):
        tasks.check_path(tmp_path / "t.parquet", schema)


def test_a_column_without_a_name_is_refused(tmp_path):
    """And not taken for one of the name that a reader gives it."""
    people(50).with_columns(pl.lit(1).alias("")).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(SourceError, match="a column without a name; name it at the source"):
        tasks.check_path(tmp_path / "t.parquet", SCHEMA)


def test_a_colon_in_a_name_is_refused(tmp_path):
    """As Spark takes what is before it for something else."""
    people(50).with_columns(notes=pl.lit("n")).write_parquet(tmp_path / "a:b.parquet")
    with pytest.raises(SourceError, match=r"a colon in its name, as 'a:b\.parquet' has; rename it"):
        tasks.check_path(tmp_path / "a:b.parquet", SCHEMA)


def test_what_cannot_be_opened_here_is_left_to_spark(tmp_path):
    """What only workers see."""
    tasks.check_path(tmp_path / "nowhere", SCHEMA)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a b.parquet", "a b.parquet"),
        ("ä%20.pq", "ä%20.pq"),
        ("[1]*?{}", r"\[1\]\*\?\{\}"),
        ("\\", r"\\"),
    ],
)
def test_a_path_means_itself(tmp_path, name, told):
    """Spark reads no percent signs in it, and takes no sign of a pattern for one."""
    spark = SimpleNamespace(read=SimpleNamespace(parquet=lambda path: path))
    assert running.read(spark, tmp_path / name) == f"file://{tmp_path}/{told}"


def test_a_comma_in_the_path_of_releases_is_refused(tmp_path):
    """Spark would make two folders of it for what its workers write down."""
    place = tmp_path / "a,b" / "staging"
    with pytest.raises(PlanError, match="a,b' for several folders"), _started(place, "local[2]"):
        pass


ALL_ZIPS = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill")


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("sub/b.parquet", "with 'sub' in it"),
        ("b.csv", "with 'b.csv' in it"),
        ("b.parquet", "the column 'zip' of 'a.parquet' is missing in 'b.parquet'"),
        ("c.parquet", "column 'zip' is int64 in 'a.parquet' and string in 'c.parquet'"),
        ("d.parquet", "'d.parquet' is not a whole Parquet file"),
        ("e.pq", "the column 'Zip'|the column 'zip'"),
    ],
)
def test_each_file_of_a_folder_is_one_of_the_table(tmp_path, other, words):
    """As where rows are read in this process: Spark would leave out what it does not expect."""
    table = pl.DataFrame({"who": [1], "age": [2], "sex": ["f"], "zip": [3], "ill": ["x"]})
    table.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".a.parquet.crc").touch()
    tasks.check_path(tmp_path, ALL_ZIPS)
    path = tmp_path / other
    path.parent.mkdir(exist_ok=True)
    changed = {
        "b.parquet": table.drop("zip"),
        "c.parquet": table.with_columns(zip=pl.lit("1")),
        "e.pq": table.rename({"zip": "Zip"}),
    }.get(other)
    path.write_bytes(b"nothing") if changed is None else changed.write_parquet(path)
    with pytest.raises(SourceError, match=words):
        tasks.check_path(tmp_path, ALL_ZIPS)


def test_a_zone_in_any_file_of_a_folder_is_seen(tmp_path):
    """And not in the first alone, nor in those that end in one way."""
    stamps = pl.Series([datetime(2020, 1, 1, tzinfo=UTC)])
    table = pl.DataFrame({"who": [1], "sex": ["f"], "zip": [3], "ill": ["x"]})
    table.with_columns(age=stamps.dt.convert_time_zone("Asia/Tokyo")).write_parquet(
        tmp_path / "b.pq"
    )
    with pytest.raises(SourceError, match="timestamps of the zone Asia/Tokyo"):
        tasks.check_path(tmp_path, ALL_ZIPS)
