# SPDX-License-Identifier: Apache-2.0
"""What is believed of values that are not published: numbers are counted as those are that were
published, and a text that a query names takes nothing from those that were.
"""

from datetime import date
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import phalanx as px
from naive import rooms
from phalanx.errors import ReleaseError
from phalanx.estimators.conditions import Comparison
from phalanx.estimators.draws import draw
from phalanx.estimators.lines import Keys, Known, Line
from phalanx.estimators.regions import Regions
from phalanx.release.manifest import PublishedAttribute

WORDS = [*"abcdefgh"]


def regions_of(kind, intervals, tests, **given):
    """The regions of published intervals, each a low and a high end, and of tests."""
    attribute = PublishedAttribute(name="x", role="quasi", type=kind, columns=["x"])
    ends = [pl.Series(side) for side in zip(*intervals, strict=True)]
    line = Line(attribute, ends, **given)
    low, high = (Keys.of(line, side) for side in ends)
    return Regions.of(line, Known.of(line, [(low, high)]), tests)


def said(regions):
    """The room of each point, and of each gap between two, by these."""
    points = regions.points.tolist()
    room = regions.measure.tolist()
    assert room[0] == room[-2] == room[-1] == 0
    return {point: room[2 * i + 1] for i, point in enumerate(points)} | {
        pair: room[2 * i + 2] for i, pair in enumerate(pairwise(points))
    }


@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)), min_size=1, max_size=6),
    st.sets(st.sampled_from(WORDS)),
    st.sets(st.sampled_from(WORDS)),
)
@example([("a", "h")], {"b", "d"}, {"c"})
@example([("a", "b"), ("e", "f"), ("a", "b"), ("e", "h")], {"c", "d"}, {"g"})
def test_texts_between_two_that_are_published_share_one_room(drawn, named, compared):
    """As it is spelled out; and a published one has the same room whatever a query names."""
    intervals = [(min(both), max(both)) for both in drawn]
    published = {end for interval in intervals for end in interval}
    tests = [Comparison("x", "in", tuple(sorted(named)))] if named else []
    tests += [Comparison("x", "upto", (text,)) for text in sorted(compared)]
    regions = regions_of("categorical", intervals, tests)
    points = sorted(published | named | compared)
    expected = rooms.of_texts(points, intervals, named - published)
    found = said(regions)
    assert found == {each: pytest.approx(float(expected.get(each, 0))) for each in found}
    assert {*expected} <= {*found}
    drawable = regions.drawable[1:-1:2] > 0
    assert {text for text, can in zip(points, drawable, strict=True) if can} == published


STEPS = [Fraction(1, parts) for parts in (1, 2, 4, 10, 20, 100, 1000)]


@given(
    st.sampled_from(STEPS),
    st.sets(st.integers(-30, 30), min_size=1, max_size=6),
    st.lists(st.floats(-40, 40), max_size=3),
)
@example(Fraction(1, 10), {1, 2, 3}, [0.15, 0.3, 0.30000000000000004])
def test_numbers_are_counted_in_the_largest_step_of_all(step, multiples, asked):
    """Each multiple of the step has the same room, published or not, and what is none has none."""
    ends = sorted(float(i * step) for i in multiples)
    largest = next(
        one for one in STEPS if all(float(round(end / one) * one) == end for end in ends)
    )
    tests = [Comparison("x", "in", tuple(asked))] if asked else []
    regions = regions_of("numeric", [(end, end) for end in ends], tests)
    assert regions.parts == 1 / largest
    expected = rooms.of_numbers(regions.points.tolist(), largest)
    assert said(regions) == expected


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([0.5, 1 / 3], False),
        ([1.0, float("inf")], False),
        ([1.0, 1e300], False),
        ([0.0, 20.0], True),
    ],
    ids=["thirds", "an infinity", "huge", "cells"],
)
def test_other_numbers_are_not_counted(values, cells):
    """They may be any between two; so may those in declared cells, whose ends tell nothing of them."""
    regions = regions_of("numeric", [(value, value) for value in values], [], cells=cells)
    assert regions.parts == 0
    assert regions.measure[1:-1:2].tolist() == [0, 0]


@given(
    st.sampled_from([1, 0.25, 0.01, 2**60]),
    st.lists(st.integers(0, 40), min_size=2, max_size=8, unique=True),
    st.integers(0, 2**32),
)
def test_what_is_drawn_is_counted_and_in_its_gap(step, multiples, seed):
    """Whole numbers that no float holds, too: between two ends, and each of them."""
    dice = np.random.default_rng(seed)
    shift = step if step > 1 else 0
    ends = [shift + m / round(1 / step) if step < 1 else shift + m for m in sorted(multiples)]
    regions = regions_of("numeric", [(end, end) for end in ends], [])
    place = dice.integers(1, len(ends), 400)
    drawn = regions.value_in(2 * place, dice.random(400)).tolist()
    for i, value in zip(place, drawn, strict=True):
        low, high = regions.points[i - 1], regions.points[i]
        assert low <= value <= high
        if regions.measure[2 * i] > 0:
            assert low < value < high
            steps = value * max(1, regions.parts)
            assert steps == pytest.approx(round(steps), abs=1e-9)
    if step in (1, 2**60) and len(ends) == 2:
        assert {*drawn} >= {*range(int(ends[0]) + 1, min(int(ends[1]), int(ends[0]) + 3))}


