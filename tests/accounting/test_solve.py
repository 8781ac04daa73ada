# SPDX-License-Identifier: Apache-2.0
"""Whatever is left out of a promise is found, so that the promise holds, and not a step more."""

import importlib
import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.accounting import (
    default_beta,
    largest_beta,
    least_epsilon,
    solve,
    theorem,
    theorem_delta,
    tight,
    tight_delta,
)
from phalanx.accounting.promise import promised
from phalanx.accounting.solve import keeps, smallest_epsilon, smallest_k, surely_keeps
from phalanx.accounting.theorem import covers, nearest_beta
from phalanx.errors import PlanError
from support.work import lines

BOTH = ("theorem", "tight")
FIGURE = {"theorem": theorem_delta, "tight": tight_delta}
EPSILONS = ["0.01", "0.1", "0.5", "1", "1.5", "2", "3"]
DELTAS = ["1e-3", "1e-5", "1e-6", "1e-8"]
THEOREM = [
    [26, 49, 60, 83],
    [26, 49, 60, 83],
    [27, 51, 63, 87],
    [34, 61, 74, 104],
    [44, 80, 99, 136],
    [64, 113, 131, 182],
    [136, 226, 271, 422],
]


def table(accounting="theorem"):
    """The k of 28 promises, a row for each epsilon."""
    return [[solve(epsilon=e, delta=d, accounting=accounting).k for d in DELTAS] for e in EPSILONS]


def certified(accounting, k, beta, epsilon, delta):
    """Whether k keeps delta and k - 1 does not, by the figures that are shown."""
    figure = FIGURE[accounting]
    return figure(k, beta, epsilon) <= delta and (k == 1 or figure(k - 1, beta, epsilon) > delta)


def test_the_table():
    """The k of 28 promises is the paper's, and each is the smallest."""
    found = table()
    assert found == THEOREM
    for epsilon, line in zip(EPSILONS, found, strict=True):
        beta = default_beta(Fraction(epsilon))
        assert all(
            certified("theorem", k, beta, Fraction(epsilon), float(delta))
            for k, delta in zip(line, DELTAS, strict=True)
        )


@pytest.mark.parametrize("accounting", BOTH)
def test_the_table_is_little_work(accounting):
    """All 28 promises together are less than a million lines: a search halves, and does not go from
    k to k + 1 to k + 2.
    """
    assert lines(lambda: table(accounting)) < 10**6


def test_one_too_many_is_caught():
    """A search that answers k + 1 is caught by the same certificate."""
    beta = default_beta(Fraction(1))
    assert certified("theorem", 74, beta, Fraction(1), 1e-6)
    assert not certified("theorem", 75, beta, Fraction(1), 1e-6)
    assert not certified("theorem", 73, beta, Fraction(1), 1e-6)


def test_tight_accounting_needs_no_more():
    """Its k is nowhere larger than the theorem's, and certified; most are clearly smaller."""
    found = table("tight")
    assert found[:3] == [[4, 17, 26, 45], [9, 26, 35, 56], [16, 35, 46, 68]]
    for epsilon, line, others in zip(EPSILONS, found, THEOREM, strict=True):
        beta = default_beta(Fraction(epsilon))
        assert all(k <= other for k, other in zip(line, others, strict=True))
        assert all(
            certified("tight", k, beta, Fraction(epsilon), float(delta))
            for k, delta in zip(line, DELTAS, strict=True)
        )


def test_k_by_beta():
    """The reference values at (2, 1e-6)."""
    found = [solve(epsilon=2, delta=1e-6, beta=beta).k for beta in (0.75, 0.5, 0.25, 0.1)]
    assert found == [66, 24, 12, 7]


