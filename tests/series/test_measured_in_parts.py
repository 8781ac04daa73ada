# SPDX-License-Identifier: Apache-2.0
"""What a release in parts lost, and tables drawn from it, without either table in memory."""

import errno
from itertools import chain, repeat
from tempfile import gettempdir

import polars as pl
import pyarrow.parquet as pq
import pytest

import phalanx as px
from phalanx.data.sources.batches import Batches
from phalanx.engines import fetched
from phalanx.estimators import draws, reading
from phalanx.release import folder
from phalanx.release.folder import Release
from phalanx.utility import measured
from series.test_originals_in_parts import METHODS, people, published

__all__ = ["published"]


@pytest.fixture
def read_in_parts(monkeypatch):
    """Fails where a release or a table is read whole."""

    def whole(*_, **__):
        pytest.fail("it was read whole")

    monkeypatch.setattr(folder, "read_form", whole)
    monkeypatch.setattr(fetched, "read_source", whole)
    monkeypatch.setattr(fetched.csv_blocks, "fits", lambda _: False)


def file_of(table: pl.DataFrame, kind: str, path):
    """The table as a file, or as files, or in memory."""
    if kind == "memory":
        return table
    if kind == "csv":
        table.drop("note").write_csv(path / "o.csv")
        return path / "o.csv"
    if kind == "folder":
        (path / "o").mkdir()
        for number, some in enumerate(table.iter_slices(3_000)):
            some.write_parquet(path / "o" / f"{number}.parquet")
        return path / "o"
    table.write_parquet(path / "o.parquet")
    return path / "o.parquet"


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["parquet", "folder", "csv", "apart"])
@pytest.mark.usefixtures("read_in_parts")
def test_it_lost_what_the_whole_lost(tmp_path, published, monkeypatch, method, kind) -> None:
    """Every figure of the same release and table, each read whole, is the same; also where the
    memory holds no more than one part as it is asked.
    """
    path = published(METHODS[method])
    expected = of_the_whole(path).to_json()
    release = px.Release.read(path)
    if kind == "apart":
        left = chain([1 << 40] * len(release.manifest.parts), [0], repeat(1 << 40))
        monkeypatch.setattr(reading, "memory_left", lambda: next(left))
    found = release.measure(file_of(people(), kind, tmp_path), held_out=people()[:500], seed=3)
    assert bool(reading.view_to_ask(release).parts) is (kind == "apart")
    assert [*found.to_json()] == [*expected] and found.notes == tuple(expected["notes"])
    for one, other in zip(found.to_json()["figures"], expected["figures"], strict=True):
        texts = {key: value for key, value in one.items() if isinstance(value, str)}
        assert texts.items() <= other.items()
        numbers = [[each[key] for key in one if key not in texts] for each in (one, other)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-9)


def of_the_whole(path):
    """The figures of the release and the table in memory."""
    manifest = folder._checked_manifest(path)
    form = folder.form_of(path, manifest, folder.read_tables(path, manifest))
    release = Release(manifest=manifest.model_copy(update={"parts": []}), form=form, path=path)
    return measured.measure(release, people(), held_out=people()[:500], seed=3)


def test_a_table_in_memory_is_measured(tmp_path, published, monkeypatch) -> None:
    """As the file that it was published from."""
    release = px.Release.read(published(METHODS["k"]))
    of_file = release.measure(file_of(people(), "parquet", tmp_path), seed=3)
    monkeypatch.setattr(folder, "read_form", lambda *_: pytest.fail("it was read whole"))
    assert release.measure(people(), seed=3).to_json() == of_file.to_json()


def test_an_original_that_does_not_fit_is_read_some_rows_at_a_time(tmp_path, monkeypatch) -> None:
    """Of a release that was published whole, too."""
    schema = px.Schema(
        identifier="who", quasi=["age", "sex"], sensitive="ill", drop=["zip", "note"]
    )
    release = px.publish(people(), schema, px.Mondrian(k=5), seed=1)
    path = file_of(people(), "parquet", tmp_path)
    expected = release.measure(path, seed=3)
    monkeypatch.setattr(Batches, "fits", lambda _: False)
    monkeypatch.setattr(fetched, "read_source", lambda *_, **__: pytest.fail("it was read whole"))
    assert release.measure(path, seed=3).to_json() == expected.to_json()


def test_a_table_without_a_column_is_refused_before_it_is_read(
    tmp_path, published, monkeypatch
) -> None:
    """With the name of the column."""
    release = px.Release.read(published(METHODS["k"]))
    path = file_of(people().drop("zip"), "parquet", tmp_path)
    monkeypatch.setattr(Batches, "each", lambda *_: pytest.fail("it was read"))
    with pytest.raises(px.PhalanxError, match="the original has no column 'zip'"):
        release.measure(path)


@pytest.mark.parametrize("method", METHODS)
def test_tables_are_drawn_from_parts(published, read_in_parts, monkeypatch, method) -> None:  # noqa: ARG001
    """A row for each person; what stands there as it is, as often as in the original."""
    monkeypatch.setattr(draws, "_AT_ONCE", 3_000)
    (table,) = px.Release.read(published(METHODS[method])).draw(1, seed=2)
    original = people().drop("who", "note")
    assert table.schema == original.select(table.columns).schema
    for name in ["ill"] if method in ("k", "l") else table.columns:
        assert table[name].sort().equals(original[name].sort())


def test_a_csv_file_that_fits_is_read_whole(tmp_path, published, monkeypatch) -> None:
    """So that no room on a disk is needed for it; one that does not fit names the folder that has
    none.
    """
    release = px.Release.read(published(METHODS["k"]))
    path = file_of(people(), "csv", tmp_path)
    expected = release.measure(people(), seed=3)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    assert release.measure(path, seed=3).to_json() == expected.to_json()
    monkeypatch.setattr(fetched.csv_blocks, "fits", lambda _: False)
    with pytest.raises(OSError, match="No space left on device") as failed:
        release.measure(path)
    assert failed.value.filename == gettempdir()


def test_a_csv_file_that_is_not_there_is_refused(tmp_path, published) -> None:
    """As everywhere."""
    with pytest.raises(px.PhalanxError, match="there is no file"):
        px.Release.read(published(METHODS["k"])).measure(tmp_path / "nowhere.csv")
