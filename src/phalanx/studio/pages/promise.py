# SPDX-License-Identifier: Apache-2.0
"""Choose a promise in plain words: which method gives it, what it leaves open, and why another
one is not offered for this table.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import tomlkit

from phalanx.errors import PhalanxError, PlanError
from phalanx.plan import Plan
from phalanx.report.promises import KNOWN_METHOD, in_words
from phalanx.studio.place import Place
from phalanx.studio.planfile import set_method


@dataclass(frozen=True)
class Asked:
    """One parameter that a person is asked for; the plan may set others by hand."""

    key: str
    label: str
    begins: str
    """What stands there before anybody wrote something; empty where nothing is asked for."""
    whole: bool = True
    choices: Sequence[str] = ()
    """The words to choose from, where it is no figure."""


@dataclass(frozen=True)
class Offer:
    """A method in the words of somebody who has a table and a duty."""

    name: str
    table: str
    """Which table it is for."""
    promise: str
    """What it promises; ``{it}`` stands for the sensitive attribute."""
    open: str
    """What it does not hide."""
    asked: Sequence[Asked]


OFFERS: Final = (
    Offer(
        "m-invariance",
        "The table changes, and a person's value stays, as a chronic disease does.",
        "Nobody's {it} can be inferred with more than one chance in {m}, over all releases.",
        "Who is in the table.",
        (
            Asked("m", "m: at least so many different values cover everybody", "4"),
            Asked(
                "changed",
                "whose value is another one than before",
                "refuse",
                choices=("refuse", "suppress", "new-record"),
            ),
            Asked(
                "not_eligible",
                "where a value is too frequent",
                "refuse",
                choices=("refuse", "suppress"),
            ),
        ),
    ),
    Offer(
        "global-guarantee",
        "The table changes, and a person's values come and go, as a flu does.",
        "Nobody can be linked to any {it} they ever had with more than one chance in {l}.",
        "Who is in the table.",
        (Asked("l", "l: one chance in so many, over all releases", "4", whole=False),),
    ),
    Offer(
        "mondrian",
        "The table is published once, and simple groups will do.",
        "Everybody is one of at least {k} persons who look alike; with l, no {it} has more than 1/l "
        "of such a group.",
        "Anything once a second table about the same persons is published.",
        (
            Asked("k", "k: persons who look alike", "5"),
            Asked(
                "l",
                "l: no value in more than 1/l of a group; empty: no value is covered",
                "",
                whole=False,
            ),
        ),
    ),
    Offer(
        "anatomy",
        "The table is published once, and exact quasi-identifiers matter.",
        "Nobody can be linked with any {it} with more than one chance in {l}, while all else is "
        "published as it is.",
        "Who is in the table, and everything about a person but {it}.",
        (Asked("l", "l: one chance in so many", "4", whole=False),),
    ),
    Offer(
        "slicing",
        "The table is published once, and what goes together matters.",
        "Nobody can be linked with any {it} with more than one chance in {l}, over all buckets in "
        "which they may be.",
        "Values that stand alone in a column.",
        (Asked("l", "l: one chance in so many", "4", whole=False),),
    ),
    Offer(
        "mutual-cover",
        "The table is published once, and must look like the original.",
        "Every published value could come from at least 1/delta persons.",
        "Any {it}; and rows can be found, at a rate that is measured.",
        (
            Asked("delta", "delta: the greatest part of one person, as in 1/6", "1/6", whole=False),
            Asked("k", "k: persons in a group", "6"),
        ),
    ),
    Offer(
        "safe-sampling",
        "The release must be differentially private.",
        "Whoever sees the release can hardly tell whether any one row was in the table.",
        "What a whole population has in common.",
        (
            Asked("epsilon", "epsilon: less protects more", "1", whole=False),
            Asked("delta", "delta: how often the bound may fail", "1e-6", whole=False),
            Asked("expected_rows", "rows of the table, from what is public", ""),
        ),
    ),
)


def page(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """Every method, the plan's or the one that is tried first in mind: offered, or why not."""
    plan = place.plan()
    section = tomllib.loads(place.plan_text()).get("method", {})
    tried = query.get("method", str(section.get("name")))
    begun = place.promise(plan.name)
    offers = [
        _offer(place, offer, section, query if offer.name == tried else {}) for offer in OFFERS
    ]
    return {
        "stamp": place.stamp(),
        "series": plan.name,
        "sensitive": plan.sections.schema_.sensitive,
        "current": section.get("name"),
        "tried": tried if tried in {o.name for o in OFFERS} else str(section.get("name")),
        "offers": offers,
        "most": _most(place, plan.sections.schema_.sensitive),
        "begun": begun.get("method"),
        "known_method": KNOWN_METHOD,
    }


