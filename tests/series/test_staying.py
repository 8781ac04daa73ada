# SPDX-License-Identifier: Apache-2.0
"""A series that follows persons, of tables larger than the memory: each person stays in the part in
which they were first published, and each part goes on as a series by itself.
"""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from phalanx import GlobalGuarantee, Intersection, MInvariance, Series, verify
from phalanx.engines import choosing, lasting, out_of_core
from phalanx.engines.lasting import Belonging
from phalanx.errors import (
    GuaranteeError,
    MethodError,
    NotEligible,
    PlanError,
    SchemaError,
    SourceError,
)
from phalanx.ledger import Ledger
from phalanx.ledger.rows import Rows
from phalanx.release.folder import Release, opened
from phalanx.series.staying import Recalled
from support.staying_cases import ROWS, SCHEMA, failing, parts_of_persons, people, tables, url

GLOBAL = [
    GlobalGuarantee(l=3),
    GlobalGuarantee(l=2, strategy="adaptive"),
    GlobalGuarantee(l=3, protect=["1", "2"], expected_later=["1", "2"]),
]
METHODS = [
    MInvariance(m=3),
    MInvariance(m=3, regions=4, changed="suppress"),
    MInvariance(m=2, balancing="paper", changed="new-record"),
]
NAMES = ["m-invariance", "regions, suppressed", "paper, new records"]
GLOBAL_NAMES = ["global guarantee", "adaptive", "some values"]


@pytest.fixture
def small(monkeypatch):
    """So little memory that a part has 2,500 rows."""
    for method in (GlobalGuarantee, MInvariance):
        monkeypatch.setattr(method, "bytes_per_value", 170)
    monkeypatch.setattr(choosing, "memory_left", lambda: int(2_500 * 5 * 170 / 0.4) + 1)


def series(tmp_path, method, **changes):
    return Series("s", SCHEMA, method, to=tmp_path / "out", **{"report": False} | changes)


def published(tmp_path, method, given, **changes):
    """The releases of these tables, each from a file."""
    made = []
    for number, table in enumerate(given):
        table.write_parquet(tmp_path / f"t{number}.parquet")
        released = series(tmp_path, method, **changes).publish(tmp_path / f"t{number}.parquet")
        made.append(released)
    return made


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("method", METHODS + GLOBAL, ids=NAMES + GLOBAL_NAMES)
def test_a_series_in_parts_is_a_series(tmp_path, method):
    """Every check holds, at once and from the folders, with the ledger and with the tables, part by
    part and of the whole; everyone is published, and nothing lies beside the folders.
    """
    given = tables()
    made = published(tmp_path, method, given)
    assert [len(each.manifest.parts) > 3 for each in made] == [True] * 3
    for each, table in zip(made, given, strict=True):
        suppressed = sum(each.suppressed_rows.values())
        assert each.rows - each.manifest.counterfeits + suppressed == table.height
    for each in made:
        assert {v.result for v in each.checks} <= {"holds", "not checked", "stated", "not covered"}
        assert each.manifest.counterfeits == Release.read(each.path).form.counterfeit_rows
    paths = [each.path for each in made]
    steps: list[tuple[str, int, int | None]] = []
    with_ledger = verify(paths, ledger=url(tmp_path), progress=lambda *step: steps.append(step))
    assert [done for what, done, _ in steps if what == "persons"][:4] == [0, 1, 2, 3]
    assert with_ledger.holds
    assert [v.worst for v in with_ledger.checks if v.name.endswith("persons and parts")] == [0]
    assert verify(paths).holds
    whole = verify(paths, ledger=url(tmp_path), originals=given, identifier="who")
    assert whole.holds
    promised = [v for v in with_ledger.checks if made[0].manifest.guarantees[0]["name"] in v.name]
    assert len(promised) > 6
    of_the_whole = {v.name: v.worst for v in whole.checks}
    for verdict in promised:
        if verdict.result != "not checked":
            assert of_the_whole[verdict.name] == verdict.worst
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1", "s-2", "s-3"]


@pytest.mark.usefixtures("small")
def test_how_far_a_later_release_is_is_told(tmp_path):
    """The rows of the table, each time that it is read, and then those of the parts."""
    first, second, _ = tables()
    published(tmp_path, METHODS[0], [first])
    second.write_parquet(tmp_path / "second.parquet")
    steps = []
    tell = lambda *step: steps.append(step)  # noqa: E731 - one line of its own
    series(tmp_path, METHODS[0]).publish(tmp_path / "second.parquet", progress=tell)
    of_rows = [(step, done) for step, done, of in steps if of == second.height]
    assert of_rows.count(("read", second.height)) == 2
    assert of_rows[-1] == ("group", second.height)


