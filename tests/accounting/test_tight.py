# SPDX-License-Identifier: Apache-2.0
"""The exact delta of the mechanism: the largest hockey-stick divergence of any cell, in either
direction.
"""

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.safe_sampling_delta import e_to, pmf, tight_of
from naive.safe_sampling_delta import tight_delta as naive_tight_delta
from phalanx.accounting import least_epsilon, theorem_delta, tight_delta
from phalanx.accounting.tight import (
    _narrowed,
    added_between,
    delta_between,
    log_added,
    log_removed,
    removed_between,
)
from phalanx.errors import PlanError

CELLS = [
    (k, Fraction(b), Fraction(e))
    for k in (1, 2, 3, 5, 8)
    for b in ("0.1", "1/3", "0.6", "0.9")
    for e in ("0.02", "0.1", "0.5", "1.5")
]
CELLS.append(
    (100, Fraction("0.97"), Fraction("0.0192"))
)  # where a removed row shows more than an added one


def upto(k, beta):
    """More rows than an added row needs: from (k - 1) / gamma on suppression changes nothing any
    more, and gamma is above beta.
    """
    return int(k / beta) + 4


@cache
def exact():
    """By cell, between what the delta is; when it is asked for, not as the tests are collected."""
    return {cell: naive_tight_delta(*cell, upto(*cell[:2])) for cell in CELLS}


def offences(calculator):
    """Where a calculator is below the exact value, or more than 1e-12 of it above."""
    return [
        cell
        for cell, (low, high) in exact().items()
        if not low <= Fraction(calculator(*cell)) <= high * (1 + Fraction(1, 10**12))
    ]


def test_exact_brute_force():
    """For all cells up to more rows than needed, summed over all outputs, in fractions: the figure
    is the largest divergence, rounded up.
    """
    assert offences(tight_delta) == []


@pytest.mark.slow
def test_exact_brute_force_far():
    """The same for cells of up to 200 rows, where one n in each direction has to stand for all of
    them.
    """
    for k, beta, epsilon in [
        (12, Fraction("0.1"), Fraction("0.2")),
        (12, Fraction("0.1"), Fraction("0.05")),
        (7, Fraction("0.05"), Fraction("0.1")),
    ]:
        low, high = naive_tight_delta(k, beta, epsilon, 200)
        assert low <= Fraction(tight_delta(k, beta, epsilon)) <= high * (1 + Fraction(1, 10**12))


def test_half_a_calculator_is_caught():
    """Who looks at n = k - 1 alone, or at one direction alone, or rounds to the nearest float, is
    caught.
    """

    def first_cell(k, beta, _):
        return float(beta**k)

    def added_only(k, beta, epsilon):
        return math.nextafter(float(added_between(k, beta, epsilon, 60)[1]), 1)

    def removed_only(k, beta, epsilon):
        return math.nextafter(float(removed_between(k, beta, epsilon, 60)[1]), 1)

    def nearest(k, beta, epsilon):
        return float(exact()[k, beta, epsilon][1])

    assert all(offences(broken) for broken in (first_cell, added_only, removed_only, nearest))


def test_each_direction_by_itself():
    """Both suprema are those of brute force; a removed row's may be of a larger cell than was
    tried, and is never below those that were.
    """
    attained = [0, 0]
    for k, beta, epsilon in CELLS[::5]:
        cells = [tight_of(n, k, beta, epsilon) for n in range(upto(k, beta) + 1)]
        for i, between in enumerate((added_between, removed_between)):
            low, high = between(k, beta, epsilon, 60)
            assert max(pair[i][0] for pair in cells) <= Fraction(high)
            attained[i] += Fraction(low) <= max(pair[i][1] for pair in cells)
    assert attained[0] == len(CELLS[::5]) and attained[1] > len(CELLS[::5]) / 2


@pytest.mark.parametrize(
    ("log", "between"), [(log_added, added_between), (log_removed, removed_between)]
)
def test_floats_say_which_direction_counts(log, between):
    """The logarithms by which one direction is left out are those of the decimals, far below the
    doubt of 1e-4, on either side of a threshold of a half; where there is nothing, both say so.
    """
    thresholds, nothing = set(), 0
    for k, beta, epsilon in CELLS:
        low, high = between(k, beta, epsilon, 60)
        said = log(k, beta, epsilon)
        if high == 0:
            assert low == 0 and said == -math.inf
            nothing += 1
        else:
            assert abs(said - float(high.ln())) < 1e-9
            sign = 1 if log is log_added else -1
            thresholds.add(1 - (1 - beta) * e_to(-sign * epsilon)[0] < Fraction(1, 2))
    assert thresholds == {True, False}
    assert (nothing > 0) is (log is log_removed)


def test_where_both_directions_are_near():
    """At an epsilon near 0 a row more and a row less are told alike, and the larger one counts."""
    for k, beta in ((1, Fraction(1, 5)), (3, Fraction(1, 2)), (10, Fraction(9, 10))):
        epsilon = Fraction(1, 10**9)
        both = [each(k, beta, epsilon, 60) for each in (added_between, removed_between)]
        low, high = delta_between(k, beta, epsilon)
        assert max(pair[0] for pair in both) <= high and low <= max(pair[1] for pair in both)
        assert high - low < Decimal("1e-25") * high