def _most(place: Place, sensitive: str | None) -> dict[str, Any] | None:
    """How much cover the sensitive attribute allows at most, by its most frequent value."""
    for column in place.table().columns:
        if column.name == sensitive and column.type != "set":
            share = column.most_frequent / column.rows
            return {"name": sensitive, "share": share, "most": 1 / share}
    return None


def _offer(
    place: Place, offer: Offer, section: Mapping[str, Any], query: Mapping[str, str]
) -> dict[str, Any]:
    """A method with the figures that were written, or the plan's, or those to begin with."""
    sensitive = place.plan().sections.schema_.sensitive
    own = section.get("name") == offer.name
    held = {
        a.key: query.get(
            a.key, str(section.get(a.key, a.begins if a.choices else "")) if own else a.begins
        )
        for a in offer.asked
    }
    promises: list[str] = []
    wrong = ""
    knows: bool | None = None
    suppresses: Sequence[str] = ()
    try:
        plan = with_method(place, offer.name, held)
        method = plan.method()
        plan.series()
        if sensitive is None and offer.name not in ("mondrian", "mutual-cover", "safe-sampling"):
            raise PlanError("it covers a sensitive attribute, and none is chosen.")
        promises = [
            in_words(g.parameters(), sensitive=sensitive is not None) for g in method.guarantees
        ]
        knows, suppresses = method.holds_if_method_known, method.may_suppress
    except PhalanxError as error:
        wrong = _reason(str(error))
    it = sensitive or "sensitive value"
    return {
        "name": offer.name,
        "table": offer.table,
        "promise": _filled(offer.promise, {"it": it, **held}),
        "open": _filled(offer.open, {"it": it}),
        "asked": [
            {
                "key": a.key,
                "label": a.label,
                "value": held[a.key],
                "whole": a.whole,
                "choices": a.choices,
            }
            for a in offer.asked
        ],
        "guarantees": promises,
        "holds_if_method_known": knows,
        "may_suppress": list(suppresses),
        "wrong": wrong,
        "current": own,
    }


def _filled(sentence: str, words: Mapping[str, str]) -> str:
    """A sentence with words in their places; a figure that is not there is named by its letter."""
    for key, word in words.items():
        sentence = sentence.replace(f"{{{key}}}", word or key)
    return sentence


def _reason(sentence: str) -> str:
    """Why a plan is refused, without the words that say which plan."""
    return sentence.split("' ", 1)[1] if sentence.startswith("in the plan '") else sentence


def with_method(place: Place, name: str, held: Mapping[str, str]) -> Plan:
    """The plan with another method, as it would be; PlanError where a figure is none."""
    document = tomlkit.parse(place.plan_text())
    adopt(document, name, held)
    return Plan.parse(tomlkit.dumps(document), place.plan_path)


def adopt(document: tomlkit.TOMLDocument, name: str, held: Mapping[str, str]) -> None:
    """Write a method and its figures into the plan."""
    offer = next((o for o in OFFERS if o.name == name), None)
    if offer is None:
        raise PlanError(f"{name!r} is none of the methods; choose one of the page.")
    figures = {a.key: _figure(a, held.get(a.key, "").strip()) for a in offer.asked}
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
            raise PlanError(f"{asked.key} is a whole number; correct it.") from None
    if "/" in text:
        return text
    try:
        return float(text)
    except ValueError:
        raise PlanError(f"{asked.key} is a number; correct it.") from None
