# SPDX-License-Identifier: Apache-2.0
"""Tables in which the tuples of a group are alike: all that is promised, values as often as they
occur, and groups in which all can change.
"""

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import alike as naive
from phalanx.data.column import Column
from phalanx.data.distances import Line
from phalanx.data.domain import Domain
from phalanx.errors import MethodError, PlanError
from phalanx.methods.mondrian.method import Mondrian, partition
from phalanx.methods.mutual_cover.alike import alike
from phalanx.methods.mutual_cover.kernels import alike as kernel
from phalanx.methods.mutual_cover.kernels import alike_cuts
from phalanx.methods.mutual_cover.method import MutualCover
from phalanx.methods.mutual_cover.output_tables import denominator_for, rounded
from phalanx.methods.mutual_cover.problems import Layout
from support.drafts import publish, simple

PARTS = 64


@st.composite
def groups(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], int, Fraction]:
    """Tuples of one group, on how many attributes each changes, and delta."""
    d = draw(st.integers(1, 4))
    row = st.tuples(*(st.integers(0, draw(st.integers(0, 4))) for _ in range(d)))
    rows = draw(st.lists(row, min_size=2, max_size=12))
    window = draw(st.integers(2, len(rows)))
    return rows, draw(st.integers(1, d)), Fraction(1, window)


def layout_of(rows: list[tuple[int, ...]]) -> Layout:
    columns = [np.array(column, dtype=np.int32) for column in zip(*rows, strict=True)]
    lines = [Line(np.arange(int(column.max()) + 1.0)) for column in columns]
    return Layout.of(columns, lines, np.zeros(len(rows), np.int64))


@given(groups())
@settings(deadline=None, max_examples=300)
def test_tables_are_those_of_the_slow_twin(case):
    """Every tuple publishes every value as often as by the definition, turn by turn; a group has no
    tables just where the twin has none.
    """
    rows, changes, delta = case
    layout = layout_of(rows)
    table, bad = alike(layout, delta, changes)
    expected = naive.tables(layout.own.tolist(), changes, math.ceil(1 / delta))
    assert bad[0] == (expected is None)
    for a, of in enumerate(expected or ()):
        found = layout.problems.part(table, a)
        assert found[layout.own[:, a]] == pytest.approx(np.array(of, dtype=float))


@given(groups())
@settings(deadline=None, max_examples=200)
def test_all_that_is_promised_is_kept_in_whole_numbers(case):
    """Of rounded tables: rows sum to the denominator, no tuple has more than delta of a value, and
    own values leave room for the changes; before, values are published as often as they occur.
    """
    rows, changes, delta = case
    layout = layout_of(rows)
    table, bad = alike(layout, delta, changes)
    if bad[0]:
        return
    whole = denominator_for(len(rows), delta)
    units = rounded(layout.problems, table, delta, whole)
    stays = np.zeros(len(rows), object)
    for a in range(layout.attributes):
        counts, own = layout.problems.of(a)[0].tolist(), layout.own[:, a].tolist()
        assert counts @ layout.problems.part(table, a) == pytest.approx(counts)
        cells = layout.problems.part(units, a).astype(object)
        assert {sum(row) for row in cells.tolist()} == {whole}
        for column in cells.T.tolist():
            mass = sum(c * n for c, n in zip(counts, column, strict=True))
            assert max(column) <= delta * mass
        stays += [cells[i, i] for i in own]
    assert stays.max() <= (layout.attributes - changes) * whole


def test_a_turn_too_short_would_leave_tuples_as_they_are():
    """Power: turning by fewer places than the most frequent value has tuples keeps marginals, and
    the checks above see that tuples stay.
    """
    rows = [(0,), (0,), (1,), (1,), (2,), (3,), (4,), (5,)]
    layout = layout_of(rows)
    table, bad = alike(layout, Fraction(1, 3), 1)
    assert not bad[0] and layout.problems.part(table, 0).diagonal().max() == 0
    broken = np.zeros((6, 6))
    kernel._turn(layout.problems.of(0)[0], 8, 1, broken)
    assert layout.problems.of(0)[0] @ broken == pytest.approx(layout.problems.of(0)[0])
    assert broken.diagonal().max() > 0


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[list[float]]]:
    """Rows of codes and where the codes lie; some domains are far larger than the table."""
    places = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.sampled_from([1, 2, 3, 8, 300]))
        steps = draw(st.lists(st.integers(0, 30), min_size=min(size, 8), max_size=min(size, 8)))
        places.append((np.cumsum(np.resize(steps, size)) / PARTS).tolist())
    n = draw(st.integers(2, 24))
    return [tuple(draw(st.integers(0, len(at) - 1)) for at in places) for _ in range(n)], places


@given(tables(), st.integers(1, 4), st.integers(1, 4), st.integers(1, 2))
@settings(deadline=None, max_examples=150)
def test_groups_cost_no_more_than_the_slow_twins_and_can_change(table, k, window, changes):
    """The groups are the twin's, up to cuts that cost the same: as cheap, as large as asked, and all
    can change where all rows together can.
    """
    rows, places = table
    k = max(k, window)
    if len(rows) < k or changes > len(places):
        return
    quasi = [
        Column(
            np.array([row[a] for row in rows], dtype=np.int32),
            Domain("numeric", pl.Series(range(len(at)))),
        )
        for a, at in enumerate(places)
    ]
    found = partition(
        Mondrian(k=k, cut_at="median"),
        quasi,
        None,
        cutter=lambda *more: alike_cuts.cut(changes, window, *more),
        places=[np.array(at) for at in places],
    )
    sets = [np.flatnonzero(found == g).tolist() for g in range(int(found.max()) + 1)]
    assert min(map(len, sets)) >= k
    expected = naive.groups(rows, places, k, changes, window)
    if naive.tables(rows, changes, window) is not None:
        assert all(naive.tables([rows[i] for i in one], changes, window) for one in sets)
        assert (len(sets) > 1) == (len(expected) > 1)
    if len(set(map(len, expected))) == len(expected) == len(sets) == 2:
        assert sorted(map(len, sets)) == sorted(map(len, expected))


def test_marginals_stay():
    """Half of the rows have 40 hours, others any: the cheapest tables publish some hours far more
    often than they occur, and others less; where tuples are alike, only chance does.
    """
    rng = np.random.default_rng(3)
    hours = np.where(rng.random(800) < 0.5, 40, rng.integers(30, 50, 800)).tolist()
    rows = list(zip(rng.integers(0, 300, 800).tolist(), hours, ["flu"] * 800, strict=True))
    before, off = np.bincount(hours, minlength=50), {}
    for outputs in ("least-cost", "alike"):
        shown = publish(simple(rows), delta="1/6", outputs=outputs).form.table["b"].to_numpy()
        off[outputs] = int(np.abs(np.bincount(shown, minlength=50) - before).sum())
    assert 2 * off["alike"] < off["least-cost"]


def test_rows_that_cannot_change_are_refused():
    """As with tables of least cost, in the same sentence; and an unknown word is no outputs."""
    with pytest.raises(MethodError, match=r"^not even all rows together can all change"):
        publish(simple([(1, 1, "flu")] * 7 + [(2, 1, "flu")]), delta="1/4", outputs="alike")
    with pytest.raises(
        PlanError, match=r"outputs = 'even' is not known; use alike or least-cost\."
    ):
        MutualCover(delta="1/4", outputs="even")
    assert MutualCover(delta="1/4", outputs="alike").parameters()["outputs"] == "alike"
