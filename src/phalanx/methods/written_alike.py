# SPDX-License-Identifier: Apache-2.0
"""What differential privacy asks of the types of columns: that no row decides how others are written."""

import polars as pl

from phalanx.data.column import kind_of
from phalanx.data.schema import Schema
from phalanx.errors import SourceError
from phalanx.methods.base import Budgeted


def check_written_alike(frame: pl.DataFrame, schema: Schema, method: object) -> None:
    """SourceError under differential privacy where how all values are read or written hangs on single
    rows: whole numbers are floats (``1.0``) beside one that is missing, decimals have as many places
    as the longest, times as short a unit as any needs, and single precision is double beside one
    number of it.
    """
    for name in (*schema.quasi, schema.sensitive) if isinstance(method, Budgeted) else ():
        if name is None or name not in frame.columns:
            continue
        values, alike = frame[name], "make it double at the source"
        if values.dtype != pl.Float32:
            kind = kind_of(values, schema.types.get(name), schema.hierarchies.get(name))
            numbers = values.dtype.is_float() or values.dtype.is_decimal()
            if kind != "categorical" or not (numbers or values.dtype == pl.Datetime):
                continue
            alike = "make it text or whole numbers at the source"
        raise SourceError(
            f"column {name!r} is {values.dtype}, of which one row changes how all others are"
            f" written; {alike}."
        )
