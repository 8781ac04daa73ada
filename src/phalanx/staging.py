"""Staging folders: where a release is written and checked before it is handed out, and how an interruption is mended.

The order is: stage and flush the files, check them, commit the ledger, rename the folder into place. A crash before the commit leaves a staging
folder that the ledger does not know: it is removed. A crash after it leaves one that the ledger does know: it is renamed. A publisher at work
holds a lock on its folder, so that nobody mends what is not broken.
"""

import contextlib
import fcntl
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from phalanx.ledger import ReleaseEntry
from phalanx.randomness import Randomness

_SUFFIX = ".staging"


@dataclass(eq=False)
class Folder:
    """A private folder beside the releases, locked while its publisher lives; removed on leaving unless it was handed out."""

    path: Path
    _lock: int
    recording: bool = False
    """From here on the ledger may know the folder, so that only :func:`recover` may remove it."""

    @classmethod
    def new(cls, to: Path, series: str) -> "Folder":
        """Make and lock a folder that only its owner may read."""
        while True:
            path = to / f".{series}.{_fresh_name()}{_SUFFIX}"
            path.mkdir(mode=0o700)
            lock = os.open(path, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if path.exists():  # another publisher may have mended it away between the two calls
                return cls(path, lock)
            os.close(lock)

    def hand_out(self, final: Path) -> None:
        """Give the folder its published name, durably."""
        _rename(self.path, final)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if not self.recording:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def recover(to: Path, series: str, entries: Sequence[ReleaseEntry]) -> None:
    """Finish or remove what interrupted publishers of a series left in a folder."""
    by_staging = {entry.staging: entry for entry in entries}
    for path in sorted(to.glob(f".{_escaped(series)}.*{_SUFFIX}")):
        with contextlib.suppress(FileNotFoundError):
            lock = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # its publisher is alive
            else:
                entry = by_staging.get(path.name)
                if entry is not None and not Path(entry.folder).exists():
                    _rename(path, Path(entry.folder))
                else:
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(lock)


def _fresh_name() -> str:
    return Randomness.secure().stream("staging folder").words(1).tobytes().hex()


def _rename(path: Path, final: Path) -> None:
    umask = os.umask(0)
    os.umask(umask)
    path.chmod(0o777 & ~umask)
    path.rename(final)
    parent = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)


def _escaped(series: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in series)
