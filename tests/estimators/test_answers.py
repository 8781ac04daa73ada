# SPDX-License-Identifier: Apache-2.0
"""Answers: exact where everything is published, grouped as asked, honest about what is missing, and
plain to read.
"""

import datetime as dt
import json
import math
from dataclasses import replace
from decimal import Decimal
from functools import cache

import numpy as np
import polars as pl
import pytest

import phalanx as px
from phalanx.errors import ReleaseError
from phalanx.estimators import sharing
from phalanx.estimators.answering import ERROR
from phalanx.estimators.answering import answer as asked_of
from phalanx.estimators.answers import between
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.conditions import (
    All,
    Comparison,
    Either,
    Query,
    both,
    comparisons,
    negate,
)
from phalanx.estimators.models import Model
from phalanx.estimators.reading import view_of
from phalanx.estimators.sharing import Shared
from support import work
from support.estimator_cases import METHODS, answer, people, published, schema

TABLE = people(missing=False)


UNDER_40 = Comparison("age", "upto", (40,))
RICH = Comparison("pay", "below", (2.005,), negated=True)
CLERKS = Comparison("job", "in", ("clerk",))
GROUPED = (
    Query("mean", "pay", Either((UNDER_40, RICH)), ("ill",)),
    Query("sum", "pay", All((Either((UNDER_40, CLERKS)), Either((RICH, UNDER_40)))), ("ill",)),
    Query("mean", "age", Either((RICH, CLERKS)), ("sex", "ill")),
    Query("mean", "age", UNDER_40, ("age",)),
    Query("count", None, Either((UNDER_40, RICH)), ("job",)),
    Query("mean", "age", All(()), ("age",)),
    Query("mean", "age", Either((UNDER_40, Comparison("ill", "in", ("flu",)))), ("age",)),
)


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """A release by every method, each published once."""

    @cache
    def of(name):
        return published(METHODS[name], TABLE, tmp_path_factory.mktemp(name))

    return of


@pytest.fixture(scope="module")
def mondrian():
    return px.publish(TABLE, schema(), px.Mondrian(k=4))


@pytest.fixture(scope="module")
def anatomy():
    return px.publish(TABLE, schema(), px.Anatomy(l=2))


def test_what_is_published_as_it_is_is_exact(anatomy) -> None:
    """A query of quasi-identifiers that a bucketized release shows has one answer: bounds, estimate
    and interval are the truth.
    """
    found = anatomy.estimate("avg(pay) where age between 30 and 40 and job = 'office'")
    truth = answer(
        Query(
            "mean",
            "pay",
            All(
                (
                    Comparison("age", "below", (30,), negated=True),
                    Comparison("age", "upto", (40,)),
                    Comparison("job", "in", ("office",)),
                )
            ),
        ),
        TABLE,
    )
    assert found.low <= truth <= found.high and found.high - found.low < 1e-6
    assert found.estimate == pytest.approx(truth)
    counted = anatomy.estimate("count(*) where age < 30")
    assert (
        counted.low == counted.high == counted.estimate == TABLE.filter(pl.col("age") < 30).height
    )
    assert counted.interval == (counted.low, counted.high)


def test_texts_that_look_like_equal_values_are_different() -> None:
    """Among texts 1 and true are two values, in one query, too, though Python calls them equal; so
    are 0.0 and -0.0, 1.0 and 1.00.
    """
    codes = ["1", "1", "true", "x", "true", "1", "0.0", "-0.0", "1.0", "1.00"]
    table = pl.DataFrame({"age": [10] * 4 + [20] * 6, "code": codes})
    release = px.publish(table, px.Schema(quasi=["age"], sensitive="code"), px.Mondrian(k=2))
    asked = (
        ("code = 1 or code = true", 5),
        ("code = true or code = 1", 5),
        ("age = 20 and code = 1 or age = 10 and code = true", 2),
        ("code = 0.0 or code = -0.0", 2),
    )
    for query, truth in asked:
        counted = release.estimate(f"count(*) where {query}")
        assert counted.low == counted.high == truth
    decimals = [pl.col("code") == Decimal(number) for number in ("1.0", "1.00")]
    counted = release.estimate(decimals[0] | decimals[1])
    assert counted.low == counted.high == 2
    assert Comparison("code", "in", (1,)) != Comparison("code", "in", (True,))


