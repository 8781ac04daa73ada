# SPDX-License-Identifier: Apache-2.0
"""The folder in which a process writes what may not stay if it is ended, as it tells the process that
waits for it.
"""

import mmap
import os
from pathlib import Path
from typing import Final

_ROOM: Final = 1 << 14
_shared: list[mmap.mmap] = []
"""Memory that both processes see; none where no process waits."""


def share() -> None:
    """From now on what a child of this process tells is seen here."""
    _shared[:] = [mmap.mmap(-1, _ROOM)]


def tell(folder: Path | None) -> None:
    """Something unfinished is in this folder; None: nothing is."""
    for memory in _shared:
        name = b"" if folder is None else os.fsencode(folder.absolute())
        if len(name) < _ROOM:
            memory[: len(name) + 1] = name + b"\0"


def told() -> Path | None:
    """What was told last."""
    for memory in _shared:
        if name := memory[:].partition(b"\0")[0]:
            return Path(os.fsdecode(name))
    return None
