# SPDX-License-Identifier: Apache-2.0
"""What a generalized release shows: the box of every group, and beside it the sensitive and kept
values of its rows.
"""

import numpy as np
import polars as pl

from phalanx.estimators.entries import Ends, Facet
from phalanx.estimators.view import View, Weights
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import GROUP


def view(release: Release) -> View:
    """Boxes hold real rows alone; the values of counterfeits stand among the others.

    The ends of a tight box are members' values, unless the group holds registered persons, of whom
    one may have set them.
    """
    form, manifest = release.generalized, release.manifest
    ids, first, rows = np.unique(
        form.table[GROUP].to_numpy(), return_index=True, return_counts=True
    )
    a_row = pl.Series(first, dtype=pl.UInt32)
    counterfeits, registered = (
        _counts(table, ids) for table in (form.counterfeits, form.registered)
    )
    boxes = {
        a.name: Ends.of_interval(
            form.table[a.columns[-2]].gather(a_row), form.table[a.columns[-1]].gather(a_row)
        )
        for a in form.attribute("quasi")
    }
    tight = (registered == 0) if manifest.boxes == "tight" else None
    real = rows - counterfeits
    filled = np.flatnonzero(real > 0)
    facets = [
        Facet(
            filled,
            real[filled],
            {name: ends.taken(filled) for name, ends in boxes.items()},
            None if tight is None else tight[filled],
        )
    ]
    beside = [a for a in form.attributes if a.role not in ("quasi", "weight")]
    weights = [
        Weights(a.name, form.table[a.columns[0]].gather(a_row).cast(pl.Float64).to_numpy())
        for a in form.attribute("weight")
    ]
    if beside:
        may_hide = manifest.may_suppress is None or bool(manifest.may_suppress)
        shown = form.table.select(GROUP, *(a.columns[0] for a in beside))
        counted = (
            shown.group_by(shown.columns, maintain_order=True).len("")
            if "" not in shown.columns
            else shown.with_columns(pl.lit(1).alias(""))
        )
        group_of = np.searchsorted(ids, counted[GROUP].to_numpy())
        fake = counterfeits[group_of] > 0
        ends = {}
        for a in beside:
            values = counted[a.columns[0]]
            # what is missing of a kept column may have been taken out because of counterfeits
            free = values.is_null().to_numpy() & (may_hide if a.role == "sensitive" else fake)
            ends[a.name] = Ends.of_values(values, free)
        facets.append(Facet(group_of, counted[""].to_numpy().astype(np.int64), ends, fake=True))
    return View(
        "generalized",
        tuple(a for a in form.attributes if a.role != "weight"),
        rows.astype(np.int64),
        counterfeits,
        tuple(facets),
        model="values as they lie in all boxes together, a row at each tight end, independent"
        " within a box",
        weights=next(iter(weights), None),
    )


def _counts(table: pl.DataFrame | None, ids: np.ndarray) -> np.ndarray:
    """Published counts by group, 0 where none is said, shape (g,)."""
    counts = np.zeros(len(ids), dtype=np.int64)
    if table is not None:
        counted = table.filter(pl.col(GROUP).is_in(ids.tolist()))
        counts[np.searchsorted(ids, counted[GROUP].to_numpy())] = counted["count"].to_numpy()
    return counts
