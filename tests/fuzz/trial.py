# SPDX-License-Identifier: Apache-2.0
"""One hostile input: let a fork prepare it and run the command, within limits, and see whether
every promise was kept.

Time is measured twice. What is held against the limit is what the command itself needs: the seconds
of processor that it and its children used, and those that it slept. Seconds by the clock hold in
addition what it waited for a processor while others worked; they are reported beside, and only stop
a command that takes thirty times the limit.
"""

import contextlib
import ctypes
import hashlib
import json
import os
import re
import resource
import select
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fuzz import scene
from phalanx.cli import main

SECONDS: Final = 10
"""A command may run and sleep so long; what it waits for a processor that others use is not
counted.
"""
MEGABYTES: Final = 2048
"""So much memory may a command use beyond what the process holds that it is a fork of; it is not
given more than twice as much.
"""
CODES: Final = {0: "done", 1: "does not hold", 2: "refused"}
SPOKEN: Final = re.compile(rb"phalanx: [^\n]*\n")
NOTE: Final = re.compile(rb"phalanx: \d+ report\(s\) beside the releases are passed over\.\n")
NEVER: Final = {
    "a traceback": rb"Traceback \(most recent call last\)|^  File \"",
    "a panic": rb"panicked at|RUST_BACKTRACE|PanicException|pyo3_runtime",
    "a fault of Phalanx": rb"a fault of Phalanx itself",
    "a warning": rb"\w+Warning\b",
    "what no studio does": rb"^visitor: ",
    "a value of the table": scene.MARKER.encode() + b"|" + scene.MARKED_NUMBER.encode(),
    "a password": scene.PASSWORD.encode(),
}
"""What no output may hold."""
SHOW_RELEASED: Final = (["attack", "extremes"], ["attack", "all"], ["estimate"], ["report"])
"""These name values that stand in the release: what it shows of somebody is what they are about."""

UNRELEASED: Final = re.compile(re.escape(scene.MARKER.encode()) + rb"(?! (town|ill) )")
"""Of the marked texts these two attributes are published: identifiers and what is dropped never."""

Door = Callable[[Any], list[str]]
"""Prepares an input in the current folder, and gives the words of the command that is to be run on
it.
"""
State = dict[str, Any]


@dataclass(kw_only=True)
class Outcome:
    """What became of an input."""

    door: str
    number: int
    words: list[str] = field(default_factory=list)
    ended: str = ""
    """In a word."""
    faults: list[str] = field(default_factory=list)
    """The promises that were not kept."""
    said: str = ""
    seconds: float = 0.0
    """It ran or slept."""
    by_clock: float = 0.0
    """From its beginning to its end."""
    megabytes: float = 0.0


def run(name: str, door: Door, number: int, base: Path, idle: float = 0.0) -> Outcome:
    """Let an input in. ``base`` holds ``world``, the folder that it is let into, and ``kept``, of
    which that is a copy; ``idle``: the memory of a fork that does nothing.
    """
    outcome = Outcome(door=name, number=number)
    scene.restore(base / "world", base / "kept")
    logs = {stream: base / f"{stream}.txt" for stream in ("out", "err", "ready")}
    for log in logs.values():
        log.write_bytes(b"")
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _command(door, name, number, base, logs)
    slept = _wait(pid, began, logs["ready"])
    _, status, used = os.wait4(pid, 0)
    outcome.by_clock = time.monotonic() - began
    outcome.seconds = slept + used.ru_utime + used.ru_stime
    outcome.megabytes = max(0.0, used.ru_maxrss / 1024 - idle)
    ready = logs["ready"].read_bytes()
    if not ready:
        outcome.faults, outcome.said = (
            ["it cannot be prepared, which is a fault of the door"],
            logs["err"].read_text(errors="replace")[-600:],
        )
        return outcome
    prepared = json.loads(ready)
    outcome.words = prepared["words"]
    out, err = logs["out"].read_bytes(), logs["err"].read_bytes()
    outcome.said = (err or out)[-600:].decode(errors="replace")
    outcome.ended = _ended(status)
    outcome.faults = [
        *broken(outcome, out, err),
        *left(outcome, prepared["state"], state(base / "world")),
    ]
    return outcome


