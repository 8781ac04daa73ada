# SPDX-License-Identifier: Apache-2.0
"""The drawing kernels follow the tables exactly: every point and every number that can be drawn is
drawn, and outcomes are counted.
"""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import mutual_cover as naive
from phalanx.methods.mutual_cover.kernels import drawing as kernel

Table = list[list[int]]


@st.composite
def tuples(
    draw: st.DrawFn, whole: int, *, attributes: int, values: int = 3
) -> tuple[list[Table], tuple[int, ...]]:
    """Tables in units of 1/whole, of which rows sum to the whole and many cells are 0, and the
    classes of one tuple.
    """
    tables = []
    for _ in range(draw(st.integers(1, attributes))):
        k = draw(st.integers(1, values))
        cuts = [
            sorted(draw(st.lists(st.integers(0, whole), min_size=k - 1, max_size=k - 1)))
            for _ in range(k)
        ]
        tables.append(
            [[b - a for a, b in zip([0, *cut], [*cut, whole], strict=True)] for cut in cuts]
        )
    return tables, tuple(draw(st.integers(0, len(table) - 1)) for table in tables)


def law(tables: list[Table], rows: int, whole: int, order: list[int], changes: int) -> kernel.Law:
    """What that many tuples are drawn by, as the kernel takes it."""
    sizes = [len(table) for table in tables]
    starts, cells = np.cumsum([0, *sizes]), np.cumsum([0, *(k * k for k in sizes)])
    units = np.array([n for table in tables for row in table for n in row], dtype=np.int64)
    table = np.tile(np.arange(len(tables)), (rows, 1))
    return kernel.Law(table, starts, cells, units, whole, np.array(order), changes)


def coupled(
    tables: list[Table],
    own: tuple[int, ...],
    whole: int,
    order: list[int],
    point: np.ndarray,
    draws: np.ndarray,
    *,
    first: int = 0,
    changes: int = 1,
) -> tuple[np.ndarray, int]:
    """What the kernel draws for a tuple at each point, along a line from the ``first`` place of the
    order on, and how many draws it used.
    """
    drawn = np.full((len(point), len(own)), -1)
    owns = np.tile(np.array(own), (len(point), 1))
    chances = kernel.Chances(np.full(len(point), first), point, draws)
    by = law(tables, len(point), whole, order, changes)
    return drawn, kernel.coupled(owns, by, chances, drawn)


def leaves(tables: list[Table], own: tuple[int, ...], whole: int) -> list[int]:
    """By attribute, with how many units of the whole the tuple changes."""
    return [whole - table[i][i] for table, i in zip(tables, own, strict=True)]


def on_line(leave: list[int], whole: int, order: list[int], first: int, changes: int) -> list[int]:
    """The attributes that are laid along the line, in their order."""
    line: list[int] = []
    for a in order[first:] + order[:first]:
        if sum(leave[b] for b in line) < changes * whole:
            line.append(a)
    return line


def laid(data: st.DataObject, own: tuple[int, ...]) -> tuple[list[int], dict[str, int]]:
    """An order, the place at which the line begins, and how many changes are asked for."""
    order = list(data.draw(st.permutations(range(len(own)))))
    first = data.draw(st.integers(0, len(own) - 1))
    return order, {"first": first, "changes": data.draw(st.integers(1, len(own)))}