def test_a_dot_in_a_name_is_part_of_it() -> None:
    """As R writes names: no other attribute is asked about, in conditions, figures, groups and rules;
    a table may still stand before a name.
    """
    table = pl.DataFrame(
        {"child.age": [1, 2, 3, 4], "age": [30, 40, 50, 60], "ill": ["flu", "cold"] * 2}
    )
    schema = px.Schema(quasi=["child.age", "age"], sensitive="ill")
    release = px.publish(table, schema, px.Anatomy(l=2))
    for query, truth in (
        ("count(*) where child.age < 3", 2),
        ("sum(child.age) where t.age > 30", 9),
        ("select count(*) from t where t.child.age = 4 or child.age is null", 1),
    ):
        counted = release.estimate(query)
        assert counted.low == counted.high == pytest.approx(truth)
    by = release.estimate("count(*) group by child.age")
    assert [figures.values for figures in by.figures] == [{"child.age": n} for n in (1, 2, 3, 4)]
    assert release.draw(1, never="child.age > 2")[0]["child.age"].to_list() != []
    assert max(release.draw(1, never="child.age > 2")[0]["child.age"]) <= 2


def test_groups(anatomy, mondrian) -> None:
    """Grouped answers come for each value, and add up to the whole."""
    by = anatomy.estimate("count(*) where age < 40 group by ill")
    assert by.table["ill"].to_list() == ["cold", "flu", "gout", "rash"]
    assert by.table.columns == ["ill", "low", "high", "estimate", "model_low", "model_high"]
    assert by.table["estimate"].sum() == pytest.approx(
        anatomy.estimate("count(*) where age < 40").estimate
    )
    both = mondrian.estimate("count(*) group by sex, job")
    assert both.table.height == 8 and both.table["estimate"].sum() == pytest.approx(240)
    with pytest.raises(px.PhalanxError, match="look at figures"):
        _ = both.low
    assert len(mondrian.estimate("count(*) group by age").figures) == 41


@pytest.mark.parametrize("name", METHODS)
def test_a_value_without_a_group_is_told_of(name: str, tmp_path) -> None:
    """Where the table has a value that no group is about (below an interval that holds the missing
    value, too, or perturbed away), a note says so of its attribute; where values are published as they
    are, there is neither.
    """
    table, asked = people(200), 0
    release = published(METHODS[name], table, tmp_path)
    for by in ("age", "pay", "sex", "since"):
        try:
            grouped = asked_of(release, Query("count", None, All(), (by,)), "")
        except px.PhalanxError:  # where values are fractions, or far apart
            continue
        asked += 1
        without = {*table[by]} - {figures.values[by] for figures in grouped.figures} - {None}
        noted = [note for note in grouped.notes if repr(by) in note]
        assert noted or not without
        if name in ("anatomy", "slicing", "overlapping"):
            assert not noted and not without
    assert asked


def test_groups_of_which_only_high_ends_are_known() -> None:
    """Where each group has a person without the number, no value is known as it is: of whole numbers
    one group for each from the least to the greatest end, and of fractions none.
    """
    table = pl.DataFrame(
        {"age": [None, 30, 31, None, 40, 41], "pay": [None, 1.5, 2.5, None, 5.5, 6.5]}
    )
    whole = px.publish(
        table, px.Schema(quasi=["age"], drop=["pay"], missing="value"), px.Mondrian(k=6)
    )
    grouped = whole.estimate("count(*) group by age")
    assert [figures.values["age"] for figures in grouped.figures] == [41, None]
    assert any("'age'" in note for note in grouped.notes)
    parts = px.publish(
        table, px.Schema(quasi=["pay"], drop=["age"], missing="value"), px.Mondrian(k=6)
    )
    with pytest.raises(px.PhalanxError, match="which values 'pay' has the release does not say"):
        parts.estimate("count(*) group by pay")


