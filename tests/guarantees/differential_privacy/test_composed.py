# SPDX-License-Identifier: Apache-2.0
"""What many releases cost together: never below the exact cost of any crowds, hardly above it, and
what the makers' own reckoning says.
"""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from naive import safe_sampling_delta as naive
from phalanx.accounting import composition, solve, together
from phalanx.guarantees.differential_privacy import composed
from phalanx.guarantees.differential_privacy.composed import (
    Losses,
    theorem_together,
    tight_together,
)
from phalanx.guarantees.differential_privacy.hockey_stick import tight_delta

NONE = Fraction(0)


@pytest.mark.parametrize(
    ("k", "beta", "epsilon"),
    [(2, "1/3", "1/2"), (3, "1/2", "1"), (4, "1/5", "1/4"), (10, "1/10", "1/2"), (2, "3/4", "2")],
)
def test_one_release_costs_its_delta(k, beta, epsilon):
    """Of one release the bound is the tight delta, to nine digits and not below."""
    exactly = tight_delta(k, Fraction(beta), Fraction(epsilon)).delta
    found = Fraction(tight_together(k, Fraction(beta), NONE, 1, Fraction(epsilon), exactly))
    assert exactly <= found <= exactly * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("k", "beta", "epsilon", "releases"),
    [(2, "1/3", "3/4", 2), (2, "1/2", "2", 3), (3, "1/4", "1/2", 2), (1, "1/4", "1", 2)],
)
def test_no_crowds_cost_more(k, beta, epsilon, releases):
    """Whatever numbers of rows the releases' crowds have, the exact divergence of all their
    outcomes together is not above the bound; for some it is near.
    """
    beta, epsilon = Fraction(beta), Fraction(epsilon)
    found = Fraction(tight_together(k, beta, NONE, releases, epsilon, Fraction(1, 1000)))
    costs = [
        max(naive.together(cells, k, beta, epsilon))
        for cells in product(range(k - 1, k + 5), repeat=releases)
        if list(cells) == sorted(cells)
    ]
    assert max(costs) <= found <= max(costs) * Fraction(11, 10)


@pytest.mark.parametrize("side", [0, 1])
def test_both_directions_count(side):
    """The losses of a row more and of a row less are not the same, and each is a distribution of
    its own.
    """
    h = Fraction(1, 1000)
    losses = composed._sampled(3, Fraction(1, 2), h, Fraction(1, 10**12))[side]
    assert abs(losses.mass.sum() + losses.infinite - 1) < 1e-9
    assert (losses.infinite > 0.1) == (
        side == 0
    )  # a row more shows what is impossible without it, and none less does
    least, most = losses.losses[0], losses.losses[-1]
    assert (
        least > -math.log(2) - 0.02 if side == 0 else most < math.log(2) + 0.02
    )  # what is sampled or not is twice or half as probable at most


@pytest.mark.parametrize(
    ("epsilon", "releases"), [("1/2", 1), ("1/2", 7), ("1", 30), ("1/10", 100)]
)
def test_pure_releases_are_counted(epsilon, releases):
    """Of releases of which only (epsilon, delta) is known the cost is the sum over how often the
    loss is epsilon, in fractions.
    """
    epsilon, delta, most = Fraction(epsilon), Fraction(1, 10**6), Fraction(epsilon) * releases / 2
    low, high = naive.e_to(epsilon)
    often = low / (1 + low)
    exactly = 1 - (1 - delta) ** releases
    for j in range(releases + 1):
        over = (2 * j - releases) * epsilon - most
        if over > 0:
            probability = (
                math.comb(releases, j)
                * often**j
                * (1 - often) ** (releases - j)
                * (1 - delta) ** releases
            )
            exactly += probability * (1 - 1 / naive.e_to(over)[0])
    found = Fraction(theorem_together(epsilon, delta, NONE, releases, most, Fraction(1, 10**4)))
    assert (
        exactly * (1 - Fraction(1, 10**20)) <= found <= exactly * Fraction(1001, 1000)
        and high > low
    )


def test_the_choice_of_schemes_is_paid_for():
    """With a scheme chosen for epsilon_scheme, releases cost as much as with that much less of the
    budget's epsilon at most, and more than without.
    """
    plain, paid = (
        tight_together(10, Fraction(1, 10), e, 5, Fraction(2), Fraction(1, 10**5))
        for e in (NONE, Fraction(1, 4))
    )
    less = tight_together(
        10, Fraction(1, 10), NONE, 5, Fraction(2) - 5 * Fraction(1, 4), Fraction(1, 10**5)
    )
    assert plain < paid < less
    known, more = (
        theorem_together(Fraction(1, 2), Fraction(1, 10**6), e, 5, Fraction(3), Fraction(1, 10**5))
        for e in (NONE, Fraction(1, 4))
    )
    assert (
        known
        < more
        <= theorem_together(
            Fraction(3, 4), Fraction(1, 10**6), NONE, 5, Fraction(3), Fraction(1, 10**5)
        )
        * (1 + 1e-9)
    )


