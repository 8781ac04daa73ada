# SPDX-License-Identifier: Apache-2.0
"""Cuts by what mutual cover will cost, against their slow twin."""

import os
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import cover_cuts as naive
from naive import mondrian as principles
from phalanx.data.column import Column
from phalanx.data.domain import Domain
from phalanx.methods.mondrian import method
from phalanx.methods.mondrian.method import Mondrian, partition
from phalanx.methods.mutual_cover.kernels import cover_cuts as kernel

PARTS = 64
"""Places are whole numbers of 1/64, so that sums of their differences are exact and equal costs are
equal.
"""


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[list[float]], list[int]]:
    """Rows of codes, where the codes lie, growing with the code and some at the same place; and
    sensitive values. Some domains are far larger than the table.
    """
    d = draw(st.integers(1, 3))
    places = []
    for _ in range(d):
        size = draw(st.sampled_from([1, 2, 3, 5, 8, 300]))
        steps = draw(st.lists(st.integers(0, 30), min_size=min(size, 8), max_size=min(size, 8)))
        places.append((np.cumsum(np.resize(steps, size)) / PARTS).tolist())
    n = draw(st.integers(1, 40))
    rows = [tuple(draw(st.integers(0, len(at) - 1)) for at in places) for _ in range(n)]
    return rows, places, draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))


def cut(
    asked: Mondrian,
    window: int,
    rows: list[tuple[int, ...]],
    places: list[list[float]],
    sensitive: list[int] | None,
) -> list[list[int]]:
    """The groups that the kernel makes."""
    quasi = [
        Column(
            np.array([row[a] for row in rows], dtype=np.int32),
            Domain("numeric", pl.Series(range(len(at)))),
        )
        for a, at in enumerate(places)
    ]
    secret = (
        None
        if sensitive is None
        else Column(
            np.array(sensitive, dtype=np.int32), Domain("categorical", pl.Series(list("abcde")))
        )
    )
    found = partition(
        asked,
        quasi,
        secret,
        of="illness",
        cutter=partial(kernel.cut, window),
        places=[np.array(at) for at in places],
    )
    return [np.flatnonzero(found == g).tolist() for g in range(int(found.max()) + 1)]


ASKED = {
    "k": ({}, principles.at_least(1)),
    "frequency": ({"l": 2}, principles.frequency(Fraction(2))),
    "frequency of a fraction": ({"l": "13/10"}, principles.frequency(Fraction(13, 10))),
    "distinct": ({"l": 3, "diversity": "distinct"}, principles.distinct(Fraction(3))),
    "entropy": ({"l": 2, "diversity": "entropy"}, principles.entropy(Fraction(2))),
    "recursive": (
        {"l": 2, "c": "3/2", "diversity": "recursive"},
        principles.recursive(Fraction(3, 2), 2),
    ),
}


@pytest.mark.parametrize(("asked", "principle"), ASKED.values(), ids=ASKED)
@given(table=tables(), k=st.integers(1, 5), window=st.integers(1, 6))
@settings(deadline=None, max_examples=80)
def test_groups_are_those_of_the_slow_twin(asked, principle, table, k, window):
    """Of all cuts that keep the promise, the one after which both sides cost least is taken, down
    to the last group.
    """
    rows, places, sensitive = table
    if len(rows) < k or not principle(sensitive):
        return

    def keeps(group: list[int]) -> bool:
        return len(group) >= k and principle(group)

    found = cut(Mondrian(k=k, **asked), window, rows, places, sensitive if "l" in asked else None)
    expected = naive.groups_of(rows, places, sensitive, keeps, window)
    assert sorted(found) == sorted(map(sorted, expected))


@given(table=tables(), window=st.integers(1, 6), grain=st.integers(1, 8))
@settings(deadline=None, max_examples=60)
def test_threads_have_no_influence(table, window, grain):
    """Whoever cuts a node, the groups and their order are the same."""
    rows, places, sensitive = table
    if not principles.distinct(2)(sensitive):
        return
    asked, found = Mondrian(k=2, l=2, diversity="distinct"), []
    if len(rows) < 2:
        return
    for alone, cores in ((50_000, 1), (1, 3)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(method, "_ALONE", alone)
            patch.setattr(method, "_GRAIN", grain)
            patch.setattr(
                os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False
            )
            found.append(cut(asked, window, rows, places, sensitive))
    assert found[0] == found[1]


@given(st.lists(st.integers(0, 9), min_size=0, max_size=12), st.integers(1, 15))
@settings(deadline=None)
def test_a_group_costs_what_lies_between_its_tuples(codes, window):
    """The cost of codes in order is the twin's; fewer tuples than cover for a value cost nothing
    more, and nobody costs more than 1.
    """
    places = np.cumsum(np.arange(10)) / PARTS * 3
    ordered = np.sort(np.array(codes, dtype=np.int32))
    assert kernel.covering(ordered, places, window) == naive.cover_cost(
        [places[code] for code in codes], window
    )


@pytest.mark.parametrize("domain", [10, 500])
def test_codes_are_put_in_order_on_both_sides(domain):
    """By counting where codes are few and by sorting where they are many; what was counted with is
    left empty.
    """
    rng = np.random.default_rng(domain)
    column, side = rng.integers(0, domain, 40).astype(np.int32), rng.random(40) < 0.4
    ordered, histogram = np.empty(40, np.int32), np.zeros((2, domain), np.int32)
    left = kernel.in_order(column, side, histogram, domain, ordered)
    assert left == side.sum()
    assert ordered[:left].tolist() == sorted(column[side].tolist())
    assert ordered[left:].tolist() == sorted(column[~side].tolist())
    assert not histogram.any()


def test_the_cheaper_cut_is_taken_not_the_widest():
    """One attribute spreads twice as wide, and the other has two heaps whose values cover for
    themselves; Mondrian cuts the former, we the latter.
    """
    rows, places = [(i, i % 2) for i in range(8)], [[i / 8 for i in range(8)], [0.0, 0.5]]
    assert sorted(cut(Mondrian(k=4), 4, rows, places, None)) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert sorted(principles.groups_of(rows, places, [0] * 8, principles.at_least(4))) == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]
