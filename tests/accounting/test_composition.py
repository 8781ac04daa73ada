# SPDX-License-Identifier: Apache-2.0
"""What releases of fresh samples cost together: never less than the truth, never more than
addition.
"""

import math
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from naive.safe_sampling_delta import together as naive_together
from phalanx.accounting import composition, solve, tight_delta, together
from phalanx.accounting.composition import added, removed, span
from phalanx.accounting.tight import added_between, removed_between
from phalanx.errors import PlanError

PROMISES = [
    solve(epsilon=e, k=k, beta=b, accounting="tight")
    for e, k, b in [("0.5", 3, "0.3"), ("0.2", 2, "0.1"), ("1", 4, "0.5"), ("0.1", 3, "0.8")]
]
EPSILONS = (0.0, 0.05, 0.3, 0.8, 1.5, 3.0)


@pytest.mark.parametrize("profile", [added, removed])
def test_the_profile_at_any_epsilons(profile):
    """None at all, those of one sign and both: each epsilon has the figure that it has by
    itself.
    """
    k, beta = 3, Fraction(3, 10)
    epsilons = np.array([-40.0, -1.5, -0.1, 0.0, 0.1, 0.36, 1.5, 40.0])
    alone = np.concatenate([profile(k, beta, epsilons[i : i + 1]) for i in range(len(epsilons))])
    for some in (slice(0, 0), slice(0, 3), slice(3, 8), slice(0, 8)):
        found = profile(k, beta, epsilons[some])
        assert found.shape == epsilons[some].shape
        assert np.allclose(found, alone[some], rtol=1e-13, atol=0)
    assert alone[0] == pytest.approx(1, abs=1e-15) and alone[-1] <= 0.3**3 * (1 + 1e-7)


@pytest.mark.parametrize(
    ("k", "beta"),
    [
        (1, "0.25"),
        (2, "0.1"),
        (3, "0.3"),
        (3, "0.8"),
        (4, "0.5"),
        (40, "0.6"),
        (60, "0.01"),
        (300, "0.97"),
    ],
)
def test_the_profile_of_one_release(k, beta):
    """At every epsilon, of either sign, and in both directions, the floats are just above the exact
    figures, and the ends of the grid are where all is constant.
    """
    beta = Fraction(beta)
    for epsilon in (0.01, 0.2, 0.9, 2.5):
        own = Fraction(repr(epsilon))
        for profile, between, other in (
            (added, added_between, removed_between),
            (removed, removed_between, added_between),
        ):
            here, below = profile(k, beta, np.array([epsilon, -epsilon]))
            low, high = (float(x) for x in between(k, beta, own, 60))
            assert low <= here <= high * (1 + 2e-8)
            expected = -math.expm1(-epsilon) + math.exp(-epsilon) * float(
                other(k, beta, own, 60)[1]
            )
            assert expected * (1 - 1e-15) <= below <= expected * (1 + 2e-8)
    low, high = span(k, beta)
    end = added(k, beta, np.array([high + 1e-6, high + 5, low - 1e-6, low - 2]))
    assert end[0] == pytest.approx(float(beta**k), rel=1e-7) and end[1] == pytest.approx(
        float(beta**k), rel=1e-7
    )
    assert end[2:] == pytest.approx(1 - np.exp([low - 1e-6, low - 2]), rel=1e-12)


def test_every_loss_is_within_the_span():
    """Also where beta is so near 0 or 1 that a float takes it for that."""
    for digits in (20, 40):
        tiny = Fraction(1, 10**digits)
        assert span(3, tiny) == pytest.approx((-float(tiny), math.log(3)))
        assert span(3, 1 - tiny) == (pytest.approx(-digits * math.log(10)), 0.0)
    assert span(3, Fraction(1, 2)) == pytest.approx((math.log(0.5), math.log(1.5)))


@pytest.mark.parametrize("promise", PROMISES, ids=["k3", "k2", "k4", "k3 of most"])
def test_one_release(promise):
    """One release costs what it costs: at each epsilon not below the exact delta, and above it by
    no more than the grid blurs it.
    """
    cost = together(promise, 1)
    several = together(promise, 40)
    assert several.delta == min(40 * Fraction(repr(promise.delta)), 1) <= 1
    assert cost.tight_delta == promise.delta_tight
    for epsilon in EPSILONS[1:]:
        exact = tight_delta(promise.k, promise.beta, Fraction(repr(epsilon)))
        assert exact <= cost.delta_at(epsilon) <= exact * 1.01 + 1e-9


def offences(cost, promise, sizes):
    """Epsilons and pairs of cells for which two releases together show more than the cost says."""
    cells = list(combinations_with_replacement(sizes, 2))
    return [
        (epsilon, pair)
        for epsilon in EPSILONS
        for pair in cells
        if max(naive_together(pair, promise.k, promise.beta, Fraction(repr(epsilon))))
        > Fraction(cost.delta_at(epsilon))
    ]


@pytest.mark.parametrize("promise", PROMISES, ids=["k3", "k2", "k4", "k3 of most"])
def test_two_releases_by_brute_force(promise):
    """Whatever the sizes of a person's cells in two releases, the same or not: all pairs of
    outputs, in fractions, show no more than is said.
    """
    assert (
        offences(
            together(promise, 2),
            promise,
            [promise.k - 1, promise.k, promise.k + 2, 2 * promise.k + 3],
        )
        == []
    )