def test_a_choice_for_every_release():
    """Where crowds are so large that hardly anything is shown, releases cost what the choices of
    their schemes do, one for each.
    """
    found = tight_together(200, Fraction(1, 20), Fraction(1, 2), 8, Fraction(2), Fraction(1, 10**3))
    choices = theorem_together(NONE, NONE, Fraction(1, 2), 8, Fraction(2), Fraction(1, 10**3))
    assert choices < found == pytest.approx(choices, rel=2e-2)


def test_two_choices_are_as_one_that_is_looked_at_twice():
    """A release that is nothing but the choice of a scheme costs the same in either way of writing
    it.
    """
    one = theorem_together(Fraction(1, 2), NONE, NONE, 8, Fraction(2), Fraction(1, 10**3))
    other = theorem_together(NONE, NONE, Fraction(1, 2), 8, Fraction(2), Fraction(1, 10**3))
    assert one == pytest.approx(other, rel=1e-6) and one > 0


@pytest.mark.parametrize(
    ("k", "beta", "releases", "budget"),
    [(10, "0.1", 10, "1e-5"), (20, "0.2", 40, "1e-6"), (40, "0.4", 6, "1e-6")],
)
def test_the_makers_find_the_same(k, beta, releases, budget):
    """At the epsilon that the makers' accounting finds for a delta, the bound is that delta, but for
    half a hundredth of what they leave to it; and never more.
    """
    promise = solve(
        epsilon=Fraction(1), k=k, beta=Fraction(beta), accounting="tight", epsilon_scheme=NONE
    )
    epsilon = together(promise, releases).epsilon_at(float(budget))
    found = tight_together(k, Fraction(beta), NONE, releases, Fraction(epsilon), Fraction(budget))
    assert found == pytest.approx(float(budget) / composition._AGREED, rel=5e-3)
    assert found <= float(budget)


def test_releases_add_up():
    """Ten releases at once are as two fives, and more releases cost more."""
    one = composed._sampled(5, Fraction(1, 5), Fraction(1, 500), Fraction(1, 10**12))[0]
    five = one.times(5, 1e-15)
    ten, twice = one.times(10, 1e-15), five.plus(five, 1e-15)
    assert ten.mass.sum() == pytest.approx(
        twice.mass.sum(), rel=1e-12
    ) and ten.infinite == pytest.approx(1 - (1 - one.infinite) ** 10, rel=1e-9)
    costs = [
        tight_together(5, Fraction(1, 5), NONE, n, Fraction(1), Fraction(1, 10**4))
        for n in (1, 2, 4, 8)
    ]
    assert costs == sorted(costs)


@pytest.mark.slow
@pytest.mark.parametrize("releases", [10**4, 10**9])
def test_many_releases_take_no_longer(monkeypatch, releases):
    """However many releases a manifest counts, and however large its epsilon is, they are added up
    by doubling; the answer is that all is lost.
    """
    plus, lengths = Losses.plus, []
    monkeypatch.setattr(
        Losses,
        "plus",
        lambda one, other, rare: lengths.append(len(one.mass)) or plus(one, other, rare),
    )
    assert (
        tight_together(10, Fraction(1, 10), NONE, releases, Fraction(1), Fraction(1, 10**5)) > 0.9
    )
    assert (
        theorem_together(
            Fraction(1000),
            Fraction(1, 10**6),
            Fraction(1, 2),
            releases,
            Fraction(1),
            Fraction(1, 10**5),
        )
        > 0.9
    )
    assert len(lengths) <= 10 * releases.bit_length() and max(lengths) < 10**5


def test_rounding_never_helps():
    """What is cut off at the ends, and what is too small for a float, is counted as more than it
    is: the mass never shrinks, and losses never fall.
    """
    rng = np.random.default_rng(1)
    mass = rng.random(400) * np.exp(-np.abs(np.arange(400) - 200.0))
    one = Losses.of(Fraction(1, 100), -200, mass / mass.sum(), 1e-9)
    exact, cut = one.plus(one, 1e-300), one.plus(one, 1e-6)
    assert len(cut.mass) < len(exact.mass)
    assert cut.mass.sum() + cut.infinite >= 1 and exact.mass.sum() + exact.infinite >= 1

    def above(losses, place):
        return losses.mass[max(0, place - losses.first) :].sum() + losses.infinite

    assert all(above(cut, place) >= above(exact, place) * (1 - 1e-12) for place in range(-400, 400))
    faint = Losses.of(Fraction(1), 0, np.array([1e-200, 1.0]), 0.0)
    assert faint.infinite > 1e-200 and faint.mass.tolist() == [0, 1]


def test_a_lower_curve_is_seen(monkeypatch):
    """A release whose delta were reckoned a hundredth too low would cost less than crowds do: the
    comparison with all outcomes finds it.
    """
    honest = composed.one_row_more
    monkeypatch.setattr(
        composed,
        "one_row_more",
        lambda *of: replace(honest(*of), delta=honest(*of).delta * Fraction(8, 10)),
    )
    uncached = tight_together.__wrapped__  # what was asked before is remembered
    found = Fraction(uncached(2, Fraction(1, 3), NONE, 2, Fraction(3, 4), Fraction(1, 1000)))
    costs = [
        max(naive.together(cells, 2, Fraction(1, 3), Fraction(3, 4)))
        for cells in product(range(1, 7), repeat=2)
    ]
    assert max(costs) > found
