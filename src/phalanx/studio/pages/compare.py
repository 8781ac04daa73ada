# SPDX-License-Identifier: Apache-2.0
"""Compare: the original beside the release, row by row, as distributions, and as answers."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import polars as pl

from phalanx.errors import PhalanxError, ReleaseError
from phalanx.ledger import Ledger
from phalanx.report.charts import Bars
from phalanx.series.released import Release
from phalanx.studio.pages import windows
from phalanx.studio.pages.reproducing import command, python, shown
from phalanx.studio.place import Place, Table

_MOST_ROWS: Final = 200
"""So many rows of one group are shown."""
_SUPPRESSED: Final = 0
_ROOT: Final = "*"
"""The name of a hierarchy's root, which says nothing."""


def page(place: Place, series: str, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    """A release and its original; where the original is not known, how to name it."""
    release = place.release(series, number)
    names = [a.name for a in release.form.attributes if a.type != "set"]
    fields: dict[str, Any] = {
        "series": series,
        "number": number,
        "form": release.form.kind,
        "attributes": names,
        "attribute": query["attribute"] if query.get("attribute") in names else names[0],
        "measured": _measured(place, series, number),
        "rows": None,
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
        fields |= rows(place, series, number, query)
        fields["group"] = group(place, release, table, query)
    except PhalanxError as error:
        fields["wrong"] = str(error)
    return fields


def _by(place: Place, series: str, number: int) -> dict[str, str]:
    folder = shown(place, place.entry(series, number).folder)
    of = place.original_source(series, number)
    table = "TABLE" if of is None else shown(place, of.source)
    return {
        "command": command("measure", folder, "--original", table),
        "python": python(
            f"release = px.Release.read({folder!r})", f"print(release.measure({table!r}))"
        ),
    }


def _check_columns(release: Release, table: Table) -> None:
    for attribute in release.form.attributes:
        if attribute.name not in table.frame.columns:
            raise ReleaseError(
                f"the table has no column {attribute.name!r}, which is published; name the table "
                "that this release was made of."
            )


def rows(place: Place, series: str, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    """A window of original rows, each beside what was published of the same person."""
    release, table = place.release(series, number), place.original(series, number)
    if release.form.kind != "generalized":
        return {"rows": None}
    groups = groups_of(place, release, table)
    boxes = place.answers.get(("boxes", release.digest), lambda: _boxes(release))
    quasi = [a.name for a in release.form.attribute("quasi")]
    others = [a.name for a in release.form.attributes if a.role != "quasi"]
    names = [*quasi, *others]
    window = windows.rows(table.frame, query, names)
    first = window["first"] - 1
    of_rows = groups.slice(first, len(window["rows"])).to_list()
    beside: list[dict[str, Any]] = []
    for original, place_ in zip(window["rows"], of_rows, strict=True):
        if place_ == _SUPPRESSED:
            beside.append({"group": None, "cells": []})
            continue
        published = [*boxes[place_], *original[len(quasi) :]]
        cells = [
            {"text": text, "changed": text != before}
            for text, before in zip(published, original, strict=True)
        ]
        beside.append({"group": place_, "cells": cells})
    return {"rows": window | {"beside": beside}, "series": series, "number": number}


def groups_of(place: Place, release: Release, table: Table) -> pl.Series:
    """The published group of every original row, 0 for a suppressed one."""
    series, number = release.manifest.series, release.number

    def ask(ledger: Ledger) -> pl.Series:
        identifier = (ledger.promise(series) or {}).get("identifier")
        mapping = ledger.groups(series, number)
        if identifier is None or mapping is None:
            raise ReleaseError(
                "who is in which group was not recorded, as the series declares no identifier."
            )
        if identifier not in table.frame.columns:
            raise ReleaseError(f"the table has no column {identifier!r}, which names the persons.")
        persons = ledger.person_key(series).hash(table.frame[identifier])
        joined = pl.DataFrame({"person": persons}).join(
            mapping.unique("person"), on="person", how="left", maintain_order="left"
        )
        groups = joined["group"].fill_null(_SUPPRESSED)
        if int((groups != _SUPPRESSED).sum()) < mapping.height - release.manifest.registered:
            raise ReleaseError("this is not the table that the release was made of; name that one.")
        return groups

    key = ("groups", release.digest, table.key)
    group_ids: pl.Series = place.answers.get(key, lambda: place.with_ledger(ask, pl.Series()))
    return group_ids


def _boxes(release: Release) -> dict[int, list[str]]:
    """What every group shows of the quasi-identifiers, as text."""
    quasi = release.form.attribute("quasi")
    first = release.form.table.unique(release.form.id_column, keep="first")
    ids = first[release.form.id_column].to_list()
    texts = [_intervals(first, a.columns) for a in quasi]
    return dict(zip(ids, map(list, zip(*texts, strict=True)), strict=True))


def _intervals(table: pl.DataFrame, columns: Sequence[str]) -> list[str]:
    """An attribute's published intervals as text: one value where both ends are the same."""
    if len(columns) == 1:
        return [str(windows.text(v)) for v in table.get_column(columns[0]).to_list()]
    low, high = (table.get_column(c).to_list() for c in columns[-2:])
    node = table.get_column(columns[0]).to_list() if len(columns) == 3 else [None] * len(low)
    ends = zip(low, high, node, strict=True)
    return [
        str(windows.text(b))
        if a == b
        else f"{windows.text(n)} ({windows.text(a)} – {windows.text(b)})"
        if n not in (None, _ROOT)
        else f"{windows.text(a) or 'missing'} – {windows.text(b)}"
        for a, b, n in ends
    ]


def group(
    place: Place, release: Release, table: Table, query: Mapping[str, str]
) -> dict[str, Any] | None:
    """Why some rows are together: the box they share, whose rows they are, and what it hides."""
    if release.form.kind != "generalized" or "group" not in query:
        return None
    chosen = windows.number(query, "group", 1, 2**53)
    form = release.form
    published = form.table.filter(pl.col(form.id_column) == chosen)
    if not published.height:
        raise ReleaseError(f"the release has no group {chosen}; choose one of the rows.")
    members = table.frame.filter(groups_of(place, release, table) == chosen)
    quasi = [a.name for a in form.attribute("quasi")]
    counts = form.counterfeits
    fakes = 0 if counts is None else counts.filter(pl.col(form.id_column) == chosen)["count"].sum()
    box = _boxes_of(place, release)[chosen]
    names = [*quasi, *([form.sensitive] if form.sensitive else [])]
    return {
        "group": chosen,
        "rows": published.height,
        "persons": members.height,
        "counterfeits": int(fakes),
        "box": [
            {"name": name, "shown": shown_, "here": members.get_column(name).n_unique()}
            for name, shown_ in zip(quasi, box, strict=True)
        ],
        "columns": names,
        "members": [
            [windows.text(v) for v in row]
            for row in zip(
                *[members.get_column(n).head(_MOST_ROWS).to_list() for n in names], strict=True
            )
        ],
        "sensitive": _sensitive(release, published),
    }


def _boxes_of(place: Place, release: Release) -> dict[int, list[str]]:
    boxes: dict[int, list[str]] = place.answers.get(
        ("boxes", release.digest), lambda: _boxes(release)
    )
    return boxes


def _sensitive(release: Release, published: pl.DataFrame) -> list[dict[str, Any]]:
    """How often every sensitive value stands in a group."""
    attributes = release.form.attribute("sensitive")
    if not attributes or attributes[0].type == "set":
        return []
    counts = published.get_column(attributes[0].columns[0]).alias("value").value_counts(sort=True)
    return [{"value": windows.text(v), "rows": n} for v, n in counts.iter_rows()]


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
        if attribute.type == "set":
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
    for job in place.jobs.of("measure", about=(series, number)):
        if job.result is not None:
            return dict(job.result)
    return None
