# SPDX-License-Identifier: Apache-2.0
"""Check what others published: a table, or a release folder; nothing is made of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from phalanx.data.sources.batches import columns_of
from phalanx.errors import PlanError
from phalanx.studio.pages import windows
from phalanx.studio.pages.reproducing import command, shown, without_studio
from phalanx.studio.pages.timeline import files
from phalanx.studio.place import Place

BOUNDS: Final[Mapping[str, str]] = {
    "k": "k: at least so many rows look alike",
    "l": "l: no sensitive value is in more than 1/l of a group",
    "t": "t: a group's values are at most so far from the table's",
}


def page(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """What was brought to be checked: its columns to choose from, and what was checked so far."""
    given = place.foreign
    folder = given is not None and Path(given).is_dir()
    name = None if given is None else shown(place, given)
    return {
        "given": name,
        "folder": folder,
        "files": files(place),
        "columns": [] if given is None or folder else columns(given),
        "bounds": dict(BOUNDS),
        "checked": [job.to_json() for job in place.jobs.of("foreign")],
        "by": without_studio(
            place,
            command("verify", name or "TABLE", *([] if folder else ["--quasi", "…"])),
            f"print(px.verify({name!r}).holds)"
            if folder
            else f"print(px.verify_table({name or 'TABLE'!r}, quasi=[…]).checks)",
        ),
    }


def columns(source: str) -> list[str]:
    """The columns of a table."""
    return list(columns_of(source))


def arguments(place: Place, form: Mapping[str, str]) -> dict[str, Any]:
    """What the work of a check is told; PlanError where nothing is named to be checked."""
    if place.foreign is None:
        raise PlanError("nothing is named to be checked; name a file first.")
    if Path(place.foreign).is_dir():
        return {"source": place.foreign, "folder": True}
    names = columns(place.foreign)
    chosen = [name for i, name in enumerate(names) if form.get(f"quasi.{i}") == "yes"]
    return {
        "source": place.foreign,
        "folder": False,
        "quasi": chosen,
        "sensitive": _named(names, form.get("sensitive", "")),
        "group": _named(names, form.get("group", "")),
        "bounds": {key: _bound(form[key].strip()) for key in BOUNDS if form.get(key, "").strip()},
    }


def _bound(text: str) -> int | str:
    return (
        int(text)
        if text.isascii() and text.isdecimal() and len(text) < 10
        else windows.decimal(text)
    )


def _named(names: list[str], index: str) -> str | None:
    """The column of a number; None for none."""
    if not index:
        return None
    if not (index.isascii() and index.isdecimal()) or len(index) > 6 or int(index) >= len(names):
        raise PlanError("the table has no such column; look at the page again.")
    return names[int(index)]
