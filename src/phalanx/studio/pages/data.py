# SPDX-License-Identifier: Apache-2.0
"""Bring data: what the table looks like, what every column is, and whom its columns single out."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeGuard

import polars as pl

from phalanx.data.column import kind_of, typed
from phalanx.data.hierarchies.hierarchy import Bands, ByFrequency, Hierarchy, Tree
from phalanx.data.ordering import counted
from phalanx.data.sources.frames import to_polars
from phalanx.errors import PhalanxError, PlanError
from phalanx.studio.pages import windows
from phalanx.studio.pages.promise import check_takes
from phalanx.studio.pages.reproducing import of_plan
from phalanx.studio.pages.timeline import files
from phalanx.studio.place import Place, Table
from phalanx.studio.planfile import ROLES, SINGLES, schema_of

MEANINGS: Final[Mapping[str, str]] = {
    "identifier": "says who a row is about; never published",
    "cluster": "says which household a row is of; never published",
    "sensitive": "what no person may be linked with",
    "weight": "how many persons of a population a row stands for; published as a group's mean",
    "quasi": "others may know it; published as intervals",
    "keep": "published as it is; no person can know or infer anything from it",
    "drop": "not published",
}
_FEW: Final = 5
_MOST_FREQUENT: Final = 24
_SIZES: Final = ((1, 1), (2, 4), (5, 9), (10, 49), (50, None))


def page(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """The table of the plan: columns with their roles, rows, and how many persons are unique; where
    it cannot be read, why, and a way to name another one.
    """
    plan = place.plan()
    by = of_plan(place, "init", source_name(place), "--to", "another-plan.toml", what="schema()")
    named = {"stamp": place.stamp(), "source": source_name(place), "files": files(place), "by": by}
    try:
        table = place.table()
    except PhalanxError as error:
        return named | {"unread": str(error)}
    schema = schema_of(place)
    singled = _known(table, schema, query)
    roles = roles_of(schema)
    listed = set(map(str, schema.get("not_applicable", ())))
    return named | {
        "unread": "",
        "wave": table.wave,
        "all_rows": table.rows,
        "looked_at": table.frame.height,
        "series": plan.name,
        "roles": list(ROLES),
        "meanings": dict(MEANINGS),
        "columns": [
            {
                "index": i,
                "name": c.name,
                "type": c.type,
                "distinct": c.distinct,
                "missing": c.missing,
                "uniqueness": c.uniqueness,
                "role": roles.get(c.name),
                "known": c.name in singled,
                "counts_missing": _missing(schema, c.name) == "value",
                "hierarchy": _declared(schema, c.name),
                "reason": c.reason if c.role == roles.get(c.name) else "",
            }
            for i, c in enumerate(table.columns)
        ],
        "sensitive": schema.get("sensitive"),
        "frequent": [
            {"value": text, "rows": count, "listed": text in listed}
            for text, (_, count) in frequent(table, schema).items()
        ],
        "absent": [name for name in roles if name not in table.frame.columns],
        "wrong": _wrong(place),
        "risk": place.answers.get(
            ("risk", table.key, tuple(singled)), lambda: risk(table, singled)
        ),
        "rows": windows.rows(table.frame, query, table.frame.columns),
    }


def frequent(
    table: Table, schema: Mapping[str, Any]
) -> dict[str, tuple[str | int | float, int | None]]:
    """The most frequent values of the sensitive attribute by their text, each with its rows, and
    those that the plan calls not applicable; none of a set or a date.
    """
    name = schema.get("sensitive")
    if name not in table.frame.columns:
        return {}
    values = table.frame.get_column(name)
    if values.dtype != pl.String and not values.dtype.is_numeric():
        return {}
    counts = values.drop_nulls().alias("value").value_counts(sort=True).head(_MOST_FREQUENT)
    most = {str(value): (value, count) for value, count in counts.iter_rows() if value == value}  # noqa: PLR0124 - NaN
    listed = {str(value): (value, None) for value in schema.get("not_applicable", ())}
    return most | {text: of for text, of in listed.items() if text not in most}


def rows(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """A window of rows alone, for scrolling."""
    table = place.table()
    return {"rows": windows.rows(table.frame, query, table.frame.columns)}


def _known(table: Table, schema: Mapping[str, Any], query: Mapping[str, str]) -> list[str]:
    """The columns that the address says are known; the quasi-identifiers where it says none of
    any.
    """
    if "knows" in query:
        return [c.name for i, c in enumerate(table.columns) if query.get(f"knows.{i}") == "yes"]
    return [name for name in schema["quasi"] if name in table.frame.columns]


def risk(table: Table, names: Sequence[str]) -> dict[str, Any]:
    """How many rows share their values of some columns with how many others, also as the columns
    are added one by one.
    """
    steps: list[dict[str, Any]] = []
    numbered = pl.DataFrame({str(i): table.frame.get_column(name) for i, name in enumerate(names)})
    sizes = pl.Series([table.frame.height])
    for i, name in enumerate(names, 1):
        sizes = numbered.group_by(numbered.columns[:i]).len()["len"]
        steps.append({"name": name, "unique": int((sizes == 1).sum()), "few": _few(sizes)})
    histogram = [
        {"from": low, "to": high, "rows": int(sizes.filter(_within(sizes, low, high)).sum())}
        for low, high in _SIZES
    ]
    return {"names": list(names), "rows": table.frame.height, "steps": steps, "sizes": histogram}


def _few(sizes: pl.Series) -> int:
    return int(sizes.filter(sizes < _FEW).sum())


def _within(sizes: pl.Series, low: int, high: int | None) -> pl.Series:
    return sizes >= low if high is None else (sizes >= low) & (sizes <= high)


def hierarchy(place: Place, index: int, query: Mapping[str, str]) -> dict[str, Any]:
    """One column's hierarchy: what is declared or tried, its classes by level, and its coverage."""
    table = place.table()
    if not 0 <= index < len(table.columns):
        raise PlanError("the table has no such column; look at the page again.")
    column = table.columns[index]
    schema = schema_of(place)
    of_column: Mapping[str, Any] = _declared(schema, column.name) or {}
    values = with_hierarchy(place, column.name)
    wrong = opened = ""
    try:
        opened, of_column = _opened(place, of_column)
    except PhalanxError as error:
        wrong, of_column = str(error), {}
    kind = query.get("kind") or _kind_of(of_column, values)
    _check_kind(kind)
    text = query.get("levels", _as_text(kind, of_column) or _proposed(kind, values, column.prefix))
    classes: list[dict[str, Any]] = []
    declared: dict[str, Any] = {}
    try:
        if kind == "dates" and not _are_days(values):
            raise PlanError("not every value is a day as in 2024-03-31; take another kind.")
        declared = parsed(kind, text)
        classes = levels(place, declared, values) if declared else []
    except PhalanxError as error:
        wrong = str(error)
    return {
        "stamp": place.stamp(),
        "index": index,
        "name": column.name,
        "type": column.type,
        "distinct": column.distinct,
        "kind": kind,
        "text": text,
        "kinds": dict(KINDS),
        "files": files(place) if kind == "file" else [],
        "opened": opened,
        "levels": classes,
        "wrong": wrong,
        "declared": declared,
        "by": of_plan(place, "check", what="schema()"),
    }


