# SPDX-License-Identifier: Apache-2.0
"""Survey weights: how many persons of the population a row stands for. What is published of them is
the mean of each group, to so many digits that sums over groups are right, and no more.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Floats, Ints, in_order
from phalanx.data.column import doubled
from phalanx.errors import SchemaError, SourceError

DIGITS: Final = 4
"""So many digits of a mean are published, wherever its decimal point stands."""
_LARGEST: Final = 1e15
"""Above it numbers stand for no people, and sums need not be finite."""


def encode_weights(values: pl.Series) -> Floats:
    """The weights of a column, shape (n,).

    SchemaError where it does not hold numbers, SourceError where a row has none, or one that is not
    above 0.

    >>> encode_weights(pl.Series("w", [1.0, 2.5])).tolist()
    [1.0, 2.5]
    """
    name = values.name
    try:
        if not (values.dtype.is_numeric() or values.dtype == pl.String):
            raise pl.exceptions.InvalidOperationError
        numbers = doubled(values).to_numpy()
    except pl.exceptions.PolarsError:
        raise SchemaError(
            f"column {name!r} is declared weight, and does not hold numbers alone; convert it at"
            " the source, or drop it."
        ) from None
    wrong = {
        "missing": np.isnan(numbers),
        "infinite": np.isinf(numbers),
        "negative": numbers < 0,
        "zero": numbers == 0,
        "above 10^15": numbers > _LARGEST,
    }
    for what, which in wrong.items():
        if rows := int(which.sum()):
            raise SourceError(
                f"the weight {name!r} is {what} in {rows} of {len(numbers)} rows, and must be a"
                " number above 0; correct these rows at the source, or leave them out there."
            )
    return numbers


def group_means(weights: Floats, group: Ints, groups: int) -> Floats:
    """The mean weight of every group, not rounded, shape (groups,); NaN of one without rows.

    ``group`` (n,): each row's group, 0 .. groups-1. Sums are exact before they are rounded once, so
    that the order of rows has no part in them.

    >>> group_means(np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), 2).tolist()
    [1.5, 4.0]
    """
    order = in_order(group)
    ends = np.cumsum(np.bincount(group, minlength=groups)).tolist()
    sorted_weights = weights[order].tolist()
    return np.array(
        [
            math.fsum(sorted_weights[start:end]) / (end - start) if end > start else math.nan
            for start, end in zip([0, *ends], ends, strict=False)
        ],
        dtype=np.float64,
    )


def rounded(means: Sequence[float] | Floats) -> Floats:
    """Numbers to as many digits as are published, shape (g,).

    >>> rounded([1234.56, 0.123456]).tolist()
    [1235.0, 0.1235]
    """
    return np.array([float(f"{mean:.{DIGITS - 1}e}") for mean in means], dtype=np.float64)


def half_units(published: Floats) -> Floats:
    """How far a published mean may be from the mean that it was rounded from, shape (g,): half a
    unit of its last digit.

    >>> half_units(np.array([1235.0, 0.1235])).tolist()
    [0.5, 5e-05]
    """
    exponents = [int(f"{mean:e}".partition("e")[2]) for mean in published]
    return np.array([float(f"5e{e - DIGITS}") for e in exponents], dtype=np.float64)