def _command(door: Door, name: str, number: int, base: Path, logs: dict[str, Path]) -> None:
    """In a fork: prepare, say what is there, run the command as a shell would, and leave."""
    code = 70
    try:
        os.setsid()
        os.chdir(base / "world")
        for variable in [v for v in os.environ if v.startswith(("PG", "PHALANX_"))]:
            del os.environ[variable]
        os.environ |= {
            "HOME": str(base / "home"),
            "XDG_CONFIG_HOME": str(base / "home"),
            "TMPDIR": str(base / "home"),
            "XDG_CACHE_HOME": str(base / "home"),
        }
        for stream, log in ((1, logs["out"]), (2, logs["err"])):
            os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), stream)
        with Path("/dev/null").open() as nothing:
            os.dup2(nothing.fileno(), 0)
        words = door(scene.fate_of(name, number))
        logs["ready"].write_text(json.dumps({"words": words, "state": state(Path())}))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (2 * seconds_of(words),) * 2)
        resource.setrlimit(resource.RLIMIT_DATA, (_data() + 2 * MEGABYTES * 1024 * 1024,) * 2)
        sys.argv = ["phalanx", *words]
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:  # noqa: BLE001 - what an interpreter would do with it
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        ctypes.CDLL(None).fflush(None)
        os._exit(code)


def _data() -> int:
    """The bytes of data that this process has, as the limit counts them."""
    words = Path("/proc/self/status").read_text().split()
    return 1024 * int(words[words.index("VmData:") + 1])


def _wait(pid: int, began: float, ready: Path) -> float:
    """Until a process ends, or has had its time; how long it slept, which is neither the time that
    one of its threads, or a process that it began, ran nor the time that it waited for a processor.
    """
    watched = os.pidfd_open(pid)
    slept, may = 0.0, SECONDS
    busy: dict[int, float] = {}
    try:
        while not select.select([watched], [], [], 0.02 if time.monotonic() - began < 1 else 0.3)[
            0
        ]:
            took = time.monotonic() - began
            with contextlib.suppress(OSError, ValueError, IndexError):
                for one in [pid] if took < 1 else _session(pid):
                    busy[one] = max(busy.get(one, 0.0), _busy(one))
                slept = took - sum(busy.values())
                may = seconds_of(json.loads(ready.read_bytes())["words"])
            if slept > may + 1 or took > 30 * may:  # one that runs is stopped by its limit
                os.killpg(pid, signal.SIGKILL)
                break
    finally:
        os.close(watched)
    return max(0.0, slept)


def _busy(pid: int) -> float:
    """The seconds that a process ran, or waited for a processor, by its busiest thread."""
    with contextlib.suppress(OSError, ValueError):  # it ended meanwhile
        return max(
            sum(map(int, (task / "schedstat").read_text().split()[:2])) / 1e9
            for task in Path(f"/proc/{pid}/task").iterdir()
        )
    return 0.0


def _session(pid: int) -> list[int]:
    """A process that leads a session, and those that it began and are there."""
    found = [pid]
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if int(stat.read_text().rpartition(")")[2].split()[3]) == pid:
                found.append(int(stat.parent.name))
    return found


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return CODES.get(os.WEXITSTATUS(status), f"exit {os.WEXITSTATUS(status)}")


def broken(outcome: Outcome, out: bytes, err: bytes) -> list[str]:
    """The promises about output, exit code, time and memory that a command did not keep."""
    faults = [
        what for what, words in NEVER.items() if re.search(words, out + b"\n" + err, re.MULTILINE)
    ]
    if (
        outcome.ended == "done"
        and any(outcome.words[: len(begin)] == begin for begin in SHOW_RELEASED)
        and not err
        and not UNRELEASED.search(out)
    ):
        faults = [what for what in faults if what != "a value of the table"]
    if outcome.ended not in CODES.values():
        faults.append(f"it ended by {outcome.ended}")
    if outcome.seconds > seconds_of(outcome.words):
        faults.append(f"it took more than {seconds_of(outcome.words)} seconds")
    err = NOTE.sub(b"", err)
    if outcome.megabytes > MEGABYTES:
        faults.append(f"it took more than {MEGABYTES} MB")
    if outcome.ended != "refused":
        refused = outcome.ended == "does not hold" and SPOKEN.fullmatch(err)
        return faults + (
            ["it said something on standard error"] if err and not refused and not faults else []
        )
    if "--json" in outcome.words:
        try:
            said = json.loads(out).keys() == {"error"} and not err
        except ValueError:
            said = False
    else:
        said = bool(SPOKEN.fullmatch(err)) or (
            len(outcome.words) < 2 and not err and b"Usage: phalanx" in out
        )
    return faults + ([] if said else ["a refusal that is not one sentence"])


