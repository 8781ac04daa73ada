# SPDX-License-Identifier: Apache-2.0
"""The deltas of a sampled crowd: against exact sums over all outcomes and many numbers of rows, and
never below the true ones.
"""

import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import safe_sampling_delta as naive
from phalanx.guarantees.differential_privacy import hockey_stick
from phalanx.guarantees.differential_privacy.hockey_stick import (
    one_row_less,
    one_row_more,
    theorem_applies,
    theorem_delta,
    tight_delta,
)
from phalanx.guarantees.differential_privacy.logarithms import exp_bounds
from support.work import lines

NEAR = Fraction(1, 10**40)
"""How far apart, relatively, the slow twin's own bounds are."""

REFERENCE = [
    ("0.1", 5, "0.5", "2.750964e-3"),
    ("0.1", 10, "0.5", "2.072312e-5"),
    ("0.1", 10, "1", "6.840415e-8"),
    ("0.1", 20, "0.5", "1.606253e-9"),
    ("0.1", 20, "1", "4.072506e-14"),
    ("0.05", 5, "0.5", "1.119302e-4"),
    ("0.05", 10, "1", "2.324454e-10"),
    ("0.2", 10, "0.5", "1.579121e-3"),
    ("0.2", 10, "1", "4.604969e-5"),
    ("0.2", 10, "2", "9.216e-7"),
]
"""Of the theorem: beta, k, epsilon and d, from the specification."""


@pytest.mark.parametrize(("beta", "k", "epsilon", "delta"), REFERENCE)
def test_reference_values_of_the_theorem(beta, k, epsilon, delta):
    """The specification's figures come out, to all their digits."""
    found = theorem_delta(k, Fraction(beta), Fraction(epsilon))
    assert found.whole and f"{float(found.delta):.6e}" == f"{float(delta):.6e}"


def test_reference_values_of_the_tight_delta():
    """The specification's figure, and one more that was computed independently."""
    assert f"{float(tight_delta(10, Fraction(1, 10), Fraction(1, 2)).delta):.6e}" == "6.716234e-07"
    assert f"{float(tight_delta(5, Fraction(1, 10), Fraction(1, 2)).delta):.4e}" == "1.7925e-04"


BETAS = [Fraction(1, 20), Fraction(1, 5), Fraction(2, 5), Fraction(3, 4)]
EPSILONS = [
    Fraction(0),
    Fraction(1, 50),
    Fraction(1, 4),
    Fraction(1, 2),
    Fraction(1),
    Fraction(5, 2),
]


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_tight_deltas_are_those_of_all_outcomes(beta, epsilon):
    """For k up to 6 the bound is the largest divergence that the slow twin finds among up to 40
    rows, or one of more rows, and hardly above it.
    """
    for k in (1, 3, 6):
        rows = 40
        low, high = naive.tight_delta(k, beta, epsilon, rows)
        found = tight_delta(k, beta, epsilon)
        assert found.whole and found.delta >= low
        if beta * rows > 4 * k:  # so that the largest is among them
            assert found.delta <= high * (1 + NEAR) + NEAR


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_theorem_is_that_of_all_numbers_of_rows(beta, epsilon):
    """For k up to 12 the bound is the largest probability that the slow twin finds among up to 200
    rows, to 40 digits.
    """
    if not theorem_applies(beta, epsilon):
        return
    for k, (largest, _) in naive.theorem_deltas((1, 2, 3, 6, 12), beta, epsilon, 200).items():
        found = theorem_delta(k, beta, epsilon)
        assert found.whole and largest <= found.delta <= largest * (1 + NEAR)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 6),
    st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=40),
    st.fractions(0, 3, max_denominator=20),
    st.integers(0, 25),
)
def test_no_crowd_is_worse(k, beta, epsilon, rows):
    """Of whatever number of rows, a row more or less changes the odds of what is shown by more than
    e^epsilon at most with the delta that is found.
    """
    c = exp_bounds(epsilon)[0]
    (_, more), (_, less) = naive.tight_of(rows, k, beta, epsilon)
    assert more <= one_row_more(k, beta, c).delta * (1 + NEAR)
    floor = Fraction(1, 2**200)
    assert less <= max(floor, one_row_less(k, beta, c, floor).delta * (1 + NEAR))


