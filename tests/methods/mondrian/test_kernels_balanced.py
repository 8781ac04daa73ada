# SPDX-License-Identifier: Apache-2.0
"""Balanced cuts: the kernel against its slow twin, ties, threads, and the sizes that rows are dealt
out in.
"""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from naive import balanced as naive
from phalanx.kernels.rule import FREQUENCY, Asked, of_size
from phalanx.methods.mondrian.balanced import (
    Shares,
    by_cuts,
    by_even_cuts,
    laid_out,
    nothing_required,
    nothing_shared,
    places_of,
)
from phalanx.methods.mondrian.kernels import balanced as kernel
from phalanx.methods.mondrian.kernels import dividing
from phalanx.methods.mondrian.kernels.dealing import dealt_apart
from phalanx.randomness import Randomness

Sets = list[list[int]]


def shares_of(held: Sets, base: list[float], over: list[dict[int, float]]) -> Shares:
    """``held``: the values of each row; ``base``: what each value demands; ``over``: what each row
    demands beyond.
    """
    starts = np.cumsum([0, *map(len, held)]).astype(np.int64)
    distinct = [each for i, each in enumerate(over) if each not in over[:i]]
    over_of = np.array([distinct.index(each) for each in over], dtype=np.int32)
    over_starts = np.cumsum([0, *map(len, distinct)]).astype(np.int64)
    codes = np.array([v for values in held for v in values], dtype=np.int32)
    demands = [pair for each in distinct for pair in each.items()]
    value, ratio = (
        np.array([v for v, _ in demands], dtype=np.int32),
        np.array([r for _, r in demands], dtype=np.float32),
    )
    base = np.array(base, dtype=np.float64)
    return Shares(starts, codes, base, over_of, over_starts, value, ratio)


def frequency(values: list[int], l: Fraction) -> Asked:
    """No value in more than 1/l of a group."""
    totals = np.bincount(values).astype(np.int64)
    rule = of_size(1)._replace(
        diversity=FREQUENCY,
        l_num=l.numerator,
        l_den=l.denominator,
        totals=totals,
        nodes=np.arange(len(totals), dtype=np.int32)[None, :],
        node_totals=totals[None, :].copy(),
    )
    return Asked(np.array(values, dtype=np.int32), rule)


def keeps_frequency(values: list[int], l: Fraction) -> naive.Holds:
    return lambda part, size, _: max(Counter(values[i] for i in part).values()) * l <= size


def keeps_shares(held: Sets, base: list[float], over: list[dict[int, float]]) -> naive.Holds:
    def holds(part: list[int], size: int, node: list[int]) -> bool:
        counts = Counter(v for i in part for v in held[i])
        return all(
            c * max([base[v], *(over[i].get(v, 0) for i in node)]) <= size
            for v, c in counts.items()
        )

    return holds


def by_one_thread(
    positions: Any,
    order: Any,
    wanted: kernel.Sizes,
    asked: Asked,
    lots: Any = None,
) -> Any:
    """The groups of all rows by one thread; rows are dealt out where there are ``lots``."""
    n, shares = len(order), nothing_shared(len(order))
    unit, lots = (wanted.unit, np.empty(0, dtype=np.int32)) if lots is None else (0, lots)
    group, root = np.full(n, -1, dtype=np.int64), np.array([[0, n, 1, unit]])
    places = laid_out(places_of(positions[order]), order, shares, asked)
    kernel.cut(places, order.copy(), lots, root, wanted, shares, asked, 0, group)
    return group


def sets_of(group: Any) -> list[list[int]]:
    return sorted(np.flatnonzero(group == name).tolist() for name in np.unique(group) if name >= 0)


@st.composite
def tables(draw: st.DrawFn) -> Any:
    """Rows that differ somewhere, on one to three attributes of few values; places are binary
    fractions, so that sums of widths are exact.
    """
    d = draw(st.integers(1, 3))
    place = st.integers(0, 60 if d == 1 else 7).map(lambda x: x / 64)
    rows = draw(st.lists(st.tuples(*[place] * d), min_size=1, max_size=40, unique=True))
    return rows, np.array(draw(st.permutations(range(len(rows)))), dtype=np.int64)


