# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious correlation of two attributes: the paper's formula cell by cell, in fractions.
Shares no code with the source.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any


def phi2(one: Sequence[Any], other: Sequence[Any]) -> Fraction | None:
    """The mean-square contingency coefficient as the paper writes it; None where it is
    undefined.
    """
    n, first, second = len(one), sorted(set(one), key=repr), sorted(set(other), key=repr)
    if min(len(first), len(second)) < 2:
        return None
    total = Fraction(0)
    for v in first:
        for w in second:
            f_v = Fraction(sum(x == v for x in one), n)
            f_w = Fraction(sum(y == w for y in other), n)
            f_vw = Fraction(sum(x == v and y == w for x, y in zip(one, other, strict=True)), n)
            total += (f_vw - f_v * f_w) ** 2 / (f_v * f_w)
    return total / (min(len(first), len(second)) - 1)


def intervals(values: Sequence[Any], bins: int) -> list[Any]:
    """Every number in its interval of equal width, missing ones by themselves; as they are where
    there are no more values than intervals.
    """
    present = {Fraction(v) for v in values if v is not None}
    if len(present) <= bins:
        return list(values)
    low, high = min(present), max(present)

    def place(value: Any) -> int:
        for i in range(bins):
            if Fraction(value) < low + (high - low) * Fraction(i + 1, bins):
                return i
        return bins - 1

    return [None if v is None else place(v) for v in values]
