# SPDX-License-Identifier: Apache-2.0
"""Positions put the values of an ordered domain on a line."""

import datetime as dt

import polars as pl
import pytest

from phalanx.data.domain import Domain
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
