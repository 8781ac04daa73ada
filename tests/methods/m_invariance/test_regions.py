# SPDX-License-Identifier: Apache-2.0
"""Where regions are cut, and what is passed on to their parts."""

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.m_invariance.regions import WHOLE, Regions


def encoded(ages, ill):
    """A table of persons with one quasi-identifier."""
    table = pl.DataFrame({"who": [f"p{i}" for i in range(len(ages))], "age": ages, "ill": ill})
    return Microdata.encode(
        table, Schema(identifier="who", quasi=["age"], sensitive="ill"), PersonKey(bytes(32))
    )


@pytest.mark.parametrize("least", [1, 4, 6])
def test_both_parts_are_large_enough_and_lie_on_their_sides(least):
    """Every row is in one part, none is smaller than the least, and nobody of the first is older
    than anybody of the second.
    """
    ages = [20, 21, 22, 23, 24, 25, 60, 61, 62, 63, 64, 65]
    first, second = Regions.recall(encoded(ages, ["a", "b"] * 6), Memory()).cut(
        WHOLE, np.arange(12), least
    )
    assert sorted([*first, *second]) == list(range(12))
    assert min(len(first), len(second)) >= least
    assert max(ages[row] for row in first) < min(ages[row] for row in second)


def test_no_sensitive_value_has_a_part_in_it():
    """The same persons with all values exchanged are cut in the same place."""
    ages = [20, 20, 31, 33, 47, 52, 58, 71]
    cuts = [
        Regions.recall(encoded(ages, ill), Memory()).cut(WHOLE, np.arange(8), 2)
        for ill in (["a"] * 4 + ["b"] * 4, ["b", "a"] * 4)
    ]
    assert [part.tolist() for part in cuts[0]] == [part.tolist() for part in cuts[1]]


def test_a_region_is_always_cut_where_it_was_first_cut():
    """Memory holds the place; a later table with other ages is cut there, too."""
    regions = Regions.recall(encoded([20, 21, 60, 61], ["a", "b", "a", "b"]), Memory())
    regions.cut(WHOLE, np.arange(4), 1)
    later = Regions.recall(
        encoded([58, 59, 60, 90], ["a", "b", "a", "b"]), Memory(tables=regions.to_remember())
    )
    first, second = later.cut(WHOLE, np.arange(4), 1)
    assert (first.tolist(), second.tolist()) == ([0, 1], [2, 3])
    assert later.to_remember() == {}


@pytest.mark.parametrize("regions", [0, -1, 1.5, True, "many"])
def test_a_number_that_is_none(regions):
    """A number of regions is a whole one of 1 or more, or "auto"."""
    with pytest.raises(PlanError, match="regions"):
        MInvariance(m=2, regions=regions)
