# SPDX-License-Identifier: Apache-2.0
"""A series that follows persons, on Spark: what workers do is done here without it, by a frame that
pretends to be Spark's; ``test_on_spark`` has the real one.
"""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from phalanx import GlobalGuarantee, MInvariance, Series, verify
from phalanx.engines.spark import checking, persons
from phalanx.engines.spark.faults import WorkerFault
from phalanx.errors import GuaranteeError, MethodError, NotEligible, PlanError, SourceError
from phalanx.ledger import Ledger
from phalanx.release.folder import Release
from phalanx.series.staying_on_spark import Parts
from support.pretended_spark import Pretended
from support.staying_cases import SCHEMA, failing, parts_of_persons, people, tables, url

METHODS = [
    MInvariance(m=3),
    MInvariance(m=3, regions=4, changed="suppress"),
    GlobalGuarantee(l=3),
    GlobalGuarantee(l=3, protect=["1", "2"], expected_later=["1", "2"]),
]
NAMES = ["m-invariance", "regions, suppressed", "global guarantee", "some values"]


@pytest.fixture
def spark(monkeypatch):
    return Pretended(monkeypatch)


def series(folder, method, **changes):
    settings = {"engine": "spark", "report": False} | changes
    return Series("s", SCHEMA, method, to=folder / "out", **settings)


def published(folder, method, given, **changes):
    made = []
    for number, table in enumerate(given):
        path = folder / f"t{number}.parquet"
        table.write_parquet(path)
        made.append(series(folder, method, **changes).publish(path))
    return made


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_series_on_spark_is_a_series(tmp_path, method):
    """Every check holds, at once and from the folders, with the ledger and with the tables; everyone
    is published, stays in their part, and nothing lies beside the folders.
    """
    given = tables()
    made = published(tmp_path, method, given)
    for each, table in zip(made, given, strict=True):
        assert len(each.manifest.parts) > 3
        suppressed = sum(each.suppressed_rows.values())
        assert each.rows - each.manifest.counterfeits + suppressed == table.height
        assert {v.result for v in each.checks} <= {"holds", "not checked", "stated", "not covered"}
        assert each.manifest.counterfeits == Release.read(each.path).form.counterfeit_rows
    paths = [each.path for each in made]
    assert verify(paths, ledger=url(tmp_path)).holds
    whole = verify(paths, ledger=url(tmp_path), originals=given, identifier="who")
    assert whole.holds
    of_person = [parts_of_persons(tmp_path, number) for number in (1, 2, 3)]
    for later in of_person[1:]:
        both = of_person[0].join(later, on="person", suffix="_later")
        assert both.height > 8_000
        assert both.filter(pl.col("part") != pl.col("part_later")).is_empty()
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1", "s-2", "s-3"]


@pytest.mark.parametrize("method", METHODS[::2], ids=NAMES[::2])
def test_the_same_is_checked_as_out_of_core_and_either_goes_on(tmp_path, monkeypatch, method):
    """A series that began on Spark goes on out of core, and then on Spark again; both say the same
    of their releases, and together they are one series.
    """
    given = tables()
    for kind in (GlobalGuarantee, MInvariance):
        monkeypatch.setattr(kind, "bytes_per_value", 170)
    room = int(2_500 * 5 * 170 / 0.4) + 1
    monkeypatch.setattr("phalanx.engines.choosing.memory_left", lambda: room)
    made = []
    for number, (table, engine) in enumerate(
        zip(given, ("spark", "out-of-core", "spark"), strict=True)
    ):
        with monkeypatch.context() as patch:
            Pretended(patch)
            path = tmp_path / f"t{number}.parquet"
            table.write_parquet(path)
            made.append(series(tmp_path, method, engine=engine).publish(path))
    parts = [len(each.manifest.parts) for each in made]
    assert parts[0] == parts[1] == parts[2] > 3
    names = [{v.name.partition(": ")[2] or v.name for v in each.checks} for each in made]
    assert names[1] == names[2]
    assert verify([each.path for each in made], ledger=url(tmp_path)).holds
    with pytest.raises(PlanError, match="is not how the series began"):
        series(tmp_path, method, engine="local").publish(tmp_path / "t0.parquet")


