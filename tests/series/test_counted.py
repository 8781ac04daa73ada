# SPDX-License-Identifier: Apache-2.0
"""Safe sampling of a table that is larger than the memory: counted some rows at a time, published as
from memory, and nothing of the table's size shown.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from phalanx import Ledger, SafeSampling, Schema, Series, verify
from phalanx.data.microdata import Microdata
from phalanx.engines import choosing
from phalanx.errors import GuaranteeError, MethodError, SourceError
from phalanx.methods.safe_sampling import method as safe_sampling
from phalanx.methods.safe_sampling.counts import lowest_cells
from phalanx.methods.safe_sampling.private_levels import qualities
from phalanx.methods.safe_sampling.schemes import Axes
from phalanx.release.folder import Release, digest_of
from phalanx.series import counted

ROWS = 12_000
SCHEMA = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill", missing="value")
GRIDS = {
    "age": {"low": 0, "high": 80, "widths": [10, 20, 40]},
    "zip": {"low": 0, "high": 10_000, "widths": [2_500, 5_000]},
}
LEVELS = {
    "age": {"low": 0, "high": 80, "width": 20},
    "zip": {"low": 0, "high": 10_000, "width": 5_000},
}
FIXED = SafeSampling(
    epsilon=2, beta="1/2", k=24, accounting="theorem", scheme=LEVELS, expected_rows=12_000
)
CHOSEN = replace(FIXED, epsilon=3, epsilon_scheme=1, scheme=GRIDS)


def people(rows=ROWS, seed=19):
    """Persons, some without a sex."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "who": rng.permutation(rows),
            "age": rng.integers(0, 80, rows),
            "sex": pl.Series(rng.choice(["f", "m", None], rows), dtype=pl.String),
            "zip": rng.integers(0, 400, rows) * 25,
            "ill": pl.Series(rng.integers(0, 3, rows)).cast(pl.String),
        }
    )


@pytest.fixture
def small(monkeypatch):
    """So little memory that 4,000 rows are read at a time."""
    monkeypatch.setattr(choosing, "memory_left", lambda: int(4_000 * 5 * 170 / 0.4) + 1)


@pytest.fixture
def source(tmp_path):
    """The path of the table."""
    people().write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def series(tmp_path, method=FIXED, name="s", **changes):
    return Series(
        name,
        changes.pop("schema", SCHEMA),
        method,
        to=tmp_path / "out",
        ledger=tmp_path / f"{name}.db",
        **changes,
    )


@pytest.mark.parametrize("method", [FIXED, CHOSEN], ids=["fixed", "levels"])
@pytest.mark.usefixtures("small")
def test_a_release_of_a_larger_table_is_a_release(tmp_path, source, method):
    """In one piece, with a page; every check holds, at once and from the folder."""
    epsilon = 2 * method.epsilon
    method = replace(method, budget={"epsilon": epsilon, "delta": 1.6e-6})
    made = series(tmp_path, method).publish(source)
    assert not made.manifest.parts
    assert sorted(p.name for p in made.path.iterdir()) == ["data.parquet", "release.json"]
    assert made.page is not None
    assert made.rows > 4_000
    unchecked = {v.name.partition(": ")[2] for v in made.checks if v.result == "not checked"}
    assert unchecked == {
        f"differential-privacy: {what}" for what in ("counts", "sample", "choice of the scheme")
    }  # of which truth covers the first
    assert [v.worst for v in made.checks if v.name == "truth"] == [0]
    assert verify(made.path, ledger=f"sqlite:///{tmp_path}/s.db").holds
    assert verify(made.path, originals=[source], identifier="who").holds
    again = series(tmp_path, method).publish(source)
    assert verify([made.path, again.path], ledger=f"sqlite:///{tmp_path}/s.db").holds
    assert again.spent["releases"] == 2
    with pytest.raises(MethodError, match="release 3 and those before it would cost epsilon"):
        series(tmp_path, method).publish(source)


def test_each_reading_is_told(tmp_path, source, small):  # noqa: ARG001
    """Also those in which rows are counted, and the one that checks what the files say of each."""
    told = []
    tell = lambda *step: told.append(step)  # noqa: E731 - one line of its own
    series(tmp_path, name="s", engine="out-of-core", report=False).publish(source, progress=tell)
    rows = pl.scan_parquet(source).select(pl.len()).collect().item()
    assert told.count(("read", rows, rows)) >= 3
    assert [step for step, *_ in told][-2:] == ["check", "record"]


def test_the_release_is_that_of_the_table_in_memory(tmp_path, source, small):  # noqa: ARG001
    """The same sample gives the same files, byte for byte, so that nobody sees which engine it was,
    and so how large the table is; the same is spent, and remembered.
    """
    settings = {"seed": 1, "formats": ["parquet", "csv"], "report": False}
    by_counts = series(tmp_path, name="s", engine="out-of-core", **settings).publish(source)
    (tmp_path / "other").mkdir()
    whole = series(tmp_path / "other", name="s", engine="local", **settings).publish(source)
    for file in sorted(whole.path.iterdir()):
        assert (by_counts.path / file.name).read_bytes() == file.read_bytes()
    assert by_counts.spent == whole.spent
    kept = []
    for place in (tmp_path, tmp_path / "other"):
        with Ledger.open(f"sqlite:///{place}/s.db") as ledger:
            kept.append(ledger.remembered("s")["spent"])
    assert kept[0].equals(kept[1])


