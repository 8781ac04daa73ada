"""Truth: what was published about each person is so. An error here protects nobody and misleads everybody."""

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.boxes import box_ends
from phalanx.guarantees.groups import Groups
from phalanx.release.folder import Release


def check(release: Release, microdata: Microdata, groups: npt.NDArray[np.int64]) -> Verdict:
    """Every published person lies in the box of their group, and the group has their sensitive value as often as its persons do.

    ``groups`` (n,): the group id in which each row of ``microdata`` was published, 0 for a row that was held back. The worst figure is the number of
    rows and of values that are not so.
    """
    published = np.flatnonzero(groups > 0)
    ids = Groups.of(release.form).ids
    place = pl.DataFrame({"id": groups[published]}).join(
        ids.alias("id").cast(pl.Int64).to_frame().with_row_index("place"), on="id", how="left", maintain_order="left"
    )["place"]
    if strangers := place.null_count():
        note = f"{strangers} row(s) are said to stand in groups that are not published"
        return Verdict(name="truth", bound=0, worst=strangers, holds=False, note=note)
    at = place.to_numpy().astype(np.int64)
    outside = np.zeros(len(published), dtype=bool)
    for attribute, (low, high) in zip(release.form.attribute("quasi"), box_ends(microdata, release.form), strict=True):
        codes = microdata.columns[attribute.name].codes[published]
        outside |= (codes < low[at]) | (codes > high[at])
    unlike = _missing_values(release, microdata, groups, published)
    wrong = int(outside.sum()) + unlike
    note = f"{len(published)} row(s) lie in the box of their group, which has their value"
    if wrong:
        note = f"{int(outside.sum())} row(s) lie outside the box of their group, and {unlike} value(s) of persons are not in their group"
    return Verdict(name="truth", bound=0, worst=wrong, holds=wrong == 0, note=note)


def _missing_values(release: Release, microdata: Microdata, groups: npt.NDArray[np.int64], published: npt.NDArray[np.int64]) -> int:
    """How many values of persons their groups lack, each counted as often as it is lacking."""
    name = release.form.sensitive
    if name is None:
        return 0
    column = microdata.sensitive
    own = pl.DataFrame({"group": groups[published], "value": column.domain.values.gather(column.codes[published])})
    shown = release.form.table.select(pl.col("group").cast(pl.Int64), pl.col(name).alias("value"))
    kind = pl.concat([own.head(0).select("value"), shown.head(0).select("value")], how="vertical_relaxed")["value"].dtype
    need, have = (t.with_columns(pl.col("value").cast(kind)).group_by("group", "value").len() for t in (own, shown))
    both = need.join(have, on=["group", "value"], how="left", nulls_equal=True, suffix="_shown")
    return int((both["len"].cast(pl.Int64) - both["len_shown"].fill_null(0).cast(pl.Int64)).clip(lower_bound=0).sum())
