# SPDX-License-Identifier: Apache-2.0
"""The kernel against its slow twin, and the median by itself."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naive import mondrian as naive
from phalanx.data.column import Column
from phalanx.data.domain import Domain
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.kernels.rule import of_size
from phalanx.methods.mondrian import method as method_module
from phalanx.methods.mondrian.kernels import cuts as kernel
from phalanx.methods.mondrian.kernels import cutting, narrow_cuts
from phalanx.methods.mondrian.kernels.cutting import STRICT
from phalanx.methods.mondrian.kernels.narrow_cuts import LOOKED_AT
from phalanx.methods.mondrian.method import Mondrian, groups_of, partition, table_of
from support.work import lines, uncompiled

ILLNESSES = Tree.of_mapping(
    {
        "lung": {"short": ["flu", "cold"], "long": ["asthma"]},
        "stomach": ["ulcer", "gastritis"],
        "skin": ["rash"],
    }
)

Principle = Callable[[list[int]], bool]


@st.composite
def small_tables(draw: st.DrawFn) -> tuple[list[tuple[int, ...]], list[list[int]], list[int]]:
    """Rows of codes, the values behind the codes per attribute, and sensitive codes below 6; few
    values, so that ties abound.
    """
    d = draw(st.integers(1, 4))
    values = [sorted(draw(st.sets(st.integers(-20, 50), min_size=1, max_size=7))) for _ in range(d)]
    n = draw(st.integers(1, 40))
    rows = [tuple(draw(st.integers(0, len(v) - 1)) for v in values) for _ in range(n)]
    return rows, values, draw(st.lists(st.integers(0, 5), min_size=n, max_size=n))


def quasi_columns(rows: list[tuple[int, ...]], values: list[list[int]]) -> list[Column]:
    return [
        Column(np.array([row[a] for row in rows], dtype=np.int32), Domain("numeric", pl.Series(v)))
        for a, v in enumerate(values)
    ]


def places_of(rows: list[tuple[int, ...]], values: list[list[int]]) -> list[list[int]]:
    return naive.whole([c.domain.normalised.tolist() for c in quasi_columns(rows, values)])


def sensitive_column(codes: list[int]) -> Column:
    leaves = ILLNESSES.leaves(pl.Series([], dtype=pl.String))
    return Column(np.array(codes, dtype=np.int32), Domain("categorical", leaves, ILLNESSES))


def principles() -> list[tuple[str, dict[str, Any], Callable[[list[int]], Principle]]]:
    """Parameters of the method, and the principle that they mean for a table's sensitive values."""
    paths = [list(path) for path in ILLNESSES.paths]
    closeness = [
        (
            f"{distance}-{t}",
            {"t": t, "distance": distance},
            lambda table, t=t, distance=distance: naive.closeness(
                Fraction(t), table, distance, paths
            ),
        )
        for distance in ("equal", "ordered", "hierarchical")
        for t in ("0.1", "1/4", "0.5")
    ]

    def both(table: list[int]) -> Principle:
        return lambda group: (
            naive.frequency(Fraction(2))(group)
            and naive.apart(group, table, "ordered", paths) <= Fraction(3, 10)
        )

    return [
        ("frequency", {"l": 2}, lambda _: naive.frequency(Fraction(2))),
        ("frequency-fraction", {"l": 1.3}, lambda _: naive.frequency(Fraction(13, 10))),
        ("distinct", {"l": 3, "diversity": "distinct"}, lambda _: naive.distinct(Fraction(3))),
        ("entropy", {"l": 2, "diversity": "entropy"}, lambda _: naive.entropy(Fraction(2))),
        (
            "entropy-fraction",
            {"l": "5/2", "diversity": "entropy"},
            lambda _: naive.entropy(Fraction(5, 2)),
        ),
        (
            "recursive",
            {"l": 2, "c": "3/2", "diversity": "recursive"},
            lambda _: naive.recursive(Fraction(3, 2), 2),
        ),
        (
            "recursive-3",
            {"l": 3, "c": 2, "diversity": "recursive"},
            lambda _: naive.recursive(Fraction(2), 3),
        ),
        *closeness,
        ("both", {"l": 2, "t": "0.3", "distance": "ordered"}, both),
    ]


def sets(groups: list[list[int]]) -> set[frozenset[int]]:
    return {frozenset(group) for group in groups}


def cut(
    method: Mondrian,
    rows: list[tuple[int, ...]],
    values: list[list[int]],
    sensitive: list[int] | None,
) -> list[list[int]]:
    found = partition(
        method,
        quasi_columns(rows, values),
        None if sensitive is None else sensitive_column(sensitive),
        of="illness",
    )
    return [np.flatnonzero(found == g).tolist() for g in range(int(found.max()) + 1)]


