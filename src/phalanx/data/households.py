# SPDX-License-Identifier: Apache-2.0
"""Which rows are of one household: numbers that say this and nothing else."""

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.errors import SourceError


def households_of(numbers: pl.Series) -> Ints:
    """The household of every row, 0 .. h-1, shape (n,); blanks around a text mean nothing.
    SourceError where a row names none.

    >>> households_of(pl.Series("home", ["b7", "a1", " b7"])).tolist()
    [1, 0, 1]
    """
    if numbers.dtype.is_float():
        numbers = numbers.fill_nan(None)
    if not numbers.dtype.is_numeric():
        text = numbers.cast(pl.String).str.strip_chars().str.normalize("NFC")
        numbers = text.set(text == "", None)
    if missing := numbers.null_count():
        raise SourceError(
            f"cluster column {numbers.name!r} is missing in {missing} of {len(numbers)} rows; give"
            " a person who lives alone a household of their own."
        )
    households: Ints = numbers.rank("dense").to_numpy().astype(np.int64) - 1
    return households
