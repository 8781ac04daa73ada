# SPDX-License-Identifier: Apache-2.0
"""Every option that a plan can name, word by word, read off the methods themselves; which of them
the oracle asks, and why not the others.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from phalanx.data.distances import WORDS
from phalanx.data.hierarchies import hierarchy
from phalanx.data.schema import Schema
from phalanx.methods.base import registered
from phalanx.methods.mutual_cover import method as mutual_cover
from worlds import neighbours
from worlds.cases import CASES

Option = tuple[str, str, str]
"""A method (or ``schema``), a key of its section, and what may stand there: a word, or the kind of
value.
"""

WITHIN: Mapping[tuple[str, str], Sequence[str]] = {
    ("mutual-cover", "distances"): (*WORDS, "matrix"),
    ("mutual-cover", "bounds"): mutual_cover._ADVERSARIES,
    ("schema", "hierarchies"): tuple(
        name
        for name, kind in vars(hierarchy).items()
        if isinstance(kind, type) and is_dataclass(kind) and isinstance(kind, hierarchy.Hierarchy)
    ),
}
"""Keys that hold a table, of which what stands in it matters."""

NOT_ASKED: Mapping[Option, str] = {
    ("mondrian", "keep_cuts", "True"): (
        "it goes with k alone, which promises nothing of sensitive values, and no cut looks at one"
    ),
    (
        "safe-sampling",
        "expected_rows",
        "number",
    ): "a release that is likely to be empty is refused by it, before any table is looked at",
    ("schema", "drop", "list"): "dropped columns are left out before any method sees the table",
}
"""What the oracle does not ask, with the reason, which stands on the page as well."""


def every_option() -> set[Option]:
    """All that a plan can name in the sections of the methods and of the schema, but for defaults,
    which every other line asks.
    """
    found: set[Option] = set()
    for section, cls in (
        *((name, point.load()) for name, point in registered().items()),
        ("schema", Schema),
    ):
        hints = get_type_hints(cls)
        for f in fields(cls):
            if section == "schema" and f.name in ("quasi", "sensitive", "identifier"):
                continue  # in all tables
            within = WITHIN.get((section, f.name))
            default = _words(f.default) if isinstance(f.default, bool | str) else set()
            found |= {
                (section, f.name, kind)
                for kind in (set(_kinds(hints[f.name])) - default if within is None else within)
            }
    return found


def asked_options() -> set[Option]:
    """Those that some line names."""
    found: set[Option] = set()
    for section, parameters in _lines():
        for name, value in parameters.items():
            found |= {
                (section, name, kind)
                for kind in (_inside(name, value) if (section, name) in WITHIN else _words(value))
            }
    return found


def _lines() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The parameters of every line, and what it says in its schema."""
    for case in CASES:
        yield case.method, case.parameters
        yield "schema", case.setting.declared
        if "kept" in case.table:
            yield "schema", {"keep": []}
    for plan in neighbours.PLANS:
        yield "safe-sampling", {**plan.parameters, "scheme": plan.scheme, "allow_empty": True}


def _inside(name: str, value: Mapping[str, Any]) -> Iterable[str]:
    if name == "bounds":
        return value
    if name == "distances":
        return ["matrix" if isinstance(word, Mapping) else word for word in value.values()]
    return [type(hierarchy).__name__ for hierarchy in value.values()]


def _kinds(hint: Any) -> Iterator[str]:
    """What may stand where a field has this type: words of their own, numbers, lists and tables as
    such.
    """
    if get_origin(hint) is Literal:
        yield from (repr(word) for word in get_args(hint))
    elif get_origin(hint) in (Union, UnionType):
        number = Fraction in get_args(hint)  # which a plan may write as a text, too
        for each in get_args(hint):
            yield from ("number",) if number and each is str else _kinds(each)
    elif hint is bool:
        yield from ("True", "False")
    elif hint is not NoneType:
        origin = get_origin(hint) or hint
        yield (
            "table"
            if origin is Mapping
            else "list"
            if origin is Sequence
            else "word"
            if origin is str
            else "number"
        )


def _words(value: Any) -> set[str]:
    """What a value counts as: itself, where it is a word, and its kind; a text of digits is a
    number.
    """
    if isinstance(value, str):
        return {"number"} if value[0].isdigit() else {repr(value), "word"}
    return {
        (
            str(value)
            if isinstance(value, bool)
            else (
                "table"
                if isinstance(value, Mapping)
                else "list"
                if isinstance(value, list | tuple)
                else "number"
            )
        )
    }