@pytest.mark.parametrize("at_once", [1, 20_000, None])
def test_a_check_in_workers_says_the_same(tmp_path, monkeypatch, spark, at_once):
    """Of persons, too, whether parts go to the workers one by one, some at a time or all at once;
    without a ledger each release is looked at by itself.
    """
    paths = [each.path for each in published(tmp_path, MInvariance(m=3), tables())]
    if at_once is not None:
        monkeypatch.setattr(checking, "_AT_ONCE", at_once)
    waves, made = [], spark.createDataFrame
    monkeypatch.setattr(spark, "createDataFrame", lambda table: waves.append(table) or made(table))
    for evidence in ({"ledger": url(tmp_path)}, {}):
        here = verify(paths, **evidence)
        there = verify(paths, **evidence, engine="spark")
        assert there.to_json() == here.to_json()
    parts = len(Release.read(paths[0]).manifest.parts)
    assert len(waves) == {1: parts + 1, None: 2}.get(at_once, len(waves)) > 1
    turns = [table["turn"].to_pylist() for table in waves]
    assert len(turns[0]) == {1: 3, None: 3 * parts}.get(at_once, len(turns[0]))


def test_what_lies_beside_a_part_is_that_of_the_part(tmp_path, monkeypatch, spark):
    """Power: workers that are given the persons of another part find that these are not its own; and
    sealed bytes open at their own place alone.
    """
    paths = [each.path for each in published(tmp_path, GlobalGuarantee(l=3), tables()[:1])]
    made = spark.createDataFrame

    def exchanged(table):
        at = table["at"].to_pylist()
        return made(table.set_column(0, "at", pa.array([at[1], at[0], *at[2:]])))

    with monkeypatch.context() as patch:
        patch.setattr(spark, "createDataFrame", exchanged)
        with pytest.raises(WorkerFault, match="WorkerFault in checking"):
            verify(paths, ledger=url(tmp_path), engine="spark")
    sealed = checking.Workers._sealed
    seen = []

    def of_another(workers, table, at, turn):
        seen.append(table)
        return sealed(workers, seen[-2] if len(seen) > 1 else table, at, turn)

    monkeypatch.setattr(checking.Workers, "_sealed", of_another)
    found = verify(paths, ledger=url(tmp_path), engine="spark")
    assert not found.holds


def test_a_task_that_is_run_twice_in_any_order_gives_the_same(tmp_path, monkeypatch):
    """Partitions are read forwards, and backwards: the same persons are in the same parts, and the
    same files are written.
    """
    first, second, _ = tables()
    digests = []
    for backwards in (False, True):
        with monkeypatch.context() as patch:
            Pretended(patch, backwards=backwards)
            folder = tmp_path / str(backwards)
            folder.mkdir()
            patch.setattr(Ledger, "person_key", lambda *_: persons.PersonKey(bytes(32)))
            made = published(folder, METHODS[0], [first, second], seed=7)
        digests.append([[file.sha256 for file in each.manifest.files] for each in made])
    assert digests[0] == digests[1]
    assert len(digests[0][1]) > 6


@pytest.mark.usefixtures("spark")
def test_a_person_who_was_moved_to_another_part_is_caught(tmp_path, monkeypatch):
    """The broken twin: rows go where the person lives now. No part sees it by itself, and nothing is
    published.
    """
    given = tables()
    published(tmp_path, METHODS[0], given[:1])
    monkeypatch.setattr(Parts, "known", lambda *_: pl.Series("person", [], pl.Binary))
    with pytest.raises(GuaranteeError, match=r"persons and parts"):
        published(tmp_path, METHODS[0], given[1:2])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("method", METHODS[::2], ids=NAMES[::2])
