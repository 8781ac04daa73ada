# SPDX-License-Identifier: Apache-2.0
"""A release in parts is asked part by part, and answers as it does whole."""

from collections.abc import Callable
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.engines import choosing
from phalanx.errors import MachineError, ReleaseError
from phalanx.estimators import draws, reading
from phalanx.release import folder
from phalanx.release.folder import Release

QUERIES = [
    "count(*) where age between 20 and 33 and ill = '3'",
    "count(*) where not (sex = 'f' or zip >= 5000)",
    "count(*) where sex is null group by ill",
    "sum(age) where ill in ('1', '2')",
    "avg(zip) where age < 40 group by sex",
    "avg(age) where ill = '3' and sex = 'f'",
    "count(*) where age < 40 and (ill = '3' or sex = 'f')",
    "sum(age) where ill = '1' or zip < 3000",
]
SCHEMA = px.Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill", missing="value")
SCHEME = {
    "age": {"low": 0, "high": 80, "width": 20},
    "sex": 0,
    "zip": {"low": 0, "high": 10_000, "width": 5_000},
    "ill": 0,
}
METHODS = {
    "generalized": px.Mondrian(k=5, l=3),
    "kept": px.Mondrian(k=5),
    "bucketized": px.Anatomy(l=3),
    "sliced": px.Slicing(l=3, columns=[["age", "sex"], ["zip"], ["ill"]]),
    "recoded": px.SafeSampling(epsilon=4, k=5, beta="0.8", scheme=SCHEME, allow_empty=True),
    "counterfeits": px.MInvariance(m=3),
}