def test_beta_is_rounded_where_it_costs_least():
    """At epsilon = ln 3 a beta of 15 decimals lies on the wrong side of a jump of the theorem's d:
    the float next to 1 - e^-epsilon needs less. It is no more than the theorem allows, and
    elsewhere beta has 15 decimals.
    """
    epsilon, limit = Fraction(repr(math.log(3))), Fraction("1e-6")
    cut = default_beta(epsilon)
    assert smallest_k("theorem", cut, epsilon, limit) == 81
    found = solve(epsilon=math.log(3), delta="1e-6")
    assert (found.k, float(found.beta)) == (77, 0.6666666666666667)
    assert covers(found.beta, epsilon) and cut < found.beta
    assert certified("theorem", 77, found.beta, epsilon, 1e-6)
    assert Fraction(repr(float(found.beta))) == found.beta
    assert solve(epsilon=math.log(3), delta="1e-6", k=77).beta == found.beta
    assert solve(epsilon=math.log(3), delta="1e-6", accounting="tight").beta == cut
    assert all(solve(epsilon=e, delta="1e-6").beta == default_beta(Fraction(e)) for e in EPSILONS)


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.floats(1e-9, 60), st.integers(2, 2000).map(math.log)))
def test_the_nearest_beta_is_allowed(epsilon):
    """It is the float next to 1 - e^-epsilon from below, and never less than the default."""
    own = Fraction(repr(epsilon))
    beta = nearest_beta(own)
    assert default_beta(own) <= beta < 1 and covers(beta, own)
    assert Fraction(repr(float(beta))) == beta
    above = math.nextafter(float(beta), 1)
    assert above == 1 or not covers(Fraction(repr(above)), own)


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.01, 4),
    st.sampled_from([1e-2, 1e-4, 1e-7, 1e-12, 1e-30]),
    st.floats(0.05, 1),
    st.sampled_from(BOTH),
)
def test_smallest_k(epsilon, delta, part, accounting):
    """For any promise and beta: k keeps delta and k - 1 does not."""
    own = Fraction(repr(epsilon))
    beta = max(Fraction(repr(round(float(default_beta(own)) * part, 12))), Fraction(2, 100))
    if accounting == "theorem" and not covers(beta, own):
        beta = default_beta(own) * Fraction(99, 100)
    if beta > Fraction(repr(delta)):
        found = solve(epsilon=own, delta=delta, beta=beta, accounting=accounting)
        assert certified(accounting, found.k, beta, own, delta)


def test_default_beta():
    """The largest that the theorem allows to 15 decimals; a float prints and reads it back
    unchanged.
    """
    for epsilon in [*EPSILONS, "1e-9", "0.693147180559945", "7", "36", "50", "1000"]:
        beta = default_beta(Fraction(epsilon))
        assert covers(beta, Fraction(epsilon))
        assert Fraction(repr(float(beta))) == beta < 1
        assert beta == 1 - Fraction(1, 10**15) or not covers(
            beta + Fraction(1, 10**15), Fraction(epsilon)
        )
    with pytest.raises(PlanError, match="epsilon must be above 0"):
        default_beta(Fraction(0))
    with pytest.raises(PlanError, match="1e-15"):
        default_beta(Fraction("1e-16"))


def test_least_epsilon():
    """The smallest epsilon for a beta to 12 decimals covers it, and a step less does not."""
    for beta in ("0.1", "0.3", "0.5", "0.999", "1e-9", "1/3"):
        epsilon = least_epsilon(Fraction(beta))
        assert covers(Fraction(beta), epsilon)
        assert epsilon == Fraction(1, 10**12) or not covers(
            Fraction(beta), epsilon - Fraction(1, 10**12)
        )


