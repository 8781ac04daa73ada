# SPDX-License-Identifier: Apache-2.0
"""Decimal arithmetic that errs on the stated side: every bound in this folder is made of these."""

import math
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
)
from fractions import Fraction
from functools import lru_cache


@lru_cache(maxsize=64)
def downwards(digits: int) -> Context:
    """A context of that many digits whose sums, products and quotients are never above the true
    ones.
    """
    return _context(digits, ROUND_FLOOR)


@lru_cache(maxsize=64)
def upwards(digits: int) -> Context:
    """A context of that many digits whose sums, products and quotients are never below the true
    ones.
    """
    return _context(digits, ROUND_CEILING)


def _context(digits: int, rounding: str) -> Context:
    return Context(
        prec=digits,
        rounding=rounding,
        Emin=MIN_EMIN,
        Emax=MAX_EMAX,
        capitals=1,
        clamp=0,
        flags=[],
        traps=[InvalidOperation, DivisionByZero, Overflow],
    )


def quotient(context: Context, number: Fraction) -> Decimal:
    """The fraction as a decimal, rounded to the side of the context."""
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))


def power(context: Context, base: Decimal, exponent: int) -> Decimal:
    """``base ** exponent`` for a base of at least 0, rounded to the side of the context at every
    product.
    """
    result = Decimal(1)
    square = base
    while exponent:
        if exponent & 1:
            result = context.multiply(result, square)
        exponent >>= 1
        if exponent:
            square = context.multiply(square, square)
    return result


def exponential(number: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Two decimals with ``e ** number`` between them (``Context.exp`` is within half a unit in its
    last place, so one unit on either side is enough).
    """
    down, up = downwards(digits), upwards(digits)
    return down.next_minus(down.exp(quotient(down, number))), up.next_plus(
        up.exp(quotient(up, number))
    )


def logarithm(number: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Two decimals with the natural logarithm of ``number`` between them."""
    down, up = downwards(digits), upwards(digits)
    return down.next_minus(down.ln(quotient(down, number))), up.next_plus(
        up.ln(quotient(up, number))
    )


def float_above(number: Decimal | Fraction) -> float:
    """The smallest float that is at least ``number``, as its exact value and as the decimal text it
    prints.

    >>> float_above(Decimal("1e-400")), float_above(Fraction(1, 4))
    (5e-324, 0.25)
    """
    near, kind = float(number), type(number)
    while kind(repr(near)) < number or kind(near) < number:
        near = math.nextafter(near, math.inf)
    return near


def float_below(number: Decimal | Fraction) -> float:
    """The largest float whose decimal text is at most ``number``."""
    near = float(number)
    return near if type(number)(repr(near)) <= number else math.nextafter(near, -math.inf)


def float_kept(number: Fraction) -> float:
    """The float for a figure that a caller gave: its own decimal text where it has one, else the
    next above.

    >>> float_kept(Fraction("0.1")), float_kept(Fraction(1, 3))
    (0.1, 0.33333333333333337)
    """
    near = float(number)
    return near if Fraction(repr(near)) >= number else math.nextafter(near, math.inf)


def rounded_down(number: Decimal | Fraction, places: int) -> Fraction:
    """``number`` with that many decimal places, never more than it was."""
    scale: int = 10**places
    return Fraction(math.floor(Fraction(number) * scale), scale)


def rounded_up(number: Decimal | Fraction, places: int) -> Fraction:
    """``number`` with that many decimal places, never less than it was."""
    scale: int = 10**places
    return Fraction(math.ceil(Fraction(number) * scale), scale)


def log_of(number: Fraction) -> float:
    """The natural logarithm as a float, of fractions too small for one.

    >>> round(log_of(Fraction(1, 10**400)), 9)
    -921.034037198
    """
    return float(downwards(30).ln(quotient(downwards(30), number)))
