# SPDX-License-Identifier: Apache-2.0
"""Binomial probabilities by floats and by decimals, and the threshold gamma."""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.safe_sampling_delta import e_to
from phalanx.accounting import binomials
from phalanx.accounting.binomials import Gamma, log_pmf, log_tail, pmf, tail_between
from phalanx.accounting.directed import downwards, log_of, logarithm, upwards


@given(
    st.integers(1, 120),
    st.integers(0, 120),
    st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000),
)
def test_binomials(n, j, beta):
    """Decimals enclose the exact probability and the exact tail; floats are near both."""
    j = min(j, n)
    value = math.comb(n, j) * beta**j * (1 - beta) ** (n - j)
    assert (
        Fraction(pmf(downwards(40), n, j, beta)) <= value <= Fraction(pmf(upwards(40), n, j, beta))
    )
    assert math.isclose(
        log_pmf(n, j, float(beta), float(1 - beta)), log_of(value), rel_tol=1e-12, abs_tol=1e-12
    )
    if j > n * beta:
        tail = sum(math.comb(n, i) * beta**i * (1 - beta) ** (n - i) for i in range(j, n + 1))
        low, high = tail_between(n, j, beta, 40)
        assert Fraction(low) <= tail <= Fraction(high)
        assert math.isclose(
            log_tail(n, j, float(beta), float(1 - beta)), log_of(tail), rel_tol=1e-12, abs_tol=1e-12
        )


@given(
    st.fractions(Fraction(1, 10**6), Fraction(99, 100), max_denominator=10**6),
    st.fractions(Fraction(1, 1000), 60, max_denominator=1000),
    st.integers(0, 10**6),
)
def test_gamma(beta, epsilon, m):
    """The largest n with gamma n below m is exact, and a gap of more is not before where it is said
    to be at the earliest.
    """
    gamma = Gamma(beta, epsilon)
    low, high = (1 - (1 - beta) / x for x in e_to(epsilon))
    n = gamma.most(m)
    assert low * n < m < high * (n + 1) or m == n == 0
    assert gamma.positive()
    at = gamma.gap(3)
    assert at == 0 or at > 10**9 or gamma.most(at - 1) - (at - 1) < 3
    assert math.isclose(gamma.value, float(low), rel_tol=1e-12) and math.isclose(
        gamma.rest, float(1 - low), rel_tol=1e-9
    )


def test_gamma_of_the_other_direction():
    """It is positive where e^epsilon (1 - beta) is below 1, to the last digit that matters."""
    assert Gamma(Fraction(1, 2), Fraction("-0.693147180559945309417")).positive()
    assert not Gamma(Fraction(1, 2), Fraction("-0.693147180559945309418")).positive()


def test_divergence_is_not_above_the_true_one():
    """Chernoff's rate is the divergence, rounded down, also where it is tiny."""
    for beta, epsilon in [("0.1", "0.5"), ("0.3", "0.001"), ("0.5", "1e-9"), ("0.999", "20")]:
        g = 1 - (1 - Fraction(beta)) * e_to(-Fraction(epsilon))[0]
        true = g * Fraction(logarithm(g / Fraction(beta), 60)[1]) - Fraction(epsilon) * (1 - g)
        rate = Gamma(Fraction(beta), Fraction(epsilon)).divergence()
        assert 0 < rate <= true and math.isclose(rate, float(true), rel_tol=1e-8)


def test_all_or_none_of_rare_and_of_nearly_sure():
    """All of three at 1e-12 each, and none at all but 1e-12: the rarer probability is taken as it
    is given, and not as what the other leaves of 1.
    """
    rare, sure = 1e-12, 1 - 1e-12
    assert log_pmf(3, 3, rare, sure) == log_pmf(3, 0, sure, rare) == 3 * math.log(rare)
    assert math.isclose(log_pmf(3, 0, rare, sure), -3e-12, rel_tol=1e-11)
    assert math.isclose(log_pmf(3, 3, sure, rare), -3e-12, rel_tol=1e-11)


@pytest.mark.parametrize("far", [10**3, 10**6, 10**9, 10**14])
def test_the_deviance_loses_no_digits_beside_the_mean(far):
    """Of numbers of fifteen digits that differ by a few, x ln(x / mean) + mean - x is what is left
    after nearly all of it cancels: as 60 digits have it.
    """
    x, mean = 10**15, 10**15 + far
    with localcontext(Context(prec=60)):
        true = x * (Decimal(x) / mean).ln() + far
    assert binomials._deviance(x, float(mean)) == pytest.approx(float(true), rel=1e-12)
