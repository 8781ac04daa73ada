# SPDX-License-Identifier: Apache-2.0
"""Columns that are kept as they are: none of them may be an identifier, which no guarantee covers."""

from collections.abc import Iterator

import polars as pl

from phalanx.data.identifying import ROWS
from phalanx.release.form import Form


def kept_faults(form: Form) -> Iterator[str]:
    """Kept texts and whole numbers that are another one in each row, of rows enough to tell. No
    honest release has them: a column is refused at the source before it comes so far.
    """
    for attribute in form.attribute("keep"):
        values = form.table[attribute.columns[0]].drop_nulls()
        names = values.dtype.is_integer() or values.dtype == pl.String
        if names and len(values) >= ROWS and values.n_unique() == len(values):
            yield (
                f"the kept column {attribute.name!r} holds another value in each of {len(values)}"
                " rows, as an identifier does"
            )
