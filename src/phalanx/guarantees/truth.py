"""Truth: what was published about each person is so. An error here protects nobody and misleads everybody."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.data.microdata import Column, Microdata
from phalanx.data.sets import SEPARATOR
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.boxes import box_ends
from phalanx.guarantees.exact import Ints
from phalanx.guarantees.groups import Groups
from phalanx.release.folder import Release

_DENSE: Final = 16
"""Up to this many groups times values per row are counted in a table instead of sorted."""


def check(release: Release, microdata: Microdata, groups: Ints, shown: Microdata | None = None, registered: Ints | None = None) -> Verdict:
    """Every published person lies in the box of their group, and the group has their sensitive value as often as its persons do.

    ``groups`` (n,): the group id in which each row of ``microdata`` was published, 0 for a row that was held back. ``shown``: the same
    rows with suppressed values taken out, which may be no other values than theirs. ``registered`` (r,): the same as ``groups`` of persons without a
    row, None for nobody, whom their groups count; they lie in the boxes too, which shows where ``microdata`` holds a registry, of just these persons.
    The worst figure is the number of rows, of values, and of counts that are not so.
    """
    published = np.flatnonzero(groups > 0)
    of_release = Groups.of(release.form)
    ids = of_release.ids.to_numpy()
    at = np.minimum(np.searchsorted(ids, groups[published]), len(ids) - 1)
    if strangers := int((ids[at] != groups[published]).sum()):
        note = f"{strangers} row(s) are said to stand in groups that are not published"
        return Verdict(name="truth", bound=0, worst=strangers, holds=False, note=note)
    boxes = box_ends(microdata, release.form)
    outside = _outside(release, microdata, boxes, published, at)
    wrong, said = _registry(release, of_release, microdata, boxes, registered)
    unlike = _lacking(of_release, shown or microdata, published, at)
    suppressed, invented = (0, 0) if shown is None else _changed(microdata.sensitive, shown.sensitive, published)
    unlike += invented
    note = f"{len(published)} row(s) lie in the box of their group, which has their value" + (f"; {suppressed} show it not or in part" if suppressed else "")
    if outside + unlike:
        note = f"{outside} row(s) lie outside the box of their group, and {unlike} value(s) of persons are not in their group"
    wrong += outside + unlike
    return Verdict(name="truth", bound=0, worst=wrong, holds=wrong == 0, note=note + said)


def _outside(release: Release, microdata: Microdata, boxes: Sequence[tuple[Ints, Ints]], rows: Ints, at: Ints) -> int:
    """How many rows lie outside the box of the group at their place."""
    outside = np.zeros(len(rows), dtype=bool)
    for attribute, (low, high) in zip(release.form.attribute("quasi"), boxes, strict=True):
        codes = microdata.columns[attribute.name].codes[rows]
        outside |= (codes < low[at]) | (codes > high[at])
    return int(outside.sum())


def _registry(release: Release, of_release: Groups, microdata: Microdata, boxes: Sequence[tuple[Ints, Ints]], registered: Ints | None) -> tuple[int, str]:
    """How much of what is published about registered persons is not so, and in words."""
    named = np.zeros(0, dtype=np.int64) if registered is None else registered
    ids, listed = of_release.ids.to_numpy(), np.flatnonzero(named > 0)
    at = np.minimum(np.searchsorted(ids, named[listed]), len(ids) - 1)
    here = ids[at] == named[listed]
    outside = int((~here).sum())
    if microdata.registry is not None:
        outside += _outside(release, microdata.registry, boxes, listed[here], at[here])
    other = int((np.bincount(at[here], minlength=len(ids)) != of_release.registered).sum())
    if outside + other:
        return outside + other, f"; {outside} registered person(s) lie outside the box of their group, and {other} group(s) count another number of them"
    if not len(listed):
        return 0, ""
    return 0, f"; {len(listed)} registered person(s) are counted" + (" and lie in the box of their group" if microdata.registry is not None else "")


def _changed(own: Column, shown: Column, published: Ints) -> tuple[int, int]:
    """How many rows show less than their own value, and how many show something that is not theirs."""
    pairs = pl.DataFrame({"own": own.domain.values.gather(own.codes[published]), "shown": shown.domain.values.gather(shown.codes[published])})
    changed = pairs.filter(~pl.col("own").eq_missing(pl.col("shown"))).group_by("own", "shown").len()
    less = [now is None or (own.domain.type == "set" and _members(now) < _members(before)) for before, now in changed.select("own", "shown").iter_rows()]
    rows = changed["len"].to_numpy()
    return int(rows[less].sum()), int(rows[~np.array(less, dtype=bool)].sum())


def _members(text: Any) -> set[str]:
    return set(str(text).split(SEPARATOR)) - {""}


def _lacking(shown: Groups, microdata: Microdata, published: Ints, at: Ints) -> int:
    """How many values of persons their groups lack, each counted as often as it is lacking."""
    if shown.values is None:
        return 0
    column = microdata.sensitive
    q = len(shown.values)
    kind = pl.concat([shown.values.head(0).to_frame("value"), column.domain.values.head(0).to_frame("value")], how="vertical_relaxed")["value"].dtype
    numbered = pl.DataFrame({"value": shown.values.cast(kind), "number": np.arange(q)})
    number = column.domain.values.cast(kind).to_frame("value").join(numbered, on="value", how="left", nulls_equal=True, maintain_order="left")["number"]
    value = number.fill_null(-1).to_numpy()[column.codes[published]]
    unknown = value < 0  # nowhere in the release, so in no group
    key, cells = at[~unknown] * q + value[~unknown], shown.cell_group * q + shown.cell_value
    if len(shown) * q <= _DENSE * len(key):
        tally = np.bincount(key, minlength=len(shown) * q)
        return int(unknown.sum()) + len(key) - int(np.minimum(tally[cells], shown.cell_count).sum())
    needed, times = np.unique(key, return_counts=True)
    cell = np.minimum(np.searchsorted(cells, needed), len(cells) - 1)
    there = np.where(cells[cell] == needed, shown.cell_count[cell], 0)
    return int(unknown.sum()) + int(np.maximum(times - there, 0).sum())
