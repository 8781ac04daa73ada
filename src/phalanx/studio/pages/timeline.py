# SPDX-License-Identifier: Apache-2.0
"""The front page: the series, and of every release what it promised, was checked for and lost."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from phalanx.data.sources.source import ENDINGS
from phalanx.errors import PhalanxError
from phalanx.ledger import Ledger, ReleaseEntry
from phalanx.profile.use import QUESTIONS, Use
from phalanx.release.manifest import NAME, Manifest
from phalanx.report.looks import Look
from phalanx.report.promises import in_words, warnings
from phalanx.studio import findings
from phalanx.studio.pages.reproducing import command, shown, without_studio
from phalanx.studio.place import Place, as_it_is


def page(place: Place, query: Mapping[str, str]) -> dict[str, Any]:
    """Every series of the ledger, the plan's first."""
    plan = place.plan() if place.has_plan else None
    if plan is None and place.ledger_alone is None:
        return {
            "plan": None,
            "series": [],
            "begun": False,
            "next": None,
            "files": files(place),
            "brought": None if place.brought is None else asdict(place.brought),
            "questions": QUESTIONS,
            "answered": {"changes": "", "looks_original": "no", "receiver": Use.receiver},
        }
    nothing: list[dict[str, Any]] = []
    all_series = place.with_ledger(_series, nothing)
    series_of = {series["name"]: series for series in all_series}
    first = [] if plan is None or plan.name not in series_of else [series_of.pop(plan.name)]
    ordered = [*first, *series_of.values()]
    for series in ordered:
        series["releases"] = [
            _release(place, series["name"], entry) for entry in place.entries(series["name"])
        ]
    return {
        "plan": None if plan is None else {"name": plan.name, "method": _method(place)},
        "series": ordered,
        "begun": bool(first),
        "next": None if plan is None else 1 + sum(len(s["releases"]) for s in first),
        "files": [],
        "by": _by(place),
    }


def _by(place: Place) -> dict[str, str | None]:
    """What else tells of the series in the ledger."""
    ledger = shown(place, place.ledger_url())
    url = ledger if "://" in ledger else f"sqlite:///{ledger}"
    return without_studio(
        place,
        command("series", "list", "--ledger", ledger),
        f"with px.Ledger.open({url!r}, create=False) as ledger:",
        "    print(ledger.series())",
    )


def files(place: Place) -> list[str]:
    """The tables beside the plan, by name, so that one of them can be chosen."""
    folder = place.plan_path.parent
    names = (p.name for p in folder.iterdir() if p.is_file()) if folder.is_dir() else ()
    return sorted(n for n in names if n.lower().endswith(ENDINGS) and not n.startswith("."))


def _method(place: Place) -> str | None:
    with suppress(PhalanxError):
        return place.plan().method().name
    return None


def _series(ledger: Ledger) -> list[dict[str, Any]]:
    return [
        {
            "name": s.name,
            "method": s.promise.get("method"),
            "begun": s.created,
            "moved": s.moved,
            "unit": s.promise.get("privacy_unit"),
            "promises": [
                in_words(g, sensitive=s.promise.get("sensitive") is not None)
                for g in s.promise.get("guarantees", [])
            ],
        }
        for s in ledger.series()
    ]


def _release(place: Place, series: str, entry: ReleaseEntry) -> dict[str, Any]:
    """A release as the ledger knows it, and as its folder says where it is there still."""
    summary = entry.summary
    suppressed = summary.get("suppressed_rows")
    fields: dict[str, Any] = {
        "number": entry.number,
        "day": entry.day,
        "folder": Path(entry.folder).name,
        "digest": entry.digest[:12],
        "rows": summary.get("rows"),
        "groups": summary.get("groups"),
        "counterfeits": summary.get("counterfeits"),
        "suppressed": None if suppressed is None else sum(suppressed.values()),
        "suppressed_rows": suppressed or {},
        "spent": summary.get("spent"),
        "checks": next(iter(findings.kept(entry, findings.CHECK)), None),
        "attacks": findings.kept(entry, findings.ATTACK),
    }
    key = ("release", *as_it_is(entry))
    of_folder: dict[str, Any] = place.answers.get(key, lambda: _of_folder(place, series, entry))
    return fields | of_folder


def _of_folder(place: Place, series: str, entry: ReleaseEntry) -> dict[str, Any]:
    folder = Path(entry.folder)
    blank: dict[str, Any] = {"promises": [], "warnings": [], "loss": None, "there": None}
    try:
        manifest = Manifest.from_bytes((folder / NAME).read_bytes(), Path(folder.name))
        figures = Look.of(place.release(series, entry.number)).figures
    except OSError:
        return blank | {"there": "Its folder is not where it was published."}
    except PhalanxError:
        return blank | {"there": "Its folder is not as it was published."}
    sensitive = any(a.role == "sensitive" for a in manifest.attributes)
    return {
        "promises": [in_words(g, sensitive=sensitive) for g in manifest.guarantees],
        "warnings": [headline for headline, _ in warnings(manifest)],
        "loss": figures.loss if figures.widths and figures.measured else None,
        "there": None,
    }
