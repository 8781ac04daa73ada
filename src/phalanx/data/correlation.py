# SPDX-License-Identifier: Apache-2.0
"""How much attributes tell of each other: the mean-square contingency coefficient of every pair
(Li, Li, Zhang, Molloy, "Slicing", section 4.1).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Floats, Ints
from phalanx.data.column import Column
from phalanx.errors import PlanError, did_you_mean

BINS: Final = 10
"""Into so many intervals of equal width is a number or date cut that has more values, unless told
otherwise.
"""
_DENSE: Final = 2**20
"""Pairs of values are counted in a table up to this size, or four times the rows; beyond, they are
sorted.
"""


def phi2(columns: Sequence[Column], bins: int | Mapping[str, int] = BINS) -> Floats:
    """The mean-square contingency coefficient phi^2 of every pair of attributes, shape (d, d):
    symmetric, in [0, 1], 1 on the diagonal.

    For two attributes of which ``d1`` and ``d2`` values (or intervals) occur, with the shares
    ``f``::

        phi^2 = 1 / (min(d1, d2) - 1) * sum_ij (f_ij - f_i. f_.j)^2 / (f_i. f_.j)

    It is 1 where one of the two is told by the other, 0 where they are independent in the table. An
    attribute of one value is correlated with nothing: its phi^2 is undefined and counts as 0 (see
    ``constant``).

    ``columns``: d attributes of the same rows. Numbers and dates with more than ``bins`` values are
    cut into so many intervals of equal width between their lowest and highest value in these rows,
    a missing value beside them; ``bins`` is one number for all, or one for each attribute that is
    named. All others count as they are. PlanError where a number is below 2, or names what is no
    number and no date.
    """
    _check_bins(columns, bins)
    coded = [
        _coded(column, bins if isinstance(bins, int) else bins.get(_name(column), BINS))
        for column in columns
    ]
    counts = [np.bincount(codes) for codes in coded]
    matrix = np.eye(len(columns))
    for a in range(len(columns)):
        for b in range(a):
            matrix[a, b] = matrix[b, a] = contingency(coded[a], coded[b], counts[a], counts[b])
    return matrix


def constant(columns: Sequence[Column]) -> tuple[int, ...]:
    """The places of the attributes that have one value in all rows."""
    return tuple(
        place
        for place, column in enumerate(columns)
        if len(column.codes) == 0 or column.codes.min() == column.codes.max()
    )


def contingency(a: Ints, b: Ints, of_a: Ints, of_b: Ints) -> float:
    """phi^2 of two attributes: ``a`` (n,) and ``b`` (n,) are codes from 0 on, ``of_a`` and ``of_b``
    how many rows have each, none of them 0.

    By ``sum_ij (f_ij - f_i. f_.j)^2 / (f_i. f_.j) = sum_ij f_ij^2 / (f_i. f_.j) - 1`` only pairs of
    values that occur count.
    """
    d1, d2 = len(of_a), len(of_b)
    if min(d1, d2) < 2:
        return 0.0
    pairs = a * d2 + b
    if d1 * d2 <= max(_DENSE, 4 * len(pairs)):
        joint = np.bincount(pairs)
        cells = np.flatnonzero(joint)
        together = joint[cells]
    else:
        cells, together = np.unique(pairs, return_counts=True)
    return contingency_of(together, of_a[cells // d2], of_b[cells % d2], min(d1, d2))


def contingency_of(together: Ints, of_a: Ints, of_b: Ints, fewer: int) -> float:
    """phi^2 of two attributes by the pairs of values that occur: how many rows have both, the first
    and the second, shape (p,) each; ``fewer``: how many values the attribute with fewer ones has,
    2 at least.
    """
    shares = (together / of_a) * (together / of_b)
    return float(min(max((shares.sum() - 1) / (fewer - 1), 0.0), 1.0))


def _coded(column: Column, bins: int) -> Ints:
    """The rows' values, or intervals, as 0 .. d-1 of which each occurs, shape (n,)."""
    occurs = np.bincount(column.codes, minlength=len(column.domain)) > 0
    first = int(column.domain.has_missing)
    if column.domain.type in ("numeric", "date") and occurs[first:].sum() > bins:
        interval = np.zeros(len(occurs), dtype=np.int64)
        interval[first:] = first + _intervals(column.domain.positions[first:], occurs[first:], bins)
    else:
        interval = np.arange(len(occurs), dtype=np.int64)
    taken = np.zeros(int(interval.max(initial=0)) + 1, dtype=np.bool_)
    taken[interval[occurs]] = True
    dense = np.cumsum(taken) - 1
    code: Ints = dense[interval][column.codes]
    return code


def _intervals(positions: Floats, occurs: npt.NDArray[np.bool_], bins: int) -> Ints:
    """For every position its interval, 0 .. bins-1, of equal width between the first and the last
    that occurs; clipped for those that do not. One interval where no float tells them apart.
    """
    scaled = np.ldexp(
        positions, -int(np.frexp(np.abs(positions).max())[1])
    )  # exact, and no difference overflows
    present = scaled[occurs]
    low, high = present[0], present[-1]
    if low == high:
        return np.zeros(len(scaled), dtype=np.int64)
    bins_of: Ints = np.floor((np.clip(scaled, low, high) - low) * bins / (high - low)).astype(
        np.int64
    )
    return np.minimum(bins_of, bins - 1)  # the highest value closes the last interval


def _name(column: Column) -> str:
    return column.domain.values.name


def _check_bins(columns: Sequence[Column], bins: Any) -> None:
    types = {_name(column): column.domain.type for column in columns}
    for name, number in bins.items() if isinstance(bins, Mapping) else [(None, bins)]:
        of = "bins" if name is None else f"bins of {name!r}"
        if isinstance(number, bool) or not isinstance(number, int) or number < 2:
            raise PlanError(f"{of} must be a whole number of at least 2, and is {number!r}.")
        if name is not None and name not in types:
            raise PlanError(
                f"bins names {name!r}, which is no"
                f" attribute{did_you_mean(name, types) or '; remove it.'}"
            )
        if name is not None and types[name] not in ("numeric", "date"):
            raise PlanError(
                f"bins names {name!r}, which is {types[name]} and counts value by value; remove it."
            )