@given(tuples(60, attributes=5, values=4), st.data())
@settings(deadline=None, max_examples=200)
def test_each_attribute_changes_at_as_many_points_as_its_table_says(case, data):
    """Over all points 0 .. D-1 attribute a of the line changes at just q_a of them, and at each
    point as many of these change as their q sum to, rounded down or up: ``changes`` or more where
    all q together allow it.
    """
    (tables, own), whole = case, 60
    order, asked = laid(data, own)
    draws = np.array(
        data.draw(st.lists(st.integers(0, 2**63 - 1), min_size=8, max_size=8)) * (whole * len(own))
    )
    drawn, used = coupled(tables, own, whole, order, np.arange(whole), draws, **asked)
    leave = leaves(tables, own, whole)
    line = on_line(leave, whole, order, **asked)
    changed = drawn != np.array(own)
    total = sum(leave[a] for a in line)
    assert changed[:, line].sum(axis=0).tolist() == [leave[a] for a in line]
    assert set(changed[:, line].sum(axis=1).tolist()) <= {total // whole, -(-total // whole)}
    assert changed.sum(axis=1).min() >= min(asked["changes"], sum(leave) // whole)
    by_itself = whole * (len(own) - len(line))
    assert used >= changed[:, line].sum() + by_itself  # and more where a draw was refused
    assert all(
        tables[a][own[a]][drawn[u, a]] > 0 for u, a in product(range(whole), range(len(own)))
    )


def times_of(tables, own, whole, order, asked) -> np.ndarray:
    """How many draws are used at each point, by attributes of the line that change and by all
    others.
    """
    line = on_line(leaves(tables, own, whole), whole, order, **asked)
    drawn, _ = coupled(
        tables, own, whole, order, np.arange(whole), np.zeros(whole * len(own), np.int64), **asked
    )
    changed = drawn != np.array(own)
    return changed[:, line].sum(axis=1) + len(own) - len(line)


@given(tuples(60, attributes=4, values=4), st.data())
@settings(deadline=None, max_examples=100)
def test_marginals_are_those_of_the_tables_exactly(case, data):
    """Over all points, and all remainders that a draw can leave, each value comes out just as often
    as its units say.
    """
    (tables, own), whole = case, 60
    order, asked = laid(data, own)
    turns = math.lcm(*(q for q in leaves(tables, own, whole) if q), whole)
    if turns > 20_000:
        return
    point = np.repeat(np.arange(whole), turns)
    times = np.repeat(times_of(tables, own, whole, order, asked), turns)
    draws = np.repeat(np.tile(np.arange(turns), whole), times)
    drawn, _ = coupled(tables, own, whole, order, point, draws, **asked)
    for a, table in enumerate(tables):
        assert np.bincount(drawn[:, a], minlength=len(table)).tolist() == [
            n * turns for n in table[own[a]]
        ]


@given(tuples(4, attributes=3), st.data())
@settings(deadline=None, max_examples=60)
def test_what_comes_out_together_is_systematic_sampling(case, data):
    """Over all places of the order, all points and all remainders of all draws, each row comes out
    exactly as often as by the definition of the coupling.
    """
    (tables, own), whole = case, 4
    order, asked = laid(data, own)
    each = 12  # the least common multiple of 1 .. 4
    found: Counter[tuple[int, ...]] = Counter()
    for first in range(len(own)):
        asked["first"] = first
        times = times_of(tables, own, whole, order, asked)
        for u in range(whole):
            ways = np.array(list(product(range(each), repeat=int(times[u])))).reshape(
                each ** times[u], times[u]
            )
            point = np.full(len(ways), u)
            drawn, used = coupled(tables, own, whole, order, point, ways.ravel(), **asked)
            assert used == ways.size
            for row, n in Counter(map(tuple, drawn.tolist())).items():
                found[row] += Fraction(n, whole * len(ways) * len(own))
    assert found == naive.coupled(tables, whole, own, order, asked["changes"])


def test_the_order_of_attributes_has_no_influence_on_how_many_change():
    """However attributes are laid along the line, q decides; which ones change together does depend
    on the order.
    """
    tables, own = (
        [[[6, 6], [0, 12]], [[6, 6], [0, 12]], [[9, 3], [0, 12]], [[9, 3], [0, 12]]],
        (0, 0, 0, 0),
    )
    together = []
    for order in ([0, 1, 2, 3], [0, 2, 1, 3]):
        drawn, _ = coupled(tables, own, 12, order, np.arange(12), np.zeros(48, np.int64), changes=2)
        assert (drawn != 0).sum(axis=0).tolist() == [6, 6, 3, 3]
        assert set((drawn != 0).sum(axis=1).tolist()) == {1, 2}
        together.append({tuple(row) for row in (drawn != 0).tolist()})
    assert together[0] != together[1]


def test_what_one_attribute_makes_certain_is_left_to_no_other():
    """An attribute that always changes is a line by itself: the others change or stay as their
    tables say, also all of them at once; along one line just one of them would change.
    """
    tables, own = [[[0, 12], [12, 0]], *[[[6, 6], [6, 6]]] * 2], (0, 0, 0)
    draws = np.array([[0, *way] for way in product((0, 6), repeat=2)])
    drawn, _ = coupled(tables, own, 12, [0, 1, 2], np.zeros(4, np.int64), draws.ravel())
    assert {tuple(row) for row in drawn.tolist()} == {
        (1, *way) for way in product((0, 1), repeat=2)
    }
    draws = np.zeros(36, np.int64)
    drawn, _ = coupled(tables, own, 12, [0, 1, 2], np.arange(12), draws, changes=2, first=1)
    assert set((drawn[:, 1:] != 0).sum(axis=1).tolist()) == {1}


def broken_point(tables, own, whole, order, point, draws):
    """Broken: a point of its own for each attribute, so that by chance all stay."""
    drawn = np.stack(
        [
            coupled(tables, own, whole, order, (point * (a + 1) + a * 5) % whole, draws)[0][:, a]
            for a in range(len(own))
        ],
        axis=1,
    )
    return drawn, len(draws)


def test_independent_points_would_leave_rows_unchanged():
    """The count of changes above rejects a drawer that gives every attribute a point of its own,
    though it keeps the tables' marginals.
    """
    tables, own = [[[6, 6], [0, 12]], [[6, 6], [0, 12]]], (0, 0)
    for drawer, fewest in ((coupled, 1), (broken_point, 0)):
        drawn, _ = drawer(tables, own, 12, [0, 1], np.arange(12), np.zeros(24, np.int64))
        assert (drawn != 0).sum(axis=0).tolist() == [6, 6]
        assert (drawn != 0).sum(axis=1).min() == fewest


def test_too_few_draws_are_an_error():
    """A kernel that runs out of randomness stops instead of using some twice."""
    tables, own = [[[0, 12], [12, 0]]], (0,)
    with pytest.raises(ValueError, match="too few draws"):
        coupled(tables, own, 12, [0], np.arange(12), np.zeros(11, np.int64))


@pytest.mark.parametrize("whole", [2**40, 2**61 // 5])
def test_large_denominators_do_not_overflow(whole):
    """With the finest units and seven attributes, the ends of all parts are hit: one unit before an
    end the attribute changes, at the end it does not.
    """
    own = (0,) * 7
    q = [whole // 3, whole - 1, 1, whole, 0, whole // 2, 5]
    tables = [[[whole - n, n], [0, whole]] for n in q]
    ends = np.cumsum([0, *q]).tolist()
    points = sorted({(end + x) % whole for end in ends for x in (-1, 0, 1)})
    drawn, _ = coupled(
        tables,
        own,
        whole,
        list(range(len(own))),
        np.array(points),
        np.zeros(len(points) * len(own), np.int64),
        changes=len(own),
    )
    for u, row in zip(points, drawn.tolist(), strict=True):
        assert row == [
            int(any(ends[a] <= u + z * whole < ends[a + 1] for z in range(len(own) + 1)))
            for a in range(len(own))
        ]
