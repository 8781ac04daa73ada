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

from support import postgresql_server, thoroughly

TESTS = Path(__file__).parents[1]
Trial = dict[str, Any]
Trials = Callable[..., list[list[Trial]]]


def clean() -> dict[str, str]:
    """The environment without what would lead a process of ours elsewhere."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PG", "PHALANX_", "PYTHONPATH"))
    }


def run_alone(*words: str, fails: bool = False) -> str:
    """What Python prints, in a process of its own that can import this folder; one that ends well,
    unless it has to fail.
    """
    done = subprocess.run(
        [sys.executable, *words],
        cwd=TESTS,
        env=clean(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert bool(done.returncode) == fails, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def faults(trials: list[Trial]) -> list[str]:
    """What is wrong, and at which call."""
    return [
        f"{trial['at']} ({trial['call']}): {fault}" for trial in trials for fault in trial["faults"]
    ]


def parts(number: int, **order: Any) -> list[Any]:
    """Orders that together try each call that an order tries, so that none takes long, and there
    are others on other days.
    """
    first, step = order.get("first", 1), order.get("step", 1)
    words = "-".join(str(order[key]) for key in ("releases", "how", "power") if key in order)
    return [
        pytest.param(
            order | {"first": first + part * step, "step": number * step}, id=f"{words}-{part}"
        )
        for part in range(number)
    ]


class Warm:
    """A process of :mod:`crash.trials`, which is warm after its first order; it ends with us."""

    def __init__(self, errors: Path) -> None:
        self._errors = errors
        with errors.open("w") as file:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "crash.trials"],
                cwd=TESTS,
                env=clean(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
            )

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()
        thoroughly.elsewhere.pop("crash.trials", None)  # now it stands with those that have ended

    def make(self, *where: str) -> Trials:
        """A function that makes the trials of each of several :class:`crash.trials.Order`."""
        return lambda *orders: [list(self._made(where, order)) for order in orders]

    def _made(self, where: tuple[str, ...], order: dict[str, Any]) -> Iterator[Trial]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([where, order]) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            told = json.loads(line)
            if "status" in told:
                thoroughly.elsewhere["crash.trials"] = told["used"]
                assert told["status"] == 0, self._errors.read_text()[-3000:]
                return
            yield told
        raise AssertionError(self._errors.read_text()[-3000:])


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warm]:
    """The process that all trials of this one's tests share."""
    process = Warm(tmp_path_factory.mktemp("trials") / "errors")
    yield process
    process.close()


@pytest.fixture(scope="session")
def traced() -> None:
    """Skip, and say why, where this machine lets nobody trace."""
    if reason := run_alone("-m", "crash.tracer").strip():
        pytest.skip(reason)


@pytest.fixture
def trials(traced: None, warm: Warm, tmp_path: Path) -> Trials:  # noqa: ARG001 - it skips
    """Trials with the ledger in a file."""
    return warm.make(str(tmp_path))


@pytest.fixture
def trials_with_postgresql(
    traced: None,  # noqa: ARG001 - it skips
    warm: Warm,
    tmp_path: Path,
) -> Iterator[Trials]:
    """Trials with the ledger on a server of its own, whose files nobody else writes."""
    if reason := postgresql_server.missing():
        pytest.skip(reason)
    with (
        tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder,
        postgresql_server.server(folder) as url,
    ):
        yield warm.make(str(tmp_path), url, folder)
