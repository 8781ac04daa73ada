# SPDX-License-Identifier: Apache-2.0
"""Choose a promise in plain words: which method gives it, what it leaves open, and why another
one is not offered for this table.
"""

import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomlkit

from phalanx.errors import PhalanxError, PlanError
from phalanx.exploration import Asked, Clustered, Offer, guarantees_of, offers
from phalanx.plan import Plan
from phalanx.profile.columns import counted
from phalanx.release.manifest import NAME, Manifest
from phalanx.report.promises import KNOWN_METHOD, in_words
from phalanx.studio.pages import windows
from phalanx.studio.pages.reproducing import of_plan
from phalanx.studio.place import Place
from phalanx.studio.planfile import set_method


def page(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """Every method, the plan's first: offered, or why not. ``only`` of the address asks for one of
    them, for a change of its figures.
    """
    plan = place.plan()
    section = tomllib.loads(place.plan_text()).get("method", {})
    tried = query.get("method", str(section.get("name")))
    begun, offered = place.promise(plan.name), offers()
    plans_first = sorted(offered.items(), key=lambda each: each[0] != section.get("name"))
    return {
        "stamp": place.stamp(),
        "series": plan.name,
        "sensitive": plan.sections.schema_.sensitive,
        "current": section.get("name"),
        "tried": tried if tried in offered else str(section.get("name")),
        "offers": [
            _offer(place, name, offer, section, query if name == tried else {})
            for name, offer in plans_first
            if query.get("only", name) == name
        ],
        "most": _most(place, plan.sections.schema_),
        "begun": begun.get("method"),
        "known_method": KNOWN_METHOD,
        "by": of_plan(place, "check", what="method()"),
    }


def _most(place: Place, schema: Any) -> dict[str, Any] | None:
    """How much cover the sensitive attribute allows at most, by its most frequent value; among the
    rows that have one, where values are declared not applicable.
    """
    table = place.table()
    for column in table.columns:
        if column.name == schema.sensitive and column.type != "set":
            listed = schema.not_applicable
            of_values = counted(table.frame[column.name], listed) if listed else column
            share = of_values.most_frequent / max(1, of_values.applicable)
            return {"name": column.name, "share": share, "most": 1 / share} if share else None
    return None


def check_takes(plan: Plan) -> None:
    """PlanError where values are declared not applicable, or households, and the method refuses
    such rows.
    """
    method, schema = plan.method(), plan.schema()
    if schema.cluster is not None and not isinstance(method, Clustered):
        raise PlanError("'cluster' is declared, and this method covers persons and no households.")
    if schema.not_applicable and not getattr(method, "takes_not_applicable", False):
        raise PlanError(
            "'not_applicable' is declared, and this method has no groups for such rows."
        )


def _offer(
    place: Place, name: str, offer: Offer, section: Mapping[str, Any], query: Mapping[str, str]
) -> dict[str, Any]:
    """A method with the figures that were written, or the plan's, or those to begin with."""
    sensitive = place.plan().sections.schema_.sensitive
    is_current = section.get("name") == name
    values = {
        a.key: query.get(
            a.key,
            str(section.get(a.key, a.begins if a.choices else "")) if is_current else a.begins,
        )
        for a in offer.asked
    }
    promises: list[str] = []
    wrong = ""
    knows: bool | None = None
    suppresses: Sequence[str] = ()
    try:
        plan = with_method(place, name, values)
        method = plan.method()
        plan.series()
        check_takes(plan)
        if sensitive is None and offer.needs_sensitive:
            raise PlanError("it covers a sensitive attribute, and none is chosen.")
        promised = guarantees_of(method, plan.schema())
        promises = [in_words(g.parameters(), sensitive=sensitive is not None) for g in promised]
        lasting = any(getattr(guarantee, "over_series", False) for guarantee in promised)
        linked = lasting and (bool(plan.schema().keep) or _told(place))
        alone = plan.sections.source.registry is None and not linked
        knows, suppresses = method.holds_if_method_known and alone, method.may_suppress
    except PhalanxError as error:
        wrong = _reason(str(error))
    it = sensitive or "sensitive value"
    return {
        "name": name,
        "table": offer.table,
        "promise": _filled(offer.promise, {"it": it, **values}),
        "assumes": _filled(offer.assumes, {"it": it}),
        "open": _filled(offer.open, {"it": it}),
        "asked": [
            {
                "key": a.key,
                "label": a.label,
                "value": values[a.key],
                "whole": a.whole,
                "choices": a.choices,
            }
            for a in offer.asked
        ],
        "guarantees": promises,
        "holds_if_method_known": knows,
        "may_suppress": list(suppresses),
        "wrong": wrong,
        "current": is_current,
    }


def _told(place: Place) -> bool:
    """Whether the last release of the plan's series may have told an adversary who knows the method
    more than it promises.
    """
    with suppress(OSError, PhalanxError):
        for entry in place.entries(place.plan().name)[-1:]:
            folder = Path(entry.folder)
            manifest = Manifest.from_bytes((folder / NAME).read_bytes(), Path(folder.name))
            return manifest.holds_if_method_known is not True
    return False


def _filled(sentence: str, words: Mapping[str, str]) -> str:
    """A sentence with words in their places; a figure that is not there is named by its letter."""
    for key, word in words.items():
        sentence = sentence.replace(f"{{{key}}}", word or key)
    return sentence


def _reason(sentence: str) -> str:
    """Why a plan is refused, without the words that say which plan."""
    return sentence.split("' ", 1)[1] if sentence.startswith("in the plan '") else sentence


def with_method(place: Place, name: str, values: Mapping[str, str]) -> Plan:
    """The plan with another method, as it would be; PlanError where a figure is none."""
    document = tomlkit.parse(place.plan_text())
    adopt(document, name, values)
    return Plan.parse(tomlkit.dumps(document), place.plan_path)


def adopt(document: tomlkit.TOMLDocument, name: str, values: Mapping[str, str]) -> None:
    """Write a method and its figures into the plan."""
    offer = offers().get(name)
    if offer is None:
        raise PlanError(f"{name!r} is none of the methods; choose one of the page.")
    figures = {a.key: _figure(a, values.get(a.key, "").strip()) for a in offer.asked}
    set_method(document, name, figures, [a.key for a in offer.asked])


def _figure(asked: Asked, text: str) -> int | float | str | None:
    """A figure as the plan holds it: a whole number, a number, or a fraction as text."""
    if not text:
        return None
    if asked.choices:
        return None if text == asked.begins else text
    try:
        return int(text)
    except ValueError:
        if asked.whole:
            raise PlanError(f"{asked.key!r} is a whole number; correct it.") from None
    if "/" in text:
        return text
    try:
        return float(windows.decimal(text))
    except ValueError:
        raise PlanError(f"{asked.key!r} is a number; correct it.") from None