@pytest.mark.slow
def test_two_releases_attain_it_nearly():
    """The figure is no empty bound: some pair of cells comes within a factor of two of it."""
    promise = PROMISES[0]
    cost = together(promise, 2)
    for epsilon in (0.3, 0.8):
        shown = max(
            max(naive_together((n, m), promise.k, promise.beta, Fraction(repr(epsilon))))
            for n in range(2, 12)
            for m in range(n, 12)
        )
        assert Fraction(cost.delta_at(epsilon)) <= 2 * shown


def test_a_cost_of_one_release_less_is_caught():
    """Who counts one of two releases, or forgets what the other table never shows, is caught by the
    same comparison.
    """
    promise = PROMISES[0]
    assert offences(together(promise, 1), promise, [2, 3, 5])

    class Finite:
        """The loss without its infinite part."""

        def __init__(self, loss):
            self.loss = loss

        def get_delta_for_epsilon(self, epsilon):
            return self.loss.get_delta_for_epsilon(epsilon) - self.loss.get_delta_for_epsilon(50.0)

    cost = together(promise, 2)
    assert offences(
        replace(cost, _losses=tuple(Finite(loss) for loss in cost._losses)), promise, [2, 3, 5]
    )


@pytest.mark.parametrize("accounting", ["theorem", "tight"])
@pytest.mark.parametrize("scheme", [0, "0.3"])
def test_never_more_than_addition(accounting, scheme):
    """R epsilon and R delta are exact; composition is below both, much below for tight accounting;
    both figures say the same curve.
    """
    promise = solve(epsilon=1, delta=1e-6, accounting=accounting, epsilon_scheme=scheme)
    for releases in (1, 3, 8):
        cost = together(promise, releases)
        assert (cost.epsilon, cost.delta) == (releases, Fraction(releases, 10**6))
        assert cost.tight_epsilon <= cost.epsilon
        assert Fraction(repr(cost.tight_delta)) <= cost.delta
        assert cost.delta_at(cost.tight_epsilon) <= float(cost.delta)
        assert list(cost.to_json()) == [
            "releases",
            "epsilon",
            "delta",
            "tight_epsilon",
            "tight_delta",
        ]
    if accounting == "tight":
        assert cost.tight_epsilon < (4 if scheme else 2)
        assert together(promise, 3).tight_epsilon < together(promise, 8).tight_epsilon


def test_a_scheme_costs():
    """With a price of the scheme, the cost is between that of the sample alone and that with the
    price added; its worst choice is counted.
    """
    promise = solve(epsilon=1, delta=1e-6, accounting="tight", epsilon_scheme="0.2")
    alone = replace(promise, epsilon=Fraction("0.8"), epsilon_scheme=Fraction(0))
    for releases in (1, 4):
        with_scheme, without = (
            together(promise, releases).epsilon_at(1e-5),
            together(alone, releases).epsilon_at(1e-5),
        )
        assert without < with_scheme <= without + releases * 0.2 + 1e-6


def test_theorem_accounting_composes_any_mechanism():
    """Of the theorem's promise only (epsilon, delta) is used: for two releases the optimal
    composition of any two such mechanisms, by its formula, and as much more as the check may find.
    """
    promise = solve(epsilon="0.5", k=40, accounting="theorem")
    cost = together(promise, 2)
    e, d, more = 0.5, promise.delta, composition._AGREED
    for epsilon, lost in [(1.0, 0.0), (0.0, (math.exp(1) - 1) / (1 + math.exp(0.5)) ** 2)]:
        optimal = 1 - (1 - d) ** 2 * (1 - lost)
        least = min(optimal * more, 2 * d if epsilon >= 1 else 1)
        assert least <= cost.delta_at(epsilon) <= least * (1 + 1e-4) + 1e-12
    both = (1 / (1 + math.exp(-e))) ** 2  # the probability that both lose epsilon
    lost = 1 - (1 - 0.2 / more) / (1 - d) ** 2
    assert cost.epsilon_at(0.2) == pytest.approx(2 * e + math.log1p(-lost / both), rel=1e-6)


def test_addition_bounds_epsilon_only_at_its_own_delta():
    """At the delta of plain addition a release costs its epsilon and no digit more; at a smaller one
    that epsilon is too little.
    """
    promise = PROMISES[1]
    cost, less = together(promise, 1), promise.delta * 0.75
    assert cost.epsilon_at(promise.delta) == 0.2
    more = cost.epsilon_at(less)
    assert more > 0.2 and cost.delta_at(0.2) > less >= cost.delta_at(more)


def test_no_delta_too_small():
    """Below what some release shows for certain there is no epsilon; a large delta needs none."""
    cost = together(PROMISES[0], 2)
    assert cost.epsilon_at(float(PROMISES[0].beta ** 3)) == math.inf
    assert cost.epsilon_at(0.999) == 0
    assert cost.delta_at(1e9) >= float(PROMISES[0].beta ** 3)


def test_many_releases():
    """A hundred releases of a small epsilon cost far less than a hundred times as much."""
    promise = solve(epsilon="0.1", delta=1e-8, accounting="tight")
    cost = together(promise, 100)
    assert cost.tight_epsilon < 1 < 10 == cost.epsilon


def test_refusals():
    """There is no cost of no release, of too many, nor of what is no promise."""
    for releases, said in ((0, "must be a whole number"), (10**9, "must be at most")):
        with pytest.raises(PlanError, match=f"releases {said}"):
            together(PROMISES[0], releases)
    with pytest.raises(PlanError, match="the promise is of the type float; give what budget"):
        together(1.0, 2)


def test_dp_accounting_waits_until_it_is_needed():
    """To import the calculator is quick: what composes releases is imported when releases are
    composed.
    """
    script = (
        "import sys, phalanx.accounting; sys.exit('dp_accounting' in sys.modules or 'scipy' in"
        " sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
