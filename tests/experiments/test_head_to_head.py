# SPDX-License-Identifier: Apache-2.0
"""The head to head reads what other tools publish as they mean it, waits for none longer than it
said, and rebuilds what ARX publishes.
"""

import sys
from importlib import import_module

import polars as pl
import pytest

from support.scripts import EXPERIMENTS, run_script

FOLDER = EXPERIMENTS / "head_to_head"
PARTS = ("head_to_head", "peers", "arx")


@pytest.fixture(scope="module")
def scripts():
    """The script and its two parts as modules, by name."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(FOLDER)
        for name in PARTS:
            patched.delitem(sys.modules, name, raising=False)
        yield {name: import_module(name) for name in PARTS}
        for name in PARTS:
            patched.delitem(sys.modules, name, raising=False)


@pytest.fixture
def script(scripts):
    """The script."""
    return scripts["head_to_head"]


@pytest.fixture
def peers(scripts):
    """What reads other tools."""
    return scripts["peers"]


@pytest.fixture
def arx(scripts):
    """What rebuilds ARX's solutions."""
    return scripts["arx"]


def test_a_cell_stands_for_its_values(peers, tmp_path):
    """A label covers its leaves that occur, a set its members, an interval what lies in it."""
    table = pl.DataFrame({"age": [20, 23, 31], "race": ["a", "b", "c"]})
    (tmp_path / "age.csv").write_text("20;20-24;*\n21;20-24;*\n23;20-24;*\n31;30-34;*\n")
    (tmp_path / "race.csv").write_text("a;ab;*\nb;ab;*\nc;c or d;*\nd;c or d;*\n")
    age, race = (peers.labels_of(table, n, tmp_path / f"{n}.csv") for n in ("age", "race"))
    assert peers.cell("20-24", age) == [20, 23]
    assert peers.cell("21-31", age) == [23, 31]
    assert peers.cell("23", age) == [23]
    assert peers.cell("*", age) == [20, 23, 31]
    assert peers.cell("ab", race) == peers.cell("a,b", race) == ["a", "b"]
    assert peers.cell("c or d", race) == ["c"]


def test_a_cell_that_stands_for_nothing_is_an_error(peers):
    """A text that is no label, set or interval is not passed over."""
    with pytest.raises(ValueError, match="could not convert"):
        peers.cell("nobody", {"*": [1, 2]})


def test_only_rows_that_stand_alone_are_found(script):
    """Counted are the table's rows that stand in it once; of these two of three are in the other
    one.
    """
    table = pl.DataFrame({"a": [1, 1, 2, 3, 4], "b": ["x", "x", "y", "z", None]})
    drawn = pl.DataFrame({"a": [1, 2, 2, 4, 9], "b": ["x", "y", "y", None, "z"]})
    assert script.found(table, drawn) == pytest.approx(2 / 3)


HIERARCHIES = {
    "age": "1;1-2;*\n2;1-2;*\n3;3-4;*\n4;3-4;*\n",
    "education": "a;x;*\nb;x;*\n",
    "sex": "f;*\nm;*\n",
}


def test_a_solution_of_arx_is_rebuilt(arx, tmp_path, monkeypatch):
    """Labels of their level; groups that are too small are suppressed, and lose everything."""
    files = {}
    for name, text in HIERARCHIES.items():
        files[name] = tmp_path / name
        files[name].write_text(text)
    table = pl.DataFrame(
        {
            "sex": ["f", "f", "f", "m"],
            "age": [1, 2, 1, 4],
            "education": ["a", "b", "a", "a"],
            "occupation": ["s", "t", "s", "s"],
        }
    )
    monkeypatch.setattr(arx, "QUASI", ("sex", "age", "education"))
    solution = arx.Solution((0, 1, 1), lambda counts: sum(counts) >= 2, ())
    made, loss = arx.rebuilt(table, solution, files)
    assert made.rows() == [("f", "1-2", "x", "s"), ("f", "1-2", "x", "t"), ("f", "1-2", "x", "s")]
    assert loss == pytest.approx([1.0, 0.5, 0.25])
    diverse = arx.Solution((0, 1, 1), lambda counts: arx.recursive(counts, c=2, l=2), ())
    assert arx.rebuilt(table, diverse, files)[0].is_empty()
    assert arx.recursive([3, 1, 1, 1, 1]) and not arx.recursive([4, 1, 1, 1, 1])


def test_what_takes_too_long_is_told(peers, script, tmp_path):
    """A tool that does not come to an end in its time has a line that says so; one that fails says
    its last words.
    """
    slow, failing = tmp_path / "slow", tmp_path / "failing"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    failing.write_text("#!/bin/sh\necho out of memory >&2; exit 1\n")
    answers = []
    for tool in (slow, failing):
        tool.chmod(0o755)
        table = pl.DataFrame({"age": [1, 2]})
        asked = {"x": {"tool": "x"}}
        answers += peers.theirs(table, asked, tool, {}, tmp_path, 0.001)
    assert answers == [("x", "not made within 0.001 minutes"), ("x", "not made: out of memory")]
    line = script.row(table, table, ["age"], *answers[0])
    assert line.startswith("| x | not made within 0.001 minutes |")
    assert line.count("|") == len(script.HEADER) + 1


def test_the_tables_go_where_the_marks_are(script, tmp_path):
    """A page with marks has the tables between them, and one without stays as it is."""
    page = tmp_path / "page.md"
    for text in (
        "a\n",
        "a\n<!-- printed by experiments/head_to_head/head_to_head.py -->\n<!-- end -->\nb\n",
    ):
        page.write_text(text)
        script.written(page, "| new |")
        script.written(page, "| new |")
        assert page.read_text().count("| new |") == text.count("printed")
    assert page.read_text().endswith("| new |\n\n<!-- end -->\nb\n")


def test_no_data_is_said():
    """Without the data folder the script says what it needs, and ends with code 2."""
    ran = run_script("head_to_head/head_to_head.py", data=None)
    assert ran.returncode == 2
    assert "PHALANX_DATA" in ran.stderr


def test_an_interval_is_drawn_each_value_alike(script):
    """Of the values of the table that lie in it, ends among them, each about as often; an interval
    of one value is that value.
    """
    table = pl.DataFrame({"age": [20, 23, 31, 40], "race": ["a", "b", "c", "d"]})
    wide = {"age_low": [20] * 3000, "age_high": [31] * 3000, "race_low": ["b"] * 3000}
    published = pl.DataFrame(
        wide | {"race_high": ["b"] * 1500 + ["d"] * 1500, "occupation": ["x", "y"] * 1500}
    )
    drawn = script.alike(published, table, ("age", "race"))
    assert drawn["occupation"].to_list() == published["occupation"].to_list()
    ages = drawn["age"].value_counts().sort("age")
    assert ages["age"].to_list() == [20, 23, 31]
    assert ages["count"].to_list() == pytest.approx([1000] * 3, abs=120)
    assert drawn["race"][:1500].unique().to_list() == ["b"]
    assert sorted(drawn["race"][1500:].unique()) == ["b", "c", "d"]
