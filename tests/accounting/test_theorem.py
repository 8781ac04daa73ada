# SPDX-License-Identifier: Apache-2.0
"""d(k, beta, epsilon) is the paper's, and never below it."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.safe_sampling_delta import bad, gamma, theorem_deltas
from phalanx.accounting import default_beta, least_epsilon, theorem_delta
from phalanx.accounting.theorem import broken_at, delta_between
from phalanx.errors import PlanError

UPTO = 200
GRID = [
    (Fraction(b), Fraction(e))
    for b in ("0.05", "0.1", "0.2", "1/3", "0.5", "0.75")
    for e in ("0.3", "0.5", "1", "2")
    if Fraction(b) < default_beta(Fraction(e))
]


def exact_values():
    """(k, beta, epsilon, d) wherever the maximum is certainly among n up to 200: there Chernoff's
    bound is below it.
    """
    for beta, epsilon in GRID:
        g = float(gamma(beta, epsilon))
        rate = g * math.log(g / beta) - float(epsilon) * (1 - g)
        for k, (value, n) in theorem_deltas(range(1, 13), beta, epsilon, UPTO).items():
            if math.exp(-UPTO * rate) < value:
                yield k, beta, epsilon, value, n


VALUES = list(exact_values())


def offences(calculator):
    """Where a calculator is below the exact value, or more than 1e-12 of it above."""
    return [
        (k, beta, epsilon)
        for k, beta, epsilon, value, _ in VALUES
        if not value <= Fraction(calculator(k, beta, epsilon)) <= value * (1 + Fraction(1, 10**12))
    ]


def test_exact_brute_force():
    """On a grid of k up to 12 and n up to 200 the figure is the exact maximum, rounded up by less
    than 1e-12 of it; decimals enclose the exact value.
    """
    assert len(VALUES) > 150 and len({(beta, epsilon) for _, beta, epsilon, _, _ in VALUES}) > 12
    assert offences(theorem_delta) == []
    for k, beta, epsilon, value, _ in VALUES:
        low, high = delta_between(k, beta, epsilon)
        assert Fraction(low) <= value <= Fraction(high)


def test_the_first_n_is_not_always_the_largest():
    """A calculator that stops at the smallest n is caught: the maximum may be at a later one."""

    def stopped_at_once(k, beta, epsilon):
        return math.nextafter(
            float(bad(max(math.ceil(k / gamma(beta, epsilon)) - 1, 1), beta, epsilon)), 1
        )

    assert offences(stopped_at_once)


def test_a_figure_rounded_down_is_caught():
    """A calculator that rounds to the nearest float, or down, is caught."""
    below = [
        math.nextafter(theorem_delta(k, beta, epsilon), 0) for k, beta, epsilon, _, _ in VALUES
    ]
    assert any(
        Fraction(figure) < value for figure, (_, _, _, value, _) in zip(below, VALUES, strict=True)
    )
    exactly = {(k, beta, epsilon): value for k, beta, epsilon, value, _ in VALUES}
    assert offences(lambda k, beta, epsilon: float(exactly[k, beta, epsilon]))


REFERENCE = [
    ("0.1", 5, "0.5", 2.750964e-3), ("0.1", 5, "1", 1.765e-4), ("0.1", 5, "2", 1e-5), ("0.1", 10, "0.5", 2.072312e-5), ("0.1", 10, "1", 6.840415e-8),
    ("0.1", 10, "2", 1e-9), ("0.1", 20, "0.5", 1.606253e-9), ("0.1", 20, "1", 4.072506e-14), ("0.05", 5, "0.5", 1.119302e-4), ("0.05", 10, "1", 2.324454e-10),
    ("0.2", 10, "0.5", 1.579121e-3), ("0.2", 10, "1", 4.604969e-5), ("0.2", 10, "2", 9.216e-7),
]  # fmt: skip


@pytest.mark.parametrize(("beta", "k", "epsilon", "value"), REFERENCE)
def test_reference_values(beta, k, epsilon, value):
    """The values that were computed independently, to all their digits."""
    assert theorem_delta(k, Fraction(beta), Fraction(epsilon)) == pytest.approx(value, rel=5e-7)


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [
        (200, "0.01", "0.5"),
        (400, "1e-3", "5"),
        (40, "1e-8", "1"),
        (35, "1e-9", "40"),
        (3, "1e-100", "1"),
        (2, "1e-160", "0.1"),
        (1500, "0.3", "1"),
        (5, "1/3", "30"),
    ],
)
def test_extremes(k, beta, epsilon):
    """Tiny and subnormal figures, tiny beta, large epsilon: not below the exact probability at the
    first n, by decimals and as a float.
    """
    beta, epsilon = Fraction(beta), Fraction(epsilon)
    n = math.ceil(k / gamma(beta, epsilon)) - 1
    few = range(k, min(n, k + 60) + 1)
    part = sum(
        math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in few
    )  # of the probability, so not above it
    low, high = delta_between(k, beta, epsilon)
    assert part <= Fraction(high) and high - low <= high * Decimal("1e-25")
    figure = theorem_delta(k, beta, epsilon)
    assert Fraction(figure) >= part and Fraction(figure) >= Fraction(low)
    assert Fraction(repr(figure)) >= part


@given(st.integers(1, 60), st.floats(1e-6, 0.9), st.floats(0, 3), st.floats(0, 1))
def test_monotone(k, beta, more, step):
    """It falls with k and with epsilon, exactly."""
    beta = Fraction(repr(beta))
    epsilon = least_epsilon(beta) + Fraction(repr(more))
    delta = theorem_delta(k, beta, epsilon)
    assert theorem_delta(k + 1, beta, epsilon) <= delta
    assert theorem_delta(k, beta, epsilon + Fraction(repr(step))) <= delta


def test_of_what_the_theorem_says_nothing():
    """Below -ln(1 - beta) there is no figure, and the error names the largest beta; next to it
    there is one.
    """
    half = default_beta(Fraction(1))
    assert 0 < theorem_delta(5, half, Fraction(1)) < 1
    with pytest.raises(PlanError, match=r"beta of at most 0\.632120558828557"):
        theorem_delta(5, half + Fraction(1, 10**15), Fraction(1))


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [
        (0, "0.1", "1"),
        (-3, "0.1", "1"),
        (3, "0", "1"),
        (3, "1", "1"),
        (3, "0.1", "0"),
        (3, "0.1", "-1"),
    ],
)
def test_senseless_parameters(k, beta, epsilon):
    """What is no parameter is refused, by name."""
    with pytest.raises(PlanError, match="must be"):
        theorem_delta(k, Fraction(beta), Fraction(epsilon))


def test_too_extreme_is_refused():
    """What would take more than some seconds is refused in a sentence that says what to do."""
    with pytest.raises(PlanError, match="too extreme"):
        theorem_delta(3_000_000, Fraction("0.1"), Fraction(1))


def test_what_is_broken_is_named():
    """The n and m of the largest probability are named where it is above delta, and nothing where
    it is not.
    """
    k, beta, epsilon = 10, Fraction("0.1"), Fraction("0.5")
    n, m = broken_at(k, beta, epsilon, Fraction("1e-6"))
    assert n == int(m / gamma(beta, epsilon)) and m >= k
    assert broken_at(k, beta, epsilon, Fraction("3e-5")) is None
