# SPDX-License-Identifier: Apache-2.0
"""Boxes with a least width: a middleman who says that boxes are widened does not keep them from being
compared with the original, and none is narrower than it is said to be.
"""

import shutil
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from phalanx import MInvariance, Mondrian, Release, Schema, Series, verify
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.guarantees.consistency.widths import boxes_faults
from support.tampering_cases import issue, notes, people, refusal, stated, written

TOWNS = Tree.of_mapping({"left": list("abcd"), "middle": list("efgh"), "right": list("ijk")})
WIDTHS = {"age": 7, "part": 0.35, "day": 30, "town": 3}
SCHEMA = Schema(
    identifier="who",
    quasi=["age", "part", "day", "town"],
    sensitive="ill",
    hierarchies={"town": TOWNS},
    types={"part": "numeric"},
    missing="value",
)


def persons(n: int = 500, *, missing: bool = True) -> pl.DataFrame:
    """Numbers, decimals, days and words, of which some may be missing."""
    rng = np.random.default_rng(3)
    table = pl.DataFrame({
        "who": range(n),
        "age": rng.integers(0, 90, n),
        "part": np.round(rng.random(n) * 10, 2),
        "day": [date(2000, 1, 1) + timedelta(int(days)) for days in rng.integers(0, 400, n)],
        "town": rng.choice(list("abcdefghijk"), n),
        "ill": rng.choice(list("uvwxyz"), n),
    })  # fmt: skip
    holes = [pl.when(pl.int_range(n) % (7 + i) > 0).then(c).alias(c) for i, c in enumerate(SCHEMA.quasi)]  # fmt: skip
    return table.with_columns(holes) if missing else table


def published(to: Path, method: Any, table: pl.DataFrame) -> Path:
    """One release, with its ledger beside it."""
    series = Series("s", SCHEMA, method, to=to, ledger=f"sqlite:///{to}/s.db", report=False)
    return Path(series.publish(table).path)


