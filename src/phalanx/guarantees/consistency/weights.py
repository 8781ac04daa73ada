# SPDX-License-Identifier: Apache-2.0
"""Published survey weights: one number for a group, which no row of it is told by."""

from collections.abc import Iterator

import polars as pl

from phalanx.data.weights import DIGITS, rounded
from phalanx.release.form import Form
from phalanx.release.forms.generalized import GROUP


def weight_faults(form: Form) -> Iterator[str]:
    """Weights that differ within a group, are no finite numbers above 0, or have more digits than
    are published; and weights that would tell who of a group is in the table.
    """
    weights = form.attribute("weight")
    if not weights:
        return
    name = weights[0].columns[0]
    if len(weights) > 1:
        yield "there are several weights"
    if form.counterfeits is not None or form.registered is not None:
        yield (
            f"the weight {name!r} stands in groups with counterfeits or registered persons, and"
            " tells who has a row"
        )
    by_group = form.table.select(GROUP, name).unique()
    if not by_group[name].dtype.is_numeric():
        yield f"the weight {name!r} holds no numbers"
        return
    if several := by_group.height - by_group[GROUP].n_unique():
        yield f"{several} row(s) or more have another weight {name!r} than their group"
    means = by_group[name].cast(pl.Float64).fill_null(float("nan")).unique()
    if wrong := int((~(means > 0) | ~means.is_finite()).sum()):
        yield f"{wrong} weight(s) {name!r} are no finite numbers above 0"
    elif longer := int((rounded(means.to_list()) != means.to_numpy()).sum()):
        yield f"{longer} weight(s) {name!r} have more than {DIGITS} digits"
