# SPDX-License-Identifier: Apache-2.0
"""A folder of Parquet files is one table, read whole or some rows at a time."""

import datetime as dt

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from phalanx.data.sources import parquet_folders
from phalanx.data.sources.batches import Batches
from phalanx.data.sources.source import read_source
from phalanx.errors import MachineError, SourceError

FIRST = pl.DataFrame({"age": [1, 2, 3], "ward": ["a", None, "b"]})
SECOND = pl.DataFrame({"ward": ["c"], "age": [4]})


@pytest.fixture
def folder(tmp_path):
    """Two files whose columns stand in another order, and what Spark leaves beside."""
    place = tmp_path / "table"
    place.mkdir()
    FIRST.write_parquet(place / "part-1.parquet")
    SECOND.write_parquet(place / "part-2.PQ")
    (place / "_SUCCESS").touch()
    (place / ".part-1.parquet.crc").write_bytes(b"crc")
    return place


def test_it_is_one_table(folder):
    """The rows of its files in the order of their names, whole or in pieces, and of some columns."""
    expected = pl.concat([FIRST, SECOND.select(FIRST.columns)])
    assert read_source(folder).equals(expected)
    batches = Batches.of(folder)
    assert (batches.names, batches.rows, batches.fits()) == (["age", "ward"], 4, True)
    assert pl.concat(batches.each(["age", "ward"])).equals(expected)
    assert pl.concat(batches.each(["ward"])).equals(expected.select("ward"))
    assert batches.evenly(2).equals(expected.gather_every(2))


def test_categories_of_each_file_become_text(folder):
    """Each file has its own."""
    kinds = [pl.Enum(["a", "b"]), pl.Enum(["c"])]
    for name, frame, kind in zip(
        ("part-1.parquet", "part-2.PQ"), (FIRST, SECOND), kinds, strict=True
    ):
        frame.with_columns(pl.col("ward").cast(kind)).write_parquet(folder / name)
    assert read_source(folder)["ward"].to_list() == ["a", None, "b", "c"]
    assert pl.concat(Batches.of(folder).each(["ward"]))["ward"].to_list() == ["a", None, "b", "c"]


@pytest.mark.parametrize(
    ("other", "refusal"),
    [
        (SECOND.cast({"age": pl.Float64}), "'age' is int64 in 'part-1.parquet' and double in"),
        (SECOND.drop("ward"), "'ward' of 'part-1.parquet' is missing in 'part-2.PQ'"),
        (SECOND.with_columns(x=1), "'x' of 'part-2.PQ' is missing in 'part-1.parquet'"),
    ],
)
def test_files_of_several_tables_are_refused(folder, other, refusal):
    """With the first column that differs, and where."""
    other.write_parquet(folder / "part-2.PQ")
    with pytest.raises(SourceError, match=refusal):
        read_source(folder)
    assert Batches.of(folder) is None


def test_what_is_no_such_folder_is_refused(folder, tmp_path):
    """One with other files or folders, an empty one, and one with a file that is broken."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="is a folder without a Parquet file"):
        read_source(tmp_path / "empty")
    with pytest.raises(SourceError, match="is a folder with 'empty' in it"):
        read_source(tmp_path)
    (folder / "part-2.PQ").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"the file .part-2\.PQ. is not a whole Parquet file"):
        read_source(folder)
    (folder / "notes.txt").touch()
    with pytest.raises(SourceError, match=r"is a folder with .notes\.txt. in it"):
        read_source(folder)


def test_a_folder_that_changes_is_refused(folder):
    """A file that comes while others are read is of another table."""
    rows = Batches.of(folder).each(["age"])
    next(rows)
    SECOND.write_parquet(folder / "part-3.parquet")
    with pytest.raises(SourceError, match="'table' changed while it was read"):
        list(rows)


def test_a_folder_that_the_memory_does_not_hold_is_refused(folder, monkeypatch):
    """By the sum of what its files need, before one is read, and by no byte less."""
    of = [parquet_folders.meta_of(file) for file in parquet_folders.files_of(folder)]
    needed = sum(map(parquet_folders.bytes_needed, of))
    monkeypatch.setattr(parquet_folders, "memory_left", lambda: needed)
    assert read_source(folder).height == 4
    monkeypatch.setattr(parquet_folders, "memory_left", lambda: needed - 1)
    monkeypatch.setattr(parquet_folders, "read_parquet", None)
    with pytest.raises(MachineError, match="the files of the folder 'table' need"):
        read_source(folder)


def test_a_folder_that_may_not_be_entered_is_refused(folder, monkeypatch):
    """In a sentence."""

    def forbidden(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.is_file", forbidden)
    with pytest.raises(SourceError, match="the folder 'table' cannot be read"):
        read_source(folder)


def test_a_file_of_a_folder_that_may_not_be_read_is_named(folder, monkeypatch):
    """And is not said to be no whole Parquet file."""
    monkeypatch.setattr("os.access", lambda path, _: path.name != "part-2.PQ")
    with pytest.raises(SourceError, match=r"part-2\.PQ. cannot be read; check that you may read"):
        read_source(folder)


def test_days_of_milliseconds_are_moments_in_pieces_too(folder):
    """As they are where the files are read whole."""
    days = pa.table({"day": pa.array([dt.date(2020, 1, 1)], pa.date64())})
    for name in ("part-1.parquet", "part-2.PQ"):
        pq.write_table(days, folder / name)
    whole = read_source(folder)
    assert whole.schema == {"day": pl.Datetime("ms")}
    assert pl.concat(Batches.of(folder).each(["day"])).equals(whole)
