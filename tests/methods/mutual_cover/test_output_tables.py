# SPDX-License-Identifier: Apache-2.0
"""The random output tables of whole groups: as cheap as any under which every tuple changes, exact
in whole numbers; groups without any are widened.
"""

import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import joint_outputs as naive
from naive import outputs as alone
from phalanx.data.distances import Line, Matrix
from phalanx.errors import MethodError
from phalanx.methods.mutual_cover import output_tables, program
from phalanx.methods.mutual_cover.kernels import joint_program as kernel
from phalanx.methods.mutual_cover.output_tables import (
    Maker,
    denominator_for,
    rounded,
    units_of,
    widened,
)
from phalanx.methods.mutual_cover.problems import Layout
from phalanx.methods.mutual_cover.program import solve, together_by_highs

DELTAS = [
    Fraction(1),
    Fraction(1, 2),
    Fraction(1, 3),
    Fraction(2, 7),
    Fraction(3, 10),
    Fraction(5, 8),
    Fraction(33, 100),
    Fraction(1, 5),
]
LITTLE = 1e-6
"""Our tables leave a billionth of room; the least cost lies between those of scipy without room and
with this much.
"""


class Group:
    """Tuples of codes, distances between the codes of every attribute, and what comes out of
    them.
    """

    def __init__(
        self,
        tuples: list[tuple[int, ...]],
        distances: list[list[list[float]]],
        delta: Fraction,
        changes: int,
        group: list[int] | None = None,
    ):
        self.said = f"Group({tuples}, {distances}, {delta!r}, {changes}, {group})"
        self.delta, self.changes, self.distances = delta, changes, distances
        self.sizes = [len(matrix) for matrix in distances]
        self.columns = [np.array(column, dtype=np.int32) for column in zip(*tuples, strict=True)]
        of = np.zeros(len(tuples), np.int64) if group is None else np.array(group)
        self.layout = Layout.of(
            self.columns,
            [Matrix(np.array(matrix, dtype=float)) for matrix in distances],
            of,
        )
        self.denominator = denominator_for(len(tuples), delta)

    def __repr__(self) -> str:
        return self.said

    @property
    def classes(self) -> list[list[int]]:
        """The tuples as classes: only values that a group has are columns of its tables."""
        return self.layout.own.tolist()

    def between_classes(self) -> list[list[list[float]]]:
        """Of the one group: the distances between its values."""
        return [
            self.layout.problems.part(self.layout.problems.distances, p).tolist()
            for p in range(len(self.sizes))
        ]

    def least(self, most: float | None, *, shared: bool = True) -> float | None:
        return naive.least_cost(
            self.classes, self.between_classes(), self.delta, most, shared=shared
        )

    def solved(self) -> tuple[list[list[list[int]]], float, float, bool]:
        """Of the one group: its tables in whole units, their cost, what they cost at least, and
        whether there are none.
        """
        units, cost, bound, bad = units_of(self.layout, self.delta, self.changes, self.denominator)
        return (
            [self.layout.problems.part(units, p).tolist() for p in range(len(self.sizes))],
            float(cost[0]),
            float(bound[0]),
            bool(bad[0]),
        )

    def counts(self) -> list[list[int]]:
        problems = self.layout.problems
        return [
            problems.counts[problems.starts[p] : problems.starts[p + 1]].tolist()
            for p in range(len(problems))
        ]


