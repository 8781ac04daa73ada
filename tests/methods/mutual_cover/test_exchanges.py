# SPDX-License-Identifier: Apache-2.0
"""Rows exchanged between groups: each step the best that there is, and groups keep what they must."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import exchanges as naive
from phalanx.data.column import Column
from phalanx.data.distances import Levels, Line
from phalanx.data.domain import Domain
from phalanx.methods.mutual_cover import exchanges, program
from phalanx.methods.mutual_cover.kernels import exchanges as kernel
from phalanx.methods.mutual_cover.kernels.exchanges import Asked
from support.drafts import publish, simple

Rows = list[tuple[int, ...]]


def column(codes: list[int]) -> Column:
    return Column(
        np.array(codes, dtype=np.int32), Domain("numeric", pl.Series(range(max(codes) + 1)))
    )


def distance(kind: str, codes: list[int]) -> Line | Levels:
    """Along a line, or 0 and 1."""
    every = np.arange(max(codes) + 1)
    return (
        Line(every.astype(float))
        if kind == "line"
        else Levels(np.stack([every, np.zeros_like(every)]).astype(np.int32))
    )


def apart(rows: Rows, kinds: list[str]) -> list[list[Fraction]]:
    """How far rows are from each other, by definition."""
    width = [max(values) or 1 for values in zip(*rows, strict=True)]

    def between(one: tuple[int, ...], other: tuple[int, ...]) -> Fraction:
        parts = zip(one, other, width, kinds, strict=True)
        return sum(
            (
                Fraction(abs(x - y), w) if kind == "line" else Fraction(int(x != y))
                for x, y, w, kind in parts
            ),
            Fraction(0),
        )

    return [[between(one, other) for other in rows] for one in rows]


def after(rows: Rows, kinds: list[str], groups: naive.Groups, asked: Asked) -> naive.Groups:
    """The groups after exchanges."""
    group = np.empty(len(rows), np.int64)
    for g, members in enumerate(groups):
        group[members] = g
    columns = [list(values) for values in zip(*rows, strict=True)]
    found = exchanges.exchanged(
        [column(values) for values in columns],
        [distance(kind, values) for kind, values in zip(kinds, columns, strict=True)],
        group,
        asked,
    )
    return [np.flatnonzero(found == g).tolist() for g in range(len(groups))]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Rows, list[str], naive.Groups, Asked]:
    """Rows in groups, and what these must keep; all rows are among the nearest."""
    d = draw(st.integers(1, 3))
    row = st.tuples(*(st.integers(0, draw(st.sampled_from([1, 3, 20]))) for _ in range(d)))
    rows = draw(st.lists(row, min_size=4, max_size=kernel.NEAREST + 1))
    kinds = draw(st.lists(st.sampled_from(["line", "equal"]), min_size=d, max_size=d))
    least = draw(st.integers(1, len(rows) // 2))
    many = draw(st.integers(2, max(2, len(rows) // least)))
    groups = [list(range(len(rows)))[g::many] for g in range(many)]
    window = draw(st.integers(1, min(map(len, groups))))
    return rows, kinds, groups, Asked(least, window, draw(st.integers(1, d)))


@given(tables())
@settings(deadline=None, max_examples=150)
def test_groups_keep_what_they_must_and_no_exchange_is_missed(case):
    """Groups are as many as before and never dearer, hold each row once and at least as many as
    asked, and can change where they could; repeated until nothing happens, no move of any row lowers
    the cost and leaves groups whole, by the slow twin that counts all of them anew.
    """
    rows, kinds, groups, asked = case
    far = apart(rows, kinds)
    could = naive.can_change(rows, groups, asked.changes, asked.window)
    small = min(asked.least, *map(len, groups))
    for _ in range(50):
        changed = after(rows, kinds, groups, asked)
        assert sorted(i for group in changed for i in group) == list(range(len(rows)))
        assert min(map(len, changed)) >= small
        can = naive.can_change(rows, changed, asked.changes, asked.window)
        assert all(now for now, before in zip(can, could, strict=True) if before)
        assert naive.cost(far, changed) <= naive.cost(far, groups)
        if changed == groups:
            break
        groups, could = changed, can
    else:
        raise AssertionError("rows are exchanged without end")
    now = naive.cost(far, groups)
    for i in range(len(rows)):
        for moved in naive.moves(groups, i, asked.least, kernel.LARGEST):
            touched = [g for g, group in enumerate(moved) if sorted(group) != sorted(groups[g])]
            can = naive.can_change(rows, moved, asked.changes, asked.window)
            assert not all(can[g] for g in touched) or naive.cost(far, moved) > now - Fraction(
                1, 10**6
            )


def test_what_would_keep_rows_from_changing_is_not_done():
    """Power: by distance alone the two 0 would stand together, in a group in which they could not
    change.
    """
    rows, groups = [(0,), (1,), (10,), (0,), (1,), (11,)], [[0, 1, 2], [3, 4, 5]]
    far, asked = apart(rows, ["line"]), Asked(3, 2, 1)
    nearer = [
        moved
        for moved in naive.moves(groups, 2, 3, kernel.LARGEST)
        if naive.cost(far, moved) < naive.cost(far, groups)
    ]
    assert nearer and not any(all(naive.can_change(rows, moved, 1, 2)) for moved in nearer)
    assert after(rows, ["line"], groups, asked) == groups
    free = [(a, b) for b, (a,) in enumerate(rows)]  # another attribute, in which all differ
    assert after(free, ["line", "line"], groups, asked) != groups


def test_large_groups_stay_as_they_were_cut():
    """To compare two takes the square of their size."""
    many = 2 * kernel.LARGEST
    for more, stay in ((2, True), (0, False)):
        rows = [(i % (many // 2), i) for i in range(many + more)]
        groups = [[i for i in range(many + more) if i % 2 == side] for side in (0, 1)]
        assert (len(groups[0]) > kernel.LARGEST) is stay
        assert (after(rows, ["line", "line"], groups, Asked(2, 2, 1)) == groups) is stay


@given(tables(), st.integers(1, 6))
@settings(deadline=None, max_examples=100)
def test_the_nearest_rows_are_found(case, most):
    """Those of which none that was left out is nearer, each once, by the fractions of the twin."""
    rows, kinds, _, _ = case
    far = apart(rows, kinds)
    columns = [list(values) for values in zip(*rows, strict=True)]
    distances = [distance(kind, values) for kind, values in zip(kinds, columns, strict=True)]
    near = kernel.nearest(
        exchanges.as_rows([column(values) for values in columns], distances), most
    )
    for i, found in enumerate(near.tolist()):
        taken = [j for j in found if j >= 0]
        left = [far[i][j] for j in range(len(rows)) if j != i and j not in taken]
        assert i not in taken
        assert len(set(taken)) == len(taken) == min(most, len(rows) - 1)
        assert all(
            a <= b + Fraction(1, 10**9)
            for a, b in pairwise([*(far[i][j] for j in taken), min(left, default=10**9)])
        )


@given(st.data())
@settings(deadline=None, max_examples=50)
def test_of_many_rows_the_first_of_the_nearest_are_found(data):
    """All are looked at, as those are that are passed over: by sorting what lies between a row and
    every other, in whole numbers, which no rounding changes, of rows that are in order, and not.
    """
    n, most = data.draw(st.integers(1, 150)), data.draw(st.integers(1, 20))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    at = rng.integers(0, data.draw(st.sampled_from([1, 4, 40])), (n, 2)).astype(np.float64)
    if data.draw(st.booleans()):
        at = at[np.lexsort(at.T)]
    nodes = (at[:, :1] // 3).astype(np.int32)
    rows = kernel.Rows(np.zeros((n, 1), np.int32), at, nodes, np.array([2.0]))
    near = kernel.nearest(rows, most)
    for i in range(n):
        far = np.abs(at - at[i]).sum(axis=1) + 2 * (nodes[:, 0] != nodes[i, 0])
        expected = [j for j in np.argsort(far, kind="stable").tolist() if j != i][:most]
        assert near[i].tolist() == [*expected, *[-1] * (most - len(expected))]


@pytest.mark.parametrize(
    ("cores", "sizes"),
    [
        (1, {"_BLOCK": 40}),
        (2, {"_BLOCK": 40}),
        (1, {"_GROUPS": 8}),
        (1, {"_BLOCK": 80, "_LARGE": 200}),
    ],
)
def test_rows_are_exchanged_within_blocks_whatever_the_threads(monkeypatch, cores, sizes):
    """No row leaves the groups of its block, of so many rows or groups, or half as many rows of a
    large table; and threads have no influence.
    """
    for name, size in sizes.items():
        monkeypatch.setattr(exchanges, name, size)
    monkeypatch.setattr(program, "_ALONE", 1)
    monkeypatch.setattr(program, "threads", lambda: cores)
    rng = np.random.default_rng(5)
    rows = [tuple(row) for row in rng.integers(0, 30, (200, 3)).tolist()]
    groups = [list(range(first, first + 5)) for first in range(0, 200, 5)]
    found = after(rows, ["line", "equal", "line"], groups, Asked(3, 3, 1))
    far = apart(rows, ["line", "equal", "line"])
    assert naive.cost(far, found) < 0.9 * naive.cost(far, groups)
    assert all(i // 40 == groups[g][0] // 40 for g, group in enumerate(found) for i in group)
    monkeypatch.setattr(program, "threads", lambda: 3 - cores)
    assert after(rows, ["line", "equal", "line"], groups, Asked(3, 3, 1)) == found


def test_a_release_costs_less_for_them(monkeypatch):
    """On made-up rows of two attributes by a twentieth and more, at as many groups."""
    rng = np.random.default_rng(6)
    rows = list(zip(*rng.integers(0, 60, (2, 600)).tolist(), ["flu"] * 600, strict=True))
    moved = []
    for _ in range(2):
        draft = publish(simple(rows), delta="1/4")
        shown = draft.form.table.select("a", "b").to_numpy()[draft.groups - 1]
        moved.append(float(np.abs(shown - np.array([row[:2] for row in rows])).mean()))
        monkeypatch.setattr(
            "phalanx.methods.mutual_cover.method.exchanged", lambda _, __, group, ___: group
        )
    assert moved[0] < 0.95 * moved[1]
