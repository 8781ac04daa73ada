# SPDX-License-Identifier: Apache-2.0
"""The one door to private choices: what OpenDP certifies is never more than epsilon, and what it
draws has the odds that the proof speaks of.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import exp, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.errors import PlanError
from phalanx.methods.safe_sampling import private_choice
from phalanx.methods.safe_sampling.private_choice import PrivateChoice
from support.scheme_cases import odds_keep

DRAWS = 2000


def drawn(choice, scores):
    """How often each place was chosen."""
    return Counter(choice.among(np.array(scores, dtype=np.int64)) for _ in range(DRAWS))


@settings(max_examples=200, deadline=None)
@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12), st.integers(1, 2**40))
def test_the_certified_cost_is_at_most_epsilon(epsilon, sensitivity):
    """OpenDP's bound for the scale that is used, as the exact fraction that it is, never exceeds
    epsilon; and next to nothing of epsilon is wasted.
    """
    scale = PrivateChoice(epsilon, sensitivity).scale
    cost = Fraction(private_choice._measurement(scale).map(sensitivity))
    assert min(epsilon, 2**40) * (1 - Fraction(1, 10**12)) <= cost <= epsilon


def test_a_rounded_scale_costs_too_much():
    """The scale is not simply the rounded quotient: for a tenth that costs more than a tenth, by
    OpenDP's own bound.
    """
    assert (
        Fraction(private_choice._measurement(10.0).map(1))
        > Fraction(1, 10)
        >= Fraction(private_choice._measurement(PrivateChoice(Fraction(1, 10), 1).scale).map(1))
    )


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(1, 10**400)])
def test_what_no_noise_can_keep_is_refused(epsilon):
    """An epsilon of zero, or one beyond all numbers, is an error of the plan."""
    with pytest.raises(PlanError, match="epsilon_scheme"):
        PrivateChoice(epsilon, 1).among(np.array([1, 2]))


def test_draws_have_the_odds_of_permute_and_flip():
    """The candidates are tried in random order, each accepted with e^-(what it lacks / scale), as
    McKenna and Sheldon write.
    """
    scores, choice = [0, 3, 7, 8], PrivateChoice(Fraction(1, 2), 1)
    accepted = [exp((s - 8) / 2) for s in scores]
    orders = list(permutations(range(4)))
    expected = [
        sum(
            accepted[x] * prod(1 - accepted[y] for y in order[: order.index(x)]) for order in orders
        )
        / len(orders)
        for x in range(4)
    ]
    found = drawn(choice, scores)
    assert all(
        abs(found[x] - DRAWS * p) < 5.5 * (DRAWS * p * (1 - p)) ** 0.5
        for x, p in enumerate(expected)
    )


@pytest.mark.parametrize(
    ("before", "after"), [([0, 0], [0, 5]), ([3, 3, 3], [8, 3, 3]), ([3, 3, 3], [8, 8, 3])]
)
def test_a_step_of_the_sensitivity_changes_the_odds_by_epsilon_at_most(before, after):
    """Over many draws; and a choice with a fifth of the noise is found out."""
    epsilon = Fraction(1)
    assert odds_keep(
        drawn(PrivateChoice(epsilon, 5), before), drawn(PrivateChoice(epsilon, 5), after), epsilon
    )
    assert not odds_keep(
        drawn(PrivateChoice(5 * epsilon, 5), before),
        drawn(PrivateChoice(5 * epsilon, 5), after),
        epsilon,
    )


def test_the_head_start_is_the_same_for_all_tables():
    """It depends on the number of candidates and on the noise, is nothing where there is one other,
    and stays a number of 64 bits.
    """
    assert PrivateChoice(Fraction(1), 10).head_start(1) == 0
    assert PrivateChoice(Fraction(1), 10).head_start(100) == 24
    assert PrivateChoice(Fraction(1, 10**18), 2**30).head_start(100) == 2**60
