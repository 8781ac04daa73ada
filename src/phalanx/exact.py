# SPDX-License-Identifier: Apache-2.0
"""Numbers as promises mean them: exact fractions in, exact comparisons out."""

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Ints
from phalanx.errors import PlanError, shown

Number = int | float | Fraction | str
"""A parameter: a whole number, a fraction, decimal text such as ``"0.2"`` or ``"1/6"``; a float
stands for its shortest decimal text.
"""


_HUGE = re.compile(r"[eE][+-]?[0-9_]{4,}")
"""Exponents beyond those of any number that is meant, whose fraction would take forever."""


def exact(value: Number, what: str) -> Fraction:
    """The fraction that was meant; PlanError where it is no finite number. NumPy's numbers become
    Python's own, as those of few bits would pass over their end in what is computed with them.

    >>> exact("1/6", "delta"), exact(0.2, "t")
    (Fraction(1, 6), Fraction(1, 5))
    """
    value = of_numpy(value)
    try:
        if isinstance(value, bool) or (isinstance(value, str) and _HUGE.search(value)):
            raise TypeError
        return Fraction(repr(float(value)) if isinstance(value, float) else value)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise PlanError(
            f'{what} must be a number such as 2, 0.5 or "1/6", and is {shown(value)}.'
        ) from None


MOST_EPSILON: Final = 500
"""Beyond it epsilon promises nothing, and e^epsilon is no number to compute with."""


def bounded(value: Number, what: str, low: int, high: int | None = None) -> Fraction:
    """The fraction that was meant, within [low, high]; PlanError otherwise."""
    number = exact(value, what)
    if number < low or (high is not None and number > high):
        raise PlanError(
            f"{what} must be at least {low}{'' if high is None else f' and at most {high}'}, and is"
            f" {shown(value, str)}."
        )
    return number


def is_list(given: object, of: Callable[[Any], bool]) -> bool:
    """Whether this is a list of what it should be of; a text is none, nor is a table.

    >>> is_list(["a"], lambda name: isinstance(name, str)), is_list("a", lambda name: isinstance(name, str))
    (True, False)
    """
    return (
        isinstance(given, Sequence | AbstractSet)
        and not isinstance(given, str | bytes)
        and all(of(part) for part in given)
    )


def of_python(made: Any) -> None:
    """Make NumPy's numbers among the fields of a frozen dataclass Python's own, as a manifest writes
    them, also those in lists and tables: of ``for k in np.arange(5, 20, 5)`` each is meant as it
    stands.
    """
    for name, value in vars(made).items():
        object.__setattr__(made, name, of_numpy_within(value))


def of_numpy_within(value: Any) -> Any:
    """The same of all numbers in a list or a table."""
    if type(value) in (list, tuple):
        return type(value)(map(of_numpy_within, value))
    if type(value) is dict:
        return {key: of_numpy_within(part) for key, part in value.items()}
    return of_numpy(value)


def of_numpy(value: Any) -> Any:
    """A number or a truth value of NumPy as Python's own, which it stands for; anything else as it
    is.
    """
    return value.item() if isinstance(value, np.integer | np.floating | np.bool_) else value


def whole(value: int, what: str, low: int = 1) -> int:
    """The whole number, at least ``low``; PlanError otherwise."""
    value = of_numpy(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise PlanError(f"{what} must be a whole number of at least {low}, and is {shown(value)}.")
    return value


def plain(number: Number) -> int | str:
    """A number as the manifest shows it: whole numbers as they are, fractions as text such as
    ``"1/6"``.

    >>> plain(3), plain("0.25"), plain(0.3)
    (3, '1/4', '3/10')
    """
    fraction = exact(number, "a number")
    return int(fraction) if fraction.denominator == 1 else str(fraction)


def readable(number: Number) -> int | float | str:
    """A number as people write it, and exactly that number: whole, decimal where a float's shortest
    text is just it, else text such as ``"1/3"``.

    >>> readable("1/4"), readable("1e-6"), readable("1/3"), readable(2.0)
    (0.25, 1e-06, '1/3', 2)
    """
    fraction = exact(number, "a number")
    if fraction.denominator == 1:
        return int(fraction)
    nearest = float(fraction)
    return nearest if Fraction(repr(nearest)) == fraction else str(fraction)


def rounded(number: float | Fraction, *, up: bool, digits: int = 4) -> str:
    """A number with so many digits, never less than it is, or (not ``up``) never more; a float
    stands for its shortest decimal text.

    >>> rounded(Fraction(1, 3), up=True), rounded(2.71828, up=False)
    ('0.3334', '2.718')
    >>> rounded(1e-06, up=True), rounded(Fraction(123456), up=True)
    ('1e-6', '1.235e5')
    """
    fraction = Fraction(repr(number)) if isinstance(number, float) else Fraction(number)
    context = Context(prec=digits, rounding=ROUND_CEILING if up else ROUND_FLOOR)
    decimal = context.divide(Decimal(fraction.numerator), Decimal(fraction.denominator)).normalize()
    power = decimal.adjusted()
    return (
        format(decimal, "f")
        if -5 < power < digits or not decimal
        else f"{decimal.scaleb(-power):f}e{power}"
    )


def at_most(number: float | Fraction) -> str:
    """A figure that is promised or spent at most: four digits, rounded up; a float stands for its
    shortest decimal text.

    >>> at_most(1.0), at_most(2.71828), at_most(1e-06), at_most(Fraction(1, 3))
    ('1', '2.719', '1e-6', '0.3334')
    """
    return rounded(number, up=True)


def at_least(number: float | Fraction) -> str:
    """A figure that is allowed, and is not shown as more: four digits, rounded down.

    >>> at_least(2.71828)
    '2.718'
    """
    return rounded(number, up=False)


def largest_ratio(above: npt.NDArray[np.generic], below: Ints) -> tuple[Fraction, int]:
    """The largest of ``above[i] / below[i]`` as a fraction, and the first place where it stands;
    ``below`` is positive, nothing is rounded.

    Floats only choose the candidates: each float ratio is within a few parts in 2**53 of the true
    one.
    """
    ratios = above.astype(np.float64) / below.astype(np.float64)
    candidates = np.flatnonzero(ratios >= ratios.max() * (1 - 1e-12))
    if above.dtype.kind in "iu" and int(above.max()) < 2**31 and int(below.max()) < 2**31:
        pairs = above[candidates].astype(np.int64) << 31 | below[candidates].astype(np.int64)
        candidates = candidates[np.sort(np.unique(pairs, return_index=True)[1])]
    seen: dict[tuple[int, int], int] = {}
    for i in candidates.tolist():
        seen.setdefault((int(above[i]), int(below[i])), i)
    best = max(seen, key=lambda pair: Fraction(*pair))
    return Fraction(*best), seen[best]