def test_a_part_that_forgets_is_caught(tmp_path, monkeypatch, method):
    """The broken twin of one part, by the check of the files that are handed out."""
    given = tables()
    published(tmp_path, method, given[:1])
    publish = type(method).publish
    monkeypatch.setattr(
        type(method),
        "publish",
        lambda self, microdata, memory, rng: publish(self, microdata, type(memory)(1), rng),
    )
    with pytest.raises(GuaranteeError, match=r"signatures|global-guarantee"):
        published(tmp_path, method, given[1:2])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1"]
    with Ledger.open(url(tmp_path)) as ledger:
        assert list(ledger.parts("s")) == [1]


@pytest.mark.usefixtures("spark")
def test_what_is_wrong_leaves_nothing(tmp_path):
    """A person twice, a value too frequent in a region, a part that has grown beyond the memory, an
    identifier that is missing, and what lies beside a release that was changed.
    """
    first, _, _ = tables()
    with pytest.raises(SourceError, match=r"^2 row\(s\) repeat a person"):
        published(tmp_path, METHODS[0], [pl.concat([first, first[:2]])])
    frequent = first.with_columns(
        ill=pl.when(pl.col("age") > 60).then(pl.lit("Zq7")).otherwise("ill")
    )
    with pytest.raises(NotEligible, match="one of the parts") as caught:
        published(tmp_path, METHODS[0], [frequent])
    assert "Zq7" not in str(caught.value)
    missing = first.with_columns(who=pl.when(pl.col("who") > 5).then("who"))
    with pytest.raises(SourceError, match="identifier column 'who' is missing"):
        published(tmp_path, METHODS[0], [missing])
    assert list((tmp_path / "out").iterdir()) == []
    published(tmp_path, METHODS[0], [first])
    grown = pl.concat([first, people(60_000, 22, 40_000)])
    with pytest.raises(MethodError, match="a part of the series has"):
        published(tmp_path, METHODS[0], [grown], memory_limit=int(2_500 * 5 * 300 / 0.4) + 1)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1"]


@pytest.mark.usefixtures("spark")
def test_a_part_without_persons_goes_on(tmp_path):
    """The young all leave, and return: their parts are remembered meanwhile."""
    first, _, _ = tables()
    old = first.filter(pl.col("age") > 45)
    made = published(tmp_path, METHODS[2], [first, old, first])
    parts = [len(each.manifest.parts) for each in made]
    assert parts[1] < parts[0] == parts[2]
    assert verify([each.path for each in made], ledger=url(tmp_path)).holds
    same = parts_of_persons(tmp_path, 1).join(parts_of_persons(tmp_path, 3), on=["person", "part"])
    assert same.height == first.height


@pytest.mark.usefixtures("spark")
def test_what_lies_beside_a_release_is_sealed_and_goes(tmp_path, monkeypatch):
    """No keyed hash stands in any file while workers work, and a changed file is refused."""
    keep, seen = Parts.keep, []

    def kept(self, part, remember, state, groups):
        names = keep(self, part, remember, state, groups)
        content = (self.sealed.folder / f"after-{part}").read_bytes()
        seen.append(len(content))
        assert not any(person in content for person in groups["person"][:50])
        return names

    monkeypatch.setattr(Parts, "keep", kept)
    first, second, _ = tables()
    published(tmp_path, METHODS[0], [first])
    assert min(seen) > 10_000
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["s-1"]

    def spoiled(self, part, remember, state, groups):
        names = keep(self, part, remember, state, groups)
        path = self.sealed.folder / f"after-{part}"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        return names

    monkeypatch.setattr(Parts, "keep", spoiled)
    with pytest.raises(Exception, match="was changed while Spark worked"):
        published(tmp_path, METHODS[0], [second])
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["s-1"]
    assert failing(verify([tmp_path / "out" / "s-1"], ledger=url(tmp_path))) == []


def test_persons_are_dealt_evenly():
    """By the first bytes of hashes, which are as good as random; equal ones meet."""
    rng = np.random.default_rng(1)
    hashes = pl.Series("person", [rng.bytes(16) for _ in range(6_000)])
    ways = persons.way_of(hashes, 3)
    assert np.bincount(ways).tolist() == pytest.approx([2_000] * 3, abs=150)
    assert (persons.way_of(hashes, 3) == ways).all()
