# SPDX-License-Identifier: Apache-2.0
"""Sliders: what figures would cost, at once, on what was chosen, and how one of them is taken."""

import threading
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from phalanx.errors import PlanError
from phalanx.exploration import Asked, Estimate, Estimator, offers
from phalanx.exploration.grid import Section
from phalanx.studio.pages.sliders import steps
from phalanx.studio.soon import Soon
from support.studio_cases import opened, people, write

ON = {"ground": "other", "source": "other.csv"}


@pytest.mark.parametrize(
    "asked", [a for o in offers().values() for a in o.asked if a.begins], ids=lambda a: a.label
)
def test_a_slider_stands_where_a_figure_begins(asked: Asked) -> None:
    """Every figure that begins somewhere can stand there, and at others, each once and in order."""
    offered = steps(asked, asked.begins)
    assert asked.begins in offered
    assert len(offered) == len(set(offered)) > 1
    assert steps(asked, asked.begins) == offered


def test_a_figure_of_the_plan_is_a_step() -> None:
    """A figure between the usual ones stands in its place; none stands before all others."""
    assert steps(Asked("k", "k", "5"), "23")[19:21] == ["23", "25"]
    assert steps(Asked("l", "l", "", whole=False), "")[:3] == ["", "2", "3"]
    assert steps(Asked("delta", "delta", "1e-6", whole=False), "1e-6")[0] == "1e-08"
    assert steps(Asked("rows", "rows", ""), "") == steps(Asked("rows", "rows", ""), "900") == []


@pytest.mark.parametrize("begins", ["x", "1/0", "[5]", "nan", "<b>"])
def test_what_is_no_figure_is_a_step_of_its_own(begins: str) -> None:
    """Whatever the plan says stands on its slider, first, and is refused below it and not here."""
    assert steps(Asked("k", "k", "5"), begins)[:2] == [begins, "2"]


def test_sliders_estimate_and_change_nothing(tmp_path: Path) -> None:
    """Another table is chosen; figures that are moved change the estimate, and not the plan."""
    write(people(300), tmp_path / "other.csv")
    with opened(tmp_path) as (studio, browser):
        plan = studio.place.plan_text()
        blank = browser.get("/explore.json").json()["sliders"]
        assert "no table is named" in blank["wrong"]
        assert studio.send(browser, "/explore/ground", **ON).status_code == 303
        found = {}
        for step in (0, 18):
            address = f"/explore/estimate.json?method=mondrian&step.k={step}"
            sliders = browser.get(address).json()["sliders"]
            k = sliders["figures"][0]["value"]
            found[int(k)] = sliders["estimate"]["loss"]
            assert f"at least {k}" in sliders["estimate"]["promised"][0]
            assert "on other.csv, and not on the table" in sliders["why"]
            assert sliders["of_plan"]["promised"]
        assert found[2] < found[20]
        assert studio.place.plan_text() == plan


def test_no_address_holds_the_table_that_is_tried_on(tmp_path: Path) -> None:
    """A path goes in a form, and never into an address (33)."""
    with opened(tmp_path) as (studio, browser):
        write(people(300), tmp_path / "other.csv")
        answer = studio.send(browser, "/explore/ground", **ON)
        assert answer.headers["location"] == "/explore"
        page = browser.get("/explore").text
        assert str(tmp_path) not in page


def test_a_slider_that_stands_nowhere_is_moved_to_an_end(tmp_path: Path) -> None:
    """And what is no number is refused in one sentence."""
    with opened(tmp_path) as (studio, browser):
        assert studio.send(browser, "/explore/ground", ground="table").status_code == 303
        far = browser.get("/explore.json?method=mondrian&step.k=9999").json()["sliders"]
        assert far["figures"][0]["value"] == "100"
        assert browser.get("/explore.json?method=mondrian&step.k=x").status_code == 400


@pytest.mark.parametrize("form", [{}, {"ground": "moon"}, {"ground": "other"},
                                  {"ground": "other", "source": "nowhere.csv"}])  # fmt: skip
def test_what_cannot_be_tried_on_is_refused(tmp_path: Path, form: dict[str, str]) -> None:
    """One sentence, and the choice before stays."""
    with opened(tmp_path) as (studio, browser):
        assert studio.send(browser, "/explore/ground", **form).status_code == 400
        assert studio.place.ground == ("other", None)


