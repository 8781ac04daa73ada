# SPDX-License-Identifier: Apache-2.0
"""The kernel of tables of all attributes by itself: every small world against scipy, prices that
prove too little, and units of columns that starve.
"""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from naive import joint_outputs as naive
from naive import outputs as alone
from phalanx.data.distances import Matrix
from phalanx.methods.mutual_cover.kernels import joint_program as kernel
from phalanx.methods.mutual_cover.kernels import rounding as exact
from phalanx.methods.mutual_cover.kernels.program import Grid, Solution
from phalanx.methods.mutual_cover.problems import Layout
from phalanx.methods.mutual_cover.program import solve
from support.thoroughly import examples

FAR = [[[0.0, 1.0], [1.0, 0.0]], [[0.0, 2.0, 3.0], [2.0, 0.0, 1.0], [3.0, 1.0, 0.0]]]
"""Distances of an attribute with two values and of one with three."""


def solved(tuples, delta, changes, dearness=10.0, slack=0.0):
    """One group's tables by the kernel: the cost, the bound, and the tables."""
    columns = [np.array(column, dtype=np.int32) for column in zip(*tuples, strict=True)]
    layout = Layout.of(
        columns,
        [Matrix(np.array(matrix)) for matrix in FAR],
        np.zeros(len(tuples), np.int64),
    )
    problems, (types, first) = layout.problems, layout.types
    each = solve(problems, delta)
    table = np.concatenate([each.table(p).ravel() for p in range(2)])
    cost, bound = np.empty(1), np.empty(1)
    arrays = problems.grid, types, first, delta.numerator, delta.denominator, changes
    attempt, solution = kernel.Attempt(dearness, slack), Solution(table, cost, bound)
    kernel.least_together(*arrays, attempt, solution, np.array([0]))
    return (
        float(cost[0]),
        float(bound[0]),
        [table[problems.cells[p] : problems.cells[p + 1]] for p in range(2)],
        layout,
    )


WORLDS = [
    world
    for m in range(1, 6)
    for world in combinations_with_replacement(list(product(range(2), range(3))), m)
]
"""All groups of up to five tuples over two attributes, of two and of three values."""


@pytest.mark.parametrize("changes", [1, 2])
def test_every_small_world_costs_what_scipy_says(changes):
    """Where scipy finds tables with a little room, so does the kernel, and its bound meets their
    cost; a world without tables has no cost.

    Of the 461 worlds each has a delta by turns: the least that it can keep, another below 1, or 1.
    """
    rng = np.random.default_rng(changes)
    for at in rng.permutation(len(WORLDS))[: examples(240)]:
        tuples = WORLDS[at]
        m = len(tuples)
        delta = [Fraction(1, m), min(Fraction(3, 2 * m), Fraction(1)), Fraction(1)][int(at) % 3]
        cost, bound, _, layout = solved(tuples, delta, changes)
        present = [sorted({own[a] for own in tuples}) for a in range(2)]
        distances = [
            [[FAR[a][i][j] for j in values] for i in values] for a, values in enumerate(present)
        ]
        least, with_room = (
            naive.least_cost(layout.own.tolist(), distances, delta, 2 - changes - room, shared=True)
            for room in (0.0, 1e-6)
        )
        if least is None:
            assert cost == np.inf, (tuples, delta)
            continue
        asked = any(sum(each) > 2 - changes for each in _stays_alone(layout, delta))
        if not asked:
            continue
        if np.isfinite(cost):
            assert least - 1e-7 <= cost
            assert bound <= least + 1e-7
        if with_room is not None:
            assert cost <= with_room + 1e-7, (tuples, delta)


def _stays_alone(layout, delta):
    """What each tuple's own values have in the tables of every attribute by itself."""
    each = solve(layout.problems, delta)
    return [[each.table(a)[i, i] for a, i in enumerate(own)] for own in layout.own.tolist()]


def two_types(tuples, cap):
    """Two classes of so many tuples on two attributes, and two types with that cap."""
    first, at, types = np.array([0, 2, 4]), np.array([0, 4]), np.array([[0, 0], [1, 1]])
    far = np.array([0.0, 1.0, 1.0, 0.0] * 2)
    return kernel.Group(np.full(4, tuples), first, far, at, types, np.full(2, cap))


@pytest.mark.parametrize(
    "prices",
    [[0.0] * 5, [1.0] * 5, [-3.0, 2.0, 9.0, -50.0, 1.0], [100.0, -100.0, 0.0, 5.0, 5.0]],
    ids=str,
)
def test_wrong_prices_prove_less(prices):
    """Whatever the prices of two classes on two attributes and of a type, the bound is below the
    least cost; a type's price above 0 counts as none.
    """
    group = two_types(2, 1.0)
    least = naive.least_cost(
        [(0, 0), (0, 0), (1, 1), (1, 1)], [[[0, 1], [1, 0]]] * 2, Fraction(1, 2), 1, shared=True
    )
    assert least == pytest.approx(4)
    for last in (-7.0, 0.0, 7.0):
        u = np.array([*prices, last])
        assert kernel._bound(group, 0.5, u, np.empty(8)) <= least + 1e-9


def test_tables_that_are_none_cost_infinity():
    """Rows that do not sum to 1, and types that stay more often than they may, have no cost; just
    enough is enough.
    """
    half = np.full(8, 0.5)
    assert kernel._cost(two_types(1, 1.0), half) == 2
    assert kernel._cost(two_types(1, 0.999), half) == np.inf
    assert kernel._cost(two_types(1, 1.0), half * 0.999) == np.inf
    assert kernel._cost(two_types(1, 2.0), np.array([1.0, 0.0, 0.0, 1.0] * 2)) == 0


def test_a_column_that_too_few_feed_is_given_up():
    """Where rounding finds a value that fewer than 1/delta tuples publish, however little, nobody
    does, and the rest of the table stays what it was.

    Lowered step by step, as deltas just below a simple fraction would have it, such a column never
    ends, and all tuples would have to publish one value.
    """
    little, denominator, delta = 1e-9, 720_720_000_000, Fraction("0.3333333")
    table = np.array(
        [
            [little, 0.6666666 - little, 0.3333334, 0.0],
            [little, 0.3333334 - little, 0.6666666 - little, little],
            [little, 0.6666666 - little, 0.3333334 - little, little],
            [0.0, 0.3333334, 0.6666666 - little, little],
        ]
    )
    units, way = np.empty(16, np.int64), np.empty(1, np.int64)
    far = np.abs(np.subtract.outer(range(4), range(4))).astype(float).ravel()
    counts = np.ones(4, np.int64)
    grid = Grid(counts, np.array([0, 4]), far, np.array([0, 16]))
    parts = delta.numerator, delta.denominator, denominator
    exact.exact(grid, table.ravel(), *parts, units, way, np.array([0]))
    assert alone.keeps(counts.tolist(), units.reshape(4, 4).tolist(), delta, denominator)
    assert np.abs(units.reshape(4, 4) / denominator - table).max() < 1e-8
