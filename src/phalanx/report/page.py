# SPDX-License-Identifier: Apache-2.0
"""The page of one release: four answers, pictures, what a regulator signs, the check, and the
series so far.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from phalanx.data.microdata import Microdata
from phalanx.exact import at_most
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.sentences import as_promised, percent
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.manifest import Manifest
from phalanx.report import headlines, pictures, promises
from phalanx.report.adversaries import Disclosure, Question, most_named, reasons, told
from phalanx.report.charts import Bars
from phalanx.report.classes import THRESHOLDS, Classes, among
from phalanx.report.correlations import Correlations
from phalanx.report.figures import Figures, size_histogram
from phalanx.report.looks import Look
from phalanx.report.privacy import NAME as PRIVACY
from phalanx.report.privacy import Privacy
from phalanx.report.recodings import Recoding
from phalanx.report.so_far import SoFar
from phalanx.report.usefulness import Usefulness
from phalanx.report.writing import PAGE, check_place, write

if TYPE_CHECKING:
    from jinja2 import Template

Audience = Literal["internal", "external"]
"""The publisher who answers for the release, or the recipient."""
_FEW: Final = 2
"""So many bars tell less than a sentence."""
AUDIENCES: Final = ("internal", "external")


def write_report(
    path: Path,
    releases: Sequence[Release],
    verdicts: Sequence[Verdict],
    *,
    summary: Mapping[str, Any],
    adversaries: Sequence[Disclosure] = (),
    answers: Sequence[Question] = (),
    audience: Audience = "internal",
    microdata: Microdata | None = None,
    population: int | None = None,
    so_far: Sequence[SoFar] = (),
    look: Look | None = None,
) -> None:
    """Write the page of the newest of ``releases``; the earlier ones give the series so far.

    ``verdicts``: the checks it passed; ``summary``: counts that are not in the release
    (``suppressed_rows`` and ``suppressed_values`` by reason, ``seconds``); ``adversaries``: what
    each of them found out, to be shown side by side; ``answers``: the regulator's questions,
    answered by those who were played; ``microdata``: the original table, for what was lost. A page
    for an ``external`` audience takes none of these four. ``population``: so many persons the table
    is a sample of; ``so_far``: figures of earlier releases, whose tables need not be read for them;
    ``look``: the look that was taken at the newest one's tables, where it was.
    Names released values only; loads nothing and runs nothing. OSError where it cannot be written;
    an older page is replaced whole or not at all. An ``internal`` one is for its owner alone, as the
    ledger is.
    """
    check_place(path, PAGE)
    page = render(
        releases,
        verdicts,
        summary=summary,
        adversaries=adversaries,
        answers=answers,
        audience=audience,
        microdata=microdata,
        population=population,
        so_far=so_far,
        look=look,
    )
    write(path, page, private=audience == "internal")


def render(
    releases: Sequence[Release],
    verdicts: Sequence[Verdict],
    *,
    summary: Mapping[str, Any],
    adversaries: Sequence[Disclosure] = (),
    answers: Sequence[Question] = (),
    audience: Audience = "internal",
    microdata: Microdata | None = None,
    population: int | None = None,
    so_far: Sequence[SoFar] = (),
    look: Look | None = None,
) -> str:
    """The page as text."""
    ordered = sorted(releases, key=lambda r: r.number)
    inside = audience == "internal"
    if not inside:
        summary, adversaries, answers, microdata = {}, (), (), None
    known = {figures.number: figures for figures in so_far}
    look = look or Look.of(ordered[-1])
    look = replace(look, classes=among(look.classes, population, look.figures.rows))
    manifest, figures, form = ordered[-1].manifest, look.figures, look.form
    series = [
        SoFar.of(look)
        if release is ordered[-1]
        else known.get(release.number) or SoFar.of(Look.of(release))
        for release in ordered
    ]
    place = form.group_word
    intervals = form.has_intervals and not form.tells_itself_alone
    checks = [_check(v) for v in verdicts]
    checked = [c for c in checks if c["result"] in ("holds", "fails")]
    counted = {} if form.tells_itself_alone else summary
    suppressed_rows = counted.get("suppressed_rows")
    taken_out = dict(counted.get("suppressed_values") or {})
    results = {
        kind: sum(c["result"] == kind for c in checks) for kind in ("holds", "fails", "not checked")
    }
    suppressed = None if suppressed_rows is None else sum(suppressed_rows.values())
    use = Usefulness.of(ordered[-1], microdata)
    markup = _markup()
    return _template().render(
        inside=inside,
        headlines={
            "kept": headlines.kept(results, figures.rows),
            "found": headlines.found(ordered[-1], look, answers, inside=inside),
            "lost": headlines.lost(
                figures,
                use,
                suppressed,
                sum(taken_out.values()),
                intervals=intervals,
            ),
            "usable": headlines.usable(look, use),
        },
        use=use,
        pictures=[(p.title, p.under, markup(p.svg)) for p in _pictures(series, use)],
        regulator=regulators_table(look.classes),
        why_no_class=look.why_no_class,
        digest=ordered[-1].digest,
        manifest=manifest,
        promises=[
            promises.in_words(g, sensitive=form.sensitive is not None) for g in manifest.guarantees
        ],
        warnings=promises.warnings(
            manifest,
            [r.manifest for r in ordered[:-1]],
            suppressed_values=sum(taken_out.values()),
            reidentified=most_named(adversaries),
        ),
        known_method=promises.KNOWN_METHOD,
        holds_if_known=promises.holds_if_known(manifest),
        settings=promises.settings(
            {key: value for key, value in manifest.method.items() if key != "name"}
        ),
        checks=checks,
        results=results,
        by_original=any("original table" in c["note"] for c in checked),
        by_tables=any("random output table" in c["note"] for c in checked),
        by_person=any("person" in c["name"] for c in checked),
        figures=figures,
        suppressed_rows=suppressed_rows,
        suppressed_values=taken_out,
        suppressed=suppressed,
        private=_privacy(manifest, summary),
        seconds=counted.get("seconds"),
        roles=_roles(form),
        form=form,
        place=place,
        intervals=intervals,
        repeated=_repeated(form),
        adversaries=told(adversaries, manifest.method.get("bounds", {})),
        most_named=most_named(adversaries),
        answers=[(answer, reasons(answer, form.kind)) for answer in answers],
        correlations=_matrix(Correlations.of(form))
        if form.together() and not manifest.parts
        else None,
        charts=_charts(figures, place),
        series=series,
        so_far="The series so far"
        if series[0].number == 1
        else "This release and the one before it",
    )


def regulators_table(classes: Classes | None) -> dict[str, Any] | None:
    """What a regulator asks of every release, from published values; None where a row is not a
    person's, so that no person can be found by it. Keys as of ``Classes.to_json``, and those for
    the page.
    """
    if classes is None or not classes.rows:
        return None
    return classes.to_json() | {
        "of": classes.of,
        "thresholds": [(f"{t:g}", classes.above(t)) for t in THRESHOLDS],
        "worst": classes.worst,
        "average": classes.average,
        "distribution": classes.distribution,
        "alone": classes.alone,
        "declared": False,
    }


def _pictures(series: Sequence[SoFar], use: Usefulness) -> list[pictures.Picture]:
    """What people look at; each names released values only, and escapes what it shows."""
    drawn = [
        *pictures.distributions(use),
        pictures.of_two_values(use),
        pictures.pairs(use),
        pictures.questions(use),
    ]
    known = [r for r in series if r.worst is not None and r.average is not None]
    if len(known) > 2:  # a picture of two bars is none
        worst, mean = [r.worst or 0.0 for r in known], [r.average or 0.0 for r in known]
        drawn.append(pictures.risk_over_series(worst, mean, [r.number for r in known]))
    return [picture for picture in drawn if picture is not None]


def _privacy(manifest: Manifest, summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the page tells of a differentially private release beside its promise; None of one that
    promises no such thing, or whose promise means nothing.
    """
    promise_shown = next((g for g in manifest.guarantees if g.get("name") == PRIVACY), None)
    if promise_shown is None:
        return None
    try:
        promise = Privacy.of(promise_shown)
    except (KeyError, ValueError, ArithmeticError):
        return None
    cost = promise.cost(manifest.number, summary.get("spent") or {})
    return {
        "promise": promise,
        "deltas": promise.deltas,
        "cost": cost,
        "beta": f"{float(promise.beta):.6g}",
        "delta": at_most(promise.delta),
        "shown": as_promised,
    }


