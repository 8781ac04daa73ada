# SPDX-License-Identifier: Apache-2.0
"""Safe sampling on Spark: what workers do is done here without it, by a frame that pretends to be
Spark's; ``test_on_spark`` has the real one.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from phalanx import Ledger, SafeSampling, verify
from phalanx.errors import GuaranteeError, MethodError, PlanError, SourceError
from phalanx.release.folder import Release
from phalanx.series import counted
from series.test_counted import CHOSEN, FIXED, people, series
from support.pretended_spark import Pretended

EVERYBODY = SafeSampling(
    beta="9999/10000", k=24, epsilon=10, scheme=FIXED.scheme, expected_rows=12_000
)


@pytest.fixture
def spark(monkeypatch):
    return Pretended(monkeypatch)


@pytest.fixture
def source(tmp_path):
    """The path of the table."""
    people().write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def on_spark(tmp_path, method=FIXED, **changes):
    return series(tmp_path, method, **{"engine": "spark", "report": False} | changes)


def images(release):
    return release.form.table.group_by(pl.all()).len().sort(pl.all())


@pytest.mark.usefixtures("spark")
def test_a_release_of_spark_is_a_release(tmp_path, source):
    """In one piece; every check holds, at once and from the folder, what it costs is remembered, and
    a budget ends.
    """
    method = replace(FIXED, budget={"epsilon": 4, "delta": 1.6e-6})
    made = on_spark(tmp_path, method).publish(source)
    assert not made.manifest.parts
    assert sorted(p.name for p in made.path.iterdir()) == ["data.parquet", "release.json"]
    assert 4_000 < made.rows < 7_000
    assert [v.worst for v in made.checks if v.name == "truth"] == [0]
    again = on_spark(tmp_path, method).publish(source)
    assert not images(again).equals(images(made))
    assert verify([made.path, again.path], ledger=f"sqlite:///{tmp_path}/s.db").holds
    assert again.spent["releases"] == 2
    assert again.suppressed_rows is None
    with pytest.raises(MethodError, match="release 3 and those before it would cost epsilon"):
        on_spark(tmp_path, method).publish(source)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["s-1", "s-2"]


@pytest.mark.usefixtures("spark")
def test_the_same_is_counted_and_checked_as_elsewhere(tmp_path, source):
    """Nearly all rows are drawn, so that images are those that are published out of core, but for a
    few rows; the manifest and the verdicts are the same.
    """
    there = on_spark(tmp_path, EVERYBODY).publish(source)
    (tmp_path / "here").mkdir()
    here = series(tmp_path / "here", EVERYBODY, engine="out-of-core", report=False)
    here = here.publish(source)
    both = images(there).join(images(here), on=there.form.table.columns, nulls_equal=True)
    assert both.height == images(there).height == images(here).height
    assert (both["len"].cast(pl.Int64) - both["len_right"]).abs().sum() < 20
    assert there.manifest.method == here.manifest.method
    assert there.manifest.guarantees == here.manifest.guarantees
    assert there.manifest.scheme == here.manifest.scheme
    assert [(v.name, v.result) for v in there.checks] == [(v.name, v.result) for v in here.checks]


def test_a_task_that_is_run_twice_in_any_order_gives_the_same(tmp_path, source, monkeypatch):
    """Partitions are read forwards, and backwards: the same rows are drawn."""
    digests = []
    for backwards in (False, True):
        with monkeypatch.context() as patch:
            Pretended(patch, backwards=backwards)
            (tmp_path / str(backwards)).mkdir()
            made = on_spark(tmp_path / str(backwards), seed=7).publish(source)
        digests.append([file.sha256 for file in made.manifest.files])
    assert digests[0] == digests[1]


@pytest.mark.usefixtures("spark")
def test_parts_follow_from_published_rows_alone(tmp_path, source, monkeypatch):
    """Cut where an image ends, as out of core; each is written and checked by a worker."""
    monkeypatch.setattr(counted, "_PART", 1_000)
    made = on_spark(tmp_path).publish(source)
    assert len(made.manifest.parts) > 4
    whole = Release.read(made.path)
    assert whole.form.rows == made.rows
    assert whole.form.table.equals(whole.form.table.sort(pl.all(), nulls_last=True))
    assert verify(made.path, ledger=f"sqlite:///{tmp_path}/s.db").holds
    tables = [pl.read_parquet(path) for path in sorted(made.path.glob("data*.parquet"))]
    for before, after in pairwise(tables):
        assert not before[-1].equals(after[0])


@pytest.mark.usefixtures("spark")
def test_what_is_not_so_is_caught(tmp_path, source, monkeypatch):
    """The broken twins: one row is said to be another image's, and a partition is counted twice."""
    count = SafeSampling.counted

    def elsewhere(self, microdata, stream):
        found, times, of_row = count(self, microdata, stream)
        of_row[np.flatnonzero(of_row >= 0)[0]] = (of_row.max() + 1) // 2
        return found, times, of_row

    monkeypatch.setattr(SafeSampling, "counted", elsewhere)
    with pytest.raises(GuaranteeError, match=r"failed .truth.; nothing was published"):
        on_spark(tmp_path).publish(source)
    monkeypatch.setattr(
        SafeSampling,
        "counted",
        lambda self, microdata, stream: (
            (found := count(self, microdata, stream))[0],
            found[1] * 2,
            found[2],
        ),
    )
    with pytest.raises(GuaranteeError, match=r"failed .truth.; nothing was published"):
        on_spark(tmp_path).publish(source)
    assert not list((tmp_path / "out").iterdir())
    with Ledger.open(f"sqlite:///{tmp_path}/s.db") as ledger:
        assert not ledger.releases("s")