@pytest.mark.parametrize("cut_at", ["median", "least-width"])
@pytest.mark.parametrize("cuts", ["strict", "relaxed"])
@given(small_tables(), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_k_groups_are_those_of_the_twin(cuts: str, cut_at: str, table: Any, k: int) -> None:
    """For k alone, strict and relaxed groups are the twin's, row by row."""
    rows, values, _ = table
    if len(rows) < k:
        return
    places = places_of(rows, values)
    least = k if cut_at == "least-width" else None
    expected = naive.groups_of(
        rows, places, [0] * len(rows), naive.at_least(k), relaxed=cuts == "relaxed", least=least
    )
    assert sets(cut(Mondrian(k=k, cuts=cuts, cut_at=cut_at), rows, values, None)) == sets(expected)


@pytest.mark.parametrize("cut_at", ["median", "least-width"])
def test_a_value_far_away_leaves_the_others_apart(cut_at: str) -> None:
    """Where both attributes have one value that is far from all others, groups are narrow on both
    all the same, by ranks.
    """
    draw = np.random.default_rng(5)
    rows = [(int(a), int(b)) for a, b in draw.integers(0, 100, (400, 2))] + [(100, 100)]
    values = [[*range(100), 10**15]] * 2
    groups = cut(Mondrian(k=5, cut_at=cut_at), rows, values, None)
    for a in range(2):
        codes = [[rows[i][a] for i in group if rows[i][a] < 100] for group in groups]
        assert np.mean([max(of_group) - min(of_group) for of_group in codes]) < 20


@pytest.mark.parametrize("how", ["strict", "relaxed"])
@given(
    st.integers(30, 120),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([20, 70, 600, 2000]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=60, deadline=None)
def test_large_nodes_are_cut_where_few_of_their_rows_are_widest(
    how: str, n: int, k: int, d: int, codes: int, seed: int
) -> None:
    """The twin's groups, of rows of which some stand far out, on attributes of few codes and of
    more than there is room to count.
    """
    rng = np.random.default_rng(seed)
    values = [sorted({*(rng.random(codes) ** 9 * 10**6).astype(int).tolist()}) for _ in range(d)]
    values[0] = values[0][:9]
    rows = [tuple(int(rng.integers(0, len(v))) for v in values) for _ in range(n)]
    expected = naive.groups_of(
        rows,
        places_of(rows, values),
        [0] * n,
        naive.at_least(k),
        relaxed=how == "relaxed",
        least=k,
        compared=2,
    )
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(method_module, "LOOKED_AT", 2)
        assert sets(cut(Mondrian(k=k, cuts=how), rows, values, None)) == sets(expected)


def test_a_long_tail_takes_no_cuts_that_others_need() -> None:
    """Beside an attribute of which few rows stand far out, groups are less than two thirds as wide on
    the other one as where the widest is cut at its median.
    """
    rng = np.random.default_rng(1)
    tail = np.unique((rng.lognormal(0, 2, 9_000) * 1000).astype(int)).tolist()
    values = [list(range(1000)), tail]
    codes = np.stack([rng.integers(0, len(v), 9_000) for v in values], axis=1)
    rows = [tuple(row) for row in codes.tolist()]

    def wide(cut_at: Any) -> float:
        groups = cut(Mondrian(k=5, cut_at=cut_at), rows, values, None)
        return sum(float(np.ptp(codes[group, 0])) * len(group) for group in groups)

    assert wide("least-width") < 2 / 3 * wide("median")


def with_many_attributes(n: int, d: int, seed: int) -> tuple[list[tuple[int, ...]], Any]:
    """Rows of codes and the values behind them; some attributes are one value in all of a node."""
    rng = np.random.default_rng(seed)
    values = [sorted(rng.choice(60, rng.integers(1, 9), replace=False).tolist()) for _ in range(d)]
    return [tuple(int(rng.integers(0, len(v))) for v in values) for _ in range(n)], values


@pytest.mark.parametrize("cuts", ["strict", "relaxed"])
@given(st.integers(1, 3), st.integers(4, 24), st.integers(6, 20), st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_groups_of_rows_with_many_attributes_are_those_of_the_twin(
    cuts: Any, k: int, n: int, d: int, seed: int
) -> None:
    """Attributes that are many are compared side by side, until all others are as wide as ever."""
    rows, values = with_many_attributes(n, d, seed)
    places = places_of(rows, values)
    expected = naive.groups_of(
        rows, places, [0] * n, naive.at_least(k), relaxed=cuts == "relaxed", least=k
    )
    assert sets(cut(Mondrian(k=k, cuts=cuts), rows, values, None)) == sets(expected)


@pytest.mark.parametrize("room", [{"_SIDE_BY_SIDE": 100}, {"_LAID_OUT": 150}], ids=str)
@given(st.integers(20, 60), st.integers(5, 8), st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_groups_are_the_same_however_attributes_are_looked_at(
    room: dict[str, int], n: int, d: int, seed: int
) -> None:
    """One by one, or side by side where there is room: widths add up to the same in any order."""
    rows, values = with_many_attributes(n, d, seed)
    expected = cut(Mondrian(k=2), rows, values, None)
    with pytest.MonkeyPatch.context() as monkeypatch:
        uncompiled(monkeypatch, kernel, cutting, narrow_cuts)
        for name, size in room.items():
            monkeypatch.setattr(narrow_cuts, name, size)
        assert cut(Mondrian(k=2), rows, values, None) == expected


@pytest.mark.parametrize("cuts", ["strict", "relaxed"])
def test_nodes_too_large_to_be_looked_at_are_cut_at_medians(cuts: Any) -> None:
    """Both kinds of nodes in one table, as the twin has them; k = 2 looks at 512 rows at most."""
    rng = np.random.default_rng(11)
    values = [list(range(3)), list(range(0, 5000, 7))]
    rows = [
        (int(a), int(b))
        for a, b in zip(rng.integers(0, 3, 600), rng.integers(0, len(values[1]), 600), strict=True)
    ]
    places = places_of(rows, values)
    found = sets(cut(Mondrian(k=2, cuts=cuts), rows, values, None))
    relaxed = cuts == "relaxed"
    assert found == sets(
        naive.groups_of(rows, places, [0] * 600, naive.at_least(2), relaxed=relaxed, least=2)
    )
    assert found != sets(
        naive.groups_of(
            rows, places, [0] * 600, naive.at_least(2), relaxed=relaxed, least=2, compared=600
        )
    )


@pytest.mark.parametrize("d", [2, 5, 8])
def test_even_rows_are_cut_evenly(d: int) -> None:
    """Where no place is better than another, few rows are not cut off one after the other; groups
    are no wider than by medians.
    """
    rng = np.random.default_rng(d)
    columns = [
        Column(
            rng.integers(0, 1000, 4000).astype(np.int32), Domain("numeric", pl.Series(range(1000)))
        )
        for _ in range(d)
    ]
    widths = {}
    for cut_at in ("median", "least-width"):
        groups = partition(Mondrian(k=5, cut_at=cut_at), columns, None)  # type: ignore[arg-type]
        each = [c.codes[groups == g] for g in range(groups.max() + 1) for c in columns]
        widths[cut_at] = sum(len(codes) * int(codes.max() - codes.min()) for codes in each)
    assert widths["least-width"] <= widths["median"]


@pytest.mark.parametrize("cut_at", ["median", "least-width"])
def test_rows_equal_on_the_cut_attribute_are_parted_by_earlier_cuts(cut_at: Any) -> None:
    """Half of one sex each, of all ages: relaxed groups are narrow in age, though the table is in
    no order.
    """
    rng = np.random.default_rng(2)
    columns = [
        Column(rng.integers(0, 2, 4000).astype(np.int32), Domain("numeric", pl.Series([0, 1]))),
        Column(rng.integers(0, 40, 4000).astype(np.int32), Domain("numeric", pl.Series(range(40)))),
    ]
    groups = partition(Mondrian(k=10, cuts="relaxed", cut_at=cut_at), columns, None)
    ages = [columns[1].codes[groups == g] for g in range(groups.max() + 1)]
    assert (
        sum(len(a) * int(a.max() - a.min()) for a in ages) / 4000 < 1.5
    )  # 4.7 where ties are dealt out by lot


@pytest.mark.parametrize("cut_at", ["median", "least-width"])
@pytest.mark.parametrize("cuts", ["strict", "relaxed"])
@pytest.mark.parametrize(
    ("parameters", "meaning"), [pytest.param(p, m, id=name) for name, p, m in principles()]
)
@given(small_tables(), st.integers(1, 4))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_groups_under_every_principle_are_those_of_the_twin(
    cuts: str, cut_at: str, parameters: Any, meaning: Any, table: Any, k: int
) -> None:
    """With each diversity and closeness, the groups are the twin's, and each meets the principle in
    exact arithmetic.
    """
    rows, values, sensitive = table
    principle = meaning(sensitive)
    both: Principle = lambda group: len(group) >= k and principle(group)  # noqa: E731
    if not both(sensitive):
        return
    places = places_of(rows, values)
    least = max(k, math.ceil(Fraction(parameters.get("l", 1)))) if cut_at == "least-width" else None
    expected = naive.groups_of(
        rows, places, sensitive, both, relaxed=cuts == "relaxed", least=least
    )
    found = cut(Mondrian(k=k, cuts=cuts, cut_at=cut_at, **parameters), rows, values, sensitive)
    assert all(both([sensitive[i] for i in group]) for group in found)
    assert sets(found) == sets(expected)


def test_a_group_on_the_entropy_bound_is_accepted_where_values_are_equally_frequent() -> None:
    """Three values twice each have the entropy ln 3 exactly; a float's rounding must not decide
    that.
    """
    groups = cut(
        Mondrian(l=3, diversity="entropy"),
        [(0,)] * 6 + [(1,)] * 6,
        [[0, 9]],
        [0, 0, 1, 1, 2, 2] * 2,
    )
    assert sets(groups) == {frozenset(range(6)), frozenset(range(6, 12))}


def test_a_group_nearer_to_the_entropy_bound_than_rounding_is_declined() -> None:
    """Counts 4, 1, 1, 1, 1 have the entropy ln 4 exactly, in fractions; the kernel decides against
    itself and does not cut.
    """
    half = [0, 0, 0, 0, 1, 2, 3, 4]
    assert naive.entropy(Fraction(4))(half)
    spare = [0, 1, 2, 3, 4, 5]
    groups = cut(
        Mondrian(l=4, diversity="entropy"), [(0,)] * 8 + [(1,)] * 8, [[0, 9]], [*half, *spare, 4, 5]
    )
    assert len(groups) == 1


@pytest.mark.parametrize("n", [1, 2, 7, 400])
def test_the_median_of_a_wide_domain_is_found_by_narrowing(n: int) -> None:
    """With far fewer buckets than codes, the lower median and the counts around it are right."""
    rng = np.random.default_rng(n)
    column = np.concatenate([rng.integers(0, 2**30, n), rng.integers(500, 510, n // 2)]).astype(
        np.int32
    )
    median, below, at_most = cutting.median(
        column, int(column.min()), int(column.max()), np.empty(70, np.int32)
    )
    expected = sorted(column.tolist())[(len(column) - 1) // 2]
    assert (median, below, at_most) == (
        expected,
        int((column < expected).sum()),
        int((column <= expected).sum()),
    )


def test_threads_do_not_change_the_groups() -> None:
    """A table large enough for several threads is cut as one thread cuts it."""
    rng = np.random.default_rng(3)
    n = 60_000
    columns = [
        Column(rng.integers(0, c, n).astype(np.int32), Domain("numeric", pl.Series(range(c))))
        for c in (80, 2, 1000)
    ]
    method = Mondrian(k=7)
    together = partition(method, columns, None)
    table = table_of(columns, [])
    kernel.cut(STRICT, LOOKED_AT, table, of_size(7), 0, n, 0)
    alone = groups_of(table)
    pairs = len(set(zip(together.tolist(), alone.tolist(), strict=True)))
    assert pairs == together.max() + 1 == alone.max() + 1
    assert np.bincount(together).min() >= 7


def test_equal_rows_are_one_group_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be cut, in a million rows as in few, and that is found out by one look at each
    row.
    """
    million = Column(np.zeros(1_000_000, dtype=np.int32), Domain("numeric", pl.Series([5])))
    assert partition(Mondrian(k=2), [million] * 6, None).max() == 0
    uncompiled(monkeypatch, kernel, cutting, narrow_cuts)

    def work(rows: int) -> int:
        column = Column(np.zeros(rows, dtype=np.int32), Domain("numeric", pl.Series([5])))
        return lines(lambda: partition(Mondrian(k=2), [column] * 6, None))

    assert 100 * 6 < work(200) - work(100) < 100 * 6 * 10
    assert work(300) - work(200) == work(200) - work(100)


def test_sixty_attributes_are_cut() -> None:
    """Many attributes simply work."""
    rng = np.random.default_rng(60)
    columns = [
        Column(rng.integers(0, 9, 500).astype(np.int32), Domain("numeric", pl.Series(range(9))))
        for _ in range(60)
    ]
    assert np.bincount(partition(Mondrian(k=5), columns, None)).min() >= 5


def test_a_twin_that_forgets_one_side_is_told_apart() -> None:
    """The comparison notices a cut that is allowed by its left side alone."""
    rows, values, sensitive = [(0,), (0,), (1,), (1,)], [[0, 9]], [0, 1, 2, 2]
    principle = naive.frequency(Fraction(2))
    assert not principle(sensitive[2:])
    wrong = [[0, 1], [2, 3]]
    assert sets(cut(Mondrian(l=2), rows, values, sensitive)) != sets(wrong)


@given(
    st.lists(st.integers(0, 9) | st.integers(0, 2**31 - 3), min_size=1, max_size=200),
    st.integers(0, 400),
)
def test_places_by_code_are_those_of_a_stable_sort(codes: list[int], room: int) -> None:
    """Whether codes are counted, rows are few, or they are many with more codes than rows."""
    column = np.array(codes, np.int32)
    order = np.empty(len(codes), np.int32)
    cutting.sort(column, min(codes), max(codes), np.empty(room, np.int32), order)
    assert order.tolist() == np.argsort(column, kind="stable").tolist()