@pytest.mark.usefixtures("small")
def test_a_series_with_as_many_parts_as_may_be_goes_on(tmp_path, monkeypatch):
    """Persons of whom some stay in as many parts as are new cells are no more parts."""
    first, second, _ = tables()
    parts = len(published(tmp_path, GlobalGuarantee(l=3), [first])[0].manifest.parts)
    monkeypatch.setattr(out_of_core, "_MOST_PARTS", parts - 1)
    with pytest.raises(MethodError, match=f"{parts} parts, and {parts - 1} are the most"):
        published(tmp_path, GlobalGuarantee(l=3), [second])
    monkeypatch.setattr(out_of_core, "_MOST_PARTS", parts)
    (made,) = published(tmp_path, GlobalGuarantee(l=3), [second])
    assert made.manifest.number == 2
    assert len(made.manifest.parts) == parts


@pytest.mark.usefixtures("small")
def test_hardly_a_file_is_open_beside_those_of_parts(tmp_path, monkeypatch):
    """There are two for each of as many parts as may be, and a process may usually open 1,024."""
    beside = []

    def counting(tagged, files):
        counts = out_of_core.route(tagged, files)
        beside.append(len(list(Path("/dev/fd").iterdir())) - len(files))
        return counts

    monkeypatch.setattr(lasting, "route", counting)
    before = len(list(Path("/dev/fd").iterdir()))
    published(tmp_path, METHODS[0], tables()[:2])
    assert len(beside) == 2
    assert max(beside) - before < 1_024 - 2 * out_of_core._MOST_PARTS - 40


@pytest.mark.usefixtures("small")
def test_who_leaves_moves_and_returns_keeps_part_and_signature(tmp_path):
    """By the person, and not by where they live now; no person is certain to an adversary."""
    made = published(tmp_path, METHODS[0], tables())
    first, second, third = (parts_of_persons(tmp_path, number) for number in (1, 2, 3))
    for later in (second, third):
        both = first.join(later, on="person", suffix="_later")
        assert both.height > 8_000
        assert both.filter(pl.col("part") != pl.col("part_later")).is_empty()
    stood = []
    for each, mapping in zip(made, (first, second, third), strict=True):
        of_group = each.form.table.group_by("group").agg(pl.col("ill").unique().sort())
        stood.append(mapping.join(of_group, on="group").select("person", "ill"))
    everybody = pl.concat(stood)
    assert everybody.group_by("person").agg(pl.col("ill").n_unique())["ill"].max() == 1
    given = [tmp_path / f"t{number}.parquet" for number in range(3)]
    assert series(tmp_path, METHODS[0]).attack(Intersection(), originals=given).exposed == 0


@pytest.mark.usefixtures("small")
def test_few_new_persons_meet_in_one_part(tmp_path):
    """A hundred, of whom no part of its own would have enough; how many there are decides it."""
    published(tmp_path, METHODS[0], tables())
    before = pl.concat([parts_of_persons(tmp_path, number) for number in (1, 2)])
    new = parts_of_persons(tmp_path, 3).join(before, on="person", how="anti")
    assert new.height == 100
    assert new["part"].n_unique() == 1


@pytest.mark.usefixtures("small")
def test_a_person_who_was_moved_to_another_part_is_caught(tmp_path, monkeypatch):
    """The broken twin: rows go where the person lives now, so that some are new in another part, and
    have a second signature. No part sees it by itself, and nothing is published.
    """
    given = tables()
    published(tmp_path, METHODS[0], given[:1])
    parts = Belonging.parts
    monkeypatch.setattr(Belonging, "parts", lambda *a: np.full_like(parts(*a), -1))
    with pytest.raises(GuaranteeError, match=r"persons and parts"):
        published(tmp_path, METHODS[0], given[1:2])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1"]
    monkeypatch.setattr("phalanx.series.staying.refuse_broken", lambda _: None)
    made = published(tmp_path, METHODS[0], given[1:2])
    monkeypatch.undo()
    folders = [tmp_path / "out" / "s-1", made[0].path]
    checked = verify(folders, ledger=url(tmp_path))
    assert failing(checked) == ["release 2: persons and parts"]
    whole = verify(folders, ledger=url(tmp_path), originals=given[:2], identifier="who")
    assert "release 2: m-invariance: signatures by person" in failing(whole)


