# SPDX-License-Identifier: Apache-2.0
"""A file that is read some rows at a time says what it says when it is read whole."""

import datetime as dt
import os

import polars as pl
import pytest

from phalanx.data.sources import batches as module
from phalanx.data.sources.batches import Batches, is_parquet, read_or_sample
from phalanx.data.sources.source import read_source
from phalanx.errors import SourceError


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_a_parquet_file_in_pieces_is_the_same_table(tmp_path, monkeypatch, at_once):
    """Of all types, also of categories; and of some columns in another order."""
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    frame = pl.DataFrame(
        {
            "a": [1, 2, None, 4, 5],
            "b": ["x", "y", None, "x", "z"],
            "c": [dt.date(2020, 1, day) for day in range(1, 6)],
            "d": [0.5, float("nan"), None, -0.0, 1.0],
        },
        schema_overrides={"a": pl.Int16},
    )
    frame.with_columns(pl.col("b").cast(pl.Categorical)).write_parquet(tmp_path / "t.parquet")
    read = Batches.of(tmp_path / "t.parquet")
    whole = read_source(tmp_path / "t.parquet")
    assert (read.rows, read.names) == (5, ["a", "b", "c", "d"])
    assert pl.concat(list(read.each(whole.columns))).equals(whole)
    assert pl.concat(list(read.each(["c", "a"])))["a"].equals(whole["a"])


def test_what_is_no_file_in_batches_is_none(tmp_path):
    """Frames, databases, other kinds, what is not there, and what is not whole."""
    (tmp_path / "t.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n")
    for source in (
        pl.DataFrame({"a": [1]}),
        "sqlite:///t.db",
        tmp_path / "none.parquet",
        tmp_path / "t.parquet",
        tmp_path / "t.csv",
    ):
        assert Batches.of(source) is None
    assert not is_parquet("postgresql://host/a.parquet")


@pytest.mark.parametrize("change", ["rows", "order"])
@pytest.mark.parametrize("rows_before", [0, 2])
def test_a_file_that_changes_meanwhile_is_refused(tmp_path, monkeypatch, change, rows_before):
    """What a first reading told of rows would be taken for that of others, by how many there are and
    in which order: before a further reading gives any, and at the end of one. A file of the same
    time and of another size is another one, too.
    """
    monkeypatch.setattr(module, "AT_ONCE", 2)
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"a": [1, 2, 3, 4, 5]})
    frame.write_parquet(path)
    read = Batches.of(path)
    assert pl.concat(list(read.each(["a"]))).equals(frame)
    reading = read.each(["a"])
    if rows_before:
        assert next(reading).height == rows_before
    before = path.stat()
    (frame.head(3) if change == "rows" else frame.reverse()).write_parquet(path)
    later = 0 if change == "rows" else 1_000
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + later))
    with pytest.raises(SourceError, match=r"'t\.parquet' changed while it was read; publish when"):
        list(reading) if rows_before else next(reading)


@pytest.mark.parametrize("at_once", [1, 3, 4, 100])
@pytest.mark.parametrize("most", [1, 2, 3, 7, 10, 11])
def test_a_sample_is_at_equal_distances(tmp_path, monkeypatch, at_once, most):
    """In whatever pieces the file is read, and whatever types it has."""
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    frame = pl.DataFrame(
        {"a": range(10), "b": [f"a text of more than twelve letters {i % 3}" for i in range(10)]}
    ).with_columns(
        c=pl.date(2020, 1, 1) + pl.duration(days="a"), d=pl.col("b").cast(pl.Categorical)
    )
    frame.write_parquet(tmp_path / "t.parquet")
    sample = Batches.of(tmp_path / "t.parquet").evenly(most)
    step = -(-10 // most)
    assert sample.equals(read_source(tmp_path / "t.parquet").gather_every(step))
    assert 1 <= sample.height <= most


def test_a_table_is_sampled_where_the_memory_does_not_hold_it(tmp_path, monkeypatch):
    """A Parquet file is; what else does not fit is refused as it is read."""
    frame = pl.DataFrame({"a": range(100), "b": ["x", "y"] * 50})
    frame = frame.with_columns(pl.lit(dt.time(1, 2)).alias("what no column of a release may be"))
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(module, "_SAMPLE", 10)
    assert read_or_sample(tmp_path / "t.parquet")[0].height == 100
    monkeypatch.setattr(module, "memory_left", lambda: 3 * 100 * (8 + 16 + 8) - 1)
    sample, rows = read_or_sample(tmp_path / "t.parquet")
    assert (sample["a"].to_list(), rows) == (list(range(0, 100, 10)), 100)
    assert read_or_sample(tmp_path / "t.csv")[1] == 100
    monkeypatch.setattr(module, "memory_left", lambda: 3 * 100 * (8 + 16 + 8))
    assert read_or_sample(tmp_path / "t.parquet")[0].height == 100
