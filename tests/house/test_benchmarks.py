# SPDX-License-Identifier: Apache-2.0
"""Benchmarks are run by hand, where nobody would see for weeks that one does not run any more."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
SMALL = {
    "accounting": "--rounds 1",
    "cliffs": "--rows 300 --only 'anatomy: 50'",
    "global_guarantee": "--persons 5000 --releases 2 --rows 2000 --stay-releases 2",
    "house": "",
    "jobs": "--rows 2000 --profile --only anatomy",
    "larger": "--rows 20000",
    "parts": "--rows 20000 --part 8000",
    "safe_sampling": "--rows 20000 --rounds 1",
    "series": "--rows 2000 --releases 2",
    "walks": "",
    "where": "--rows 2000 --only anatomy",
}
"""What is asked of each, so that it takes seconds."""
ELSEWHERE = {
    "first_hour": "needs the real tables",
    "mutual_cover": "takes half a minute",
    "slicing": "needs the real tables",
    "spark": "runs where PySpark is, by make spark-bench",
    "studio": "takes half a minute, in a browser",
}
"""Why the others are not run here."""


@pytest.mark.parametrize("name", SMALL)
def test_a_benchmark_runs_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    """From beginning to end on a small table, as often as one likes: no file of it stays, neither
    where it was started nor among temporary ones.
    """
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    ended = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py", *shlex.split(SMALL[name])],
        cwd=tmp_path / "here",
        env=os.environ | {"TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    assert ended.stdout.strip()
    assert [path.name for folder in tmp_path.iterdir() for path in folder.iterdir()] == []


def test_every_benchmark_is_run_or_said_why_not() -> None:
    """A new one comes into one list or the other."""
    assert sorted(SMALL | ELSEWHERE) == sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