@pytest.fixture
def parted(tmp_path, source, monkeypatch):
    """A release in parts, seeded, that may be changed, as the plan asks for this engine."""
    monkeypatch.setattr(counted, "_PART", 1_000)
    return series(tmp_path, seed=1, engine="out-of-core").publish(source).path


def failing(folder):
    return {v.name: v.note for v in verify(folder, allow_seeded=True).checks if not v.holds}


def test_parts_follow_from_published_rows_alone(tmp_path, source, parted):
    """The parts together are the table as it is published in one piece, cut where an image ends; they
    are checked one at a time, and nothing else differs but that there is no page.
    """
    whole = series(tmp_path, seed=1, name="w", engine="local").publish(source)
    read, manifest = Release.read(parted), whole.manifest
    assert read.form.table.equals(whole.form.table)
    assert len(read.manifest.parts) > 4
    assert max(part.rows for part in read.manifest.parts) <= 1_000
    same = {"series": "s", "files": read.manifest.files, "parts": read.manifest.parts}
    assert read.manifest == manifest.model_copy(update=same)
    assert failing(parted) == {}
    found, expected = (verify(path, allow_seeded=True).checks for path in (parted, whole.path))
    assert {v.name: (v.worst, v.bound) for v in found} == {
        v.name: (v.worst, v.bound) for v in expected
    }
    assert verify(parted, originals=[source], identifier="who", allow_seeded=True).holds
    assert not (tmp_path / "out" / "reports").exists() or whole.page is not None


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("identifier", [None, "who"])
def test_parts_are_laid_beside_their_original(tmp_path, source, parted, identifier):
    """Each of them, as the whole release is: beside a part of the table, or another one, more rows are
    published than there are; and it is said where it was looked at.
    """
    whole = series(tmp_path, seed=1, name="w", engine="local").publish(source).path
    people().head(2_000).write_parquet(tmp_path / "few.parquet")
    for original, holds in ((source, True), (tmp_path / "few.parquet", False)):
        found = [
            {
                v.name.rpartition(": ")[2]: v
                for v in verify(
                    path, originals=[original], identifier=identifier, allow_seeded=True
                ).checks
            }["counts"]
            for path in (parted, whole)
        ]
        assert [v.holds for v in found] == [holds, holds]
        assert found[0].worst is not None and "not checked" not in found[0].note
        assert (found[1].worst > 0) is not holds


def test_an_estimate_makes_no_parts(tmp_path, source, monkeypatch):
    """Since it goes by how many rows there are, which would show; what does not fit in one piece is
    refused, and the sentence says what may be asked for.
    """
    monkeypatch.setattr(counted, "_PART", 1_000)
    assert not series(tmp_path).publish(source).manifest.parts
    monkeypatch.setattr(choosing, "memory_left", lambda: int(2_500 * 5 * 170 / 0.4) + 1)
    with pytest.raises(MethodError, match="does not fit the memory in one piece"):
        series(tmp_path, name="t").publish(source)
    assert len(series(tmp_path, name="t", engine="out-of-core").publish(source).manifest.parts) > 4