@pytest.mark.parametrize("query", GROUPED)
@pytest.mark.parametrize("name", sorted(METHODS))
def test_a_group_is_answered_as_if_it_were_asked_about_alone(releases, name: str, query) -> None:
    """What groups share is what each would work out by itself, to the last digit: also where some
    groups cut an attribute at values that are no published end, and others do not.
    """
    if name == "safe-sampling":
        query = replace(query, by=("ill",))  # it does not say which ages there are
    together = asked_of(releases(name), query, "")
    assert together.figures
    for figures in together.figures:
        where = query.where
        for attribute, value in figures.values.items():
            where = both(where, Comparison(attribute, "in", (value,)))
        alone = asked_of(releases(name), replace(query, where=where, by=()), "").figures[0]
        assert replace(alone, values=figures.values) == figures


def test_a_mean_is_worked_out_of_what_it_needs(anatomy, monkeypatch) -> None:
    """Neither squares around zero nor numbers of all rows, where one facet holds the whole
    condition; and what all groups ask of an attribute is asked once.
    """
    means, leaves = [], []
    mean_of, of_leaf = Model._mean_of, Model.of_leaf
    monkeypatch.setattr(
        Model, "_mean_of", lambda self, *asked: means.append(asked[1:]) or mean_of(self, *asked)
    )
    monkeypatch.setattr(
        Model,
        "of_leaf",
        lambda self, *asked: leaves.append(asked[1].attribute) or of_leaf(self, *asked),
    )
    anatomy.estimate("avg(age) where job = 'clerk' group by sex")
    assert means and all(where != All(()) for where, _, _, _ in means)
    assert not any(power == 2 and shift == 0 for _, _, power, shift in means)
    assert leaves.count("job") == 1 < leaves.count("sex")
    means.clear()
    anatomy.estimate("sum(age) where job = 'clerk' or ill = 'flu'")  # as all groups tell it
    assert means and all(where != All(()) for where, _, _, _ in means)


def modelled(release):
    """How many rows a condition is expected to be true of."""
    view = view_of(release)

    def rows(where):
        names = {test.attribute for test in comparisons(where)}
        regions = {name: view.regions(name, where) for name in names}
        return float(Model(view, Bounds(view, regions)).rows(where).sum())

    return rows


def test_parts_that_are_not_independent_add_up(mondrian) -> None:
    """Of conditions that ask of the same attributes in different ways: as many rows are expected of
    one or the other as of each, less those of both; and none of what contradicts itself.
    """
    rng, expected = np.random.default_rng(4), modelled(mondrian)
    tests = [UNDER_40, RICH, CLERKS, *(Comparison("age", "below", (age,)) for age in (25, 33, 61))]

    def some(depth: int) -> All | Either | Comparison:
        if depth == 0:
            return tests[rng.integers(len(tests))]
        parts = tuple(some(int(rng.integers(depth))) for _ in range(3))
        whole = (All, Either)[rng.integers(2)](parts)
        return negate(whole) if rng.random() < 0.3 else whole

    for _ in range(60):
        a, b = some(3), some(3)
        one, other = Either((a, b)), All((a, b))
        assert expected(one) + expected(other) == pytest.approx(expected(a) + expected(b))
        assert expected(All((a, negate(a)))) == pytest.approx(0)


def test_a_condition_of_many_parts_that_are_not_independent(mondrian) -> None:
    """Of the parts of which none is known, those of one attribute are one again: the work does not
    grow with the cube of how many there are.
    """
    parts = [
        All((Comparison("age", "upto", (20 + i / 4,)), Comparison("pay", "below", (3 - i / 50,))))
        for i in range(150)
    ]
    where, expected = Either(tuple(parts)), modelled(mondrian)
    assert work.lines(lambda: expected(where), 10**6)


def test_parts_that_depend_on_each_other_too_much_are_refused(mondrian, monkeypatch) -> None:
    """There are conditions of which no short way is known; how long one is looked at is bounded, for
    each group.
    """
    query = "count(*) where (age < 30 and pay > 1) or (age < 50 and pay > 2) or age = 70"
    monkeypatch.setattr(sharing, "MOST_STEPS", 10)
    mondrian.estimate("count(*) where age < 30 and pay > 1")
    with pytest.raises(ReleaseError, match="the same attributes in different ways"):
        mondrian.estimate(query)
    shared = Shared()
    for _ in range(3):
        shared.next_group()
        shared.spend(10)
    with pytest.raises(ReleaseError, match="ask in several questions"):
        shared.spend(1)


