# SPDX-License-Identifier: Apache-2.0
"""Where regions are cut, and what is passed on to their parts."""

from functools import partial

import numpy as np
import polars as pl
import pytest

from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.errors import PlanError
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance import kernels
from phalanx.methods.m_invariance import method as m_invariance
from phalanx.methods.m_invariance.assigning import automatic, of_newcomers
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.m_invariance.regions import WHOLE, Regions
from phalanx.randomness import Randomness


def encoded(ages, ill, who=None, **schema):
    """A table of persons with one quasi-identifier."""
    who = who or [f"p{i}" for i in range(len(ages))]
    table = pl.DataFrame({"who": who, "age": ages, "ill": ill})
    return Microdata.encode(
        table,
        Schema(identifier="who", quasi=["age"], sensitive="ill", **schema),
        PersonKey(bytes(32)),
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


@pytest.mark.parametrize(
    ("later", "first_part"),
    [
        (["amber", "blue", "green", "red"], [0, 1]),
        (["beige", "cyan", "cream", "teal"], [0]),
        ([None, "amber", "zinc", "zinc"], [0, 1]),
        (["dark", "green", "red", "red"], []),
    ],
)
def test_a_text_is_cut_before_the_value_that_began_the_second_part(later, first_part):
    """One row is remembered of a cut, however many values lie below it; a later table with other
    values is cut between the same ones.
    """
    made = partial(encoded, ill=["a", "b", "a", "b"], missing="value")
    regions = Regions.recall(made(["amber", "blue", "cream", "red"]), Memory())
    regions.cut(WHOLE, np.arange(4), 1)
    (table,) = regions.to_remember().values()
    assert table.rows() == [(WHOLE, "age", None, "cream")]
    again = Regions.recall(made(later), Memory(tables=regions.to_remember()))
    assert again.cut(WHOLE, np.arange(4), 0)[0].tolist() == first_part


def test_a_region_without_any_difference_is_remembered_too():
    """The cut lies before all values, so that all of it is the second part."""
    same = encoded([None] * 4, ["a", "b", "a", "b"], missing="value")
    regions = Regions.recall(same, Memory())
    regions.cut(WHOLE, np.arange(4), 1)
    again = Regions.recall(same, Memory(tables=regions.to_remember()))
    assert again.cut(WHOLE, np.arange(4), 0)[0].tolist() == []
    assert again.to_remember() == {}


@pytest.mark.parametrize("seed", range(20))
def test_few_rows_of_many_values_are_cut_as_if_all_were_counted(monkeypatch, seed):
    """Values that no row of a region has change nothing."""
    rng = np.random.default_rng(seed)
    table = encoded(rng.integers(0, 40, 60).tolist(), rng.choice(["a", "b", "c"], 60).tolist())
    rows = rng.permutation(60)[: rng.integers(2, 20)]
    few = Regions.recall(table, Memory())
    parts = few.cut(WHOLE, rows, 1)

    def all_counted(regions, name, rows, n):
        return None, kernels.counted(regions.codes[name], rows, n)

    assert few._counted("age", rows, 40)[0] is not None
    monkeypatch.setattr(Regions, "_counted", all_counted)
    counted = Regions.recall(table, Memory())
    assert [each.tolist() for each in counted.cut(WHOLE, rows, 1)] == [
        each.tolist() for each in parts
    ]
    assert counted.added == few.added


@pytest.mark.parametrize("regions", [0, -1, 1.5, True, "many"])
def test_a_number_that_is_none(regions):
    """A number of regions is a whole one of 1 or more, or "auto"."""
    with pytest.raises(PlanError, match="regions"):
        MInvariance(m=2, regions=regions)


def test_auto_asks_for_the_values_of_signatures_and_not_for_those_present(monkeypatch):
    """Which of two persons stays decides which values are present, and not how many regions there
    are: of a and b, published together, one stays among newcomers with b and c.
    """
    asked = []

    def automatic(*numbers):
        asked.append(numbers)
        return 1

    monkeypatch.setattr(m_invariance, "automatic", automatic)
    method, first = MInvariance(m=2, regions="auto"), encoded([20, 21], ["a", "b"])
    draft = method.publish(first, Memory(), Randomness.secure())
    memory = Memory().after(draft, draft.mapping(first))
    for stays, age, own in (("p0", 20, "a"), ("p1", 21, "b")):
        second = encoded([age, 30, 31, 40, 41], [own, *"bcbc"], who=[stays, "p2", "p3", "p4", "p5"])
        method.publish(second, memory, Randomness.secure())
    assert asked == [(2, 2, 2), (5, 3, 2), (5, 3, 2)]


@pytest.mark.parametrize("m", [2, 4, 10])
def test_more_rows_have_more_regions_and_newcomers_fewer(m):
    """A small table has one region by "auto" and larger ones more; of newcomers no more are made
    than of the table that they come to.
    """
    regions = [automatic(rows, 50, m) for rows in (100, 10_000, 100_000, 1_000_000)]
    assert regions[0] == 1
    assert regions == sorted(regions)
    assert regions[-1] > 1
    for number in regions:
        newcomers = [of_newcomers(number, new, 1000) for new in (10, 100, 1000)]
        assert newcomers == sorted(newcomers)
        assert newcomers[-1] == number
