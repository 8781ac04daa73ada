# SPDX-License-Identifier: Apache-2.0
"""Files that the machine cannot read now are not for that reason wrong."""

import errno

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import phalanx as px
from phalanx.errors import MachineError
from phalanx.guarantees.consistency import files

LACKS = {
    "memory": MemoryError(),
    "memory of Arrow": pa.ArrowMemoryError("malloc of size 64 failed"),
    "threads": pa.ArrowException("Unknown error: Failed to launch worker thread: Resource"),
    "open files": OSError(errno.EMFILE, "Too many open files"),
}


@pytest.fixture
def release(tmp_path):
    """A release in both formats, in its folder."""
    people = pl.DataFrame({"who": range(40), "age": range(40), "ill": list("abcd") * 10})
    schema = px.Schema(identifier="who", quasi=["age"], sensitive="ill")
    series = px.Series(
        "s",
        schema,
        px.Mondrian(k=4),
        to=tmp_path,
        ledger=f"sqlite:///{tmp_path}/s.db",
        seed=1,
        formats=["parquet", "csv"],
    )
    path = series.publish(people).path
    assert px.verify(path, allow_seeded=True).holds
    return path


@pytest.mark.parametrize("where", ["ParquetFile", "read_parquet", "read_csv", "encode"])
@pytest.mark.parametrize("lack", LACKS.values(), ids=LACKS)
def test_what_the_machine_lacks_is_no_verdict(release, monkeypatch, where, lack):
    """Whatever of a check meets it, there is no verdict at all: none that a release does not hold,
    and none that it does.
    """

    def lacking(*_, **__):
        raise lack

    monkeypatch.setattr(pq if where == "ParquetFile" else files, where, lacking)
    with pytest.raises((MachineError, MemoryError, OSError)):
        px.verify(release, allow_seeded=True)


def test_a_file_that_is_wrong_stays_a_verdict(release, monkeypatch):
    """Any other error of a reader is one, as before."""

    def damaged(*_, **__):
        raise pa.ArrowInvalid("Couldn't deserialize thrift")

    monkeypatch.setattr(pq, "ParquetFile", damaged)
    verdict = px.verify(release, allow_seeded=True)
    assert not verdict.holds
    (wrong,) = [v.note for v in verdict.checks if not v.holds]
    assert wrong.startswith("data.parquet: it cannot be read as Parquet")


@pytest.mark.parametrize("lack", [OSError(24, "Too many open files"), MemoryError()], ids=str)
def test_what_is_not_looked_at_for_lack_of_something_is_no_verdict(tmp_path, monkeypatch, lack):
    """Also where it is only then lacking: no file holds what nobody has read."""
    path = tmp_path / "a.csv"
    path.write_text('"x"\n1\n')

    def lacking(*_, **__):
        raise lack

    monkeypatch.setattr(files, "read_csv", lacking)
    with pytest.raises((MachineError, MemoryError)):
        files.hidden_in_csv(path, pl.DataFrame({"x": [1]}))


@pytest.mark.parametrize("words", ["too many open files", "cannot allocate memory"])
def test_a_value_in_the_words_of_the_machine_is_a_fault(tmp_path, words):
    """Who puts them beside a number does not get around a verdict."""
    pl.DataFrame({"x": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    for text in (words, f"a`{words}", f"a'{words}"):
        (tmp_path / "a.csv").write_text(f"x\n1\n{text}\n")
        assert not files._same_rows(tmp_path / "a.parquet", tmp_path / "a.csv")
