# SPDX-License-Identifier: Apache-2.0
"""``phalanx report``: a page for inside, and one for outside that has nothing of the original."""

import json
import re
from pathlib import Path

import pytest

HOW_TO = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "report.md"
ORIGINAL = ("--original", "t.csv", "--identifier", "who")


@pytest.fixture
def published(ward) -> str:
    """A release in its folder."""
    assert ward.publish().code == 0
    return "out/ward-1"


def test_the_page_for_inside_has_what_was_lost(ward, published) -> None:
    """As publish wrote it: adversaries, distributions beside the original's, and no word to hand it
    out.
    """
    said = ward.call("report", published, "--for", "internal", *ORIGINAL, "--to", "in.html")
    assert (said.code, said.out, said.err) == (0, "report:    in.html\n", "")
    for page in ("in.html", "out/reports/ward-1.html"):
        text = (ward.path / page).read_text()
        assert "For inside, not to be handed out." in text and "marks: original" in text
        assert (
            "adversaries were played on this release" in text
            and "Error of typical questions" in text
        )


def test_the_page_for_outside_is_of_released_values_alone(ward, published) -> None:
    """The original may be gone, nobody is played, and nothing is said of suppressed rows."""
    (ward.path / "t.csv").unlink()
    said = ward.call("report", published, "--for", "external", "--to", "out.html")
    assert (said.code, said.err) == (0, "")
    text = (ward.path / "out.html").read_text()
    assert "This page shows released values, and nothing else." in text
    assert not re.search(
        "handed out|suppressed</dt>|marks: original|Error of typical|were played on", text
    )
    assert "marks: evenly filled intervals" in text and "holds" in text
    for words in (["--original", "t.csv"], ["--ledger", "ward.db"]):
        said = ward.call("report", published, "--for", "external", *words, "--to", "x.html")
        assert said.code == 2 and "made of released values alone" in said.err


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_an_identifier_without_its_table_is_refused(ward, published, audience) -> None:
    """It would not be looked at."""
    said = ward.call(
        "report", published, "--for", audience, "--identifier", "who", "--to", "x.html"
    )
    assert said.code == 2 and "--identifier is a column of the original table" in said.err


SUPPRESSES = 'name = "slicing"\nl = 2\nnot_eligible = "suppress"\nsensitive_column_size = 1'


def test_suppressed_rows_are_those_that_the_ledger_recorded(ward) -> None:
    """A page of a folder that was only read does not say that none is."""
    often = "who,age,zip,ill\n" + "".join(
        f"p{i},{20 + i % 7},1,{'aaab'[i % 4]}\n" for i in range(40)
    )
    ward.table(often)
    ward.plan(method=SUPPRESSES)
    assert "suppressed: 20 row(s)" in ward.publish().out
    for ledger, words in (
        ((), "is not said here"),
        (("--ledger", "ward.db"), "20 rows are suppressed."),
    ):
        said = ward.call(
            "report", "out/ward-1", "--for", "internal", *ORIGINAL, *ledger, "--to", "p.html"
        )
        text = (ward.path / "p.html").read_text()
        assert said.code == 0 and words in text, said
        assert "No row is suppressed" not in text and "No rows were suppressed" not in text


def test_an_original_without_persons_is_laid_beside_its_release(ward) -> None:
    """As verify does; a page about another table does not say that all holds."""
    ward.plan(
        schema='quasi = ["age", "zip"]\nsensitive = "ill"\ndrop = ["who"]',
        method='name = "mondrian"\nk = 2',
    )
    assert ward.publish().code == 0
    words = ("report", "out/ward-1", "--for", "internal", "--original", "t.csv", "--to", "p.html")
    assert ward.call(*words).code == 0
    assert "persons of the original" in (ward.path / "p.html").read_text()
    table = (ward.path / "t.csv").read_text()
    ward.table(re.sub(r"^(p\d+),\d+", r"\1,80", table, flags=re.MULTILINE))
    said = ward.call(*words)
    assert said.code == 1 and "This does NOT hold: release 1: persons of the original" in said.out


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_the_keys_of_json_are_those_of_the_page(ward, published, audience: str) -> None:
    """What a regulator reads by machine."""
    more = ORIGINAL if audience == "internal" else ()
    words = ("report", published, "--for", audience, *more, "--to", "p.html", "--json")
    found = json.loads(ward.call(*words).out)
    table = HOW_TO.read_text(encoding="utf-8").split("## `--json`")[1]
    cells = re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
    assert list(found) == [key for cell in cells for key in re.findall(r"`([^`]+)`", cell)]
    assert found["audience"] == audience and bool(found["questions"]) == (audience == "internal")
    assert set(found["regulator"]) == {
        "prosecutor",
        "journalist",
        "marketer",
        "above",
        "population",
        "classes",
    }


def test_a_population_is_declared(ward, published) -> None:
    """Nobody who is in a group is alone in it; a population smaller than the table is none."""
    words = ("report", published, "--for", "external", "--to", "p.html")
    found = json.loads(ward.call(*words, "--population", "9000", "--json").out)
    assert found["regulator"]["population"] == {"persons": 9000, "uniques": 0.0}
    text = (ward.path / "p.html").read_text(encoding="utf-8")
    assert "no record is of a person like no other in it" in text
    said = ward.call(*words, "--population", "3")
    assert said.code == 2 and "a population of 3 persons is smaller than the release" in said.err


def test_earlier_releases_give_the_series_so_far(ward, published) -> None:
    """Whatever their order; the page is about the newest."""
    assert [ward.publish().code for _ in range(2)] == [0, 0]
    words = ("report", "out/ward-3", "out/ward-2", published, "--for", "external", "--to", "p.html")
    assert ward.call(*words).code == 0
    text = (ward.path / "p.html").read_text()
    assert "<h1>ward, release 3</h1>" in text and "Prosecutor risk by release" in text


def test_wrong_words_are_refused(ward, published) -> None:
    """An audience that is none, no place, no release."""
    for words in (
        ["report", published, "--to", "x.html"],
        ["report", published, "--for", "everybody", "--to", "x.html"],
        ["report", published, "--for", "external"],
        ["report", "nowhere", "--for", "external", "--to", "x.html"],
        ["report", published, "--for", "external", "--to", "no/where/x.html"],
        ["report", published, "--for", "external", "--to", "out"],
        ["report", published, "--for", "external", "--to", ""],
        ["report", published, "--for", "external", "--to", "/"],
    ):
        said = ward.call(*words)
        assert (said.code, said.out) == (2, "") and said.err


@pytest.mark.parametrize("audience", ["internal", "external"])
def test_a_page_of_what_does_not_hold_says_so(ward, published, audience: str) -> None:
    """On the terminal, by the exit code, and to programs: a manifest that promises more than the
    groups keep.
    """
    manifest = ward.path / published / "release.json"
    manifest.write_text(re.sub(r'"m": ?\d+', '"m": 7', manifest.read_text()))
    words = ("report", published, "--for", audience, "--to", "p.html")
    told = ward.call(*words)
    assert told.code == 1 and "This does NOT hold: " in told.out
    assert "do not hand the release out" in told.out.replace("\n", " ")
    told = ward.call(*words, "--json")
    assert told.code == 1 and json.loads(told.out)["holds"] is False
