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


def _run(folder, *words):
    clean = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    command = [*_as_user(), binaries() / words[0], "-D", folder / "data", *words[1:]]
    subprocess.run(
        command,
        check=True,
        env=clean,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def start(folder):
    """Start the server of a folder; it listens on a socket there and nowhere else."""
    _run(
        folder,
        "pg_ctl",
        "-w",
        "-l",
        folder / "log",
        "-o",
        f"-c listen_addresses='' -k {folder} -F",
        "start",
    )


@contextmanager
def server(folder):
    """A server whose socket is in ``folder``; yields its URL, and stops it on leaving. The role
    ``careful``, if somebody makes it, needs a password.
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
    _run(folder, "initdb", "-A", "trust", "-U", "phalanx", "-E", "UTF8", "--no-sync")
    rules = folder / "data" / "pg_hba.conf"
    rules.write_text("local all careful scram-sha-256\n" + rules.read_text())
    with _guarded(folder):
        start(folder)
        try:
            yield f"postgresql://phalanx@/postgres?host={folder}"
        finally:
            if (folder / "data" / "postmaster.pid").exists():
                _run(folder, "pg_ctl", "-m", "immediate", "stop")


@contextmanager
def _guarded(folder):
    """Have a process beside that stops the server and removes its folder where this one ends
    without doing so, killed for example.
    """
    stop = [*_as_user(), binaries() / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop"]
    # it reads to the end, which comes when nobody is there any more to write
    script = 'read -r _ || { "$@"; rm -rf -- "$0"; }'
    guard = subprocess.Popen(
        ["sh", "-c", script, folder, *stop],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        start_new_session=True,
    )
    try:
        yield
    finally:
        guard.communicate(b"stopped\n")


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
