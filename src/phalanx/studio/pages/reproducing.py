# SPDX-License-Identifier: Apache-2.0
"""The command and the Python that do what a page does."""

import shlex
from pathlib import Path

from phalanx.errors import without_passwords
from phalanx.studio.place import Place


def command(*words: str) -> str:
    """A command as it is typed in the plan's folder."""
    return "phalanx " + " ".join(shlex.quote(word) for word in words)


def python(*lines: str) -> str:
    """A few lines that can be pasted."""
    return "\n".join(["import phalanx as px", "", *lines])


def shown(place: Place, path: str) -> str:
    """A path as it is written in the plan's folder; an address without its password."""
    if "://" in path and not path.startswith("sqlite:///"):
        return without_passwords(path)
    plain = Path(path.removeprefix("sqlite:///"))
    here = place.plan_path.parent.resolve()
    near = plain.resolve().is_relative_to(here)
    return str(plain.resolve().relative_to(here)) if near else str(plain)


def without_studio(place: Place, command: str, *lines: str) -> dict[str, str | None]:
    """How a page is made again without the studio: the plan as its file is, without a password, the
    command, and the Python.
    """
    plan = without_passwords(place.plan_text()) if place.has_plan else None
    return {"plan": plan, "command": command, "python": python(*lines)}


def of_plan(place: Place, command_of: str, *more: str, what: str) -> dict[str, str | None]:
    """What a command says of the plan, and what Python says of a part of it."""
    plan = shown(place, str(place.plan_path))
    words = more or (plan,)
    return without_studio(
        place, command(command_of, *words), f"print(px.Plan.read({plan!r}).{what})"
    )
