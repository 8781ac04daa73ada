# SPDX-License-Identifier: Apache-2.0
"""Columns, and counts beside them, that a middleman adds to a release and declares: what no promise
looks at is refused, or said not to be covered.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from phalanx import MInvariance, Mondrian, Release, verify
from phalanx.guarantees.consistency import check as consistency
from phalanx.release.form import Form
from phalanx.release.manifest import PublishedAttribute
from phalanx.release.part import Part
from support.tampering_cases import issue, notes, people, refusal, stated, written


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("issued")
    return issue(to, Mondrian(k=4, l=2), [people()])[0]


@pytest.fixture
def folder(issued: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(issued, tmp_path / issued.name))


def with_column(name: str, values: pl.Expr, **said: Any) -> Callable[[Form], Form]:
    """One more column, declared as the manifest says it."""
    attribute = PublishedAttribute(name=said.pop("called", name), columns=[name], **said)

    def change(form: Any) -> Form:
        table = form.table.with_columns(values.alias(name))
        return replace(form, table=table, attributes=(*form.attributes, attribute))

    return change


ROW = pl.int_range(pl.len()).shuffle(1)
PERSON = pl.format("person {}", ROW)
COLUMNS: dict[str, tuple[Callable[[Form], Form], str]] = {
    "a second sensitive attribute": (
        with_column("hiv", pl.lit("positive"), role="sensitive", type="categorical"),
        "there are several sensitive attributes",
    ),
    "an attribute of a name that is taken": (
        with_column("more", pl.lit("x"), role="keep", type="categorical", called="age"),
        "the manifest names the attribute 'age' more than once",
    ),
    "names as weights": (
        with_column("w", PERSON, role="weight", type="categorical"),
        "the weight 'w' holds no numbers",
    ),
    "days as weights": (
        with_column(
            "w", pl.date(2000, 1, 1) + pl.duration(days="group"), role="weight", type="date"
        ),
        "the weight 'w' holds no numbers",
    ),
    "kept names": (
        with_column("name", PERSON, role="keep", type="categorical"),
        "the kept column 'name' holds another value in each of 240 rows",
    ),
    "kept numbers of persons": (
        with_column("id", ROW, role="keep", type="numeric"),
        "the kept column 'id' holds another value in each of 240 rows",
    ),
}


@pytest.mark.parametrize(("change", "what"), COLUMNS.values(), ids=COLUMNS)
def test_a_column_that_is_declared_and_looked_at_by_no_promise(
    folder: Path, change: Callable[[Form], Form], what: str
) -> None:
    """A second sensitive attribute may hold one value for everybody, and a column of names tells
    each row: all digests, counts and promises fit, and the release is refused.
    """
    assert refusal([folder]) == ""
    written(folder, change)
    assert what in refusal([folder])


def test_kept_values_of_one_part_are_no_names(folder: Path) -> None:
    """In a part of a release values may all differ that come again in others."""
    written(folder, with_column("id", ROW, role="keep", type="numeric"))
    whole = Release.read(folder)
    part = Part(whole.manifest, whole.form, whole.path, tables=whole.form.tables())
    said = [consistency.check(release)[0].note for release in (whole, part)]
    assert ["the kept column 'id'" in note for note in said] == [True, False]


@pytest.mark.parametrize("rows", [49, 50])
def test_few_kept_values_are_no_names(tmp_path: Path, rows: int) -> None:
    """Below the number of rows from which a column is judged at the source, none is judged here."""
    path = issue(tmp_path, Mondrian(k=4), [people(rows)], formats=("parquet",))[0]
    written(path, with_column("id", ROW, role="keep", type="numeric"))
    assert bool(refusal([path])) == (rows == 50)


def test_a_kept_column_is_pointed_out(folder: Path) -> None:
    """Whatever it holds, it is said that no guarantee is about it, also where it repeats the
    sensitive value.
    """
    assert "kept" not in notes([folder])
    written(folder, with_column("as it is", pl.col("ill"), role="keep", type="categorical"))
    (found,) = [v for v in verify([folder]).checks if v.name.endswith("kept columns")]
    assert (found.result, found.holds) == ("not covered", True)
    assert "'as it is'" in found.note


@pytest.mark.parametrize("name", ["ill", "age_low"])
@pytest.mark.parametrize("sign", [1, -1])
def test_zeros_with_a_sign_mark_no_rows(folder: Path, name: str, sign: int) -> None:
    """Two zeros are equal in every check, and a reader of the file tells them apart, row by row; one
    zero for all is a value like any other.
    """
    zero = pl.when(pl.int_range(pl.len()).is_in([3, 40])).then(sign * 0.0).otherwise(0.0)
    form = Release.read(folder).form
    numeric = [
        a.model_copy(update={"type": "numeric"}) if a.name == "ill" else a for a in form.attributes
    ]
    changed = replace(form, table=form.table.with_columns(zero.alias(name)))
    kept = numeric if name == "ill" else form.attributes
    written(
        folder,
        lambda _: replace(changed, attributes=tuple(kept)),  # type: ignore[type-var,call-arg]
        guarantees=[{"name": "k-anonymity", "k": 4}],
        method={"name": "by hand"},
    )
    marked = f"column {name!r} holds -0.0" in refusal([folder])
    assert marked == (sign < 0)
    assert bool(refusal([folder])) == (sign < 0)


def test_one_zero_of_a_group_marks_no_row_of_it(folder: Path) -> None:
    """Ends may be computed, and are those of all rows of a group alike."""
    ends = pl.when(pl.col("group") % 2 == 0).then(-0.0).otherwise(0.0).alias("age_low")
    written(folder, lambda form: replace(form, table=form.table.with_columns(ends)))  # type: ignore[type-var,call-arg]
    assert "-0.0" not in refusal([folder])


@pytest.mark.parametrize("boxes", ["exact", "fixed"])
def test_intervals_that_are_said_to_tell_nothing(folder: Path, boxes: str) -> None:
    """Ends that are values of persons are tight or widened; whoever says that there are none, or that
    they follow no person, also keeps them from being compared with the original table.
    """
    stated(folder, boxes=boxes)
    assert f"the manifest says that boxes are {boxes}" in refusal([folder])


COUNTS: dict[str, Callable[[list[int]], dict[str, list[int]]]] = {
    "of groups": lambda ids: {"group": ids, "count": [-5] * (len(ids) - 1) + [5 * len(ids) - 5]},
    "of a group that is not there": lambda ids: {
        "group": [*ids, 9999],
        "count": [-5] * len(ids) + [5 * len(ids)],
    },
}


@pytest.mark.parametrize("counts", COUNTS.values(), ids=COUNTS)
def test_counterfeits_less_than_none_are_no_persons(
    folder: Path, counts: Callable[[list[int]], dict[str, list[int]]]
) -> None:
    """Negative counts of counterfeits would make every group larger than it is, and keep any k."""
    ids = Release.read(folder).form.table["group"].unique().sort().to_list()
    table = pl.DataFrame(counts(ids))
    more = {"name": "k-anonymity", "k": 9}
    written(
        folder,
        lambda form: replace(form, counterfeits=table),  # type: ignore[call-arg]
        guarantees=[more],
        method={"name": "mondrian", "k": 9},
    )
    assert "count(s) are not positive" in refusal([folder])


def test_honest_counterfeits_are_counts(tmp_path: Path) -> None:
    """A release that has some, and kept values in other groups, holds as it is."""
    tables = [people(60), people(60).filter(pl.col("ill") != "flu")]
    folders = issue(tmp_path, MInvariance(m=3), tables, formats=("parquet",))
    assert sum(Release.read(path).manifest.counterfeits for path in folders) > 0
    assert refusal(folders) == ""
