# SPDX-License-Identifier: Apache-2.0
"""Exploring a plan: every point once, beside the others, on the right table, and again for nothing."""

import datetime as dt
import json
import os
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest

import phalanx as px
from exploration.scene import PLAN, people, plan
from phalanx.errors import PlanError
from phalanx.exploration import exploring, running
from phalanx.exploration.grid import marked
from phalanx.exploration.points import Point, Risk
from phalanx.report.multiples import frontier

GRID = ["mondrian k=4,10", "anatomy l=2,9"]


@pytest.fixture(scope="module")
def scene(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, px.Exploration, list[tuple[int, int]]]:
    """A folder that was explored once, and what the bar was told."""
    to = tmp_path_factory.mktemp("explored")
    plan(to)
    told: list[tuple[str, int, int]] = []
    found = px.explore(
        to / "plan.toml",
        GRID,
        surrogate=to / "last.parquet",
        workers=2,
        progress=lambda *n: told.append(n),
    )
    return to, found, told


def test_a_plan_with_dates_is_explored(tmp_path: Path) -> None:
    """Dates of a scheme come to the process that tries its point, and out as texts; one with a time,
    which no plan has, stays an error.
    """
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=i % 200) for i in range(400)]
    table = pl.DataFrame({"day": days, "ill": ["flu", "cold"] * 200})
    table.write_parquet(tmp_path / "people.parquet")
    (tmp_path / "plan.toml").write_text(
        'series = { name = "s" }\nsource = { path = "people.parquet" }\n'
        'schema = { quasi = ["day"], sensitive = "ill" }\npublish = { to = "out" }\n'
        '[method]\nname = "safe-sampling"\nk = 2\nbeta = 0.5\nepsilon = 4\nallow_empty = true\n'
        "[method.scheme]\nday = { low = 2020-01-01, high = 2020-07-19, width = 50 }\n"
    )
    found = px.explore(
        tmp_path / "plan.toml", ["mondrian k=3"], surrogate=table.sample(300), workers=1
    )
    assert [point.refused for point in found.points] == ["", ""]
    method = json.loads(json.dumps(found.to_json()))["points"][0]["method"]
    assert method["scheme"]["day"]["low"] == "2020-01-01"
    with pytest.raises(TypeError):
        marked(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))


def test_every_point_has_its_figures_and_none_is_made_of_two(scene) -> None:
    """In the order of the grid; the one that cannot be published says why, in one sentence."""
    _, found, told = scene
    assert [p.label for p in found.points] == [
        "mondrian k=4 l=2",
        "mondrian k=10 l=2",
        "anatomy l=2",
        "anatomy l=9",
    ]
    assert [p.number for p in found.points] == [1, 2, 3, 4] and [
        bool(p.refused) for p in found.points
    ] == [False] * 3 + [True]
    assert told == [("points", done, 4) for done in range(5)] and found.resumed == 0
    keys = set(found.points[0].to_json())
    assert not {key for key in keys if "score" in key or "rank" in key}
    head, rows = found.table()
    assert head == [
        "",
        "method",
        "singling-out",
        "linkage",
        "posterior",
        "posterior-learning",
        "loss",
        "error",
        "suppressed rows",
        "seconds",
    ]
    assert [row[0] for row in rows] == ["1", "2", "3", "", ""]
    assert (
        rows[3][1] == "without the release"
        and rows[3][3] == "0.8%"
        and rows[4][1].startswith("a plain sample")
    )
    assert rows[4][-3] == f"{found.sample_error:.1%}"
    assert "last.parquet, and not on the table" in found.why


