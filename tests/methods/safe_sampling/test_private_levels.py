# SPDX-License-Identifier: Apache-2.0
"""Levels chosen by differential privacy: the qualities are those that are written, a row changes
each by its weight at most, and nothing else has a part.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import private_schemes as naive
from phalanx.data.hierarchies.hierarchy import Bands
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.methods.safe_sampling import private_levels
from phalanx.methods.safe_sampling.private_choice import UNIT
from phalanx.methods.safe_sampling.private_levels import (
    choose_levels,
    combinations,
    qualities,
    weights,
)
from phalanx.methods.safe_sampling.schemes import Axes
from support.scheme_cases import RANGE, TWINS, axes, microdata, odds_keep, rows

TABLES = st.lists(rows(missing_ages=True), min_size=1, max_size=30)
FIXED = st.tuples(*(st.none() | st.sampled_from(twin.levels) for twin in TWINS.values())).filter(
    lambda fixed: None in fixed
)
CROWDS = st.integers(1, 4)
ALL_OPEN = (None, None, None, None)
PLAIN = Schema(quasi=["ill"])


def by_levels(found, scheme_axes):
    """Levels -> quality."""
    return {
        tuple(levels): quality
        for levels, quality in zip(combinations(scheme_axes).tolist(), found.tolist(), strict=True)
    }


@settings(max_examples=100, deadline=None)
@given(TABLES, FIXED, CROWDS, st.sampled_from([2**62, 1]))
def test_qualities_are_those_of_the_slow_twin(table, fixed, crowd, largest):
    """For every combination of levels, and in its place; also where keys would be too long for 64
    bits and are numbered anew.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(private_levels, "_LARGEST_KEY", largest)
        found = by_levels(qualities(axes(fixed), microdata(table), crowd), axes(fixed))
    assert found == naive.qualities(table, list(TWINS.values()), fixed, crowd)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.none() | st.integers(-30, 60), st.sampled_from(["flu", "cold"])),
        min_size=1,
        max_size=30,
    ),
    CROWDS,
)
def test_bands_are_rolled_up_from_their_first_level(table, crowd):
    """A number in bands has no level 0, and qualities are those of the slow twin."""
    schema = Schema(
        quasi=["age"], sensitive="ill", hierarchies={"age": Bands((5, 20))}, missing="value"
    )
    scheme_axes = Axes.of({}, schema, choose=True)
    expected = naive.qualities(table, [naive.Bands([5, 20]), TWINS["ill"]], (None, None), crowd)
    assert (
        by_levels(qualities(scheme_axes, microdata(table, schema), crowd), scheme_axes) == expected
    )


def moved_too_far(before, after, most):
    """The combinations whose quality did not move by 0 to their weight."""
    return [
        i
        for i, (a, b, w) in enumerate(zip(before, after, most, strict=True))
        if not 0 <= b - a <= w
    ]


@settings(max_examples=100, deadline=None)
@given(TABLES, rows(missing_ages=True), FIXED, CROWDS)
def test_a_row_raises_every_quality_by_its_weight_at_most(table, row, fixed, crowd):
    """Adding any row moves all scores up, or not at all, and none by more than the choice reckons
    with.
    """
    scheme_axes = axes(fixed)
    before, after = (qualities(scheme_axes, microdata(t), crowd) for t in (table, [*table, row]))
    assert moved_too_far(before, after, weights(scheme_axes)) == []


def test_a_quality_that_counts_whole_crowds_is_found_out():
    """The rows of cells of more than a crowd, rather than those in excess of it, jump when a cell
    becomes crowded, and the check sees it.
    """

    def whole(table):
        return [UNIT * rows for rows in (sum(n for n in Counter(table).values() if n > 3),)]

    assert moved_too_far(whole("aaa"), whole("aaaa"), [UNIT]) == [0]


@settings(max_examples=50, deadline=None)
@given(TABLES, FIXED, CROWDS)
def test_only_the_cells_of_the_lowest_level_matter(table, fixed, crowd):
    """Ages that move within their cells of the finest grid change no quality, wherever the smallest
    and the largest lie.
    """
    moved = [
        (
            None if age is None else -1000 if age < 4 else 1000 if age >= 28 else age // 4 * 4 + 3,
            *rest,
        )
        for age, *rest in table
    ]
    assert (
        qualities(axes(fixed), microdata(table), crowd)
        == qualities(axes(fixed), microdata(moved), crowd)
    ).all()


