# SPDX-License-Identifier: Apache-2.0
"""The outside judges agree with our adversaries, where their environment is there: Anonymeter and
anonypyx on the releases that ours attack.
"""

import os
import subprocess
from pathlib import Path

import pytest

from support.scripts import EXPERIMENTS, run_script, tables_of

ENVIRONMENT = Path(os.environ.get("PHALANX_JUDGES", EXPERIMENTS / "judges" / ".venv-judges"))


def share(cell):
    """The share of a cell, and its interval."""
    value, low, _, high = cell.replace("(", "").replace(")", "").split()
    return float(value), float(low), float(high)


def apart(one, other):
    """Whether two shares differ by more than two and a half times what their 95 % intervals allow:
    of equal ones fewer than one pair in 100,000 does.
    """
    (a, *first), (b, *second) = share(one), share(other)
    return abs(a - b) > 2.5 * (first[1] - first[0] + second[1] - second[0]) / 2


@pytest.fixture(scope="module")
def tables():
    """What the experiment prints of few persons."""
    if not (ENVIRONMENT / "installed").is_file():
        pytest.skip(
            f"anonymeter and anonypyx are not installed in {ENVIRONMENT}: `make judges` installs"
            " them there, or PHALANX_JUDGES names another environment"
        )
    ran = run_script(
        "judges/judges.py",
        "--environment",
        ENVIRONMENT,
        "--persons",
        800,
        "--targets",
        40,
        data=None,
    )
    assert ran.returncode == 0, ran.stderr
    return list(tables_of(ran.stdout).values())


@pytest.mark.slow
def test_candidate_sets_are_the_same(tables):
    """Every target is left the same values by both, and as many by the adversary of the command
    line.
    """
    for _, targets, same, as_many, ours, theirs in tables[0]:
        assert targets == same == as_many == "40"
        assert ours == theirs


@pytest.mark.slow
def test_rates_are_comparable(tables):
    """What Anonymeter infers is what the posterior adversary draws, unlike what it guesses; and by
    its count our predicates hold for rows of this table alone.
    """
    _, out, inferred = tables
    assert not [row for row in inferred if apart(row[1], row[2])]
    assert apart(inferred[0][1], inferred[0][4])
    assert apart(out[0][4], out[0][5])
    assert share(out[0][4])[0] > share(out[0][5])[0]


def test_no_environment_is_said(tmp_path, monkeypatch):
    """Where the judges cannot be installed the script says so in one sentence, and asks nobody."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    ran = run_script("judges/judges.py", "--environment", tmp_path / "none", data=None)
    assert ran.returncode == 1
    assert ran.stderr.startswith("the judges could not be installed: ")
    assert not (tmp_path / "none" / "installed").exists()
    assert (
        subprocess.run(
            [tmp_path / "none" / "bin" / "python", "-c", "import anonymeter"],
            capture_output=True,
            check=False,
        ).returncode
        == 1
    )