_DATE_PARTS: Final = {"day": 10, "month": 7, "year": 4, "decade": 3}
"""So many characters of a day such as 2024-03-31 are left of each."""
KINDS: Final[Mapping[str, str]] = {
    "none": "none: numbers and dates by their order, words by the alphabet",
    "bands": "bands of numbers: widths, each a multiple of the one before",
    "prefix": "masking of codes: how many characters are left, falling to 0",
    "dates": "dates: which parts of a day are left, as in month, year",
    "order": "an order of words: one word on a line, from the least to the greatest",
    "frequency": "an order of words: the most frequent first, as the first release has it",
    "tree": "a tree: one path on a line, from the value to the root, as in flu;lung;*",
    "file": "a tree that stands in a file of this folder, with such lines",
}


def parsed(kind: str, text: str) -> dict[str, Any]:
    """What a person wrote, as the plan declares it; empty for none. PlanError where it is wrong."""
    _check_kind(kind)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if kind in ("none", "frequency"):
        return {} if kind == "none" else {"order": "frequency"}
    if kind in ("bands", "prefix"):
        parts = [part for line in lines for part in line.replace(";", ",").split(",")]
        return {kind: [_number(part.strip()) for part in parts if part.strip()]}
    if kind == "dates":
        parts = [part.strip() for line in lines for part in line.replace(";", ",").split(",")]
        if unknown := [part for part in parts if part and part not in _DATE_PARTS]:
            raise PlanError(
                f"{unknown[0]!r} is no part of a date; write some of {', '.join(_DATE_PARTS)}."
            )
        lengths = {_DATE_PARTS[part] for part in ("day", *parts) if part}
        return {"prefix": [*sorted(lengths, reverse=True), 0]}
    if kind == "order":
        return {"tree": {"any": lines}}
    if kind == "file":
        if not lines:
            raise PlanError("no file is named; choose one of this folder.")
        return {"tree": lines[0]}
    return {"tree": [[part.strip() for part in line.split(";")] for line in lines]}