@pytest.mark.usefixtures("small")
def test_a_part_whose_persons_change_their_signature_is_caught(tmp_path, monkeypatch):
    """The broken twin of one part: it forgets what it remembered, and nothing is published."""
    given = tables()
    published(tmp_path, METHODS[0], given[:1])
    memory = Recalled.memory

    def forgetful(self, part, releases):
        recalled = memory(self, part, releases)
        return replace(recalled, tables={}) if part == 2 else recalled

    publish = MInvariance.publish
    monkeypatch.setattr(
        MInvariance,
        "publish",
        lambda self, microdata, memory, rng: publish(
            self, microdata, replace(memory, tables={}), rng
        ),
    )
    with pytest.raises(GuaranteeError, match=r"remembered signatures|signatures by person"):
        published(tmp_path, METHODS[0], given[1:2])
    monkeypatch.setattr(MInvariance, "publish", publish)
    monkeypatch.setattr(Recalled, "memory", forgetful)
    monkeypatch.setattr("phalanx.series.drafting.refuse_broken", lambda *_, **__: None)
    made = published(tmp_path, METHODS[0], given[1:2])
    monkeypatch.undo()
    checked = verify([tmp_path / "out" / "s-1", made[0].path], ledger=url(tmp_path))
    assert "release 2: m-invariance: signatures by person" in failing(checked)


def test_a_series_goes_on_as_it_began(tmp_path, monkeypatch):
    """In parts also where the memory would do, and in one piece also where it does not: then it is
    refused in a sentence.
    """
    given = tables()
    with monkeypatch.context() as patch:
        patch.setattr(choosing, "memory_left", lambda: int(2_500 * 5 * 300 / 0.4) + 1)
        (first,) = published(tmp_path, METHODS[0], given[:1])
    (second,) = published(tmp_path, METHODS[0], given[1:2])
    assert len(second.manifest.parts) == len(first.manifest.parts)
    with pytest.raises(PlanError, match="is not how the series began"):
        series(tmp_path, METHODS[0], engine="local").publish(tmp_path / "t0.parquet")
    with pytest.raises(PlanError, match="goes on from Parquet, CSV that is not packed"):
        series(tmp_path, METHODS[0]).publish(given[2])
    whole = tmp_path / "whole"
    whole.mkdir()
    (one,) = published(whole, METHODS[0], given[:1])
    assert one.manifest.parts == []
    with pytest.raises(PlanError, match="is not how the series began"):
        series(whole, METHODS[0], engine="out-of-core").publish(tmp_path / "t0.parquet")
    monkeypatch.setattr(choosing, "memory_left", lambda: int(2_500 * 5 * 300 / 0.4) + 1)
    with pytest.raises(MethodError, match="began in one piece"):
        series(whole, METHODS[0]).publish(tmp_path / "t0.parquet")