def people(rows: int = 6_000) -> pl.DataFrame:
    """Some values are missing."""
    rng = np.random.default_rng(19)
    age = rng.integers(0, 80, rows)
    return pl.DataFrame(
        {
            "who": rng.permutation(rows),
            "age": age,
            "sex": pl.Series(rng.choice(["f", "m", ""], rows)).replace("", None),
            "zip": rng.integers(0, 400, rows) * 25,
            "ill": pl.Series((age // 20 + rng.integers(0, 8, rows)) % 9).cast(pl.String),
        }
    )


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Publishes in parts, into a folder."""

    def publish(kind: str) -> Path:
        people().write_parquet(tmp_path / "t.parquet")
        schema = SCHEMA
        if kind == "kept":
            schema = px.Schema(identifier="who", quasi=["age", "sex"], keep=["zip"], sensitive="ill", missing="value")  # fmt: skip
        if kind == "recoded":
            schema = px.Schema(quasi=["age", "sex", "zip", "ill"], drop=["who"], missing="value")
        with monkeypatch.context() as patch:
            each = METHODS[kind].bytes_per_value
            patch.setattr(choosing, "memory_left", lambda: int(2_100 * 5 * each / 0.4) + 1)
            made = px.Series("s", schema, METHODS[kind], to=tmp_path / "out", engine="out-of-core")
            return made.publish(tmp_path / "t.parquet").path

    return publish


def _numbers(figure: Any) -> list[float]:
    """One number or a pair."""
    return list(figure) if isinstance(figure, tuple) else [figure]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("kind", METHODS)
def test_parts_answer_as_the_whole_does(
    released: Callable[[str], Path], kind: str, apart: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Certain bounds, estimates and intervals are those of the release as if it had no parts; and no
    table is read whole. Parts that the memory does not hold together are asked one by one.
    """
    path = released(kind)
    read = Release.read(path)
    assert len(read.manifest.parts) > 1
    undivided = replace(read, manifest=read.manifest.model_copy(update={"parts": []}))
    monkeypatch.setattr(folder, "_check_parts_fit", lambda *_: pytest.fail("it was read whole"))
    asked = px.Release.read(path)
    if apart:
        left = chain([1 << 40] * len(read.manifest.parts), [0], repeat(1 << 40))
        monkeypatch.setattr(reading, "memory_left", lambda: next(left))
    assert bool(reading.view_to_ask(asked).parts) is apart
    for query in QUERIES:
        mine, whole = (px.estimators.estimate(each, query) for each in (asked, undivided))
        assert len(mine.figures) == len(whole.figures) > 0
        for one, other in zip(mine.figures, whole.figures, strict=True):
            assert one.values == other.values
            for name in ("low", "high", "published", "estimate", "interval"):
                of_parts, of_whole = getattr(one, name), getattr(other, name)
                assert (of_parts is None) == (of_whole is None)
                assert of_whole is None or _numbers(of_parts) == pytest.approx(
                    _numbers(of_whole), rel=1e-7
                )


def test_what_no_memory_holds_is_refused_before_it_is_read(
    released: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All parts together are refused by what they take at least, and a question by what its answer
    takes.
    """
    path = released("generalized")
    with monkeypatch.context() as patch:
        patch.setattr(folder, "memory_left", lambda: 300_000)
        with pytest.raises(MachineError, match=r"MB of memory as a whole, and 0\.\d MB"):
            _ = px.Release.read(path).table
        assert px.Release.read(path).estimate("count(*)").figures[0].low == 6_000
    monkeypatch.setattr(reading, "memory_left", lambda: 100_000)
    with pytest.raises(
        MachineError, match=r"shows takes 0\.\d MB of memory, and 0\.\d MB are left"
    ):
        px.Release.read(path).estimate("count(*)")


def test_parts_are_told_of_as_they_are_read(released: Callable[[str], Path]) -> None:
    """Once, and then groups as they are answered; drawing and measuring tell of parts, too."""
    path = released("generalized")
    for ask in (
        lambda release, tell: release.estimate("count(*) group by sex", progress=tell),
        lambda release, tell: release.measure(people(), progress=tell),
        lambda release, tell: draws.drawing(release, 1, progress=tell),
    ):
        told: list[tuple[str, int, int | None]] = []
        release = px.Release.read(path)
        many = len(release.manifest.parts)
        ask(release, lambda *what, told=told: told.append(what))
        assert told[: many + 1] == [("parts", n, many) for n in range(many + 1)]
        assert all(what != "parts" for what, *_ in told[many + 1 :])
    told = []
    release.estimate("count(*) group by sex", progress=lambda *what: told.append(what))
    assert told == [("groups", n, 3) for n in range(4)]


def test_an_answer_that_no_memory_holds_is_refused(
    released: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a question asks of has more ends than there is memory for; another one is answered."""
    asked = px.Release.read(released("generalized"))
    view = reading.view_to_ask(asked)
    ends = view.points(["zip"])
    monkeypatch.setattr(reading, "memory_left", lambda: 128 * ends)
    assert asked.estimate("count(*) where zip < 300").figures[0].estimate > 0
    for query in ("count(*) where zip < 3 and age < 3", "avg(zip)"):
        with pytest.raises(
            MachineError, match=r"an answer about (age, )?zip of .* takes \d\.\d MB"
        ):
            asked.estimate(query)
    with pytest.raises(
        MachineError, match=r"a drawn table of .* takes \d\.\d MB of memory, and \d\.\d MB"
    ):
        asked.draw(1)


def test_a_release_in_parts_that_is_exchanged_is_no_release(
    released: Callable[[str], Path],
) -> None:
    """Its manifest is what it was when it was read, or it is not read."""
    path = released("generalized")
    read = px.Release.read(path)
    manifest = path / "release.json"
    manifest.write_text(manifest.read_text().replace('"series": "s"', '"series": "t"'))
    with pytest.raises(ReleaseError, match="exchanged while it was looked at"):
        _ = read.table


def test_a_part_that_is_no_parquet_file_is_refused_by_its_name(
    released: Callable[[str], Path],
) -> None:
    """Whole and part by part, also if the manifest has its digest."""
    path = released("generalized")
    file, manifest = path / "data-00002.parquet", path / "release.json"
    before = folder.digest_of(file)
    file.write_bytes(b"PAR1 and no more")
    manifest.write_text(manifest.read_text().replace(before, folder.digest_of(file)))
    for ask in (
        lambda: px.Release.read(path).table,
        lambda: px.Release.read(path).estimate("count(*)"),
    ):
        with pytest.raises(ReleaseError, match=r"data-00002\S* file cannot be read"):
            ask()
