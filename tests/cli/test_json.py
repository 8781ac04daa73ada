# SPDX-License-Identifier: Apache-2.0
"""The keys of --json are those that the documentation promises, no more and no fewer."""

import json
import re
from pathlib import Path

import pytest

from phalanx import demo

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to"


def section(page: str) -> str:
    """What a page says under its heading about --json."""
    return (
        (HOW_TO / f"{page}.md")
        .read_text(encoding="utf-8")
        .split("## `--json`")[1]
        .split("\n## ")[0]
    )


def documented(page: str) -> list[str]:
    """The keys in the first cells of the page's table."""
    cells = re.findall(r"^\| (`.*?) \|", section(page), flags=re.MULTILINE)
    return [key for cell in cells for key in re.findall(r"`([^`]+)`", cell)]


def flat(found: dict[str, object]) -> list[str]:
    """The keys of an object, and those of the objects in its list, as the documentation writes
    them.
    """
    inner = [
        f"{key}[].{name}"
        for key, value in found.items()
        if key == "checks" and isinstance(value, list)
        for name in value[0]
    ]
    return [*found, *inner]


@pytest.fixture
def published(ward):
    """The JSON of a first release."""
    said = ward.publish("--json")
    assert (said.code, said.err) == (0, "")
    return json.loads(said.out)


def test_publish(published) -> None:
    """`publish --json`."""
    assert [key for key in flat(published) if "[]" not in key] == documented("publish")


@pytest.mark.usefixtures("published")
def test_verify(ward) -> None:
    """`verify --json`, of a release and of somebody's table."""
    for words in (["out/ward-1"], ["t.csv", "--quasi", "age,zip", "--sensitive", "ill"]):
        found = json.loads(ward.call("verify", *words, "--json").out)
        assert flat(found) == documented("verify")


@pytest.mark.usefixtures("published")
def test_attack(ward) -> None:
    """`attack --json`."""
    found = json.loads(
        ward.call(
            "attack",
            "intersection",
            "out/ward-1",
            "--original",
            "t.csv",
            "--identifier",
            "who",
            "--json",
        ).out
    )
    assert list(found) == documented("attack")
    assert sum(found["candidates"].values()) == found["persons"] == 40


@pytest.mark.usefixtures("published")
def test_series(ward) -> None:
    """`series list --json` and `series show --json`, whose keys stand in a sentence each."""
    text = (HOW_TO / "series.md").read_text(encoding="utf-8")
    of_list, of_show = (
        re.findall(r"`([a-z_]+)`", part.split("\n\n")[0])
        for part in re.split(r"`(?:list|show) --json`: ", text)[1:]
    )
    listed = json.loads(ward.call("series", "list", "--ledger", "ward.db", "--json").out)
    assert [*listed, *listed["series"][0]] == [word for word in of_list if word != "show"]
    shown = json.loads(ward.call("series", "show", "ward", "--ledger", "ward.db", "--json").out)
    assert [*shown, *shown["releases"][0]] == of_show


@pytest.mark.parametrize("heading", ["A promise", "`--table`", "`--amplify`"])
def test_budget(ward, heading: str) -> None:
    """`budget --json`, whose keys stand in a table for each kind of question; those of an inner
    object, after a point.
    """
    words = {
        "A promise": ["--epsilon", "1", "--delta", "1e-6", "--releases", "2"],
        "`--table`": ["--table"],
        "`--amplify`": ["--epsilon", "1", "--amplify", "0.1"],
    }
    found = json.loads(ward.call("budget", *words[heading], "--json").out)
    keys = []
    for key, value in found.items():
        inner, mark = (value[0], "[]") if isinstance(value, list) else (value, "")
        keys += (
            [key, *(f"{key}{mark}.{name}" for name in inner)] if isinstance(inner, dict) else [key]
        )
    part = section("budget").split(f"### {heading}\n")[1].split("\n### ")[0]
    cells = re.findall(r"^\| (`.*?) \|", part, flags=re.MULTILINE)
    assert keys == [key for cell in cells for key in re.findall(r"`([^`]+)`", cell)]


def test_init(ward) -> None:
    """`init --json`: the plan's path, a profile of each column, and the correlation of the
    attributes.
    """
    found = json.loads(ward.call("init", "t.csv", "--to", "new.toml", "--json").out)
    assert list(found) == ["plan", "rows", "columns", "correlation"]
    assert [column["name"] for column in found["columns"]] == ["who", "age", "zip", "ill"]
    assert list(found["correlation"]) == ["attributes", "phi2", "columns"]
    assert Path(found["plan"]).is_file()


def made_up_demo(to: Path) -> demo.Demo:
    """A demo's outcome without the demo."""
    ways = [
        demo.Outcome(method=way, persons=6127, exposed_by_box=1406, exposed_by_person=1406, counterfeits=(0, 0, 1, 6, 12), suppressed_rows=(0, 20, 35, 48, 67), loss=0.25, verified=True, seconds=1.5)
        for way in demo.WAYS
    ]  # fmt: skip
    return demo.Demo(
        rows=19609,
        persons=6127,
        outcomes=ways,
        report=to / "releases" / "reports" / "remembering-5.html",
        picture=to / "exposed.svg",
        seconds=8.0,
    )


def test_demo(ward, monkeypatch: pytest.MonkeyPatch) -> None:
    """`demo --json`."""
    monkeypatch.setattr(demo, "run", lambda to, _: made_up_demo(to))
    found = json.loads(ward.call("demo", "--json").out)
    named = documented("demo")
    assert list(found) == named
    (of_a_way,) = re.findall(r"one object for each way: (.*?) \|", section("demo"))
    assert list(found["methods"][0]) == re.findall(r"`([a-z_]+)`", of_a_way)
    assert "yearly releases" in ward.call("demo").out
