# SPDX-License-Identifier: Apache-2.0
"""Staging folders: where a release is written and checked before it is handed out, and how an
interruption is mended.

The order is: stage and flush the files, check them, commit the ledger, rename the folder into
place. A crash before the commit leaves a staging folder that the ledger does not know: it is
removed. A crash after it leaves one that the ledger does know: it is renamed. A publisher at work
holds a lock on its folder, so that no process mends what is not broken.
"""

import contextlib
import errno
import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from phalanx import unfinished
from phalanx.errors import ReleaseError
from phalanx.ledger import ReleaseEntry
from phalanx.randomness import Randomness

REPORTS: Final = "reports"
"""The folder of the pages about releases, beside theirs, so that ``name-*`` names releases alone."""
_SUFFIX: Final = ".staging"
_RANDOM: Final = 16
ADDED: Final = len("..") + _RANDOM + len(_SUFFIX)
"""So many bytes has the name of a staging folder beside that of its series."""
_PATIENCE: Final = 5.0
"""So many seconds others wait for a publisher between its commit and the rename."""
_BLIND: Final = 1.0
"""So many for that of another user, of whom no reader sees whether they are at work."""
_STEP: Final = 0.02


@dataclass(eq=False)
class Folder:
    """A private folder beside the releases, locked while its publisher lives; removed on leaving
    unless it was handed out.
    """

    path: Path
    _lock: int
    recording: bool = False
    """Whether the ledger may know the folder, so that only :func:`recover` may remove it."""

    @classmethod
    def new(cls, to: Path, series: str) -> "Folder":
        """Make and lock a folder that only its owner may read."""
        while True:
            path = to / f".{series}.{_fresh_name()}{_SUFFIX}"
            path.mkdir(mode=0o700)
            _flush(to)  # the ledger must not outlive the name that it knows
            with contextlib.suppress(
                FileNotFoundError
            ):  # another publisher may have mended it away meanwhile
                lock = os.open(path, os.O_RDONLY)
                fcntl.flock(lock, fcntl.LOCK_EX)
                if path.exists():
                    unfinished.tell(path)
                    return cls(path, lock)
                os.close(lock)

    def begin_recording(self) -> None:
        """From here on the ledger may know it."""
        unfinished.tell(None)
        self.recording = True

    def hand_out(self, final: Path) -> None:
        """Give the folder its published name, durably."""
        _rename(self.path, final)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.recording:
            shutil.rmtree(self.path, ignore_errors=True)
            unfinished.tell(None)
        os.close(self._lock)


def make_room(to: Path) -> None:
    """Make the folder that gets the releases, and those above it, durably; a group may write there
    as the umask says, and no other user.
    """
    if not to.is_dir():
        make_room(to.parent)
        to.mkdir(mode=0o775, exist_ok=True)
        _flush(to.parent)


def check_room(to: Path) -> None:
    """OSError, as :func:`make_room` and what follows it give it, where no folder can be there, or
    none that may be written to; nothing is made.
    """
    there = above(to)
    if not there.is_dir():
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), there)
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), there)


def above(to: Path) -> Path:
    """The folder, or the nearest above it that is there."""
    here = (to, *to.absolute().parents)
    return next(path for path in here if path.exists() or path.is_symlink())


def check_known(to: Path, series: str, entries: Callable[[], Sequence[ReleaseEntry]]) -> None:
    """ReleaseError where a folder is called like a release that the ledger does not know, which may
    have left: where releases go to now, and where they went to before, as far as that can be looked at.

    ``entries`` reads the ledger; it is asked again where there is such a folder, since another
    process may have published it a moment ago.
    """
    known = entries()
    before = {Path(entry.folder).parent for entry in known} - {to}
    for place in (to, *(p for p in sorted(before) if os.access(p, os.R_OK | os.X_OK))):
        if later(place, series, len(known)) and (unknown := later(place, series, len(entries()))):
            raise ReleaseError(
                f"{unknown[0]} exists and is not in the ledger, which may be older than it; use the"
                " one that knows it, or enter it by 'phalanx series reconcile'."
            )


def later(to: Path, series: str, releases: int) -> list[Path]:
    """What is called like a release of a series behind the first so many, in order: the next one
    whatever it is, and further ones that are releases.
    """
    name = re.compile(rf"{re.escape(series)}-([1-9][0-9]{{0,17}})")
    folders = [
        (int(called[1]), path)
        for path in (to.iterdir() if to.is_dir() else ())
        if (called := name.fullmatch(path.name))
    ]
    return [
        path
        for number, path in sorted(folders)
        if number == releases + 1 or (number > releases and (path / "release.json").exists())
    ]


def hand_out_page(page: Path, final: Path) -> None:
    """Give a written page its name, durably; its folder is made where there is none, and an older
    page of that name is replaced whole or not at all.
    """
    _flush(page)
    make_room(final.parent)
    page.replace(final)
    _flush(final.parent)


