# SPDX-License-Identifier: Apache-2.0
"""A private PostgreSQL server for tests, from whatever server binaries the machine has; as another
user when run as root, which it refuses.
"""

import atexit
import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path


def binaries():
    """The folder of initdb and pg_ctl of the newest installed version; None where there is none."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda p: int(p.parts[4]) if p.parts[4].isdigit() else 0,
    )
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def _as_user():
    """Words before a command that make it run as somebody who is not root."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]


def _environment():
    """What the server's programs are run with."""
    return {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}


def start(folder):
    """Start the server of a folder again; it listens on a socket there and nowhere else."""
    options = ["-D", folder / "data", "-w", "-l", folder / "log", "-o", _OPTIONS.format(folder)]
    subprocess.run(
        [*_as_user(), binaries() / "pg_ctl", *options, "start"],
        check=True,
        env=_environment(),
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


_OPTIONS = "-c listen_addresses='' -k {} -F"
_SERVE = """
trap '' PIPE
$AS "$BIN/initdb" -D data -A trust -U phalanx -E UTF8 --no-sync >made 2>&1 &&
{ echo local all careful scram-sha-256; cat data/pg_hba.conf; } >rules &&
cat rules >data/pg_hba.conf &&
$AS "$BIN/pg_ctl" -D data -w -l log -o "$OPTIONS" start >>made 2>&1 && echo ready || echo failed
read -r _ || killed=1
$AS "$BIN/pg_ctl" -D data -m immediate stop >>made 2>&1
[ ! "$killed" ] || rm -rf -- "$PWD"
"""
"""Makes a server, says so, if anybody is there to hear it, and stops it when it is told so; or when
nobody is there any more to tell, and then it removes the folder, too.
"""


@contextmanager
def server(folder):
    """A server whose socket is in ``folder``; yields its URL, and stops it on leaving. The role
    ``careful``, if somebody makes it, needs a password.

    It is started and stopped by a process beside, out of reach of what ends this one: Ctrl-C or a
    kill, at any moment, leaves no server.
    """
    folder, user = Path(folder), _as_user()
    for parent in [folder, *folder.parents][: 4 if user else 0]:
        if (
            parent.owner() != "nobody"
            and parent.stat().st_uid == os.geteuid()
            and len(parent.parts) > 2
        ):
            parent.chmod(0o755)
    if user:
        shutil.chown(folder, "nobody", "nogroup")
    words = {"AS": " ".join(user), "BIN": str(binaries()), "OPTIONS": _OPTIONS.format(folder)}
    beside = subprocess.Popen(
        ["sh", "-c", _SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=_environment() | words,
        start_new_session=True,
    )
    try:
        if beside.stdout.readline() != "ready\n":
            raise RuntimeError((folder / "made").read_text())
        yield f"postgresql://phalanx@/postgres?host={folder}"
    finally:
        beside.communicate("stop\n")


@cache
def running():
    """The URL of the one server that the tests of this process share; it stops with the process."""
    held = ExitStack()
    url = held.enter_context(
        server(held.enter_context(tempfile.TemporaryDirectory(prefix="pg", dir="/tmp")))
    )  # a socket's path must be short
    atexit.register(held.close)  # last registered, first called: before the folder removes itself
    return url


def missing():
    """Why there is no PostgreSQL to test with, in one line; empty where there is."""
    if binaries() is None:
        return "no PostgreSQL server is installed on this machine (initdb is not found)"
    if find_spec("adbc_driver_postgresql") is None:
        return "the PostgreSQL driver is not installed; pip install 'phalanx[postgres]'"
    return ""


_schemas = count(1)


def fresh_schema():
    """The URL of a schema of its own, empty, in the shared server: as good as a database of its
    own, and a hundred times as quick to make.
    """
    import adbc_driver_postgresql.dbapi as postgresql

    name = f"ledger{os.getpid()}_{next(_schemas)}"  # forks of one process share the server
    with (
        postgresql.connect(running(), autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"CREATE SCHEMA {name}")
    return f"{running()}&options=-csearch_path%3D{name}"
