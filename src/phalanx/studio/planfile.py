# SPDX-License-Identifier: Apache-2.0
"""Changing the plan's file: one change at a time, whole or not at all, comments kept."""

import os
import tempfile
import threading
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import tomlkit
from tomlkit.items import Item, Table

from phalanx.data.sources.dialects import Dialect
from phalanx.errors import PlanError
from phalanx.plan import Plan
from phalanx.profile.choice import BY_COUNTS
from phalanx.studio.place import Place

LISTS: Final = ("quasi", "keep", "drop")
SINGLES: Final = ("identifier", "cluster", "sensitive", "weight")
ROLES: Final = (*SINGLES, *LISTS)

_one_at_a_time: Final = threading.Lock()


def change(place: Place, stamp: str, by: Callable[[tomlkit.TOMLDocument], None]) -> Plan:
    """Change the plan as ``by`` does, and write it if it is a plan afterwards.

    ``stamp`` is the plan that the person saw. PlanError where the file is another one by now, so
    that two pages or two persons do not undo each other's work, and where the result is no plan.
    """
    with _one_at_a_time:
        if stamp != place.stamp():
            raise PlanError("the plan was changed since this page was shown; look at it again.")
        document = tomlkit.parse(place.plan_text())
        by(document)
        text = tomlkit.dumps(document)
        if tomllib.loads(text) != document.unwrap():
            raise PlanError("the plan's file has an order that cannot be kept; edit it by hand.")
        plan = Plan.parse(text, place.plan_path)
        plan.schema()
        _replace(place.plan_path, text)
        return plan


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all, under the rights that it had."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(path.stat().st_mode & 0o777)
        Path(name).replace(path)
    except OSError as error:
        why = (error.strerror or "input/output error").lower()
        raise PlanError(f"the plan cannot be written ({why}); nothing was changed.") from None
    finally:
        Path(name).unlink(missing_ok=True)


def set_role(document: tomlkit.TOMLDocument, name: str, role: str) -> None:
    """Give a column a role. Who had a role of which there is one is dropped, and settings that a
    dropped column or a weight cannot have go with it.
    """
    if role not in ROLES:
        raise PlanError(f"{role!r} is no role; choose one of {', '.join(ROLES)}.")
    schema = _section(document, "schema")
    before = {key: schema[key].unwrap() for key in ROLES if key in schema}
    lists = {key: [n for n in before.get(key, []) if n != name] for key in LISTS}
    singles = {key: None if before.get(key) == name else before.get(key) for key in SINGLES}
    if role in SINGLES:
        if singles[role] is not None:
            lists["drop"].append(str(singles[role]))
        singles[role] = name
    else:
        lists[role].append(name)
    for key in SINGLES:
        _put(schema, key, singles[key])
    if singles["sensitive"] != before.get("sensitive"):
        _put(schema, "not_applicable", None)
        _forget_counts(document)
    for key in LISTS:
        if lists[key] != before.get(key, []) or key == "quasi":
            _put(schema, key, lists[key])
    unset = {"hierarchies": lists["drop"], "types": lists["drop"], "missing": []}
    for setting, without in unset.items():
        names = schema.get(setting)
        if names is None or isinstance(names, str):
            continue
        for gone in [n for n in names if n in (*without, singles["weight"])]:
            names.remove(gone)
        if not names:
            schema.remove(setting)


def _forget_counts(document: tomlkit.TOMLDocument) -> None:
    """Without what a proposal says beside figures of the method, which was counted of another
    column.
    """
    for value in document.get("method", {}).values():
        if isinstance(value, Item) and value.trivia.comment.startswith(BY_COUNTS):
            value.trivia.comment = value.trivia.comment_ws = ""


def set_missing(document: tomlkit.TOMLDocument, name: str, counts: bool) -> None:  # noqa: FBT001 - a checkbox
    """Whether a missing value of a column counts as a value of its own; else it is refused."""
    schema = _section(document, "schema")
    policies = schema["missing"].unwrap() if "missing" in schema else {}
    table = (
        dict.fromkeys(_columns(schema), policies) if isinstance(policies, str) else dict(policies)
    )
    table = {n: word for n, word in table.items() if word == "value" and n != name}
    if counts:
        table[name] = "value"
    inline = tomlkit.inline_table()
    inline.update(table)
    _put(schema, "missing", inline if table else None)


def set_not_applicable(document: tomlkit.TOMLDocument, values: Sequence[str | int | float]) -> None:
    """Which values of the sensitive attribute say that a person has none; none takes them away."""
    _put(_section(document, "schema"), "not_applicable", list(values) or None)


def set_hierarchy(document: tomlkit.TOMLDocument, name: str, declared: Mapping[str, Any]) -> None:
    """Give a column a hierarchy, as in ``{"bands": [5, 10]}``; an empty one takes it away."""
    schema = _section(document, "schema")
    if "hierarchies" not in schema:
        if not declared:
            return
        schema["hierarchies"] = tomlkit.table()
    hierarchies = schema["hierarchies"]
    if name in hierarchies:
        hierarchies.remove(name)
    if declared:
        inline = tomlkit.inline_table()
        inline.update(declared)
        hierarchies[name] = inline
    elif not hierarchies:
        schema.remove("hierarchies")


def set_method(
    document: tomlkit.TOMLDocument, name: str, parameters: Mapping[str, Any], asked: Sequence[str]
) -> None:
    """Publish by a method with these parameters; those of the same method that were not ``asked``
    for stay as they are, and those of another method go.
    """
    section = document.get("method")
    if section is None or section.get("name") != name:
        section = tomlkit.table()
        section["name"] = name
        document["method"] = section
    for key in asked:
        _put(section, key, parameters.get(key))


def set_source(
    document: tomlkit.TOMLDocument, source: str, query: str | None, dialect: Dialect
) -> None:
    """Read another table: a file, of CSV in its dialect, or a database and a query."""
    section = _section(document, "source")
    url = "://" in source
    _put(section, "path", None if url else source)
    _put(section, "url", source if url else None)
    _put(section, "query", query)
    for key, value in dialect._asdict().items():
        _put(section, key, None if value == getattr(Dialect(), key) else value)


def set_series(document: tomlkit.TOMLDocument, name: str) -> None:
    """Begin another series: its ledger is its own where the plan names none."""
    _section(document, "series")["name"] = name


def schema_of(place: Place) -> Mapping[str, Any]:
    """What stands under [schema] of the plan."""
    schema: Mapping[str, Any] = tomllib.loads(place.plan_text())["schema"]
    return schema


def _section(document: tomlkit.TOMLDocument, name: str) -> Table:
    section = document.get(name)
    if not isinstance(section, Table):
        raise PlanError(f"the plan has no section [{name}] of its own; edit it by hand.")
    return section


def _columns(schema: Table) -> list[str]:
    singles = [str(schema[key]) for key in SINGLES if key in schema]
    return [*singles, *(str(n) for key in LISTS for n in schema.get(key, []))]


def _put(table: Any, key: str, value: Any) -> None:
    """Set a key, in its place where it is there; None takes it away."""
    if value is None:
        if key in table:
            table.remove(key)
    elif key not in table or table[key] != value:
        table[key] = value
