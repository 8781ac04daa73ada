# SPDX-License-Identifier: Apache-2.0
"""A view in which all entries that say the same share a place says what each by itself said."""

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from estimators.test_regions import ENTRY, ends_of, regions_of
from phalanx.estimators import entries as rooms
from phalanx.estimators.answering import estimate
from phalanx.estimators.conditions import All
from phalanx.estimators.draws import draw
from phalanx.estimators.entries import Ends
from phalanx.estimators.reading import _views, view_of
from phalanx.estimators.view import Box, View
from phalanx.randomness import Randomness
from phalanx.report.usefulness import _even
from support.estimator_cases import METHODS, people, published

QUERIES = [
    "count(*)",
    "count(*) where age >= 40 and sex = 'f'",
    "count(*) where job = 'office' or pay < 2",
    "sum(pay) where ill = 'gout' or age is null",
    "avg(age) where since >= '2004-01-01'",
    "count(*) group by ill",
]
LONGER = [
    "avg(pay) where age >= 30 or (pay > 2 and age < 20)",
    "sum(age) where job = 'office' and ill != 'gout'",
    "count(*) where (sex = 'f' or age < 30) and (pay < 3 or ill = 'flu')",
    "avg(pay) where age < 0",
    "sum(pay) where pay < 2",
]


@pytest.fixture
def all_shared(monkeypatch):
    """Places are shared however few entries say the same."""
    monkeypatch.setattr(rooms, "_FEW", 0)


@pytest.mark.usefixtures("all_shared")
@pytest.mark.parametrize("name", METHODS)
def test_answers_and_tables_are_the_same(tmp_path, name: str) -> None:
    """To the last digit, of every form; and so are those of the view in two parts."""
    release = published(METHODS[name], people(), tmp_path)
    if name == "safe-sampling":
        queries = QUERIES[:2]
    else:
        queries = QUERIES
    whole = view_of(release)
    expected = [estimate(release, query).to_json() for query in queries], draw(release, 1, seed=1)
    shared = whole.packed().unpacked()
    assert any(e.which is not None for f in shared.facets for e in f.ends.values())
    for view in (shared, View.apart([some.packed() for some in halves(whole)]).whole()):
        _views[release] = view
        found = [estimate(release, query).to_json() for query in queries], draw(release, 1, seed=1)
        assert found[0] == expected[0]
        assert found[1][0].equals(expected[1][0])


@pytest.mark.parametrize("name", METHODS)
def test_parts_that_stay_apart_answer_the_same(tmp_path, name: str) -> None:
    """Of every form: figures are added up part by part, and what is believed is learned of all."""
    release = published(METHODS[name], people(), tmp_path)
    queries = QUERIES[:2] if name == "safe-sampling" else [*QUERIES, *LONGER]
    whole = view_of(release)
    expected = [estimate(release, query, weighted=False) for query in queries]
    _views[release] = View.apart([some.packed() for some in halves(whole)])
    for answer, query in zip(expected, queries, strict=True):
        found = estimate(release, query, weighted=False)
        assert found.notes == answer.notes and found.model == answer.model
        assert len(found.figures) == len(answer.figures)
        for one, other in zip(found.figures, answer.figures, strict=True):
            assert numbers(one) == pytest.approx(numbers(other), rel=1e-9, abs=1e-9)
    assert _views[release].parts
    assert view_of(release).rows.tolist() == whole.rows.tolist()
    assert _views[release].parts  # which is asked the next time, too


def numbers(figures) -> list[float]:
    """All of its figures; infinite ones for those that are not there."""
    ends = [figures.low, figures.high, figures.estimate, *(figures.published or (None, None))]
    ends += figures.interval or (None, None)
    return [float("inf") if end is None else float(end) for end in ends]


def test_what_is_shared_holds_nothing_else() -> None:
    """Some texts among many keep no memory of the many: Polars gives those that it gathers all the
    memory that they were in.
    """
    texts = ["a text of more than twelve letters", None, "another text of as many"]
    chosen = np.random.default_rng(1).integers(0, 3, 30_000)
    values = pl.Series("a", [texts[i] for i in chosen.tolist()])
    shared = Ends.of_interval(values, values.reverse()).shared()
    assert shared.which is not None
    assert [shared.low[int(i)] for i in shared.which[:50]] == values[:50].to_list()
    assert [shared.high[int(i)] for i in shared.which[:50]] == values.reverse()[:50].to_list()
    for end in (shared.low, shared.high):
        held = end.to_arrow(compat_level=pl.CompatLevel.newest()).get_total_buffer_size()
        assert held < 2_000


