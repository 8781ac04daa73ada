# SPDX-License-Identifier: Apache-2.0
"""Doors with a planted defect each, which must be reported."""

import os
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from fuzz import explorers, packages, scene, studios
from phalanx.data.sources import workbooks
from phalanx.errors import ReleaseError
from phalanx.exploration import exploring
from phalanx.exploration.points import Point
from phalanx.series import series as publishing
from phalanx.studio import app
from phalanx.studio.door import Door
from phalanx.verification import check as checking


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


def lets_strangers_in(_: random.Random) -> list[str]:
    """A studio that does what a page of another site asks."""

    def visit(address: str, _: Any) -> None:
        visitor = studios.Visitor(address)
        body = f"stamp={'0' * 32}&column=1&role=drop".encode()
        elsewhere = {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}
        visitor.ask("POST", "/data/role", elsewhere, body, stranger=True)

    Door._refusal = lambda *_: ""
    actions = {path: lambda *_, **__: "/data" for path in app.ACTIONS}
    app.ACTIONS = actions
    studios.visited_by(visit)
    return ["studio", "ward.toml"]


def stumbles_over_a_form(_: random.Random) -> list[str]:
    """A studio that some form is a fault of ours for, which tells what the form was about."""

    def broken(*_: Any, **__: Any) -> str:
        raise ZeroDivisionError(scene.MARKER)

    app.ACTIONS = dict.fromkeys(app.ACTIONS, broken)
    studios.visited_by(
        lambda address, _: studios.Visitor(address).ask("POST", "/check", {}, b"") and None
    )
    return ["studio", "ward.toml"]


def tells_of_a_point(_: random.Random) -> list[str]:
    """A point of a grid that is refused with a value of somebody."""

    def instead(*_: Any) -> Iterator[tuple[int, dict[str, Any]]]:
        why = f"the value {scene.MARKER} is too frequent."
        yield 0, Point(number=2, method={"name": "slicing"}, refused=why).to_json()

    exploring.answers = instead
    return [*explorers.RESUMED, "--try", "slicing l=2"]


def unpacks_a_bomb(_: random.Random) -> list[str]:
    """A workbook that is read without a look at what it unpacks to."""
    workbooks._check_cells = lambda _: None
    packages.bomb("xl/sharedStrings.xml", lies=True)
    return ["init", "u.xlsx", "--to", "new.toml"]


TWINS = {
    raises: "a fault of Phalanx",
    panics: "a panic",
    sleeps: "it took more than 10 seconds",
    swells: "it took more than 2048 MB",
    tells: "a value of the table",
    tells_a_password: "a password",
    leaves_half: "is not a whole release",
    dies: "it ended by exit 9",
    lets_strangers_in: "what no studio does",
    stumbles_over_a_form: "a fault of Phalanx",
    tells_of_a_point: "a value of the table",
    unpacks_a_bomb: "it took more than 2048 MB",
}
"""What each must be reported as."""