@pytest.mark.parametrize("accounting", BOTH)
@pytest.mark.parametrize(
    ("epsilon", "delta", "k"),
    [
        ("1", "1e-6", 40),
        ("2", "1e-6", 24),
        ("0.01", "1e-6", 30),
        ("0.5", "1e-3", 12),
        ("3", "1e-8", 60),
    ],
)
def test_largest_beta(accounting, epsilon, delta, k):
    """It keeps delta; nothing above it does: not the next step, and not any of many others up to
    the largest that is allowed.
    """
    own, limit = Fraction(epsilon), Fraction(delta)
    beta = solve(epsilon=epsilon, delta=delta, k=k, accounting=accounting).beta
    assert surely_keeps(accounting, k, beta, own, limit)
    most = default_beta(own) if accounting == "theorem" else 1 - Fraction(1, 10**6)
    above = [
        beta + Fraction(1, 10**15),
        *(beta + (most - beta) * Fraction(i, 300) for i in range(1, 301)),
    ]
    assert not any(surely_keeps(accounting, k, b, own, limit) for b in above)


def test_the_theorem_is_no_staircase_for_bisection():
    """With beta, d falls at some places: a bisection that takes it to rise may miss the largest
    beta, ours must not.
    """
    epsilon = Fraction("0.5")
    values = [theorem_delta(5, Fraction(i, 2000), epsilon) for i in range(200, 780)]
    assert any(later < sooner for sooner, later in pairwise(values))
    for i in range(5, 570, 35):  # delta just at a value before a fall
        found = largest_beta("theorem", 5, epsilon, Fraction(repr(values[i])))
        assert all(
            value > values[i] for j, value in enumerate(values) if Fraction(200 + j, 2000) > found
        )


@pytest.mark.parametrize("accounting", BOTH)
def test_smallest_epsilon(accounting):
    """With delta, k and beta given: epsilon keeps delta, and 1e-12 less does not (or the theorem
    does not speak of it).
    """
    for k, beta, delta in [
        (30, "0.3", "1e-6"),
        (80, "0.3", "1e-6"),
        (10, "0.1", "1e-7"),
        (12, "1/3", "1e-5"),
    ]:
        found = solve(delta=delta, k=k, beta=beta, accounting=accounting)
        step = Fraction(1, 10**12)
        assert surely_keeps(accounting, k, Fraction(beta), found.epsilon, Fraction(delta))
        if accounting == "tight" or covers(Fraction(beta), found.epsilon - step):
            assert not surely_keeps(
                accounting, k, Fraction(beta), found.epsilon - step, Fraction(delta)
            )


@pytest.mark.parametrize("accounting", BOTH)
def test_delta_and_k_alone(accounting):
    """They give the largest sample at beta = 1 - e^-epsilon; a hair more epsilon, with its beta,
    would lose delta.
    """
    found = solve(delta="1e-6", k=80, accounting=accounting)
    assert found.beta == default_beta(found.epsilon)
    more = found.epsilon + Fraction(1, 10**12)
    assert not surely_keeps(accounting, 80, default_beta(more), more, Fraction("1e-6"))
    with pytest.raises(PlanError, match="take a larger k"):
        solve(delta="1e-6", k=5, accounting="theorem")


def test_beta_with_one_more():
    """With beta and one of delta and k, epsilon is the smallest the theorem allows."""
    found, other = solve(beta=0.3, delta=1e-6), solve(beta=0.3, k=62)
    assert (found.k, found.epsilon) == (62, other.epsilon) == (62, least_epsilon(Fraction("0.3")))
    assert other.delta == other.delta_theorem <= 1e-6


def test_the_promise_says_both():
    """The delta that was asked for, else the accounting's own; both figures; nothing by the theorem
    where it is silent; plain numbers in JSON.
    """
    asked, own = solve(epsilon=1, delta=1e-6), solve(epsilon=1, k=74)
    assert (
        asked.delta == 1e-6
        and own.delta == own.delta_theorem == asked.delta_theorem > own.delta_tight
    )
    silent = solve(epsilon=0.5, delta=1e-6, beta=0.5, accounting="tight")
    assert silent.delta_theorem is None and silent.k > 1
    for third in ({"epsilon": "1/3"}, {"delta": "1e-6", "beta": "1/3"}):
        shown = solve(k=20, **third).to_json()[[*third][-1]]
        assert Fraction(1, 3) <= Fraction(shown) < Fraction("0.33333333333333340")
    assert list(asked.to_json())[:7] == [
        "epsilon",
        "delta",
        "beta",
        "k",
        "accounting",
        "delta_theorem",
        "delta_tight",
    ]
    assert asked.to_json()["beta"] == 0.632120558828557