def _roles(form: Form) -> dict[str, list[str]]:
    """Which attributes are published how."""
    roles = {
        role: [a.name for a in form.attribute(role)]
        for role in ("quasi", "sensitive", "weight", "keep")
    }
    exact = (
        [] if form.is_drawn else [a.name for a in form.attribute("quasi") if len(a.columns) == 1]
    )
    drawn = roles["quasi"] if form.is_drawn else []
    return roles | {
        "exact": exact,
        "drawn": drawn,
        "intervals": [name for name in roles["quasi"] if name not in (*exact, *drawn)],
    }


def _repeated(form: Form) -> list[str]:
    """The attributes that stand in more than one column."""
    names = [name for column in form.together() for name in column.names]
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def _matrix(correlations: Correlations) -> dict[str, Any]:
    """What the table of correlations shows: a row per attribute, and in each of its cells the
    figure, its shade, and whether the two stand together.
    """
    d = range(len(correlations.names))
    rows = [
        [
            {
                "figure": None
                if math.isnan(share := float(correlations.phi2[x, y]))
                else f"{share:.2f}",
                "same": x == y,
                "together": bool(correlations.together[x, y]),
            }
            | {"shade": 0 if x == y or math.isnan(share) else round(100 * math.sqrt(share))}
            for y in d
        ]
        for x in d
    ]
    strongest = {
        kind: correlations.strongest(together=kind == "together") for kind in ("together", "apart")
    }
    return {
        "names": correlations.names,
        "rows": rows,
        "left_out": correlations.left_out,
        "undefined": bool(np.isnan(correlations.phi2).any()),
        **strongest,
    }