METHODS = {
    "mondrian": lambda widths: Mondrian(k=4, min_width=widths),
    "m-invariance": lambda widths: MInvariance(m=3, min_width=widths),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_what_is_published_is_what_is_said(name: str, missing: bool, tmp_path: Path) -> None:
    """By the files, by the original alone, and by the ledger, which tells who is in which group."""
    table = persons(missing=missing)
    path = published(tmp_path / "out", METHODS[name](WIDTHS), table)
    ledger = f"sqlite:///{tmp_path / 'out'}/s.db"
    for evidence in ({}, {"originals": [table]}, {"originals": [table], "ledger": ledger}):
        who = {"identifier": "who"} if evidence else {}
        assert refusal([path], **evidence, **who) == ""


@pytest.mark.parametrize("ends", ["tight", "half"])
@pytest.mark.parametrize("attribute", WIDTHS)
def test_a_release_whose_boxes_were_not_widened(attribute: str, ends: str, tmp_path: Path) -> None:
    """The publisher's own check refuses it where the least width was forgotten: for all ends (narrow
    intervals), or for the high end alone.
    """
    table = persons(missing=False)
    path = published(tmp_path / "out", Mondrian(k=4, min_width=WIDTHS), table)
    other = {name: width for name, width in WIDTHS.items() if name != attribute}
    raw = Release.read(published(tmp_path / "raw", Mondrian(k=4, min_width=other), table)).form
    columns = [c for a in raw.attributes if a.name == attribute for c in a.columns[-2:]]
    if ends == "tight":
        shutil.rmtree(path)
        shutil.copytree(tmp_path / "raw" / "s-1", path)
        stated(path, method=lambda method: method | {"min_width": WIDTHS})
        assert f"of '{attribute}' are narrower than" in refusal([path])
        return
    form = Release.read(path).form
    high = form.table[columns[1]]
    moved = high.shift(1) if attribute != "town" else pl.Series(columns[1], ["k"] * len(high))
    table_of = form.table.with_columns(moved.fill_null(strategy="backward").alias(columns[1]))
    written(path, lambda form: replace(form, table=table_of))
    assert refusal([path], originals=[table], identifier="who") != ""


def test_boxes_that_are_said_to_be_widened_and_hold_anybody(tmp_path: Path) -> None:
    """Neither without a least width, nor with one: an end is a value, or on the grid beside one."""
    (path,) = issue(tmp_path, Mondrian(k=4, l=2), [people()])
    wide = {"age_low": pl.lit(0, pl.Int64), "age_high": pl.lit(210, pl.Int64)}
    written(path, lambda form: replace(form, table=form.table.with_columns(**wide)))
    original = {"originals": [people()], "identifier": "who"}
    stated(path, boxes="widened")
    assert "boxes are widened, and the method has no least width" in refusal([path])
    stated(path, method=lambda method: method | {"min_width": {"age": 7}})
    assert refusal([path]) == ""
    assert "an end that is no person's value" in refusal([path], **original)
    stated(path, boxes="tight")
    assert "boxes are tight, and the method has a least width" in refusal([path])


ENDS = {
    "days at the last": ([date(9999, 12, 21), date(9999, 12, 31)], 30),
    "days at the first": ([date(1, 1, 1), date(1, 1, 20)], 25),
    "more days than there are": ([date(2000, 1, 1), date(2000, 1, 9)], 10_000_000),
    "whole numbers at the last": ([2**63 - 9, 2**63 - 1], 30),
    "whole numbers at the first": ([-(2**63), 9 - 2**63], 1000),
    "more than whole numbers": ([3, 5], 1e30),
    "more than floats": ([3.5, 5.5], 1e308),
    "tenths": ([0.1, 0.30000000000000004], 0.1),
}


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", ENDS)
def test_where_there_is_no_line_of_the_grid(name: str, missing: bool, tmp_path: Path) -> None:
    """At the ends of what can be written, an honest release is none that is refused."""
    values, width = ENDS[name]
    quasi = pl.Series("q", [value for value in values for _ in range(4)])
    table = pl.DataFrame({"who": range(8), "q": quasi, "ill": list("abababab")})
    if missing:
        table = table.with_columns(pl.when(pl.col("who") % 4 > 0).then("q").alias("q"))
    kind = "date" if quasi.dtype == pl.Date else "numeric"
    schema = Schema(
        identifier="who", quasi=["q"], sensitive="ill", types={"q": kind}, missing="value"
    )
    for k in (2, 4):
        to = tmp_path / str(k)
        ledger = f"sqlite:///{to}/s.db"
        method = Mondrian(k=k, min_width={"q": width})
        path = Series("s", schema, method, to=to, ledger=ledger, report=False).publish(table).path
        for evidence in ({}, {"ledger": ledger}):
            assert refusal([path], originals=[table], identifier="who", **evidence) == ""


def test_an_original_may_hold_whole_numbers_as_others(tmp_path: Path) -> None:
    """As pandas does where one is missing."""
    table = persons().select("who", "age", "ill")
    schema = Schema(identifier="who", quasi=["age"], sensitive="ill", missing="value")
    ledger = f"sqlite:///{tmp_path}/s.db"
    method = Mondrian(k=4, min_width={"age": 1.7})
    path = Series("s", schema, method, to=tmp_path, ledger=ledger, report=False).publish(table).path
    for evidence in ({}, {"ledger": ledger}):
        given = {"originals": [table.to_pandas()], "identifier": "who"}
        assert refusal([path], **given, **evidence) == ""


def test_least_widths_of_another_package_are_its_own(tmp_path: Path) -> None:
    """What they mean it says itself, and that nothing was checked is said."""
    (path,) = issue(tmp_path, Mondrian(k=4, l=2), [people()])
    stated(path, boxes="widened", method={"name": "acme", "min_width": 5})
    assert refusal([path], originals=[people()], identifier="who") == ""
    assert "not checked: how a method of another package widened intervals" in notes([path])


@pytest.mark.parametrize("widths", [{"age": 0}, {"age": "7"}, {"ill": 3}, {"nothing": 1}, ["age"], {"age": True}])  # fmt: skip
def test_widths_that_are_none(widths: Any, tmp_path: Path) -> None:
    """A least width is a number above 0 of a quasi-identifier; else nothing would be compared."""
    (path,) = issue(tmp_path, Mondrian(k=4, l=2), [people()])
    stated(path, boxes="widened", method=lambda method: method | {"min_width": widths})
    assert "least widths of the manifest are no numbers above 0" in refusal([path])
    release = Release.read(path)
    assert list(boxes_faults(release.manifest, release.form))


def test_who_is_in_which_group_shows_every_end(tmp_path: Path) -> None:
    """An end that was left where a person is, on the grid as another one would be, is noticed where
    the ledger tells the persons of each group: an interval of 19 to 21 is widened to 10 to 30.
    """
    table = pl.DataFrame({"who": range(8), "age": [19, 20, 21, 21, 40, 41, 58, 59], "ill": list("abababab")})  # fmt: skip
    schema = Schema(identifier="who", quasi=["age"], sensitive="ill")
    ledger = f"sqlite:///{tmp_path}/s.db"
    method = Mondrian(k=4, min_width={"age": 10})
    Series("s", schema, method, to=tmp_path, ledger=ledger, report=False).publish(table)
    path = tmp_path / "s-1"
    ends = Release.read(path).form.table.select("age_low", "age_high").unique().sort("age_low")
    assert ends.rows() == [(10, 30), (40, 59)]
    known = {"originals": [table], "identifier": "who", "ledger": ledger}
    assert verify(path, **known).holds
    high = pl.when(pl.col("age_high") == 30).then(21).otherwise("age_high").alias("age_high")
    written(path, lambda form: replace(form, table=form.table.with_columns(high)))
    assert refusal([path]) == ""  # 10 to 21 is wide enough
    assert "1 group(s) have an interval with an end" in refusal([path], **known)
