# SPDX-License-Identifier: Apache-2.0
"""Interrupted at any point, a release is complete and in the ledger or absent from both; a
publisher at work is left alone.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.exceptions import PanicException

from phalanx import Intersection, MInvariance, Release, Schema, Series, verify
from phalanx.errors import LedgerError, ReleaseError
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.release import folder
from phalanx.series import drafting, earlier, staging

SCHEMA = Schema(identifier="who", quasi=["age"], sensitive="ill")

# Run by a process of its own. Arguments: folder, series, the step before or after which it dies (or
# "none"), whether to wait for a line first.
PUBLISHER = """
import os, sys
from pathlib import Path
import polars as pl
from phalanx import MInvariance, Release, Schema, Series
from phalanx.series import drafting, staging
from phalanx.errors import PhalanxError
from phalanx.ledger import Ledger
to, series, step, wait = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4] == "wait"
def dying(place, name, when):
    real = getattr(place, name)
    def call(*a, **k):
        if when == "before":
            os._exit(9)
        answer = real(*a, **k)
        os._exit(9)
    setattr(place, name, call)
steps = {
    "before write": (drafting, "write_folder", "before"), "after write": (drafting, "write_folder", "after"),
    "during check": (drafting, "verify", "before"), "before commit": (Ledger, "commit", "before"), "after commit": (Ledger, "commit", "after"),
    "before rename": (Path, "rename", "before"), "after rename": (staging.Folder, "hand_out", "after"), "before report": (Release, "report", "before"),
}
if step in steps:
    dying(*steps[step])
if wait:
    print("ready", flush=True)
    sys.stdin.readline()
table = pl.DataFrame({"who": range(40), "age": [20 + i % 9 for i in range(40)], "ill": ["abcde"[i % 5] for i in range(40)]})
schema = Schema(identifier="who", quasi=["age"], sensitive="ill")
try:
    made = Series(series, schema=schema, method=MInvariance(m=2), to=to, ledger=f"sqlite:///{to}/l.db", report=step == "before report").publish(table)
    print("published", made.number, flush=True)
except PhalanxError as error:
    print(error, flush=True)