@pytest.mark.parametrize(
    ("k", "beta", "c"),
    [
        (1, "1/20", "21/20"),
        (2, "1/3", "5/4"),
        (3, "1/10", "101/100"),
        (5, "4/5", "2"),
        (8, "87/100", "41/40"),
    ],
)
def test_each_direction_by_itself(k, beta, c):
    """With a rational factor the divergence is found for each number of rows to 50 digits, and is
    no digit too small, far beyond k rows, too.
    """
    beta, c = Fraction(beta), Fraction(c)
    shown = [naive.shown(naive.pmf(n, beta), k) for n in range(k - 1, k + 200)]
    more = [naive.hockey_stick(with_row, without, c) for without, with_row in pairwise(shown)]
    less = [naive.hockey_stick(without, with_row, c) for without, with_row in pairwise(shown)]
    for exactly, found in (
        (more, hockey_stick._more(k, beta, c)),
        (less, hockey_stick._less(k, beta, c)),
    ):
        for truth, (_, bound) in zip(exactly, found, strict=False):
            assert (
                truth
                <= max(0, Fraction(*bound))
                <= truth * (1 + Fraction(1, 10**50)) + Fraction(1, 10**90)
            )
    assert one_row_more(k, beta, c).delta == max(
        Fraction(*bound)
        for _, (_, bound) in zip(more, hockey_stick._more(k, beta, c), strict=False)
    )
    assert one_row_less(k, beta, c, Fraction(1, 10**30)).delta == max(
        Fraction(*bound)
        for _, (_, bound) in zip(less, hockey_stick._less(k, beta, c), strict=False)
    )


def test_a_row_less_may_be_worse():
    """Near epsilon = 0 and at a large beta it is a row less that decides, and the tight delta is
    that of the worse direction.
    """
    beta, epsilon = Fraction("0.8558"), Fraction("0.0042")
    every = [naive.tight_of(n, 7, beta, epsilon) for n in range(40)]
    more, less = max(high for (_, high), _ in every), max(low for _, (low, _) in every)
    assert more < less <= tight_delta(7, beta, epsilon).delta <= less * (1 + NEAR)


@pytest.mark.parametrize(("k", "beta"), [(2, "1/3"), (5, "1/10"), (4, "3/4")])
def test_probabilities_are_enclosed(k, beta):
    """Row by row, and as the threshold rises, the probability of the count before it and of all
    from it on lie between their bounds, which are near.
    """
    beta, rng = Fraction(beta), np.random.default_rng(k)
    at = hockey_stick._Binomial(k, beta)
    for n in range(k - 1, k + 150):
        at.raise_threshold(min(n + 1, at.j + int(rng.random() < beta + (1 - beta) / 8)))
        exact = naive.pmf(n, beta)
        for low, high, exactly in (
            (at.point_low, at.point_high, exact[at.j - 1]),
            (at.tail_low, at.tail_high, sum(exact[at.j :])),
        ):
            assert Fraction(low, at.unit) <= exactly <= Fraction(high, at.unit)
            assert Fraction(high - low, at.unit) <= Fraction(1, 10**60)
        at.add_row()
    assert at.j > k + 10


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 40),
    st.fractions(Fraction(1, 20), Fraction(9, 10), max_denominator=40),
    st.fractions(0, 3, max_denominator=20),
)
def test_how_deltas_are_ordered(k, beta, epsilon):
    """The tight delta is at least beta^k and at most the theorem's; it falls as k or epsilon
    grows.
    """
    found = tight_delta(k, beta, epsilon).delta
    assert found >= beta**k
    if theorem_applies(beta, epsilon):
        assert found <= theorem_delta(k, beta, epsilon).delta
    assert tight_delta(k + 1, beta, epsilon).delta <= found * (1 + NEAR)
    assert tight_delta(k, beta, epsilon + Fraction(1, 10)).delta <= found * (1 + NEAR)