def test_information_is_what_is_declared():
    """By the width of a cell, the leaves that are declared below a node, the levels above it; from
    1 to 0, and no table has a part.
    """
    age, job, zip_, ill = axes(ALL_OPEN).axes
    assert [age.information(level) for level in range(3)] == [
        1 - Fraction(4, 30),
        1 - Fraction(8, 30),
        0,
    ]
    assert [job.information(level) for level in range(4)] == [
        1,
        1 - Fraction(1, 4) / 4,
        1 - Fraction(2, 3) / 4,
        0,
    ]
    assert [zip_.information(level) for level in range(3)] == [1, Fraction(1, 2), 0]
    assert [ill.information(level) for level in range(2)] == [1, 0]
    wide = Axes.of({"ill": {"low": 0, "high": 10, "widths": [1, 100]}}, PLAIN, choose=True).axes[0]
    assert [wide.information(level) for level in range(3)] == [Fraction(9, 10), 0, 0]


def test_weights_stay_within_the_attributes():
    """At least 1, so that even the top may be chosen, and at most a unit for every attribute."""
    found = weights(axes(ALL_OPEN))
    assert found.min() == 1
    assert UNIT * 3 < found.max() <= UNIT * 4


def test_what_is_fixed_stays_and_the_best_wins_where_epsilon_is_large():
    """The chosen scheme has the fixed levels, says that levels were chosen and what it cost, and is
    the best one where there is next to no noise.
    """
    table = [(age, job, "471", "flu") for age in (1, 2, 5, 6) for job in ("cook", "baker")] * 5
    fixed = (None, None, 1, None)
    scheme = choose_levels(axes(fixed), microdata(table), Fraction(1000), 10)
    expected = naive.qualities(table, list(TWINS.values()), fixed, 10)
    assert (scheme.chosen, scheme.epsilon) == ("levels", Fraction(1000))
    assert scheme.levels == max(expected, key=expected.get) == (1, 1, 1, 0)
    assert scheme.parameters()["attributes"]["age"] == RANGE | {"level": 1}


def test_little_epsilon_chooses_otherwise_now_and_then():
    """It is a draw, not a maximum: with much noise, all levels occur."""
    table = [(1, "cook", "471", "flu")] * 10
    assert (
        len(
            {
                choose_levels(axes((2, 3, 2, None)), microdata(table), Fraction(1, 1000), 2).levels
                for _ in range(60)
            }
        )
        == 2
    )


def test_neighbours_choose_alike():
    """Whoever sees which levels were chosen learns of one row at most a factor e^epsilon in the
    odds; with a fifth of the noise, the audit finds it.
    """
    epsilon, table = Fraction(1), [("flu",)] * 4
    scheme_axes = Axes.of({}, PLAIN, choose=True)
    here, there = microdata(table, PLAIN), microdata([*table, ("flu",)], PLAIN)
    found = {id(t): qualities(scheme_axes, t, 4) for t in (here, there)}

    def chosen(neighbour, spent):
        return Counter(choose_levels(scheme_axes, neighbour, spent, 4).levels for _ in range(2000))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            private_levels, "qualities", lambda _axes, t, *_: found[id(t)]
        )  # counted once, drawn often
        assert odds_keep(chosen(here, epsilon), chosen(there, epsilon), epsilon)
        assert not odds_keep(chosen(here, 5 * epsilon), chosen(there, 5 * epsilon), epsilon)


def test_nothing_to_choose_is_refused():
    """Where the plan fixes all levels, a choice would be paid for and not made."""
    with pytest.raises(PlanError, match="fixes them all"):
        choose_levels(axes((0, 0, 0, 0)), microdata([(1, "cook", "471", "flu")]), Fraction(1), 2)


def test_too_many_combinations_are_refused():
    """Beyond 20,000 the plan is told to fix some; up to there they are weighed."""
    schema = Schema(quasi=["age", "ill"], types={"ill": "numeric"})
    many = {
        name: {"low": 0, "high": 2**53, "widths": [2**i for i in range(34, 34 + n)]}
        for name, n in (("age", 140), ("ill", 141))
    }
    assert (
        len(
            combinations(
                Axes.of(many | {"ill": 1}, Schema(quasi=["age"], sensitive="ill"), choose=True)
            )
        )
        == 141
    )
    with pytest.raises(PlanError, match="20,022 combinations"):
        combinations(Axes.of(many, schema, choose=True))


@settings(max_examples=20, deadline=None)
@given(TABLES, CROWDS)
def test_every_row_counts_once_at_the_top(table, crowd):
    """Where all values are one, there is one cell with all rows."""
    found = qualities(axes(ALL_OPEN), microdata(table), crowd)
    assert found[-1] == weights(axes(ALL_OPEN))[-1] * max(0, len(table) - crowd)
    assert found.dtype == np.int64