"""

STEPS = [
    "before write",
    "after write",
    "during check",
    "before commit",
    "after commit",
    "before rename",
    "after rename",
    "before report",
]
KNOWN = {"after commit", "before rename", "after rename", "before report"}
"""At these steps the ledger knows the release already, ..."""
UNNAMED = {"after commit", "before rename"}
"""... and at these its folder has not got its name."""


def publisher(
    to: Path, series: str = "s", step: str = "none", *, wait: bool = False
) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PUBLISHER, str(to), series, step, "wait" if wait else "go"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def table(n: int = 40) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "who": range(n),
            "age": [20 + i % 9 for i in range(n)],
            "ill": ["abcde"[i % 5] for i in range(n)],
        }
    )


def series_in(to: Path, name: str = "s", **said: Any) -> Series:
    return Series(
        name,
        schema=SCHEMA,
        method=MInvariance(m=2),
        to=to,
        ledger=f"sqlite:///{to}/l.db",
        **{"report": False} | said,
    )


def goes_on(to: Path, name: str = "s", *, unnamed: bool) -> Release:
    """The next release; where one is still unnamed it is given its name first, and whoever asked is
    told to ask again.
    """
    if unnamed:
        with pytest.raises(ReleaseError, match=r"is in its place now; publish again for one"):
            series_in(to, name).publish(table())
    return series_in(to, name).publish(table())


def recorded(to: Path, name: str = "s") -> list[int]:
    with Ledger.open(f"sqlite:///{to}/l.db") as ledger:
        return [entry.number for entry in ledger.releases(name)]


def staged(to: Path) -> list[str]:
    return [p.name for p in to.iterdir() if p.name.startswith(".")]


def check_whole(to: Path, releases: int, name: str = "s") -> None:
    """So many releases, in the ledger and as folders, and nothing else is left."""
    assert recorded(to, name) == list(range(1, releases + 1))
    assert sorted(p.name for p in to.iterdir() if p.is_dir()) == [
        f"{name}-{n}" for n in range(1, releases + 1)
    ]
    assert staged(to) == []
    if releases:
        assert verify(
            [to / f"{name}-{n}" for n in range(1, releases + 1)], ledger=f"sqlite:///{to}/l.db"
        ).holds


def die(to: Path, series: str = "s", *, step: str) -> None:
    """Let a process of its own publish, and die at a step."""
    process = publisher(to, series, step)
    assert process.communicate(timeout=60)[0] == ""
    assert process.returncode == 9


@pytest.mark.parametrize(
    "step",
    [
        pytest.param(
            step, marks=[] if step in {"after write", "before rename"} else [pytest.mark.slow]
        )
        for step in STEPS
    ],
)
def test_a_process_that_dies(tmp_path: Path, step: str) -> None:
    """Killed at any step of the second release: the next publish succeeds, numbers have no gap, no
    folder is left over.
    """
    series_in(tmp_path).publish(table())
    die(tmp_path, step=step)
    assert recorded(tmp_path) == ([1, 2] if step in KNOWN else [1])
    made = goes_on(tmp_path, unnamed=step in UNNAMED)
    assert made.number == (3 if step in KNOWN else 2)
    check_whole(tmp_path, made.number)


class Death(BaseException):
    """Nothing of the publisher runs after it."""


OWNERS: dict[str, tuple[Any, str]] = {
    "before write": (drafting, "write_folder"), "after write": (drafting, "write_folder"), "during check": (drafting, "verify"),
    "before commit": (Ledger, "commit"), "after commit": (Ledger, "commit"), "before rename": (Path, "rename"),
    "after rename": (staging.Folder, "hand_out"), "before report": (Release, "report"),
}  # fmt: skip


@pytest.mark.parametrize("first", [True, False], ids=["first", "second"])
@pytest.mark.parametrize("step", STEPS)
def test_a_publisher_that_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, first: bool
) -> None:
    """The same at every step of the first and of the second release, with all that would clean up
    switched off.
    """
    before = 0 if first else series_in(tmp_path).publish(table()).number
    owner, name = OWNERS[step]
    real, recover = getattr(owner, name), staging.recover
    alive = True

    def dying(*a: Any, **k: Any) -> Any:
        nonlocal alive
        if step.startswith("after"):
            real(*a, **k)
        alive = False
        raise Death

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, dying)
        patch.setattr(staging.Folder, "__exit__", lambda self, *_: os.close(self._lock))
        patch.setattr(staging, "recover", lambda *a: recover(*a) if alive else [])
        with pytest.raises(Death):
            series_in(tmp_path, report=step == "before report").publish(table())
    assert len(recorded(tmp_path)) == before + (step in KNOWN)
    assert len(staged(tmp_path)) == (
        step != "after rename"
    )  # a report has a staging folder of its own
    made = goes_on(tmp_path, unnamed=step in UNNAMED)
    assert made.number == before + (step in KNOWN) + 1
    check_whole(tmp_path, made.number)


def test_what_is_put_in_its_place_is_told(tmp_path: Path) -> None:
    """Of a publisher that was killed between its commit and the rename: until then the next release
    can be looked at as if the name were there; the next publisher names it, and says so instead of
    publishing what may be the same table.
    """
    die(tmp_path, step="after commit")
    assert series_in(tmp_path).check(table()).number == 2
    assert len(staged(tmp_path)) == 1
    with pytest.raises(ReleaseError, match=r"^s-1 was recorded when its publication was interr"):
        series_in(tmp_path).publish(table())
    check_whole(tmp_path, 1)
    assert series_in(tmp_path).publish(table()).number == 2


def test_what_waits_for_its_name_is_looked_at_as_any_other(tmp_path: Path) -> None:
    """A release that is another one than the ledger recorded is none, wherever it lies."""
    die(tmp_path, step="after commit")
    (left,) = (tmp_path / name for name in staged(tmp_path))
    manifest = left / "release.json"
    manifest.write_text(re.sub(r'"rows": ?\d', '"rows": 9', manifest.read_text(), count=1))
    with pytest.raises(ReleaseError, match="put the published folder back"):
        series_in(tmp_path).check(table())


def interrupt(*_: Any, **__: Any) -> Any:
    raise KeyboardInterrupt


PLACES: dict[str, tuple[Any, str]] = {
    "write": (drafting, "write_folder"),
    "read back": (folder.Release, "read"),
    "check": (drafting, "verify"),
    "commit": (Ledger, "commit"),
    "rename": (staging.Folder, "hand_out"),
    "report": (Release, "report"),
}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("place", PLACES)
def test_a_publisher_that_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, when: str
) -> None:
    """Interrupted from the keyboard before or after any step, the publisher itself leaves all or
    nothing, at once.
    """
    owner, name = PLACES[place]
    real = getattr(owner, name)

    def then_interrupt(*a: Any, **k: Any) -> Any:
        real(*a, **k)
        interrupt()

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupt if when == "before" else then_interrupt)
        with pytest.raises(KeyboardInterrupt):
            series_in(tmp_path, report=place == "report").publish(table())
    committed = (place, when) == ("commit", "after") or place in {"rename", "report"}
    check_whole(tmp_path, 1 if committed else 0)
    assert series_in(tmp_path).publish(table()).number == (2 if committed else 1)


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full while the files are flushed: one sentence, nothing left, nothing
    recorded.
    """
    with monkeypatch.context() as patch:
        patch.setattr(folder, "_flush_folder", raising(OSError(28, "No space left on device")))
        with pytest.raises(ReleaseError, match=r"no space left on device.*nothing was published"):
            series_in(tmp_path).publish(table())
    check_whole(tmp_path, 0)


