# SPDX-License-Identifier: Apache-2.0
"""Hierarchies on the page: dates by their parts, and what stands in a file is opened again."""

from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest

from phalanx.errors import PlanError
from phalanx.studio.pages.data import KINDS, parsed
from support.studio_cases import PLAN, opened, people, write

COLUMN = "/data/column/2"
TREES = {
    "sexes.csv": "f;person;*\nm;person;*\n",
    "sexes.toml": 'person = ["f", "m"]\n',
}


def with_hierarchy(declared: str) -> str:
    """The plan with a hierarchy for sex."""
    return PLAN.replace("[method]", f"[schema.hierarchies]\nsex = {declared}\n\n[method]")


@pytest.mark.parametrize("file", TREES)
def test_a_hierarchy_is_taken_from_a_file(tmp_path: Path, file: str) -> None:
    """Its classes are counted before it is written down; then the plan names the file."""
    (tmp_path / file).write_text(TREES[file])
    with opened(tmp_path) as (studio, browser):
        assert f'value="{file}"' in browser.get(f"{COLUMN}?kind=file").text or "toml" in file
        page = studio.send(browser, f"{COLUMN}/classes", kind="file", levels=file).text
        assert "It covers every value" in page
        assert file not in studio.place.plan_text()
        form = {"stamp": studio.place.stamp(), "kind": "file", "levels": file}
        assert studio.send(browser, COLUMN, **form).status_code == 303
        assert f'sex = {{tree = "{file}"}}' in studio.place.plan_text()
        assert browser.get(f"{COLUMN}.json").json()["opened"] == file
        for wrong in ("", "gone.csv", "people.csv"):
            page = studio.send(browser, f"{COLUMN}/classes", kind="file", levels=wrong).text
            assert "Not yet" in page, wrong


def test_a_tree_of_many_lines_is_counted(tmp_path: Path) -> None:
    """More lines than an address holds are counted and written."""
    codes = pl.Series([f"code {i} of a long list of codes" for i in range(3000)])
    frame = people(3000).with_columns(sex=codes)
    tree = "\r\n".join(f"{code};{code[:6]}…;*" for code in codes)
    with opened(tmp_path, frame=frame) as (studio, browser):
        page = studio.send(browser, f"{COLUMN}/classes", kind="tree", levels=tree).text
        assert "It covers every value" in page
        form = {"stamp": studio.place.stamp(), "kind": "tree", "levels": tree}
        assert studio.send(browser, COLUMN, **form).status_code == 303


@pytest.mark.parametrize("file", TREES)
def test_a_hierarchy_of_a_file_is_opened_again(tmp_path: Path, file: str) -> None:
    """Its paths stand on the page with their classes, and the plan is as it was until it is
    written; then the paths stand in the plan.
    """
    (tmp_path / file).write_text(TREES[file])
    with opened(tmp_path, plan=with_hierarchy(f'{{ tree = "{file}" }}')) as (studio, browser):
        found = browser.get(f"{COLUMN}.json").json()
        assert (found["opened"], found["kind"], found["wrong"]) == (file, "tree", "")
        assert found["text"].splitlines()[0].startswith("f;person;")
        assert found["levels"][0]["classes"] == 2
        assert f"<b>{file}</b>" in browser.get(COLUMN).text
        form = {"stamp": studio.place.stamp(), "kind": "tree", "levels": found["text"]}
        assert studio.send(browser, COLUMN, **form).status_code == 303
        assert file not in studio.place.plan_text()
        assert browser.get(f"{COLUMN}.json").json()["levels"] == found["levels"]


def test_a_file_that_is_gone_is_said(tmp_path: Path) -> None:
    """The page stays, so that another hierarchy can be written."""
    with opened(tmp_path, plan=with_hierarchy('{ tree = "gone.csv" }')) as (_, browser):
        answer = browser.get(COLUMN)
        assert answer.status_code == 200
        assert "gone.csv" in answer.text


def test_an_order_is_opened_as_an_order(tmp_path: Path) -> None:
    """In the words in which it was written."""
    with opened(tmp_path, plan=with_hierarchy('{ tree = { any = ["m", "f"] } }')) as (_, browser):
        found = browser.get(f"{COLUMN}.json").json()
        assert (found["kind"], found["text"], found["opened"]) == ("order", "m\nf", "")


def test_an_order_by_frequency_has_no_text_of_its_own(tmp_path: Path) -> None:
    """It is counted from the table, written into the plan as a word, and opened again as it was."""
    with opened(tmp_path) as (studio, browser):
        found = browser.get(f"{COLUMN}.json?kind=frequency").json()
        assert (found["declared"], found["wrong"]) == ({"order": "frequency"}, "")
        assert [level["classes"] for level in found["levels"]] == [2, 1]
        form = {"stamp": studio.place.stamp(), "kind": "frequency", "levels": ""}
        assert studio.send(browser, COLUMN, **form).status_code == 303
        again = browser.get(f"{COLUMN}.json").json()
        assert (again["kind"], again["text"]) == ("frequency", "")


