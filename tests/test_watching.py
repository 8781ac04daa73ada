# SPDX-License-Identifier: Apache-2.0
"""The installed command waits for a process of its own, leaves as it does, and says what ended it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from phalanx import watching

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="elsewhere a command is one process"
)
START = """
import os, signal, sys, time
from phalanx import cli, watching
cli.main = lambda: {}
watching.start()
"""


def started(what, *words):
    """A command that does ``what``."""
    return subprocess.Popen(
        [sys.executable, "-c", START.format(what), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(what, *words):
    """How it ends, and what is written."""
    with started(what, *words) as run:
        out, err = run.communicate(timeout=60)
    return run.returncode, out, err


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGABRT, "the memory ran out; use a larger machine, "),
        (signal.SIGKILL, "the system ended the process, most likely as the memory ran out; "),
        (signal.SIGSEGV, "a library failed and ended the process; run it again, "),
        (signal.SIGBUS, "a library failed and ended the process; run it again, "),
    ],
)
def test_a_process_that_is_ended_is_a_sentence(number, words):
    """On standard error, or as JSON, and exit code 2."""
    kill = f"os.kill(os.getpid(), {int(number)})"
    code, out, err = ended(kill)
    assert (code, out) == (2, "")
    assert err.startswith(f"phalanx: {words}")
    code, out, err = ended(kill, "--json")
    assert (code, err) == (2, "")
    assert json.loads(out)["error"].startswith(words)


@pytest.mark.parametrize("what", ["os._exit(1)", "os._exit(0)", "1 / 0"])
def test_a_library_that_leaves_is_no_verdict(what):
    """With the code of a check that does not hold, or of one that does; nor is a fault of ours that
    nothing catches.
    """
    code, out, err = ended(what)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("phalanx: a library failed and ended the process; ")


def test_what_a_killed_process_had_for_a_while_is_removed(tmp_path, monkeypatch):
    """Rows of a table, where an exploration of it was ended."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    kept = "setattr(cli, 'kept', __import__('phalanx.temporary').temporary.temporary_folder())"
    there = "print(*os.listdir(cli.kept.__enter__().parent), flush=True)"
    code, out, _ = ended(f"({kept}, {there}, os.kill(os.getpid(), 9))")
    assert code == 2
    assert out.startswith("phalanx-private-")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("recording", [False, True])
@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGKILL, signal.SIGTERM])
def test_an_unfinished_release_is_removed(tmp_path, number, recording):
    """Which nobody checked, and of the size of a table; not one that the ledger may know."""
    staging = "__import__('phalanx.series.staging').series.staging"
    made = f"{staging}.Folder.new(__import__('pathlib').Path({str(tmp_path)!r}), 's')"
    records = "cli.kept.begin_recording(), " * recording
    ended(f"(setattr(cli, 'kept', {made}), {records}os.kill(os.getpid(), {int(number)}))")
    assert [folder.suffix for folder in tmp_path.iterdir()] == [".staging"] * recording


def test_memory_that_runs_out_in_a_library_is_a_sentence():
    """Polars ends the process where its memory is refused."""
    little = "(__import__('resource').setrlimit(9 - 7, (1 << 29, 1 << 29)), "
    code, _, err = ended(f"{little}__import__('polars').int_range(0, 1 << 30, eager=True))")
    assert code == 2
    assert err.splitlines()[-1].startswith("phalanx: the memory ran out; ")


@pytest.mark.parametrize(
    ("what", "code"),
    [
        *(("print('done')", 0), ("(print('done'), sys.exit(70))", 70)),
        *(("(print('done'), exit())", 0), ("(print('done'), sys.exit(1))", 1)),
        ("(__import__('atexit').register(os.abort), print('done'))", 0),
    ],
)
def test_it_leaves_as_the_process_does(what, code):
    """With its exit code, and all that it wrote; also where it fails when all is done."""
    assert ended(what) == (code, "done\n", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE])
def test_an_end_that_was_asked_for_stays_that_end(number):
    """What waits for the command sees the signal."""
    kill = f"(signal.signal({int(number)}, signal.SIG_DFL), os.kill(os.getpid(), {int(number)}))"
    assert ended(kill) == (-number, "", "")


WAITS = "(print(os.getpid(), flush=True), time.sleep(60))"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_it_is_sent_is_handed_on(number):
    """Ctrl-C from another process, or a request to end, comes to the process that works."""
    with started(WAITS) as run:
        run.stdout.readline()
        run.send_signal(number)
        assert run.wait(timeout=30) == (130 if number == signal.SIGINT else -number)
        assert ("interrupted" in run.stderr.read()) == (number == signal.SIGINT)


