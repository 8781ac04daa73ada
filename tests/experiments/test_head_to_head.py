# SPDX-License-Identifier: Apache-2.0
"""The head to head reads what other tools publish as they mean it."""

import importlib.util
import sys

import polars as pl
import pytest

from support.scripts import EXPERIMENTS, run_script


@pytest.fixture(scope="module")
def script():
    """The script as a module."""
    path = EXPERIMENTS / "head_to_head" / "head_to_head.py"
    spec = importlib.util.spec_from_file_location("head_to_head", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up by name
    spec.loader.exec_module(module)
    return module


def test_a_cell_stands_for_its_values(script, tmp_path):
    """A label covers its leaves that occur, a set its members, an interval what lies in it."""
    table = pl.DataFrame({"age": [20, 23, 31], "race": ["a", "b", "c"]})
    (tmp_path / "age.csv").write_text("20;20-24;*\n21;20-24;*\n23;20-24;*\n31;30-34;*\n")
    (tmp_path / "race.csv").write_text("a;ab;*\nb;ab;*\nc;c or d;*\nd;c or d;*\n")
    age, race = (script.labels_of(table, n, tmp_path / f"{n}.csv") for n in ("age", "race"))
    assert script.cell("20-24", age) == [20, 23]
    assert script.cell("21-31", age) == [23, 31]
    assert script.cell("23", age) == [23]
    assert script.cell("*", age) == [20, 23, 31]
    assert script.cell("ab", race) == script.cell("a,b", race) == ["a", "b"]
    assert script.cell("c or d", race) == ["c"]


def test_a_cell_that_stands_for_nothing_is_an_error(script):
    """A text that is no label, set or interval is not passed over."""
    with pytest.raises(ValueError, match="could not convert"):
        script.cell("nobody", {"*": [1, 2]})


def test_only_rows_that_stand_alone_are_found(script):
    """Counted are the table's rows that stand in it once; of these two of three are in the other
    one.
    """
    table = pl.DataFrame({"a": [1, 1, 2, 3, 4], "b": ["x", "x", "y", "z", None]})
    drawn = pl.DataFrame({"a": [1, 2, 2, 4, 9], "b": ["x", "y", "y", None, "z"]})
    assert script.found(table, drawn) == pytest.approx(2 / 3)


def test_no_data_is_said():
    """Without the data folder the script says what it needs, and ends with code 2."""
    ran = run_script("head_to_head/head_to_head.py", data=None)
    assert ran.returncode == 2
    assert "PHALANX_DATA" in ran.stderr