def test_what_was_measured_is_not_measured_again(scene, monkeypatch) -> None:
    """Another run asks for what is missing alone; another table or schema asks for everything."""
    to, found, _ = scene
    asked = []
    real = running.answers

    def counted(tasks, workers):
        asked.extend(task["method"] for task in tasks)
        return real(tasks, workers)

    monkeypatch.setattr(exploring, "answers", counted)
    again = px.explore(to / "plan.toml", [*GRID, "anatomy l=3"], surrogate=to / "last.parquet")
    assert (
        asked == [{"name": "anatomy", "l": 3}]
        and again.resumed == 4
        and again.points[:4] == found.points
    )
    asked.clear()
    other = px.explore(to / "plan.toml", ["anatomy l=2"], surrogate=people(900))
    assert other.resumed == 0 and len(asked) == 2
    with (to / "clinic.explore" / "points.jsonl").open("a") as kept:
        kept.write('{"key": "cut of')  # as an interruption leaves it
    assert px.explore(to / "plan.toml", GRID, surrogate=to / "last.parquet").resumed == 4


@pytest.mark.parametrize("odd", [b"\xff\n", b"\0" * 99, b"[" * 30_000, b"{}\n7\n[]\nnull\n"])
def test_what_is_no_point_is_passed_over(scene, monkeypatch, odd) -> None:
    """Bytes that are no text, lines that are no JSON, and points that are bent are measured again."""
    to, _, _ = scene
    kept = to / "clinic.explore" / "points.jsonl"
    whole = kept.read_bytes()
    asked = []
    monkeypatch.setattr(exploring, "answers", lambda tasks, _: asked.extend(tasks) or ())
    try:
        kept.write_bytes(odd + whole)
        assert px.explore(to / "plan.toml", GRID, surrogate=to / "last.parquet").resumed >= 4
        kept.write_bytes(whole.replace(b'"risks": [', b'"risks": 7, "x": ['))
        with suppress(KeyError):  # as nobody measures here
            px.explore(to / "plan.toml", GRID, surrogate=to / "last.parquet")
        assert len(asked) == 4
    finally:
        kept.write_bytes(whole)


def test_the_folder_is_private(scene) -> None:
    """What stands in it says how private values are distributed."""
    to, found, _ = scene
    assert found.folder == to / "clinic.explore" and found.folder.stat().st_mode & 0o777 == 0o700
    assert (found.folder / "points.jsonl").stat().st_mode & 0o077 == 0


def test_a_point_is_adopted_as_a_new_plan_beside_the_old_one(scene, tmp_path) -> None:
    """It publishes; nothing is overwritten, written elsewhere, or adopted that was refused."""
    to, found, _ = scene
    path = found.adopt(3, to / "chosen.toml")
    assert px.Plan.read(path).method() == px.Anatomy(l=2)
    text = path.read_text()
    assert "# Point 3 of phalanx explore: anatomy l=2. This ran on last.parquet, and not on" in text
    for number, where, says in (
        (3, to / "chosen.toml", "exists"),
        (3, tmp_path / "chosen.toml", "in another folder"),
        (4, to / "other.toml", "cannot be published"),
        (9, to / "other.toml", "there are 1 to 4"),
        (0, to / "other.toml", "there are 1 to 4"),
    ):
        with pytest.raises(PlanError, match=says):
            found.adopt(number, where)
    assert not (to / "other.toml").exists()


def test_an_adopted_plan_leaves_the_spent_rows_out(tmp_path) -> None:
    """Nobody of the sample is in a release of it."""
    plan(tmp_path)
    found = px.explore(tmp_path / "plan.toml", ["mondrian k=3"], sample="1/3", workers=1)
    release = px.Plan.read(found.adopt(2, tmp_path / "chosen.toml")).publish()
    assert release.rows == 120 - found.points[0].rows


def test_the_picture_shows_the_points_and_both_references(scene) -> None:
    """A panel for each adversary with every point that it attacked, and the frontier."""
    _, found, _ = scene
    drawn = ET.fromstring(found.picture())  # noqa: S314 - our own text
    text = " ".join("".join(each.itertext()) for each in drawn.iter())
    for name in found.adversaries:
        shown = [p for p in found.points if p.risk(name) and p.risk(name).success is not None]
        assert (name in text) == bool(shown)
        front = frontier([(p.error, p.risk(name).success) for p in shown])
        assert found.frontier(name) == tuple(shown[i].number for i in front)
        assert all(f"{p.number} {p.label}: {p.risk(name).success:.1%}" in text for p in shown)
    assert exploring.SAMPLE in text and exploring.BASE in text