def test_what_groups_before_the_last_worked_out_is_forgotten() -> None:
    """What each group asks for is made once; what one asks for alone does not stay."""
    shared, made = Shared(), []
    for group in range(4):
        shared.next_group()
        for key in ("all", group):
            shared.of(key, lambda key=key: made.append(key))
    assert made == ["all", 0, 1, 2, 3]
    shared.next_group()
    shared.of(3, lambda: made.append("known"))
    shared.of(2, lambda: made.append("again"))
    assert made[5:] == ["again"]


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("count(*) where wage > 1", "did you mean 'age'|no attribute 'wage'"),
        ("count(*) where age = 'old'", "write a number"),
        ("count(*) where not age", "write a number"),
        ("count(*) where job = 'pilot'", "no value of 'job'"),
        ("count(*) where job < 'judge'", "no less or more"),
        ("count(*) where ill between 1 and 20", "'ill' is text.*is compared with 1; write a text"),
        (pl.col("ill") > Decimal("9.5"), "'ill' is text.*write a text"),
        ("count(*) where since > 'May'", "2026-01-31"),
        ("sum(ill)", "holds no numbers"),
        ("count(*) where age like '3%'", "no text"),
        ("count(*) group by pay", "published in intervals"),
        ("count(*) group by since", "published in intervals"),
        ("count(*) group by sex, sex", "twice"),
        ("count(*) group by age, job, ill, sex", "more than 1000 groups"),
    ],
)
def test_what_this_release_cannot_answer(mondrian, query: str | pl.Expr, why: str) -> None:
    """A query that fits no attribute is refused with the reason."""
    with pytest.raises(px.PhalanxError, match=why):
        mondrian.estimate(query)


@pytest.mark.parametrize("asked", ["sum(age)", "avg(age)"])
@pytest.mark.parametrize("method", [px.Mondrian(k=2), px.Anatomy(l=2)], ids=["boxes", "exact"])
def test_which_row_it_is_is_chance_too(asked: str, method: px.Mondrian | px.Anatomy) -> None:
    """Where it is settled how many rows of a group are in and not which of them, a sum's or a mean's
    interval holds what each of them gives; of all rows, of which one stands at each end of their
    box, there is no such chance.
    """
    table = pl.DataFrame({"age": [20, 40], "ill": ["flu", "gout"]})
    release = px.publish(table, px.Schema(quasi=["age"], sensitive="ill"), method)
    one, both = release.estimate(f"{asked} where ill = 'flu'"), release.estimate(asked)
    assert (one.low, one.high) == one.interval == pytest.approx((20, 40))
    settled = pytest.approx((60, 60) if "sum" in asked else (30, 30))
    assert (both.low, both.high) == settled and both.interval == settled
    assert release.estimate("count(*) where ill = 'flu'").interval == (1, 1)


def test_sets_are_refused() -> None:
    """A set of values is not one value, and is not compared with one."""
    table = pl.DataFrame({"age": [1, 2, 3, 4], "ill": [["a"], ["b"], ["a", "b"], []]})
    release = px.publish(table, px.Schema(quasi=["age"], sensitive="ill"), px.Mondrian(k=2))
    with pytest.raises(px.PhalanxError, match="sets"):
        release.estimate("count(*) where ill = 'a'")
    assert release.estimate("count(*) where age < 10").low == 4


def test_suppression_leaves_no_upper_bound(tmp_path) -> None:
    """Where the plan allows suppression there is no upper bound and no interval, unless the
    publisher says how many; the answer says why.
    """
    table = TABLE.with_columns(
        ill=pl.when(pl.int_range(pl.len()) < 150).then(pl.lit("cold")).otherwise("ill")
    )
    release = px.Release.read(published(METHODS["m-invariance"], table, tmp_path).path)
    found = release.estimate("count(*) where age < 40")
    assert (
        found.high is None
        and found.interval is None
        and found.figures[0].published[1] <= release.rows
    )
    assert any("suppressed" in note for note in found.notes)
    absent = table.height - (release.rows - release.counterfeits)
    told = release.estimate("count(*) where age < 40", suppressed=absent)
    assert told.high == found.figures[0].published[1] + absent and told.interval is not None
    assert release.estimate("sum(age)", suppressed=absent).high is None
    with pytest.raises(px.PhalanxError, match="no number of rows"):
        release.estimate("count(*)", suppressed=-1)


