# SPDX-License-Identifier: Apache-2.0
"""Values that say that a person has none: which of a column's are among those that are listed."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from phalanx.arrays import Bools


def is_listed(values: pl.Series, listed: Sequence[str | int | float]) -> Bools:
    """Which values are listed, shape (len,): a number where a number of that size is, be it as text,
    as a column has 0 in one release and 0.0 in another; any value where its text is.

    A missing value is never listed.

    >>> is_listed(pl.Series(["none", "flu", "0", None]), ["none", 0]).tolist()
    [True, False, True, False]
    >>> is_listed(pl.Series([0.0, 0.5]), ["0"]).tolist()
    [True, False]
    """
    texts = {str(value) for value in listed}
    numbers = {_number(value) if isinstance(value, str) else value for value in listed}
    return np.array(
        [
            value is not None and (str(value) in texts or (_is_number(value) and value in numbers))
            for value in values.to_list()
        ],
        dtype=np.bool_,
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(text: str) -> int | float | None:
    """What a text says of a number; None where it says nothing of one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None