def test_the_scheme_is_a_part_of_epsilon():
    """What choosing the scheme costs is taken off first (Theorem 3.11), and added to an epsilon
    that is solved for.
    """
    whole, rest = (
        solve(epsilon=1, delta=1e-6, epsilon_scheme="0.4"),
        solve(epsilon="0.6", delta=1e-6),
    )
    assert (whole.k, whole.beta, whole.epsilon, whole.epsilon_sampling) == (
        rest.k,
        rest.beta,
        1,
        rest.epsilon,
    )
    assert solve(delta=1e-6, beta=0.3, epsilon_scheme="0.4").epsilon == solve(
        delta=1e-6, beta=0.3
    ).epsilon + Fraction("0.4")


def test_a_float_means_what_it_prints():
    """0.1 is a tenth."""
    assert solve(epsilon=0.5, beta=0.1, k=10) == solve(epsilon="0.5", beta=Fraction(1, 10), k=10)


def test_the_figure_shown_is_never_above_the_delta_shown():
    """Also where delta is met exactly: 0.1^6 is 1e-6, and the float above it is not."""
    found = solve(epsilon=2, delta=1e-6, beta=0.1)
    assert found.delta_theorem <= found.delta
    assert solve(epsilon=5, delta=2.0**-20, beta=0.5, accounting="tight").k == 20


def test_extreme_promises():
    """Deltas below all floats, crowds of millions: still certified."""
    assert solve(epsilon=1, delta="1e-400").delta == 5e-324
    assert (
        solve(epsilon=10, delta=1e-8).k
        == solve(epsilon=10, delta=1e-8, accounting="tight").k
        == 405734
    )
    assert surely_keeps(
        "tight",
        smallest_k("tight", Fraction("0.9"), Fraction("0.1"), Fraction("1e-9")),
        Fraction("0.9"),
        Fraction("0.1"),
        Fraction("1e-9"),
    )


@pytest.mark.parametrize("k", [2, 5, 9])
def test_at_the_very_delta_decimals_decide(k):
    """A float cannot tell what lies within its last digits of the exact delta; it is told all the
    same, and against us.
    """
    for beta, epsilon in product(map(Fraction, ("1/20", "1/3", "1/2")), (Fraction(1, 2), 1, 2)):
        low, high = map(Fraction, tight.delta_between(k, beta, Fraction(epsilon)))
        assert keeps("tight", k, beta, Fraction(epsilon), high)
        assert not keeps("tight", k, beta, Fraction(epsilon), low * (1 - Fraction(1, 10**20)))


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "does not determine"),
        ({"epsilon": 1}, "give delta or k"),
        ({"delta": 1e-6}, "does not determine"),
        ({"k": 5}, "does not determine"),
        ({"beta": 0.5}, "does not determine"),
        ({"epsilon": 1, "beta": 0.5}, "give delta or k"),
        ({"epsilon": 0, "k": 5}, "epsilon must be above 0"),
        ({"epsilon": "x", "k": 5}, "epsilon must be a number"),
        ({"epsilon": 1, "delta": 1}, "delta must be above 0 and below 1"),
        ({"epsilon": 1, "delta": 0}, "delta must be above 0 and below 1"),
        ({"epsilon": 1, "k": 0}, "k must be a whole number"),
        ({"epsilon": 1, "k": True}, "k must be a whole number"),
        ({"epsilon": 1, "k": 2**60 + 1}, r"a k above 2\*\*60"),
        ({"epsilon": 1, "beta": 1.0, "k": 5}, "beta must be above 0 and below 1"),
        ({"epsilon": 1, "beta": 0.7, "k": 50}, r"beta of at most 0\.632120558828557"),
        ({"epsilon": 1, "delta": 1e-6, "beta": 0.5, "k": 10}, "take k = 4"),
        ({"epsilon": 1, "delta": 1e-3, "beta": 1e-3}, "is 0.001 against 0.001"),
        ({"epsilon": 1, "k": 1}, "beta must be above delta"),
        ({"delta": 1e-6, "k": 8, "beta": 0.3}, "never below beta"),
        ({"epsilon": 1, "delta": 1e-3, "k": 1}, "no beta above delta"),
        ({"epsilon": 1, "delta": 1e-6, "epsilon_scheme": 1}, "above epsilon_scheme = 1"),
        ({"epsilon": 1, "delta": 1e-6, "epsilon_scheme": -1}, "epsilon_scheme must be at least 0"),
        ({"epsilon": 1, "delta": 1e-6, "accounting": "exact"}, "theorem"),
    ],
)
def test_refusals(asked, said):
    """What is senseless, or does not determine a promise, is refused in one sentence."""
    with pytest.raises(PlanError, match=said):
        solve(**asked)


