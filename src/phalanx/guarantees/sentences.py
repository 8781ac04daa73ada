# SPDX-License-Identifier: Apache-2.0
"""The words in which guarantees tell their parameters to people."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import Any, Final

from phalanx.exact import Number, at_most, exact

_MOST: Final = 12
"""So many values are named in a sentence, and no more."""


def lacking(numbers: Sequence[int]) -> str:
    """Which releases before the last of those with these numbers, ascending, are not there; at most
    as many numbers are looked at as there are releases, and some more.

    >>> lacking([1, 2]), lacking([3])
    ('', 'release(s) 1, 2 of the series were not given')
    >>> lacking([2, 3, 26])
    'release(s) 1, 4, 5, 6, 7, 8, 9, 10 and 15 more of the series were not given'
    """
    given = set(numbers)
    absent = [str(n) for n in islice((n for n in range(1, numbers[-1]) if n not in given), 8)]
    left = numbers[-1] - len(given) - len(absent)
    more = f" and {left} more" if left else ""
    return f"release(s) {', '.join(absent)}{more} of the series were not given" if absent else ""


def one_in(l: Number) -> str:
    """The share 1/l.

    >>> one_in(3), one_in("5/2")
    ('1/3', '2/5')
    """
    share = 1 / exact(l, "l")
    return f"{share.numerator}/{share.denominator}"


def ordinal(l: int) -> str:
    """The place of a value among the most frequent ones.

    >>> ordinal(2), ordinal(4)
    ('2nd', '4th')
    """
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(l, f"{l}th")


def named(values: Sequence[Any]) -> str:
    """Values in a sentence, the first twelve by name."""
    return ", ".join(str(value) for value in values[:_MOST]) + (
        f" and {len(values) - _MOST} more" if len(values) > _MOST else ""
    )


def as_promised(number: float | Fraction | Decimal | str) -> str:
    """A figure that is promised at most, as people read it: four digits, rounded up; a small one as
    1 over a whole number where it is one.

    >>> [as_promised(x) for x in (1, "1/2", Fraction(1, 10**6), 2.718281828, 9.7712e-07)]
    ['1', '0.5', '1/1,000,000', '2.719', '9.772e-7']
    """
    figure = Fraction(repr(number) if isinstance(number, float) else number)
    return (
        f"1/{figure.denominator:,}"
        if figure.numerator == 1 and figure.denominator >= 1000
        else at_most(figure)
    )


def percent(share: float) -> str:
    """A share with one decimal; what is above 0 is never shown as 0, and what is below 1 never as
    100.

    >>> [percent(x) for x in (0, 0.0001, 0.125, 0.9999, 1)]
    ['0%', '<0.1%', '12.5%', '>99.9%', '100%']
    """
    if share in (0, 1):
        return f"{share:.0%}"
    if share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}" if share < 0.9995 else ">99.9%"