@st.composite
def groups(draw: st.DrawFn, *, tuples: int = 6, attributes: int = 3, values: int = 4) -> Group:
    """A few tuples with few values, on a line, in a tree or anyhow apart; a delta that so many can
    keep, at its very end among others.
    """
    d = draw(st.integers(1, attributes))
    sizes = [draw(st.integers(1, values)) for _ in range(d)]
    m = draw(st.integers(1, tuples))
    rows = [tuple(draw(st.integers(0, size - 1)) for size in sizes) for _ in range(m)]
    distances = []
    for size in sizes:
        kind = draw(st.sampled_from(["line", "tree", "any"]))
        if kind == "any":
            anyhow = [
                [draw(st.sampled_from([0.0, 0.1, 0.5, 1.0, 1.5])) for _ in range(size)]
                for _ in range(size)
            ]
            distances.append(
                [[0.0 if i == j else x for j, x in enumerate(row)] for i, row in enumerate(anyhow)]
            )
        else:
            distances.append(
                [
                    [
                        float(abs(i - j) if kind == "line" else (i != j) + (i // 2 != j // 2))
                        for j in range(size)
                    ]
                    for i in range(size)
                ]
            )
    delta = draw(
        st.sampled_from(
            [
                x
                for x in [*DELTAS, Fraction(1, m), Fraction(2, 2 * m - 1)]
                if Fraction(1, m) <= x <= 1
            ]
        )
    )
    return Group(rows, distances, delta, draw(st.integers(1, d)))


def keeps(group: Group, tables: list[list[list[int]]]) -> bool:
    """Delta-probability, row sums and the changes of every tuple, in integers."""
    most = (len(group.sizes) - group.changes) * group.denominator
    exact = all(
        alone.keeps(counts, units, group.delta, group.denominator)
        for counts, units in zip(group.counts(), tables, strict=True)
    )
    return exact and max(naive.stays(group.classes, tables)) <= most


@given(groups())
@settings(deadline=None, max_examples=250)
def test_cost_is_that_of_the_papers_program_with_changes(group):
    """Tables cost what scipy finds with a row for each tuple, equal for equal values, and there are
    none just where it finds none; all promises are exact.
    """
    most = len(group.sizes) - group.changes
    least, with_room = group.least(most), group.least(most - LITTLE)
    tables, cost, bound, bad = group.solved()
    if least is None:
        assert bad
    if bad:
        assert with_room is None
        return
    assert least - 1e-7 * (1 + least) <= cost
    assert with_room is None or cost <= with_room + 1e-7 * (1 + with_room)
    assert bound <= least + 1e-7 * (1 + least)
    assert group.least(most, shared=False) <= cost + 1e-7 * (1 + cost)
    assert keeps(group, tables)
    for counts, units in zip(group.counts(), tables, strict=True):
        assert alone.fewest_feeders(counts, units) >= alone.promised_feeders(group.delta)
    exactly = sum(
        alone.cost(c, d, u, group.denominator)
        for c, d, u in zip(group.counts(), group.between_classes(), tables, strict=True)
    )
    assert float(exactly) <= cost + 1e-6 * (1 + cost)


@given(groups(tuples=14, attributes=4, values=6))
@settings(deadline=None, max_examples=200)
def test_cost_is_that_of_highs(group):
    """On larger groups the general solver, told the same, finds the same cost, and none where we
    have none; ours is proven where it need not stand in.
    """
    tables, cost, bound, bad = group.solved()
    found = together_by_highs(
        [np.array(c) for c in group.counts()],
        [np.array(d) for d in group.between_classes()],
        group.layout.types[0],
        float(group.delta),
        group.changes,
    )
    if found is None:
        assert bad
        return
    if bad:  # where all must change as often as they just can, rounding may leave no room
        assert group.least(len(group.sizes) - group.changes - LITTLE) is None
        return
    assert keeps(group, tables)
    theirs = sum(
        float((np.array(c)[:, None] * d * p).sum())
        for c, d, p in zip(group.counts(), group.between_classes(), found, strict=True)
    )
    assert cost == pytest.approx(theirs, rel=1e-6, abs=1e-6)
    assert bound <= cost + 1e-9


@given(groups(), st.data())
@settings(deadline=None, max_examples=60)
def test_a_unit_moved_is_noticed(group, data):
    """What the tests above rely on rejects tables with a unit too many in a row, and a unit moved
    to an own value where a tuple stays as often as it may.
    """
    tables, _, _, bad = group.solved()
    if bad:
        return
    a = data.draw(st.integers(0, len(tables) - 1))
    i, j = (data.draw(st.integers(0, len(tables[a]) - 1)) for _ in range(2))
    tables[a][i][j] += 1
    assert not keeps(group, tables)


def test_tables_of_every_attribute_alone_leave_some_unchanged():
    """Where each attribute has 1/delta tuples of each value, tables that look at one attribute
    change nobody; ours change everybody, at a cost.
    """
    group = Group([(0, 0), (0, 0), (1, 1), (1, 1)], [[[0, 1], [1, 0]]] * 2, Fraction(1, 2), 1)
    problems = group.layout.problems
    alone_tables = solve(problems, group.delta)
    assert alone_tables.cost.tolist() == [0]
    paper = rounded(problems, alone_tables.cells(problems), group.delta, group.denominator)
    assert not keeps(group, [group.layout.problems.part(paper, p).tolist() for p in range(2)])
    tables, cost, bound, bad = group.solved()
    assert keeps(group, tables) and not bad
    assert cost == pytest.approx(4) == bound
    short = [
        [[group.denominator, 0], [0, group.denominator]],
        [[1, group.denominator - 1], [group.denominator - 1, 1]],
    ]
    assert not keeps(group, short)


TIGHT = {
    "all four of two by two, at delta = 1/4": ([(0, 0), (0, 1), (1, 0), (1, 1)], Fraction(1, 4), 1),
    "two opposite tuples, at delta = 1/2": ([(0, 0), (1, 1)], Fraction(1, 2), 1),
    "two equal values each, all of two change": (
        [(0, 0), (0, 0), (1, 1), (1, 1)],
        Fraction(1, 2),
        2,
    ),
}


@pytest.mark.parametrize(("tuples", "delta", "changes"), TIGHT.values(), ids=TIGHT)
def test_groups_that_can_just_change_have_tables(tuples, delta, changes):
    """Where there is exactly one way to change often enough, without any room, it is found and kept
    exactly.
    """
    group = Group(tuples, [[[0, 1], [1, 0]]] * 2, delta, changes)
    tables, _, _, bad = group.solved()
    assert not bad and keeps(group, tables)
    assert naive.stays(group.classes, tables) == [(2 - changes) * group.denominator] * len(tuples)


def test_groups_that_cannot_change_have_none():
    """Equal tuples, too few attributes that vary, and an only attribute on which all would have to
    publish one value.
    """
    equal = Group([(0, 0)] * 4, [[[0.0, 1.0], [1.0, 0.0]]] * 2, Fraction(1, 2), 1)
    one_varies = Group(
        [(0, 0), (0, 0), (0, 1), (0, 1)], [[[0.0, 1.0], [1.0, 0.0]]] * 2, Fraction(1, 2), 2
    )
    alike = Group([(0,), (1,)], [[[0.0, 1.0], [1.0, 0.0]]], Fraction(1, 2), 1)
    for group in (equal, one_varies, alike):
        assert group.solved()[-1]
        assert group.least(len(group.sizes) - group.changes) is None


def test_what_the_first_attempt_does_not_find_is_not_given_up(monkeypatch):
    """Where the kernel finds no tables for a group that has some, the further attempts and then the
    general solver do.
    """
    rng = np.random.default_rng(5)
    group = Group(
        [tuple(row) for row in rng.integers(0, 4, (9, 3)).tolist()],
        [np.abs(np.subtract.outer(range(4), range(4))).tolist()] * 3,
        Fraction(2, 7),
        1,
    )
    expected = group.solved()
    asked: list[Any] = []
    own = kernel.least_together

    def gives_up(*arguments: Any) -> None:
        *_, attempt, solution, which = arguments
        asked.append(attempt)
        if len(asked) < fails:
            solution.cost[which], solution.bound[which] = math.inf, -math.inf
        else:
            own(*arguments)

    monkeypatch.setattr(kernel, "least_together", gives_up)
    for fails in (2, 3, 99):
        asked.clear()
        tables, cost, _, bad = group.solved()
        assert len(asked) == min(fails, 3)
        assert not bad and keeps(group, tables)
        assert cost == pytest.approx(expected[1], rel=1e-6)


def test_the_general_solver_is_not_asked_for_what_there_is_not(monkeypatch):
    """Prices that prove more than any tables cost prove that there are none, which spares groups
    that cannot change the slow way.
    """
    monkeypatch.setattr(program, "together_by_highs", None)
    far = [[0.0]], np.abs(np.subtract.outer(range(40), range(40))).tolist()
    alike, one_other = [(0, 0)] * 30, [(0, 0)] * 29 + [(0, 1)]
    many = [(0, 7)] * 3 + [
        (0, 8)
    ] * 500  # three publish the value of 500, and nobody covers for them
    varied = [(0, i % 40) for i in range(90)]
    for tuples, changes in ((alike, 1), (one_other, 1), (many, 1), (varied, 2)):
        assert Group(tuples, [*far], Fraction(1, 4), changes).solved()[-1]


def test_groups_are_solved_apart():
    """Many groups at once have the cost, bound and tables that each has by itself, whether one
    thread solves them or three.
    """
    rng = np.random.default_rng(9)
    rows = [tuple(row) for row in rng.integers(0, 4, (700, 3)).tolist()]
    group = np.repeat(np.arange(100), 7)
    rng.shuffle(group)
    distances = [np.abs(np.subtract.outer(range(4), range(4))).tolist()] * 3
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for cores in (1, 3):
            patch.setattr(
                os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)), raising=False
            )
            many = Group(rows, distances, Fraction(1, 3), 1, group.tolist())
            found.append(units_of(many.layout, many.delta, 1, 2**40))
    assert all(one.tobytes() == other.tobytes() for one, other in zip(*found, strict=True))
    units, cost, bound, bad = found[0]
    for g in range(0, 100, 9):
        lone = Group(
            [row for row, at in zip(rows, group.tolist(), strict=True) if at == g],
            distances,
            Fraction(1, 3),
            1,
        )
        lone.denominator = 2**40
        tables, its_cost, its_bound, its_bad = lone.solved()
        assert (cost[g], bound[g], bool(bad[g])) == pytest.approx((its_cost, its_bound, its_bad))
        assert tables == [many.layout.problems.part(units, a * 100 + g).tolist() for a in range(3)]