@pytest.mark.usefixtures("spark")
def test_what_is_wrong_leaves_nothing(tmp_path, source):
    """A person twice, a column of another type, levels that are to be chosen, and files that are
    no Parquet.
    """
    twice = pl.concat([people(), people()[:3]])
    twice.write_parquet(tmp_path / "twice.parquet")
    with pytest.raises(SourceError, match=r"^3 row\(s\) repeat a person"):
        on_spark(tmp_path).publish(tmp_path / "twice.parquet")
    people().with_columns(age=pl.col("age").cast(pl.String) + "x").write_parquet(
        tmp_path / "words.parquet"
    )
    with pytest.raises(Exception, match="'age'"):
        on_spark(tmp_path).publish(tmp_path / "words.parquet")
    with pytest.raises(MethodError, match="counts of the table as a whole"):
        on_spark(tmp_path, CHOSEN).publish(source)
    with pytest.raises(PlanError, match="in parts is Parquet"):
        on_spark(tmp_path, formats=["csv"]).publish(source)
    assert not list((tmp_path / "out").glob("s-*"))
    assert not list((tmp_path / "out").glob(".s*"))


@pytest.mark.usefixtures("spark")
def test_a_release_in_which_nothing_is_frequent_is_one(tmp_path):
    """A table without rows is published, and paid for."""
    people(40).write_parquet(tmp_path / "t.parquet")
    made = on_spark(tmp_path, replace(FIXED, allow_empty=True)).publish(tmp_path / "t.parquet")
    assert made.rows == 0
    assert made.spent["releases"] == 1
    assert verify(made.path, ledger=f"sqlite:///{tmp_path}/s.db").holds


@pytest.mark.usefixtures("spark")
def test_what_one_row_writes_otherwise_is_refused(tmp_path):
    """As elsewhere: floats of single precision are others beside one number of double precision."""
    people().with_columns(pl.col("age").cast(pl.Float32)).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(SourceError, match=r"'age' is Float32, .*; make it double at the source"):
        on_spark(tmp_path).publish(tmp_path / "t.parquet")
