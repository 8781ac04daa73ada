# SPDX-License-Identifier: Apache-2.0
"""The command and the Python that do what a page does."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from phalanx.errors import without_passwords
from phalanx.ledger import ReleaseEntry
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
    path = str(plain.resolve().relative_to(here)) if near else str(plain)
    return f"./{path}" if path.startswith("-") else path  # which is no option


def table_of(place: Place, series: str, number: int) -> str:
    """The table behind a release as it is named in a command; TABLE where it is not known, is asked
    of a database, or is some of the rows of a file that holds several waves.
    """
    of = place.original_source(series, number)
    whole = of is not None and of.wave is None and of.query is None
    return shown(place, of.source) if of is not None and whole else "TABLE"


def attack_all(place: Place, series: str, entries: Sequence[ReleaseEntry]) -> str:
    """The command that plays every adversary against some releases, with all that may be laid beside
    them.
    """
    originals = [table_of(place, series, entry.number) for entry in entries]
    identifier = place.promise(series).get("identifier")
    return command(
        "attack",
        "all",
        *(shown(place, entry.folder) for entry in entries),
        *(word for original in originals for word in ("--original", original)),
        *([] if identifier is None else ["--identifier", identifier]),
        *([] if identifier is None else ["--ledger", shown(place, place.ledger_url())]),
    )


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
