# SPDX-License-Identifier: Apache-2.0
"""The plan of a chosen point: the steward's file with another ``[method]``, else as it was."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from phalanx.errors import PlanError
from phalanx.exploration.grid import Section, label
from phalanx.plan import Plan
from phalanx.profile.quoting import quoted

_HEADER = re.compile(r"^\s*\[\[?\s*(?P<name>[A-Za-z_][\w.\"'-]*)\s*\]\]?\s*(#.*)?$")


def check_place(plan: Plan, path: Path) -> None:
    """PlanError where an adopted plan cannot stand there: it is a new file beside the plan."""
    if path.absolute().parent.resolve() != plan.path.absolute().parent.resolve():
        raise PlanError(
            f"the paths in a plan are relative to it, and {path} is in another folder; "
            f"write it beside {plan.path.name}."
        )
    if path.exists():
        raise PlanError(f"{path} exists; name a new file for the adopted plan.")


def adopted(plan: Plan, text: str, chosen: Section, *, source: Path | None, why: str) -> str:
    """The text of a plan that publishes by ``chosen``; PlanError where it cannot be written.

    ``source``: the table that it publishes instead; ``why``: a sentence that stands above it.
    """
    lines = [f"# {why}", *(f"{key} = {_toml(value)}" for key, value in chosen.items())]
    changed = _replaced(text, "method", lines)
    if source is not None:
        path = source.relative_to(plan.path.absolute().parent).as_posix()
        changed = _replaced(changed, "source", [f"path = {quoted(path)}"])
    expected = plan.sections.model_dump(by_alias=True) | {"method": dict(chosen)}
    sections = Plan.parse(changed, plan.path).sections.model_dump(by_alias=True)
    wanted = {key: expected[key] for key in expected if key != "source" or source is None}
    if {key: sections[key] for key in wanted} != wanted:
        raise PlanError(
            f"the plan {str(plan.path)!r} is not written in sections that can be replaced; "
            f"write {label(chosen)} under [method] by hand."
        )
    return changed


def _replaced(text: str, section: str, lines: Sequence[str]) -> str:
    """The text with other lines in a section, and without the sections below it."""
    new_lines: list[str] = []
    inside = False
    for line in text.splitlines():
        header = _HEADER.match(line)
        if header:
            name = header["name"]
            inside = name == section or name.startswith(f"{section}.")
            if name == section:
                new_lines += [line, *lines, ""]
        if not inside:
            new_lines.append(line)
    return "\n".join(new_lines) + "\n"


def _toml(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{quoted(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value) if isinstance(value, int | float) else quoted(str(value))