def is_there(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_who_kills_it_kills_the_process_that_works():
    """No release goes on that nobody waits for."""
    with started(WAITS) as run:
        child = int(run.stdout.readline())
        assert child != run.pid
        assert is_there(child)
        run.kill()
        run.wait()
        for _ in range(100):
            if not is_there(child):
                break
            time.sleep(0.1)
        assert not is_there(child)


@pytest.mark.parametrize("refused", ["fork", "pipe"])
def test_where_no_process_may_be_started_it_does_the_work_itself(monkeypatch, refused):
    """And takes its signals as before; the same where no file may be opened."""

    def fails():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    monkeypatch.setattr(os, refused, fails)
    watching.in_its_own_process()(0)
    assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == before


@pytest.mark.parametrize("what", ["print('done')", "os.kill(os.getpid(), 9)"])
def test_a_starter_that_ignores_the_ends_of_its_children_changes_nothing(what):
    """The system does not tell of them then, unless it is asked to."""
    run = subprocess.run(
        [sys.executable, "-c", START.format(what)],
        capture_output=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
    )
    assert run.returncode == (0 if "done" in what else 2)


def test_a_signal_without_a_name_stays_that_end():
    """Real-time signals have none in Python."""
    assert ended("os.kill(os.getpid(), signal.SIGRTMIN + 6)") == (-signal.SIGRTMIN - 6, "", "")


@pytest.mark.parametrize(("closed", "words"), [(2, []), (1, ["--json"])])
def test_where_nothing_can_be_written_the_code_says_it(closed, words):
    """And never the one of a check that does not hold."""
    run = subprocess.run(
        [sys.executable, "-c", START.format("os.kill(os.getpid(), 9)"), *words],
        timeout=60,
        check=False,
        preexec_fn=lambda: os.close(closed),
    )
    assert run.returncode == 2


def test_what_a_library_writes_to_a_closed_stream_is_no_code():
    """The process says its exit code where nothing else is written."""
    run = subprocess.run(
        [sys.executable, "-c", START.format("(os.write(2, b'x'), os.kill(os.getpid(), 9))")],
        timeout=60,
        check=False,
        preexec_fn=lambda: (os.close(1), os.close(2)),
    )
    assert run.returncode == 2


def test_an_interruption_of_the_whole_group_comes_once():
    """A second one would interrupt what cleans up after the first; a later one still comes."""
    twice = (
        "exec('try: print(1, flush=True); time.sleep(60)\\n'"
        "'except KeyboardInterrupt:\\n'"
        "'    for _ in range(100): time.sleep(0.003)\\n'"
        "'    print(2, flush=True); time.sleep(60)')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", START.format(twice)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as run:
        for line in ("1\n", "2\n"):
            assert run.stdout.readline() == line
            time.sleep(1)
            os.killpg(run.pid, signal.SIGINT)
        assert run.wait(timeout=30) == 130


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_is_handed_on_late_interrupts_nothing_more(order):
    """However long after it came by itself, or before: a machine may be busy."""
    cleans = (
        "exec('try: print(os.getpid(), flush=True); time.sleep(60)\\n'"
        "'except KeyboardInterrupt: time.sleep(1.5); print(2, flush=True)')"
    )
    with started(cleans) as run:
        child = int(run.stdout.readline())
        for which in order:
            os.kill(child, (signal.SIGINT, watching._HANDED_ON)[which])
            time.sleep(0.8)
        assert run.stdout.readline() == "2\n"
        assert run.wait(timeout=30) == 0


def test_the_first_process_of_a_container_leaves_as_a_shell_says_it(monkeypatch):
    """No signal ends it that it sends to itself."""
    left = []
    monkeypatch.setattr(os, "kill", lambda *_: None)
    monkeypatch.setattr(os, "_exit", left.append)
    before = signal.getsignal(signal.SIGTERM)
    watching._leave_as(-signal.SIGTERM, os.pipe()[0])
    signal.signal(signal.SIGTERM, before)
    assert left == [128 + signal.SIGTERM]


def test_an_interruption_while_it_is_loaded_is_a_sentence():
    """And exit code 130, as later."""
    raised = "(_ for _ in ()).throw(KeyboardInterrupt)"
    assert ended(raised) == (130, "", "phalanx: interrupted.\n")


def test_only_of_a_publication_it_is_said_that_it_is_whole():
    """Other commands make no release."""
    kill = f"os.kill(os.getpid(), {int(signal.SIGKILL)})"
    said = "sys.argv.append('{}'); watching.start()"
    ends = {
        word: subprocess.run(
            [
                sys.executable,
                "-c",
                START.format(kill).replace("watching.start()", said.format(word)),
            ],
            capture_output=True,
            check=False,
            text=True,
        ).stderr
        for word in ("publish", "verify")
    }
    assert {word: "published whole" in text for word, text in ends.items()} == {
        "publish": True, "verify": False
    }  # fmt: skip