def recover(to: Path, series: str, entries: Callable[[], Sequence[ReleaseEntry]]) -> list[Path]:
    """Finish or remove what interrupted publishers of a series left in a folder; the releases that
    got their names.

    ``entries`` reads the ledger. It is asked once the folders are locked: a publisher may commit
    until the moment it dies.
    """
    with contextlib.ExitStack() as locks:
        leftovers, busy, of_others = _opened(to, series, locks)
        if not leftovers and not busy and not of_others:
            return []
        known = {entry.staging: entry for entry in entries()}
        folder_of = {name: to / Path(entry.folder).name for name, entry in known.items()}
        for path, lock in busy:
            # its publisher is alive; once the ledger knows the folder, all that is left to do is the
            # rename, so wait for it
            if path.name in folder_of:
                if not _is_let_go(lock, fcntl.LOCK_EX):
                    raise _held(series, known[path.name].number, path)
                leftovers.append(path)
        put: list[Path] = []
        for path in leftovers:
            final = folder_of.get(path.name)
            if final is None:
                shutil.rmtree(path, ignore_errors=True)
            elif (
                path.exists() and not final.exists()
            ):  # where the name is taken, the release stays here until it is free
                if _is_renamed(path, final):
                    put.append(final)
                else:
                    of_others.append(path)
        for path in of_others:  # what the ledger does not know is their work, or was left by it
            if not put and path.name in known and not folder_of[path.name].exists():
                wait_for_name(path)
                if path.exists():
                    raise kept_by_another(series, known[path.name].number, path)
        return put


def _opened(
    to: Path, series: str, locks: contextlib.ExitStack
) -> tuple[list[Path], list[tuple[Path, int]], list[Path]]:
    """The staging folders of a series: those that are locked now, those that their publishers have
    locked, with what to lock, and those of other users, which can be neither opened nor locked.
    """
    leftovers, busy, of_others = [], [], []
    for path in _staged(to, series):
        try:
            lock = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            continue
        except PermissionError:
            of_others.append(path)
            continue
        locks.callback(os.close, lock)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            leftovers.append(path)
        except BlockingIOError:
            busy.append((path, lock))
    return leftovers, busy, of_others


def _is_renamed(path: Path, final: Path) -> bool:
    """Give a folder its name; whether it could be, as that of another user, who was killed shortly
    before, cannot.
    """
    try:
        _rename(path, final)
    except PermissionError:
        if path.stat().st_uid == os.geteuid():
            raise
        return False
    return True


def wait_for_publisher(path: Path) -> None:
    """Let the publisher of a staging folder that the ledger knows finish, which holds a lock until
    the folder has its name; some seconds at most.
    """
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:  # it has its name, or is of another user
        return
    try:
        _is_let_go(lock, fcntl.LOCK_SH)
    finally:
        os.close(lock)


def _is_let_go(lock: int, how: int) -> bool:
    """Wait for the publisher that holds a lock, some seconds at most; whether we hold it now."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(lock, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_STEP)
        else:
            return True


def wait_for_name(path: Path) -> None:
    """Let another user, who may be at work, give a staging folder its name; a moment at most."""
    until = time.monotonic() + _BLIND
    while path.exists() and time.monotonic() < until:
        time.sleep(_STEP)


def is_of_another(path: Path) -> bool:
    """Whether a staging folder is there that this user may not open."""
    try:
        os.close(os.open(path, os.O_RDONLY))
    except PermissionError:
        return True
    except OSError:
        return False
    return False


def _held(series: str, number: int, path: Path) -> ReleaseError:
    """What is said of a recorded release whose publisher lives and does not finish."""
    return ReleaseError(
        f"release {number} of {series!r} is recorded, and the process that publishes it stands still"
        f" before it names {path.name}; let it go on, or end it, and publish again."
    )


def kept_by_another(series: str, number: int, path: Path) -> ReleaseError:
    """What is said of a recorded release in a staging folder that this user may not open."""
    whose, who = "another user", "that user"
    with contextlib.suppress(KeyError, OSError):  # no name is known for it
        who = path.owner()
        whose = f"the user {who}"
    return ReleaseError(
        f"release {number} of {series!r} is recorded and still in a folder of {whose}; have"
        f" {who}, or an administrator, run 'phalanx publish' to finish it."
    )


def _staged(to: Path, series: str) -> list[Path]:
    """The staging folders of this series; those of a series whose name begins with this one's are
    not ours.
    """
    name = re.compile(rf"\.{re.escape(series)}\.[0-9a-f]{{{_RANDOM}}}{re.escape(_SUFFIX)}")
    there = to.iterdir() if to.is_dir() else ()
    return sorted(path for path in there if name.fullmatch(path.name) and path.is_dir())


def _fresh_name() -> str:
    return Randomness.secure().stream("staging folder").words(1).tobytes().hex()


def _rename(path: Path, final: Path) -> None:
    umask = _umask()
    for file in path.iterdir():
        file.chmod(0o644 & ~umask)
    path.chmod(0o755 & ~umask)
    path.rename(final)
    _flush(final.parent)


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def _flush(path: Path) -> None:
    """Make the bytes of a file, or the names in a folder, survive a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