@pytest.mark.parametrize(
    ("k", "beta", "epsilon", "exactly"),
    [
        (5, "1/10", 2, "1/100000"),
        (10, "1/5", 2, "9.216e-7"),
        (2, "1/2", 1, "1/4"),
        (3, "1/2", 2, "1/8"),
    ],
)
def test_a_decimal_is_hit_exactly(k, beta, epsilon, exactly):
    """Where the largest delta is a short decimal nothing is rounded, so that it may be promised as
    it is.
    """
    assert theorem_delta(k, Fraction(beta), Fraction(epsilon)).delta == Fraction(exactly)


def test_the_tight_delta_of_k_rows_is_hit_exactly():
    """At a large epsilon one row in k decides, which is beta^k and nothing more."""
    assert tight_delta(7, Fraction(3, 10), Fraction(5)).delta == Fraction(3, 10) ** 7


def test_where_the_theorem_ends():
    """It asks for epsilon of at least -ln(1 - beta), which is told from what is a little less."""
    at = Fraction(
        "0.6931471805599453094172321214581765680755001343602552541206800094933936219696947156058633269964186875"
    )  # ln 2, rounded down
    assert theorem_applies(Fraction(1, 2), at + Fraction(1, 10**90))
    assert not theorem_applies(Fraction(1, 2), at)


EXTREMES = [
    (500, "0.1", "0.5"),
    (500, "0.01", "0.02"),
    (500, "0.5", "0"),
    (500, "0.8646647167633873", "2"),
    (200, "0.999", "0.01"),
    (1000, "0.01", "1"),
]


@pytest.mark.parametrize(("k", "beta", "epsilon"), EXTREMES)
def test_it_is_little_work(k, beta, epsilon):
    """Crowds of 500 and more are reckoned with in less than a million lines, so that no steward
    notices.
    """
    found = []

    def reckon():
        found.append(tight_delta(k, Fraction(beta), Fraction(epsilon)))
        if theorem_applies(Fraction(beta), Fraction(epsilon)):
            found.append(theorem_delta(k, Fraction(beta), Fraction(epsilon)))

    assert lines(reckon) < 10**6
    assert all(bound.whole for bound in found)


@pytest.mark.parametrize(("x", "beta"), [("1/3", "1/10"), ("3/4", "1/2"), ("1/50", "1/25")])
@pytest.mark.parametrize("n", [9, 64, 400])
def test_a_walk_does_not_end_while_a_larger_delta_may_come(n, x, beta):
    """What Chernoff leaves, ``top_x(n) exp(-(n + 1) KL(x || beta))``, to 60 digits: a hundredth less
    than that is no reason to end, four times as much is.
    """
    x, beta = Fraction(x), Fraction(beta)
    top = max(math.comb(n, j) * x**j * (1 - x) ** (n - j) for j in range(n + 1))
    with localcontext(Context(prec=60)):
        fading = sum(
            share * (ratio.numerator / Decimal(ratio.denominator)).ln()
            for share, ratio in (
                (x.numerator / Decimal(x.denominator), x / beta),
                ((1 - x).numerator / Decimal(x.denominator), (1 - x) / (1 - beta)),
            )
        )
        left = top * Fraction((-(n + 1) * fading).exp())
    below = hockey_stick._divergence(x, beta)
    assert not hockey_stick._is_over(n, x, left * Fraction(99, 100), below)
    assert hockey_stick._is_over(n, x, 4 * left, below)


def test_a_walk_that_is_too_long_is_given_up(monkeypatch):
    """Then the bound says that it is none, instead of taking for ever or for granted."""
    monkeypatch.setattr(hockey_stick, "MOST_STEPS", 100)
    assert not tight_delta(50, Fraction(1, 100), Fraction(1, 100)).whole
    assert not theorem_delta(50, Fraction(1, 100), Fraction(2, 100)).whole


