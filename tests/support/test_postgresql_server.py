# SPDX-License-Identifier: Apache-2.0
"""The server of the tests ends with them, however they end."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import postgresql_server

TESTS = Path(__file__).parents[1]
SERVE = """
import signal, sys, time
from support.postgresql_server import server
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
with server(sys.argv[1]):
    time.sleep(600)
"""
RUN = """
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))
"""
WAIT = """
import time
from pathlib import Path
from support import postgresql_server
def test_it(n={n}):
    Path(__file__).with_suffix(".url").write_text(postgresql_server.running())
    time.sleep(600)
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(postgresql_server.missing()) or not Path("/proc/self/cmdline").exists(),
        reason="no PostgreSQL server is installed on this machine, or no /proc",
    ),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short path."""
    made = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def until(done: Callable[[], object]) -> None:
    """Wait for something; for ever, where a promise is broken."""
    while not done():
        time.sleep(0.02)


def processes(folder: Path) -> list[str]:
    """The command lines of the processes of a folder's server."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # ended meanwhile
            continue
        if str(folder) in line and "postgres" in line and "python" not in line:
            found.append(line)
    return found


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=str)
@pytest.mark.parametrize("there", ["data/PG_VERSION", "data/pg_hba.conf", "data/postmaster.pid"])
def test_nothing_is_left_whenever_it_is_ended(folder: Path, there: str, how: int) -> None:
    """A process that has a server made is ended by Ctrl-C or killed with its whole group while the
    server is being made, begins, or runs: no server is left.
    """
    run = subprocess.Popen(
        [sys.executable, "-c", SERVE, folder],
        cwd=TESTS,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    until((folder / there).exists)
    os.killpg(run.pid, how)
    run.wait()
    until(lambda: not (folder / "data/postmaster.pid").exists())
    until(lambda: not folder.exists() or how == signal.SIGINT)
    until(lambda: not processes(folder))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=str)
def test_an_interrupted_run_of_the_tests(tmp_path: Path, how: int) -> None:
    """Two workers have a server each; the run is interrupted as a terminal or a supervisor does it:
    both servers end, and their folders are removed.
    """
    for n in (1, 2):
        (tmp_path / f"test_{n}.py").write_text(WAIT.format(n=n))
    words = ["-q", "-n", "2", "-p", "no:cacheprovider", "--rootdir", tmp_path, "-c", os.devnull]
    run = subprocess.Popen(
        [sys.executable, "-c", RUN, *words, tmp_path],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    urls = [tmp_path / f"test_{n}.url" for n in (1, 2)]
    until(lambda: all(path.exists() and path.read_text() for path in urls))
    folders = [Path(path.read_text().partition("host=")[2]) for path in urls]
    assert all(processes(folder) for folder in folders)
    os.killpg(run.pid, how)
    run.wait()
    until(lambda: not any(folder.exists() for folder in folders))
    until(lambda: not any(processes(folder) for folder in folders))
