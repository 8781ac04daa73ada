# SPDX-License-Identifier: Apache-2.0
"""A sample of the hostile inputs of `make fuzz`, another one each day; and defects that are planted
are reported, as a fuzzer that finds nothing would be no test.
"""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fuzz.studios import FIELDS
from fuzz.twins import TWINS
from phalanx.studio.app import ACTIONS

TESTS = Path(__file__).parents[1]


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    """What the fuzzer prints, in a process of its own."""
    paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, "-m", "fuzz", *words],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_sample_of_the_inputs() -> None:
    """A hundred and twenty-six inputs, eight at each door, two at the slow ones, that differ from day
    to day: every promise is kept. What fails says how it is replayed.
    """
    done = fuzz("126", "--seed", str(datetime.now(UTC).toordinal()))
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "126 inputs" in done.stdout and "; 0 by which a promise was broken" in done.stdout


def test_every_form_of_the_studio_is_filled_in() -> None:
    """A form that is new stands in the fuzzer, too."""
    assert set(FIELDS) == set(ACTIONS)


@pytest.mark.slow
def test_planted_defects_are_reported() -> None:
    """A command that raises, panics, hangs, swells, dies, tells a value or a password, or leaves
    half a release, a studio that obeys a stranger or stumbles, a grid that tells a value, and a bomb
    that is unpacked: each is reported as that.
    """
    done = fuzz("--twins")
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert done.stdout.count(": reported (") == len(TWINS)
