# SPDX-License-Identifier: Apache-2.0
"""``phalanx check``: says what would be published, and leaves nothing behind."""

import json
import os
from dataclasses import FrozenInstanceError, fields
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import phalanx as px
from phalanx.adversaries.disclosure import Disclosed
from phalanx.cli import app
from phalanx.errors import LedgerError, ReleaseError
from phalanx.guarantees.base import Verdict

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
    pl.DataFrame(
        {
            "who": range(40),
            "age": [20 + i % 7 for i in range(40)],
            "ill": ["flu", "cold", "gout", "rash"] * 10,
        }
    ).write_csv(tmp_path / "t.csv")
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(more="", method='name = "m-invariance"\nm = 2'))
    return path


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    return done.exit_code, done.stdout


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def test_nothing_is_left_of_a_check(plan: Path) -> None:
    """Before the first release and after it: the same files, byte for byte, and no ledger where
    there was none.
    """
    before = everything(plan.parent)
    code, text = run("check", plan)
    assert (
        code == 0
        and "Release 1 of s, if it were published now" in text
        and "Nothing was published" in text
    )
    assert everything(plan.parent) == before
    assert run("publish", plan, "-q")[0] == 0
    before = everything(plan.parent)
    code, text = run("check", plan, "--json")
    told = json.loads(text)
    assert (code, told["series"], told["number"], told["rows"]) == (0, "s", 2, 40)
    assert (told["allowed"], told["memory"] > 10**7) == (4, True)
    assert "allowed:   an m or l of 4 at most" in run("check", plan)[1]
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


