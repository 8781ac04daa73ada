# SPDX-License-Identifier: Apache-2.0
"""Rows that are published without a value: what is computed of them, beside all ways in which
values can lie, in exact fractions.
"""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import polars as pl
import pytest

from phalanx.methods.global_guarantee.emptied import Waiting
from phalanx.methods.global_guarantee.exposures import Demands
from phalanx.methods.global_guarantee.protected import Protected

EVERY = [
    (n, held, m, l)
    for n in range(2, 9)
    for l in (Fraction(3, 2), Fraction(2), Fraction(3))
    for held in range(1, n)
    if held * l <= n
    for m in range(1, n)
]


def waiting(n, held, l):
    """So many rows, the first of which hold the one value, and nobody demands more than l."""
    starts = np.minimum(np.arange(n + 1), held)
    protected = Protected(
        pl.Series(["hiv"]), np.zeros(1, dtype=bool), starts, np.zeros(held, dtype=np.int32)
    )
    demands = Demands(
        np.array([float(l)]),
        np.zeros(n, dtype=np.int32),
        np.zeros(2, dtype=np.int64),
        np.zeros(0, dtype=np.int32),
        np.zeros(0, dtype=np.float32),
    )
    return Waiting(np.arange(n), protected, demands, l)


def lies(n, held, m):
    """How likely so many of ``m`` rows hold the value."""
    return {
        h: Fraction(comb(held, h) * comb(n - held, m - h), comb(n, m))
        for h in range(max(0, m - n + held), min(m, held) + 1)
    }


def excess(n, held, m, l, wrong, coin):
    """By how much what ``m`` rows hold, given that nothing is published, is above m / l on average,
    times the chance of it.
    """
    return sum(
        chance * (h - m / l) * (1 if h in wrong else coin) for h, chance in lies(n, held, m).items()
    )


def test_given_that_nothing_is_published_nobody_is_above_one_in_l():
    """Whatever goes wrong by counts: all sets of counts of up to eight rows."""
    for n, held, m, l in EVERY:
        coin = waiting(n, held, l).coin(m)
        for mask in product((False, True), repeat=len(found := list(lies(n, held, m)))):
            wrong = {h for h, one in zip(found, mask, strict=True) if one}
            assert excess(n, held, m, l, wrong, coin) <= 0, (n, held, m, l, wrong)


def test_half_the_coin_is_caught():
    """The broken twin: in most tables in which a part can hold too much, half as many tosses are
    too few.
    """
    needed = short = 0
    for n, held, m, l in EVERY:
        coin = waiting(n, held, l).coin(m)
        wrong = {h for h in lies(n, held, m) if h * l > m}
        needed += bool(wrong)
        short += excess(n, held, m, l, wrong, coin / 2) > 0
    assert short > needed / 2 > 0


@pytest.mark.parametrize("most", [0.0, 0.5, 1.0, 2.0, 2.5])
def test_what_is_computed_of_a_tail_is_never_too_little(most):
    """At least the exact chance that a part holds more, and at least by how much on average, in
    tables of up to eight rows.
    """
    for n, held, m, l in EVERY:
        chance, beyond = waiting(n, held, l)._beyond(m, np.array([most]))
        exact = lies(n, held, m)
        assert chance[0] >= float(sum(chance for h, chance in exact.items() if h > most)) * (
            1 - 1e-12
        )
        if most * n >= m * held:
            assert beyond[0] >= float(
                sum(chance * (h - Fraction(most)) for h, chance in exact.items() if h > most)
            ) * (1 - 1e-12)


def test_in_a_large_table_hardly_anything_is_suppressed_for_it():
    """One of 100,000 rows in 20 holds the value, and one person's budget is spent: a few rows go
    with them, and the coin hardly ever falls.
    """
    n = 100_000
    rest = waiting(n, n // 20, Fraction(2))
    shown = rest.shown(np.arange(1, n), np.full(n, 2.0), 2)
    assert n - 100 < len(shown) < n - 1
    assert 0 < rest.coin(len(shown)) < Fraction(1, 1000)


def test_one_whose_budget_is_spent_is_not_alone_where_that_would_tell():
    """Two of four hold it: whoever is shown tells of the one who is not, so that nobody is."""
    assert len(waiting(4, 2, Fraction(2)).shown(np.arange(1, 4), np.full(4, 2.0), 2)) == 0
