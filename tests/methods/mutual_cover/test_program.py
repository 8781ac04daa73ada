# SPDX-License-Identifier: Apache-2.0
"""Random output tables: as cheap as any that keep delta-probability, exactly kept in whole numbers,
and refused where nothing keeps it.
"""

import math
import os
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from naive import outputs as naive
from phalanx.data.distances import Line, Matrix
from phalanx.errors import MethodError
from phalanx.methods.mutual_cover import output_tables, program
from phalanx.methods.mutual_cover.kernels import program as kernel
from phalanx.methods.mutual_cover.kernels import rounding
from phalanx.methods.mutual_cover.output_tables import denominator_for
from phalanx.methods.mutual_cover.problems import Problems
from phalanx.methods.mutual_cover.program import Solved, by_highs, solve

DELTAS = [
    Fraction(1),
    Fraction(1, 2),
    Fraction(1, 3),
    Fraction(1, 6),
    Fraction(2, 7),
    Fraction(3, 10),
    Fraction(5, 8),
    Fraction(33, 100),
    Fraction(1, 11),
]


def denominator_of(problems: Problems, delta: Fraction) -> int:
    """The denominator that the largest problem is given."""
    return denominator_for(int(problems.tuples.max(initial=1)), delta)


def rounded(
    problems: Problems, probabilities: np.ndarray, delta: Fraction, denominator: int | None = None
) -> np.ndarray:
    """The units of some tables, of that denominator where none is given."""
    whole = denominator_of(problems, delta) if denominator is None else denominator
    return output_tables.rounded(problems, probabilities, delta, whole)


def along(places: np.ndarray, counts: np.ndarray, starts: np.ndarray) -> Problems:
    """Problems whose classes have these places on a line."""
    line, codes = np.unique(places, return_inverse=True)
    return Problems.on(Line(line), codes.ravel(), counts, starts)


