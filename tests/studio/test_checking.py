# SPDX-License-Identifier: Apache-2.0
"""What somebody else published is checked and nothing is made of it; what goes out has a page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import phalanx as px
from phalanx.studio.place import Place
from support.studio_cases import PLAN, Studio, opened, people, studio_on, write


def theirs(to: Path) -> Path:
    """A table of three groups of four rows, of which the last has one diagnosis alone."""
    frame = pl.DataFrame(
        {
            "age": ["20-29"] * 4 + ["30-39"] * 4 + ["40-49"] * 4,
            "<b>zip</b>": ["1*"] * 12,
            "ill": ["flu", "gout", "rash", "cold", "flu", "flu", "gout", "rash", *["flu"] * 4],
        }
    )
    return write(frame, to / "theirs.csv")


def checked(folder: Path, form: Mapping[str, str]) -> Mapping[str, Any]:
    """What a check of that table finds, in a studio without a plan."""
    theirs(folder)
    with opened(folder, plan=None) as (studio, browser):
        assert studio.send(browser, "/verify/bring", source="theirs.csv").status_code == 303
        done = studio.finish(studio.send(browser, "/verify", **form))
        page = browser.get(f"/work/{done['number']}").text
        assert done["result"] is None or done["result"]["checks"][0]["name"] in page
        assert not (folder / "plan.toml").exists()
        return done


def test_a_table_of_somebody_else_is_checked(tmp_path: Path) -> None:
    """What was asked for, and what the table has besides."""
    form = {"quasi.0": "yes", "quasi.1": "yes", "sensitive": "2", "k": "4", "l": "2"}
    done = checked(tmp_path, form)
    assert done["state"] == "done", done
    found = {c["name"]: c for c in done["result"]["checks"]}
    assert done["result"]["holds"] is False
    assert str(found["k"]["worst"]) == "4"
    assert not all(c["holds"] for n, c in found.items() if "l" in n)


def test_without_bounds_it_is_said_what_a_table_has(tmp_path: Path) -> None:
    """Nothing was asked of it, and so nothing holds or fails."""
    done = checked(tmp_path, {"quasi.0": "yes"})
    assert done["result"]["asked"] is False
    assert {"k": "4"}.items() <= {
        c["name"]: str(c["worst"]) for c in done["result"]["checks"]
    }.items()


def test_columns_of_somebody_else_stay_text(tmp_path: Path) -> None:
    """Their names are shown, and are no markup (34)."""
    theirs(tmp_path)
    with opened(tmp_path) as (studio, browser):
        studio.send(browser, "/verify/bring", source="theirs.csv")
        page = browser.get("/verify").text
        assert "&lt;b&gt;zip" in page
        assert "<b>zip" not in page


@pytest.mark.parametrize("form", [{}, {"quasi.9": "yes"}, {"quasi.0": "yes", "k": "0"}])
def test_what_cannot_be_asked_is_said(tmp_path: Path, form: dict[str, str]) -> None:
    """One sentence, and no result."""
    done = checked(tmp_path, form)
    assert done["state"] == "failed"
    assert done["error"].count(". ") <= 1


@pytest.mark.parametrize("source", ["", "nowhere.csv", "sqlite:///x.db", "\0"])
def test_what_is_no_table_is_refused(tmp_path: Path, source: str) -> None:
    """And nothing is checked then."""
    with opened(tmp_path) as (studio, browser):
        assert studio.send(browser, "/verify/bring", source=source).status_code == 400
        assert studio.send(browser, "/verify").status_code == 400


def test_a_release_folder_of_somebody_else_is_checked(tmp_path: Path) -> None:
    """From its files alone, in a studio that knows neither its plan nor its ledger; one that was
    changed fails.
    """
    studio_on(tmp_path).place.plan().publish()
    folder = tmp_path / "releases" / "ward-1"
    other = Studio(Place(tmp_path / "elsewhere" / "plan.toml"))
    browser = other.inside()
    assert other.send(browser, "/verify/bring", source=str(folder)).status_code == 303
    assert "A release folder" in browser.get("/verify").text
    done = other.finish(other.send(browser, "/verify"))
    assert done["result"]["holds"] is True
    table = folder / "data.csv"
    table.write_text(table.read_text().replace("flu", "gout"))
    done = other.finish(other.send(browser, "/verify"))
    assert done["state"] == "failed" or done["result"]["holds"] is False


def test_the_page_for_those_who_receive_a_release(tmp_path: Path) -> None:
    """It is written beside the other report, names no value that was not released, and is shown
    under a policy that lets nothing run.
    """
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        here = "/release/ward/1"
        assert browser.get(f"{here}/report/external").status_code == 400
        assert "Write it</button>" in browser.get(f"{here}/handover").text
        done = studio.finish(studio.send(browser, f"{here}/report"))
        assert done["state"] == "done", done
        page = browser.get(f"{here}/report/external")
        assert "sandbox" in page.headers["content-security-policy"]
        written = tmp_path / "releases" / "reports" / "ward-1.external.html"
        assert page.text == written.read_text(encoding="utf-8")
        release = px.Release.read(tmp_path / "releases" / "ward-1")
        outside = release.report(tmp_path / "outside.html", audience="external")
        assert page.text == outside.read_text(encoding="utf-8")
        assert "Open the page to hand out" in browser.get(f"{here}/handover").text


def test_a_weighted_release_has_a_page(tmp_path: Path) -> None:
    """A survey's weight has no interval to fill evenly; it is on the page as it was released, and a
    click on another role takes it away from the plan.
    """
    frame = people(400).with_columns(weight=pl.int_range(400) % 7 + 1)
    plan = PLAN.replace('drop = ["note"]', 'drop = ["note"]\nweight = "weight"')
    plan = plan.replace('name = "m-invariance"\nm = 3  # enough', 'name = "mondrian"\nk = 5')
    with opened(tmp_path, plan=plan, frame=frame) as (studio, browser):
        studio.place.plan().publish()
        done = studio.finish(studio.send(browser, "/release/ward/1/report"))
        assert done["state"] == "done", done
        assert browser.get("/release/ward/1/report/external").status_code == 200
        form = {"stamp": studio.place.stamp(), "column": "5", "role": "drop"}
        assert studio.send(browser, "/data/role", **form).status_code == 303
        assert studio.place.plan().schema().weight is None
        assert "weight" in studio.place.plan().schema().drop