@pytest.mark.parametrize("beta", [0, -1, "1/0", "x", {}, None, pytest.param(10**400, id="huge")])
def test_a_rate_of_sampling_that_is_none_is_refused(beta) -> None:
    """A stranger's manifest may say anything of it."""
    release = px.publish(people(400), schema(), METHODS["safe-sampling"])
    wrong = [{**promise, "beta": beta} for promise in release.manifest.guarantees]
    bent = replace(release, manifest=release.manifest.model_copy(update={"guarantees": wrong}))
    with pytest.raises(px.PhalanxError, match=r"beta must be|no row was sampled"):
        bent.estimate("count(*)")


def test_a_sample_has_lower_bounds_only() -> None:
    """Of safe sampling only that published rows are there is certain; the estimate is over the
    sampling rate.
    """
    release = px.publish(people(400), schema(), METHODS["safe-sampling"])
    found = release.estimate("count(*)")
    assert found.low == release.rows and found.high is None and found.interval is None
    assert found.estimate == pytest.approx(release.rows / 0.75)
    assert release.estimate("sum(age)").low is None
    with pytest.raises(px.PhalanxError, match="sample"):
        release.estimate("count(*)", suppressed=3)


@pytest.mark.parametrize("name", ["mondrian", "m-invariance", "anatomy", "slicing", "mutual-cover"])
def test_intervals_where_they_were_measured(name: str) -> None:
    """The methods that have an interval are those of which one was measured."""
    assert name in ERROR and 0 < ERROR[name] < 1
    assert "global-guarantee" not in ERROR and "safe-sampling" not in ERROR