def changed(folder, tables, **fields):
    """Change the tables of parts and what the manifest says, and let all digests be right again."""
    for name, table in tables.items():
        table.write_parquet(
            folder / name, compression="zstd", compression_level=1, statistics=False
        )
    said = json.loads((folder / "release.json").read_text()) | fields
    for file in said["files"]:
        file["sha256"] = digest_of(folder / file["name"])
    for part, file in zip(said["parts"], said["files"], strict=True):
        table = pl.read_parquet(folder / file["name"])
        part |= {"rows": table.height, "groups": table.n_unique()}
    said["rows"], said["groups"] = (
        sum(p[key] for p in said["parts"]) for key in ("rows", "groups")
    )
    (folder / "release.json").write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("nothing", None),
        ("order", "are not in the order of what their rows say"),
        ("straddling", "hold rows of one image"),
        ("crowd", "the rarest of"),
        ("partition", "a partition, which is published in one piece"),
    ],
)
def test_what_is_wrong_among_parts_is_seen(parted, how, words):
    """The broken twins: parts that change places, an image cut in two crowds, a crowd that is too
    small in one part, and boxes that no part can compare.
    """
    names = [f"data-{n:05}.parquet" for n in (1, 2)]
    one, two = (pl.read_parquet(parted / name) for name in names)
    first = two.join(two[:1], on=two.columns, how="semi", nulls_equal=True).height
    tables = {
        "nothing": {},
        "order": {names[0]: two, names[1]: one},
        "straddling": {names[0]: pl.concat([one, two[: first // 2]]), names[1]: two[first // 2 :]},
        "crowd": {names[1]: two[first - 3 :]},
        "partition": {},
    }[how]
    said = json.loads((parted / "release.json").read_text())
    fields = {}
    if how == "partition":
        fields["scheme"] = said["scheme"] | {"chosen": "partition"}
    changed(parted, tables, **fields)
    notes = failing(parted)
    assert (notes == {}) if words is None else any(words in note for note in notes.values())


def test_a_choice_of_levels_goes_by_the_same_scores():
    """Every score that the choice draws from is that of the table in memory, to the last unit; a row
    that is counted less changes some.
    """
    schema = replace(SCHEMA, identifier=None)
    frame = people(5_000).drop("who")
    whole = Microdata.encode(frame, schema)
    axes = Axes.of(GRIDS, schema, choose=True)
    pieces = [Microdata.encode(frame[at : at + 900], schema) for at in range(0, 5_000, 900)]
    cells, times = lowest_cells(axes, schema, pieces, 5_000)
    assert cells.rows < 1_000 < times.sum() == 5_000
    for crowd in (1, 10, 40):
        expected = qualities(axes, whole, crowd)
        assert (qualities(axes, cells, crowd, times) == expected).all()
    fewer = times - (np.arange(len(times)) == 0)
    assert (qualities(axes, cells, 1, fewer) != qualities(axes, whole, 1)).any()


@pytest.mark.usefixtures("small")
def test_the_engine_is_taken_where_the_table_does_not_fit(tmp_path, source, monkeypatch):
    """By the estimate; and what does not fit the memory once counted is refused."""
    recorded = Recorded(Microdata.encode)
    monkeypatch.setattr(Microdata, "encode", recorded)
    series(tmp_path).publish(source)
    assert max(recorded.rows) <= 4_000 < ROWS
    fine = {name: {**grid, "widths": [1]} for name, grid in GRIDS.items()}
    with pytest.raises(MethodError, match="more than 4,000 different rows are to be counted"):
        series(tmp_path, replace(FIXED, scheme=fine, allow_empty=True), name="t").publish(source)


class Recorded:
    """How many rows are encoded at a time."""

    def __init__(self, encode):
        self.encode, self.rows = encode, []

    def __call__(self, frame, *rest, **said):
        self.rows.append(frame.height)
        return self.encode(frame, *rest, **said)


def test_a_partition_needs_the_whole_table(tmp_path, source, small):  # noqa: ARG001
    """It says so, before anything is spent."""
    method = replace(CHOSEN, choose="partition")
    assert method.divided_by is None
    with pytest.raises(MethodError, match="needs the whole table in memory"):
        series(tmp_path, method).publish(source)


@pytest.mark.usefixtures("small")
def test_a_person_is_there_once(tmp_path, source):
    """As the promise is about one row."""
    frame = people()
    frame.with_columns(who=pl.col("who") // 2 * 2).write_parquet(source)
    with pytest.raises(SourceError, match="6000 row"):
        series(tmp_path).publish(source)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fault", ["crowd", "place"])
def test_a_broken_method_publishes_nothing(tmp_path, source, monkeypatch, fault):
    """The broken twins: crowds that are too small, and rows that are said to be elsewhere."""
    if fault == "crowd":
        crowds = safe_sampling.Counts.crowds
        monkeypatch.setattr(safe_sampling.Counts, "crowds", lambda self, _: crowds(self, 1))
        finest = {name: {**grid, "widths": grid["widths"][:1]} for name, grid in GRIDS.items()}
        method, words = replace(FIXED, scheme=finest, allow_empty=True), "crowd"
    else:
        in_order = safe_sampling.in_order
        rolled = lambda *images: pl.Series(np.roll(in_order(*images).to_numpy(), 1))  # noqa: E731
        monkeypatch.setattr(safe_sampling, "in_order", rolled)
        method, words = FIXED, "truth"
    with pytest.raises(GuaranteeError, match=words):
        series(tmp_path, method).publish(source)
    assert list((tmp_path / "out").iterdir()) == []


KILLED = """
import os, signal, sys
from pathlib import Path
import test_counted as here
from phalanx.engines import choosing
from phalanx.methods.safe_sampling import method
choosing.memory_left = lambda: int(2_500 * 5 * 170 / 0.4) + 1
method.recode = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
here.series(Path(sys.argv[1])).publish(Path(sys.argv[1]) / "t.parquet")
"""


def test_a_kill_spends_nothing_and_leaves_nothing(tmp_path, source):
    """Killed once all is counted: no file is there, and the next publish is the first."""
    here = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False, env=here)
    assert killed.returncode == -9
    (left,) = (tmp_path / "out").iterdir()
    assert list(left.iterdir()) == []
    made = series(tmp_path, report=False, engine="out-of-core").publish(source)
    assert made.number == made.spent["releases"] == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1"]
