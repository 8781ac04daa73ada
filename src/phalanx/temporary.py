# SPDX-License-Identifier: Apache-2.0
"""Folders for a while, that only their owner may read: what a process leaves in them that is killed
is removed by the next one.
"""

import contextlib
import fcntl
import os
import platform
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PREFIX: Final = f"phalanx-private-{zlib.crc32(platform.node().encode()):08x}-"
"""Of this machine alone: the locks of others that share a folder with it are not seen here."""


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder, which is removed at the end; OSError where none can be made.

    It is locked as long as it is needed, and one without a lock is one that was left behind.
    """
    remove_left()
    folder, lock = _locked()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_left() -> None:
    """Remove such folders of this user, of processes that are no more."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                remove(Path(entry.path))


def _locked() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))  # of mode 0700
        with contextlib.suppress(FileNotFoundError):  # another process may take it for one left
            lock = os.open(folder, os.O_RDONLY)
            with contextlib.suppress(OSError):  # where there are no locks none is removed either
                fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def remove(folder: Path) -> None:
    """Remove a folder of this user that no process has locked; nothing where it is gone."""
    with contextlib.suppress(OSError):  # where it is in use, or gone already
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return
        lock = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
