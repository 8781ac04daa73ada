# SPDX-License-Identifier: Apache-2.0
"""Compare: the original beside the release, row by row, as distributions, and as answers."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from phalanx.errors import PhalanxError, ReleaseError
from phalanx.report import pictures
from phalanx.report.charts import Bars
from phalanx.report.usefulness import Usefulness
from phalanx.series.released import Release
from phalanx.studio import findings
from phalanx.studio.pages import beside, windows
from phalanx.studio.pages.reproducing import command, shown, table_of, without_studio
from phalanx.studio.place import Place, Table


def page(place: Place, series: str, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    """A release and its original; where the original is not known, how to name it."""
    release = place.release(series, number)
    names = [a.name for a in release.form.attributes if a.type != "set" and a.role != "weight"]
    fields: dict[str, Any] = {
        "series": series,
        "number": number,
        "form": release.form.kind,
        "attributes": names,
        "attribute": query["attribute"] if query.get("attribute") in names else names[0],
        "measured": _measured(place, series, number),
        "rows": None,
        "why_no_rows": "",
        "group": None,
        "charts": None,
        "questions": [],
        "wrong": "",
        "by": _by(place, series, number),
    }
    try:
        table = place.original(series, number)
        _check_columns(release, table)
    except PhalanxError as error:
        return fields | {"wrong": str(error)}
    by_reason = place.entry(series, number).summary.get("suppressed_rows")
    suppressed = None if by_reason is None else sum(by_reason.values())
    key = ("questions", release.digest, table.key)
    fields["questions"] = place.answers.get(key, lambda: questions(release, table, suppressed))
    fields["charts"] = charts(place, release, table, fields["attribute"])
    try:
        fields |= beside.rows(place, series, number, query)
        fields["group"] = beside.group(place, release, table, query)
    except PhalanxError as error:
        fields["wrong"] = str(error)
    return fields


def _by(place: Place, series: str, number: int) -> dict[str, str | None]:
    folder = shown(place, place.entry(series, number).folder)
    table = table_of(place, series, number)
    return without_studio(
        place,
        command("measure", folder, "--original", table),
        f"release = px.Release.read({folder!r})",
        f"print(release.measure({table!r}))",
    )


def _check_columns(release: Release, table: Table) -> None:
    for attribute in release.form.attributes:
        if attribute.name not in table.frame.columns:
            raise ReleaseError(
                f"the table has no column {attribute.name!r}, which is published; name the table "
                "that this release was made of."
            )


def charts(place: Place, release: Release, table: Table, name: str) -> dict[str, Any]:
    """The distribution of one attribute in the original, and in a table drawn from the release."""

    def draw() -> pl.DataFrame:
        drawn: pl.DataFrame = release.draw(1)[0]
        return drawn

    original = table.frame.get_column(name)
    try:
        drawn = place.answers.get(("drawn", release.digest), draw).get_column(name)
    except PhalanxError as error:
        return {"attribute": name, "wrong": str(error)}
    labels, before = windows.bars(original, original)
    _, after = windows.bars(drawn, original)
    if len(after) < len(before):
        after = [*after, *[0] * (len(before) - len(after))]
    return {
        "attribute": name,
        "wrong": "",
        "labels": labels,
        "original": before,
        "release": after[: len(before)],
        "pictures": [
            Bars(key=f"chart-{kind}", title=f"{name}: {caption}", unit="rows").by_label(
                labels, counts[: len(labels)]
            )
            for kind, caption, counts in (
                ("before", "original", before),
                ("after", "drawn from the release", after),
            )
        ],
    }


def questions(release: Release, table: Table, suppressed: int | None) -> list[dict[str, Any]]:
    """Some typical questions, answered by the release and by the original."""
    asked: list[tuple[str, pl.Expr]] = []
    for attribute in release.form.attributes:
        if attribute.type == "set" or attribute.role == "weight":
            continue
        values = table.frame.get_column(attribute.name).drop_nulls()
        if not len(values):
            continue
        if attribute.type == "numeric" and values.dtype.is_numeric():
            low, high = (values.quantile(q, "nearest") for q in (0.25, 0.5))
            if values.dtype.is_integer():
                low, high = int(low or 0), int(high or 0)
            question = f"from {low} to {high}" if low != high else f"= {low}"
            question = f"rows with {attribute.name} {question}"
            asked.append((question, pl.col(attribute.name).is_between(low, high)))
        elif attribute.type == "categorical":
            counts = values.cast(pl.String).alias("value").value_counts(sort=True)
            most = counts["value"][0]
            value = int(most) if values.dtype.is_integer() else most
            asked.append((f"rows with {attribute.name} = {most}", pl.col(attribute.name) == value))
    answers = []
    for question, condition in asked[:6]:
        with suppress(PhalanxError, pl.exceptions.PolarsError):
            answer = release.estimate(condition, suppressed=suppressed)
            answers.append(
                {
                    "question": question,
                    "original": table.frame.filter(condition).height,
                    "estimate": answer.estimate,
                    "low": answer.low,
                    "high": answer.high,
                }
            )
    return answers


def _measured(place: Place, series: str, number: int) -> dict[str, Any] | None:
    """What was measured last."""
    for result in findings.kept(place.entry(series, number), findings.LOSS):
        return {**result, "picture": picture(result)}
    return None


def picture(result: Mapping[str, Any]) -> str:
    """Which correlations were kept, drawn from the figures; empty where there are none."""
    with suppress(KeyError, TypeError, ValueError):
        pairs = tuple((*p["attributes"], p["original"], p["release"]) for p in result["pairs"])
        drawn = pictures.pairs(Usefulness(inside=True, pairs=pairs))
        return "" if drawn is None else str(drawn.svg)
    return ""