def test_a_process_that_dies_takes_its_point_alone(tmp_path, monkeypatch) -> None:
    """The others are measured, the point says what happened, and the next run tries it again."""
    plan(tmp_path)
    real = running._asked

    def killed(process, task):
        if task["method"].get("l") == 3:
            os.kill(process.pid, signal.SIGKILL)
        return real(process, task)

    monkeypatch.setattr(running, "_asked", killed)
    found = px.explore(
        tmp_path / "plan.toml", ["anatomy l=3", "anatomy l=2"], surrogate=people(900), workers=1
    )
    assert [bool(p.refused) for p in found.points] == [False, True, False]
    assert "the memory may not suffice" in found.points[1].refused
    monkeypatch.undo()
    again = px.explore(
        tmp_path / "plan.toml", ["anatomy l=3", "anatomy l=2"], surrogate=people(900), workers=1
    )
    assert again.resumed == 2 and not again.points[1].refused


def test_no_process_takes_code_from_the_working_folder(tmp_path, monkeypatch) -> None:
    """A release may have been unpacked there, with a file that is called like a module."""
    (tmp_path / "json.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    process = running._started()
    assert process.communicate("") == ("", None) and process.returncode == 0


def test_whoever_stops_ends_the_processes(tmp_path, monkeypatch) -> None:
    """An interruption leaves no process behind and no private folder, and what was done is kept."""
    plan(tmp_path)
    started = []
    real = running._started
    monkeypatch.setattr(running, "_started", lambda: started.append(real()) or started[-1])
    (tmp_path / "for a while").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "for a while"))
    monkeypatch.setattr(tempfile, "tempdir", None)

    def interrupted(_what, done, _of):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        px.explore(
            tmp_path / "plan.toml",
            ["anatomy l=2,3"],
            surrogate=people(900),
            workers=1,
            progress=interrupted,
        )
    assert started and all(process.poll() is not None for process in started)
    assert not [*(tmp_path / "for a while").iterdir()]
    monkeypatch.undo()
    assert (
        px.explore(
            tmp_path / "plan.toml", surrogate=people(900), grid=["anatomy l=2,3"], workers=1
        ).resumed
        == 1
    )


def test_a_folder_that_came_with_a_link_is_refused(tmp_path) -> None:
    """Before anything is measured, on rows that are spent or on another table."""
    plan(tmp_path)
    (tmp_path / "clinic.explore").mkdir()
    (tmp_path / "clinic.explore" / "points.jsonl").symlink_to(tmp_path / "elsewhere")
    for ground in ({"sample": "1/2"}, {"surrogate": people(900)}):
        with pytest.raises(PlanError, match="is a link or no file"):
            px.explore(tmp_path / "plan.toml", ["anatomy l=2"], **ground)
    assert not (tmp_path / "elsewhere").exists()
    assert len([*(tmp_path / "clinic.explore").iterdir()]) == 1


def test_a_plan_that_could_not_be_published_is_refused_at_once(tmp_path) -> None:
    """Before anything is run."""
    plan(tmp_path, PLAN.replace("k = 4", "kk = 4"))
    with pytest.raises(PlanError, match="unknown key 'kk'"):
        px.explore(tmp_path / "plan.toml", surrogate=people())


def test_nobody_is_drawn_who_found_nothing() -> None:
    """A point without a figure has no dot, and an empty picture is refused."""
    risk = Risk(
        adversary="linkage",
        question="linkability",
        sentence="-",
        success=None,
        interval=(0, 1),
        base_rate=None,
        persons=3,
    )
    point = Point(number=1, method={"name": "anatomy", "l": 2}, risks=(risk,), error=0.1)
    found = px.Exploration(
        plan=None, ran_on="-", why="-", points=(point,), resumed=0, folder=Path()
    )
    assert found.table()[1][0][2] == "none" and found.frontier("linkage") == ()
    with pytest.raises(PlanError, match="no picture"):
        found.picture()
