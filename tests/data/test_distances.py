# SPDX-License-Identifier: Apache-2.0
"""Distances between values: along a line, up a tree, equal or not, or as given; and every way of
asking for one that there is not.
"""

import datetime as dt
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import distances as naive
from phalanx.data.distances import (
    Levels,
    Line,
    Matrix,
    check_asked,
    distance_matrix,
    distance_of,
)
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Bands, Prefix, Tree
from phalanx.errors import PlanError

JOBS = Tree.of_mapping(
    {
        "office": {"law": ["judge", "clerk"], "press": ["editor"]},
        "outside": {"farm": ["farmer", "shepherd"], "sea": ["sailor"]},
    }
)


def matrix(distance, size):
    """The distances between all values of the domain."""
    assert len(distance) == size
    return distance.between(np.arange(size)[:, None], np.arange(size))


def numbers(*values):
    return Domain("numeric", pl.Series(values, dtype=pl.Float64))


def texts(*values, hierarchy=None):
    return Domain("categorical", pl.Series(values, dtype=pl.String), hierarchy)


@given(st.lists(st.integers(-1000, 1000), min_size=1, max_size=8, unique=True), st.booleans())
@settings(max_examples=60, deadline=None)
def test_numbers_are_as_far_apart_as_they_are(values, missing):
    """l1 is the difference over the width of the domain; a missing value lies one mean gap below
    the rest, as it does for every method.
    """
    values = sorted(values)
    distance = distance_of("distances", "age", numbers(*[None] * missing, *values))
    assert isinstance(distance, Line)
    gap = (values[-1] - values[0]) / (len(values) - 1) if len(values) > 1 else 1
    places = [values[0] - gap] * missing + values
    found = matrix(distance, len(places))
    assert found == pytest.approx(
        np.array(
            [
                [naive.on_a_line(places, i, j) for j in range(len(places))]
                for i in range(len(places))
            ]
        )
    )
    assert found.max() == (len(places) > 1)
    assert distance.line == pytest.approx(
        np.array([naive.on_a_line(places, 0, j) for j in range(len(places))])
    )


def test_days_are_counted():
    """Dates are as far apart as the days between them, over all days."""
    days = pl.Series([dt.date(2020, 1, 1), dt.date(2020, 1, 31), dt.date(2020, 4, 10)])
    found = matrix(distance_of("distances", "since", Domain("date", days)), 3)
    assert found == pytest.approx(np.abs(np.subtract.outer([0, 30, 100], [0, 30, 100])) / 100)


@pytest.mark.parametrize("missing", [False, True])
def test_leaves_are_as_far_apart_as_their_tree_says(missing):
    """The level on which two paths meet, over the height of the tree; a missing value meets the
    others in the root alone.
    """
    paths = [list(path) for path in JOBS.paths]
    if missing:
        paths = [["missing", "missing", "missing", "*"], *paths]
    leaves = JOBS.leaves(pl.Series([], dtype=pl.String)).to_list()
    distance = distance_of("distances", "job", texts(*[None] * missing, *leaves, hierarchy=JOBS))
    found = matrix(distance, len(paths))
    expected = np.array(
        [
            [float(naive.up_the_tree(paths, i, j)) for j in range(len(paths))]
            for i in range(len(paths))
        ]
    )
    assert found == pytest.approx(expected)
    assert {Fraction(x).limit_denominator(10) for x in found.ravel()} == {
        Fraction(0),
        Fraction(1, 3),
        Fraction(2, 3),
        Fraction(1),
    }
    assert distance.line == pytest.approx(
        np.concatenate([[0], np.cumsum(np.diagonal(expected, 1))])
    )


def test_a_missing_value_is_no_empty_text():
    """A value that is the empty text and a missing one are different leaves, and meet in the
    root.
    """
    tree = Tree.of_paths([["", "none", "*"], ["a", "some", "*"], ["b", "some", "*"]])
    found = matrix(distance_of("distances", "code", texts(None, "", "a", "b", hierarchy=tree)), 4)
    assert found.tolist() == [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 0.5], [1, 1, 0.5, 0]]


def test_prefixes_and_bands_are_trees():
    """A hierarchy of any kind gives its levels; where two values never meet below the root they are
    1 apart, and where all meet lower, less.
    """
    zips = distance_of(
        "distances", "zip", texts("47302", "47304", "47906", hierarchy=Prefix((5, 3, 0)))
    )
    assert matrix(zips, 3).tolist() == [[0, 0.5, 1], [0.5, 0, 1], [1, 1, 0]]
    ages = distance_of(
        "distances",
        "age",
        Domain("numeric", pl.Series([21.0, 24.0, 44.0]), Bands((10, 20))),
        "hierarchy",
    )
    assert matrix(ages, 3) == pytest.approx(np.array([[0, 1, 3], [1, 0, 3], [3, 3, 0]]) / 3)
    near = distance_of("distances", "zip", texts("47302", "47304", hierarchy=Prefix((5, 3, 0))))
    assert matrix(near, 2).max() == 0.5


def test_values_are_equal_or_not():
    """Without a hierarchy, and where that is asked for, other values are 1 away, all alike."""
    for distance in (
        distance_of("distances", "sex", texts("f", "m", "x")),
        distance_of("distances", "age", numbers(1, 5, 100), "equal"),
    ):
        assert isinstance(distance, Levels)
        assert matrix(distance, 3).tolist() == (1 - np.eye(3)).tolist()
        assert distance.line.tolist() == [0, 1, 2]