def test_dates_are_left_in_parts(tmp_path: Path) -> None:
    """Months and years of days, written down and opened again in these words."""
    days = [date(2024, 1, 31) + timedelta(days=i) for i in range(240)]
    frame = people().with_columns(sex=pl.Series(days))
    with opened(tmp_path, frame=frame) as (studio, browser):
        found = browser.get(f"{COLUMN}.json?kind=dates&levels=month,+year").json()
        assert found["declared"] == {"prefix": [10, 7, 4, 0]}
        assert [level["classes"] for level in found["levels"]] == [240, 9, 1, 1]
        form = {"stamp": studio.place.stamp(), "kind": "dates", "levels": "month, year"}
        assert studio.send(browser, COLUMN, **form).status_code == 303
        again = browser.get(f"{COLUMN}.json").json()
        assert (again["kind"], again["text"]) == ("dates", "month, year")
        assert studio.place.plan().schema().hierarchies["sex"].parameters()


def test_a_refusal_names_the_column(tmp_path: Path) -> None:
    """Codes of several lengths cannot be masked, and it is said of which column."""
    with opened(tmp_path) as (_, browser):
        found = browser.get("/data/column/3.json?kind=prefix&levels=4,0").json()
        assert "column 'diagnosis'" in found["wrong"]


def test_what_is_no_day_has_no_parts(tmp_path: Path) -> None:
    """Codes that look otherwise are refused here."""
    with opened(tmp_path) as (_, browser):
        assert "not every value is a day" in browser.get(f"{COLUMN}?kind=dates").text
    with pytest.raises(PlanError, match="no part of a date"):
        parsed("dates", "fortnight")
    assert "dates" in KINDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", range(7))
def test_every_kind_is_tried_on_every_column(tmp_path: Path, column: int, kind: str) -> None:
    """Text, numbers, days, truths, and what is missing or no number: a click on any kind counts its
    classes or says why not, and what is written is a plan that can be read.
    """
    frame = people().with_columns(
        weight=pl.Series([float("nan"), 1.5, None] * 80),
        born=pl.Series([date(1990, 1, 1) + timedelta(days=i) for i in range(240)]),
    )
    write(frame, tmp_path / "people.parquet")
    plan = PLAN.replace("people.csv", "people.parquet").replace(
        '"sex"]', '"sex", "weight", "born"]'
    )
    with opened(tmp_path, plan=plan) as (studio, browser):
        page = browser.get(f"/data/column/{column}", params={"kind": kind})
        assert page.status_code == 200
        assert ("Not yet" in page.text) + ("Write it into" in page.text) + (kind == "none") == 1
        levels = browser.get(f"/data/column/{column}.json", params={"kind": kind}).json()["text"]
        form = {"stamp": studio.place.stamp(), "kind": kind, "levels": levels}
        answer = studio.send(browser, f"/data/column/{column}", **form)
        assert (answer.status_code == 400) == ("Not yet" in page.text)
        studio.place.plan().schema()


@pytest.mark.parametrize("kind", ["bend", "Bands", "<b>"])
def test_what_is_no_kind_is_refused(tmp_path: Path, kind: str) -> None:
    """In a sentence, however it is asked for."""
    with opened(tmp_path) as (studio, browser):
        for answer in (
            browser.get("/data/column/1", params={"kind": kind}),
            studio.send(browser, "/data/column/1/classes", kind=kind, levels="1"),
        ):
            assert answer.status_code == 400
            assert "is no kind of hierarchy" in answer.text


def test_a_file_that_no_folder_can_have(tmp_path: Path) -> None:
    """A name with a zero byte is refused in a sentence."""
    with opened(tmp_path) as (studio, browser):
        answer = studio.send(browser, f"{COLUMN}/classes", kind="file", levels="a\0.csv")
        assert answer.status_code == 200
        assert "there is no hierarchy file" in answer.text


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([timedelta(days=i % 3) for i in range(240)]),
        pl.Series([b"ab"] * 240),
        pl.Series([[1, 2]] * 240),
        pl.Series([["a"]] * 240),
    ],
    ids=["durations", "bytes", "lists", "sets"],
)
def test_a_column_without_levels_says_so(tmp_path: Path, values: pl.Series) -> None:
    """What is not published, or holds sets, has no hierarchy, whatever is tried."""
    write(people().with_columns(sex=values), tmp_path / "people.parquet")
    plan = PLAN.replace("people.csv", "people.parquet")
    with opened(tmp_path, plan=plan) as (studio, browser):
        for address in (COLUMN, f"{COLUMN}.json", f"{COLUMN}?kind=prefix"):
            assert browser.get(address).status_code == 400, address
        form = {"stamp": studio.place.stamp(), "kind": "prefix", "levels": "1, 0"}
        answer = studio.send(browser, COLUMN, **form)
        assert answer.status_code == 400 and "Column " in answer.text


@pytest.mark.parametrize("level", ["nan", "inf", "1e400", "-inf"])
def test_what_is_no_width_is_told_as_json_too(tmp_path: Path, level: str) -> None:
    """A number that JSON cannot hold is none."""
    with opened(tmp_path) as (_, browser):
        found = browser.get(f"/data/column/1.json?kind=bands&levels={level}")
        assert found.status_code == 200
        assert "is not a number" in found.json()["wrong"]