def test_equal_values_share_a_row():
    """Tuples with the same value on an attribute are drawn from the same row of the same table, and
    groups alike have tables alike.
    """
    rows = [(0, 1), (0, 2), (1, 2), (3, 1), (3, 1), (2, 0)]
    group = Group(
        rows * 2,
        [np.abs(np.subtract.outer(range(4), range(4))).tolist()] * 2,
        Fraction(1, 3),
        1,
        [0] * 6 + [1] * 6,
    )
    own = group.layout.own
    for (i, one), (j, other) in zip(enumerate(rows), list(enumerate(rows))[1:], strict=False):
        for a in range(2):
            assert (own[i, a] == own[j, a]) == (one[a] == other[a])
    assert own[:6].tolist() == own[6:].tolist()
    units, *_ = units_of(group.layout, group.delta, 1, group.denominator)
    for a in range(2):
        assert (
            group.layout.problems.part(units, 2 * a).tolist()
            == group.layout.problems.part(units, 2 * a + 1).tolist()
        )


def test_layout_finds_the_classes():
    """Classes are a group's values in the order of the domain; codes lead back to them, and types
    are the different tuples of each group.
    """
    group = Group(
        [(2, 0), (0, 0), (2, 1), (2, 0), (1, 1)],
        [[[0.0] * 3] * 3, [[0.0] * 2] * 2],
        Fraction(1, 2),
        1,
        [1, 0, 1, 1, 0],
    )
    layout = group.layout
    assert group.counts() == [[1, 1], [3], [1, 1], [2, 1]]
    assert layout.own.tolist() == [[0, 0], [0, 0], [0, 1], [0, 0], [1, 1]]
    assert layout.codes.tolist() == [0, 1, 2, 0, 1, 0, 1]
    types, first = layout.types
    assert (types.tolist(), first.tolist()) == ([[0, 0], [1, 1], [0, 0], [0, 1]], [0, 2, 4])


