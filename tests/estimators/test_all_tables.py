# SPDX-License-Identifier: Apache-2.0
"""Hard bounds beside every table that a small release leaves possible: none lies outside, and where
a query is about one attribute, some lie on them.
"""

import random
from functools import partial

import numpy as np
import polars as pl
import pytest

import phalanx as px
from naive.answers import extremes, worlds
from phalanx.estimators.answering import answer as asked_of
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.conditions import All, Comparison, Either, Query
from support.estimator_cases import holds

QUASI = ("age", "pay")
TIMES = 12
SLACK = 1e-9


@pytest.fixture(scope="module")
def releases():
    """Groups of two to four rows in boxes of a few numbers, and all that they can have been."""
    made = []
    for seed in range(30):
        dice = random.Random(seed)
        rows = [(dice.randint(0, 4), dice.randint(-1, 1), dice.choice("xyz")) for _ in range(7)]
        table = pl.DataFrame(rows, schema=["age", "pay", "ill"], orient="row")
        method = px.Mondrian(k=2)
        release = px.publish(
            table, px.Schema(quasi=list(QUASI), sensitive="ill"), method, seed=seed
        )
        tables = worlds(release.table.to_dicts(), QUASI)
        if sum(map(len, tables)) < 2_000:
            made.append((release, tables))
    assert len(made) > 10
    return made


def some_test(dice, name):
    """A comparison, or what it is not."""
    kind = dice.choice(["in", "below", "upto"])
    if name == "ill":
        return Comparison(name, "in", (dice.choice("xyz"),), negated=dice.random() < 0.5)
    numbers = tuple(dice.randint(-2, 5) for _ in range(2 if kind == "in" else 1))
    return Comparison(name, kind, numbers, negated=dice.random() < 0.5)


def some_query(dice, *, one):
    """Of one attribute, or of any."""
    of, aggregate = dice.choice(QUASI), dice.choice(["count", "sum", "mean"])
    names = [of] if one else [*QUASI, "ill"]
    parts = [
        dice.choice([All, Either])(tuple(some_test(dice, dice.choice(names)) for _ in range(2)))
        for _ in range(dice.randint(0, 2))
    ]
    there = () if aggregate == "count" else (Comparison(of, "missing", negated=True),)
    return Query(aggregate, None if aggregate == "count" else of, All((*parts, *there)))


def compared(releases, *, one):
    """The queries for which a table lies outside of the bounds, those for which none lies on one of
    them, and how many there were.
    """
    outside, apart, many = [], [], 0
    for place, (release, tables) in enumerate(releases):
        dice = random.Random(place)
        for _ in range(TIMES):
            query = some_query(dice, one=one)
            found = asked_of(release, query, "").figures[0]
            true_of = partial(holds, query.where)
            right = extremes(tables, true_of, query.of, mean=query.aggregate == "mean")
            if right is None:
                continue
            many += 1
            if not (found.low - SLACK <= right[0] and right[1] <= found.high + SLACK):
                outside.append((query, found, right))
            elif (found.low, found.high) != pytest.approx(right, abs=SLACK):
                apart.append((query, found, right))
    return outside, apart, many


def test_of_one_attribute_bounds_are_reached(releases) -> None:
    """Counts, sums and means: some table lies on either bound, since one row of a group stands at
    each end of its box.
    """
    outside, apart, many = compared(releases, one=True)
    assert not outside, outside[0]
    assert not apart, apart[0]
    assert many > 100


def test_no_table_lies_outside(releases) -> None:
    """Whatever a condition puts together; most bounds are reached then, too."""
    outside, apart, many = compared(releases, one=False)
    assert not outside, outside[0]
    assert len(apart) < many / 2


def nobody(*given):
    """No row is known to stand at an end."""
    return (np.full(len(given[-1]), np.nan),) * 2


def among_few(self, facet, name, allowed, copies):
    """One does, among however few rows."""
    return AT_ENDS(self, facet, name, allowed, copies + 9)


AT_ENDS = Bounds._at_ends


@pytest.mark.parametrize("broken", [nobody, among_few])
def test_other_ends_are_caught(releases, monkeypatch: pytest.MonkeyPatch, broken) -> None:
    """The broken twins: bounds that no table reaches, and tables outside of bounds."""
    monkeypatch.setattr(Bounds, "_at_ends", broken)
    apart = compared(releases, one=True)[1]
    outside = compared(releases, one=False)[0]
    assert (broken is nobody, broken is among_few) == (bool(apart), bool(outside))
