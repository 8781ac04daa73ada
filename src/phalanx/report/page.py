"""The page of one release: what was promised, the check, the groups, and the series so far."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phalanx.guarantees.base import Verdict
from phalanx.release.folder import Release
from phalanx.report import promises
from phalanx.report.charts import Bars, percent
from phalanx.report.figures import Figures, size_histogram

if TYPE_CHECKING:
    from jinja2 import Template


def write_report(path: Path, releases: Sequence[Release], verdicts: Sequence[Verdict], *, summary: Mapping[str, Any]) -> None:
    """Write the page of the newest of ``releases``; the earlier ones give the series so far.

    ``verdicts``: the checks it passed; ``summary``: counts that are not in the release (``held_back`` and ``suppressed_values`` by reason, ``seconds``).
    Shows released values and these counts only; loads nothing and runs nothing. OSError where it cannot be written; an older page is replaced whole or
    not at all.
    """
    page = render(releases, verdicts, summary=summary)
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(page, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def render(releases: Sequence[Release], verdicts: Sequence[Verdict], *, summary: Mapping[str, Any]) -> str:
    """The page as text."""
    ordered = sorted(releases, key=lambda r: r.number)
    series = [Figures.of(release) for release in ordered]
    manifest, figures = ordered[-1].manifest, series[-1]
    checks = [_check(v) for v in verdicts]
    held_back, taken_out = dict(summary.get("held_back", {})), dict(summary.get("suppressed_values", {}))
    return _template().render(
        manifest=manifest,
        promises=[promises.in_words(g) for g in manifest.guarantees],
        warnings=promises.warnings(manifest, [r.manifest for r in ordered[:-1]], suppressed_values=sum(taken_out.values())),
        settings=promises.settings({key: value for key, value in manifest.method.items() if key != "name"}),
        checks=checks,
        results={kind: sum(c["result"] == kind for c in checks) for kind in ("holds", "fails", "not checked")},
        by_person=any("person" in c["name"] and c["result"] != "not checked" for c in checks),
        figures=figures,
        held_back=held_back,
        suppressed_values=taken_out,
        suppressed=sum(held_back.values()) if held_back else summary.get("suppressed", 0),
        seconds=summary.get("seconds"),
        roles={role: [a.name for a in manifest.attributes if a.role == role] for role in ("quasi", "sensitive", "keep")},
        charts=_charts(series),
        series=series,
        so_far="The series so far" if series[0].number == 1 else "This release and the one before it",
    )


def _charts(series: Sequence[Figures]) -> dict[str, Any]:
    """Every chart of the page; they escape what they show."""
    from markupsafe import Markup

    last, numbers = series[-1], [str(f.number) for f in series]
    sizes = size_histogram(last.sizes)
    widths = [_small(f"width-{i}", f"{w.name}: rows by interval width", unit="rows").by_share(w.histogram()) for i, w in enumerate(last.widths)]
    beside = {"Registered persons": [f.registered for f in series], "Counterfeits": [f.counterfeits for f in series]}
    growth = {
        "Rows": _small("series-rows", "Rows by release").by_label(numbers, [f.rows for f in series]),
        "Groups": _small("series-groups", "Groups by release").by_label(numbers, [f.groups for f in series]),
        **{t: _small(f"series-{t.split()[0].lower()}", f"{t} by release").by_label(numbers, counts) for t, counts in beside.items() if any(counts)},
        "Mean interval width": _small("series-width", "Mean interval width by release", percent=True).by_label(numbers, [f.loss for f in series]),
    }
    return {
        "sizes": Markup(Bars(key="sizes", title="Groups by size", unit="groups").by_label([label for label, _ in sizes], [n for _, n in sizes])),  # noqa: S704 - see above
        "widths": [Markup(chart) for chart in widths],  # noqa: S704
        "series": [(title, Markup(chart)) for title, chart in growth.items()] if len(series) > 1 else [],  # noqa: S704
    }


def _small(key: str, title: str, *, unit: str = "", percent: bool = False) -> Bars:
    """A chart of which two stand beside each other."""
    return Bars(key=key, title=title, unit=unit, width=340, height=140, percent=percent)


@cache
def _template() -> "Template":
    """Compiled once per process, and imported only by whoever writes a report."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(loader=PackageLoader("phalanx.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"percent": percent, "many": _many}
    return environment.get_template("release.html")


def _many(number: int, one: str) -> str:
    """A number and its noun: ``1 group``, ``2,000 groups``."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def _check(verdict: Verdict) -> dict[str, str]:
    unchecked = verdict.holds and verdict.worst is None and verdict.note.startswith("not checked")
    return {
        "name": verdict.name.split(": ", 1)[-1] if verdict.name.startswith("release ") else verdict.name,
        "bound": _short(verdict.bound),
        "worst": _short(verdict.worst),
        "result": "not checked" if unchecked else "holds" if verdict.holds else "fails",
        "note": verdict.note.removeprefix("not checked: "),
    }


def _short(figure: float | Fraction | str | None) -> str:
    """A figure as a table cell shows it: of a long fraction about its value, of a digest the beginning."""
    text = "–" if figure is None else str(figure)
    if isinstance(figure, Fraction) and len(text) > 12:
        return f"≈ {float(figure):.6g}"
    return text if len(text) <= 20 else text[:12] + "…"