def with_hierarchy(place: Place, name: str) -> pl.Series:
    """A column of the table; PhalanxError where it may have no hierarchy, as it holds sets, or
    values of a type that is not published.
    """
    values = to_polars(place.table().frame.select(name)).get_column(name)
    if values.dtype.is_nested():
        raise PlanError(f"column {name!r} holds sets, which have no hierarchy; leave it as it is.")
    return values


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise PlanError(f"{kind!r} is no kind of hierarchy; choose one of {', '.join(KINDS)}.")


def _number(part: str) -> int | float:
    with suppress(ValueError):
        return int(part)
    with suppress(ValueError):
        if math.isfinite(number := float(part)):
            return number
    raise PlanError(f"{part!r} is not a number; write numbers with commas between.")


def levels(place: Place, declared: Mapping[str, Any], values: pl.Series) -> list[dict[str, Any]]:
    """How many classes every level has, and how many rows its smallest one has; SchemaError where
    a value of the table has no place, or the column is of a type that has no such hierarchy.
    """
    built = built_of(declared, place.plan_path.parent)
    built = counted(values) if isinstance(built, ByFrequency) else built
    kind = kind_of(values, schema_of(place).get("types", {}).get(values.name), built)
    present = typed(values, kind).drop_nulls()
    plain = present if isinstance(built, Bands) else present.cast(pl.String)
    counts = plain.alias("value").value_counts().sort("value")
    leaves = built.leaves(counts["value"].alias(values.name))  # a refusal names the column
    ancestors = built.ancestors(leaves)
    at = dict(zip(leaves.cast(pl.String).to_list(), range(len(leaves)), strict=True))
    places = [at.get(str(v)) for v in counts["value"].cast(pl.String).to_list()]
    levels_shown = []
    for level in ancestors.columns:
        names = ancestors[level].to_list()
        levels_of: dict[Any, int] = {}
        for where, rows_ in zip(places, counts["count"].to_list(), strict=True):
            if where is not None:
                levels_of[names[where]] = levels_of.get(names[where], 0) + rows_
        levels_shown.append(
            {
                "level": int(level),
                "classes": len(levels_of),
                "smallest": min(levels_of.values(), default=0),
                "examples": [str(windows.text(name)) for name in list(levels_of)[:4]],
            }
        )
    return levels_shown


def built_of(declared: Mapping[str, Any], folder: Path) -> Hierarchy:
    """A hierarchy as the plan would read it, from a file in its folder too."""
    from phalanx.data.hierarchies.files import hierarchy_of

    built: Hierarchy = hierarchy_of(dict(declared), folder)
    return built


