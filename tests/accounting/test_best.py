# SPDX-License-Identifier: Apache-2.0
"""The beta that publishes most of a cell under a promise."""

import math
from fractions import Fraction

import pytest

from phalanx.accounting import best_beta, default_beta, largest_beta, solve
from phalanx.accounting.best import _largest_beta_roughly, _spread, log_published
from phalanx.errors import PlanError


def published(cell, k, beta):
    """The expected number of published rows, counted out."""
    return sum(
        j * math.comb(cell, j) * beta**j * (1 - beta) ** (cell - j) for j in range(k, cell + 1)
    )


@pytest.mark.parametrize("accounting", ["theorem", "tight"])
@pytest.mark.parametrize(
    ("epsilon", "delta", "cell"),
    [("1", "1e-6", 60), ("2", "1e-3", 25), ("0.1", "1e-4", 40), ("1", "1e-3", 60)],
)
def test_no_k_publishes_more(accounting, epsilon, delta, cell):
    """The promise holds, and no other k with its largest beta has more rows to be expected (by a
    millionth).
    """
    best = best_beta(epsilon, delta, cell, accounting)
    own = best.delta_theorem if accounting == "theorem" else best.delta_tight
    assert own <= best.delta == float(delta)
    most = published(cell, best.k, float(best.beta))
    for k in range(1, cell + 1):
        try:
            beta = largest_beta(accounting, k, Fraction(epsilon), Fraction(delta))
        except PlanError:
            continue  # no beta at all
        assert published(cell, k, float(beta)) <= most * (1 + 1e-6)


@pytest.mark.parametrize("accounting", ["theorem", "tight"])
@pytest.mark.parametrize("k", [1, 5, 20, 60])
def test_betas_are_compared_to_six_digits(accounting, k):
    """The bisection by which the values of k are compared ends near the largest beta, and at 0 where
    there is none.
    """
    epsilon, delta = Fraction(1), Fraction(1, 10**4)
    try:
        beta = float(largest_beta(accounting, k, epsilon, delta))
    except PlanError:
        beta = 0.0
    assert _largest_beta_roughly(accounting, k, epsilon, delta) == pytest.approx(beta, rel=2e-6)


def test_it_is_worth_it():
    """More than with the default beta, whose k a small cell hardly reaches; and never less."""
    for cell in (30, 80, 120, 500):
        best, default = best_beta(1, "1e-6", cell), solve(epsilon=1, delta="1e-6")
        assert (
            log_published(cell, best.k, float(best.beta))
            >= log_published(cell, default.k, float(default.beta)) - 1e-9
        )
    assert published(
        60, best_beta(1, "1e-6", 60).k, float(best_beta(1, "1e-6", 60).beta)
    ) > 2 * published(60, 74, 0.632120558828557)
    assert best_beta(1, "1e-6", 10**6).beta == default_beta(Fraction(1))


def test_log_published():
    """The share of published rows by its formula, on both sides of the mean."""
    for cell, k, beta in [(20, 3, 0.5), (20, 15, 0.5), (20, 1, 0.2), (9, 9, 0.7), (1, 1, 0.4)]:
        assert math.exp(log_published(cell, k, beta)) == pytest.approx(
            published(cell, k, beta) / cell, rel=1e-12
        )
    assert log_published(5, 6, 0.5) == -math.inf


def test_the_scheme_is_paid_for():
    """The sample has what is left of epsilon."""
    paid, rest = best_beta(1, "1e-6", 80, epsilon_scheme="0.5"), best_beta("0.5", "1e-6", 80)
    assert (paid.k, paid.beta, paid.epsilon) == (rest.k, rest.beta, 1)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ((1, 1e-6, 1), "too small to be published"),
        ((0, 1e-6, 50), "epsilon must be above"),
        ((1, 1e-6, 0), "cell must be a whole"),
        ((1, 1e-6, 10**400), "at most a trillion rows"),
        ((1, "1e-301", 50), "delta must be at least 1e-300"),
        (("1/3", "1e-300", 2), "a cell of 2 rows is too small"),
    ],
)
def test_refusals(asked, said):
    """What cannot be published, or is senseless, is refused in one sentence."""
    with pytest.raises(PlanError, match=said):
        best_beta(*asked)


@pytest.mark.parametrize(
    ("epsilon", "delta", "scheme"),
    [
        ("0", "1e-3", 0),
        ("-1", "1e-3", 0),
        ("1/2", "1e-3", "1/2"),
        ("1/2", "1e-3", 1),
        (1, "0", 0),
        (1, "-1e-3", 0),
        (1, "1", 0),
        (1, "2", 0),
    ],
)
def test_each_wrong_argument_by_itself(epsilon, delta, scheme):
    """An epsilon of which nothing is left, and a delta that is no probability between 0 and 1, are
    each refused beside a good one of the other.
    """
    with pytest.raises(
        PlanError, match="epsilon must be above epsilon_scheme and 0, and delta between 0 and 1"
    ):
        best_beta(epsilon, delta, 40, epsilon_scheme=scheme)


def test_arguments_at_the_edge_of_what_is_refused():
    """A scheme that takes a part of epsilon is answered; a scheme that costs less than nothing is
    refused.
    """
    assert best_beta("1", "1e-2", 40, epsilon_scheme="1/2").epsilon == 1
    with pytest.raises(PlanError, match="epsilon_scheme must be at least 0"):
        best_beta(1, "1e-3", 40, epsilon_scheme="-1/2")


@pytest.mark.parametrize(
    ("low", "high"), [(1, 41), (1, 42), (3, 43), (3, 44), (1, 1), (7, 1000), (5, 6)]
)
def test_which_k_are_tried(low, high):
    """All where they are few; else about forty that rise by a steady factor; both ends always."""
    tried = _spread(low, high)
    assert tried[0] == low and tried[-1] == high and tried == sorted(set(tried))
    if high - low <= 40:
        assert tried == list(range(low, high + 1))
    else:
        assert tried == sorted({round(low * (high / low) ** (i / 40)) for i in range(41)})