def test_points_and_intervals_are_possible(mondrian) -> None:
    """An estimate and its interval lie within the hard bounds."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        low, high = sorted(rng.integers(15, 65, 2).tolist())
        found = mondrian.estimate(
            (pl.col("age") >= low) & (pl.col("age") <= high) & (pl.col("ill") == "flu")
        )
        assert found.low <= found.interval[0] <= found.estimate <= found.interval[1] <= found.high


def test_how_an_answer_looks(mondrian) -> None:
    """One line in Python, a small card in a notebook, plain JSON; a name is not taken for
    markup.
    """
    found = mondrian.estimate("count(*) where ill = '<b>'")
    assert (
        repr(found)
        == "<Estimate of count(*) where ill = '<b>': 0 (model: 0 to 0), certainly 0 to 0>"
    )
    assert "&lt;b&gt;" in found._repr_html_() and "(model)" in found._repr_html_()
    said = found.to_json()
    assert list(said) == ["query", "by", "level", "model", "figures", "notes", "weight"]
    assert said["figures"][0] == {
        "low": 0,
        "high": 0,
        "published": [0, 0],
        "interval": [0.0, 0.0],
        "estimate": 0.0,
        "values": {},
    }


def test_a_series_answers_from_all_its_releases(tmp_path) -> None:
    """A series gives an answer for each release, whose bounds are the release's own, and learns
    from all of them.
    """
    series = px.Series("s", schema(), px.Mondrian(k=6), to=tmp_path / "out", report=False)
    tables = [people(120, seed=i, missing=False) for i in (1, 2)]
    releases = [series.publish(table) for table in tables]
    found = series.estimate("count(*) where age < 40 and sex = 'f'")
    alone = [release.estimate("count(*) where age < 40 and sex = 'f'") for release in releases]
    assert [(e.low, e.figures[0].published) for e in found] == [
        (e.low, e.figures[0].published) for e in alone
    ]
    assert any(e.estimate != other.estimate for e, other in zip(found, alone, strict=True))
    with pytest.raises(px.PhalanxError, match="has 3 numbers"):
        series.estimate("count(*)", suppressed=[0, 0, 0])
    beside = releases[0].estimate("count(*) where age < 40 and sex = 'f'", beside=releases)
    assert beside.estimate == found[0].estimate
    other = px.publish(tables[0], schema(), px.Mondrian(k=6), seed=1)
    with pytest.raises(px.PhalanxError, match="give releases of one series"):
        releases[0].estimate("count(*)", beside=[other])
    with pytest.raises(px.PhalanxError, match="is a list of releases"):
        releases[0].estimate("count(*)", beside="x")


@pytest.mark.parametrize(
    ("figure", "text"),
    [
        (12345678901.5, "12,345,678,901 to 12,345,678,902"),
        (-12345678901.5, "-12,345,678,902 to -12,345,678,901"),
        (1.23456e-306, "1.234e-306 to 1.235e-306"),
        (5e-324, "5e-324 to 5e-324"),
        (0.1, "0.1 to 0.1"),
        (999.99951, "999.9 to 1,000"),
    ],
)
def test_bounds_are_shown_on_their_own_side(figure, text) -> None:
    """The low one is never shown as more, nor the high one as less, and tiny ones are shown."""
    assert between(figure, figure) == text


@pytest.mark.parametrize("written", ["parquet", "csv"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_kept_timestamps_are_compared_as_times(zone, written: str, tmp_path) -> None:
    """Grouped by, each has its rows, also the hour that a zone has twice; a constant is a time of
    the column's zone, a day its first moment, and what is no time is refused. A CSV has no zone, but
    offsets, so that an hour with two is both.
    """
    hours = [dt.datetime(2024, 10, 27, h, tzinfo=dt.UTC) for h in range(4)]
    times = pl.Series("at", hours * 3).dt.convert_time_zone(zone or "UTC")
    times = times if zone else times.dt.replace_time_zone(None)
    table = pl.DataFrame({"age": [1, 2, 3] * 4, "at": times})
    schema = px.Schema(quasi=["age"], keep=["at"])
    made = px.publish(table, schema, px.Mondrian(k=2), formats=[written])
    release = px.Release.read(made.save(tmp_path / "r").path)
    grouped = release.estimate("count(*) group by at").figures
    assert [(f.low, f.high) for f in grouped] == [(3, 3)] * 4
    first = times[0].replace(tzinfo=None)
    for query, truth in (
        (f"at = '{first}'", 6 if zone and written == "csv" else 3),
        (f"at <= '{first}'", 6 if zone else 3),
        (f"at >= '{first}.000'", 9 if zone and written == "parquet" else 12),
        ("at < timestamp '2024-10-27 03:00'", 6 if zone else 9),
        ("at < '2024-10-27'", 0),
        ("at < '2024-10-28'", 12),
        ("at like '2024-10-27%'", 12),
    ):
        counted = release.estimate(f"count(*) where {query}")
        assert (counted.low, counted.high) == (truth, truth)
    for wrong in ("5", "'noon'", "'2024-03-31 02:30'")[: 3 if zone and written == "parquet" else 2]:
        with pytest.raises(px.PhalanxError, match="is a time and is compared"):
            release.estimate(f"count(*) where at = {wrong}")


@pytest.mark.parametrize("written", ["parquet", "csv"])
def test_times_by_the_clock_are_in_order_with_no_moment(written: str, tmp_path) -> None:
    """Where the clock was put back a moment with an offset may come before what the clock says is
    earlier: it is refused there, of a CSV with two offsets anywhere; equality is always told.
    """
    hours = [dt.datetime(2024, 10, 27, h, m, tzinfo=dt.UTC) for h in range(3) for m in (0, 30)]
    times = pl.Series("at", hours * 2).dt.convert_time_zone("Europe/Berlin")
    table = pl.DataFrame({"age": [1, 2] * 6, "at": times})
    schema = px.Schema(quasi=["age"], keep=["at"])
    made = px.publish(table, schema, px.Mondrian(k=2), formats=[written])
    release = px.Release.read(made.save(tmp_path / "r").path)
    for told in (
        "2024-10-27 02:30:00+02:00",
        "2024-10-27 01:30:00+00:00",
        "2024-10-27 02:30:00+01:00",
    ):
        moment = dt.datetime.fromisoformat(told).astimezone(dt.UTC)
        counted = release.estimate(f"count(*) where at = '{told}'")
        truth = 2 * hours.count(moment)
        assert (counted.low, counted.high) == (truth, truth)
        for sign in ("<", "<=", ">", ">="):
            with pytest.raises(
                px.PhalanxError, match="is published by the clock, of several offsets"
            ):
                release.estimate(f"count(*) where at {sign} '{told}'")
    if written == "parquet":
        assert release.estimate("count(*) where at < '2024-10-27 04:00:00+01:00'").low == 12


def test_kept_texts_that_are_no_times_of_one_kind_are_texts(tmp_path) -> None:
    """Of a CSV: with other digits, with an offset here and none there, or with a word among them."""
    for texts in (
        ["2020-01-01 03:04:05.000", "2020-01-01 03:04:05.000000"],
        ["2020-01-01 03:04:05.000", "2020-01-01 03:04:05.000+01:00"],
        ["2020-01-01 03:04:05.000", "unknown"],
        ["2020-01-01 03:04:05", "2020-01-01 03:04:06"],
    ):
        table = pl.DataFrame({"age": [1, 2] * 2, "at": texts * 2})
        made = px.publish(
            table, px.Schema(quasi=["age"], keep=["at"]), px.Mondrian(k=2), formats=["csv"]
        )
        release = px.Release.read(made.save(tmp_path / f"r{len(str(texts))}").path)
        assert release.estimate(f"count(*) where at = '{texts[1]}'").low == 2
        assert release.estimate("count(*) where at = '2020-01-01 03:04'").high == 0
        assert release.estimate("count(*) where at < 'noon'").low is not None


def test_a_kept_infinity_is_a_value() -> None:
    """It is counted, no number is equal to it, and what it is added to is no figure."""
    numbers = [math.inf, -math.inf, 1.0, 1.7e308] * 2
    table = pl.DataFrame({"age": [1, 2] * 4, "x": numbers})
    release = px.publish(table, px.Schema(quasi=["age"], keep=["x"]), px.Mondrian(k=2))
    grouped = release.estimate("count(*) group by x").figures
    assert [(f.low, f.high) for f in grouped] == [(2, 2)] * 4
    assert json.dumps(grouped[-1].to_json()["values"], allow_nan=False) == '{"x": "inf"}'
    assert release.estimate("count(*) where x < 1e999").high == 6
    assert release.estimate("sum(x)").estimate is release.estimate("avg(x)").estimate is None
    assert release.estimate("sum(x) where x < 5 and x > -5").estimate == 2
    assert release.measure(table, seed=1)["marginals"].release == 0


@pytest.mark.parametrize(
    "query",
    [
        "count(*) where sex",
        "count(*) where not sex",
        "count(*) where age > 30 and sex",
        "count(*) where sex = true",
        pl.col("sex") & (pl.col("age") > 30),
    ],
    ids=str,
)
def test_a_text_is_no_condition(query) -> None:
    """Where it is neither true nor false: it would be true of no row, for certain."""
    table = pl.DataFrame({"age": [30, 31] * 20, "sex": ["f", "m"] * 20, "ill": ["a", "b"] * 20})
    release = px.publish(table, px.Schema(quasi=["age", "sex"], sensitive="ill"), px.Mondrian(k=4))
    with pytest.raises(ReleaseError, match="'sex' is text, and none of it is true or false"):
        release.estimate(query)


@pytest.mark.parametrize("values", [[True, False], ["true", "no"], [True, None]], ids=str)
def test_what_is_true_or_false_is_a_condition(values) -> None:
    """A flag, or a text that says so."""
    table = pl.DataFrame({"age": [30, 31] * 20, "smokes": values * 20, "ill": ["a", "b"] * 20})
    roles = px.Schema(quasi=["age", "smokes"], sensitive="ill", missing="value")
    release = px.publish(table, roles, px.Mondrian(k=4))
    for query in ("count(*) where smokes", "count(*) where smokes = true"):
        (figures,) = release.estimate(query).figures
        assert figures.low <= 20 <= figures.high


def test_a_group_that_is_called_as_a_figure_keeps_its_values() -> None:
    """The figure's column has a sign more."""
    table = pl.DataFrame({"low": ["f", "m"] * 20, "estimate": [1, 2] * 20})
    release = px.publish(table, px.Schema(quasi=["low", "estimate"]), px.Mondrian(k=2))
    found = release.estimate("count(*) group by low, estimate").table
    assert found.columns[:2] == ["low", "estimate"]
    assert sorted(found["low"].unique()) == ["f", "m"]
    assert found.columns[3] == "high" and len({*found.columns}) == 7
