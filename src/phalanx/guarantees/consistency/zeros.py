# SPDX-License-Identifier: Apache-2.0
"""Zeros with a sign, which are equal to those without, and could mark rows: no writer of ours
publishes one as a value.
"""

from collections.abc import Iterator

import numpy as np
import polars as pl

from phalanx.arrays import Bools
from phalanx.release.form import Form
from phalanx.release.forms.generalized import GROUP, Generalized


def zero_faults(form: Form) -> Iterator[str]:
    """Columns that hold ``-0.0`` where values stand as they are, or in the ends of some of a group's
    rows and not in others.
    """
    of_values = {a.columns[0] for a in form.attributes if len(a.columns) == 1}
    for table in form.tables().values():
        for column in table:
            if not column.dtype.is_float() or not (signed := _signed(column)).any():
                continue
            if column.name in of_values or (
                form.kind == Generalized.kind and _differ(table[GROUP], signed)
            ):
                yield (
                    f"column {column.name!r} holds -0.0, which may mark rows, as zero is published"
                    " as 0.0"
                )


def _differ(groups: pl.Series, signed: Bools) -> bool:
    """Whether some rows of a group have it and others have not."""
    ends = pl.DataFrame({"group": groups, "signed": signed}).unique()
    return ends["group"].n_unique() < ends.height


def _signed(column: pl.Series) -> Bools:
    """Which rows hold a zero with a sign, shape (n,)."""
    numbers = column.cast(pl.Float64).fill_null(1.0).to_numpy()
    signed: Bools = (numbers == 0) & np.signbit(numbers)
    return signed