def _markup() -> Any:
    """What marks text as drawn by us, which escapes what it shows; imported by a report alone."""
    from markupsafe import Markup

    return Markup


def _charts(last: Figures, place: str) -> dict[str, Any]:
    """Every chart of the page; they escape what they show."""
    from markupsafe import Markup

    sizes = size_histogram(last.sizes)
    places = f"{place.capitalize()}s"
    return {
        "sizes": Markup(  # noqa: S704 - see above
            Bars(key="sizes", title=f"{places} by size", unit=f"{place}s").by_label(
                [label for label, _ in sizes], [n for _, n in sizes]
            )
        )
        if len(sizes) > _FEW
        else "",
        "cells": [(name, Markup(chart)) for name, chart in _cells(last.recodings)],  # noqa: S704
    }


def _cells(recodings: Sequence[Recoding]) -> Iterator[tuple[str, str]]:
    """The rows of every published cell, attribute by attribute; a chart that stands alone is
    larger.
    """
    drawn = [r for r in recodings if r.cells]
    for i, recoding in enumerate(drawn):
        key, title = f"cells-{i}", f"{recoding.name}: rows by cell"
        chart = (
            _small(key, title, unit="rows")
            if len(drawn) > 1
            else Bars(key=key, title=title, unit="rows")
        )
        yield (
            recoding.name,
            chart.by_label(
                [label for label, _ in recoding.cells], [rows for _, rows in recoding.cells]
            ),
        )


def _small(key: str, title: str, *, unit: str = "", percent: bool = False) -> Bars:
    """A chart of which two stand beside each other."""
    return Bars(key=key, title=title, unit=unit, width=340, height=140, percent=percent)


@cache
def _template() -> "Template":
    """Imported only by anyone who writes a report, and compiled once per installation, where what
    is compiled may be written beside that of the modules.
    """
    from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
    from jinja2.bccache import Bucket

    class Compiled(FileSystemBytecodeCache):
        def dump_bytecode(self, bucket: Bucket) -> None:
            with suppress(OSError):
                super().dump_bytecode(bucket)

    environment = Environment(
        loader=PackageLoader("phalanx.report"),
        bytecode_cache=Compiled(str(Path(__file__).with_name("__pycache__"))),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "many": _many, "listed": _listed}
    return environment.get_template("release.html")


def _many(number: int, one: str) -> str:
    """A number and its noun: ``1 group``, ``2,000 groups``."""
    return f"{number:,} {one if number == 1 else one + 's'}"


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence: ``age, sex and zip``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _check(verdict: Verdict) -> dict[str, str]:
    worst, bound = map(_short, verdict.figures)
    return {
        "name": verdict.name.split(": ", 1)[-1]
        if verdict.name.startswith("release ")
        else verdict.name,
        "bound": bound,
        "worst": worst,
        "result": verdict.result,
        "note": verdict.note.removeprefix(f"{verdict.result}: "),
    }


def _short(figure: str) -> str:
    """A figure as a table cell shows it: of a digest the beginning."""
    return (figure or "–") if len(figure) <= 20 or " " in figure else figure[:12] + "…"