@pytest.mark.usefixtures("small")
def test_what_is_wrong_leaves_nothing(tmp_path):
    """A person twice, a value too frequent in a region, a text among numbers along which parts were
    cut, a part that has grown beyond the memory.
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
    assert str(caught.value).endswith("(and to suppress rows takes the whole table in memory).")
    assert list((tmp_path / "out").iterdir()) == []
    published(tmp_path, METHODS[0], [first])
    dirty = first.with_columns(zip=pl.col("zip").cast(pl.String).replace("25", "Zq7"))
    with pytest.raises(SchemaError, match="column 'zip' is categorical in this table") as caught:
        published(tmp_path, METHODS[0], [dirty])
    assert "Zq7" not in str(caught.value)
    grown = pl.concat([first, people(60_000, 22, 40_000)])
    with pytest.raises(MethodError, match="a part of the series has"):
        published(tmp_path, METHODS[0], [grown])


@pytest.mark.usefixtures("small")
def test_who_is_linked_to_nothing_stays_in_their_part_all_the_same(tmp_path):
    """Those in whose groups no protected value stands, so that the method remembers nothing of them:
    their part does.
    """
    method = GlobalGuarantee(l=3, protect=["1"], expected_later=["1"])
    first, _, _ = tables()
    moved = first.with_columns(zip=9_975 - pl.col("zip"))
    made = published(tmp_path, method, [first, moved, first])
    with Ledger.open(url(tmp_path)) as ledger:
        others = [ledger.remembered("s", part)["others"] for part in ledger.parts("s")[1]]
    assert sum(each.height for each in others) > 1_000
    before, later = parts_of_persons(tmp_path, 1), parts_of_persons(tmp_path, 3)
    both = before.join(later, on="person", suffix="_later")
    assert both.height > 8_000
    assert both.filter(pl.col("part") != pl.col("part_later")).is_empty()
    assert verify([each.path for each in made], ledger=url(tmp_path)).holds


@pytest.mark.usefixtures("small")
def test_a_part_that_understates_exposures_is_caught(tmp_path, monkeypatch):
    """The broken twin of one part: what it carried is lost, and nothing is published; nor is it
    where a person is carried by two parts.
    """
    given = tables()
    published(tmp_path, GLOBAL[0], given[:1])
    publish = GlobalGuarantee.publish
    monkeypatch.setattr(
        GlobalGuarantee,
        "publish",
        lambda self, microdata, memory, rng: publish(
            self, microdata, replace(memory, state={}), rng
        ),
    )
    with pytest.raises(GuaranteeError, match="global-guarantee"):
        published(tmp_path, GLOBAL[0], given[1:2])
    monkeypatch.setattr(GlobalGuarantee, "publish", publish)
    monkeypatch.setattr(Belonging, "parts", lambda *_: np.full(len(given[1]), -1, np.int16))
    with pytest.raises(GuaranteeError, match="persons and parts"):
        published(tmp_path, GLOBAL[0], given[1:2])
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1"]


@pytest.mark.usefixtures("small")
def test_a_check_keeps_nothing(tmp_path):
    """Its figures are those of a release that could be made."""
    first, second, _ = tables()
    published(tmp_path, METHODS[0], [first])
    second.write_parquet(tmp_path / "t.parquet")
    preview = series(tmp_path, METHODS[0]).check(tmp_path / "t.parquet")
    assert preview.number == 2
    assert preview.rows - preview.counterfeits == second.height
    with Ledger.open(url(tmp_path)) as ledger:
        assert list(ledger.parts("s")) == [1]


@pytest.mark.usefixtures("small")
def test_a_part_without_persons_goes_on(tmp_path):
    """The young all leave, and return: their parts are remembered meanwhile."""
    first, _, _ = tables()
    old = first.filter(pl.col("age") > 45)
    made = published(tmp_path, METHODS[0], [first, old, first])
    parts = [len(each.manifest.parts) for each in made]
    assert parts[1] < parts[0] == parts[2]
    assert verify([each.path for each in made], ledger=url(tmp_path)).holds
    same = parts_of_persons(tmp_path, 1).join(parts_of_persons(tmp_path, 3), on=["person", "part"])
    assert same.height == ROWS


@pytest.mark.usefixtures("small")
def test_a_part_in_which_few_are_left_goes_on(tmp_path):
    """Seventy of thousands, each with another number: in a table by itself such a column would look
    like an identifier.
    """
    first = people(ROWS, 19).with_columns(zip=pl.int_range(pl.len()) // 4)
    old = first.filter(pl.col("age") > 45)
    young = first.filter(pl.col("age") <= 45).sample(fraction=0.07, seed=1)
    made = published(tmp_path, METHODS[0], [first, pl.concat([old, young])])
    assert min(part.rows for part in made[1].manifest.parts) < 150
    assert verify([each.path for each in made], ledger=url(tmp_path)).holds


def loss(table):
    """The mean width of the published intervals of numbers, of the whole range."""
    return sum(
        (table[f"{name}_high"] - table[f"{name}_low"]).mean() / reach
        for name, reach in (("age", 79), ("zip", 9_975))
    )


@pytest.mark.parametrize(
    ("method", "values", "most"),
    [(MInvariance(m=2), 4, 1.03), (GLOBAL[0], 15, 1.2)],
    ids=["m-invariance", "global guarantee"],
)
def test_no_more_is_lost_than_in_memory(tmp_path, monkeypatch, method, values, most):
    """Within 3 % of the same tables published whole, of a first release and of the next one, where
    a part has rows enough for as many regions as it would have of the whole table. Groups of the
    global guarantee are cut by halves, so that their size jumps with that of a part: a fifth.
    """
    rows, few = 30_000, (pl.col("ill").cast(pl.Int64) % values).cast(pl.String)
    first = people(rows, 19).with_columns(few)
    given = [first, pl.concat([first[6_000:], people(6_000, 20, rows).with_columns(few)])]
    local, parted = tmp_path / "a", tmp_path / "b"
    local.mkdir()
    parted.mkdir()
    whole = published(local, method, given, report=False)
    room = int(8_000 * 5 * method.bytes_per_value / 0.4) + 1
    monkeypatch.setattr(choosing, "memory_left", lambda: room)
    in_parts = published(parted, method, given)
    assert len(in_parts[0].manifest.parts) >= 4
    for mine, theirs in zip(in_parts, whole, strict=True):
        assert loss(mine.form.table) <= most * loss(theirs.form.table)


KILLED = """
import os, signal, sys
from pathlib import Path
from phalanx import MInvariance, Schema, Series
from phalanx.engines import choosing, lasting
choosing.memory_left = lambda: int(2_500 * 5 * 300 / 0.4) + 1
parts, read = [], lasting.read_part
def die_at_the_third(file):
    parts.append(1)
    return read(file) if len(parts) < 3 else os.kill(os.getpid(), signal.SIGKILL)