@st.composite
def groups(
    draw: st.DrawFn, *, classes: int = 9, tuples: int = 6
) -> tuple[list[int], list[list[float]], Fraction]:
    """Counts, distances on a line, in a tree or from anywhere, and a delta that the group can keep,
    at its very end among others.
    """
    k = draw(st.integers(1, classes))
    counts = draw(st.lists(st.integers(1, tuples), min_size=k, max_size=k))
    kind = draw(st.sampled_from(["line", "tree", "any"]))
    if kind == "any":
        distances = draw(
            st.lists(
                st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.5, 7.25]), min_size=k, max_size=k),
                min_size=k,
                max_size=k,
            )
        )
    else:
        places = sorted(draw(st.sets(st.integers(0, 30), min_size=k, max_size=k)))
        steps = [
            [abs(a - b) if kind == "line" else (a != b) + (a // 4 != b // 4) for b in places]
            for a in places
        ]
        distances = [[step / 31 for step in row] for row in steps]
    m = sum(counts)
    possible = [
        delta
        for delta in [*DELTAS, Fraction(1, m), Fraction(2, 2 * m - 1)]
        if 1 / Fraction(m) <= delta <= 1
    ]
    return counts, distances, draw(st.sampled_from(possible))


def problems(*each: tuple[Sequence[int], Sequence[Sequence[float]]]) -> Problems:
    """The problems of these counts and distances."""
    starts = np.cumsum([0, *(len(counts) for counts, _ in each)])
    return Problems(
        np.concatenate([np.array(c) for c, _ in each]),
        starts,
        np.concatenate([np.array(d, dtype=float).ravel() for _, d in each]),
    )


def solved(counts: Sequence[int], distances: Sequence[Sequence[float]], delta: Fraction) -> Solved:
    return solve(problems((counts, distances)), delta)


def units_of(
    counts: Sequence[int],
    distances: Sequence[Sequence[float]],
    delta: Fraction,
    denominator: int | None = None,
) -> tuple[list[list[int]], int]:
    """The exact table of one problem, and its denominator."""
    one = problems((counts, distances))
    units = rounded(one, solve(one, delta).probabilities, delta, denominator)
    return units.reshape(len(counts), -1).tolist(), denominator or denominator_of(one, delta)


def papers_program(
    counts: Sequence[int], distances: Sequence[Sequence[float]], delta: Fraction
) -> float:
    """The least cost by the program of section 4 as it stands there, a row for every tuple, by
    scipy.
    """
    classes = np.repeat(np.arange(len(counts)), counts)
    m, n = len(classes), len(counts)
    rows = np.kron(np.eye(m), np.ones(n))
    feeds = np.kron(np.eye(m), np.eye(n)) - float(delta) * np.kron(np.ones((m, m)), np.eye(n))
    found = linprog(
        np.array(distances)[classes].ravel(),
        A_ub=feeds,
        b_ub=np.zeros(m * n),
        A_eq=rows,
        b_eq=np.ones(m),
    )
    assert found.status == 0, found.message
    return float(found.fun)


@given(groups(classes=3))
@settings(deadline=None, max_examples=60)
def test_cost_is_the_least_of_all_corners(group):
    """The cost of a table is the least over every basis of covers, in fractions."""
    counts, distances, delta = group
    expected = naive.least_cost(counts, [[Fraction(d) for d in row] for row in distances], delta)
    tables = solved(*group)
    assert tables.cost[0] == pytest.approx(float(expected), rel=1e-9, abs=1e-11)
    assert Fraction(tables.bound[0]) <= expected + Fraction(1, 10**11)


@given(groups())
@settings(deadline=None, max_examples=150)
def test_cost_is_that_of_the_papers_program(group):
    """Sharing a row among equal originals and making covers when they pay costs what the paper's
    program costs, whatever counts, distances and delta.
    """
    assert solved(*group).cost[0] == pytest.approx(papers_program(*group), rel=1e-7, abs=1e-8)


@given(groups(classes=14, tuples=9))
@settings(deadline=None, max_examples=150)
def test_cost_is_that_of_highs(group):
    """The general solver finds the same cost, its prices prove no more, and its table is no
    cheaper.
    """
    counts, distances, delta = group
    tables = solved(*group)
    table, prices = by_highs(
        np.array(counts), np.array(distances, dtype=float).reshape(len(counts), -1), float(delta)
    )
    cost, bound = kernel.proven(
        np.array(counts),
        np.array(distances, dtype=float).reshape(len(counts), -1),
        float(delta),
        table,
        prices,
    )
    assert cost == pytest.approx(tables.cost[0], rel=1e-7, abs=1e-8)
    assert bound <= tables.cost[0] + 1e-9


@given(groups(classes=14, tuples=9))
@settings(deadline=None, max_examples=200)
def test_tables_are_proven_and_keep_delta_up_to_rounding(group):
    """The lower bound meets the cost; rows sum to 1, no cell is negative, and columns keep delta,
    as well as floating point can say.
    """
    counts, _, delta = group
    tables = solved(*group)
    table = tables.table(0)
    assert tables.cost[0] - tables.bound[0] <= 1e-9 * (1 + tables.cost[0])
    assert table.min() >= 0
    assert np.abs(table.sum(axis=1) - 1).max() <= 1e-10
    assert (table <= float(delta) * (np.array(counts) @ table) + 1e-12).all()


@given(groups(), st.data())
@settings(deadline=None, max_examples=100)
def test_bound_is_below_every_other_table(group, data):
    """No table that keeps delta costs less than the bound: not the group's shares for everybody,
    not one value for all, not a mixture with them.
    """
    counts, distances, _ = group
    tables = solved(*group)
    c, d, k = (
        np.array(counts),
        np.array(distances, dtype=float).reshape(len(counts), -1),
        len(counts),
    )
    shares = np.tile(c / c.sum(), (k, 1))
    value = np.zeros((k, k))
    value[:, data.draw(st.integers(0, k - 1))] = 1
    weight = data.draw(st.floats(0, 1))
    for other in (
        shares,
        value,
        weight * shares + (1 - weight) * value,
        weight * value + (1 - weight) * tables.table(0),
    ):
        assert (c[:, None] * d * other).sum() >= tables.bound[0] - 1e-9


@given(groups(classes=14, tuples=9))
@settings(deadline=None, max_examples=250)
def test_units_keep_every_promise_exactly(group):
    """In whole units rows sum to the denominator, delta-probability and Corollary 3.2 hold with no
    tolerance, and the cost hardly rises.
    """
    counts, distances, delta = group
    units, denominator = units_of(*group)
    assert naive.keeps(counts, units, delta, denominator)
    assert naive.fewest_feeders(counts, units) >= naive.promised_feeders(delta)
    least = Fraction(solved(*group).cost[0])
    assert naive.cost(counts, distances, units, denominator) <= least * (
        1 + Fraction(1, 10**6)
    ) + Fraction(sum(counts), 10**9)


@given(groups(), st.data())
@settings(deadline=None, max_examples=60)
def test_a_unit_moved_is_noticed(group, data):
    """The check of the test above rejects a table with a unit too many, and one that lets a single
    tuple alone feed a value.
    """
    counts, _, delta = group
    units, denominator = units_of(*group)
    i, j = data.draw(st.integers(0, len(counts) - 1)), data.draw(st.integers(0, len(counts) - 1))
    units[i][j] += 1
    assert not naive.keeps(counts, units, delta, denominator)
    if delta < 1:
        alone = [[denominator * (a == b) for b in range(3)] for a in range(3)]
        assert not naive.keeps([1, 5, 5], alone, delta, denominator)
        assert naive.fewest_feeders([1, 5, 5], alone) < naive.promised_feeders(delta)


def test_rounding_to_the_nearest_would_break_the_promise():
    """Nearest units with rows made whole, the obvious rounding, breach delta in a group where ours
    hold: the exact check sees a unit in 2^40.
    """
    counts, distances, delta, denominator = [2, 3], [[0, 4], [4, 0]], Fraction(1, 3), 2**40
    units, _ = units_of(counts, distances, delta, denominator)
    assert naive.keeps(counts, units, delta, denominator)
    nearest = np.rint(solved(counts, distances, delta).table(0) * denominator).astype(int)
    nearest[[0, 1], nearest.argmax(axis=1)] += denominator - nearest.sum(axis=1)
    assert not naive.keeps(counts, nearest.tolist(), delta, denominator)


@pytest.mark.parametrize(
    "delta",
    [
        Fraction(333333, 10**6),
        Fraction(123456789, 10**9),
        Fraction(1, 10) - Fraction(1, 10**9),
        Fraction(1, 10) + Fraction(1, 10**9),
        Fraction(1, 3) + Fraction(1, 10**15),
        Fraction(10**20, 3 * 10**20 + 1),
        Fraction(1, 12) + Fraction(1, 10**30),
    ],
    ids=str,
)
def test_awkward_deltas_are_kept_exactly(delta):
    """A delta near a simple fraction, or with parts beyond 64 bits, is kept as given, and the
    tables are as good as proven.
    """
    rng = np.random.default_rng(3)
    each = []
    for _ in range(40):
        k = int(rng.integers(1, 12))
        counts, places = rng.integers(1, 5, k), np.sort(rng.choice(60, k, replace=False))
        counts[0] += max(0, 12 - counts.sum())
        each.append((counts.tolist(), np.abs(places[:, None] - places[None, :]).tolist()))
    together = problems(*each)
    tables = solve(together, delta)
    units, denominator = (
        rounded(tables.problems, tables.probabilities, delta),
        denominator_of(tables.problems, delta),
    )
    assert (tables.cost - tables.bound <= 1e-6 * (1 + tables.cost)).all()
    for t, (counts, _) in enumerate(each):
        assert naive.keeps(
            counts, tables.problems.part(units, int(tables.of[t])).tolist(), delta, denominator
        )


def test_enough_of_a_kind_need_no_cover():
    """Where 1/delta tuples have each value, everybody publishes the own value, at no cost."""
    tables = solved([3, 4, 5], [[0, 1, 2], [1, 0, 1], [2, 1, 0]], Fraction(1, 3))
    assert tables.table(0).tolist() == np.eye(3).tolist()
    assert tables.cost[0] == tables.bound[0] == 0


def test_delta_of_one_covers_nobody():
    """With delta = 1 there is nothing to cover, and every tuple publishes its own value."""
    assert solved([1, 1], [[0, 1], [1, 0]], Fraction(1)).table(0).tolist() == [[1, 0], [0, 1]]


def test_all_publish_one_value_where_delta_is_one_over_m():
    """At delta = 1/m all rows are equal, and the value in the middle costs the least."""
    units, denominator = units_of(
        [1, 1, 2, 1], [[abs(a - b) for b in (0, 5, 6, 40)] for a in (0, 5, 6, 40)], Fraction(1, 5)
    )
    assert [[u / denominator for u in row] for row in units] == [[0, 0, 1, 0]] * 4


def test_one_value_is_published_as_it_is():
    """A group that agrees on an attribute keeps it."""
    assert units_of([7], [[0.0]], Fraction(1, 7), 10) == ([[10]], 10)


def test_values_at_no_distance_from_each_other():
    """Where all distances are 0 any table is of least cost, and ours still keeps delta."""
    units, denominator = units_of([1, 1, 1], [[0.0] * 3] * 3, Fraction(1, 2))
    assert naive.keeps([1, 1, 1], units, Fraction(1, 2), denominator)


def test_tiny_and_huge_distances():
    """The unit of a distance is of no influence on the table."""
    distances = np.abs(np.subtract.outer([0, 1, 3, 7], [0, 1, 3, 7])).astype(float)
    tables = [
        solved([1, 2, 3, 1], (distances * scale).tolist(), Fraction(2, 7)).table(0)
        for scale in (2.0**-900, 1.0, 2.0**900)
    ]
    assert np.abs(tables[0] - tables[1]).max() <= 1e-9
    assert np.abs(tables[2] - tables[1]).max() <= 1e-9


def test_too_few_tuples_are_refused():
    """A group of 4 cannot keep delta = 1/5, and hears so before any work."""
    with pytest.raises(
        MethodError,
        match=(
            r"delta = 1/5 asks for at least 5 tuples in every group and a group has 4; raise delta"
            r" to at least 1/4"
        ),
    ):
        solve(problems(([5], [[0]]), ([2, 2], [[0, 1], [1, 0]])), Fraction(1, 5))


@pytest.mark.parametrize(
    ("delta", "said"),
    [(Fraction(6, 5), "give a number up to 1"), (Fraction(0), "more tuples than there can be")],
)
def test_deltas_that_mean_nothing_are_refused(delta, said):
    """A delta is above 0 and at most 1."""
    one = problems(([5], [[0]]))
    with pytest.raises(MethodError, match=said):
        solve(one, delta)
    with pytest.raises(MethodError, match=said):
        rounded(one, np.ones(1), delta)


@pytest.mark.parametrize("distance", [-1.0, math.nan, math.inf])
def test_distances_that_are_none_are_refused(distance):
    """A distance is finite and not negative."""
    with pytest.raises(
        MethodError, match="a distance between two values is negative, infinite or not a number"
    ):
        problems(([1, 1], [[0, distance], [1, 0]]))


@pytest.mark.parametrize(
    ("counts", "starts", "cells", "said"),
    [
        ([1, 1], [0, 1], 1, "starts"),
        ([1], [1], 1, "starts"),
        ([1], [0, 0, 1], 1, "starts"),
        ([1, 1], [0, 2], 3, "3 distances"),
        ([0], [0, 1], 1, "tuples"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(counts, starts, cells, said):
    """Problems fit together, or are none."""
    with pytest.raises(ValueError, match=said):
        Problems(np.array(counts), np.array(starts), np.zeros(cells))


@pytest.mark.parametrize("denominator", [0, 2**61])
def test_denominators_beyond_exact_sums_are_refused(denominator):
    """Sums of units stay below 2^62, or nothing is computed."""
    one = problems(([2, 2], [[0, 1], [1, 0]]))
    with pytest.raises(MethodError, match="cannot be kept exactly with denominator"):
        rounded(one, np.eye(2).ravel(), Fraction(1, 2), denominator)


@pytest.mark.parametrize(
    "table", [[[0.9, 0.0], [0.0, 0.9]], [[0.4, 0.4], [0.0, 1.0]], [[0.5, 0.5], [0.0, 1.0]]], ids=str
)
def test_tables_that_fall_short_are_made_whole(table):
    """Rows that sum to less than 1 are filled, and columns that one class feeds too much are
    lowered: what comes back keeps everything.
    """
    one = problems(([2, 1], [[0, 1], [1, 0]]))
    assert naive.keeps(
        [2, 1],
        rounded(one, np.array(table).ravel(), Fraction(1, 2), 1000).reshape(2, 2).tolist(),
        Fraction(1, 2),
        1000,
    )


def test_a_table_that_no_rounding_repairs_is_refused(monkeypatch):
    """Where the exact check in the kernel fails, nothing comes back."""

    def fails(*arguments: Any) -> None:
        arguments[-2][:] = -1

    monkeypatch.setattr(rounding, "exact", fails)
    with pytest.raises(MethodError, match="cannot be made to keep delta = 1/2 exactly"):
        rounded(problems(([2, 1], [[0, 1], [1, 0]])), np.ones(4), Fraction(1, 2))


def test_equal_problems_are_solved_once():
    """Problems with the same counts and distances share a table, and problems that differ in one of
    them do not.
    """
    line, near = [[0, 1], [1, 0]], [[0, 1], [0.5, 0]]
    together = problems(
        ([1, 2], line),
        ([2, 1], line),
        ([1, 2], line),
        ([1, 2], near),
        ([3], [[0]]),
        ([1, 2], [[-0.0, 1], [1, 0]]),
    )
    tables = solve(together, Fraction(1, 3))
    assert len(tables.problems) == 4
    assert tables.of[0] == tables.of[2] == tables.of[5]
    assert len({int(tables.of[t]) for t in (0, 1, 3, 4)}) == 4
    for t, (counts, distances) in enumerate(
        [([1, 2], line), ([2, 1], line), ([1, 2], line), ([1, 2], near), ([3], [[0]])]
    ):
        assert (
            tables.table(t).tolist() == solved(counts, distances, Fraction(1, 3)).table(0).tolist()
        )


def test_whole_places_and_a_scale_find_more_equal_problems():
    """Ages 16 and 23 are as far apart as 60 and 67, which places scaled before do not know to the
    last bit.
    """
    places, counts, starts = (
        np.array([16.0, 23.0, 30.0, 37.0, 60.0, 67.0]),
        np.ones(6, np.int64),
        np.array([0, 2, 4, 6]),
    )
    assert along(places, counts, starts).distinct()[1].tolist() == [0, 0, 0]
    scaled = Matrix(np.abs(np.subtract.outer(places / 55, places / 55)))
    assert len(Problems.on(scaled, np.arange(6), counts, starts).distinct()[0]) > 1


def test_nothing_to_solve():
    """No problems have no tables."""
    none = Problems(np.zeros(0, np.int64), np.zeros(1, np.int64), np.zeros(0))
    tables = solve(none, Fraction(1, 6))
    assert (
        len(tables.of)
        == len(tables.cost)
        == len(rounded(none, tables.probabilities, Fraction(1, 6)))
        == 0
    )


def many(n: int = 400) -> Problems:
    """Problems on a line, of up to 12 classes and at least 10 tuples."""
    rng = np.random.default_rng(11)
    ks = rng.integers(1, 13, n)
    starts = np.concatenate([[0], np.cumsum(ks)])
    places = np.concatenate([np.sort(rng.choice(95, k, replace=False)) for k in ks])
    counts = rng.integers(1, 4, starts[-1])
    counts[starts[:-1]] += 9
    return along(places.astype(float), counts, starts)


def test_the_number_of_threads_has_no_influence(monkeypatch):
    """One core or three give the same tables and units, to the bit."""
    found = []
    for cores in (1, 3):
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False
        )
        tables = solve(many(), Fraction(1, 6))
        found.append(
            (
                tables.probabilities.tobytes(),
                rounded(tables.problems, tables.probabilities, Fraction(1, 6)).tobytes(),
            )
        )
    assert found[0] == found[1]


def test_where_the_own_solver_finds_nothing_highs_does(monkeypatch):
    """A problem that the kernel gives up gets the general solver's table and its proof."""
    problems_, delta = many(12), Fraction(2, 7)
    expected = solve(problems_, delta)

    def gives_up(*arguments: Any) -> None:
        _, cost, bound = arguments[-2]
        cost[:], bound[:] = math.inf, math.nan

    monkeypatch.setattr(kernel, "least", gives_up)
    tables = solve(problems_, delta)
    assert tables.cost == pytest.approx(expected.cost, rel=1e-8, abs=1e-9)
    assert tables.bound == pytest.approx(expected.bound, rel=1e-7, abs=1e-8)
    units = rounded(tables.problems, tables.probabilities, delta, 2**40)
    for t in range(len(problems_)):
        counts = problems_.counts[problems_.starts[t] : problems_.starts[t + 1]].tolist()
        assert naive.keeps(
            counts, tables.problems.part(units, int(tables.of[t])).tolist(), delta, 2**40
        )


def test_distances_along_a_line_and_from_a_matrix():
    """A line's problems are those of the matrix of differences, class by class."""
    places, starts, counts = (
        np.array([3.0, 9.0, 1.0, 4.0, 7.5]),
        np.array([0, 2, 5]),
        np.array([1, 2, 3, 4, 5]),
    )
    line = along(places, counts, starts)
    assert (8 * line.distances).tolist() == [0, 6, 6, 0, 0, 3, 6.5, 3, 0, 3.5, 6.5, 3.5, 0]
    assert line.tuples.tolist() == [3, 12]
    matrix = np.abs(np.subtract.outer(places, places))
    assert (
        Problems.on(Matrix(matrix / 8), np.arange(5), counts, starts).distances.tolist()
        == line.distances.tolist()
    )


@pytest.mark.parametrize(
    "delta", [Fraction(1, 6), Fraction(1, 7), Fraction(3, 10), Fraction(10**9 + 7, 6 * 10**9)]
)
def test_the_denominator_has_many_divisors(delta):
    """Shares of 1/2 .. 1/16 are whole numbers of units, and sums of a group's units stay far below
    2^63.
    """
    problems_ = many(20)
    denominator = denominator_of(problems_, delta)
    assert denominator % math.lcm(*range(1, 17)) == 0
    assert 2**39 <= denominator < 2**62 // int(problems_.tuples.max())
    huge = Problems(np.array([2**30]), np.array([0, 1]), np.zeros(1))
    assert 1 <= denominator_of(huge, delta) < 2**62 // 2**30


def test_a_problem_that_nobody_solves_is_refused(monkeypatch):
    """Where the general solver comes back without a table, nothing is published."""
    monkeypatch.setattr(program, "_FEW", 1)
    monkeypatch.setattr(
        program,
        "by_highs",
        lambda counts, *_: (np.full((len(counts),) * 2, math.nan), np.zeros(len(counts))),
    )
    with pytest.raises(
        MethodError, match="no random output table was found for a group of 3 tuples with 2 values"
    ):
        solve(problems(([1, 2], [[0, 1], [1, 0]])), Fraction(1, 2))


def test_large_groups_are_solved_too():
    """A group with 120 distinct values has its proven table, which holds exactly."""
    rng = np.random.default_rng(5)
    places, counts = (
        np.sort(rng.choice(1000, 120, replace=False)).astype(float),
        rng.integers(1, 5, 120),
    )
    problems_ = along(places, counts, np.array([0, 120]))
    tables = solve(problems_, Fraction(1, 8))
    assert tables.cost[0] - tables.bound[0] <= 1e-9 * (1 + tables.cost[0])
    units = rounded(problems_, tables.probabilities, Fraction(1, 8)).reshape(120, 120).tolist()
    assert naive.keeps(
        counts.tolist(), units, Fraction(1, 8), denominator_of(problems_, Fraction(1, 8))
    )


def test_groups_have_the_distances_of_their_values():
    """Of several groups each has the distances between the values that it has, in the order of its
    classes.
    """
    codes, counts, starts = (
        np.array([0, 2, 1, 2, 3, 3]),
        np.ones(6, np.int64),
        np.array([0, 2, 5, 6]),
    )
    places = np.array([0.0, 1.0, 4.0, 10.0])
    for distance in (Line(places), Matrix(np.subtract.outer(places, 2 * places) ** 2)):
        whole = distance.between(np.arange(4)[:, None], np.arange(4))
        problems_ = Problems.on(distance, codes, counts, starts)
        for p, present in enumerate(([0, 2], [1, 2, 3], [3])):
            found = problems_.part(problems_.distances, p)
            assert found.tolist() == whole[np.ix_(present, present)].tolist()


@pytest.mark.parametrize("many", [5, 200])
def test_parts_are_laid_out_as_the_whole(monkeypatch, many):
    """Few or many, on one thread or several: a kernel is compiled for one layout, and each part is
    worked on once.
    """
    monkeypatch.setattr(program, "threads", lambda: 3)
    parts: list[np.ndarray] = []
    program.in_threads(parts.append, np.arange(many))
    assert len(parts) > 1 or many < program._ALONE
    assert all(part.flags.c_contiguous for part in parts)
    assert sorted(np.concatenate(parts).tolist()) == list(range(many))
