# SPDX-License-Identifier: Apache-2.0
"""Distances between the values of an attribute that somebody wrote down, read over the attribute's
domain.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.data.domain import Domain
from phalanx.errors import PlanError


def distance_matrix(what: str, domain: Domain, said: Mapping[Any, Any]) -> npt.NDArray[np.float64]:
    """The distances between all values of a domain, shape (len, len): ``said[a][b]``, keys being
    values or their text, the empty one a missing value.

    What is said one way holds the other way, too, and a value is at distance 0 from itself.
    ``what`` begins the error: PlanError where no distance of 0 or more is said for two of the
    values.

    >>> import polars as pl
    >>> distance_matrix("distances of 'town'", Domain("categorical", pl.Series(["a", "b"])), {"a": {"b": 2}}).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    values = ["" if value is None else _text(value) for value in domain.values.to_list()]
    pairs = {
        (_text(a), _text(b)): d
        for a, row in said.items()
        if isinstance(row, Mapping)
        for b, d in row.items()
    }
    found = [
        [0.0 if i == j else pairs.get((a, b), pairs.get((b, a))) for j, b in enumerate(values)]
        for i, a in enumerate(values)
    ]
    if any(
        isinstance(d, bool) or not isinstance(d, int | float) or not 0 <= d < float("inf")
        for row in found
        for d in row
    ):
        raise PlanError(
            f"{what} is a matrix without a distance of 0 or more for some two of its {len(values)}"
            " values; give one for each two."
        )
    return np.array(found, dtype=np.float64).reshape(len(values), len(values))


def _text(value: Any) -> str:
    """A value as a plan writes it in a key."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