def test_a_folder_that_must_not_be_written_is_no_surprise_later(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the system would refuse, the sentence says so, as that of publish does."""
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(px.PhalanxError, match=r"out cannot be written \(permission denied\)"):
        px.Plan.read(plan).check()


@pytest.mark.parametrize("to", ["t.csv", "t.csv/out"])
def test_a_folder_that_cannot_be_made_is_no_surprise_later(plan: Path, to: str) -> None:
    """Where the folder of the releases would be, there is a file, or above it: the same sentence,
    and nothing is made.
    """
    plan.write_text(plan.read_text().replace('to = "out"', f'to = "{to}"'))
    before = everything(plan.parent)
    with pytest.raises(px.PhalanxError, match="cannot be written") as checked:
        px.Plan.read(plan).check()
    assert everything(plan.parent) == before
    with pytest.raises(px.PhalanxError) as published:
        px.Plan.read(plan).publish()
    assert str(checked.value) == str(published.value)


@pytest.mark.parametrize(
    "url", ["t.csv/ledger.db", "none/ledger.db", "out", "t.csv/none/ledger.db"]
)
def test_a_ledger_that_cannot_be_made_is_no_surprise_later(plan: Path, url: str) -> None:
    """The same sentence, and nothing is made."""
    plan.write_text(plan.read_text() + f'\n[ledger]\nurl = "sqlite:///{url}"\n')
    (plan.parent / "out").mkdir()
    before = everything(plan.parent)
    with pytest.raises(LedgerError, match=r"the ledger .*; name a f") as checked:
        px.Plan.read(plan).check()
    assert everything(plan.parent) == before
    with pytest.raises(LedgerError) as published:
        px.Plan.read(plan).publish()
    assert str(checked.value) == str(published.value)


def test_a_ledger_that_must_not_be_written_is_no_surprise_later(
    plan: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is there, and a folder where it would be made."""
    access = os.access
    monkeypatch.setattr(
        "os.access", lambda path, how: access(path, how) and Path(path).name == "out"
    )
    (plan.parent / "out").mkdir()
    with pytest.raises(LedgerError, match=r"cannot be made \(Permission denied\); name a f"):
        px.Plan.read(plan).check()
    monkeypatch.undo()
    px.Plan.read(plan).publish()
    monkeypatch.setattr("os.access", lambda path, _: Path(path).suffix != ".db")
    monkeypatch.setattr("phalanx.series.series.Series._drafting", None)  # no table is worked on
    for use in (px.Plan.read(plan).check, px.Plan.read(plan).publish):
        with pytest.raises(LedgerError, match="may not be written; make the file and its folder"):
            use()


def test_a_lost_ledger_is_no_surprise_later(plan: Path) -> None:
    """Its mark stands beside it, so that no new one is begun; nor with a key that others can read."""
    px.Plan.read(plan).publish()
    key = plan.parent / "s.db.key"
    (plan.parent / "s.db").unlink()
    for spoil, sentence in (
        (lambda: None, "older than what was published of series 's'"),
        (lambda: key.with_suffix(".mark").unlink(), None),
        (lambda: key.chmod(0o644), "can be read by others"),
    ):
        spoil()
        if sentence is None:
            continue
        with pytest.raises(LedgerError, match=sentence) as checked:
            px.Plan.read(plan).check()
        with pytest.raises(LedgerError) as published:
            px.Plan.read(plan).publish()
        assert str(checked.value) == str(published.value)
        (plan.parent / "s.db").unlink(missing_ok=True)


def test_a_report_in_a_link_to_nothing_is_no_surprise_later(plan: Path) -> None:
    """The release would have left by then."""
    (plan.parent / "out").mkdir()
    (plan.parent / "out" / "reports").symlink_to("nowhere")
    for do in (px.Plan.read(plan).check, px.Plan.read(plan).publish):
        with pytest.raises(ReleaseError, match=r"out/reports cannot be written \(file exists\)"):
            do()


def test_a_report_that_cannot_be_written_is_no_surprise_later(plan: Path) -> None:
    """Neither of a check nor of publish, which would have recorded the release by then."""
    (plan.parent / "out").mkdir()
    (plan.parent / "out" / "reports").write_text("")
    before = everything(plan.parent)
    for do in (px.Plan.read(plan).check, px.Plan.read(plan).publish):
        with pytest.raises(ReleaseError, match=r"out/reports cannot be written \(file exists\)"):
            do()
    assert everything(plan.parent) == before
    plan.write_text(plan.read_text().replace("[publish]", "[publish]\nreport = false"))
    px.Plan.read(plan).check()


SAMPLED = PLAN.format(
    more="[schema.hierarchies]\nage = { bands = [10] }",
    method=(
        'name = "safe-sampling"\nepsilon = 1\ndelta = 1e-2\nallow_empty = true\nscheme = { age'
        " = 1 }"
    ),
)


def test_a_sample_is_not_shown(plan: Path) -> None:
    """Under differential privacy a check says that a release can be made, what it would cost, and
    nothing of what it would hold.
    """
    plan.write_text(SAMPLED)
    code, text = run("check", plan, "--json")
    told = json.loads(text)
    assert (code, {key for key, value in told.items() if value is not None}) == (
        0,
        {"series", "number", "method", "guarantees", "spent"},
    )
    assert told["spent"] == {"epsilon": 1.0, "delta": 0.01, "releases": 1}
    assert "rows" not in run("check", plan)[1]


@pytest.mark.parametrize("sampled", [False, True])
def test_a_preview_is_no_release(plan: Path, *, sampled: bool) -> None:
    """It has nothing that could be handed out: no table, no file, no evidence, nobody's row; what
    is differentially private has no figure that follows from the table.
    """
    if sampled:
        plan.write_text(SAMPLED)
    preview = px.Plan.read(plan).check()
    held = [value for field in fields(preview) for value in flat(getattr(preview, field.name))]
    assert (
        isinstance(preview, px.Preview)
        and not hasattr(preview, "save")
        and not hasattr(preview, "evidence")
    )
    assert all(
        isinstance(value, str | int | float | Fraction | Verdict | Disclosed | None)
        for value in held
    )
    assert all(value.worst_cases.is_empty() for value in held if isinstance(value, Verdict))
    assert "\n" not in repr(preview) and ("40 rows" in repr(preview)) is not sampled
    with pytest.raises(FrozenInstanceError):
        preview.rows = 1  # type: ignore[misc]
    tables = (
        "rows",
        "groups",
        "counterfeits",
        "registered",
        "suppressed_rows",
        "suppressed_values",
        "checks",
        "attacks",
        "seconds",
    )
    assert all((getattr(preview, name) is None) is sampled for name in tables)


def test_persons_are_not_in_a_preview(plan: Path) -> None:
    """What adversaries find is shown, and of whom is not."""
    plan.write_text(PLAN.format(more="", method='name = "mutual-cover"\ndelta = "1/4"'))
    preview = px.Plan.read(plan).check()
    assert len(preview.attacks or ()) == 3 and all(
        found.per_person.is_empty() for found in preview.attacks or ()
    )
    assert preview.groups is None and preview.counterfeits is None


def flat(value: object) -> list[object]:
    """What is in it, however deep."""
    if isinstance(value, dict):
        return [inner for pair in value.items() for part in pair for inner in flat(part)]
    return (
        [inner for part in value for inner in flat(part)]
        if isinstance(value, list | tuple)
        else [value]
    )
