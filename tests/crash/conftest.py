"""What the crash tests share: whether anything can be traced here, and trials in a process of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]


def run_alone(*words: str) -> str:
    """What Python prints, in a process of its own that can import this folder."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "PHALANX_", "PYTHONPATH"))}
    done = subprocess.run([sys.executable, *words], cwd=TESTS, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="session")
def traced() -> None:
    """Skip, and say why, where this machine lets nobody trace."""
    if reason := run_alone("-m", "crash.tracer").strip():
        pytest.skip(reason)


@pytest.fixture
def trials(traced: None, tmp_path: Path) -> Callable[..., list[list[dict[str, Any]]]]:  # noqa: ARG001 - it skips
    """Trials as each of several :class:`crash.trials.Order` says them."""

    def make(*orders: dict[str, Any]) -> list[list[dict[str, Any]]]:
        made: list[list[dict[str, Any]]] = [[] for _ in orders]
        for line in run_alone("-m", "crash.trials", str(tmp_path), json.dumps(orders)).splitlines():
            trial = json.loads(line)
            made[trial.pop("order")].append(trial)
        return made

    return make
