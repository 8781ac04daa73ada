# SPDX-License-Identifier: Apache-2.0
"""Publish: what would leave, the work itself, and what can be undone afterwards."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from phalanx.errors import PhalanxError
from phalanx.report.charts import Bars
from phalanx.series.given import STEPS
from phalanx.studio.pages import compare
from phalanx.studio.pages.data import source_name
from phalanx.studio.pages.reproducing import command, shown, without_studio
from phalanx.studio.place import Place


def page(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """The next release of the plan: what it is made of, and whether it can be made."""
    plan = place.plan()
    entries = place.entries(plan.name)
    wrong = ""
    method = None
    try:
        method = plan.method().name
        plan.series()
    except PhalanxError as error:
        wrong = str(error)
    name = shown(place, str(place.plan_path))
    return {
        "stamp": place.stamp(),
        "series": plan.name,
        "number": len(entries) + 1,
        "source": source_name(place),
        "method": method,
        "to": shown(place, str(plan.publish_to())),
        "formats": list(plan.formats),
        "wrong": wrong,
        "running": [
            job.to_json() for job in place.jobs.of("publish", "check") if job.state == "running"
        ],
        "checked": next(
            (job.to_json() for job in place.jobs.of("check") if job.result is not None), None
        ),
        "by": without_studio(place, command("publish", name), f"px.Plan.read({name!r}).publish()"),
    }


STEPS_SAID: Final[Mapping[str, str]] = {
    "read": "the table is read",
    "encode": "every value gets its place in the order or the hierarchy of its column",
    "group": "the method puts persons into groups",
    "write": "the files are written into a private folder",
    "check": "an independent check reads these very files, and refuses them or not",
    "record": "the ledger records the release, and its folder gets its name",
}
"""What every step does."""
_MOST_BARS: Final = 12


def _behind(steps: Sequence[str], begun: Sequence[str]) -> list[str]:
    """Which steps are done, where these were begun, some of them again and some not at all, as a
    table in parts is read twice and written part by part.

    >>> _behind(STEPS, ["read", "encode", "read"]), _behind(STEPS, ["read", "encode", "check"])
    (['encode'], ['read', 'encode', 'group', 'write'])
    """
    farthest = max((steps.index(step) for step in begun if step in steps), default=-1)
    return [step for at, step in enumerate(steps) if at <= farthest and step != begun[-1]]


def _picture(result: Mapping[str, Any]) -> str:
    """How many persons are left with how many candidates, as a chart; empty where they are not
    known.
    """
    candidates = {int(size): persons for size, persons in result.get("candidates", {}).items()}
    if not candidates:
        return ""
    labels, counts = bars(candidates)
    return Bars(
        key="left", title="Persons by the number of candidates left", unit="persons"
    ).by_label(labels, counts)


def bars(candidates: Mapping[int, int]) -> tuple[list[str], list[int]]:
    """A bar for each number where all are small, else for numbers from 1, 2 and 5 on, times ten
    again and again; so that the few of whom few are left are not lost among the others.

    >>> bars({2: 7, 4: 1}), bars({1: 3, 7: 5, 40: 900})
    ((['2', '3', '4'], [7, 0, 1]), (['1', '2–4', '5–9', '10–19', '20–49'], [3, 0, 5, 0, 900]))
    """
    least, most = min(candidates), max(candidates)
    if most - least < _MOST_BARS:
        ends = list(range(least, most + 2))
    else:
        ends = [part * 10**digits for digits in range(len(str(most)) + 1) for part in (1, 2, 5)]
        ends = ends if least else [0, *ends]
    bins = [(low, high - 1) for low, high in pairwise(ends) if low <= most]
    counts = [sum(n for size, n in candidates.items() if a <= size <= b) for a, b in bins]
    return [str(a) if a == b else f"{a}–{b}" for a, b in bins], counts


def work(place: Place, work: int, query: Mapping[str, str]) -> dict[str, Any]:
    """How far some work is, and what came of it."""
    job = place.jobs.get(work)
    fields = job.to_json()
    result = dict(fields["result"]) if fields["result"] is not None else None
    if result is not None and result.get("release"):
        result["release"] = Path(str(result["release"])).name
        result["report"] = None if result["report"] is None else Path(str(result["report"])).name
    if result is not None and job.kind == "measure":
        result["picture"] = compare.picture(result)
    steps = STEPS if job.kind == "publish" else STEPS[:-1] if job.kind == "check" else ()
    return fields | {
        "result": result,
        "picture": _picture(result or {}),
        "about": None if job.about is None else {"series": job.about[0], "number": job.about[1]},
        "all": {step: STEPS_SAID[step] for step in steps},
        "behind": _behind(steps, job.steps),
    }
