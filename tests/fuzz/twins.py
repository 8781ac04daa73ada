# SPDX-License-Identifier: Apache-2.0
"""Doors with a planted defect each, which must be reported."""

import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fuzz import scene
from phalanx import verification as checking
from phalanx.errors import ReleaseError
from phalanx.series import series as publishing


def _read(instead: Callable[..., Any]) -> list[str]:
    """Let another function read releases, in this fork; and a command that reads one."""
    checking.read_releases = instead
    return ["verify", "out/ward-1"]


def raises(_: random.Random) -> list[str]:
    """An error that is not one of ours."""

    def instead(*_: Any) -> None:
        raise ZeroDivisionError

    return _read(instead)


def panics(_: random.Random) -> list[str]:
    """An error that is not even an Exception, as those of a library in Rust are."""

    class PanicException(BaseException):
        pass

    def instead(*_: Any) -> None:
        raise PanicException("assertion failed")

    return _read(instead)


def sleeps(_: random.Random) -> list[str]:
    """A command that does not come back."""
    return _read(lambda *_: time.sleep(1000))


def swells(_: random.Random) -> list[str]:
    """A command that takes all memory."""

    def instead(*_: Any) -> None:
        b"x" * (3 << 30)
        raise ReleaseError("it is too large; make it smaller.")

    return _read(instead)


def tells(_: random.Random) -> list[str]:
    """A refusal that quotes a person."""

    def instead(*_: Any) -> None:
        raise ReleaseError(f"the value {scene.MARKER} is odd; change it.")

    return _read(instead)


def tells_a_password(_: random.Random) -> list[str]:
    """A password in what is said."""
    return _read(lambda *_: sys.stderr.write(f"connecting as ann with {scene.PASSWORD}\n"))


def leaves_half(_: random.Random) -> list[str]:
    """A release of which the ledger knows nothing, and half of which is missing."""

    def instead(*_: Any, **__: Any) -> None:
        shutil.copytree("out/ward-1", "out/ward-3")
        Path("out/ward-3/data.csv").unlink()
        raise ReleaseError("it failed; try again.")

    publishing.Series.publish = instead
    return ["publish", "ward.toml", "--source", "t3.csv"]


def dies(_: random.Random) -> list[str]:
    """A process that is gone, with a code that is not documented."""
    return _read(lambda *_: os._exit(9))


TWINS = {
    raises: "a fault of Phalanx",
    panics: "a panic",
    sleeps: "it took more than 10 seconds",
    swells: "it took more than 2048 MB",
    tells: "a value of the table",
    tells_a_password: "a password",
    leaves_half: "is not a whole release",
    dies: "it ended by exit 9",
}
"""What each must be reported as."""
