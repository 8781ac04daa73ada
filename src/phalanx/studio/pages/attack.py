# SPDX-License-Identifier: Apache-2.0
"""Attack it: who is played, what they know, and what they find; a sentence first."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import Field, fields
from typing import Any, Final

from phalanx.adversaries.opinion import QUESTIONS, question_of
from phalanx.adversaries.registry import KNOWN, made
from phalanx.errors import PhalanxError, PlanError
from phalanx.ledger import ReleaseEntry
from phalanx.studio import findings
from phalanx.studio.pages import windows
from phalanx.studio.pages.reproducing import attack_all, shown, without_studio
from phalanx.studio.place import Place

_DIGITS: Final = 10
"""A number of fewer digits is whole."""


def page(place: Place, series: str, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    """Every adversary, by the regulator's question that it answers, and what was found so far."""
    entries = place.up_to(series, number)
    played = findings.kept(entries[-1], findings.ATTACK)
    has_original = {e.number: place.original_source(series, e.number) is not None for e in entries}
    return {
        "series": series,
        "number": number,
        "known": has_original[number],
        "unknown": [n for n, is_known in has_original.items() if not is_known],
        "questions": [
            {"question": question, "asks": asks, "adversaries": _of(question, played)}
            for question, asks in QUESTIONS.items()
        ],
        "running": [
            job.to_json()
            for job in place.jobs.of("attack", about=(series, number))
            if job.state == "running"
        ],
        "by": without_studio(
            place,
            attack_all(place, series, entries),
            *_lines(place, series, entries),
        ),
    }


def _lines(place: Place, series: str, entries: Sequence[ReleaseEntry]) -> list[str]:
    """What plays an adversary in Python, by the plan; without one, what checks the folders."""
    if place.has_plan and place.plan().name == series:
        plan = shown(place, str(place.plan_path))
        return [
            f"series = px.Plan.read({plan!r}).series()",
            "print(series.attack(px.Intersection(), originals=[…]).sentence)",
        ]
    folders = [shown(place, e.folder) for e in entries]
    return [f"print(px.verify({folders!r}, ledger={shown(place, place.ledger_url())!r}).holds)"]


def _of(question: str, played: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    by_name = {each["played"]: each for each in played}
    adversaries = []
    for name in KNOWN:
        if question_of(name) != question or not is_offered(name):
            continue
        with suppress(PhalanxError, TypeError):
            adversary = made(name)
            adversaries.append(
                {
                    "name": name,
                    "knows": adversary.knows,
                    "looks_at": _looks_at(name),
                    "asked": [
                        {
                            "key": one.name,
                            "label": one.metadata["help"],
                            "value": _begins(adversary, one.name),
                        }
                        for one in _asked(adversary)
                    ],
                    "found": by_name.get(name),
                }
            )
    return adversaries


def is_offered(name: str) -> bool:
    """Whether there is such an adversary, who needs nothing that another publisher made."""
    return name in KNOWN and _looks_at(name) != "publishers"


def _looks_at(name: str) -> str:
    return str(getattr(KNOWN[name], "looks_at", "series"))


def _asked(adversary: Any) -> list[Field[Any]]:
    """What a person may say of what an adversary knows and does."""
    return [one for one in fields(adversary) if "help" in one.metadata]


def _begins(adversary: Any, key: str) -> str:
    """How it is played by default, as a person would write it."""
    value = getattr(adversary, key)
    several = isinstance(value, Sequence) and not isinstance(value, str)
    return ", ".join(map(str, value)) if several else "" if value is None else str(value)


def knowing(name: str, form: Mapping[str, str]) -> dict[str, Any]:
    """What a person says that an adversary knows; PlanError where it cannot be. What stands empty
    is not given.
    """
    adversary = made(name)
    answers: dict[str, Any] = {}
    for one in _asked(adversary):
        text = form.get(f"asked.{one.name}")
        if text is None or (text := text.strip()) == _begins(adversary, one.name):
            continue
        if isinstance(getattr(adversary, one.name), tuple):
            answers[one.name] = [part.strip() for part in text.split(",") if part.strip()]
        elif not text:
            answers[one.name] = one.default
        else:
            answers[one.name] = (
                int(text)
                if text.isascii() and text.isdecimal() and len(text) < _DIGITS
                else windows.decimal(text)
            )
    made(name, **answers)
    return answers


def arguments(
    place: Place, series: str, number: int, name: str, form: Mapping[str, str]
) -> dict[str, Any]:
    """What the work of an attack is told; PlanError where a table that it needs is not known."""
    entries = place.up_to(series, number)
    if _looks_at(name) == "release":
        entries = entries[-1:]
    tables = [place.original_source(series, e.number) for e in entries]
    if absent := [e.number for e, of in zip(entries, tables, strict=True) if of is None]:
        raise PlanError(f"the table of release {absent[0]} is not known here; name its file.")
    return {
        "adversary": name,
        "folders": [e.folder for e in entries],
        "ledger": place.ledger_url(),
        "originals": [(of.source, of.query, of.wave) for of in tables if of is not None],
        "identifier": place.promise(series).get("identifier"),
        "knows": knowing(name, form),
    }
