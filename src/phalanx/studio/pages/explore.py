# SPDX-License-Identifier: Apache-2.0
"""Explore: what a promise would cost, before anything leaves; a point of it becomes the plan."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from typing import Any

from phalanx.errors import PlanError
from phalanx.studio.pages import sliders
from phalanx.studio.pages.reproducing import command, shown, without_studio
from phalanx.studio.place import Place


def page(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """The points that were tried, the dry runs so far, and what to try them on."""
    plan = place.plan()
    name = shown(place, str(place.plan_path))
    tried = [job.to_json() for job in place.jobs.of("explore")]
    done = next((job for job in tried if job["result"] is not None), None)
    chosen = [part for part in query.get("points", "").split(",") if part.isdecimal()][:2]
    last = "".join(f"{number}," for number in chosen[-1:])  # whose card stays beside the next one
    picture = "" if done is None else done["result"]["picture"]
    points = [] if done is None else done["result"]["points"]
    return {
        "stamp": place.stamp(),
        "series": plan.name,
        "released": len(place.entries(plan.name)),
        "running": [job for job in tried if job["state"] == "running"],
        "done": done,
        "picture": picture.replace('href="?points=', f'href="/explore?points={last}'),
        "beside": [p for p in points if str(p["number"]) in chosen],
        "chosen": chosen,
        "sliders": sliders.page(place, query),
        "runs": [job.to_json() for job in place.jobs.of("check")],
        "by": without_studio(place, command("explore", name), f"print(px.explore({name!r}))"),
    }


def point(place: Place, work: int, number: int) -> Mapping[str, Any]:
    """What would stand under [method] for a point; PlanError where it could not be published."""
    job = place.jobs.get(work)
    for each in (job.result or {}).get("points", ()):
        if each["number"] == number and not each["refused"]:
            return _with_dates(each["method"])
    raise PlanError("there is no such point that could be published; choose another one.")


def rest(place: Place, work: int) -> str | None:
    """The rows that were not spent on the points, which are published instead, as the plan names
    them; None where none were spent.
    """
    source = (place.jobs.get(work).result or {}).get("source")
    return None if source is None else shown(place, source)


def _with_dates(method: Mapping[str, Any]) -> dict[str, Any]:
    """A method with the dates of its scheme, which came as texts."""
    scheme = {
        name: (
            {key: _date(part) for key, part in axis.items()} if isinstance(axis, Mapping) else axis
        )
        for name, axis in method.get("scheme", {}).items()
    }
    return {**method, "scheme": scheme} if scheme else dict(method)


def _date(part: Any) -> Any:
    """The date that a text is; anything else as it is."""
    with suppress(TypeError, ValueError):
        return date.fromisoformat(part)
    return part
