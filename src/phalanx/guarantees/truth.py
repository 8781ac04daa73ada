"""Truth: what was published about each person is so. An error here protects nobody and misleads everybody."""

from typing import Final

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.boxes import box_ends
from phalanx.guarantees.exact import Ints
from phalanx.guarantees.groups import Groups
from phalanx.release.folder import Release

_DENSE: Final = 16
"""Up to this many groups times values per row are counted in a table instead of sorted."""


def check(release: Release, microdata: Microdata, groups: Ints) -> Verdict:
    """Every published person lies in the box of their group, and the group has their sensitive value as often as its persons do.

    ``groups`` (n,): the group id in which each row of ``microdata`` was published, 0 for a row that was held back. The worst figure is the number of
    rows and of values that are not so.
    """
    published = np.flatnonzero(groups > 0)
    shown = Groups.of(release.form)
    ids = shown.ids.to_numpy()
    at = np.minimum(np.searchsorted(ids, groups[published]), len(ids) - 1)
    if strangers := int((ids[at] != groups[published]).sum()):
        note = f"{strangers} row(s) are said to stand in groups that are not published"
        return Verdict(name="truth", bound=0, worst=strangers, holds=False, note=note)
    outside = np.zeros(len(published), dtype=bool)
    for attribute, (low, high) in zip(release.form.attribute("quasi"), box_ends(microdata, release.form), strict=True):
        codes = microdata.columns[attribute.name].codes[published]
        outside |= (codes < low[at]) | (codes > high[at])
    unlike = _lacking(shown, microdata, published, at)
    wrong = int(outside.sum()) + unlike
    note = f"{len(published)} row(s) lie in the box of their group, which has their value"
    if wrong:
        note = f"{int(outside.sum())} row(s) lie outside the box of their group, and {unlike} value(s) of persons are not in their group"
    return Verdict(name="truth", bound=0, worst=wrong, holds=wrong == 0, note=note)


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