def test_later_maxima_count():
    """The largest probability of the theorem at k = 8, beta = 0.3, epsilon = 1 is that of 12 rows,
    and not that of 10, the fewest that count.
    """
    beta, epsilon = Fraction(3, 10), Fraction(1)
    assert -(-8 // naive.gamma(beta, epsilon)) - 1 == 10 and naive.bad(
        10, beta, epsilon
    ) < naive.bad(12, beta, epsilon)
    assert theorem_delta(8, beta, epsilon).delta == naive.bad(12, beta, epsilon)


@pytest.mark.parametrize(("k", "beta"), [(10**9, "0.1"), (20_000, 1 - Fraction(1, 3**60_000))])
def test_crowds_beyond_all_sense_are_given_up(k, beta):
    """A manifest that asks for a computation without end gets none."""
    found = []
    assert (
        lines(
            lambda: found.extend(
                delta(k, Fraction(beta), Fraction(1)) for delta in (tight_delta, theorem_delta)
            )
        )
        < 1000
    )
    assert not any(bound.whole for bound in found)


def test_large_crowds_are_reckoned_with(monkeypatch):
    """Where nothing can be kept exactly, the bound is the same to 100 digits and no digit below."""
    exactly = [
        tight_delta(30, Fraction(1, 7), Fraction(1, 2)).delta,
        theorem_delta(30, Fraction(1, 7), Fraction(1, 2)).delta,
    ]
    monkeypatch.setattr(hockey_stick, "_EXACT_BITS", 0)
    rounded = [
        tight_delta(30, Fraction(1, 7), Fraction(1, 2)).delta,
        theorem_delta(30, Fraction(1, 7), Fraction(1, 2)).delta,
    ]
    assert all(
        exact <= found <= exact * (1 + Fraction(1, 10**100))
        for exact, found in zip(exactly, rounded, strict=True)
    )


@given(
    st.fractions(min_value=Fraction(1, 10**9), max_value=1 - Fraction(1, 10**9)),
    st.integers(0, 3000),
)
@settings(deadline=None, max_examples=60)
def test_a_power_lies_between_its_bounds(beta, times):
    """To nearly a thousand bits."""
    low, high, zeros = hockey_stick._power(beta, times)
    assert Fraction(low, 1 << zeros) <= beta**times <= Fraction(high, 1 << zeros)
    assert high - low <= low >> 900 or times == 0


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=1))
@settings(deadline=None)
def test_a_walk_ends_by_no_less_than_the_logarithm(share):
    """And by hardly more: else it goes on over millions of rows where beta is near 1."""
    bound = hockey_stick._minus_log(share)
    assert float(bound) >= -math.log(share) - 1e-12
    assert float(bound) <= -math.log(share) + 1e-12


@pytest.mark.parametrize("epsilon", [8, 12, 16, 20, 25])
@pytest.mark.parametrize("bound", [tight_delta, theorem_delta])
def test_weak_promises_of_very_large_crowds_are_reckoned_with(bound, epsilon):
    """Of beta near 1 and k of billions, in a moment: delta is about beta^k."""
    beta = 1 - Fraction(math.exp(-epsilon)).limit_denominator(10**15)
    k = math.ceil(math.log(1e-6) / math.log1p(-float(1 - beta)))
    found = bound(k, beta, Fraction(epsilon))
    assert found.whole
    assert float(found.delta) == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize("bound", [tight_delta, theorem_delta])
@pytest.mark.parametrize(("k", "beta"), [(2**22, Fraction(1, 2)), (10, Fraction(1, 2 ** (2**16)))])
def test_what_is_too_large_is_given_up_at_once(bound, k, beta):
    """Crowds of millions, or a beta of thousands of digits: nothing is computed, nothing is said of
    delta, and that is told.
    """
    assert bound(k, beta, Fraction(1)) == hockey_stick.Bound(Fraction(0), whole=False)
