# SPDX-License-Identifier: Apache-2.0
"""The strategies of the global guarantee against the paper's theorems and figures, in fractions."""

from fractions import Fraction
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.methods.global_guarantee.ratios import (
    Adaptive,
    ConstantRatio,
    Geometric,
    constant_ratio,
    nlow,
    ratio_of,
    shares,
)
from phalanx.release.evidence.exposures import SCALE

LS = st.sampled_from(
    [Fraction(2), Fraction(3), Fraction(5), Fraction(7), Fraction(5, 2), Fraction(10)]
)
RATIOS = st.fractions(min_value=1, max_value=40, max_denominator=60).filter(lambda r: r > 1)


def linked(ratios):
    """p(o, s, k) of Lemma 4."""
    survival = Fraction(1)
    for r in ratios:
        survival *= 1 - 1 / r
    return 1 - survival


def asked(strategy, survival, times):
    """The ratio that a strategy demands for one person."""
    parts, behind = np.array([int(survival * SCALE)]), np.array([times])
    return float(strategy.beyond(nlow([survival], strategy.l), parts, behind)[0])


def exact_nlow(survival, l):
    left = l * survival - (l - 1)
    return l * survival / left if left > 0 else None


@pytest.mark.parametrize(
    ("l", "exposures", "figure"),
    [
        (2, 2, 3.414214),
        (2, 5, 7.725024),
        (2, 10, 14.932726),
        (2, 20, 29.356789),
        (5, 10, 45.316061),
        (5, 20, 90.129332),
        (10, 10, 95.413094),
        (10, 20, 190.324871),
    ],
)
def test_the_constant_ratio_to_six_digits(l, exposures, figure):
    """n_c for the eight pairs of the paper's Table 1 (which rounds): k' exposures at it spend the
    promise to the last bit, and one more is too many.
    """
    n_c = constant_ratio(Fraction(l), exposures)
    assert round(n_c, 6) == figure
    p = linked([Fraction(n_c)] * exposures)
    assert abs(p - Fraction(1, l)) < Fraction(1, 10**12)
    assert linked([Fraction(n_c)] * (exposures + 1)) > Fraction(1, l)


def test_the_worked_example():
    """Groups of 2 twice: 3/4; groups of 4 twice: 7/16, and then a third group needs a ratio of
    9.
    """
    assert linked([Fraction(2)] * 2) == Fraction(3, 4)
    assert linked([Fraction(4)] * 2) == Fraction(7, 16)
    assert exact_nlow(Fraction(9, 16), 2) == 9
    assert nlow([9 / 16], Fraction(2))[0] == pytest.approx(9, abs=1e-8)


@given(LS, st.lists(RATIOS, max_size=4), RATIOS)
def test_theorem_1(l, before, r):
    """A release keeps the promise if and only if its ratio is at least nlow; nlow(1) = l; none
    keeps it once l P <= l - 1.
    """
    survival = 1 - linked(before)
    bound = exact_nlow(survival, l)
    assert (linked([*before, r]) <= 1 / l) == (bound is not None and r >= bound)
    assert exact_nlow(Fraction(1), l) == l
    assert nlow([1.0], l)[0] == float(l)


@given(LS, st.lists(RATIOS, max_size=3))
def test_theorem_2(l, before):
    """Exactly nlow now makes every later exposure infeasible."""
    bound = exact_nlow(1 - linked(before), l)
    if bound is not None and bound > 1:
        assert exact_nlow(1 - linked([*before, bound]), l) is None


@given(st.lists(RATIOS, max_size=3), RATIOS, RATIOS)
def test_theorem_3(before, a, b):
    """The larger the ratio, the smaller the probability, strictly."""
    if a != b and (1 - linked(before)) > 0:
        assert (linked([*before, a]) < linked([*before, b])) == (a > b)


@given(LS, st.lists(RATIOS, max_size=5))
def test_nlow_is_never_too_small(l, before):
    """What floating point says is at least the exact bound, and hardly more; infinite where there
    is none.
    """
    survival = 1 - linked(before)
    bound, found = exact_nlow(survival, l), float(nlow([float(survival)], l)[0])
    if bound is None:
        assert found == np.inf or found > 1e12
    elif bound < 10**5:
        assert bound <= found or abs(float(survival) - survival) > 0
        assert found <= float(bound) * (1 + 1e-6)


@given(LS, st.integers(1, 30))
def test_every_strategy_leaves_the_promise_kept(l, exposures):
    """Demanded again and again of the same person, rounded up to whole groups, no strategy ever
    leads above 1/l.
    """
    for strategy in (
        ConstantRatio(l, 10),
        Geometric(l, 2.0),
        Adaptive(l, (0.3, 0.5)),
        Adaptive(l, (1.0,) * 9 + (0.0,)),
    ):
        survival = Fraction(1)
        for times in range(exposures):
            ratio = asked(strategy, float(survival), times)
            if ratio > 1e6:
                break
            survival *= 1 - Fraction(1, int(np.ceil(ratio)))
            assert 1 - survival <= 1 / l


def test_adaptive_is_constant_where_every_exposure_is_certain():
    """With w_j = 1 for j <= k' the closed form is the constant ratio, at the first exposure and at
    each later one, in whole members.
    """
    l, k = Fraction(2), 10
    n_c, survival = constant_ratio(l, k), 1.0
    strategy = Adaptive(l, (1.0,) * (k - 1) + (0.0,))
    for times in range(k - 1):
        ratio = asked(strategy, survival, times)
        assert abs(ratio - n_c) < 1
        survival *= 1 - 1 / n_c


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=8), st.integers(2, 9))
def test_the_closed_form_is_the_optimum(falls, l):
    """It spends the budget, and no shift of budget between two exposures lowers the expected size;
    so neither paper strategy is below it.
    """
    weights = np.cumprod([1.0, *falls])
    budget = -log(1 - 1 / l)
    x = shares(budget, list(weights))
    assert sum(x) == pytest.approx(budget, rel=1e-9)

    def cost(shares_):
        return sum(w * ratio_of(share) for w, share in zip(weights, shares_, strict=True))

    for i in range(len(x)):
        for j in range(len(x)):
            moved = list(x)
            step = min(x) * 0.01
            moved[i] += step
            moved[j] -= step
            assert i == j or cost(moved) >= cost(x) * (1 - 1e-9)
    assert cost(x) <= cost([budget / len(x)] * len(x)) * (1 + 1e-9)


def test_expected_size_is_below_both_paper_strategies():
    """Where one person in three is exposed again, the adaptive strategy expects smaller groups than
    k' = 2, 5, 20 and than alpha = 1.2, 1.5, 2, 4.
    """
    l, again = Fraction(2), 1 / 3

    def expected(strategy, rounds=25):
        survival, total, weight = 1.0, 0.0, 1.0
        for times in range(rounds):
            ratio = asked(strategy, survival, times)
            if ratio > 1e5:  # no such group: the value would be suppressed
                ratio = 1e5
            total += weight * ratio
            survival *= 1 - 1 / ratio
            weight *= again
        return total

    ours = expected(Adaptive(l, (again,)))
    for other in [
        *(ConstantRatio(l, k) for k in (2, 5, 20)),
        *(Geometric(l, a) for a in (1.2, 1.5, 2.0, 4.0)),
    ]:
        assert ours < expected(other)