def _opened(place: Place, of_column: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The file that a hierarchy stands in, empty for none; and the hierarchy as it is changed here,
    a tree from a file or of nested tables as the paths of its leaves.
    """
    tree = of_column.get("tree")
    if tree is None or isinstance(tree, list) or _is_order(tree):
        return "", of_column
    built = built_of(of_column, place.plan_path.parent)
    paths = [list(path) for path in built.paths] if isinstance(built, Tree) else []
    return tree if isinstance(tree, str) else "", {"tree": paths}


def _is_order(tree: Any) -> TypeGuard[dict[str, list[Any]]]:
    return isinstance(tree, dict) and list(tree) == ["any"] and isinstance(tree["any"], list)


def _kind_of(of_column: Mapping[str, Any], values: pl.Series) -> str:
    """In which words a hierarchy was declared."""
    if _is_order(of_column.get("tree")):
        return "order"
    if "order" in of_column:
        return "frequency"
    if {*of_column.get("prefix", [1])} <= {0, *_DATE_PARTS.values()} and _are_days(values):
        return "dates"
    return next(iter(of_column), "none")


def _are_days(values: pl.Series) -> bool:
    """Whether every value is a day, as in 2024-03-31, and nothing more."""
    texts = values.drop_nulls().cast(pl.String)
    return bool(len(texts)) and bool(texts.str.contains(r"^\d{4}-\d{2}-\d{2}$").all())


def _as_text(kind: str, hierarchy: Mapping[str, Any]) -> str:
    """What the plan declares, as a person would write it here."""
    if kind in ("bands", "prefix") and kind in hierarchy:
        return ", ".join(str(n) for n in hierarchy[kind])
    if kind == "dates" and "prefix" in hierarchy:
        return ", ".join(word for word, n in _DATE_PARTS.items() if n in hierarchy["prefix"][1:])
    tree = hierarchy.get("tree")
    if kind == "tree" and isinstance(tree, list):
        return "\n".join(";".join(map(str, path)) for path in tree)
    if kind == "order" and _is_order(tree):
        return "\n".join(map(str, tree["any"]))
    return ""


def _proposed(kind: str, values: pl.Series, prefix: Sequence[int]) -> str:
    """Something to begin with; of an order and a tree the values of the table, by the alphabet."""
    if kind == "prefix":
        longest = max((len(t) for t in values.cast(pl.String).unique().drop_nulls()), default=1)
        return ", ".join(map(str, prefix or range(min(longest, 9), -1, -1)))
    if kind == "bands":
        return "5, 10, 20"
    if kind == "dates":
        return "month, year"
    if kind in ("file", "frequency"):
        return ""
    names = sorted(values.cast(pl.String).unique().drop_nulls().to_list())[:200]
    return "\n".join(f"{n};*" if kind == "tree" else n for n in names) if kind != "none" else ""


def roles_of(schema: Mapping[str, Any]) -> dict[str, str]:
    """The role of every column that a plan names."""
    roles = {}
    for role in ROLES:
        role_names = schema.get(role)
        names = [] if role_names is None else [role_names] if role in SINGLES else role_names
        roles.update(dict.fromkeys(names, role))
    return roles


def _missing(schema: Mapping[str, Any], name: str) -> str:
    policy = schema.get("missing", "refuse")
    return str(policy if isinstance(policy, str) else policy.get(name, "refuse"))


def _declared(schema: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    declared = schema.get("hierarchies", {}).get(name)
    return {"tree": declared} if isinstance(declared, str) else declared


def _wrong(place: Place) -> str:
    """What the plan's schema is refused for; empty where it is in order."""
    plan = place.plan()
    try:
        plan.series()
        check_takes(plan)
    except PhalanxError as error:
        return str(error)
    return ""


def source_name(place: Place) -> str:
    """The source as the plan names it, without a password."""
    from phalanx.errors import without_passwords

    source = place.plan().sections.source
    return without_passwords(source.path or source.url or "")