def halves(view: View) -> list[View]:
    """The groups of a view as two views."""
    middle = len(view.rows) // 2
    made = []
    for some in (np.arange(middle), np.arange(middle, len(view.rows))):
        facets, shown = (
            tuple(
                replace(
                    facet,
                    group=facet.group[at] - some[:1].sum(),
                    count=facet.count[at],
                    ends={name: ends.taken(at) for name, ends in facet.ends.items()},
                    tight=None if facet.tight is None else facet.tight[at],
                )
                for facet in each
                for at in [np.flatnonzero(np.isin(facet.group, some))]
            )
            for each in (view.facets, view.shown)
        )
        made.append(
            replace(
                view,
                rows=view.rows[some],
                counterfeits=view.counterfeits[some],
                facets=facets,
                shown=shown,
                _lines={},
                _keys={},
                _different={},
                _totals={},
            )
        )
    return made


@given(st.lists(ENTRY, min_size=1, max_size=12), st.integers(0, 12))
@example([(1, 2, missing, tight) for missing in (False, True) for tight in (False, True)], 2)
@example([(1, 2, False, False), (None, 2, False, False), (1, None, False, False)], 1)
def test_entries_that_differ_in_anything_share_no_place(entries, first: int) -> None:
    """Each is in the box that it would be in by itself; of two parts, too, one of which may be
    empty.
    """
    facet, view = ends_of(entries)
    expected = regions_of(Box.of(view, facet, "price", view.regions("price", All(()))))
    few, rooms._FEW = rooms._FEW, 0
    try:
        ends = facet.ends["price"]
        at = np.arange(len(entries))
        parts = [ends.taken(some).shared() for some in (at[:first], at[first:])]
        for made in (ends.shared(), Ends.together(parts)):
            assert made.which is not None
            assert len(made.low) <= len(entries)
            again = replace(facet, ends={"price": made})
            view = replace(view, facets=(again,), _lines={}, _keys={}, _different={})
            found = regions_of(Box.of(view, again, "price", view.regions("price", All(()))))
            assert found == expected
    finally:
        rooms._FEW = few


@pytest.mark.parametrize(
    "values",
    [
        ["b", "a", None, "b", ""],
        [3, -(2**62), None, 3, 0],
        [2.5, -0.0, None, 2.5, 0.0],
        [True, None, False],
        [date(2020, 1, 1), None, date(1960, 5, 1)],
        [None, None],
    ],
    ids=["text", "whole", "number", "flag", "day", "none"],
)
@pytest.mark.usefixtures("all_shared")
def test_values_of_every_type_are_shared(values) -> None:
    """Each entry has its value, or none."""
    column = pl.Series("x", values * 50)
    dtype = pl.Int64 if column.dtype == pl.Null else column.dtype
    shared = Ends.of_values(column.cast(dtype)).shared()
    assert shared.which is not None
    assert len(shared.low) <= len(values)
    assert shared.low[shared.which.astype(np.int64).tolist()].to_list() == values * 50
    assert shared.missing[shared.which].tolist() == [value is None for value in values * 50]
    assert shared.which.dtype == np.uint8


@pytest.mark.usefixtures("all_shared")
@pytest.mark.parametrize("values", [[Decimal("1.5")], [datetime(2020, 1, 1)]], ids=str)  # noqa: DTZ001
def test_values_of_other_types_are_left(values) -> None:
    """Which kept columns may have."""
    ends = Ends.of_values(pl.Series("x", values * 9))
    assert ends.shared() is ends


def test_values_that_mostly_differ_are_left() -> None:
    """As places would take more room than they save."""
    ends = Ends.of_values(pl.Series("x", [i // 3 for i in range(99)]))
    assert ends.shared() is ends
    assert Ends.of_values(pl.Series("x", [i // 4 for i in range(96)])).shared().which is not None


@pytest.mark.usefixtures("all_shared")
def test_hidden_values_are_not_missing_ones() -> None:
    """A missing value that may be any has a place of its own."""
    values = pl.Series("x", [None, None, 1, 1], dtype=pl.Int64)
    shared = Ends.of_values(values, np.array([True, False, False, False])).shared()
    assert shared.which is not None
    assert len(shared.low) == 3
    assert shared.nothing[shared.which].tolist() == [False, True, False, False]
    assert shared.unbounded[0][shared.which].tolist() == [True, False, False, False]


@pytest.mark.usefixtures("all_shared")
@pytest.mark.parametrize("name", ["age", "pay", "job", "sex", "since"])
def test_a_page_draws_the_same_from_shared_places(tmp_path, name: str) -> None:
    """A value anywhere in the interval of each row, as many as there are rows in intervals."""
    view = view_of(published(METHODS["widened"], people(), tmp_path))
    found = [
        _even(each, name, Randomness.seeded(1).stream("even"))
        for each in (view, view.packed().unpacked())
    ]
    assert found[0] is not None
    assert len(found[0])
    assert found[0].equals(found[1])
