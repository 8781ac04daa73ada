# SPDX-License-Identifier: Apache-2.0
"""The kernels of random output tables by themselves: covers and prices, the steps of the simplex
method, exact units and the ways to them.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import outputs as naive
from phalanx.methods.mutual_cover.kernels import program as kernel
from phalanx.methods.mutual_cover.kernels import rounding as exact

DELTAS = st.sampled_from(
    [
        Fraction(1),
        Fraction(1, 2),
        Fraction(1, 3),
        Fraction(2, 7),
        Fraction(3, 10),
        Fraction(33, 100),
    ]
)


def on_a_line(counts: list[int], places: list[int]) -> kernel.Grid:
    """One problem as the kernels take it."""
    k = len(counts)
    distances = np.abs(np.subtract.outer(places, places)).astype(float).ravel()
    return kernel.Grid(np.array(counts), np.array([0, k]), distances, np.array([0, k * k]))


def solved(
    problem: kernel.Grid, delta: Fraction, slack: float = 0.0
) -> tuple[np.ndarray, float, float]:
    """The table of one problem, its cost and its bound."""
    table, cost, bound = np.full(problem[3][-1], np.nan), np.empty(1), np.empty(1)
    solution = kernel.Solution(table, cost, bound)
    kernel.least(problem, delta.numerator, delta.denominator, slack, solution, np.array([0]))
    return table, cost[0], bound[0]


def in_units(
    problem: kernel.Grid, table: np.ndarray, delta: Fraction, denominator: int
) -> tuple[list[list[int]], int]:
    """The units of one table, and the way to them."""
    units, way = np.empty(problem[3][-1], np.int64), np.empty(1, np.int64)
    exact.exact(
        problem, table, delta.numerator, delta.denominator, denominator, units, way, np.array([0])
    )
    return units.reshape(len(problem[0]), -1).tolist(), int(way[0])


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), DELTAS, st.data())
@settings(deadline=None, max_examples=80)
def test_the_best_cover_is_the_best_of_all_corners(counts, delta, data):
    """Classes taken by what a unit of them costs make the cheapest cover of a value, for whatever
    prices.
    """
    k = len(counts)
    if sum(counts) * delta < 1:
        return
    reals = st.integers(-20, 20)
    d = [data.draw(st.lists(reals, min_size=k, max_size=k)) for _ in range(k)]
    u = data.draw(st.lists(reals, min_size=k, max_size=k))
    order, reduced, w = np.arange(k), np.empty(k), np.empty(k)
    for j in range(k):
        cheapest = min(
            sum(
                c * x * d[i][j] - x * u[i]
                for i, (c, x) in enumerate(zip(counts, cover, strict=True))
            )
            for cover in naive.covers(counts, delta)
        )
        price = kernel.price(
            np.array(counts),
            np.array(d, dtype=float),
            float(delta),
            np.array(u, dtype=float),
            j,
            order,
            reduced,
        )
        assert price == pytest.approx(float(cheapest), abs=1e-9)
        kernel.cover(np.array(counts), float(delta), order, w)
        assert sum(
            c * x * d[i][j] - x * u[i] for i, (c, x) in enumerate(zip(counts, w, strict=True))
        ) == pytest.approx(float(cheapest), abs=1e-9)


@pytest.mark.parametrize("slack", [0.0, 1e-9])
def test_both_ways_of_leaving_find_the_same_cost(slack):
    """With slack or without, the cost is the least, and the bound proves it."""
    rng = np.random.default_rng(8)
    for _ in range(15):
        counts = rng.integers(1, 4, 3).tolist()
        places = np.sort(rng.choice(20, 3, replace=False)).tolist()
        delta = Fraction(2, 5)
        _, cost, bound = solved(on_a_line(counts, places), delta, slack)
        distances = [[Fraction(int(abs(a - b))) for b in places] for a in places]
        assert cost == pytest.approx(float(naive.least_cost(counts, distances, delta)), abs=1e-9)
        assert 0 <= cost - bound + 1e-12 <= 1e-9


def test_a_wrong_table_is_not_proven():
    """A table whose rows do not sum to 1 costs infinity, one that is dearer than need be stays
    above its bound, and wrong prices prove less.
    """
    counts, distances = (
        np.array([1, 1, 2]),
        np.abs(np.subtract.outer([0, 1, 5], [0, 1, 5])).astype(float),
    )
    table, cost, bound = solved(on_a_line([1, 1, 2], [0, 1, 5]), Fraction(1, 2))
    best = table.reshape(3, 3)
    all_alike = np.tile([0.0, 1.0, 0.0], (3, 1))
    for prices in ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [-3.0, 2.0, 9.0], [100.0, -100.0, 0.0]):
        u = np.array(prices)
        assert kernel.proven(counts, distances, 0.5, best, u)[1] <= cost + 1e-12
        assert kernel.proven(counts, distances, 0.5, all_alike, u)[0] > bound + 1
        assert kernel.proven(counts, distances, 0.5, best * 0.999, u)[0] == np.inf


@given(st.integers(0, 2**61), st.integers(1, 2**30), st.integers(1, 2**30))
def test_what_delta_allows_does_not_overflow(f, a, b):
    """The greatest integer up to num/den of a mass is that of whole numbers of any size."""
    num, den = min(a, b), max(a, b)
    assert exact._allowed(f, num, den) == f * num // den


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), min_size=1, max_size=4), DELTAS)
@settings(deadline=None, max_examples=80)
def test_a_column_is_lowered_as_little_as_can_be(column, delta):
    """Every table in units below the given one that keeps delta is below what cells are lowered to,
    and that one keeps it.
    """
    counts, given_units = [c for c, _ in column], [n for _, n in column]
    k = len(counts)
    units = np.zeros((k, k), np.int64)
    units[:, 0] = given_units
    assert exact._down(np.array(counts), delta.numerator, delta.denominator, units)
    kept = [
        below
        for below in product(*(range(n + 1) for n in given_units))
        if all(n <= delta * sum(c * x for c, x in zip(counts, below, strict=True)) for n in below)
    ]
    assert tuple(units[:, 0]) in kept
    assert all(n <= most for below in kept for n, most in zip(below, units[:, 0], strict=True))


WAYS = [
    (exact.NEAREST, [3, 1], [9, 10], Fraction(1, 3), 1000),
    (exact.ROOM, [3, 3, 1], [1, 3, 7], Fraction(3, 10), 1000),
    (exact.COLUMN, [3, 2], [1, 6], Fraction(1, 3), 1000),
    (exact.MIXED, [1, 4, 2, 2], [4, 5, 6, 10], Fraction(33, 100), 1000),
    (exact.ROOM, [2, 3, 2], [4, 9, 10], Fraction(3, 10), 720720 * 2**20),
    (exact.COLUMN, [3, 2], [3, 9], Fraction(1, 3), 2**40),
    (exact.MIXED, [2, 3, 2], [6, 7, 8], Fraction(3333, 10_000), 2**40),
]


@pytest.mark.parametrize(("way", "counts", "places", "delta", "denominator"), WAYS, ids=str)
def test_every_way_to_units_is_taken_and_exact(way, counts, places, delta, denominator):
    """Each way is needed by some group, keeps everything, and gives at most one more value to
    publish.
    """
    problem = on_a_line(counts, places)
    table, cost, _ = solved(problem, delta)
    units, taken = in_units(problem, table, delta, denominator)
    assert taken == way
    assert naive.keeps(counts, units, delta, denominator)
    new = [
        j
        for j, column in enumerate(zip(*units, strict=True))
        if any(n > 0 and table.reshape(len(counts), -1)[i, j] < 1e-12 for i, n in enumerate(column))
    ]
    assert len(new) <= (1 if way in {exact.COLUMN, exact.MIXED} else 0)
    risen = naive.cost(
        counts, problem[2].reshape(len(counts), -1).tolist(), units, denominator
    ) - Fraction(cost)
    assert risen <= Fraction(100 * sum(counts), denominator) * max(places)


def test_what_rounding_leaves_goes_where_it_costs_least():
    """Of the values that may take the last unit of a row, the nearest one does."""
    problem = on_a_line([3, 2, 3, 3], [1, 3, 6, 9])
    units, way = in_units(problem, solved(problem, Fraction(1, 3))[0], Fraction(1, 3), 1000)
    assert way == exact.COLUMN
    assert units == [[667, 333, 0, 0], [1, 999, 0, 0], [0, 0, 1000, 0], [0, 0, 0, 1000]]


def test_slack_finds_what_equal_weights_hide():
    """Where delta is just below a simple fraction covers are nearly alike; there the second attempt
    proves an optimum that the first one misses.
    """
    problem = on_a_line([2, 2, 2, 1, 3, 2, 2, 2, 1, 3], [1, 6, 13, 17, 20, 21, 28, 67, 85, 94])
    delta = Fraction(99999, 10**6)
    assert solved(problem, delta)[1] == np.inf
    _, cost, bound = solved(problem, delta, 1e-9)
    assert cost - bound <= 1e-9 * (1 + cost)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5), st.integers(1, 60), DELTAS, st.data())
@settings(deadline=None, max_examples=150)
def test_coarse_units_are_exact_or_refused(counts, denominator, delta, data):
    """With a denominator as small as one likes, what comes back keeps everything."""
    if sum(counts) * delta < 1:
        return
    places = sorted(
        data.draw(st.sets(st.integers(0, 30), min_size=len(counts), max_size=len(counts)))
    )
    problem = on_a_line(counts, places)
    units, way = in_units(problem, solved(problem, delta)[0], delta, denominator)
    assert way >= 0
    assert naive.keeps(counts, units, delta, denominator)


@given(
    st.lists(
        st.lists(
            st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.3, -0.2, np.nan, np.inf]), min_size=9, max_size=9
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(deadline=None, max_examples=80)
def test_what_is_no_table_never_passes_as_one(tables):
    """Whatever numbers come in, units that are not refused keep everything."""
    problem = on_a_line([2, 1, 1], [0, 1, 3])
    for table in tables:
        units, way = in_units(problem, np.array(table), Fraction(1, 2), 1000)
        assert way < 0 or naive.keeps([2, 1, 1], units, Fraction(1, 2), 1000)


@given(st.integers(1, 6), st.data())
@settings(deadline=None, max_examples=80)
def test_the_inverse_is_one(k, data):
    """Where the basis has an inverse worth the name it is found, and weights follow from what rows
    are to sum to; else that is said.
    """
    cells = st.integers(-3, 3)
    basis = np.array(
        [data.draw(st.lists(cells, min_size=k, max_size=k)) for _ in range(k)], dtype=float
    )
    sums = np.array(data.draw(st.lists(st.integers(0, 5), min_size=k, max_size=k)), dtype=float)
    inverse, x = np.empty((k, k)), np.empty(k)
    there_is = kernel.inverted(basis, sums, inverse, np.empty((k, k)), x)
    assert there_is == (round(float(np.linalg.det(basis))) != 0)
    if there_is:
        assert inverse @ basis.T == pytest.approx(np.eye(k), abs=1e-9)
        assert basis.T @ x == pytest.approx(sums, abs=1e-9)


@given(st.integers(1, 5), st.data())
@settings(deadline=None, max_examples=120)
def test_the_lexicographically_least_ratio_leaves(k, data):
    """Of the covers whose weight falls, the one that reaches 0 first leaves; of equals the one
    whose row of the inverse, over the step, comes first.
    """
    whole = st.integers(0, 4)
    x = [data.draw(whole) for _ in range(k)]
    step = [data.draw(st.integers(-3, 3)) for _ in range(k)]
    inverse = [[data.draw(whole) for _ in range(k)] for _ in range(k)]
    found = kernel.leaves(
        np.array(x, dtype=float), np.array(inverse, dtype=float), np.array(step, dtype=float), 0.0
    )
    falls = {
        b: [Fraction(n, step[b]) for n in (x[b], *inverse[b])] for b in range(k) if step[b] > 0
    }
    if not falls:
        assert found == -1
    else:
        assert falls[found] == min(falls.values())


@given(st.integers(1, 6), st.data())
@settings(deadline=None, max_examples=80)
def test_with_slack_the_greatest_pivot_leaves(k, data):
    """Where weights may fall a little below zero, of the covers that reach that the one with the
    greatest step leaves.
    """
    x = [data.draw(st.integers(0, 3)) for _ in range(k)]
    step = [data.draw(st.integers(-3, 3)) for _ in range(k)]
    found = kernel.leaves(np.array(x, dtype=float), np.eye(k), np.array(step, dtype=float), 1e-9)
    falls = [b for b in range(k) if step[b] > 0]
    if not falls:
        assert found == -1
        return
    first = min(Fraction(x[b], step[b]) for b in falls)
    assert step[found] == max(step[b] for b in falls if Fraction(x[b], step[b]) == first)
    for b in range(k):
        assert x[b] - step[b] * (x[found] / step[found]) >= -1e-8