def test_one_missing_number_changes_nothing_of_the_others():
    """With it all are stored with decimals; what is asked of single ones still adds up to all."""
    rng = np.random.default_rng(0)
    numbers, values = rng.integers(0, 80, 2000), rng.integers(0, 9, 2000)
    whole = pl.DataFrame({"q": numbers, "d": values})
    stored = whole.with_columns(whole["q"].cast(pl.Float64).scatter(0, None))
    asked = px.Schema(quasi=["q"], sensitive="d", missing="value")
    for table in (whole, stored):
        release = px.publish(table, asked, px.Mondrian(k=10, l=3), seed=1)
        single = [release.estimate(f"count(*) where q = {i}").estimate for i in range(80)]
        assert sum(single) == pytest.approx(table["q"].count(), rel=1e-3)
        assert (draw(release, 1, seed=1)[0]["q"].drop_nulls() % 1 == 0).all()


def test_what_is_always_true_changes_no_estimate():
    """And a text that is no end of an interval is not believed to be none, nor all."""
    races = ["W"] * 900 + ["A"] * 3 + ["B"] * 94 + ["O"] * 3
    table = pl.DataFrame({"race": races, "d": [["x", "y", "z"][i % 3] for i in range(1000)]})
    release = px.publish(table, px.Schema(quasi=["race"], sensitive="d"), px.Mondrian(k=30), seed=1)
    more = ("", " and race <> 'B'", " and race not in ('B', 'C', 'D')", " and race < 'Z'")
    answers = [release.estimate(f"count(*) where race = 'O'{one}") for one in more]
    assert [answer.estimate for answer in answers] == [pytest.approx(answers[0].estimate)] * 4
    assert answers[0].interval[0] <= 3
    between = release.estimate("count(*) where race > 'A' and race < 'O'").estimate
    named = release.estimate("count(*) where race in ('B', 'C')").estimate
    assert 0 < named < between
    assert {*draw(release, 1, never="race = 'B' and d = 'x'", seed=1)[0]["race"]} <= {*"AOW"}
    note = "of a single text little is known but the bounds"
    assert [note in str(answer.notes) for answer in answers] == [True] * 4
    assert note not in str(release.estimate("count(*) where race = 'W'").notes)


def test_of_a_grid_no_single_number_is_estimated():
    """A note says so, of equality and of a range that ends with a single number."""
    table = pl.DataFrame({"age": [float(i % 80) for i in range(4000)], "d": ["a", "b"] * 2000})
    method = px.SafeSampling(
        epsilon=2,
        delta="1e-3",
        expected_rows=4000,
        scheme={"age": {"low": 0, "high": 80, "width": 20}},
    )
    release = px.publish(table, px.Schema(quasi=["age"], sensitive="d"), method, seed=1)
    for where in ("age = 30", "age > 30", "age between 20 and 39", "age <= 30"):
        assert "ask for a range" in str(release.estimate(f"count(*) where {where}").notes)
    for where in ("age >= 31", "age < 30", "d = 'a'"):
        assert "ask for a range" not in str(release.estimate(f"count(*) where {where}").notes)
    said = str(release.estimate("count(*) where d = 'a'").notes)
    assert "intervals of texts" not in said  # which are published as they are


def test_a_number_is_equal_to_a_text_that_is_written_so_alone():
    """A postcode without its zero would be certainly in no row."""
    table = pl.DataFrame({"q": [1, 2] * 10, "zip": ["00037", "01234", "5", "7"] * 5})
    release = px.publish(table, px.Schema(quasi=["q"], sensitive="zip"), px.Mondrian(k=5))
    assert release.estimate("count(*) where zip = 5").low == 5
    for wrong in ("zip = 00037", "zip <> 00037", "zip in (5, 1234)", "zip > 5"):
        with pytest.raises(ReleaseError, match=r"'zip' is text.*write a text in 'single quotes'"):
            release.estimate(f"count(*) where {wrong}")


def test_ends_are_counted_by_groups_wherever_they_stand():
    """Many groups with one end have one place, which is no reason to believe that there is a text
    between it and the next; nor is it that the place is another one in each part.
    """
    attribute = PublishedAttribute(name="x", role="quasi", type="categorical", columns=["x"])
    column = pl.Series(["a", None, "c"])
    line = Line(attribute, [column])
    keys = Keys.of(line, column)
    assert keys.times.tolist() == [1, 1]
    assert keys.of_entries(None).times.tolist() == [1, 1]
    assert keys.of_entries(np.array([0, 0, 1, 2, 0])).times.tolist() == [3, 1]


def test_a_date_without_quotes_is_told_what_it_is():
    """A sum."""
    table = pl.DataFrame({"born": [date(1950, 1, i % 28 + 1) for i in range(40)], "d": [1, 2] * 20})
    release = px.publish(table, px.Schema(quasi=["born"], sensitive="d"), px.Mondrian(k=4))
    with pytest.raises(ReleaseError, match=r"write the date as '1950-01-01'"):
        release.estimate("count(*) where born < 1950-01-01")
    assert release.estimate("count(*) where born < '1950-01-01'").high == 0
