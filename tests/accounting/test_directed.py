# SPDX-License-Identifier: Apache-2.0
"""Decimals and floats that err on the stated side."""

import math
from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from naive.safe_sampling_delta import e_to
from phalanx.accounting.directed import (
    downwards,
    exponential,
    float_above,
    float_below,
    float_kept,
    log_of,
    logarithm,
    power,
    quotient,
    rounded_down,
    rounded_up,
    upwards,
)


@given(st.fractions(0, 50, max_denominator=10**6), st.integers(0, 300))
def test_power_and_quotient(number, exponent):
    """Down is never above, up never below, and they are near each other."""
    low, high = (power(c, quotient(c, number), exponent) for c in (downwards(30), upwards(30)))
    assert Fraction(low) <= number**exponent <= Fraction(high)
    assert Fraction(high - low) <= Fraction(high) * Fraction(1, 10**26)


@given(st.fractions(-30, 30, max_denominator=1000))
def test_exponential(number):
    """e^x is between the two, by its series."""
    low, high = exponential(number, 30)
    assert Fraction(low) <= e_to(number)[1] and e_to(number)[0] <= Fraction(high)
    assert high - low <= high * Decimal("1e-26")


@given(st.fractions(Fraction(1, 100), 100, max_denominator=1000))
def test_logarithm(number):
    """The logarithm is between the two: e to them is on either side of the number."""
    low, high = logarithm(number, 12)
    assert e_to(Fraction(low))[0] <= number <= e_to(Fraction(high))[1]
    assert high - low <= max(abs(high), 1) * Decimal("1e-9")


@given(st.fractions(0, 1))
def test_floats_keep_to_their_side(number):
    """As an exact value and as the text that it prints, whether from a fraction or a decimal."""
    above, below, kept = float_above(number), float_below(number), float_kept(number)
    assert min(Fraction(above), Fraction(repr(above))) >= number and Fraction(
        repr(below)
    ) <= number <= Fraction(repr(kept))
    assert above - below <= 4 * math.ulp(above)
    assert float_above(Decimal(repr(above))) >= above


def test_floats_at_the_end():
    """A probability too small for a float is the smallest there is, not 0."""
    assert float_above(Decimal("1e-5000")) == 5e-324 == float_above(Fraction(1, 10**400))
    assert float_above(Decimal(0)) == 0
    assert rounded_up(Fraction(1, 3), 2) == Fraction(34, 100) and rounded_down(
        Fraction(1, 3), 2
    ) == Fraction(33, 100)
    assert math.isclose(log_of(Fraction(1, 10**400)), -400 * math.log(10))
