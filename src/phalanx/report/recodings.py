# SPDX-License-Identifier: Apache-2.0
"""How each attribute of a recoded release was recoded, and what its rows show: from the manifest
and the published table alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from phalanx.release.forms.recoded import Recoded
from phalanx.release.manifest import PublishedAttribute

_ROWS: Final = "rows of the image"
_MOST: Final = 3
"""So many values are named as the most frequent ones."""
_CELLS: Final = 60
"""So many cells are drawn side by side, and no more."""


@dataclass(frozen=True)
class Recoding:
    """One attribute of a recoded release."""

    name: str
    how: str
    """To what its values were recoded, in words."""
    values: int
    """How many different cells or nodes are published, missing values among them."""
    most: tuple[tuple[str, float], ...]
    """The most frequent ones, with their shares of the rows."""
    missing: int
    """Rows that say that the value is missing; 0 where all values were made one."""
    cells: tuple[tuple[str, int], ...]
    """Of numbers and dates, the published cells from low to high, missing ones last, with their
    rows; empty where they are one, or too many to be drawn.
    """

    @classmethod
    def of(cls, form: Recoded, attribute: PublishedAttribute) -> "Recoding":
        """Counted in the published table."""
        recoding = form.scheme.get("attributes", {}).get(attribute.name, {})
        ends = form.table.select(
            pl.col(column).alias(place)
            for column, place in zip(attribute.columns, ("low", "high"), strict=False)
        )
        counted = (
            ends.group_by(ends.columns)
            .agg(pl.len().alias(_ROWS))
            .sort(ends.columns, nulls_last=True)
        )
        whole = _whole(attribute, recoding)
        labels = ["any" if whole else _label(row[:-1], recoding) for row in counted.iter_rows()]
        rows = counted[_ROWS].to_list()
        order = sorted(range(len(rows)), key=rows.__getitem__, reverse=True)
        return cls(
            name=attribute.name,
            how=how(attribute, recoding),
            values=len(rows),
            most=tuple((labels[i], rows[i] / form.rows) for i in order[:_MOST]),
            missing=0 if whole else ends["low"].null_count(),
            cells=(
                tuple(zip(labels, rows, strict=True))
                if len(attribute.columns) > 1 and 1 < len(rows) <= _CELLS
                else ()
            ),
        )


def how(attribute: PublishedAttribute, recoding: Mapping[str, Any]) -> str:
    """To what the values of an attribute were recoded; ``recoding`` is what the manifest's scheme says
    of it.

    >>> age = PublishedAttribute(name="age", role="quasi", type="numeric", columns=["age_low", "age_high"])
    >>> how(age, {"low": 0, "high": 100, "widths": [10], "level": 0})
    'cells of width 10 from 0 to 100; the first and the last hold everything beyond, too'
    """
    if _whole(attribute, recoding):
        return "all values are one"
    return (
        _grid(attribute, recoding)
        if "widths" in recoding
        else _nodes(attribute.hierarchy or {}, recoding.get("level"))
    )


def _grid(attribute: PublishedAttribute, recoding: Mapping[str, Any]) -> str:
    """The cells of a grid in words; without a level they are parts of a private partition."""
    ends = f"from {recoding['low']} to {recoding['high']}; the first and the last hold everything beyond, too"
    if recoding.get("level") is None:
        return f"cells, wider where rows are few, {ends}"
    width = recoding["widths"][recoding["level"]]
    return (
        f"cells of {'one day' if width == 1 else f'{width} days'} {ends}"
        if attribute.type == "date"
        else f"cells of width {width} {ends}"
    )


def _nodes(hierarchy: Mapping[str, Any], level: int | None) -> str:
    """The nodes of a hierarchy in words, a level below the top; without a level they are of
    several.
    """
    if level is None:
        return (
            "nodes of its hierarchy, higher where rows are few"
            if hierarchy
            else "as it is, or * where rows are few"
        )
    if hierarchy.get("kind") == "bands":
        return f"bands of width {hierarchy['widths'][level - 1]}"
    if hierarchy.get("kind") == "prefix" and level > 0:
        length, of = hierarchy["lengths"][level], hierarchy["lengths"][0]
        return (
            f"the first {length} of {of} characters"
            if length > 1
            else f"the first of {of} characters"
        )
    return "as it is" if level == 0 else f"level {level} of its hierarchy"


def _whole(attribute: PublishedAttribute, recoding: Mapping[str, Any]) -> bool:
    """Whether the level is the top one, at which all values, and missing ones, are one."""
    level, hierarchy = recoding.get("level"), attribute.hierarchy or {}
    if level is None:
        return False
    if "widths" in recoding:
        return bool(level >= len(recoding["widths"]))
    if (kind := hierarchy.get("kind")) in ("bands", "prefix"):
        return bool(
            level > len(hierarchy["widths"])
            if kind == "bands"
            else level >= len(hierarchy["lengths"]) - 1
        )
    return bool(level >= max(map(len, hierarchy["paths"])) - 1 if kind == "tree" else level >= 1)


def _label(ends: tuple[Any, ...], recoding: Mapping[str, Any]) -> str:
    """A node, or a cell with its ends; the end cells of a grid say that nothing bounds them."""
    if len(ends) == 1:
        return "missing" if ends[0] is None else str(ends[0])
    low, high = ends
    if low is None or high is None:
        return "missing"
    first, last = (
        _plain(recoding.get("low")) == _plain(low),
        _plain(recoding.get("high")) == _plain(high),
    )
    if first and last:
        return "any"
    below, above = _plain(low), _plain(high)
    return (
        f"<{above}"
        if first
        else (
            f"≥{below}"
            if last
            else f"{below} to {above}"
            if "-" in f"{below}{above}"
            else f"{below}–{above}"
        )
    )


def _plain(end: object) -> str:
    """A number without an idle decimal, a date as it is written."""
    return str(int(end)) if isinstance(end, float) and end.is_integer() else str(end)
