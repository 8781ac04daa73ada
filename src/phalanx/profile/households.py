# SPDX-License-Identifier: Apache-2.0
"""Whether a table's households could hide each other, by how many there are of one size."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from phalanx.data.households import households_of
from phalanx.data.not_applicable import is_listed
from phalanx.errors import SourceError
from phalanx.exact import exact
from phalanx.profile.columns import ColumnProfile


def cover(
    homes: pl.Series, values: pl.Series | None, not_applicable: Sequence[str | int | float]
) -> tuple[int, int]:
    """The fewest households of one kind (of as many rows, of which as many have a value), and the
    largest l for which in each kind no value is one of any member's in more than 1/l of them; both
    0 where a row has no household.

    >>> cover(pl.Series([1, 1, 2, 2, 3, 4]), pl.Series(list("abbcab")), ())
    (2, 1)
    """
    try:
        home = households_of(homes)
    except SourceError:
        return 0, 0
    lacks = np.zeros(len(homes), dtype=np.bool_)
    if values is not None and not_applicable:
        lacks = is_listed(values, not_applicable)
    rows = pl.DataFrame({"home": home, "lacks": lacks}).with_columns(
        pl.len().over("home").alias("size"), pl.col("lacks").sum().over("home").alias("lacking")
    )
    kinds = rows.group_by("size", "lacking").agg(pl.col("home").n_unique().alias("homes"))
    fewest = int(kinds["homes"].to_numpy().min())
    if values is None:
        return fewest, fewest
    held = (
        rows.with_columns(value=values.rank("dense").fill_null(0))
        .filter(~pl.col("lacks"))
        .group_by("size", "lacking", "value")
        .agg(pl.col("home").n_unique().alias("holders"))
        .join(kinds, on=["size", "lacking"])
    )
    allowed = (held["homes"] // held["holders"]).to_numpy()
    return fewest, int(allowed.min()) if len(allowed) else fewest


def proposed(dropped: Sequence[ColumnProfile], section: Mapping[str, Any]) -> ColumnProfile | None:
    """The dropped column that says who lives together, where the method that a ``section``
    proposes lets a household count as one, and the table's households can hide each other so.
    """
    if section["name"] != "mondrian":
        return None
    k, l = section.get("k", 1), exact(section.get("l", 1), "l")
    return next((c for c in dropped if c.alike >= max(k, l) and c.shared >= l), None)
