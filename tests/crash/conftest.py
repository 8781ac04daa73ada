# SPDX-License-Identifier: Apache-2.0
"""What the crash tests share: whether anything can be traced here, and trials in a process of their
own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import postgresql_server

TESTS = Path(__file__).parents[1]
Trial = dict[str, Any]
Trials = Callable[..., list[list[Trial]]]


def run_alone(*words: str, fails: bool = False) -> str:
    """What Python prints, in a process of its own that can import this folder; one that ends well,
    unless it has to fail.
    """
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "PHALANX_", "PYTHONPATH"))
    }
    done = subprocess.run(
        [sys.executable, *words], cwd=TESTS, env=clean, capture_output=True, text=True, check=False
    )
    assert bool(done.returncode) == fails, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def faults(trials: list[Trial]) -> list[str]:
    """What is wrong, and at which call."""
    return [
        f"{trial['at']} ({trial['call']}): {fault}" for trial in trials for fault in trial["faults"]
    ]


def make(folder: Path, *server: str) -> Trials:
    """A function that makes the trials of each of several :class:`crash.trials.Order`."""

    def trials(*orders: dict[str, Any]) -> list[list[Trial]]:
        made: list[list[Trial]] = [[] for _ in orders]
        for line in run_alone(
            "-m", "crash.trials", str(folder), json.dumps(orders), *server
        ).splitlines():
            trial = json.loads(line)
            made[trial.pop("order")].append(trial)
        return made

    return trials


@pytest.fixture(scope="session")
def traced() -> None:
    """Skip, and say why, where this machine lets nobody trace."""
    if reason := run_alone("-m", "crash.tracer").strip():
        pytest.skip(reason)


@pytest.fixture
def trials(traced: None, tmp_path: Path) -> Trials:  # noqa: ARG001 - it skips
    """Trials with the ledger in a file."""
    return make(tmp_path)


@pytest.fixture
def trials_with_postgresql(traced: None, tmp_path: Path) -> Iterator[Trials]:  # noqa: ARG001 - it skips
    """Trials with the ledger on a server of its own, whose files nobody else writes."""
    if reason := postgresql_server.missing():
        pytest.skip(reason)
    with (
        tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder,
        postgresql_server.server(folder) as url,
    ):
        yield make(tmp_path, url, folder)
