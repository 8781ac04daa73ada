# SPDX-License-Identifier: Apache-2.0
"""The server of the tests ends with them."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from support import postgresql_server

SERVE = (
    "import os, signal, postgresql_server as p; print(p.running(), flush=True);"
    " os.kill(os.getpid(), signal.SIGKILL)"
)


@pytest.mark.slow
def test_killed_tests_leave_no_server() -> None:
    """Where tests are killed, their server is stopped and its folder removed soon after."""
    if why := postgresql_server.missing():
        pytest.skip(why)
    run = subprocess.run(
        [sys.executable, "-c", SERVE],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == -9
    folder = Path(run.stdout.strip().partition("host=")[2])
    assert folder.name.startswith("pg")
    while folder.exists():  # for ever, where the promise is broken
        time.sleep(0.05)