lasting.read_part = die_at_the_third
schema = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill")
here = Path(sys.argv[1])
Series("s", schema, MInvariance(m=3), to=here / "out").publish(here / "t1.parquet")
"""


@pytest.mark.usefixtures("small")
def test_a_kill_leaves_no_row_behind(tmp_path):
    """Killed at its third part, a publisher leaves parts of a release that the next one removes, and
    no other file; the ledger knows nothing of it.
    """
    given = tables()
    published(tmp_path, METHODS[0], given[:1])
    given[1].write_parquet(tmp_path / "t1.parquet")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -9
    (left,) = [path for path in (tmp_path / "out").iterdir() if path.name != "s-1"]
    assert {path.name.partition("-")[0] for path in left.iterdir()} <= {"data", "counterfeits"}
    (made,) = published(tmp_path, METHODS[0], given[1:2])
    assert made.number == 2
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1", "s-2"]
    assert verify([tmp_path / "out" / "s-1", made.path], ledger=url(tmp_path)).holds


@pytest.mark.usefixtures("small")
def test_rows_and_persons_lie_in_files_without_a_name(tmp_path, monkeypatch):
    """While they are there, no folder shows anything but parts of the release."""
    seen = set()
    read = lasting.read_part

    def look(file):
        assert file.seek(0, os.SEEK_END) > 1_000
        seen.update(path.name for path in (tmp_path / "out").rglob("*") if path.is_file())
        return read(file)

    monkeypatch.setattr(lasting, "read_part", look)
    (made,) = published(tmp_path, METHODS[0], tables()[:1])
    assert seen < {path.name for path in made.path.iterdir()}


@pytest.mark.usefixtures("small")
def test_the_ledger_is_looked_through_as_often_for_many_parts(tmp_path, monkeypatch):
    """Its entries name the tables of all parts, so that a look for each part would cost as much as
    the parts' number squared.
    """
    looks = []
    entries = Rows.entries
    monkeypatch.setattr(Rows, "entries", lambda rows, s: looks.append(s) or entries(rows, s))
    counted = {}
    for rows in (ROWS // 3, ROWS):
        place = tmp_path / str(rows)
        place.mkdir()
        given = [people(rows, 19), people(rows, 20, ROWS)]
        made = published(place, MInvariance(m=3), given, report=False)
        folders = [release.path for release in made]
        looks.clear()
        published(place, MInvariance(m=3), [people(rows, 21, 2 * ROWS)])
        assert verify(folders, ledger=url(place)).holds
        counted[len(made[0].manifest.parts)] = len(looks)
    few, many = sorted(counted)
    assert many > few + 2
    assert counted[many] == counted[few]


@pytest.mark.usefixtures("small")
def test_a_check_with_the_ledger_reads_part_by_part(tmp_path, monkeypatch):
    """No check reads more than one part of each release at a time."""
    made = published(tmp_path, METHODS[0], tables()[:2])
    monkeypatch.setattr(Release, "read", lambda *_: pytest.fail("a whole release was read"))
    assert verify([each.path for each in made], ledger=url(tmp_path)).holds
    assert verify([each.path for each in made]).holds
    assert [len(opened(each.path).manifest.parts) for each in made] == [
        len(each.manifest.parts) for each in made
    ]