@given(
    tables(),
    st.data(),
    st.integers(1, 4),
    st.integers(0, 3),
    st.sampled_from(["1", "3/2", "2", "5/2", "3"]),
    st.sampled_from(["odd", "even", "dealt"]),
)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_groups_under_a_requirement_are_those_of_the_twin(
    table: Any, data: st.DataObject, least: int, more: int, asked: str, cuts: str
) -> None:
    """The same groups, for every size and every l, with odd cuts, without, and where rows are dealt
    out; and None exactly where the whole table does not keep l.
    """
    rows, order = table
    values, l = (
        data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))),
        Fraction(asked),
    )
    nothing, places = nothing_shared(len(rows)), np.array(rows)
    found = by_cuts(places, order, least + more, least, nothing, frequency(values, l))
    holds = keeps_frequency(values, l)
    everybody = list(range(len(rows)))
    assert (found is None) == (not holds(everybody, len(rows), everybody))
    if found is not None:
        odd = cuts == "odd"
        lots = (
            np.array(data.draw(st.permutations(everybody)), dtype=np.int32)
            if cuts == "dealt"
            else None
        )
        if not odd:
            wanted = kernel.Sizes(least + more, least, odd=False)
            found = by_one_thread(places, order, wanted, frequency(values, l), lots)
        present = order.tolist()
        expected = naive.groups_of(rows, present, least + more, least, holds, odd=odd, lots=lots)
        assert sets_of(found) == expected


@given(tables(), st.data(), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_groups_of_sets_with_unequal_demands_are_those_of_the_twin(
    table: Any, data: st.DataObject, least: int, more: int
) -> None:
    """Rows that hold several protected values and demand different ratios; rows that are not in the
    order belong to no group.
    """
    rows, order = table
    n, ratio = len(rows), st.sampled_from([1.0, 1.5, 2.0, 3.25])
    held = data.draw(
        st.lists(st.lists(st.integers(0, 2), unique=True, max_size=2), min_size=n, max_size=n)
    )
    base = data.draw(st.lists(ratio, min_size=3, max_size=3))
    over = data.draw(
        st.lists(st.dictionaries(st.integers(0, 2), ratio, max_size=2), min_size=n, max_size=n)
    )
    present = order[: max(1, n - 3)].tolist()
    found = by_cuts(
        np.array(rows),
        order[: max(1, n - 3)],
        least + more,
        least,
        shares_of(held, base, over),
        nothing_required(),
    )
    holds = keeps_shares(held, base, over)
    assert (found is None) == (not holds(present, len(present), present))
    if found is not None:
        assert sets_of(found) == naive.groups_of(rows, present, least + more, least, holds)
        assert (found[order[max(1, n - 3) :]] == -1).all()


@given(
    st.integers(1, 3000),
    st.sampled_from([1, 2, 9, 1000, 5000, 2**31 - 1]),
    st.integers(0, 2**32),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_the_kth_of_some_keys_is_that_of_the_sorted_ones(
    size: int, most: int, seed: int, in_place: bool
) -> None:
    """Few keys or many, of one value, of some, or spread over more places than are counted; also
    where they are scratch themselves.
    """
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, most, size + 5).astype(np.int32)
    k, counts = int(rng.integers(1, size + 1)), np.empty(1024, dtype=np.int64)
    expected = sorted(keys[:size].tolist())[k - 1]
    spare = keys if in_place else np.empty(size, dtype=np.int32)
    before = keys.copy()
    assert dividing.kth(keys, size, k, spare, counts) == expected
    assert in_place or (keys == before).all()


@given(st.integers(20, 400), st.integers(1, 5), st.integers(1, 3), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_groups_of_rows_that_all_differ_are_those_of_the_twin(
    n: int, least: int, d: int, seed: int
) -> None:
    """More rows than are sorted by comparing, with places all over the range."""
    rng = np.random.default_rng(seed)
    places = np.stack([rng.permutation(4096)[:n] for _ in range(d)], axis=1) / 4096
    values = rng.integers(0, 5, n).tolist()
    asked = Fraction(2)
    order = rng.permutation(n)
    group = by_cuts(places, order, least, least, nothing_shared(n), frequency(values, asked))
    everybody = list(range(n))
    holds = keeps_frequency(values, asked)
    assert (group is None) == (not holds(everybody, n, everybody))
    if group is not None:
        rows = [tuple(row) for row in places.tolist()]
        assert sets_of(group) == naive.groups_of(rows, order.tolist(), least, least, holds)


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.5, 0.5 + 2**-40, 0.5 + 2**-53]), min_size=1))
def test_every_row_stands_where_its_number_does(numbers: list[float]) -> None:
    """Also where several numbers are nearer to each other than a table of steps tells."""
    places = places_of(np.array(numbers)[:, None])
    assert places.values[places.codes[0]].tolist() == numbers
    assert places.values.tolist() == sorted(set(numbers))


