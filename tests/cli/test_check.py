"""``phalanx check``: says what would be published, and leaves nothing behind."""

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import phalanx as px
from phalanx.cli import app

PLAN = """
[series]
name = "s"
[source]
path = "t.csv"
[schema]
identifier = "who"
quasi = ["age"]
sensitive = "ill"
{more}
[method]
{method}
[publish]
to = "out"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    pl.DataFrame({"who": range(40), "age": [20 + i % 7 for i in range(40)], "ill": ["flu", "cold", "gout", "rash"] * 10}).write_csv(tmp_path / "t.csv")
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(more="", method='name = "m-invariance"\nm = 2'))
    return path


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    return done.exit_code, done.stdout


def everything(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_nothing_is_left_of_a_check(plan: Path) -> None:
    """Before the first release and after it: the same files, byte for byte, and no ledger where there was none."""
    before = everything(plan.parent)
    code, text = run("check", plan)
    assert code == 0 and "Release 1 of s, if it were published now" in text and "Nothing was published" in text
    assert everything(plan.parent) == before
    assert run("publish", plan, "-q")[0] == 0
    before = everything(plan.parent)
    code, text = run("check", plan, "--json")
    told = json.loads(text)
    assert (code, told["number"], told["rows"], told["release"]) == (0, 2, 40, None)
    assert everything(plan.parent) == before
    assert len(px.Plan.read(plan).check().checks) == len(told["checks"]) > 0


def test_what_publish_refuses_check_refuses(plan: Path) -> None:
    """The same sentence: m above what the values allow."""
    plan.write_text(plan.read_text().replace("m = 2", "m = 5"))
    with pytest.raises(px.PhalanxError) as checked:
        px.Plan.read(plan).check()
    with pytest.raises(px.PhalanxError) as published:
        px.Plan.read(plan).publish()
    assert str(checked.value) == str(published.value)


def test_a_sample_is_not_shown(plan: Path) -> None:
    """Under differential privacy a check says that a release can be made, and nothing of what it would hold."""
    more = "[schema.hierarchies]\nage = { bands = [10] }"
    plan.write_text(PLAN.format(more=more, method='name = "safe-sampling"\nepsilon = 1\ndelta = 1e-2\nscheme = { age = 1 }'))
    code, text = run("check", plan, "--json")
    assert code == 0 and set(json.loads(text)) == {"method", "number", "guarantees"}
    assert "rows" not in run("check", plan)[1]