def test_reference_values():
    """The values of the prototype that was checked against whole tables."""
    assert tight_delta(10, Fraction("0.1"), Fraction("0.5")) == pytest.approx(
        6.716234e-07, rel=5e-7
    )
    assert tight_delta(5, Fraction("0.1"), Fraction("0.5")) == pytest.approx(1.7925e-4, rel=5e-5)


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [
        (200, "0.01", "0.5"),
        (300, "0.1", "0.1"),
        (40, "1e-8", "1"),
        (3, "1e-100", "1"),
        (2, "1e-160", "0.1"),
        (200, "0.9", "0.01"),
    ],
)
def test_extremes(k, beta, epsilon):
    """Tiny and subnormal figures, tiny and large beta: decimals enclose the exact divergence of the
    worst cell, and the float is not below.
    """
    beta, epsilon = Fraction(beta), Fraction(epsilon)
    n = int((k - 1) / (1 - (1 - beta) / e_to(epsilon)[0]))
    x = e_to(epsilon)[1]
    few = range(k, min(n + 1, k + 60) + 1)
    part = sum(
        math.comb(n + 1, j) * beta**j * (1 - beta) ** (n + 1 - j)
        - x * (math.comb(n, j) * beta**j * (1 - beta) ** (n - j) if j <= n else 0)
        for j in few
    )
    low, high = delta_between(k, beta, epsilon)
    assert 0 < part <= Fraction(high) and high - low <= high * Decimal("1e-25")
    assert Fraction(tight_delta(k, beta, epsilon)) >= part


@given(
    st.integers(1, 80),
    st.floats(1e-5, 0.95),
    st.floats(0.005, 3),
    st.floats(0, 1),
    st.floats(1e-3, 1),
)
def test_monotone(k, beta, epsilon, more, part):
    """It falls with k (post-processing) and epsilon, rises with beta (amplification), is at least
    beta^k, and never above the theorem's.
    """
    beta, epsilon = Fraction(repr(beta)), Fraction(repr(epsilon))
    delta = tight_delta(k, beta, epsilon)
    assert tight_delta(k + 1, beta, epsilon) <= delta
    assert tight_delta(k, beta, epsilon + Fraction(repr(more))) <= delta
    assert tight_delta(k, beta * Fraction(repr(part)), epsilon) <= delta
    assert Fraction(delta) >= beta**k
    if epsilon >= least_epsilon(beta):
        assert delta <= theorem_delta(k, beta, epsilon)


def test_a_smaller_sample_is_at_least_as_private_as_amplification_says():
    """Sampling a sample: the exact delta at the amplified epsilon is at most the amplified
    delta.
    """
    for k, beta, epsilon in CELLS:
        for ratio in (Fraction(1, 10), Fraction(1, 2)):
            eps2 = Fraction(math.log1p(float(ratio) * math.expm1(float(epsilon))) * (1 + 1e-12))
            assert (
                Fraction(delta_between(k, beta * ratio, eps2)[0])
                <= Fraction(delta_between(k, beta, epsilon)[1]) * ratio
            )


def test_no_row_is_worth_more_than_the_sample():
    """No delta is above the probability that the row is sampled."""
    assert all(Fraction(delta_between(k, beta, epsilon)[0]) <= beta for k, beta, epsilon in CELLS)
    assert pmf(3, Fraction(1, 2)) == [
        Fraction(1, 8),
        Fraction(3, 8),
        Fraction(3, 8),
        Fraction(1, 8),
    ]


def test_too_extreme_is_refused():
    """What would take more than some seconds is refused in a sentence that says what to do."""
    with pytest.raises(PlanError, match="too extreme"):
        tight_delta(3_000_000, Fraction("0.1"), Fraction(1))
    apart = Decimal(1), Decimal(2)
    with pytest.raises(PlanError, match="a sum in more than 4000 digits"):
        _narrowed(lambda *_: apart, 3, Fraction("0.1"), Fraction(1))


@pytest.mark.parametrize("k", [10**6, 10**8])
def test_a_large_crowd_is_answered_at_once(k):
    """Where nearly everybody is sampled, the sum over a hundred million numbers of rows is over
    after some hundreds, by decimals as by floats.
    """
    rare = Fraction(100, k)
    low, high = removed_between(k, 1 - rare, rare, 50)
    assert 0 < low <= high <= low * (1 + Decimal("1e-25"))
    assert math.isclose(math.exp(log_removed(k, 1 - rare, rare)), low, rel_tol=1e-6)


@pytest.mark.parametrize("k", [10, 1000])
def test_a_small_sample_is_answered_at_once(k):
    """Where hardly anybody is sampled, it takes hundreds of millions of rows to fill a crowd, and
    the sum over them is over after some hundreds, by decimals as by floats.
    """
    rare = Fraction(k, 10**9)
    low, high = added_between(k, rare, rare, 50)
    assert 0 < low <= high <= low * (1 + Decimal("1e-25"))
    assert math.isclose(math.exp(log_added(k, rare, rare)), low, rel_tol=1e-6)
