# SPDX-License-Identifier: Apache-2.0
"""The tracer stops a process exactly where it is told to; without that no test of a stopped
publisher means anything.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from crash.conftest import run_alone

# Writes a letter into each of five files by a thread of its own, and flushes it; argument: what
# tracer.run is given. Prints what became of it.
WRITER = """
import json, os, sys, threading
from crash import tracer
folder, said = sys.argv[1], json.loads(sys.argv[2])
def write(name):
    handle = os.open(f"{folder}/{name}", os.O_CREAT | os.O_WRONLY)
    os.write(handle, b"x")
    os.fsync(handle)
    os.close(handle)
def work():
    os.eventfd_write(os.eventfd(0), 1)
    open("/dev/null", "w").write("x")
    for name in "abcde":
        thread = threading.Thread(target=write, args=(name,))
        thread.start()
        thread.join()
    return 7
seen = []
os.dup2(os.memfd_create("log"), 2)
ended = tracer.run(work, watch=seen.append, **said)
left = {name: os.path.getsize(f"{folder}/{name}") for name in sorted(os.listdir(folder))}
print(json.dumps([ended.status, [str(call) for call in ended.calls], left, [call.result for call in seen]]))
"""


def writer(folder: Path, **said: Any) -> tuple[int | None, list[str], dict[str, int], list[int]]:
    """How the writer ended, at which calls, what it left, and what the calls returned."""
    status, calls, left, results = json.loads(
        run_alone("-c", WRITER, str(folder), json.dumps(said))
    )
    return status, [call.replace(f"{folder}/", "") for call in calls], left, results


ALL = [f"{name} {file}" for file in "abcde" for name in ("openat", "write", "fsync")]


@pytest.mark.usefixtures("traced")
def test_all_calls_are_seen(tmp_path: Path) -> None:
    """Untouched, the process runs to its end, and every call of every thread that lasts was seen,
    and no other.
    """
    status, calls, left, results = writer(tmp_path)
    assert (status, calls) == (7, ALL)
    assert left == dict.fromkeys("abcde", 1)
    assert all(result >= 0 for result in results) and len(results) == 15


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize(("how", "at", "left"), [
    ("before", 1, {}), ("after", 1, {"a": 0}), ("before", 2, {"a": 0}), ("after", 2, {"a": 1}), ("before", 8, {"a": 1, "b": 1, "c": 0}),
    ("after", 8, {"a": 1, "b": 1, "c": 1}), ("before", 15, dict.fromkeys("abcde", 1)),
])  # fmt: skip
def test_killed_at_a_call(tmp_path: Path, how: str, at: int, left: dict[str, int]) -> None:
    """Killed before a call, it did not happen; killed after it, it did, and nothing that comes
    later.
    """
    status, calls, found, _ = writer(tmp_path, at=at, how=how)
    assert (status, calls, found) == (None, ALL[:at], left)


@pytest.mark.usefixtures("traced")
def test_killed_behind_the_last_call(tmp_path: Path) -> None:
    """A call that never comes stops nobody."""
    assert writer(tmp_path, at=16, how="before")[:2] == (7, ALL)


@pytest.mark.usefixtures("traced")
@pytest.mark.parametrize(
    ("how", "left"),
    [("fail", {"a": 1, "b": 0, "c": 1, "d": 1, "e": 1}), ("full", {"a": 1, "b": 0})],
)
def test_a_call_that_fails(tmp_path: Path, how: str, left: dict[str, int]) -> None:
    """A call fails with the error that was asked for and does not happen: it alone, or all from
    there on that need room.
    """
    status, calls, found, results = writer(tmp_path, at=5, how=how)
    assert status == 7
    assert found == left
    failed = [call for call, result in zip(calls, results, strict=True) if result == -28]
    assert failed == (
        ["write b"] if how == "fail" else ["write b", "openat c", "openat d", "openat e"]
    )


# Prints what tracer.run raises for a process that goes on too long.
HANGING = """
import time
from crash import tracer
try:
    tracer.run(lambda: time.sleep(60), seconds=0.2)
except TimeoutError:
    print("too long")
"""


@pytest.mark.usefixtures("traced")
def test_a_process_that_hangs() -> None:
    """A process that does not end is killed, and that is an error."""
    assert run_alone("-c", HANGING) == "too long\n"
