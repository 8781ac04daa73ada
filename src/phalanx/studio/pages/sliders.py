# SPDX-License-Identifier: Apache-2.0
"""A slider for every figure of a method, and what the figures would cost, at once."""

import json
import re
import tomllib
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from phalanx.errors import PhalanxError, PlanError
from phalanx.exploration import Asked, Estimator, Offer, offers
from phalanx.exploration.keeping import is_spent
from phalanx.studio.pages import windows
from phalanx.studio.pages.promise import with_method
from phalanx.studio.pages.reproducing import command, shown
from phalanx.studio.place import Place, mark

GROUNDS: Final[Mapping[str, str]] = {
    "released": "a table drawn from the last release, which is out already",
    "other": "another table of the same kind, such as last year’s",
    "sample": "a tenth of its rows, which are spent: the others are published, by a choice that"
    " depends on none of them",
    "table": "the table itself: a choice that depends on it, which no promise covers",
}
SAMPLE: Final = "1/10"
"""Such a part of the rows is spent."""
_WHOLE: Final = tuple(str(n) for n in (*range(2, 21), 25, 30, 40, 50, 75, 100))
_PARTS: Final = tuple(f"1/{n}" for n in reversed((*range(2, 21), 25, 30, 40, 50)))
_TIMES: Final = ("1/100", "1/50", "1/20", "1/10", "1/5", "1/2", "1", "2", "5", "10")


def page(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """The sliders as the address has them, beside the plan's own figures, and what both cost."""
    plan_section = tomllib.loads(place.plan_text()).get("method", {})
    offered = offers()
    current = str(plan_section.get("name"))
    method = query["method"] if query.get("method") in offered else current
    method = method if method in offered else next(iter(offered))
    base = plan_section if method == current else {}
    figures = _figures(offered[method], base, query)
    values = {f["key"]: f["value"] for f in figures}
    ground, source = place.ground
    fields: dict[str, Any] = {
        "stamp": place.stamp(),
        "ground": ground,
        "grounds": dict(GROUNDS),
        "source": None if source is None else shown(place, source),
        "method": method,
        "methods": list(offered),
        "figures": figures,
        "tried": " ".join([method, *(f"{key}={value}" for key, value in values.items() if value)]),
        "estimate": None,
        "of_plan": None,
        "why": "",
        "wrong": "",
    }
    try:
        section = with_method(place, method, values).sections.method_.model_dump(exclude_unset=True)
        key, make = _estimator(place)

        def estimated() -> dict[str, Any]:
            estimator: Estimator = place.estimators.get(key, make)
            return {
                "why": estimator.ground.why,
                "estimate": estimator.estimate(section).to_json(),
                "of_plan": estimator.estimate(plan_section).to_json(),
            }

        asked = (key, json.dumps([section, plan_section], default=str))
        fields |= place.estimates.get(asked, estimated, place.patience) or {}
    except PhalanxError as error:
        fields["wrong"] = str(error)
    options = {
        "other": ["--surrogate", fields["source"] or "FILE"],
        "sample": ["--sample", SAMPLE],
        "table": ["--on-the-table"],
    }
    name = shown(place, str(place.plan_path))
    fields["by"] = command("explore", name, "--try", fields["tried"], *options.get(ground, []))
    return fields


def estimate(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """The same alone, for each move of a slider."""
    return {"sliders": page(place, query)}


def _figures(
    offer: Offer, base: Mapping[str, Any], query: Mapping[str, str]
) -> list[dict[str, Any]]:
    """What every slider shows: its steps, and where it stands."""
    figures = []
    for asked in offer.asked:
        begins = str(base.get(asked.key, "" if base and not asked.choices else asked.begins))
        offered = steps(asked, begins, offer.tried.get(asked.key, ()))
        at = offered.index(begins) if begins in offered else 0
        if offered and f"step.{asked.key}" in query:
            at = windows.number(query, f"step.{asked.key}", 0, len(offered) - 1)
        value = offered[at] if offered else query.get(asked.key, begins)
        figures.append(
            {"key": asked.key, "label": asked.label, "steps": offered, "at": at, "value": value}
        )
    return figures


def steps(asked: Asked, begins: str, tried: Sequence[Any] = ()) -> list[str]:
    """Where the slider of a figure can stand, the one that it begins with among them; none of a
    figure that only its owner can know.

    >>> steps(Asked("k", "k", "5"), "7")[:3]
    ['2', '3', '4']
    >>> steps(Asked("epsilon", "epsilon", "1", whole=False), "1", (0.5, 1))[-3:]
    ['2', '5', '10']
    """
    if asked.choices:
        return list(asked.choices)
    usual = asked.begins
    if not usual and asked.whole:
        return []
    first = [] if usual else [""]
    if re.fullmatch(r"1/[0-9]+", usual):
        offered = set(_PARTS)
    elif (not usual or usual.isdecimal()) and all(isinstance(each, int) for each in tried):
        offered = set(_WHOLE)
    else:
        offered = {f"{float(Fraction(usual or 1) * Fraction(each)):g}" for each in _TIMES}
    amounts = {Fraction(each): each for each in offered}
    try:
        amounts[Fraction(begins)] = begins
    except (ValueError, ZeroDivisionError):  # no number; what is wrong with it is said below
        first = list(dict.fromkeys([begins, *first]))
    return [*first, *(amounts[each] for each in sorted(amounts))]


def _estimator(place: Place) -> tuple[Hashable, Callable[[], Estimator]]:
    """What makes the estimator, which is one for each ground for as long as the ground and the
    schema are the same.
    """
    plan, (ground, source) = place.plan(), place.ground
    if ground == "other" and source is None:
        raise PlanError("no table is named to try it on; name one above.")
    if ground == "sample" and not is_spent(plan):
        raise PlanError("no rows are spent yet: they are drawn when points are tried, below.")
    other = [source] if ground == "other" and source is not None else []
    read = other or ([plan.source_path()] if ground in ("sample", "table") else [])
    entries = place.entries(plan.name)
    schema = json.dumps(plan.sections.schema_.model_dump(mode="json"))
    digest = entries[-1].digest if entries else ""
    key = (ground, *((each, *mark(each)) for each in read), schema, digest)
    return key, lambda: Estimator.of(
        plan,
        surrogate=other,
        sample=SAMPLE if ground == "sample" else None,
        on_the_table=ground == "table",
    )
