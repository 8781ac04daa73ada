# SPDX-License-Identifier: Apache-2.0
"""`phalanx measure` and `phalanx draw`: from a folder, as text and as JSON."""

import json
from contextlib import contextmanager

import polars as pl
import pytest

from phalanx.estimators import draws


def published(ward):
    ward.plan(method='name = "mondrian"\nk = 4')
    ward.publish()


def test_measure(ward) -> None:
    """Every figure beside the sample's, as text and as JSON."""
    published(ward)
    said = ward.call("measure", "out/ward-1", "--original", "t.csv")
    assert said.code == 0 and "sample of the same size" in said.out and "ncp" in said.out
    found = json.loads(
        ward.call(
            "measure", "out/ward-1", "--original", "t.csv", "--held-out", "t.csv", "--json"
        ).out
    )
    assert (
        list(found) == ["rows", "original", "figures", "notes"]
        and found["figures"][-1]["name"] == "learning"
    )
    assert ward.call("measure", "out/ward-1", "--original", "nowhere.csv").code == 2


def test_measure_beside_another_table(ward) -> None:
    """No figure is told beside a table that the release was not made of."""
    published(ward)
    text = (ward.path / "t.csv").read_text(encoding="utf-8").splitlines()
    (ward.path / "less.csv").write_text("\n".join(text[:-1]) + "\n", encoding="utf-8")
    said = ward.call("measure", "out/ward-1", "--original", "less.csv")
    assert (said.code, said.out) == (2, "")
    assert "this is not the table that release 1 was made of" in said.err


def test_draw(ward) -> None:
    """Tables in a new folder, in the original's columns; a folder that is there is not written
    into.
    """
    published(ward)
    found = json.loads(
        ward.call(
            "draw",
            "out/ward-1",
            "--to",
            "drawn",
            "--times",
            3,
            "--never",
            "age < 21 and ill = 'b'",
            "--json",
        ).out
    )
    assert found["tables"] == ["draw-1.csv", "draw-2.csv", "draw-3.csv"]
    table = pl.read_csv(ward.path / "drawn" / "draw-2.csv")
    assert (
        table.columns == ["age", "zip", "ill"]
        and table.filter((pl.col("age") < 21) & (pl.col("ill") == "b")).is_empty()
    )
    assert ward.call("draw", "out/ward-1", "--to", "drawn").code == 2
    said = ward.call("draw", "out/ward-1", "--to", "none", "--times", 2, "--never", "age > 0")
    assert (said.code, said.out) == (2, "") and "every row meets a condition" in said.err
    assert not (ward.path / "none").exists()
    said = ward.call("draw", "out/ward-1", "--to", "some", "--times", 2, "--never", "age < 21")
    assert "Rows that met --never each time are left out." in said.out
    assert (
        ward.call("draw", "out/ward-1", "--to", "parquet", "--times", 1, "--format", "parquet").code
        == 0
    )
    assert ward.call("draw", "out/ward-1", "--to", "other", "--format", "sav").code == 2


def test_a_draw_that_was_stopped_is_in_no_ones_way(ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """No folder is left without a table; one that a killed process left is taken for a new one."""
    published(ward)
    with monkeypatch.context() as patch:
        patch.setattr(pl.DataFrame, "write_csv", lambda *_, **__: 1 / 0)
        assert ward.call("draw", "out/ward-1", "--to", "drawn").code == 70
    assert not (ward.path / "drawn").exists()
    (ward.path / "drawn").mkdir()
    (ward.path / "drawn" / ".draw-1.csv.partial").write_text("age")
    assert ward.call("draw", "out/ward-1", "--to", "drawn", "--times", 1).code == 0
    assert [file.name for file in (ward.path / "drawn").iterdir()] == ["draw-1.csv"]


def test_draw_writes_each_table_when_it_is_drawn(ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand million tables those that were drawn before it was stopped stand in the folder,
    and the bar says of how many.
    """
    published(ward)
    told: list[tuple[int, int]] = []

    @contextmanager
    def stopping(_: str, *, quiet: bool):  # noqa: ARG001
        def tell(_: str, done: int, of: int) -> None:
            told.append((done, of))
            if done == 2:
                raise KeyboardInterrupt

        yield tell

    monkeypatch.setattr("phalanx.cli.draw.watching", stopping)
    said = ward.call("draw", "out/ward-1", "--to", "drawn", "--times", 10**9)
    assert said.code == 130 and told == [(1, 10**9), (2, 10**9)]
    assert len(list((ward.path / "drawn").iterdir())) == 2


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_table_that_is_drawn_in_pieces_is_one_file(ward, monkeypatch, format: str) -> None:
    """With one header, and every row in it."""
    published(ward)
    monkeypatch.setattr("phalanx.estimators.draws._AT_ONCE", 8)
    words = ("draw", "out/ward-1", "--to", "drawn", "--times", 1, "--format", format, "--json")
    found = json.loads(ward.call(*words).out)
    (path,) = (ward.path / "drawn").iterdir()
    assert [path.name] == found["tables"]
    table = pl.read_csv(path) if format == "csv" else pl.read_parquet(path)
    assert [table.height] == found["rows"] == [pl.read_csv(ward.path / "t.csv").height]
    assert table.columns == ["age", "zip", "ill"]
    assert table.dtypes == [
        pl.Int64,
        pl.Int64 if format == "csv" else table["zip"].dtype,
        pl.String,
    ]


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_half_a_table_is_not_left_behind(ward, monkeypatch, format: str) -> None:
    """Where it is stopped between two pieces."""
    published(ward)
    monkeypatch.setattr("phalanx.estimators.draws._AT_ONCE", 8)
    calls: list[int] = []

    def stopped(*given):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return piece(*given)

    piece = draws._piece
    monkeypatch.setattr(draws, "_piece", stopped)
    words = ("draw", "out/ward-1", "--to", "drawn", "--times", 1, "--format", format)
    assert ward.call(*words).code == 130
    assert not (ward.path / "drawn").exists()


def test_measure_says_how_far_it_is(ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a bar, but for --quiet and --json."""
    published(ward)
    told: list[str] = []

    @contextmanager
    def telling(_: str, *, quiet: bool):
        yield lambda what, *_: None if quiet else told.append(what)

    monkeypatch.setattr("phalanx.cli.measure.watching", telling)
    words = ("measure", "out/ward-1", "--original", "t.csv")
    assert ward.call(*words, "--quiet").code == ward.call(*words, "--json").code == 0
    assert told == []
    assert ward.call(*words).code == 0
    assert [*dict.fromkeys(told)] == ["original", "drawn tables", "counts"]


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("most", [8, 1000])
def test_a_full_disk_is_said_of_the_table(ward, monkeypatch, format: str, most: int) -> None:
    """By the name that it would have, with the reason, and nothing of it is left."""
    published(ward)
    monkeypatch.setattr("phalanx.estimators.draws._AT_ONCE", most)
    resource = pytest.importorskip("resource", reason="the system limits no files")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, before[1]))
    try:
        words = ("draw", "out/ward-1", "--to", "drawn", "--times", 1, "--format", format)
        said = ward.call(*words)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert said.code != 0
    assert f"draw-1.{format}" in said.err
    assert "file too large" in said.err
    assert "partial" not in said.err
    assert not (ward.path / "drawn").exists()
