# SPDX-License-Identifier: Apache-2.0
"""Exponentials and logarithms of fractions, each between two fractions, by whole numbers alone."""

from fractions import Fraction
from functools import lru_cache
from typing import Final

_ONE: Final = 1 << 320
"""What stands for 1."""


@lru_cache(maxsize=64)
def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions just below and above e^x, for ``x >= 0``; equal where x is 0.

    The series of e^x has positive terms. Each is rounded down for one sum and up for the other,
    which goes on until a term is at most half of the one before it, so that the rest is at most the
    last term.

    >>> low, high = exp_bounds(Fraction(1))
    >>> f"{float(low):.15f}", low < high < low + Fraction(1, 2**300)
    ('2.718281828459045', True)
    """
    if x == 0:
        return Fraction(1), Fraction(1)
    low = high = below = above = _ONE
    i = 0
    while below or above > 1 or i < 2 * x:
        i += 1
        below = below * x.numerator // (x.denominator * i)
        above = -(-above * x.numerator // (x.denominator * i))
        low, high = low + below, high + above
    return Fraction(low, _ONE), Fraction(high + above, _ONE)


@lru_cache(maxsize=64)
def log_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Fractions just below and above ln(x), for ``x > 0``; equal where x is 1.

    >>> low, high = log_bounds(Fraction(10))
    >>> f"{float(low):.15f}", low < high < low + Fraction(1, 2**300)
    ('2.302585092994046', True)
    """
    if x < 1:
        low, high = log_bounds(1 / x)
        return -high, -low
    if x == 1:
        return Fraction(0), Fraction(0)
    halvings = (x.numerator // x.denominator).bit_length() - 1
    rest = x / 2**halvings
    two, of_rest = _twice_artanh(Fraction(1, 3)), _twice_artanh((rest - 1) / (rest + 1))
    return halvings * two[0] + of_rest[0], halvings * two[1] + of_rest[1]


def _twice_artanh(z: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds of ``ln((1 + z) / (1 - z)) = 2 (z + z^3 / 3 + z^5 / 5 + ...)``, for ``0 <= z <= 1/3``.

    Each power of z is at most a ninth of the one before, so a power that is rounded down is less
    than two units too small, each term less than three, and what follows on a power of 0 less than
    one in all.
    """
    square = z * z
    power = z.numerator * _ONE // z.denominator
    total, terms = 0, 0
    while power:
        total += power // (2 * terms + 1)
        power = power * square.numerator // square.denominator
        terms += 1
    return Fraction(2 * total, _ONE), Fraction(2 * total + 6 * terms + 2, _ONE)
