# SPDX-License-Identifier: Apache-2.0
"""The README, done as it says: the example twice, and the plan with every command beside it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from phalanx.plan import Plan
from support.pythons import run as python

TEXT = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")


def block(kind: str, word: str) -> str:
    """The fenced block of a kind that holds a word."""
    (found,) = [
        text
        for text in re.findall(rf"^```{kind}\n(.*?)^```", TEXT, flags=re.DOTALL | re.MULTILINE)
        if word in text
    ]
    return found


@pytest.fixture
def shell(tmp_path: Path):
    """A shell in an empty folder, in which `phalanx` is this Phalanx."""
    command = tmp_path / "bin" / "phalanx"
    command.parent.mkdir()
    command.write_text(f"#!{sys.executable}\nfrom phalanx.cli import main\nmain()\n")
    command.chmod(0o755)
    folder = tmp_path / "work"
    folder.mkdir()

    def run(script: str) -> str:
        path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-ec", script],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run.folder = folder
    return run


def test_the_three_ways(tmp_path: Path) -> None:
    """The Python example as it stands: a release in memory that is saved, a series whose next lines
    publish release 2, and a sampled release.
    """
    done = python("-c", block("python", "px.publish"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    attacked, published, sampled = done.stdout.splitlines()
    assert "of 4000 persons" in attacked
    assert published.startswith(
        "<Release 1 of clinic: 4,000 rows in 1,333 groups"
    ) and published.endswith(" True")
    rows, holds = sampled.split()
    assert 1500 < int(rows) < 3000 and holds == "True"
    assert (tmp_path / "out" / "people" / "release.json").exists() and (
        tmp_path / "releases" / "clinic-1" / "release.json"
    ).exists()


def test_the_example_is_short() -> None:
    """One screen: about a dozen statements."""
    import ast

    assert len(ast.parse(block("python", "px.publish")).body) <= 12


def test_the_plan_and_every_command(shell) -> None:
    """The plan as printed, a table of the columns it names, and the commands as printed, one after
    the other.
    """
    (shell.folder / "plan.toml").write_text(block("toml", "[series]"))
    plan = Plan.read(shell.folder / "plan.toml")
    n = 60
    made = {
        "patient": [f"p{i}" for i in range(n)],
        "age": [20 + i * 7 % 50 for i in range(n)],
        "sex": ["fm"[i % 2] for i in range(n)],
        "zip": [f"{10000 + i * 131 % 900}" for i in range(n)],
        "diagnosis": [["flu", "gout", "rash", "ulcer", "acne"][i % 5] for i in range(n)],
        "notes": ["as before"] * n,
    }
    assert set(made) == set(plan.schema().columns)
    pl.DataFrame(made).write_parquet(shell.folder / "discharges.parquet")

    said = shell(block("sh", "phalanx publish"))

    assert "Release 1 of discharges" in said
    assert "Everything that was checked holds." in said
    assert re.search(r"persons +exposed", said)
    assert re.search(r"discharges +m-invariance +1 ", said)
    assert shell(
        "phalanx init discharges.parquet --to proposed.toml && phalanx publish plan.toml --json"
    )
    assert len(list((shell.folder / "releases").glob("discharges-*/release.json"))) == 2
