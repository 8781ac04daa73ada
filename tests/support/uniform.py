# SPDX-License-Identifier: Apache-2.0
"""Whether outcomes are equally frequent, by chi-square."""

import math
from collections import Counter
from typing import Any

SURE = 1e-7
"""A test of outcomes that are equally frequent may raise a false alarm with this probability."""


def p_of(outcomes: Counter[Any], kinds: int) -> float:
    """The p-value of equally frequent outcomes of so many kinds, two or more, by Wilson and
    Hilferty's approximation of chi-square.
    """
    assert 2 <= kinds >= len(outcomes), outcomes
    expected = sum(outcomes.values()) / kinds
    x = (
        sum((o - expected) ** 2 for o in outcomes.values()) / expected
        + (kinds - len(outcomes)) * expected
    )
    degrees = kinds - 1
    z = ((x / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / math.sqrt(2 / (9 * degrees))
    return 0.5 * math.erfc(z / math.sqrt(2))
