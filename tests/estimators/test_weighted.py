# SPDX-License-Identifier: Apache-2.0
"""Weighted answers: the truth is within the bounds, however the weight of a group lies on its rows;
a twin that takes the published mean for each row's own weight is caught.
"""

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.errors import ReleaseError
from phalanx.estimators import answering
from phalanx.estimators.answering import answer as asked_of
from phalanx.estimators.conditions import All, Comparison, Query
from phalanx.estimators.weighted import WeighedBounds
from support.estimator_cases import METHODS, holds, people, published, schema, some_condition

NAMES = ("mondrian", "diverse", "widened")


def survey(n=240, seed=1):
    rng = np.random.default_rng(seed)
    return people(n, seed).with_columns(w=rng.lognormal(2, 1.5, n))


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """A release with weights by every kind of Mondrian, and its table."""
    return {
        name: (published(METHODS[name], survey(), tmp_path_factory.mktemp(name), schema(weight="w")), survey())
        for name in NAMES
    }  # fmt: skip


def queries(table, seed, times=45):
    rng = np.random.default_rng(seed)
    for i in range(times):
        of = None if i % 3 == 0 else str(rng.choice(["age", "pay"]))
        where = some_condition(rng, table)
        there = () if of is None else (Comparison(of, "missing", negated=True),)
        yield Query("count" if of is None else ("sum", "mean")[i % 2], of, All((where, *there)))


def truth(query, table):
    """By plain Python: each row as many times as its weight says."""
    rows = [row for row in table.iter_rows(named=True) if holds(query.where, row)]
    if query.aggregate == "count":
        return sum(row["w"] for row in rows)
    total = sum(row["w"] * row[query.of] for row in rows)
    if query.aggregate == "sum":
        return total
    return total / sum(row["w"] for row in rows) if rows else None


def outside(release, table):
    """The queries whose truth is not within the bounds, and how many bounds there were."""
    wrong, bounds = [], 0
    for query in queries(table, 5):
        right, found = truth(query, table), asked_of(release, query, "", weighted=True).figures[0]
        bounds += (found.low is not None) + (found.high is not None)
        assert found.interval is None
        if right is not None and not (
            (found.low is None or found.low <= right)
            and (found.high is None or right <= found.high)
            and (
                found.estimate is None
                or found.low is None
                or found.low <= found.estimate <= found.high
            )
        ):
            wrong.append((query, right, found))
    return wrong, bounds


@pytest.mark.parametrize("name", NAMES)
def test_the_truth_is_within_the_bounds(releases, name):
    """Of counts, sums and means, of any condition: no truth lies outside."""
    release, table = releases[name]
    wrong, bounds = outside(release, table)
    assert wrong == [] and bounds > 22


def test_whoever_takes_the_mean_for_each_rows_weight_is_caught(releases, monkeypatch):
    """The broken twin: bounds by the number of rows times the mean do not hold."""

    def weight(self, where):
        low, high = self.rows(where)
        return low * self.mean_weights, high * self.mean_weights

    monkeypatch.setattr(WeighedBounds, "weight", weight)
    assert outside(*releases["diverse"])[0]


def test_an_answer_is_of_the_population(releases):
    """All rows together weigh what the table's do, to the digits that are published; a group by is
    of the same weights, and without weights rows count alike.
    """
    release, table = releases["diverse"]
    release = px.Release.read(release.path)
    whole = release.estimate(pl.len())
    assert whole.low <= table["w"].sum() <= whole.high < whole.low * 1.001
    assert whole.weight == "w" and whole.interval is None and "'w'" in whole.notes[0]
    plain = release.estimate(pl.len(), weighted=False)
    assert plain.low == plain.high == table.height and plain.weight is None
    by = release.estimate("count(*) group by ill").table
    assert by["estimate"].sum() == pytest.approx(whole.estimate)


def test_a_mean_is_a_weighted_mean():
    """Two groups apart in age, of which one weighs nine times as much: 9/10 of the answer is its
    age, where an unweighted one is in the middle.
    """
    table = pl.DataFrame({"age": [20] * 4 + [60] * 4, "w": [9.0] * 4 + [1.0] * 4})
    release = px.publish(table, px.Schema(quasi=["age"], weight="w"), px.Mondrian(k=4))
    found = release.estimate(pl.col("age").mean())
    assert found.estimate == pytest.approx(24) and 23.9 < found.low <= 24 <= found.high < 24.1
    assert release.estimate(pl.col("age").mean(), weighted=False).estimate == pytest.approx(40)


def test_weights_are_not_asked_about_and_are_drawn(releases):
    """The column is no attribute of a query, and says so; a drawn table has it, with what groups
    weigh.
    """
    release, table = releases["mondrian"]
    release = px.Release.read(release.path)
    with pytest.raises(ReleaseError, match="'w' is the survey weight"):
        release.estimate(pl.col("w").sum())
    (drawn,) = release.draw(1, seed=1)
    assert set(drawn.columns) == set(table.columns) - {"who"}
    assert drawn["w"].sum() == pytest.approx(table["w"].sum(), rel=1e-3)
    assert set(drawn["w"]) == set(release.form.table["w"])
    for query in ("count(*) where age < 40", "count(*)"):
        own = answering.estimate(release, query, weighted=False)
        assert own.figures[0].interval is not None or own.low == own.high


def test_what_was_lost_is_of_rows(releases):
    """A workload is measured on rows, as without weights."""
    release, table = releases["mondrian"]
    measured = px.Release.read(release.path).measure(table.drop("who"), seed=1)
    (workload,) = [f for f in measured.figures if f.name == "workload"]
    assert 0 <= workload.release < 1
