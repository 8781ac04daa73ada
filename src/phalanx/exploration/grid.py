# SPDX-License-Identifier: Apache-2.0
"""Which points are explored: the plan's own method, and others, as tables like ``[method]``."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, Final

from phalanx.data.schema import Schema
from phalanx.errors import PlanError, did_you_mean
from phalanx.methods.base import KNOWN

Section = Mapping[str, Any]
"""What stands under ``[method]``: the name and the parameters."""

LADDERS: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "mondrian": {"k": (5, 10, 20)},
    "anatomy": {"l": (2, 3, 5)},
    "slicing": {"l": (2, 3, 5)},
    "mutual-cover": {"delta": ("1/3", "1/5", "1/10")},
    "m-invariance": {"m": (2, 3, 5)},
    "global-guarantee": {"l": (2, 3, 5)},
    "safe-sampling": {"epsilon": (0.5, 1, 2)},
}
"""By method, the parameter that says how much is promised, and what is tried where nobody says."""
_MOST: Final = 200


def sections(own: Section, schema: Schema, asked: Sequence[str | Section] = ()) -> list[Section]:
    """The points in their order, each once, the plan's ``own`` first.

    ``asked``: texts such as ``"mondrian k=5,10 l=2"`` (every combination), or tables like
    ``[method]``; parameters that are not named are the plan's where the method is its own. Without
    any: every method that the schema has a place for, over ``LADDERS``. PlanError for a text that
    is none, an unknown method, or more than 200 points.
    """
    combined = [own]
    for each in asked:
        combined += [dict(each)] if isinstance(each, Mapping) else _combined(each, own)
    if not asked:
        combined += _usual(own, schema)
    different: list[Section] = []
    for each in combined:
        if each not in different:
            different.append(each)
    if len(different) > _MOST:
        raise PlanError(
            f"the grid has {len(different)} points, and at most {_MOST} are tried; "
            "name fewer values."
        )
    return different


def label(section: Section) -> str:
    """A point in few words, as it may be asked for.

    >>> label({"name": "mondrian", "k": 5, "l": 2})
    'mondrian k=5 l=2'
    """
    more = [f"{key}={_short(value)}" for key, value in section.items() if key != "name"]
    return " ".join([str(section["name"]), *more])


def _short(value: Any) -> str:
    return "…" if isinstance(value, Mapping | list | tuple) else str(value)


def _usual(own: Section, schema: Schema) -> Iterator[Section]:
    """What is tried where nobody says."""
    possible = {
        "mondrian",
        "mutual-cover",
    }  # safe sampling needs a scheme that only the plan can have
    if schema.sensitive is not None:
        possible |= {"anatomy", "slicing"}
        possible |= set() if schema.identifier is None else {"m-invariance", "global-guarantee"}
    for name, ladder in LADDERS.items():
        if name == own["name"]:
            yield from _combinations(own, ladder)
        elif name in possible:
            more = {"l": 2} if name == "mondrian" and schema.sensitive is not None else {}
            yield from _combinations({"name": name, **more}, ladder)


def _combined(text: str, own: Section) -> Iterator[Section]:
    """The points that a text asks for."""
    name, *words = text.split()
    if name not in KNOWN:
        known = did_you_mean(name, KNOWN) or "; known are " + ", ".join(sorted(KNOWN)) + "."
        raise PlanError(f"--try {text!r} names no method{known}")
    values: dict[str, list[Any]] = {}
    for word in words:
        key, equals, listed = word.partition("=")
        if not (key and equals and listed):
            raise PlanError(f"--try {text!r} has the word {word!r}; write it as key=value,value.")
        values[key] = [_value(each) for each in listed.split(",")]
    yield from _combinations(own if name == own["name"] else {"name": name}, values)


def _combinations(start: Section, values: Mapping[str, Sequence[Any]]) -> Iterator[Section]:
    for chosen in product(*values.values()):
        yield {**start, **dict(zip(values, chosen, strict=True))}


def _value(text: str) -> Any:
    """A value as TOML has it, else the text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