@given(st.integers(1, 200), st.integers(1, 5), st.integers(0, 2**32))
@settings(max_examples=50, deadline=None)
def test_equal_rows_are_divided_like_others(n: int, least: int, seed: int) -> None:
    """Where all rows are equal, groups have the sizes they would have elsewhere, and which rows
    they hold is a matter of the order alone.
    """
    order = np.random.default_rng(seed).permutation(n)
    nothing = nothing_shared(n), nothing_required()
    equal = by_cuts(np.zeros((n, 2)), order, least, least, *nothing)
    apart = by_cuts(np.arange(2.0 * n).reshape(n, 2), order, least, least, *nothing)
    turned = by_cuts(np.zeros((n, 2)), order[::-1].copy(), least, least, *nothing)
    assert equal is not None
    assert apart is not None
    assert turned is not None
    assert (
        sorted(map(len, sets_of(equal)))
        == sorted(map(len, sets_of(apart)))
        == sorted(map(len, sets_of(turned)))
    )
    relabelled = np.empty(n, dtype=np.int64)
    relabelled[order[::-1]] = order
    assert sorted(sorted(relabelled[group].tolist()) for group in sets_of(turned)) == sets_of(equal)


def test_a_long_tail_takes_no_cuts_that_others_need() -> None:
    """Beside an attribute of which few rows stand far out, groups are at most a third wider on two
    even ones than without it; half of the rows of every cut through it would stay as far apart.
    """
    rng = np.random.default_rng(1)
    tail, even = rng.lognormal(0, 1.5, 8_192), rng.integers(0, 100, (2, 8_192)) / 100
    beside, without = np.stack([*even, tail / tail.max()], axis=1), even.T.copy()

    def wide(positions: Any) -> float:
        deal = Randomness.seeded(1).stream("deal")
        group = by_even_cuts(positions, deal, 5, nothing_required())
        return sum(
            float((without[rows].max(0) - without[rows].min(0)).sum()) * len(rows)
            for rows in sets_of(group)
        )

    assert wide(beside) < 4 / 3 * wide(without)


def test_rows_equal_on_one_attribute_are_divided_by_the_next() -> None:
    """Eight rows of one sex and two ages: halves are of one age each, although the cut is by sex
    first.
    """
    rows = np.array([(1.0, 0.0), *[(0.0, 0.1)] * 4, *[(0.0, 0.4)] * 3])
    group = by_cuts(
        rows, np.array([3, 1, 7, 5, 0, 2, 6, 4]), 4, 4, nothing_shared(8), nothing_required()
    )
    assert group is not None
    assert sets_of(group) == [[0, 5, 6, 7], [1, 2, 3, 4]]


def test_threads_do_not_change_the_groups() -> None:
    """A table large enough for several threads, and for nodes too large to try every attribute, is
    cut as one thread cuts it.
    """
    rng = np.random.default_rng(3)
    n = dividing.LOOKED_AT + 5_001
    positions, values = rng.integers(0, 50, (n, 3)) / 64, rng.integers(0, 9, n).tolist()
    order, asked = rng.permutation(n), frequency(values, Fraction(3))
    together = by_cuts(positions, order, 3, 3, nothing_shared(n), asked)
    alone = by_one_thread(positions, order, kernel.Sizes(3, 3, odd=True), asked)
    assert together is not None
    assert (together == alone).all()
    assert len(np.unique(together)) > 1000


