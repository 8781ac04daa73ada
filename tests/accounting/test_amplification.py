# SPDX-License-Identifier: Apache-2.0
"""What sampling does to a promise, there and back."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.safe_sampling_delta import e_to
from phalanx.accounting import amplification, amplified, before_sampling
from phalanx.errors import PlanError


@given(st.floats(1e-6, 20), st.floats(1e-12, 0.5), st.floats(1e-3, 1))
def test_amplified_is_never_too_small(epsilon, part, beta):
    """e^epsilon' - 1 is at least beta (e^epsilon - 1), exactly, and hardly more; delta' is beta
    delta. With beta = 1 nothing is sampled, and epsilon is as it was written.
    """
    delta = beta * part
    after, less = amplified(epsilon, delta, beta)
    beta, epsilon = Fraction(repr(beta)), Fraction(repr(epsilon))
    for read in (Fraction(after), Fraction(repr(after)))[beta == 1 :]:
        assert e_to(read)[1] - 1 >= beta * (e_to(epsilon)[0] - 1)
    assert after == pytest.approx(math.log1p(float(beta) * math.expm1(float(epsilon))), rel=1e-12)
    assert Fraction(repr(less)) >= beta * Fraction(repr(delta)) and less == pytest.approx(
        float(beta) * delta
    )


@given(st.floats(1e-6, 10), st.floats(1e-12, 0.5), st.floats(1e-3, 1))
def test_there_and_back(epsilon, part, beta):
    """What a method may have before sampling gives, after it, no more than what was asked, and
    hardly less.
    """
    delta = beta * part
    before = before_sampling(epsilon, delta, beta)
    again = amplified(*before, beta)
    assert again[0] <= math.nextafter(epsilon, math.inf) and again[1] <= math.nextafter(
        delta, math.inf
    )
    assert again == pytest.approx((epsilon, delta), rel=1e-9)


def test_each_is_rounded_to_its_side(monkeypatch):
    """Of the two decimals between which the logarithm lies, what a sample keeps is the larger one,
    and what may be kept before it the smaller one.
    """
    monkeypatch.setattr(amplification, "_scaled", lambda *_: (Decimal("0.25"), Decimal("0.75")))
    assert amplified(1, 1e-5, 0.5)[0] == 0.75
    assert before_sampling(1, 1e-5, 0.5)[0] == 0.25


def test_the_paper_says_so():
    """Beta = 1 changes nothing; half a sample of a half is a quarter of the whole; the figure of
    the formula.
    """
    assert amplified(1, 1e-5, 1) == (1, 1e-5)
    assert amplified("0.9999", "1e-5", "0.3", beta_before="0.3") == (0.9999, 1e-5)
    assert amplified(*amplified(1, "1e-5", 0.5), 0.25, beta_before=0.5) == pytest.approx(
        amplified(1, "1e-5", 0.25)
    )
    assert amplified(1, "1e-5", "0.1") == (pytest.approx(math.log(1 + 0.1 * (math.e - 1))), 1e-06)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: amplified(0, 1e-5, 0.1), "epsilon must be above 0"),
        (lambda: amplified(1, 1e-5, 0), "beta must be above 0"),
        (lambda: amplified(1, 1e-5, 0.5, 0.4), "at most beta_before = 0.4"),
        (lambda: amplified(1, 1e-5, 0.5, 1.5), "and that at most 1"),
        (lambda: amplified(1, "none", 0.5), "delta must be a number"),
        (lambda: amplified(1, "-0.1", 0.5), "delta must be at least 0"),
        (lambda: amplified(1, 1, 0.5), "below 1"),
        (lambda: before_sampling(1, "-0.1", 0.5), "delta must be at least 0"),
        (lambda: before_sampling(1, 0.2, 0.1), "beta must be above delta"),
        (lambda: before_sampling(1, 0.1, 0.1), "beta must be above delta"),
    ],
)
def test_refusals(call, said):
    """Senseless parameters are refused in one sentence."""
    with pytest.raises(PlanError, match=said):
        call()
