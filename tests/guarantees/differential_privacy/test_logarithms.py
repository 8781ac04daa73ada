# SPDX-License-Identifier: Apache-2.0
"""Exponentials and logarithms lie between their bounds, which are so near each other that no
promise depends on the rest.
"""

from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.guarantees.differential_privacy.logarithms import exp_bounds, log_bounds

DIGITS = 160
"""More than the bounds have."""


def taken(of, x):
    """What Python's decimals give for exp or ln of a fraction, to so many digits."""
    with localcontext(Context(prec=DIGITS)):
        number = Decimal(x.numerator) / Decimal(x.denominator)
        return Fraction(number.exp() if of == "exp" else number.ln())


@settings(max_examples=200, deadline=None)
@given(st.fractions(0, 40, max_denominator=10**6) | st.fractions(0, Fraction(1, 10**6)))
def test_exponentials(x):
    """The bounds enclose e^x, and differ by less than 2^-250 of it."""
    low, high = exp_bounds(x)
    slack = taken("exp", x) / 10 ** (DIGITS - 5)
    assert low - slack <= taken("exp", x) <= high + slack
    assert high - low <= low / 2**250


@settings(max_examples=200, deadline=None)
@given(st.fractions(Fraction(1, 10**9), 10**9, max_denominator=10**9))
def test_logarithms(x):
    """The bounds enclose ln x, and differ by less than 2^-290."""
    low, high = log_bounds(x)
    slack = Fraction(1, 10 ** (DIGITS - 5))
    assert low - slack <= taken("ln", x) <= high + slack
    assert high - low <= Fraction(1, 2**290)


@settings(max_examples=50, deadline=None)
@given(st.fractions(0, 20, max_denominator=10**4))
def test_they_undo_each_other(x):
    """The logarithm of an exponential's bounds encloses what was put in."""
    low, high = exp_bounds(x)
    assert log_bounds(low)[0] <= x <= log_bounds(high)[1]


def test_where_they_are_exact():
    """e^0 is 1 and ln 1 is 0, and nothing is rounded there."""
    assert exp_bounds(Fraction(0)) == (1, 1) and log_bounds(Fraction(1)) == (0, 0)


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(5), Fraction(1000)])
def test_bounds_are_on_their_own_sides(x):
    """Nothing that is irrational is hit: the bounds differ, so that a check between them would be
    seen.
    """
    for low, high in (exp_bounds(x), log_bounds(x)):
        assert low < high
