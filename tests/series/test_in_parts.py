# SPDX-License-Identifier: Apache-2.0
"""A table that is larger than the memory: published in parts, checked part by part, and nothing of
it left behind.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from itertools import cycle, pairwise, product

import numpy as np
import polars as pl
import pytest
from pyarrow.parquet import read_metadata

from phalanx import Anatomy, Mondrian, Plan, Release, Schema, Series, Slicing, verify
from phalanx.adversaries import Minimality
from phalanx.data.microdata import Microdata
from phalanx.data.sources.reading import bytes_needed
from phalanx.engines import choosing, out_of_core
from phalanx.errors import (
    GuaranteeError,
    MachineError,
    MethodError,
    PlanError,
    ReleaseError,
    SchemaError,
    SourceError,
)
from phalanx.guarantees.slicing.guarantee import SlicedDiversity
from phalanx.guarantees.verify import verify as verify_releases
from phalanx.randomness import Randomness
from phalanx.release import folder
from phalanx.release.folder import digest_of, opened
from phalanx.release.forms.generalized import Generalized
from phalanx.series import in_parts as parts_of_series

ROWS = 12_000
MARKER = "Zq7Marker"
SCHEMA = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill")
METHODS = [
    Mondrian(k=5),
    Mondrian(k=5, l=3),
    Mondrian(k=4, l=2, diversity="distinct"),
    Anatomy(l=3),
    Slicing(l=3, columns=[["age", "sex"], ["zip"], ["ill"]]),
    Slicing(l=3, columns=2, sensitive_column_size=1, compact=True),
    Slicing(l=2, columns=[["age", "sex"], ["zip"], ["ill"]], check="local", cuts="relaxed"),
]
NAMES = ["k", "frequency", "distinct", "anatomy", "named", "balanced", "relaxed"]


def people(rows=ROWS, seed=19):
    """Persons whose illness goes with their age a little."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 80, rows)
    return pl.DataFrame(
        {
            "who": rng.permutation(rows),
            "age": age,
            "sex": pl.Series(rng.choice(["f", "m"], rows)),
            "zip": rng.integers(0, 400, rows) * 25,
            "ill": pl.Series((age // 20 + rng.integers(0, 8, rows)) % 9).cast(pl.String),
        }
    )


@pytest.fixture
def small(monkeypatch):
    """So little memory that a part has 2,500 rows."""
    monkeypatch.setattr(choosing, "memory_left", lambda: int(2_500 * 5 * 170 / 0.4) + 1)


@pytest.fixture
def source(tmp_path):
    """The path of the table."""
    people().write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def series(tmp_path, method, **changes):
    schema = changes.pop("schema", SCHEMA)
    return Series("s", schema, method, to=tmp_path / "out", **{"report": False} | changes)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_a_release_in_parts_is_a_release(tmp_path, source, method):
    """Every person is published once, every check holds, at once and from the folder, part by part
    and whole; the ledger goes on, and nothing lies beside the folder.
    """
    made = series(tmp_path, method).publish(source)
    assert len(made.manifest.parts) > 3
    assert made.rows == ROWS
    assert made.page is None
    if_known = "stated" if method.holds_if_method_known else "not covered"
    assert {v.result for v in made.checks} == {"holds", if_known}
    assert [v.worst for v in made.checks if v.name == "truth"] == [0]
    assert "form" not in vars(made)
    assert verify(made.path, ledger=f"sqlite:///{tmp_path}/s.db").holds
    read = Release.read(made.path)
    assert read.form.rows == ROWS
    assert read.form.groups == made.groups
    assert read.manifest.guarantees == [g.parameters() for g in method.guarantees]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["s-1"]
    again = series(tmp_path, method).publish(source)
    assert again.number == 2
    assert verify([made.path, again.path], ledger=f"sqlite:///{tmp_path}/s.db").holds


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("method", [METHODS[0], METHODS[3]], ids=["regions", "chance"])
def test_how_far_it_is_is_told(tmp_path, source, method):
    """Of each reading of the table its rows, from none to all; then those of the parts that are
    published; a step that counts nothing says so.
    """
    steps = []
    series(tmp_path, method).publish(source, progress=lambda *step: steps.append(step))
    assert steps[0] == ("encode", 0, None)
    assert steps[-2:] == [("check", 0, None), ("record", 0, None)]
    read = [done for step, done, of in steps if step == "read" and of == ROWS]
    assert read.count(0) >= read.count(ROWS) == (2 if method is METHODS[0] else 1)
    group = [done for step, done, of in steps if step == "group" and of == ROWS]
    assert len(group) > 3 and group == sorted(group) and group[-1] == ROWS
    assert {step for step, *_ in steps} == {"encode", "read", "group", "check", "record"}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("method", METHODS, ids=NAMES)
def test_what_holds_of_the_parts_holds_of_the_whole(tmp_path, source, method):
    """The check of the whole table in memory, which knows of no parts, finds the same; and the
    original table is published row by row.
    """
    made = series(tmp_path, method).publish(source)
    whole = Release.read(made.path)
    for public in whole.manifest.guarantees:
        guarantee = next(g for g in method.guarantees if g.parameters() == public)
        (found,) = guarantee.check(whole)
        (merged,) = [v for v in made.checks if v.name.endswith(guarantee.name)]
        assert found.holds
        assert merged.worst == found.worst
    original = pl.read_parquet(source)
    values = whole.form.sensitive_counts()
    times = values.times if values.times is not None else pl.Series([1] * len(values.values))
    published = (
        pl.DataFrame({"v": values.values, "n": times.cast(pl.Int64)})
        .group_by("v")
        .agg(pl.col("n").sum())
    )
    assert dict(published.iter_rows()) == dict(original["ill"].value_counts().iter_rows())
    assert verify(made.path, originals=[source], identifier="who").holds


@pytest.mark.usefixtures("small")
def test_the_cuts_of_parts_are_not_replayed(tmp_path, source):
    """And the adversary who would says that, and not that it is another table."""
    made = series(tmp_path, Mondrian(k=5, l=2, cuts="strict")).publish(source)
    assert len(made.manifest.parts) > 3
    with pytest.raises(ReleaseError, match="was made in parts, whose first cuts are not replayed"):
        made.with_evidence(original=source).attack(Minimality())


def loss(table, frame):
    """The mean width of the published intervals of numbers, of the whole range."""
    return sum(
        (table[f"{name}_high"] - table[f"{name}_low"]).mean()
        / (frame[name].max() - frame[name].min())
        for name in ("age", "zip")
    )


@pytest.mark.parametrize("tail", [False, True], ids=["even", "long tail"])
@pytest.mark.parametrize("method", METHODS[:2], ids=NAMES[:2])
def test_no_more_is_lost_than_in_memory(tmp_path, monkeypatch, method, tail):
    """Within 3 % of the same table published whole, also where most values of an attribute are near
    each other, and some far away, as incomes are: on average over the draws of three seeds.
    """
    frame = people(30_000)
    if tail:
        income = np.round(np.random.default_rng(7).lognormal(8, 1.2, frame.height))
        frame = frame.with_columns(zip=pl.Series(income))
    frame.write_parquet(tmp_path / "t.parquet")
    room, left = int(8_000 * 5 * 170 / 0.4) + 1, choosing.memory_left
    lost = {False: 0.0, True: 0.0}
    for seed, in_parts in product(range(3), lost):
        monkeypatch.setattr(choosing, "memory_left", (lambda: room) if in_parts else left)
        to = tmp_path / f"{seed} {in_parts}"
        made = series(to, method, report=False, seed=seed).publish(tmp_path / "t.parquet")
        assert (len(made.manifest.parts) >= 4) == in_parts
        lost[in_parts] += loss(made.form.table, frame)
    assert lost[True] <= 1.03 * lost[False]


def buckets(table):
    """The mean width of zip within buckets, the mean bucket of a tuple, and how many buckets."""
    of = table.group_by("bucket").agg(pl.len().alias("n"), zip=pl.max("zip") - pl.min("zip"))
    rows = of["n"].sum()
    return (of["zip"] * of["n"]).sum() / rows, (of["n"] ** 2).sum() / rows, of.height


@pytest.mark.parametrize(
    ("method", "most", "seeds"),
    [
        (Slicing(l=3, columns=METHODS[4].columns), 1, 1),
        (Slicing(l=3, columns=2, sensitive_column_size=1), 1.03, 4),
    ],
    ids=["strict", "balanced"],
)
def test_no_more_is_lost_of_buckets_than_in_memory(tmp_path, monkeypatch, method, most, seeds):
    """Nothing where cuts are strict, as the regions are what such cuts begin with; where rows are
    dealt by chance 3 %, on average over the draws of four seeds.
    """
    people(30_000).write_parquet(tmp_path / "t.parquet")
    room, left = int(8_000 * 5 * method.bytes_per_value / 0.4) + 1, choosing.memory_left
    lost = {False: np.zeros(3), True: np.zeros(3)}
    for seed, in_parts in product(range(seeds), lost):
        monkeypatch.setattr(choosing, "memory_left", (lambda: room) if in_parts else left)
        to = tmp_path / f"{seed} {in_parts}"
        made = series(to, method, report=False, seed=seed).publish(tmp_path / "t.parquet")
        assert (len(made.manifest.parts) >= 4) == in_parts
        lost[in_parts] += buckets(made.form.table)
    ours, whole = lost[True], lost[False]
    assert ours[0] <= most * whole[0]
    assert ours[1] <= most * whole[1]
    assert whole[2] <= most * ours[2]


@pytest.mark.usefixtures("small")
def test_columns_are_chosen_once_for_all_parts(tmp_path, source, monkeypatch):
    """By rows drawn from the table, where some parts know of no correlation; the manifest says what the
    plan does. Were each part to choose by itself, and otherwise, nothing would be published.
    """
    old = pl.col("age") > 40
    frame = people().with_columns(zip=pl.when(old).then(pl.col("age") * 100).otherwise("zip"))
    frame.write_parquet(source)
    method = Slicing(l=2, columns=3, sensitive_column_size=1)
    made = series(tmp_path, method).publish(source)
    assert made.manifest.sliced.columns == [["age", "zip"], ["sex"], ["ill"]]
    assert made.manifest.method == method.parameters()
    assert made.manifest.holds_if_method_known
    assert (
        not series(tmp_path, replace(method, sensitive_column_size=None))
        .publish(source)
        .manifest.holds_if_method_known
    )
    monkeypatch.setattr(Slicing, "settles", False)
    chosen = cycle([(("age", "zip"), ("sex",), ("ill",)), (("age",), ("sex", "zip"), ("ill",))])
    monkeypatch.setattr(Slicing, "partition", lambda *_: next(chosen))
    with pytest.raises(GuaranteeError, match="do not have the same published columns"):
        series(tmp_path, method).publish(source)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["s-1", "s-2"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("role", ["quasi", "keep"])
def test_who_is_named_is_asked_of_the_whole_table(tmp_path, source, role):
    """A column of which hardly any value comes again in a part, and most in the table, names
    nobody; one of which hardly any does in the table is refused with the table's own numbers, and so
    are whole numbers that are stored with decimals, but measures are not.
    """
    names, method = {"quasi": ["age", "sex", "zip"], "keep": []}, Mondrian(k=5)
    names[role] = [*names[role], "house"]
    schema = Schema(identifier="who", sensitive="ill", **names)
    some = np.random.default_rng(5).integers(0, ROWS // 2, ROWS)
    all_differ = np.random.default_rng(5).permutation(ROWS).astype(np.float64)
    last = np.arange(ROWS) == ROWS - 1
    for many, houses, named in (
        ("some", some, False),
        ("stored with decimals", all_differ, True),
        ("measures", all_differ + last / 2, False),
        ("all", np.random.default_rng(5).integers(0, ROWS * 40, ROWS), True),
    ):
        table = people().with_columns(house=pl.Series(houses))
        table.write_parquet(source)
        to = tmp_path / f"{many}"
        if not named:
            made = Series("s", schema, method, to=to).publish(source)
            assert len(made.manifest.parts) > 3
            continue
        said = []
        for engine in (None, "local"):
            with pytest.raises(SchemaError, match="'house' looks like an identifier") as refusal:
                Series("s", schema, method, to=to, engine=engine).publish(source)
            said.append(str(refusal.value))
        assert said[0] == said[1]
        assert f"in {ROWS} rows" in said[0]


@pytest.mark.usefixtures("small")
def test_a_tuple_may_match_buckets_of_several_parts(tmp_path, source):
    """Where quasi-identifiers do not tell rows apart, chance deals them out, and each tuple matches
    buckets everywhere: what holds of each part holds of them all.
    """
    schema = Schema(identifier="who", quasi=["sex"], sensitive="ill", drop=["age", "zip"])
    made = series(tmp_path, Slicing(l=3, columns=2), schema=schema).publish(source)
    assert len(made.manifest.parts) > 3
    whole = Release.read(made.path)
    (found,) = SlicedDiversity(l=3).check(whole)
    (merged,) = [v for v in made.checks if v.name.endswith(SlicedDiversity.name)]
    assert found.holds
    assert found.worst <= merged.worst <= found.bound


@pytest.mark.usefixtures("small", "source")
def test_a_plan_chooses_the_engine(tmp_path):
    """By itself where the estimate says so; the plan may say it too; a check keeps nothing."""
    text = """
[series]
name = "s"
[source]
path = "t.parquet"
[schema]
identifier = "who"
quasi = ["age", "sex", "zip"]
sensitive = "ill"
[method]
name = "mondrian"
k = 5
[publish]
to = "out"
"""
    plan = Plan.parse(text, tmp_path / "plan.toml")
    preview = plan.check()
    assert preview.rows == ROWS
    assert not (tmp_path / "out").exists()
    made = plan.publish()
    assert len(made.manifest.parts) > 3
    assert made.rows == ROWS
    local = Plan.parse(text + 'engine = "local"\n', tmp_path / "plan.toml").publish()
    assert local.manifest.parts == []
    out = Plan.parse(text + 'engine = "out-of-core"\nmemory_limit = "1 TiB"\n', tmp_path / "p.toml")
    assert out.publish().manifest.parts
    for line, word in (
        ('engine = "spark-9"', "engine must be"),
        ("memory_limit = 4", "memory_limit"),
    ):
        with pytest.raises(PlanError, match=word):
            Plan.parse(text + line + "\n", tmp_path / "plan.toml").publish()


@pytest.mark.usefixtures("small")
def test_what_is_wrong_with_the_table_is_said_and_leaves_nothing(tmp_path, source):
    """A person twice, a missing value, a column without a role, values too frequent in a region, CSV
    as a format: one sentence, no release, no row left behind.
    """
    frame = pl.read_parquet(source)
    old = (pl.col("age") > 60).fill_null(value=False)
    wrong = {
        "repeat a person": frame.with_columns(who=pl.col("who") // 2),
        "is missing in 1": frame.with_columns(ill=pl.when(pl.int_range(pl.len()) == 9).then(None).otherwise("ill")),
        "have no role": frame.with_columns(more=pl.lit(MARKER)),
        "one of the parts": frame.with_columns(ill=pl.when(old).then(pl.lit(MARKER)).otherwise("ill")),
    }  # fmt: skip
    for word, table in wrong.items():
        table.write_parquet(source)
        with pytest.raises((SourceError, SchemaError, MethodError), match=word) as caught:
            series(tmp_path, Mondrian(k=5, l=3)).publish(source)
        assert MARKER not in str(caught.value)
        assert list((tmp_path / "out").iterdir()) == []
    with pytest.raises(PlanError, match="in parts is Parquet"):
        series(tmp_path, Mondrian(k=5), formats=["parquet", "csv"]).publish(source)


@pytest.mark.usefixtures("small")
def test_the_rows_lie_in_files_without_a_name(tmp_path, source, monkeypatch):
    """While they are there, no folder shows anything but parts of the release."""
    seen = set()
    read = out_of_core.read_part

    def look(file):
        assert file.seek(0, os.SEEK_END) > 1_000
        seen.update(path.name for path in (tmp_path / "out").rglob("*") if path.is_file())
        return read(file)

    monkeypatch.setattr(out_of_core, "read_part", look)
    made = series(tmp_path, Mondrian(k=5)).publish(source)
    assert seen < {path.name for path in made.path.iterdir()}


KILLED = """
import os, signal, sys
from pathlib import Path
from phalanx import Mondrian, Schema, Series
from phalanx.engines import choosing, out_of_core
choosing.memory_left = lambda: int(2_500 * 5 * 170 / 0.4) + 1
out_of_core.read_part = lambda path: os.kill(os.getpid(), signal.SIGKILL)
schema = Schema(identifier="who", quasi=["age", "sex", "zip"], sensitive="ill")
here = Path(sys.argv[1])
Series("s", schema, Mondrian(k=5), to=here / "out").publish(here / "t.parquet")
"""


@pytest.mark.usefixtures("source")
def test_a_kill_leaves_no_row_behind(tmp_path):
    """Once all rows were written down, the process is killed: no file is there, and the next publish
    removes the empty folder.
    """
    killed = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert killed.returncode == -9
    (left,) = (tmp_path / "out").iterdir()
    assert list(left.iterdir()) == []
    made = series(tmp_path, Mondrian(k=5), report=False).publish(people(500))
    assert made.number == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["s-1"]


@pytest.fixture
def released(tmp_path, source, small):  # noqa: ARG001 - so little memory
    """A release in parts, seeded, that may be changed."""
    return series(tmp_path, Mondrian(k=5, l=3), seed=1).publish(source).path


def change(folder, tables=None, **fields):
    """Change the tables of parts and fields of the manifest, and let all digests be right again."""
    for name, table in (tables or {}).items():
        table.write_parquet(
            folder / name, compression="zstd", compression_level=1, statistics=False
        )
    manifest = opened_raw(folder) | fields
    if not manifest.get("parts"):
        manifest.pop("parts", None)
    for file in manifest["files"]:
        file["sha256"] = digest_of(folder / file["name"])
    (folder / "release.json").write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def opened_raw(folder):
    return json.loads((folder / "release.json").read_text())


def failing(folder):
    return {v.name: v.note for v in verify(folder, allow_seeded=True).checks if not v.holds}


def test_an_honest_release_passes_before_it_is_changed(released):
    """What is changed below fails for no other reason."""
    assert failing(released) == {}
    change(released)
    assert failing(released) == {}


def test_a_group_that_straddles_parts_is_seen(released):
    """Half of a group is moved into the next part, counts and all: each half is too small, and each
    part says whose the group is.
    """
    parts = opened_raw(released)["parts"]
    one, two = (pl.read_parquet(released / f"data-0000{n}.parquet") for n in (1, 2))
    last = one.filter(pl.col("group") == parts[0]["groups"])
    moved = last[: last.height // 2]
    parts[0]["rows"] -= moved.height
    parts[1] = {"rows": parts[1]["rows"] + moved.height, "groups": parts[1]["groups"] + 1}
    kept = pl.concat([one.filter(pl.col("group") < parts[0]["groups"]), last[moved.height :]])
    change(
        released,
        {"data-00001.parquet": kept, "data-00002.parquet": pl.concat([moved, two])},
        parts=parts,
        groups=opened_raw(released)["groups"] + 1,
    )
    notes = failing(released)
    assert "a group stands in one part alone" in notes["release 1: consistency"]
    with pytest.raises(ReleaseError, match="groups and the files hold"):
        _ = Release.read(released).form  # which is read as it is asked for


def test_a_part_that_breaks_the_promise_fails_for_all(released):
    """The broken twin: one group of one part is too small, and the rest is sound."""
    name = "data-00003.parquet"
    table = pl.read_parquet(released / name)
    group = table["group"][-1]
    mine = pl.col("group") == group
    fewer = pl.concat([table.filter(~mine), table.filter(mine)[:2]])
    manifest = opened_raw(released)
    gone = table.height - fewer.height
    manifest["parts"][2]["rows"] -= gone
    change(released, {name: fewer}, parts=manifest["parts"], rows=manifest["rows"] - gone)
    notes = failing(released)
    assert "in part 3 of" in notes["release 1: k-anonymity"]
    worst = next(v for v in verify(released, allow_seeded=True).checks if "k-anon" in v.name)
    assert worst.worst == 2
    assert worst.worst_cases["group"][0] == group


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"parts": []}, "has the file data-00001 and no parts"),
        ({"parts": [{"rows": ROWS, "groups": 9}]}, "does not name the files of all of its parts"),
        ({"rows": ROWS + 1}, "the rows of its parts do not add up"),
        ({"groups": 1}, "the groups of its parts do not add up"),
    ],
    ids=["none", "one", "rows", "groups"],
)
def test_a_lie_about_parts_is_no_release(released, fields, words):
    """What the manifest says of its parts is compared with itself before anything is read."""
    change(released, **fields)
    with pytest.raises(ReleaseError, match=words):
        verify(released, allow_seeded=True)


def test_rows_moved_from_part_to_part_are_seen(released):
    """The rows of a part are those that the manifest says, whatever the sum is."""
    parts = opened_raw(released)["parts"]
    parts[0]["rows"], parts[1]["rows"] = parts[0]["rows"] + 1, parts[1]["rows"] - 1
    change(released, parts=parts)
    with pytest.raises(ReleaseError, match="rows and the files hold"):
        verify(released, allow_seeded=True)


def test_an_order_that_small_parts_would_hide_is_seen_over_all(tmp_path):
    """A release that is cut into parts so small that no order shows in one: over all of them the
    order of values within groups does, and so does an order of the parts.
    """
    made = series(tmp_path, Mondrian(k=5), seed=1, report=False).publish(people(2_000))
    table = Release.read(made.path).form.table
    groups = table["group"].n_unique()
    edges = np.linspace(0, groups, 101).astype(int)
    for order, words in (
        (["group", "ill"], "'ill', over all parts"),
        (None, "parts are numbered in the order of their"),
    ):
        shutil.rmtree(tmp_path / "cut", ignore_errors=True)
        shutil.copytree(made.path, tmp_path / "cut")
        (tmp_path / "cut" / "data.parquet").unlink()
        told = table
        if order is None:  # groups by age, as their numbers say then
            ages = table.group_by("group").agg(pl.col("age_low").min()).sort("age_low", "group")
            new = ages.with_columns(new=pl.int_range(1, groups + 1)).drop("age_low")
            told = (
                table.join(new, on="group")
                .with_columns(group="new")
                .drop("new")
                .sort("group", maintain_order=True)
            )
        else:
            told = table.sort(order)
        pieces = [told.filter(pl.col("group").is_between(a + 1, b)) for a, b in pairwise(edges)]
        names = [f"data-{n:05}.parquet" for n in range(1, len(pieces) + 1)]
        change(
            tmp_path / "cut",
            {},
            parts=[{"rows": p.height, "groups": p["group"].n_unique()} for p in pieces],
            files=[],
        )
        written = dict(zip(names, pieces, strict=True))
        for name, piece in written.items():
            piece.write_parquet(
                tmp_path / "cut" / name, compression="zstd", compression_level=1, statistics=False
            )
        manifest = opened_raw(tmp_path / "cut")
        previous = manifest.pop("previous")
        change_order = {k: v for k, v in manifest.items() if k not in ("parts", "files")}
        manifest = {
            **change_order,
            "files": [{"name": n, "sha256": digest_of(tmp_path / "cut" / n)} for n in names],
            "parts": manifest["parts"],
            "previous": previous,
        }
        (tmp_path / "cut" / "release.json").write_text(
            json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        )
        assert words in failing(tmp_path / "cut")["release 1: consistency"]


def test_a_promise_about_all_rows_is_checked_of_all_rows(released):
    """t-closeness is about the whole table: each part by itself would be close to itself, and the
    check reads all of them.
    """
    told = opened_raw(released)
    told["guarantees"].append({"name": "t-closeness", "t": "1/100", "distance": "equal"})
    change(released, guarantees=told["guarantees"])
    (verdict,) = [v for v in verify(released, allow_seeded=True).checks if "closeness" in v.name]
    (whole,) = [
        v
        for v in verify_releases([Release.read(released)], allow_seeded=True)
        if "closeness" in v.name
    ]
    assert not verdict.holds
    assert verdict.worst == whole.worst


@pytest.mark.usefixtures("small")
def test_a_method_that_breaks_its_promise_in_one_part_publishes_nothing(
    tmp_path, source, monkeypatch
):
    """The broken twin of publishing: one part in four has a group of one person."""
    publish = Mondrian.publish
    calls = []

    def broken(self, microdata, memory, rng):
        draft = publish(self, microdata, memory, rng)
        calls.append(1)
        if len(calls) != 3:
            return draft
        table, groups = draft.form.table, draft.groups.copy()
        last = int(table["group"].max())
        lonely = int(np.flatnonzero(groups == last)[0])
        groups[lonely] = last + 1
        rows = table["group"].to_numpy().copy()
        ill = microdata.sensitive.domain.values[int(microdata.sensitive.codes[lonely])]
        at = np.flatnonzero((rows == last) & (table["ill"] == ill).to_numpy())[0]
        rows[at] = last + 1
        moved = table.with_columns(group=pl.Series(rows)).sort("group", maintain_order=True)
        return replace(draft, form=Generalized(moved, draft.form.attributes), groups=groups)

    monkeypatch.setattr(Mondrian, "publish", broken)
    with pytest.raises(GuaranteeError, match="k-anonymity"):
        series(tmp_path, Mondrian(k=5)).publish(source)
    assert len(calls) == 3
    assert list((tmp_path / "out").iterdir()) == []


def test_a_release_in_parts_is_read_part_by_part(released, monkeypatch):
    """No check of groups reads more than a part at a time."""
    read = []
    original = pl.read_parquet
    monkeypatch.setattr(pl, "read_parquet", lambda *a, **k: read.append(1) or original(*a, **k))
    monkeypatch.setattr(Release, "read", lambda *_: pytest.fail("the whole release was read"))
    assert verify(released, allow_seeded=True).holds
    assert len(read) == len(opened(released).manifest.parts)


def test_what_needs_a_release_whole_is_refused_before_it_is_read(released, source, monkeypatch):
    """Where its tables would fit and what is worked out of them would not, and with what reads it
    part by part; that one still does, beside the original too.
    """
    needed = sum(bytes_needed(read_metadata(file)) for file in released.glob("data-*.parquet"))
    monkeypatch.setattr(folder, "memory_left", lambda: 2 * needed)
    monkeypatch.setattr(pl, "read_parquet", lambda *_, **__: pytest.fail("a table was read"))
    words = "of memory as a whole, .* 'measure' and 'verify' without persons read parts"
    with pytest.raises(MachineError, match=words):
        _ = Release.read(released).form
    monkeypatch.undo()
    monkeypatch.setattr(folder, "memory_left", lambda: 2 * needed)
    assert verify(released, allow_seeded=True).holds
    assert verify(released, originals=[source], allow_seeded=True).holds


@pytest.mark.parametrize(
    ("advice", "whole"),
    [
        ("use not_eligible = 'suppress'", "to suppress rows"),
        ("make it coarser with generalize_columns_k", "to generalize columns"),
    ],
)
def test_advice_that_no_part_can_follow_says_so(monkeypatch, advice, whole):
    """As the table would have to be in memory whole for it."""
    refused = MethodError(f"a value is too frequent; {advice}.")
    monkeypatch.setattr(parts_of_series, "drafted", lambda *_: (_ for _ in ()).throw(refused))
    microdata = Microdata.encode(people(10), SCHEMA)
    with pytest.raises(MethodError, match=rf"{advice} \(and {whole} takes the whole table in m"):
        parts_of_series.draft_of_part(Mondrian(k=2), microdata, Randomness.seeded(1))