def state(world: Path) -> State:
    """What is there that a command may change: release folders and whether they are whole, the
    releases of ledgers, files by name.
    """
    releases, files = {}, []
    for folder, _, names in os.walk(world):
        files += [os.path.relpath(Path(folder, name), world) for name in names]
        if "release.json" in names:
            releases[os.path.relpath(folder, world)] = whole(Path(folder))
    ledgers = {name: recorded(world / name) for name in files if name.endswith(".db")}
    return {"releases": releases, "files": files, "ledgers": ledgers}


def seconds_of(words: list[str]) -> int:
    """How long a command may take: to compile all kernels takes longer than any other, and a point
    that is explored is several releases in a process of its own.
    """
    return {"warm": 12, "explore": 4}.get(" ".join(words[:1]), 1) * SECONDS


def whole(folder: Path) -> bool:
    """Whether the files of a folder are those of its manifest."""
    try:
        files = json.loads((folder / "release.json").read_bytes())["files"]
        return bool(files) and all(
            hashlib.sha256((folder / file["name"]).read_bytes()).hexdigest() == file["sha256"]
            for file in files
        )
    except (OSError, ValueError, TypeError, KeyError):
        return False


def recorded(ledger: Path) -> list[list[Any]] | None:
    """The releases in a ledger by series, number and digest; None where it cannot be read.

    A journal that somebody put beside it stops who may only read, and not a publisher.
    """
    for how in ("mode=ro", "immutable=1"):
        try:
            with contextlib.closing(sqlite3.connect(f"file:{ledger}?{how}", uri=True)) as opened:
                return sorted(
                    [str(each) for each in row]
                    for row in opened.execute("SELECT series, number, digest FROM releases")
                )
        except (sqlite3.Error, OverflowError, UnicodeDecodeError):
            continue
    return None


def left(outcome: Outcome, before: State, after: State) -> list[str]:
    """The promises about what a command leaves that were not kept."""
    fresh = [name for name in after["files"] if name not in before["files"]]
    published = {
        folder: is_whole
        for folder, is_whole in after["releases"].items()
        if folder not in before["releases"]
    }
    faults = [
        f"{name} is left over" for name in fresh if re.search(r"(^|/)\.|\.(new|next|part)$", name)
    ]
    faults += [
        f"{folder} is not a whole release" for folder, is_whole in published.items() if not is_whole
    ]
    entered = {
        name: [entry for entry in now if entry not in (before["ledgers"].get(name) or [])]
        for name, now in after["ledgers"].items()
        if now is not None
        and (before["ledgers"].get(name) is not None or name not in before["files"])
    }
    new = [entry for entries in entered.values() for entry in entries]
    if outcome.ended == "done":
        if outcome.words[:1] == ["studio"] and len(published) != len(new):
            faults.append(f"there are {len(published)} release(s) more and {len(new)} entries")
        if (
            outcome.words[:1] == ["publish"]
            and not {"-h", "--help"} & set(outcome.words)
            and not (len(published) == len(new) == 1)
        ):
            faults.append(
                f"it published, and there are {len(published)} release(s) more and {len(new)}"
                " entries"
            )
    elif published or new:
        faults.append(
            f"it failed, and there are {len(published)} release(s) more and {len(new)} entries"
        )
    elif strange := [
        name
        for name in fresh
        if not re.search(r"\.db(\.(key|mark))?$|(^|/)chart\.svg$|\.explore/", name)
    ]:
        faults.append(f"it failed and left {', '.join(strange[:3])}")
    return faults
