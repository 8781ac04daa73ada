# SPDX-License-Identifier: Apache-2.0
"""Which points are explored: the plan's own method, and others, as tables like ``[method]``."""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import product
from math import prod
from typing import Any, Final

from phalanx.data.schema import Schema
from phalanx.errors import PlanError, did_you_mean, kind_of, shortened
from phalanx.exact import is_list, of_numpy_within
from phalanx.methods.base import KNOWN, make, offers

Section = Mapping[str, Any]
"""What stands under ``[method]``: the name and the parameters."""

_MOST: Final = 200
_DATE: Final = "a date of the plan"


def sections(
    plan_section: Section, schema: Schema, asked: Sequence[str | Section] = ()
) -> list[Section]:
    """The points in their order, each once, the plan's own (``plan_section``) first.

    ``asked``: texts such as ``"mondrian k=5,10 l=2"`` (every combination), or tables like
    ``[method]``; parameters that are not named are the plan's where the method is its own. Without
    any: every method that the schema has a place for, over what its offer tries. PlanError for a text that
    is none, an unknown method, or more than 200 points.
    """
    combined = [plan_section]
    for each in asked if is_list(asked, lambda _: True) else [asked]:
        if isinstance(each, Mapping):
            _check_name(str(each.get("name", "")), str(dict(each)))
            combined.append(_as_in_a_plan(of_numpy_within(dict(each))))
        elif isinstance(each, str):
            combined += _combined(each, plan_section)
        else:
            raise PlanError(
                f"a point of the grid is {kind_of(each)}; give a text, as in 'mondrian k=5,10', or"
                " a table, as in {'name': 'mondrian', 'k': 5}."
            )
    if not asked:
        combined += _usual(plan_section, schema)
    different: list[Section] = []
    for each in combined:
        if each not in different:
            different.append(each)
    _check_size(len(different))
    return different


def _check_size(points: int) -> None:
    if points > _MOST:
        raise PlanError(
            f"the grid has {points} points, and at most {_MOST} are tried; name fewer values."
        )


def _check_name(name: str, asked: str) -> None:
    if name not in KNOWN:
        hint = did_you_mean(name, KNOWN) or "; known are " + ", ".join(sorted(KNOWN)) + "."
        raise PlanError(f"--try {shortened(asked)!r} names no method{hint}")


def _as_in_a_plan(section: Section) -> Section:
    """The same; PlanError where a value is none that a plan can have, or a worker be told of."""
    for key, value in section.items():
        try:
            json.dumps(value, default=marked)
        except (TypeError, ValueError, RecursionError):
            raise PlanError(
                f"in a point of the grid {key!r} is {kind_of(value)}; give a number, a text such as"
                " '5/2', a list or a table."
            ) from None
    return section


def marked(value: object) -> dict[str, str]:
    """A date of a plan, which JSON has not, for another process; TypeError for all else.

    >>> unmarked(marked(date(2026, 1, 31)))
    datetime.date(2026, 1, 31)
    """
    if type(value) is not date:
        raise TypeError
    return {_DATE: value.isoformat()}


def unmarked(fields: dict[str, Any]) -> Any:
    """The date that was marked; other tables as they are."""
    return date.fromisoformat(fields[_DATE]) if fields.keys() == {_DATE} else fields


def label(section: Section) -> str:
    """A point in few words, as it may be asked for.

    >>> label({"name": "mondrian", "k": 5, "l": 2})
    'mondrian k=5 l=2'
    """
    more = [f"{key}={_short(value)}" for key, value in section.items() if key != "name"]
    return " ".join([str(section["name"]), *more])


def _short(value: Any) -> str:
    return "…" if isinstance(value, Mapping | list | tuple) else str(value)


def _usual(plan_section: Section, schema: Schema) -> Iterator[Section]:
    """What is tried where the plan does not say: no method that needs what the schema has not, or a
    figure that only the plan can have.
    """
    for name, offer in offers().items():
        beside = {} if schema.sensitive is None else offer.tried_beside
        needs_persons, needs_sensitive = KNOWN[name].needs_persons, offer.needs_sensitive
        if name == plan_section["name"]:
            yield from _combinations(plan_section, offer.tried)
        elif (
            (schema.identifier is not None or not needs_persons)
            and (schema.sensitive is not None or not needs_sensitive)
            and (schema.cluster is None or hasattr(KNOWN[name], "household_guarantees"))
            and offer.tried
            and _is_enough(
                name, {**beside, **{key: tried[0] for key, tried in offer.tried.items()}}
            )
        ):
            yield from _combinations({"name": name, **beside}, offer.tried)


def _is_enough(name: str, parameters: Section) -> bool:
    """Whether these parameters make a method, and none is missing that only a plan can have."""
    try:
        make(name, parameters)
    except PlanError:
        return False
    return True


def _combined(text: str, plan_section: Section) -> Iterator[Section]:
    """The points that a text asks for."""
    name, *words = text.split() or [""]
    _check_name(name, text)
    values: dict[str, list[Any]] = {}
    for word in words:
        key, equals, listed = word.partition("=")
        if not (key and equals and listed) or key == "name":
            raise PlanError(
                f"--try {shortened(text)!r} has the word {shortened(word)!r}, which is no parameter; write it"
                " as key=value,value."
            )
        if key in values:
            raise PlanError(
                f"--try {shortened(text)!r} has {shortened(key)!r} twice; write all its values in one"
                " word, as key=value,value."
            )
        values[key] = [_value(each) for each in dict.fromkeys(listed.split(","))]
    _check_size(prod(map(len, values.values())))
    yield from _combinations(
        plan_section if name == plan_section["name"] else {"name": name}, values
    )


def _combinations(start: Section, values: Mapping[str, Sequence[Any]]) -> Iterator[Section]:
    for chosen in product(*values.values()):
        yield {**start, **dict(zip(values, chosen, strict=True))}


def _value(text: str) -> Any:
    """A value as TOML has it, else the text; a date, which no parameter is, is a text as well."""
    try:
        value = tomllib.loads(f"value = {text}")["value"]
        json.dumps(value)
    except (ValueError, TypeError, RecursionError):
        return text
    return value