def test_a_given_matrix():
    """What is given one way holds the other way too, a value is at distance 0 from itself, and both
    ways may differ; missing values are the empty text.
    """
    asked = {"": {"f": 3, "m": 4.5}, "f": {"m": 1}, "m": {"f": 2}}
    distance = distance_of("distances", "sex", texts(None, "f", "m"), asked)
    assert isinstance(distance, Matrix)
    assert matrix(distance, 3).tolist() == [[0, 3, 4.5], [3, 0, 1], [4.5, 2, 0]]
    assert distance.line == pytest.approx(np.array([0, 3, 4]) / 4.5)
    assert matrix(
        distance_of("distances", "n", numbers(1, 2.5), {"1": {"2.5": 7}}), 2
    ).tolist() == [
        [0, 7],
        [7, 0],
    ]
    day = Domain("date", pl.Series([dt.date(2020, 1, 1), dt.date(2021, 1, 1)]))
    assert matrix(
        distance_of("distances", "since", day, {"2020-01-01": {"2021-01-01": 2}}), 2
    ).tolist() == [
        [0, 2],
        [2, 0],
    ]


@pytest.mark.parametrize(
    "distance",
    [
        distance_of("distances", "age", numbers(7)),
        distance_of("distances", "sex", texts("f")),
        distance_of("distances", "job", texts("judge", hierarchy=Tree.of_paths([["judge", "*"]]))),
        distance_of("distances", "sex", texts("f"), {}),
    ],
    ids=["a number", "a text", "a tree", "a matrix"],
)
def test_one_value_is_far_from_nothing(distance):
    """Where all have one value, it is at distance 0 from itself."""
    assert (distance.line.tolist(), matrix(distance, 1).tolist()) == (
        [0],
        [[0]],
    )


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            "l1",
            (
                r"asks for l1 on 'job', which is categorical; declare it numeric, or use"
                r" 'hierarchy' or 'equal'\.$"
            ),
        ),
        (
            "hierarchy",
            (
                r"asks for the hierarchy of 'job', which has none; declare one, or use 'equal' or"
                r" 'l1'\.$"
            ),
        ),
    ],
)
def test_what_an_attribute_has_not_is_said(asked, sentence):
    """A line without numbers and levels without a tree are refused with the ways out."""
    with pytest.raises(PlanError, match=sentence):
        distance_of("distances", "job", texts("a", "b"), asked)


@pytest.mark.parametrize(
    "given",
    [{}, {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, {"A": {"b": 1}, "b": {"c": 1}, "a": {"c": 1}}],
)
def test_a_matrix_with_gaps_is_refused_without_values(given):
    """A matrix must say how far each two values are apart; the refusal names the attribute and
    shows no value of the table.
    """
    with pytest.raises(
        PlanError,
        match=(
            r"of 'job' is a matrix without a distance of 0 or more for some two of its 3 values;"
            r" give one for each two\.$"
        ),
    ):
        distance_of("distances", "job", texts("a", "b", "c"), given)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"age": "L1"}, r"distances of 'age' is 'L1'"),
        ({"age": "hierarchi"}, r"did you mean 'hierarchy'\?$"),
        ({"age": "far"}, r"use l1, hierarchy, equal, or a matrix\.$"),
        (
            {"age": 3},
            (
                r"'age' is neither a word nor a matrix; write l1, hierarchy, equal, or \{ a = \{ b"
                r" = 1 \} \}\.$"
            ),
        ),
        ({"age": {"a": 3}}, r"neither a word nor a matrix"),
        ({"age": ["l1"]}, r"neither a word nor a matrix"),
        ({"age": None}, r"neither a word nor a matrix"),
        (
            {"age": {"a": {"b": -1}}},
            r"has a distance that is no number of 0 or more; correct it\.$",
        ),
        ({"age": {"a": {"b": float("nan")}}}, r"no number of 0 or more"),
        ({"age": {"a": {"b": float("inf")}}}, r"no number of 0 or more"),
        ({"age": {"a": {"b": "1"}}}, r"no number of 0 or more"),
        ({"age": {"a": {"b": True}}}, r"no number of 0 or more"),
        ("l1", r"distances = 'l1' is no table; write \{ age = 'l1' \}"),
        (["age"], r"is no table"),
        (None, r"is no table"),
    ],
)
def test_what_is_no_distance_is_refused_in_a_sentence(asked, sentence):
    """Unknown words, and numbers that are none, are errors of the plan before any table is looked
    at.
    """
    with pytest.raises(PlanError, match=sentence):
        check_asked("distances", asked)


def test_what_can_be_asked():
    """All words, and matrices of whole and other numbers."""
    check_asked(
        "distances",
        {"a": "l1", "b": "hierarchy", "c": "equal", "d": {"x": {"y": 0, "z": 1.5}}, "e": {}},
    )


HOURS = Domain("numeric", pl.Series("hours", [None, 8.0, 40.0]))
SAID = {"": {8: 3, 40: 4}, "8": {"40": 1.5}}


def test_keys_are_values_or_their_text():
    """A number as a plan writes it, or as Python has it; nothing is a missing value; what is said
    one way holds the other way.
    """
    assert distance_matrix("distances", HOURS, SAID).tolist() == [
        [0, 3, 4],
        [3, 0, 1.5],
        [4, 1.5, 0],
    ]


@pytest.mark.parametrize("wrong", [-1, float("inf"), float("nan"), "far", True, None])
def test_a_distance_is_a_number_of_0_or_more(wrong):
    """Anything else counts as a gap, and the sentence begins with what was asked and tells no
    value.
    """
    with pytest.raises(
        PlanError,
        match=(
            r"^distances of 'hours' is a matrix without a distance of 0 or more for some two of its"
            r" 3 values; give one for each two\.$"
        ),
    ):
        distance_matrix("distances of 'hours'", HOURS, SAID | {"8": {"40": wrong}})
