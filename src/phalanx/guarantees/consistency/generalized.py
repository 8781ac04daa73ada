# SPDX-License-Identifier: Apache-2.0
"""How a generalized table contradicts itself: columns, groups, boxes, counts of registered persons."""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from phalanx.guarantees.consistency.intervals import fits, interval_faults, set_faults
from phalanx.release.forms.generalized import GROUP, Generalized


def generalized_faults(form: Generalized) -> Sequence[str]:
    """What is wrong with it, one sentence each; groups and boxes are looked at in sound columns."""
    return [*(list(_column_faults(form)) or _box_faults(form)), *_registered_faults(form)]


def _column_faults(form: Generalized) -> Iterator[str]:
    table = form.table
    expected = [GROUP, *(c for a in form.attributes for c in a.columns)]
    if table.columns != expected:
        yield "the columns of data are not those of the manifest"
        return
    if not table[GROUP].dtype.is_integer():
        yield "the group column does not hold whole numbers"
    for attribute in form.attributes:
        wanted = 1 if attribute.role != "quasi" else 2 if attribute.hierarchy is None else 3
        if len(attribute.columns) != wanted:
            yield (
                f"{attribute.name!r} stands in {len(attribute.columns)} column(s) instead of"
                f" {wanted}"
            )
            continue
        for column in attribute.columns[-2:]:
            if not fits(table[column], attribute):
                yield (
                    f"column {column!r} holds {table[column].dtype} and is declared"
                    f" {attribute.type}"
                )
            elif table[column].dtype.is_float() and table[column].is_nan().any():
                yield (
                    f"column {column!r} holds NaN, which is no published value; a missing value is"
                    " null"
                )
        yield from set_faults(table[attribute.columns[0]], attribute)


def _box_faults(form: Generalized) -> Iterator[str]:
    """Faults of groups, and of the boxes that they have."""
    quasi = [c for a in form.attribute("quasi") for c in a.columns]
    boxes = form.table.select(GROUP, *quasi).unique()
    yield from _group_faults(form, boxes)
    yield from interval_faults(form.attribute("quasi"), boxes)


def _group_faults(form: Generalized, boxes: pl.DataFrame) -> Iterator[str]:
    table = form.table
    if missing := table[GROUP].null_count():
        yield f"{missing} row(s) have no group"
        return
    ids = table[GROUP].unique().sort().cast(pl.Int64, strict=False).to_numpy()
    if not np.array_equal(ids, np.arange(1, len(ids) + 1)):
        yield f"the groups are not numbered 1 to {len(ids)}"
    if boxes.height != len(ids):
        quasi = boxes.columns[1:]
        uneven = (
            boxes.group_by(GROUP)
            .agg(pl.len().alias("boxes"), pl.col(quasi).n_unique())
            .filter(pl.col("boxes") > 1)
        )
        where = [c for c in quasi if (uneven[c] > 1).any()]
        yield (
            f"{uneven.height} group(s) differ in quasi-identifiers from row to row (column"
            f" {where[0]!r})"
        )


def _registered_faults(form: Generalized) -> Iterator[str]:
    """Counts of registered persons that are no counts, or of groups that are not there."""
    table = form.registered
    if table is None or not table.height or GROUP not in form.table.columns:
        return
    if table.columns != [GROUP, "count"] or not all(
        table[c].dtype.is_integer() and not table[c].null_count() for c in table.columns
    ):
        yield "the registered table holds something else than groups and whole numbers"
        return
    groups = form.table[GROUP].cast(pl.Int64, strict=False).unique()
    if unknown := int((~table[GROUP].cast(pl.Int64, strict=False).is_in(groups.implode())).sum()):
        yield f"{unknown} registered count(s) name a group that is not in the data"
    if small := int((table["count"] < 1).sum()):
        yield f"{small} registered count(s) are not positive"
    if twice := table.height - table[GROUP].n_unique():
        yield f"{twice} group(s) are counted twice among the registered"
