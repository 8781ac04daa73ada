# SPDX-License-Identifier: Apache-2.0
"""Hand over: what goes out, what stays, and how each page is made again without the studio."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from phalanx.errors import ReleaseError, without_passwords
from phalanx.report.promises import in_words, warnings
from phalanx.series.staging import REPORTS
from phalanx.studio.pages.reproducing import attack_all, command, shown, without_studio
from phalanx.studio.place import Place

REPORTS_SHOWN: Final[Mapping[str, str]] = {"internal": "/report", "external": "/report/external"}
"""Where each report is shown, by whom it is for."""


def page(place: Place, series: str, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    """The folder to hand out, its report, the plan, and the commands."""
    entry, release = place.entry(series, number), place.release(series, number)
    manifest = release.manifest
    folder = shown(place, entry.folder)
    by_plan = place.has_plan and place.plan().name == series
    ledger = shown(place, place.ledger_url())
    plan = shown(place, str(place.plan_path))
    commands = [
        ("Check the folder, as its recipient can", command("verify", folder)),
        ("Check it against the ledger", command("verify", folder, "--ledger", ledger)),
        ("See the series", command("series", "show", series, "--ledger", ledger)),
        ("Play every adversary", attack_all(place, series, place.up_to(series, number))),
        (
            "Write the page for those who receive it",
            command("report", folder, "--for", "external", "--to", f"{Path(folder).name}.html"),
        ),
        ("Draw tables from it", command("draw", folder, "--to", f"{Path(folder).name}-drawn")),
    ]
    if by_plan:
        commands.append(("Publish the next release", command("publish", plan)))
    return {
        "series": series,
        "number": number,
        "folder": folder,
        "files": ["release.json", *(file.name for file in manifest.files)],
        "digest": entry.digest,
        "promises": [
            in_words(g, sensitive=release.form.sensitive is not None) for g in manifest.guarantees
        ],
        "warnings": [
            {"headline": head, "sentence": sentence} for head, sentence in warnings(manifest)
        ],
        "reports": {
            audience: _name(report_path(place, series, number, audience))
            for audience in REPORTS_SHOWN
        },
        "plan": without_passwords(place.plan_text()) if by_plan else None,
        "commands": [{"what": what, "command": text} for what, text in commands],
        "by": without_studio(
            place, command("verify", folder), f"print(px.verify({folder!r}).holds)"
        ),
    }


def _name(path: Path) -> str | None:
    """What a file is called; None where it is not there."""
    return path.name if path.is_file() else None


def report_path(place: Place, series: str, number: int, audience: str) -> Path:
    """Where the report of a release for an audience is."""
    folder = Path(place.entry(series, number).folder)
    kind = "" if audience == "internal" else f".{audience}"
    return folder.parent / REPORTS / f"{folder.name}{kind}.html"


def report(place: Place, series: str, number: int, audience: str) -> str:
    """The report as it was written; ReleaseError where it is not there."""
    try:
        return report_path(place, series, number, audience).read_text(encoding="utf-8")
    except OSError:
        raise ReleaseError("the report is not where it was written; write it again.") from None
