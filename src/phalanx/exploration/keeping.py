# SPDX-License-Identifier: Apache-2.0
"""The folder in which an exploration keeps rows and figures: private, of the one who explores, and
without a link, by which something would be written elsewhere.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from phalanx.errors import PlanError
from phalanx.plan import Plan

SPENT: Final = "spent.json"
"""What says, in the folder, that a sample was drawn, and of what."""
_OF_OTHERS = 0o022


def folder_of(plan: Plan) -> Path:
    """The folder of a plan, beside it."""
    return plan.path.absolute().parent / f"{plan.name}.explore"


def is_spent(plan: Plan) -> bool:
    """Whether a sample of its table was drawn."""
    return (folder_of(plan) / SPENT).exists()


def make_private(folder: Path) -> None:
    """Make the folder, if need be; PlanError where what is there came with something else, or may be
    written by others.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    about = folder.lstat()
    if (
        not stat.S_ISDIR(about.st_mode)
        or about.st_uid != os.geteuid()
        or about.st_mode & _OF_OTHERS
    ):
        raise PlanError(
            f"{folder} is a link, or others may write there; remove it, or name another folder."
        )
    for entry in sorted(folder.iterdir()):
        mode = entry.lstat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise PlanError(
                f"{entry} is a link or no file, and nothing is written through it; remove it."
            )


@contextmanager
def private_file(path: Path) -> Iterator[BinaryIO]:
    """A file of the folder, anew, which only its owner may read at any moment."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as file:
        os.fchmod(handle, 0o600)
        yield file
