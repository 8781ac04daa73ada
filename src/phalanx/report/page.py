"""The page of one release: what was promised, the check, the groups, and the series so far."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from phalanx.guarantees.base import Verdict
from phalanx.release.folder import Release
from phalanx.report import charts, promises
from phalanx.report.figures import Figures, histogram, size_histogram


def write_report(path: Path, releases: Sequence[Release], verdicts: Sequence[Verdict], *, summary: Mapping[str, Any]) -> None:
    """Write the page of the newest of ``releases``; the earlier ones give the series so far.

    ``verdicts``: the checks it passed; ``summary``: counts that are not in the release (``held_back`` by reason, ``seconds``). Shows released
    values and these counts only; loads nothing and runs nothing. OSError where it cannot be written; an older page is replaced whole or not at all.
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
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    ordered = sorted(releases, key=lambda r: r.number)
    series = [Figures.of(release) for release in ordered]
    manifest, figures = ordered[-1].manifest, series[-1]
    sizes = size_histogram(figures.sizes)
    numbers = [str(f.number) for f in series]
    widths = []
    for width in figures.widths:
        bins = histogram(width.shares)
        chart = charts.bars(f"Interval widths of {width.name}", [f"{a:.0%}" for a, _, _ in bins], [n for _, _, n in bins], unit="rows")
        widths.append({"name": width.name, "mean": width.mean, "median": width.median, "domain": width.domain, "chart": Markup(chart)})  # noqa: S704 - charts escape what they show
    counterfeit_chart = charts.bars("Counterfeits per release", numbers, [f.counterfeits for f in series], unit="counterfeits") if len(series) > 1 else ""
    environment = Environment(loader=PackageLoader("phalanx.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template("release.html").render(
        manifest=manifest,
        promises=[promises.in_words(g) for g in manifest.guarantees],
        warnings=promises.warnings(manifest.model_dump()),
        checks=[_check(v) for v in verdicts],
        figures=figures,
        held_back=dict(summary.get("held_back", {})),
        seconds=summary.get("seconds"),
        sensitive=[a.name for a in manifest.attributes if a.role == "sensitive"],
        kept=[a.name for a in manifest.attributes if a.role == "keep"],
        smallest=int(figures.sizes.min()) if len(figures.sizes) else 0,
        largest=int(figures.sizes.max(initial=0)),
        size_chart=Markup(charts.bars("Groups by size", [label for label, _ in sizes], [n for _, n in sizes], unit="groups")),  # noqa: S704
        widths=widths,
        series=series,
        counterfeit_chart=Markup(counterfeit_chart),  # noqa: S704
        loss_chart=Markup(charts.line("Mean interval width per release", numbers, [f.loss for f in series], percent=True)),  # noqa: S704
    )


def _check(verdict: Verdict) -> dict[str, str]:
    said = verdict.to_json()
    unchecked = verdict.worst is None and verdict.note.startswith("not checked")
    return {
        "name": verdict.name.split(": ", 1)[-1] if verdict.name.startswith("release ") else verdict.name,
        "bound": _short(said["bound"]),
        "worst": _short(said["worst"]),
        "result": "not checked" if unchecked else "holds" if verdict.holds else "fails",
        "note": verdict.note.removeprefix("not checked: "),
    }


def _short(figure: object) -> str:
    """A figure as a table cell shows it; of a digest the beginning."""
    text = "" if figure is None else str(figure)
    return text if len(text) <= 20 else text[:12] + "…"
