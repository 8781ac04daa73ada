# SPDX-License-Identifier: Apache-2.0
"""Row by row: each original row beside what was published of the same person, and why the rows of a
group are together.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from phalanx.errors import ReleaseError
from phalanx.ledger import Ledger
from phalanx.series.released import Release
from phalanx.studio.pages import windows
from phalanx.studio.place import Place, Table

_MOST_ROWS: Final = 200
"""So many rows of one group are shown."""
_SUPPRESSED: Final = 0
_ROOT: Final = "*"
"""The name of a hierarchy's root, which says nothing."""
_MISSING: Final = "missing"

Cells = Callable[[int, Sequence[str | None]], list[str | None]]
"""What was published of a person, from the number of their group, or of their row, and the cells of
their original row.
"""


def rows(place: Place, series: str, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    """A window of original rows, each beside what was published of the same person."""
    release, table = place.release(series, number), place.original(series, number)
    if release.form.tells_itself_alone:
        why = "Which rows a differentially private release was made of is recorded nowhere."
        return {"rows": None, "why_no_rows": why}
    if release.form.kind not in _CELLS:
        why = "It is of another package’s form, and which of its rows is whose is not known here."
        return {"rows": None, "why_no_rows": why}
    groups, names = groups_of(place, release, table), _names(release)
    window = windows.rows(table.frame, query, names)
    of_rows = groups.slice(window["first"] - 1, len(window["rows"])).to_list()
    published = _cells_of(place, release)
    beside: list[dict[str, Any]] = []
    for original, of_row in zip(window["rows"], of_rows, strict=True):
        if of_row == _SUPPRESSED:
            beside.append({"group": None, "cells": []})
            continue
        cells = [
            {"text": text, "changed": text != before}
            for text, before in zip(published(of_row, original), original, strict=True)
        ]
        beside.append({"group": of_row, "cells": cells})
    return {
        "rows": window | {"beside": beside, "word": release.form.group_word or "row"},
        "grouped": bool(release.form.id_column),
        "series": series,
        "number": number,
    }


def _names(release: Release) -> list[str]:
    """The published attributes: the quasi-identifiers, then the others; a weight is no row's own."""
    quasi = [a.name for a in release.form.attribute("quasi")]
    others = [a.name for a in release.form.attributes if a.role not in ("quasi", "weight")]
    return [*quasi, *others]


def groups_of(place: Place, release: Release, table: Table) -> pl.Series:
    """The published group of every original row, 0 for a suppressed one; of a form without groups
    the number of its row.
    """
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


def _cells_of(place: Place, release: Release) -> Cells:
    cells: Cells = place.answers.get(
        ("cells", release.digest), lambda: _CELLS[release.form.kind](release)
    )
    return cells


def _generalized(release: Release) -> Cells:
    """Intervals of quasi-identifiers; whose sensitive value is whose stays with the group."""
    quasi = release.form.attribute("quasi")
    first = release.form.table.unique(release.form.id_column, keep="first")
    texts = [_intervals(first, a.columns) for a in quasi]
    ids = first[release.form.id_column].to_list()
    boxes = dict(zip(ids, map(list, zip(*texts, strict=True)), strict=True))
    return lambda group, own: [*boxes[group], *own[len(quasi) :]]


def _bucketized(release: Release) -> Cells:
    """Quasi-identifiers as they are, and how often each sensitive value stands in the bucket."""
    names, sensitive = _names(release), release.form.sensitive

    def cells(group: int, own: Sequence[str | None]) -> list[str | None]:
        values = [f"{v['value'] or _MISSING} ({v['rows']})" for v in _sensitive(release, group)]
        return [
            windows.text(values) if name == sensitive else text
            for name, text in zip(names, own, strict=True)
        ]

    return cells


def _sliced(release: Release) -> Cells:
    """What each attribute's column holds in the bucket."""
    table, bucket = release.form.table, release.form.id_column
    columns = {a.name: a.columns for a in release.form.attributes}
    names = _names(release)

    def cells(group: int, own: Sequence[str | None]) -> list[str | None]:
        of_bucket = table.filter(pl.col(bucket) == group)
        return [
            windows.text(
                list(dict.fromkeys(t or _MISSING for t in _intervals(of_bucket, columns[name])))
            )
            for name in names
        ]

    return cells


def _perturbed(release: Release) -> Cells:
    """The values of the person's row as they were drawn."""
    table, names = release.form.table, _names(release)
    return lambda row, _: [windows.text(table[name][row - 1]) for name in names]


_CELLS: Final[Mapping[str, Callable[[Release], Cells]]] = {
    "generalized": _generalized,
    "bucketized": _bucketized,
    "sliced": _sliced,
    "perturbed": _perturbed,
}
"""By the form's kind, what makes of a release what is said of one person."""


def _intervals(table: pl.DataFrame, columns: Sequence[str]) -> list[str | None]:
    """An attribute's published intervals as text: one value where both ends are the same."""
    if len(columns) == 1:
        return [windows.text(v) for v in table.get_column(columns[0]).to_list()]
    low, high = (table.get_column(c).to_list() for c in columns[-2:])
    node = table.get_column(columns[0]).to_list() if len(columns) == 3 else [None] * len(low)
    ends = zip(low, high, node, strict=True)
    return [
        windows.text(b)
        if a == b
        else f"{windows.text(n)} ({windows.text(a)} – {windows.text(b)})"
        if n not in (None, _ROOT)
        else f"{windows.text(a) or _MISSING} – {windows.text(b) or _MISSING}"
        for a, b, n in ends
    ]


def group(
    place: Place, release: Release, table: Table, query: Mapping[str, str]
) -> dict[str, Any] | None:
    """Why some rows are together: what they share, whose rows they are, and what it hides."""
    form = release.form
    if not form.id_column or form.kind not in _CELLS or "group" not in query:
        return None
    chosen = windows.number(query, "group", 1, 2**53)
    published = form.table.filter(pl.col(form.id_column) == chosen).height
    if not published:
        raise ReleaseError(
            f"the release has no {form.group_word} {chosen}; choose one of the rows."
        )
    members = table.frame.filter(groups_of(place, release, table) == chosen)
    quasi = [a.name for a in form.attribute("quasi")]
    counts = form.counterfeits
    fakes = 0 if counts is None else counts.filter(pl.col(form.id_column) == chosen)["count"].sum()
    names = [*quasi, *([form.sensitive] if form.sensitive else [])]
    blank = [None] * len(_names(release))
    box = [] if form.kind == "bucketized" else _cells_of(place, release)(chosen, blank)
    return {
        "group": chosen,
        "word": form.group_word,
        "rows": published,
        "persons": members.height,
        "counterfeits": int(fakes),
        "box": [
            {"name": name, "shown": shown, "here": members.get_column(name).n_unique()}
            for name, shown in zip(quasi, box, strict=False)
        ],
        "columns": names,
        "members": [
            [windows.text(v) for v in row]
            for row in zip(
                *[members.get_column(n).head(_MOST_ROWS).to_list() for n in names], strict=True
            )
        ],
        "sensitive": _sensitive(release, chosen),
    }


def _sensitive(release: Release, group: int) -> list[dict[str, Any]]:
    """How often every sensitive value stands in a group, the most frequent first."""
    form = release.form
    attributes = form.attribute("sensitive")
    if not attributes or attributes[0].type == "set":
        return []
    groups, values, times = form.sensitive_counts()
    if values is None:
        return []
    stand = pl.DataFrame({"group": groups, "value": values})
    stand = stand.with_columns(pl.lit(1).alias("rows") if times is None else times.alias("rows"))
    counts = stand.filter(pl.col("group") == group).group_by("value", maintain_order=True)
    in_order = counts.agg(pl.col("rows").sum()).sort("rows", descending=True, maintain_order=True)
    return [{"value": windows.text(v), "rows": n} for v, n in in_order.iter_rows()]
