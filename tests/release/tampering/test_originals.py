# SPDX-License-Identifier: Apache-2.0
"""Beside the original table, nobody is passed over: everybody is in a group, with their value, or
counted as suppressed; and tight means tight.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from phalanx import GlobalGuarantee, Mondrian
from phalanx.release.folder import Release
from phalanx.release.form import Form
from support.tampering_cases import METHODS, issue, notes, people, refusal, stated, written

FORMS = ("generalized", "series", "bucketized", "sliced", "perturbed")
TABLES = [people(), pl.concat([people()[60:].filter(pl.col("ill") != "gout"), people(60, 2, 1000)])]


@pytest.fixture(scope="module")
def issued(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    return {
        name: issue(
            tmp_path_factory.mktemp(name), METHODS[name], TABLES if name == "series" else TABLES[:1]
        )
        for name in FORMS
    }


@pytest.fixture
def copies(issued: dict[str, list[Path]], tmp_path: Path) -> Callable[[str], list[Path]]:
    return lambda name: [Path(shutil.copytree(path, tmp_path / path.name)) for path in issued[name]]


def beside(folders: list[Path], *tables: pl.DataFrame) -> str:
    return refusal(folders, originals=tables or TABLES[: len(folders)], identifier="who")


def ends(**by: int) -> Callable[[Form], Form]:
    """Move all ends of a column, in every group alike."""
    return lambda form: replace(
        form, table=form.table.with_columns(pl.col(name) + more for name, more in by.items())
    )  # type: ignore[type-var,call-arg]


def as_wide_as_can_be(form: Form) -> Form:
    return replace(
        form,
        table=form.table.with_columns(
            age_low=pl.lit(0, dtype=pl.Int64), age_high=pl.lit(200, dtype=pl.Int64)
        ),
    )  # type: ignore[type-var,call-arg]


@pytest.mark.parametrize("with_ledger", [False, True], ids=["original", "original and ledger"])
@pytest.mark.parametrize("name", ["generalized", "series"])
@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            as_wide_as_can_be,
            (
                "group(s) have an interval with an end that is no person's value, and the manifest"
                " says that boxes are tight"
            ),
        ),
        (ends(age_high=1), "group(s) have an interval with an end that is no person's value"),
        (ends(age_low=1), ""),
        (ends(age_high=-1, age_low=-1), ""),
    ],
    ids=["0..200", "wider", "narrower", "moved"],
)
def test_boxes_that_are_not_tight(
    copies: Callable[[str], list[Path]],
    issued: dict[str, list[Path]],
    name: str,
    with_ledger: bool,
    change: Callable[[Form], Form],
    what: str,
) -> None:
    """A box that is wider or narrower than its persons is refused, by the original table alone and
    with the ledger; the one that was published holds.
    """
    ledger = {"ledger": f"sqlite:///{issued[name][0].parent}/s.db"} if with_ledger else {}
    folder, table = copies(name)[0], TABLES[0]
    assert refusal([folder], originals=[table], identifier="who", **ledger) == ""
    if change is not as_wide_as_can_be and what == "":
        table = table.with_columns(pl.col("age").cast(pl.Int64))
    written(folder, change)
    said = refusal([folder], originals=[table], identifier="who", **ledger)
    assert ("truth: " if with_ledger else "persons of the original: ") in said
    assert what in said


@pytest.mark.parametrize("name", FORMS)
def test_a_release_of_other_people(copies: Callable[[str], list[Path]], name: str) -> None:
    """The original of other people, of fewer and of more, fits no release, in any form."""
    folders = copies(name)[:1]
    assert beside(folders) == ""
    for table in (people(240, 9), TABLES[0][:200], pl.concat([TABLES[0], people(5, 3, 5000)])):
        assert beside(folders, table) != ""


@pytest.mark.parametrize("name", ["generalized", "bucketized", "sliced"])
def test_who_is_not_published_is_counted(copies: Callable[[str], list[Path]], name: str) -> None:
    """Persons beyond the rows are named by their number: refused where the manifest lets nobody be
    suppressed, and counted where it does.
    """
    folder = copies(name)[:1]
    more = pl.concat([TABLES[0], people(5, 3, 5000)])
    assert (
        "5 person(s) of the original table are not published, and the manifest says that none may"
        " be suppressed" in beside(folder, more)
    )
    stated(folder[0], may_suppress=["not-eligible"])
    assert beside(folder, more) == ""
    assert "245 person(s); 5 of them suppressed" in notes(
        folder, originals=[more], identifier="who"
    )
    stated(folder[0], may_suppress=["spent-budget"])
    assert "5 person(s) of the original table are not published" in beside(
        folder, more
    )  # that takes values, and no row
    stated(folder[0], may_suppress=["spent-budget", "no-group"])
    unlike = pl.concat(
        [TABLES[0][5:], people(10, 3, 5000).with_columns(age=pl.lit(99, dtype=pl.Int64))]
    )
    assert (
        "10 person(s) of the original table fit no group, and 5 can be suppressed by the number of"
        " rows" in beside(folder, unlike)
    )


def test_counterfeits_that_nobody_counts(copies: Callable[[str], list[Path]]) -> None:
    """Without its counterfeits a release shows more persons than there are, and rows that fit
    nobody.
    """
    folders = copies("series")
    assert Release.read(folders[1]).manifest.counterfeits > 0
    assert beside(folders) == ""
    written(folders[1], lambda form: replace(form, counterfeits=None))  # type: ignore[type-var,call-arg]
    assert (
        "person(s) more than the original table has, so that counterfeits are not counted or it is"
        " another table" in beside(folders)
    )


def test_a_foreign_second_release(copies: Callable[[str], list[Path]], tmp_path: Path) -> None:
    """A second release about other people, in a chain that fits, is refused beside the original of
    the one that was published.
    """
    folders = copies("series")
    other = issue(tmp_path / "other", METHODS["series"], [people(240, 9), people(230, 8, 2000)])
    shutil.rmtree(folders[1])
    shutil.copytree(other[1], folders[1])
    stated(folders[1], previous=Release.read(folders[0]).digest)
    assert beside(folders[:1]) == ""
    assert "release 2: persons of the original" in beside(folders)


@pytest.mark.parametrize("name", ["generalized", "bucketized", "sliced", "perturbed"])
def test_a_value_that_nobody_has(copies: Callable[[str], list[Path]], name: str) -> None:
    """A sensitive value changed in the files of any form fits nobody in the original table."""
    folder = copies(name)[0]
    assert beside([folder]) == ""

    def change(form: Form) -> Form:
        value = pl.col("ill").replace("flu", "plague")
        if form.kind == "bucketized":
            return replace(form, values=form.values.with_columns(value).sort("bucket", "ill"))  # type: ignore[type-var,call-arg]
        table = form.table.with_columns(value)
        return (
            replace(form, given=(table,)) if form.kind == "sliced" else replace(form, table=table)
        )  # type: ignore[type-var,call-arg]

    written(folder, change)
    assert beside([folder]) != ""


@pytest.mark.parametrize("method", [Mondrian(k=100), GlobalGuarantee(l=2, k=100)])
def test_a_value_that_stands_once_too_often(tmp_path: Path, method: Any) -> None:
    """In wide groups a row may be any of many persons', of whom some have any value; that all groups
    together show one value more often than there are persons with it is seen all the same.
    """
    (folder,) = issue(tmp_path, method, TABLES[:1], formats=("parquet",))
    assert beside([folder]) == ""
    written(
        folder,
        lambda form: replace(
            form,
            table=form.table.with_columns(
                ill=pl.when(pl.int_range(pl.len()) == pl.col("ill").index_of("flu"))
                .then(pl.lit("gout"))
                .otherwise("ill")
            ),
        ),
    )  # type: ignore[type-var,call-arg]
    assert "1 published value(s) of 'ill' are of no person in the original table" in beside(
        [folder]
    )


def test_without_an_original_it_is_said(copies: Callable[[str], list[Path]]) -> None:
    """From the original alone, who is in which group is said not to be checked; a release that
    contradicts itself is not asked.
    """
    folder = copies("generalized")[0]
    assert "not checked: who is in which group, which the ledger tells" in notes(
        [folder], originals=TABLES[:1], identifier="who"
    )
    written(
        folder,
        lambda form: replace(form, table=form.table.with_columns(age_low=pl.col("age_high") + 1)),
    )  # type: ignore[type-var,call-arg]
    assert "persons of the original: not checked, since the release contradicts itself" in beside(
        [folder]
    )