def test_the_last_release_is_tried_on_where_there_is_one(tmp_path: Path) -> None:
    """What is out already serves without being asked for, and says so."""
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        sliders = browser.get("/explore.json").json()["sliders"]
        assert sliders["ground"] == "released"
        assert "which is out already" in sliders["why"]
        assert sliders["estimate"]["refused"] == ""


def test_what_takes_long_is_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slider answers without its estimate where that takes longer than a moment, and with it when
    it is asked again.
    """
    goes_on = threading.Event()
    estimate = Estimator.estimate

    def slowly(self: Estimator, section: Section) -> Estimate:
        assert goes_on.wait(60)
        return estimate(self, section)

    monkeypatch.setattr(Estimator, "estimate", slowly)
    write(people(300), tmp_path / "other.csv")
    with opened(tmp_path) as (studio, browser):
        studio.send(browser, "/explore/ground", **ON)
        studio.place.patience = 0.01
        address = "/explore/estimate?method=mondrian&step.k=3"
        answer = browser.get(address)
        assert "under way" in answer.text
        assert 'hx-get="/explore/estimate"' in answer.text
        assert browser.get("/explore").status_code == 200
        goes_on.set()
        studio.place.patience = 60
        assert "at least 5" in browser.get(address).text


def test_of_what_comes_meanwhile_the_last_is_next() -> None:
    """One question at a time; those that a slider has left are never computed, a fault is raised
    where it was asked for, and asked again.
    """
    soon, goes_on, computed = Soon(), threading.Event(), []

    def make(name: str) -> str:
        assert goes_on.wait(60)
        computed.append(name)
        if name == "wrong" and computed.count(name) == 1:
            raise PlanError("wrong")
        return name

    for name in ("first", "left", "wrong"):
        assert soon.get(name, partial(make, name), 0.2 if name == "first" else 0) is None
    goes_on.set()
    with pytest.raises(PlanError):
        soon.get("wrong", partial(make, "wrong"), 60)
    assert computed == ["first", "wrong"]
    assert soon.get("wrong", partial(make, "wrong"), 60) == "wrong"
    assert soon.get("first", partial(make, "first"), 0) == "first"
    assert computed == ["first", "wrong", "wrong"]


def test_roles_may_change_after_a_release(tmp_path: Path) -> None:
    """Whatever a column becomes, sliders estimate on the last release, or say why they cannot."""
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        before = studio.place.plan_text()
        for column, role in (
            ("1", "identifier"),
            ("3", "quasi"),
            ("4", "quasi"),
            ("2", "sensitive"),
        ):
            form = {"stamp": studio.place.stamp(), "column": column, "role": role}
            assert studio.send(browser, "/data/role", **form).status_code == 303
            sliders = browser.get("/explore.json").json()["sliders"]
            assert sliders["estimate"] or sliders["wrong"], role
            studio.place.plan_path.write_text(before)


def test_another_table_is_another_estimate(tmp_path: Path) -> None:
    """A file that is another one by now is read again."""
    write(people(300), tmp_path / "other.csv")
    with opened(tmp_path) as (studio, browser):
        studio.send(browser, "/explore/ground", **ON)
        address = "/explore/estimate.json?method=mondrian"
        first = browser.get(address).json()["sliders"]["estimate"]
        write(people(200).with_columns(pl.col("age") * 3), tmp_path / "other.csv")
        second = browser.get(address).json()["sliders"]["estimate"]
        assert (first["of"], second["of"]) == (300, 200)


def test_what_sliders_found_becomes_the_plan(tmp_path: Path) -> None:
    """The form under the sliders writes its figures, which the page Promise reads."""
    with opened(tmp_path) as (studio, browser):
        form = {"stamp": studio.place.stamp(), "method": "mondrian", "k": "9", "l": ""}
        assert studio.send(browser, "/promise", **form).status_code == 303
        figures = browser.get("/explore.json").json()["sliders"]["figures"]
        assert [(f["key"], f["value"]) for f in figures] == [("k", "9"), ("l", "")]