def maker(tuples, delta, changes=1) -> Maker:
    """A maker for tuples of codes, which lie on lines from 0 to 1."""
    columns = [np.array(column, dtype=np.int32) for column in zip(*tuples, strict=True)]
    sizes = [int(column.max()) + 1 for column in columns]
    lines = [Line(np.arange(float(size))) for size in sizes]
    return Maker(
        columns=columns,
        places=[line.line for line in lines],
        distances=lines,
        delta=delta,
        changes=changes,
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 1)), min_size=2, max_size=40
    ),
    st.integers(1, 8),
    st.integers(1, 2),
)
@settings(deadline=None, max_examples=100)
def test_groups_are_widened_until_all_change(tuples, groups, changes):
    """Whatever groups it begins with, each ends as one whose tuples all change, of groups that
    stood together; only where none can is it refused.
    """
    n, delta = len(tuples), Fraction(1, 2)
    sizes = np.array(
        [len(part) for part in np.array_split(np.arange(n), max(1, min(groups, n // 2)))]
    )
    before = np.repeat(np.arange(len(sizes)), sizes)
    try:
        tables = maker(tuples, delta, changes).tables(before)
    except MethodError:
        whole = maker(tuples, delta, changes)
        with pytest.raises(MethodError, match="not even all rows together can all change"):
            whole.tables(np.zeros(n, np.int64))
        return
    assert (np.diff(tables.group) >= 0).all() and (
        np.diff(tables.group) <= 1
    ).all()  # runs of the groups before
    assert all(
        len({int(tables.group[i]) for i in range(n) if before[i] == g}) == 1
        for g in range(len(sizes))
    )
    assert sorted(set(tables.of.ravel().tolist())) == list(range(len(tables.problems)))
    for g in range(len(tables.of)):
        rows = np.flatnonzero(tables.group == g)
        units = [tables.problems.part(tables.units, int(t)).tolist() for t in tables.of[g]]
        first = tables.problems.starts[tables.of[g]]
        for a, table in enumerate(units):
            counts = tables.problems.counts[first[a] : first[a] + len(table)].tolist()
            assert alone.keeps(counts, table, delta, tables.denominator)
            assert counts == np.bincount(tables.own[rows, a]).tolist()
            assert [tables.codes[first[a] + i] for i in tables.own[rows, a]] == [
                tuples[r][a] for r in rows
            ]
        stays = max(naive.stays(tables.own[rows].tolist(), units))
        assert stays <= (3 - changes) * tables.denominator


def test_a_row_for_each_tuple_could_cost_less():
    """What sharing rows costs: tuples that agree on one attribute only are held to the same row
    there, though one of them has to change more. So the bound is about shared rows alone.
    """
    group = Group([(0, 0), (0, 1), (1, 0)], [[[0, 2], [2, 0]], [[0, 1], [1, 0]]], Fraction(5, 8), 1)
    assert group.solved()[1] == pytest.approx(48 / 13) == group.least(1)
    least = group.least(1, shared=False)
    assert least == pytest.approx(29 / 8)
    assert least < group.solved()[2] - 0.05


def test_a_group_that_cannot_change_joins_the_nearer_neighbour():
    """Of equal tuples between two groups, those join the one whose mean is nearer; others stay as
    they are, and at the ends there is one neighbour.
    """
    four = [(0, 0), (0, 1), (1, 0), (1, 1)]
    tuples = [*four, *[(6, 0)] * 2, *[(x + 8, y) for x, y in four], *[(12, 1)] * 2]
    tables = maker(tuples, Fraction(1, 2)).tables(np.array([0] * 4 + [1] * 2 + [2] * 4 + [3] * 2))
    assert tables.group.tolist() == [0] * 4 + [1] * 8
    places = np.array([[0.0], [1.0], [5.0], [6.0]])
    assert widened(np.arange(4), np.array([True, False, False, False]), places).tolist() == [
        0,
        0,
        1,
        2,
    ]
    assert widened(np.arange(4), np.array([False, False, False, True]), places).tolist() == [
        0,
        1,
        2,
        2,
    ]
    assert widened(np.arange(4), np.array([False, True, True, False]), places).tolist() == [
        0,
        0,
        1,
        1,
    ]
    assert widened(np.arange(4), np.array([True] * 4), places).tolist() == [0, 0, 1, 1]
    with pytest.raises(
        MethodError,
        match=(
            r"not even all rows together can all change: .* ask for fewer changes or least-cost"
            r" outputs, raise delta, or add quasi-identifiers"
        ),
    ):
        widened(np.zeros(3, np.int64), np.array([True]), places[:3])


def test_too_small_groups_are_refused_before_any_work(monkeypatch):
    """A group of fewer than 1/delta tuples cannot be covered, and is refused before anything is
    solved.
    """
    monkeypatch.setattr(output_tables, "solve", None)
    with pytest.raises(
        MethodError, match="delta = 1/3 asks for at least 3 tuples in every group and a group has 2"
    ):
        maker([(0,), (1,)], Fraction(1, 3)).tables(np.zeros(2, np.int64))
