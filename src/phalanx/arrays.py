# SPDX-License-Identifier: Apache-2.0
"""The types of arrays, declared once; and how an array of Arrow comes to Polars."""

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]
"""Whole numbers of any width."""
Ints = npt.NDArray[np.int64]


class _Handed:
    """An array of Arrow as any library hands one to another."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


def from_arrow(array: Any) -> pl.Series:
    """An array of pyarrow in Polars, without a copy; by a way for which neither loads what it has
    for others, pandas among it.

    >>> import pyarrow as pa
    >>> from_arrow(pa.array([1, None, 3])).to_list()
    [1, None, 3]
    """
    return pl.Series(_Handed(array))