@pytest.mark.skipif(
    sys.platform != "linux", reason="the size of files is limited by Linux' RLIMIT_FSIZE"
)
def test_a_disk_that_fills_up_while_writing(tmp_path: Path) -> None:
    """Where the operating system refuses to let a file grow, the writer's error is one sentence and
    nothing is left.
    """
    limited = PUBLISHER.replace("import os, sys", "import os, sys, resource, signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)").replace(
        "try:\n", "real = drafting.write_folder\ndef small(*a, **k):\n    resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))\n    real(*a, **k)\n"
        "drafting.write_folder = small\ntry:\n", 1
    )  # fmt: skip
    series_in(tmp_path).publish(table())
    done = subprocess.run(
        [sys.executable, "-c", limited, str(tmp_path), "s", "none", "go"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    assert (
        "cannot be written (data.parquet does not fit, or its disk fails); nothing was published"
        in done.stdout
    )
    check_whole(tmp_path, 1)


def test_a_rename_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the commit the truth is told: the release is recorded; it waits under its staging name
    and is named by the next publish.
    """
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", raising(OSError(39, "Directory not empty")))
        with pytest.raises(
            ReleaseError,
            match=(
                r"release 1 is recorded and cannot be named .*s-1 \(directory not empty\); make"
                r" room"
            ),
        ):
            series_in(tmp_path).publish(table())
    assert recorded(tmp_path) == [1]
    assert len(staged(tmp_path)) == 1
    assert goes_on(tmp_path, unnamed=True).number == 2
    check_whole(tmp_path, 2)


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    """Where somebody took the name of a committed release, the release is kept until the name is
    free again.
    """
    die(tmp_path, step="after commit")
    (tmp_path / "s-1").mkdir()
    (tmp_path / "s-1" / "notes").write_text("mine")
    with pytest.raises(ReleaseError, match=r"s-1 is not a release folder"):
        series_in(tmp_path).publish(table())
    assert len(staged(tmp_path)) == 1
    shutil.rmtree(tmp_path / "s-1")
    assert goes_on(tmp_path, unnamed=True).number == 2
    check_whole(tmp_path, 2)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            OSError(28, "No space left on device"),
            r"no space left on device; make room, and make it by 'phalanx report'\.$",
        ),
        (ReleaseError("the release says so"), "the release says so"),
        (LedgerError("the ledger says so"), "the ledger says so"),
        (
            KeyError("a person's value"),
            r"a fault of Phalanx itself \(KeyError in test_staging.py, line [0-9]+\); please .*",
        ),
        (MemoryError(), "this needs more memory than is left; .*"),
        (PanicException("a value"), r"a fault of Phalanx itself \(PanicException in .*"),
    ],
    ids=["disk", "refused", "of another kind", "fault", "memory", "panic"],
)
def test_a_report_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, why: str
) -> None:
    """A report that cannot be written does not undo the release, whatever the fault, and the error
    does not say that it did.
    """
    monkeypatch.setattr(Release, "report", raising(error))
    with pytest.raises(
        ReleaseError,
        match=(
            r"release 1 is published as .*s-1; do not publish it again. Its report cannot be written:"
            f" {why}"
        ),
    ):
        series_in(tmp_path, report=True).publish(table())
    check_whole(tmp_path, 1)


def test_a_report_that_does_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said names no staging folder, which is gone by then."""
    full = OSError(28, "No space left on device", "page")
    monkeypatch.setattr("phalanx.report.write_report", raising(full))
    with pytest.raises(ReleaseError, match=r"cannot be written: no space left on device;") as said:
        series_in(tmp_path, report=True).publish(table())
    assert "staging" not in str(said.value)
    check_whole(tmp_path, 1)


def test_the_staging_folder_of_a_live_publisher(tmp_path: Path) -> None:
    """A locked folder is left alone, by publishing and by recovering; once its publisher is gone it
    is removed.
    """
    with staging.Folder.new(tmp_path, "s") as staging_folder:
        assert staging_folder.path.stat().st_mode & 0o777 == 0o700
        assert series_in(tmp_path).publish(table()).number == 1
        assert staged(tmp_path) == [staging_folder.path.name]
        staging_folder.recording = True  # leaving does not remove it, as if its process were killed
    assert staged(tmp_path) == [staging_folder.path.name]
    assert series_in(tmp_path).publish(table()).number == 2
    check_whole(tmp_path, 2)


def test_the_folders_of_another_series(tmp_path: Path) -> None:
    """A series whose name begins with ours, or matches ours as a pattern, keeps its staging
    folders: here one that is committed and not yet named.
    """
    die(tmp_path, "a.b", step="after commit")
    assert len(staged(tmp_path)) == 1
    for name in ("a", "a.", "[a].b", "?.b"):
        assert series_in(tmp_path, name).publish(table()).number == 1
        assert len(staged(tmp_path)) == 1
    assert goes_on(tmp_path, "a.b", unnamed=True).number == 2


def entry_of(path: Path, final: Path) -> ReleaseEntry:
    return ReleaseEntry(number=1, folder=str(final), staging=path.name, digest="00", summary={})


def left_over(to: Path) -> Path:
    """A staging folder whose publisher is gone."""
    with staging.Folder.new(to, "s") as staging_folder:
        staging_folder.recording = True
    return staging_folder.path


def test_a_publisher_that_commits_and_dies_while_another_looks(tmp_path: Path) -> None:
    """The ledger is asked only when the folders are locked, so a release committed a moment ago is
    renamed and not removed.
    """
    path = left_over(tmp_path)
    asked_while_locked = []

    def entries() -> list[ReleaseEntry]:
        lock = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            asked_while_locked.append(True)
        finally:
            os.close(lock)
        return [entry_of(path, tmp_path / "s-1")]

    staging.recover(tmp_path, "s", entries)
    assert asked_while_locked == [True]
    assert (tmp_path / "s-1").is_dir()
    assert staged(tmp_path) == []


def test_the_ledger_is_not_asked_for_nothing(tmp_path: Path) -> None:
    """Without staging folders there is nothing to decide; a folder that does not exist has none."""
    staging.recover(tmp_path, "s", interrupt)
    staging.recover(tmp_path / "nowhere", "s", interrupt)


def test_a_publisher_between_commit_and_rename_is_waited_for(tmp_path: Path) -> None:
    """Whoever publishes next waits for the rename that is about to come, and does not find the
    release missing.
    """
    final = tmp_path / "s-1"
    with staging.Folder.new(tmp_path, "s") as staging_folder:
        found: list[bool] = []

        def look() -> None:
            staging.recover(tmp_path, "s", lambda: [entry_of(staging_folder.path, final)])
            found.append(final.is_dir())

        waiting = threading.Thread(target=look)
        waiting.start()
        time.sleep(0.1)
        assert found == []
        staging_folder.recording = True
        staging_folder.hand_out(final)
    waiting.join(10)
    assert found == [True]


def test_a_publisher_that_stands_still_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was stopped between commit and rename: who publishes next is told, nothing is
    moved, and the release gets its name once that process is gone.
    """
    monkeypatch.setattr(staging, "_PATIENCE", 0.1)
    final = tmp_path / "s-1"
    with staging.Folder.new(tmp_path, "s") as stopped:
        stopped.recording = True

        def entries() -> list[ReleaseEntry]:
            return [entry_of(stopped.path, final)]

        with pytest.raises(
            ReleaseError, match=r"release 1 of 's' is recorded, and the process .* stands still"
        ):
            staging.recover(tmp_path, "s", entries)
        assert staged(tmp_path) == [stopped.path.name]
    assert staging.recover(tmp_path, "s", entries) == [final]


def lock_others_out(to: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let the staging folders that are there now be of a user whose folders cannot be opened; the
    name of their owner.
    """
    real, theirs = os.open, {path.name for path in to.iterdir() if path.name.startswith(".")}
    assert theirs

    def opened(path: Any, *a: Any, **k: Any) -> int:
        if Path(path).name in theirs:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *a, **k)

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(staging, "_BLIND", 0.1)
    return next(path for path in to.iterdir() if path.name in theirs).owner()


def test_the_work_of_another_user_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A staging folder that cannot be opened and that the ledger does not know is no one's
    concern but its owner's: it stays, and others publish.
    """
    series_in(tmp_path).publish(table())
    theirs = left_over(tmp_path)
    with monkeypatch.context() as patch:
        lock_others_out(tmp_path, patch)
        assert series_in(tmp_path).check(table()).number == 2
        assert series_in(tmp_path).publish(table()).number == 2
        assert series_in(tmp_path).verify().holds
    assert staged(tmp_path) == [theirs.name]


def test_a_recorded_release_that_another_user_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever publishes, checks or reads is told whose folder it is in, and who can finish it; it
    stays as it is until then.
    """
    series_in(tmp_path).publish(table())
    die(tmp_path, step="after commit")
    (left,) = staged(tmp_path)
    series = series_in(tmp_path)
    with monkeypatch.context() as patch:
        owner = lock_others_out(tmp_path, patch)
        for use in (
            lambda: series.publish(table()),
            lambda: series.check(table()),
            series.verify,
            lambda: series.estimate(pl.len()),
        ):
            with pytest.raises(
                ReleaseError,
                match=(
                    rf"^release 2 of 's' is recorded and still in a folder of the user {owner}; have"
                    rf" {owner}, or an administrator, run 'phalanx publish' to finish it\.$"
                ),
            ):
                use()
        patch.setattr(Path, "owner", raising(KeyError("uid")))
        with pytest.raises(ReleaseError, match="in a folder of another user; have that user, or"):
            series.publish(table())
        assert staged(tmp_path) == [left]
        assert recorded(tmp_path) == [1, 2]
    assert goes_on(tmp_path, unnamed=True).number == 3
    check_whole(tmp_path, 3)


@pytest.mark.parametrize("use", ["publish", "check", "verify"])
def test_another_user_who_is_at_work_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    """Between the commit and the rename there are milliseconds, so what cannot be opened is looked at
    once more.
    """
    series_in(tmp_path).publish(table())
    die(tmp_path, step="after commit")
    (left,) = staged(tmp_path)
    lock_others_out(tmp_path, monkeypatch)
    monkeypatch.setattr(staging, "_BLIND", 30.0)
    looked = threading.Event()
    real = time.sleep

    def slept(seconds: float) -> None:
        looked.set()
        real(seconds)

    monkeypatch.setattr(time, "sleep", slept)
    naming = threading.Thread(
        target=lambda: looked.wait(20) and staging._rename(tmp_path / left, tmp_path / "s-2")
    )
    naming.start()
    try:
        arguments = () if use == "verify" else (table(),)
        made = getattr(series_in(tmp_path), use)(*arguments)
    finally:
        naming.join(30)
    assert looked.is_set()
    assert made.holds if use == "verify" else made.number == 3


def test_a_folder_that_another_user_left_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the middle of the rename, when the folder could be opened already: who may not change
    it is told the same.
    """
    die(tmp_path, step="after commit")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "chmod", raising(PermissionError(1, "Operation not permitted")))
        with pytest.raises(ReleaseError, match="cannot be written"):
            series_in(tmp_path).publish(table())
        patch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
        patch.setattr(staging, "_BLIND", 0.1)
        left = tmp_path / staged(tmp_path)[0]
        with pytest.raises(
            ReleaseError, match="release 1 of 's' is recorded and still in a folder"
        ):
            staging.recover(tmp_path, "s", lambda: [entry_of(left, tmp_path / "s-1")])
    assert goes_on(tmp_path, unnamed=True).number == 2


USES: dict[str, Callable[[Series], Any]] = {
    "publish": lambda series: series.publish(table()).number == 3,
    "check": lambda series: series.check(table()).number == 3,
    "verify": lambda series: series.verify().holds,
    "estimate": lambda series: len(series.estimate(pl.len())) == 2,
    "attack": lambda series: series.attack(Intersection(), originals=[table()] * 2) is not None,
}


def between_commit_and_rename(
    to: Path, monkeypatch: pytest.MonkeyPatch, go: threading.Event
) -> threading.Thread:
    """A publisher of the second release, who stands there until ``go``."""
    series_in(to).publish(table())
    real, stands = staging.Folder.hand_out, threading.Event()

    def hand_out(self: staging.Folder, final: Path) -> None:
        if final.name == "s-2":
            stands.set()
            go.wait(60)
        real(self, final)

    monkeypatch.setattr(staging.Folder, "hand_out", hand_out)
    publishing = threading.Thread(target=lambda: series_in(to).publish(table()))
    publishing.start()
    assert stands.wait(60)
    return publishing


@pytest.mark.parametrize("use", USES)
def test_a_reader_waits_for_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    """Who reads a release whose publisher is between the commit and the rename waits, and reads it
    under its name.
    """
    go = threading.Event()
    publishing = between_commit_and_rename(tmp_path, monkeypatch, go)
    recover, sleep, waited = staging.recover, time.sleep, []
    monkeypatch.setattr(staging, "_PATIENCE", 60.0)
    monkeypatch.setattr(staging, "recover", lambda *a: recover(*a) if go.is_set() else [])

    def slept(seconds: float) -> None:
        waited.append(seconds)
        go.set()
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", slept)
    try:
        assert USES[use](series_in(tmp_path))
    finally:
        go.set()
        publishing.join(60)
    assert waited
    check_whole(tmp_path, 3 if use == "publish" else 2)


@pytest.mark.parametrize("use", USES)
def test_a_release_gets_its_name_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    """Where a publisher takes longer than a reader waits, and gives the name after it was looked
    where the release lies: it is looked once more.
    """
    go = threading.Event()
    publishing = between_commit_and_rename(tmp_path, monkeypatch, go)
    lies_at, unnamed = earlier.lies_at, []

    def looked(entry: ReleaseEntry, to: Path) -> Path:
        place = lies_at(entry, to)
        if place.name == entry.staging:
            unnamed.append(place)
            go.set()
            publishing.join(60)
        return place

    recover = staging.recover
    monkeypatch.setattr(staging, "recover", lambda *a: recover(*a) if go.is_set() else [])
    monkeypatch.setattr(staging, "_PATIENCE", 0.0)
    monkeypatch.setattr(earlier, "lies_at", looked)
    try:
        assert USES[use](series_in(tmp_path))
    finally:
        go.set()
        publishing.join(60)
    assert len(unnamed) == 1
    check_whole(tmp_path, 3 if use == "publish" else 2)


def test_what_is_gone_is_looked_for_once(tmp_path: Path) -> None:
    """A release that is nowhere is not waited for, and is said to be missing where it was."""
    series = series_in(tmp_path)
    shutil.rmtree(series.publish(table()).path)
    with pytest.raises(ReleaseError, match="s-1 is not a release folder"):
        series.verify()


def test_a_folder_that_is_mended_away_while_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new folder that another publisher removes before it is locked is made again under another
    name.
    """
    real, removed = os.open, []

    def opened(path: Any, *a: Any, **k: Any) -> int:
        if len(removed) < 2 and str(path).endswith(".staging"):
            removed.append(path)
            Path(path).rmdir()
        return real(path, *a, **k)

    monkeypatch.setattr(os, "open", opened)
    with staging.Folder.new(tmp_path, "s") as staging_folder:
        assert staging_folder.path.is_dir()
        assert len(removed) == 2


def test_published_folders_may_be_read_by_those_whom_the_umask_lets(tmp_path: Path) -> None:
    """The staging folder is private; the release has the mode that any new folder has."""
    umask = os.umask(0o027)
    try:
        path = series_in(tmp_path).publish(table()).path
    finally:
        os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o750


def test_what_is_no_folder_is_no_staging_folder(tmp_path: Path) -> None:
    """A pipe of such a name is not waited for, and left alone."""
    os.mkfifo(tmp_path / ".s.0123456789abcdef.staging")
    assert series_in(tmp_path).publish(table()).path.is_dir()
    assert (tmp_path / ".s.0123456789abcdef.staging").is_fifo()


def test_no_folder_may_be_written_by_everybody(tmp_path: Path) -> None:
    """Whatever the umask: another user could lay a page or a link where the next one is written; and
    the internal page is read by its owner alone, one for outside by whom the umask lets.
    """
    umask = os.umask(0)
    try:
        published = series_in(tmp_path, report=True).publish(table())
        outside = published.report(tmp_path / "outside.html", audience="external")
    finally:
        os.umask(umask)
    assert outside.stat().st_mode & 0o777 == 0o644
    for path in published.path.parent.rglob("*"):
        assert path.stat().st_mode & 0o002 == 0, path
    assert published.page is not None and published.page.stat().st_mode & 0o777 == 0o600


def start(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def test_two_publishers_of_one_series(tmp_path: Path) -> None:
    """At the same time: one publishes release 1; the other is told so in one sentence, or, being
    later, publishes release 2.
    """
    two = [publisher(tmp_path, wait=True) for _ in range(2)]
    start(*two)
    said = sorted(process.communicate(timeout=60)[0].strip() for process in two)
    assert said[0] == "published 1"
    assert said[1] in {
        "published 2",
        (
            "release 1 of series 's' was published by another process meanwhile; publish again to"
            " make release 2."
        ),
    }
    check_whole(tmp_path, 2 if said[1] == "published 2" else 1)


def test_somebody_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A publisher that is overtaken between its check and its commit publishes nothing and says
    why; the other's release stands.
    """
    real, overtaken = drafting.verify, []

    def verify_slowly(*a: Any, **k: Any) -> Any:
        if not overtaken:
            overtaken.append(True)
            series_in(tmp_path).publish(table(30))
        return real(*a, **k)

    monkeypatch.setattr(drafting, "verify", verify_slowly)
    with pytest.raises(
        LedgerError, match="published by another process meanwhile; publish again to make release 2"
    ):
        series_in(tmp_path).publish(table(40))
    check_whole(tmp_path, 1)
    assert Release.read(tmp_path / "s-1").form.rows >= 30


def test_two_publishers_of_two_series(tmp_path: Path) -> None:
    """Different series in one folder and one ledger do not disturb each other."""
    two = [publisher(tmp_path, name, wait=True) for name in ("s", "s.t")]
    start(*two)
    assert [process.communicate(timeout=60)[0].strip() for process in two] == ["published 1"] * 2
    assert recorded(tmp_path, "s") == recorded(tmp_path, "s.t") == [1]


@pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL elsewhere")
@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1])
def test_killed_at_any_moment(tmp_path: Path, delay: float) -> None:
    """Killed at a moment of the clock's choosing, whatever was under way is whole or gone after the
    next publish.
    """
    process = publisher(tmp_path, wait=True)
    start(process)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    check_whole(tmp_path, series_in(tmp_path).publish(table()).number)


@pytest.mark.parametrize("step", ["none", "after commit"])
def test_a_folder_that_was_renamed(tmp_path: Path, step: str) -> None:
    """The series goes on where its releases lie now, also one that has no name yet, and its ledger
    is asked for no folder that is gone.
    """
    was, now = tmp_path / "was", tmp_path / "now"
    series_in(was).publish(table())
    if step != "none":
        die(was, step=step)
    was.rename(now)
    made = goes_on(now, unnamed=step != "none")
    assert made.number == (2 if step == "none" else 3)
    check_whole(now, made.number)
    assert series_in(now).verify().holds
    assert not was.exists()


def test_a_release_of_another_folder_is_not_taken_for_one_that_is_gone(tmp_path: Path) -> None:
    """Where one lies by its name that is not what the ledger recorded."""
    was, now = tmp_path / "was", tmp_path / "now"
    series_in(was).publish(table())
    series_in(now).publish(table(60))
    shutil.rmtree(was / "s-1")
    with pytest.raises(ReleaseError, match="now/s-1 is not what the ledger recorded as release 1"):
        Series(
            "s", schema=SCHEMA, method=MInvariance(m=2), to=now, ledger=f"sqlite:///{was}/l.db"
        ).publish(table())