@pytest.mark.slow
def test_out_of_reach():
    """Where the k that it would take is too large to be found in some seconds, the refusal still
    says what the delta is.
    """
    with pytest.raises(PlanError, match=r"give a delta of .* take a much larger k"):
        solve(epsilon=1e-6, delta=1e-16, beta=0.01, k=242, accounting="tight")


@pytest.mark.parametrize("delta", ["1e-14", "1e-17"])
def test_no_beta_at_all(delta):
    """Rows that are in no crowd are published with probability beta: where delta is below its last
    decimal, no beta is left, and that is said.
    """
    with pytest.raises(PlanError, match="no beta above delta keeps"):
        largest_beta("theorem", 1, Fraction(1), Fraction(delta))


def test_an_epsilon_that_decimals_do_not_confirm_rises_step_by_step(monkeypatch):
    """Where floats found an epsilon too small, it is raised by its last decimal until decimals
    confirm it, and no further.
    """
    solving = importlib.import_module("phalanx.accounting.solve")
    found = Fraction(123, 10**12)
    least = found + Fraction(3, 10**12)
    monkeypatch.setattr(solving, "keeps", lambda *given: given[3] >= found)
    monkeypatch.setattr(solving, "surely_keeps", lambda *given: given[3] >= least)
    assert smallest_epsilon("tight", 10, Fraction(1, 10), Fraction(1, 10**6)) == least


@pytest.mark.parametrize("guess", [3, 4, 19, 20])
def test_what_holds_from_somewhere_on_is_found_or_is_nowhere(guess):
    """From the least number that is allowed to the greatest one, wherever it is looked for first."""
    solving = importlib.import_module("phalanx.accounting.solve")
    for first in range(30):
        found = solving._first_up_to(lambda n, first=first: n >= first, 2, guess, 20)
        assert found == (max(first, 2) if first <= 20 else None)


@pytest.mark.parametrize("epsilon", ["0", "-1/2", "-1000", "1e-16"])
def test_no_beta_by_default(epsilon):
    """The theorem allows no beta where epsilon is 0, below it, or below a beta's decimals."""
    with pytest.raises(PlanError, match="epsilon must be above 0"):
        default_beta(Fraction(epsilon))


def test_the_larger_end_is_promised(monkeypatch):
    """Of the two decimals between which a delta lies, by every door and either accounting."""
    monkeypatch.setattr(tight, "delta_between", lambda *_: (Decimal("0.001"), Decimal("0.002")))
    monkeypatch.setattr(theorem, "delta_between", lambda *_: (Decimal("0.003"), Decimal("0.004")))
    at = 10, Fraction(1, 2), Fraction(1)
    promise = promised("theorem", *at, Fraction(0), None)
    figures = [tight_delta(*at), theorem_delta(*at), promise.delta_tight, promise.delta_theorem]
    assert figures == pytest.approx([0.002, 0.004] * 2, rel=1e-15)
    assert promise.delta == promise.delta_theorem
