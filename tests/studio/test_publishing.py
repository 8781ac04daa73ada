# SPDX-License-Identifier: Apache-2.0
"""Publishing from the page: once, whole or not at all, and never another release than was seen."""

import datetime as dt
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import polars as pl
import pytest

import phalanx as px
from phalanx.errors import PhalanxError
from phalanx.studio import jobs, planfile
from phalanx.studio.pages import explore
from phalanx.studio.work import publish
from support.studio_cases import opened, people, studio_on, write


def published(folder: Path) -> list[str]:
    """The releases that are there."""
    return sorted(p.name for p in folder.glob("releases/ward-*") if p.is_dir())


HOLDS = """
import sqlite3, sys
ledger = sqlite3.connect(sys.argv[1], isolation_level=None)
ledger.execute("BEGIN IMMEDIATE")
print("begun", flush=True)
sys.stdin.read()
"""


@contextmanager
def written_by_another_process(ledger: Path) -> Iterator[None]:
    """Another process is in the midst of writing; in this one its lock would end as soon as any
    other connection is closed.
    """
    command = [sys.executable, "-c", HOLDS, str(ledger)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"begun\n"
        yield
        other.communicate()


def test_what_the_page_publishes_verifies(tmp_path: Path) -> None:
    """The release is that of the command line: in the ledger, on disk, and it verifies."""
    with opened(tmp_path) as (studio, browser):
        form = {"stamp": studio.place.stamp(), "number": "1", "sure": "yes"}
        done = studio.finish(studio.send(browser, "/publish", **form))
        assert (done["state"], done["result"]["rows"]) == ("done", 240)
        assert done["steps"] == ["read", "encode", "group", "write", "check", "record"]
    ledger = f"sqlite:///{tmp_path}/ward.db"
    assert px.verify(tmp_path / "releases" / "ward-1", ledger=ledger).holds


def test_two_tabs_do_not_publish_twice(tmp_path: Path) -> None:
    """The same form sent twice publishes once, whether the first is done or still under way."""
    with opened(tmp_path) as (studio, browser):
        form = {"stamp": studio.place.stamp(), "number": "1", "sure": "yes"}
        first = studio.send(browser, "/publish", **form)
        second = studio.send(browser, "/publish", **form)
        assert second.status_code == 400
        studio.finish(first)
        third = studio.send(browser, "/publish", **form)
        assert third.status_code == 400
        assert "another one by now" in third.text
    assert published(tmp_path) == ["ward-1"]


def test_two_persons_do_not_publish_the_same_release(tmp_path: Path) -> None:
    """Somebody else publishes while the work is at its last step before the ledger: it stops, and
    leaves nothing.
    """
    studio = studio_on(tmp_path)
    stamp = studio.place.stamp()

    def somebody_else(step: str, *_: object) -> None:
        if step == "check" and not published(tmp_path):
            studio.place.plan().publish()

    with pytest.raises(PhalanxError):
        publish(somebody_else, plan=str(studio.place.plan_path), number=1, stamp=stamp)
    assert published(tmp_path) == ["ward-1"]
    assert len(studio.place.entries("ward")) == 1


def test_a_release_that_nobody_saw_is_not_published(tmp_path: Path) -> None:
    """Whoever saw that release 1 is next does not publish release 2."""
    studio = studio_on(tmp_path)
    studio.place.plan().publish()
    stamp = studio.place.stamp()
    with pytest.raises(PhalanxError, match="published meanwhile"):
        publish(lambda _: None, plan=str(studio.place.plan_path), number=1, stamp=stamp)
    assert published(tmp_path) == ["ward-1"]


def test_a_plan_that_changed_is_not_published(tmp_path: Path) -> None:
    """The plan is the one that was looked at, in the process that publishes, too."""
    studio = studio_on(tmp_path)
    stamp = studio.place.stamp()
    studio.place.plan_path.write_text(studio.place.plan_text() + "# more\n")
    with pytest.raises(PhalanxError, match="changed"):
        publish(lambda _: None, plan=str(studio.place.plan_path), number=1, stamp=stamp)
    assert published(tmp_path) == []


def test_it_is_published_only_on_purpose(tmp_path: Path) -> None:
    """Without saying so nothing is published."""
    with opened(tmp_path) as (studio, browser):
        answer = studio.send(browser, "/publish", stamp=studio.place.stamp(), number="1")
        assert answer.status_code == 400
        assert "called back" in answer.text
    assert published(tmp_path) == []


def test_what_is_cancelled_is_whole_or_nothing(tmp_path: Path) -> None:
    """After cancelling, the ledger and the folder agree, and the next publish works."""
    with opened(tmp_path) as (studio, browser):
        form = {"stamp": studio.place.stamp(), "number": "1", "sure": "yes"}
        begun = studio.send(browser, "/publish", **form)
        number = begun.headers["location"].rsplit("/", 1)[1]
        assert studio.send(browser, f"/work/{number}/cancel").status_code == 303
        done = studio.finish(begun)
        assert done["state"] in ("cancelled", "done")
        known = len(studio.place.entries("ward"))
        assert len(published(tmp_path)) == known
        upcoming = {**form, "number": str(known + 1)}
        again = studio.finish(studio.send(browser, "/publish", **upcoming))
        assert again["state"] == "done", again
    assert len(published(tmp_path)) == known + 1


def test_what_a_cancelled_publisher_left_is_put_away(tmp_path: Path) -> None:
    """When its process is gone, and not only by the next one."""
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        left = tmp_path / "releases" / ".ward.0123456789abcdef.staging"
        left.mkdir()
        (left / "data.csv").write_text("age")
        form = {"stamp": studio.place.stamp(), "number": "2", "sure": "yes"}
        begun = studio.send(browser, "/publish", **form)
        studio.place.jobs.cancel(int(begun.headers["location"].rsplit("/", 1)[1]))
        assert studio.finish(begun)["state"] == "cancelled"
        assert not left.exists()
    assert len(published(tmp_path)) == 1


def test_a_process_that_dies_is_said(tmp_path: Path) -> None:
    """A process that is killed is told as such, and the page stays."""
    with opened(tmp_path) as (studio, browser):
        begun = studio.send(browser, "/check")
        number = int(begun.headers["location"].rsplit("/", 1)[1])
        studio.place.jobs._processes[number].kill()
        done = studio.finish(begun)
        assert done["state"] == "failed"
        assert "ended before" in done["error"]
        assert browser.get(f"/work/{number}").status_code == 200


def test_a_refusal_is_a_sentence(tmp_path: Path) -> None:
    """What a method refuses is said on the page as the command says it, and nothing is published."""
    frame = people().with_columns(diagnosis=pl.lit("flu"))
    with opened(tmp_path, frame=frame) as (studio, browser):
        form = {"stamp": studio.place.stamp(), "number": "1", "sure": "yes"}
        done = studio.finish(studio.send(browser, "/publish", **form))
        assert done["state"] == "failed"
        assert "diagnosis" in done["error"]
        assert done["error"].count(". ") <= 1
    assert published(tmp_path) == []


def test_a_release_that_left_is_not_taken_back(tmp_path: Path) -> None:
    """The page says so, and so it is: without its folder release 1 is out still, and the next one
    is refused until the folder is there again.
    """
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        folder = tmp_path / "releases" / "ward-1"
        folder.rename(tmp_path / "elsewhere")
        page = browser.get("/publish").text
        assert "Publish release 2" in page
        assert "Afterwards, no." in page
        form = {"stamp": studio.place.stamp(), "number": "2", "sure": "yes"}
        refused = studio.finish(studio.send(browser, "/publish", **form))
        assert refused["state"] == "failed", refused
        (tmp_path / "elsewhere").rename(folder)
        done = studio.finish(studio.send(browser, "/publish", **form))
        assert done["state"] == "done", done


def test_a_ledger_in_use_is_waited_for_or_refused(tmp_path: Path) -> None:
    """While another process writes into the ledger pages are shown; a release waits, or is refused
    in a sentence and comes afterwards.
    """
    with opened(tmp_path) as (studio, browser):
        studio.place.plan().publish()
        with written_by_another_process(tmp_path / "ward.db"):
            for path in ("/", "/publish", "/release/ward/1/compare", "/release/ward/1/handover"):
                assert browser.get(path).status_code == 200
            form = {"stamp": studio.place.stamp(), "number": "2", "sure": "yes"}
            begun = studio.send(browser, "/publish", **form)
            Timer(2, lambda: studio.place.jobs.cancel(1)).start()
            assert studio.finish(begun)["state"] == "cancelled"
            assert published(tmp_path) == ["ward-1"]
        done = studio.finish(studio.send(browser, "/publish", **form))
        assert done["state"] == "done", done
    assert published(tmp_path) == ["ward-1", "ward-2"]


def test_only_so_much_runs_at_once(tmp_path: Path) -> None:
    """A fourth piece of work is refused, and not put off."""
    with opened(tmp_path) as (studio, browser):
        for _ in range(jobs._MOST_RUNNING):
            assert studio.send(browser, "/check").status_code == 303
        assert studio.send(browser, "/check").status_code == 400


def test_a_second_release_of_another_table(tmp_path: Path) -> None:
    """The next table is read on the page, and published as the next release of the series."""
    with opened(tmp_path) as (studio, browser):
        for number in (1, 2):
            form = {"stamp": studio.place.stamp(), "number": str(number), "sure": "yes"}
            done = studio.finish(studio.send(browser, "/publish", **form))
            assert done["state"] == "done", done
            write(people().slice(30), tmp_path / "next.csv")
            form = {"stamp": studio.place.stamp(), "source": "next.csv"}
            assert studio.send(browser, "/data/source", **form).status_code == 303
        found = studio.finish(
            studio.send(browser, "/release/ward/2/attack", adversary="intersection")
        )
        assert found["state"] == "done", found
        assert found["result"]["breach"] is False
    assert published(tmp_path) == ["ward-1", "ward-2"]


def test_a_point_that_was_tried_becomes_the_plan(tmp_path: Path) -> None:
    """Points are tried on another table; one is shown beside another, and written into the plan."""
    write(people(300), tmp_path / "other.csv")
    with opened(tmp_path) as (studio, browser):
        on = {"ground": "other", "source": "other.csv"}
        assert studio.send(browser, "/explore", tried="mondrian k=4").status_code == 400
        assert studio.send(browser, "/explore/ground", **on).status_code == 303
        done = studio.finish(studio.send(browser, "/explore", tried="mondrian k=4,9"))
        assert done["state"] == "done", done
        points = {p["number"]: p for p in done["result"]["points"]}
        chosen = next(n for n, p in points.items() if p["method"].get("k") == 9)
        page = browser.get(f"/explore?points=1,{chosen}").text
        assert f"Point {chosen}: " in page
        assert f'<a href="/explore?points={chosen},1#beside"' in page
        assert '<a href="/explore?points=1#beside"' in browser.get("/explore").text
        adopted = {"stamp": studio.place.stamp(), "point": str(chosen)}
        answer = studio.send(browser, f"/work/{done['number']}/adopt", **adopted)
        assert answer.status_code == 303
        assert studio.place.plan().method().parameters()["k"] == 9
        nowhere = {"stamp": studio.place.stamp(), "point": "77"}
        answer = studio.send(browser, f"/work/{done['number']}/adopt", **nowhere)
        assert answer.status_code == 400


def test_points_are_tried_on_rows_that_are_spent(tmp_path: Path) -> None:
    """With one table alone a tenth of its rows is drawn, and the plan of a point publishes the
    others; no row is spent by looking at the page, and none twice.
    """
    rest = "ward.explore/rest.parquet"
    write(table := people(400), tmp_path / "many.csv")
    with opened(tmp_path) as (studio, browser):
        form = {"stamp": studio.place.stamp(), "source": "many.csv"}
        assert studio.send(browser, "/data/source", **form).status_code == 303
        assert studio.send(browser, "/explore/ground", ground="sample").status_code == 303
        assert "o rows are spent yet" in browser.get("/explore").text
        assert not (tmp_path / rest).exists()
        done = studio.finish(studio.send(browser, "/explore", tried="mondrian k=4,9"))
        assert done["state"] == "done", done
        assert "which are spent" in done["result"]["why"]
        assert "o rows are spent yet" not in browser.get("/explore").text
        chosen = next(p["number"] for p in done["result"]["points"] if p["method"].get("k") == 4)
        form = {"stamp": studio.place.stamp(), "point": str(chosen)}
        assert studio.send(browser, f"/work/{done['number']}/adopt", **form).status_code == 303
        assert tomllib.loads(studio.place.plan_text())["source"] == {"path": rest}
        spent = pl.read_parquet(tmp_path / "ward.explore" / "spent.parquet").height
        assert pl.read_parquet(tmp_path / rest).height == table.height - spent < table.height
        again = studio.finish(studio.send(browser, "/explore", tried="mondrian k=5"))
        assert "one table is sampled once" in again["error"]


def test_a_point_with_dates_becomes_the_plan(tmp_path: Path) -> None:
    """What comes of another process as text is a date in the plan again, and no text else is."""
    scheme = {
        "visit": {"low": "2024-01-01", "high": "2024-12-31", "widths": [7]},
        "share": {"low": "1/2", "high": "3/2", "width": "1/4"},
        "zip": 2,
    }
    tried = [{"number": 1, "refused": "", "method": {"name": "safe-sampling", "scheme": scheme}}]
    with opened(tmp_path) as (studio, _):
        there = SimpleNamespace(get=lambda _: SimpleNamespace(result={"points": tried}))
        method = explore.point(SimpleNamespace(jobs=there), 1, 1)
        planfile.change(
            studio.place,
            studio.place.stamp(),
            lambda plan: planfile.set_method(plan, method["name"], method, ["scheme"]),
        )
        written = tomllib.loads(studio.place.plan_text())["method"]["scheme"]
    assert written["visit"]["low"] == dt.date(2024, 1, 1)
    assert written["visit"]["high"] == dt.date(2024, 12, 31)
    assert written["visit"]["widths"] == [7]
    assert (written["share"], written["zip"]) == (scheme["share"], 2)