def test_no_rows_are_in_no_groups() -> None:
    """An empty table, or an empty order, has no group."""
    none, stream = nothing_shared(0), Randomness.seeded(1).stream("deal")
    dealt = by_even_cuts(np.empty((0, 2)), stream, 2, nothing_required())
    kept = by_cuts(np.empty((0, 2)), np.empty(0, dtype=np.int64), 2, 2, none, nothing_required())
    assert dealt is not None
    assert kept is not None
    assert (len(dealt), len(kept)) == (0, 0)


@given(
    st.integers(1, 5000),
    st.integers(1, 12),
    st.integers(0, 400),
    st.integers(1, 6),
    st.sampled_from([1, 27]),
)
@settings(max_examples=300, deadline=None)
def test_rows_are_dealt_out_in_parts_that_can_be_halved(
    n: int, least: int, more: int, d: int, thirds: int
) -> None:
    """As the twin says: a part is a size of groups times 2**i, and times 1, 3, 9 or 27 where that
    many are allowed, and neither it nor what is left is smaller than asked.
    """
    if n < least:
        return
    smallest = least + more
    rows, size = dealt_apart(n, least, smallest, d, thirds)
    assert (rows, size) == naive.dealt_apart(n, least, smallest, d, thirds)
    ways = rows // size
    assert rows % size == 0
    assert ways // (ways & -ways) in (1, 3, 9, 27)
    assert ways // (ways & -ways) <= thirds
    assert size >= least
    assert rows == n or min(rows, n - rows) >= smallest


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_parts_that_hold_no_more_than_they_may_are_counted(values: list[int], rows: int) -> None:
    """As the twin counts them: parts of one size, one behind the other, what is left being none."""
    order = np.random.default_rng(len(values)).permutation(len(values))
    holds = keeps_frequency(values, Fraction(3, 2))
    parts = [order[i : i + rows].tolist() for i in range(0, len(values) - rows + 1, rows)]
    wanted = sum(holds(part, rows, part) for part in parts) / max(len(parts), 1)
    asked = frequency(values, Fraction(3, 2))
    assert kernel.share_held(order, rows, nothing_shared(len(values)), asked) == wanted


def test_groups_come_to_a_size_that_most_cuts_make() -> None:
    """With at least five rows and l = 3, groups of six may hold a value twice, and those of five
    once: in most parts of rows they are made of six, whatever the number of rows.
    """
    for n in (7_418, 7_448, 30_000):
        values = np.random.default_rng(n).integers(0, 8, n).tolist()
        where = np.random.default_rng(1).random((n, 2))
        asked = frequency(values, Fraction(3))
        group = by_even_cuts(where, Randomness.seeded(n).stream("deal"), 5, asked)
        assert group is not None
        sizes_of, times = np.unique(np.unique(group, return_counts=True)[1], return_counts=True)
        assert times[sizes_of == 6].sum() * 6 > n / 2


@pytest.mark.parametrize("n", [1, 7, 100, 4001])
@pytest.mark.parametrize("l", ["2", "5/2", "4"])
def test_even_cuts_keep_the_requirement(n: int, l: str) -> None:
    """Every group is large and diverse enough; groups are as many as rows allow where values are
    rare.
    """
    rng = np.random.default_rng(n)
    values = rng.permutation(np.arange(n) % 20).tolist()
    holds, least = keeps_frequency(values, Fraction(l)), -(-Fraction(l) // 1)
    group = by_even_cuts(
        rng.random((n, 2)),
        Randomness.seeded(n).stream("deal"),
        int(least),
        frequency(values, Fraction(l)),
    )
    if not holds(list(range(n)), n, []):
        assert group is None
        return
    assert group is not None
    found = sets_of(group)
    assert all(len(members) >= least and holds(members, len(members), members) for members in found)
    assert len(found) > n / (4 * least)
