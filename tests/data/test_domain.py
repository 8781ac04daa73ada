# SPDX-License-Identifier: Apache-2.0
"""Positions put the values of an ordered domain on a line."""

import datetime as dt
import sys

import numpy as np
import polars as pl
import pytest

from phalanx.data.domain import Domain, whole_places
from phalanx.data.hierarchies.hierarchy import Tree


@pytest.mark.parametrize(
    ("kind", "values", "positions"),
    [
        ("numeric", [1, 3, 9], [1, 3, 9]),
        ("numeric", [None, 1, 3, 9], [-3, 1, 3, 9]),
        ("numeric", [None, 5.5], [4.5, 5.5]),
        ("numeric", [None], [0]),
        ("date", [dt.date(1970, 1, 2), dt.date(1970, 1, 5)], [1, 4]),
        ("categorical", ["a", "b", "c"], [0, 1, 2]),
        ("categorical", [None, "a", "b"], [-1, 0, 1]),
    ],
)
def test_positions(kind, values, positions):
    """Numbers stand where they are, dates on their day, leaves side by side, a missing value one
    mean gap below.
    """
    assert Domain(kind, pl.Series(values, strict=False)).positions.tolist() == positions


def test_normalised():
    """Scaled positions run from 0 to 1; a domain of one point is all 0."""
    assert Domain("numeric", pl.Series([10, 15, 20])).normalised.tolist() == [0, 0.5, 1]
    assert Domain("numeric", pl.Series([7])).normalised.tolist() == [0]
    assert Domain("numeric", pl.Series([-1.7e308, 0, 1.7e308])).normalised.tolist() == [0, 0.5, 1]
    assert Domain("numeric", pl.Series([], dtype=pl.Int64)).normalised.tolist() == []


def test_places():
    """The nearest whole numbers; values that come to one place are pushed apart, unless there are
    too many for the line, and no value lies where another does or is behind it.
    """
    even = Domain("numeric", pl.Series([10, 15, 20]))
    assert even.places(1001).tolist() == [0, 500, 1001]
    far = Domain("numeric", pl.Series([0, 1, 2, 3, 10**15]))
    assert far.places(2**28).tolist() == [0, 1, 2, 3, 2**28]
    assert far.places(16 * 5).tolist() == [0, 1, 2, 3, 80]
    assert far.places(16 * 5 - 1).tolist() == [0, 0, 0, 0, 79]
    high = Domain("numeric", pl.Series([-(10**15), 0, 1]))
    assert high.places(2**28).tolist() == [0, 2**28, 2**28 + 1]
    alike = Domain("numeric", pl.Series([2**62, 2**62 + 1]))  # the same, as real numbers
    assert alike.places(100).tolist() == [0, 1]
    assert Domain("numeric", pl.Series([], dtype=pl.Int64)).places(100).tolist() == []
    one, other = whole_places([even, far])
    assert one.tolist() == even.places(2**29).tolist()
    assert other.tolist() == far.places(2**29).tolist()


@pytest.mark.parametrize("missing", [[], [None]])
def test_ends_whose_distance_no_float_holds(missing):
    """They are 0 and 1 all the same, and what lies between them stays between."""
    big = sys.float_info.max
    domain = Domain("numeric", pl.Series([*missing, -big, 0.0, big], dtype=pl.Float64))
    scaled = domain.normalised.tolist()
    assert np.isfinite(domain.positions).all() and (scaled[0], scaled[-1]) == (0, 1)
    assert scaled[-2] == 0.5 and scaled == sorted(scaled)


def test_a_missing_value_stands_under_the_root_alone():
    """No node below the root covers a missing value."""
    tree = Tree.of_paths([["flu", "lung", "*"], ["ulcer", "stomach", "*"]])
    domain = Domain("categorical", pl.Series([None, "flu", "ulcer"]), tree)

    assert domain.has_missing
    assert domain.ancestors.rows() == [
        (None, None, "*"),
        ("flu", "lung", "*"),
        ("ulcer", "stomach", "*"),
    ]


def test_without_a_hierarchy_there_are_no_nodes():
    """Ancestors need a hierarchy."""
    assert Domain("numeric", pl.Series([1])).ancestors is None
