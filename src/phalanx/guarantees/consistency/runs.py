# SPDX-License-Identifier: Apache-2.0
"""Where a value stands that the row before does not have."""

import numpy as np
import polars as pl

from phalanx.arrays import Bools


def begins(values: pl.Series) -> Bools:
    """Which of the rows hold another value than the one before, shape (n,); the first one does, and
    a missing value is one of its own.
    """
    if (values.dtype.is_integer() or values.dtype.is_temporal()) and not values.null_count():
        numbers = values.to_physical().to_numpy()
        different = np.ones(len(numbers), dtype=np.bool_)
        np.not_equal(numbers[1:], numbers[:-1], out=different[1:])
        return different
    different = np.ones(len(values), dtype=np.bool_)
    different[1:] = values[1:].ne_missing(values[:-1]).to_numpy()
    return different
