# SPDX-License-Identifier: Apache-2.0
"""Balanced cuts against whoever knows the method: published from every world, and the chance of
each person and value in exact fractions.

A world gives the values of a table to its persons in one of all orders, each equally likely. The
adversary knows the persons' places, the values, every coin and this code, and sees the groups with
their values.

Why each member of a group holds each of its values with exactly the group's share, where cuts are
even:

1. A cut that is made says nothing beyond the published values, for whether it may be made follows
   from the values of its parts, and those of a part are those of its groups together.
2. A cut that fails divides a node into parts of one size, judged by one rule. Exchange all values
   of two of the parts, each row with the one in its place: the cut fails as before. Later cuts put
   an equal share of each part on each side, so rows can be put in pairs that end in the same group,
   and so do the rows of every failed cut after it. So the exchange changes no group's values and no
   other cut's outcome: the world after it is as likely as the one before.
3. Members of a group in one block of all failed cuts can be exchanged by themselves; those in
   different blocks by the exchanges of (2). So all have the same chance, and the chances add up to
   the number of rows with the value.

A cut that cannot fail says nothing by being made, so its parts need not be equal.

A node of an odd number of rows, of which one part has a and the other a + 1 rows, may not be
exchanged. It is a group where its cut fails, so nothing more is seen of it than that one part held
more than ``a / l`` of some value. By enumeration no chance is then above 1/l: the room that is
left, a part of a + 1 rows that may hold only what a rows may, is as large as what the failure says.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import product
from math import comb
from typing import Any

import numpy as np
import polars as pl
import pytest

from methods.mondrian.test_kernels_balanced import (
    frequency,
    keeps_frequency,
    keeps_shares,
    sets_of,
    shares_of,
)
from naive import balanced as naive
from phalanx.data.column import Column
from phalanx.data.domain import Domain
from phalanx.methods.mondrian.balanced import (
    by_cuts,
    nothing_required,
    nothing_shared,
)
from phalanx.methods.mondrian.method import Mondrian, balanced_partition, partition
from phalanx.randomness import Randomness

World = tuple[Any, ...]
Publish = Callable[[World], Iterable[list[int]] | None]


def arrangements(values: Iterable[Any]) -> list[World]:
    """All different orders of the values."""

    def rest(counts: Counter[Any]) -> Iterable[World]:
        if not counts:
            yield ()
        for value in sorted(counts):
            for tail in rest(counts - Counter([value])):
                yield (value, *tail)

    return list(rest(Counter(values)))


def chances(worlds: Iterable[World], publish: Publish) -> list[tuple[Fraction, Fraction, int, Any]]:
    """(chance, share, person, value) for every publication, person and value of the person's
    group.
    """
    seen = defaultdict(list)
    for world in worlds:
        groups = publish(world)
        if groups is not None:
            seen[
                tuple(
                    sorted(
                        (tuple(group), tuple(sorted(world[i] for i in group))) for group in groups
                    )
                )
            ].append(world)
    found = []
    for groups, behind in seen.items():
        for group, values in groups:
            for i in group:
                held = Counter(world[i] for world in behind)
                found += [
                    (Fraction(held[v], len(behind)), Fraction(values.count(v), len(group)), i, v)
                    for v in set(values)
                ]
    return found


def places(n: int, d: int, seed: int) -> list[tuple[float, ...]]:
    """Rows that differ, on a grid coarse enough for ties where there are several attributes."""
    rng = np.random.default_rng(seed)
    every = (
        list(product(range(3 if d == 3 else 4), repeat=d)) if d > 1 else [(x,) for x in range(n)]
    )
    return [tuple(x / 16 for x in every[i]) for i in rng.choice(len(every), n, replace=False)]


def by_kernel(rows: list[tuple[float, ...]], l: Fraction, least: int) -> Publish:
    order = np.random.default_rng(5).permutation(len(rows))

    def publish(world: World) -> list[list[int]] | None:
        group = by_cuts(
            np.array(rows),
            order,
            least,
            least,
            nothing_shared(len(rows)),
            frequency(list(world), l),
        )
        return None if group is None else sets_of(group)

    return publish


def by_twin(
    rows: list[tuple[float, ...]], l: Fraction, least: int, broken: naive.Broken
) -> Publish:
    everybody = list(range(len(rows)))

    def publish(world: World) -> list[list[int]] | None:
        holds = keeps_frequency(list(world), l)
        return (
            naive.groups_of(rows, everybody, least, least, holds, broken)
            if holds(everybody, len(rows), everybody)
            else None
        )

    return publish


EVEN = [
    ("00011123", 2),
    ("00001123", 2),
    ("000111222", 3),
    ("00001112", "3/2"),
    ("000000001111", "3/2"),
]
ODD = [
    ("0001122", 2),
    ("0011223", "5/2"),
    ("00001123", 2),
    ("0000112", "3/2"),
    ("00000001111", "3/2"),
    ("000011122", 2),
    ("0000011122", 2),
    ("0000000111111", "4/3"),
    ("000111", 2),
]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("values", "l"), EVEN)
def test_where_cuts_are_even_the_chance_is_the_share(values: str, l: Any, d: int) -> None:
    """Eight, nine and twelve rows in halves and thirds: nobody is more, or less, likely to hold a
    value than the group says.
    """
    rows, l = places(len(values), d, 1), Fraction(l)
    publish = by_kernel(rows, l, -(-l.numerator // l.denominator) if len(values) != 9 else 3)
    worlds = arrangements(map(int, values))
    found = chances(worlds, publish)
    assert len({str(publish(world)) for world in worlds[::7]}) > 1, "no cut ever failed"
    assert all(chance == share for chance, share, _, _ in found)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize(("values", "l"), ODD)
def test_where_cuts_are_odd_the_chance_is_at_most_one_in_l(values: str, l: Any, d: int) -> None:
    """Odd tables, and even ones with odd halves: a chance may differ from the share, and never is
    above 1/l.
    """
    rows, l = places(len(values), d, 2), Fraction(l)
    found = chances(
        arrangements(map(int, values)), by_kernel(rows, l, -(-l.numerator // l.denominator))
    )
    assert found
    assert max(chance for chance, _, _, _ in found) <= 1 / l


@pytest.mark.parametrize(
    ("broken", "values", "l"),
    [("free", "00000111111", "3/2"), ("own size", "000001111", "3/2"), ("forgets", "00011122", 2)],
)
def test_cuts_that_tell_are_caught(broken: naive.Broken, values: str, l: Any) -> None:
    """Going on after an odd cut failed, caps by each part's own size, and another attribute as if
    nothing had been: all put somebody above 1/l.
    """
    l, worst = Fraction(l), Fraction(0)
    for seed in range(3):
        publish = by_twin(places(len(values), 2, seed), l, 2, broken)
        worst = max(
            [
                worst,
                *(chance for chance, _, _, _ in chances(arrangements(map(int, values)), publish)),
            ]
        )
    assert worst > 1 / l


@pytest.mark.parametrize(("broken", "same"), [("", True), ("three eighths", False)])
def test_uneven_parts_are_caught(broken: naive.Broken, same: bool) -> None:
    """Eight rows, two holders, cut into three and five: a chance is no longer the share, as it is
    in the twin that cuts them into halves.
    """
    held, rows = [(0,)] * 2 + [()] * 6, places(8, 2, 0)

    def publish(world: World) -> list[list[int]]:
        return naive.groups_of(
            rows,
            range(8),
            3,
            3,
            keeps_shares([list(values) for values in world], [3.0], [{}] * 8),
            broken,
        )

    found = chances(arrangements(held), publish)
    assert all(chance == share for chance, share, _, _ in found) == same


@pytest.mark.parametrize(("broken", "same"), [("", True), ("unsure", False)])
def test_uneven_cuts_that_may_fail_are_caught(broken: naive.Broken, same: bool) -> None:
    """Seven rows in four and three: that one of them held too much is seen by what is cut instead."""
    rows, l = places(7, 2, 0), Fraction(3, 2)

    def publish(world: World) -> list[list[int]]:
        holds = keeps_frequency(list(world), l)
        return naive.groups_of(rows, range(7), 2, 2, holds, broken, odd=False)

    found = chances(arrangements(map(int, "0000111")), publish)
    assert all(chance == share for chance, share, _, _ in found) == same


@pytest.mark.parametrize(("values", "l"), [("0012345", "3/2"), ("00123456", "3/2")])
def test_where_unequal_parts_cannot_fail_the_chance_is_the_share(values: str, l: Any) -> None:
    """Seven and eight rows of rare values: some cuts are made whatever rows hold, others fail."""
    publish = by_kernel(places(len(values), 2, 1), Fraction(l), 2)
    worlds = arrangements(map(int, values))
    found = chances(worlds, publish)
    assert len({str(publish(world)) for world in worlds[::7]}) > 1, "no cut ever failed"
    assert all(chance == share for chance, share, _, _ in found)


@pytest.mark.parametrize(
    ("values", "d"), [("0012345", 3), pytest.param("00123456", 2, marks=pytest.mark.slow)]
)
def test_weights_of_widths_say_nothing_where_the_order_does_not(
    monkeypatch: pytest.MonkeyPatch, values: str, d: int
) -> None:
    """How much a width counts follows from the order of the rows, and decides cuts. In an order that
    knows nothing the chance is the share; in the order of the values it is not.
    """
    rows, l, everybody = places(len(values), d, 0), Fraction(3, 2), list(range(len(values)))
    known, worlds = np.random.default_rng(0).permutation(len(rows)).tolist(), []

    def differs(order: Callable[[World], list[int]]) -> bool:
        def publish(world: World) -> list[list[int]]:
            holds = keeps_frequency(list(world), l)
            return naive.groups_of(rows, order(world), 2, 2, holds, odd=False)

        worlds.append([publish(world) for world in arrangements(values)])
        found = chances(arrangements(values), publish)
        return any(chance != share for chance, share, _, _ in found)

    assert not differs(lambda _: known)
    monkeypatch.setattr(naive, "MANY", 2)
    monkeypatch.setattr(naive, "DRAWN", 2)
    assert not differs(lambda _: known)
    assert worlds[0] != worlds[1], "no weight ever decided"
    assert differs(lambda world: sorted(everybody, key=lambda i: world[i]))


def test_where_smaller_steps_make_a_cut_sure_the_chance_is_the_share() -> None:
    """Nineteen rows, three of whom hold a value that a third may: eight rows may not hold all
    three, as the first step would need, and nine may; within the parts cuts fail.
    """
    rows, held = places(19, 3, 1), [(0,)] * 3 + [()] * 16

    def publish(world: World) -> list[list[int]]:
        sets = shares_of([list(values) for values in world], [3.0], [{}] * 19)
        order = np.random.default_rng(5).permutation(19)
        group = by_cuts(np.array(rows), order, 1, 1, sets, nothing_required())
        return sets_of(group)

    found = chances(arrangements(held), publish)
    assert len({len(publish(world)) for world in arrangements(held)[::50]}) > 1, (
        "no cut ever failed"
    )
    assert all(chance == share for chance, share, _, _ in found)


SETS = [
    # The values of each person, as sets; what each value demands; whether cuts are even.
    ([(0,), (0, 1), (1,), (), (), (), (2,), ()], [2.0, 3.0, 4.0], True),
    ([(0, 1), (0, 1), (), (), (), (), (), (2,)], [2.5, 2.0, 6.0], True),
    ([(0,), (0, 1), (1,), (2,), (), (), (), (), ()], [2.0, 3.0, 4.0], False),
    ([(0,), (0, 1), (1,), (), (), (), ()], [2.0, 2.5, 1.0], False),
]


@pytest.mark.parametrize("over", [{}, {0: {0: 3.5}, 4: {1: 3.0}}])
@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize(("held", "base", "even"), SETS)
def test_sets_and_unequal_demands(
    held: Any, base: list[float], even: bool, least: int, over: dict[int, dict[int, float]]
) -> None:
    """A person of the node with a higher demand raises it for all; nobody holds a value with more
    than one in what the person demands.
    """
    n = len(held)
    demands = [over.get(i, {}) for i in range(n)]
    rows, order = places(n, 2, 3), np.random.default_rng(6).permutation(n)

    def publish(world: World) -> list[list[int]] | None:
        group = by_cuts(
            np.array(rows),
            order,
            3,
            least,
            shares_of([list(values) for values in world], base, demands),
            nothing_required(),
        )
        return None if group is None else sets_of(group)

    found = chances(arrangements(held), publish)
    assert found or over
    chance_of: dict[Any, Fraction] = defaultdict(Fraction)
    assert not even or all(chance == share for chance, share, _, _ in found)
    seen = defaultdict(list)
    for world in arrangements(held):
        groups = publish(world)
        if groups is not None:
            seen[
                tuple((tuple(group), tuple(sorted(world[i] for i in group))) for group in groups)
            ].append(world)
    for behind in seen.values():
        for i, v in product(range(n), range(len(base))):
            chance_of[i, v] = max(
                chance_of[i, v], Fraction(sum(v in world[i] for world in behind), len(behind))
            )
    assert all(
        chance * Fraction(max(base[v], demands[i].get(v, 0))) <= 1
        for (i, v), chance in chance_of.items()
    )


def column(codes: Iterable[int], values: int) -> Column:
    return Column(
        np.array(list(codes), dtype=np.int32), Domain("numeric", pl.Series(range(values)))
    )


@pytest.mark.parametrize(
    ("parameters", "values"),
    [
        ({"l": 2}, "00112233"),
        ({"l": 2, "diversity": "distinct"}, "00001122"),
        ({"l": "3/2", "diversity": "entropy"}, "00000112"),
        ({"l": 2, "c": 2, "diversity": "recursive"}, "00001123"),
        ({"k": 2, "t": "1/4"}, "00001122"),
        ({"k": 2, "t": "1/4", "distance": "ordered"}, "00011122"),
        ({"l": 2, "t": "1/3"}, "00111222"),
        ({"k": 3, "l": 2}, "000111223"),
        ({"l": 2, "diversity": "distinct"}, "000011"),
        ({"l": "3/2", "diversity": "entropy"}, "00112"),
        ({"k": 3, "t": "1/5"}, "000001111"),
    ],
    ids=str,
)
def test_mondrian_with_balanced_cuts_says_no_more_than_shares(
    parameters: dict[str, Any], values: str
) -> None:
    """Whatever is asked, odd tables too: the chance is the share, over all worlds, where rows are
    dealt out as one part.
    """
    n = len(values)
    ages = np.random.default_rng(8).permutation(n).tolist()
    quasi = [column(ages, n), column([age * 5 % n % 3 for age in ages], 3)]

    def publish(world: World) -> list[list[int]]:
        codes = [int(v) for v in world]
        return sets_of(
            balanced_partition(
                Mondrian(**parameters).requirement,
                quasi,
                column(codes, max(codes) + 1),
                Randomness.seeded(1).stream("deal"),
            )
        )

    found = chances(arrangements(values), publish)
    assert all(chance == share for chance, share, _, _ in found)


def test_mondrian_with_strict_cuts_is_caught() -> None:
    """Eight rows of one attribute, and six as in the page on known limits: somebody is certain."""

    def publish(world: World) -> list[list[int]]:
        return sets_of(
            partition(
                Mondrian(k=2, l=2, cuts="strict"),
                [column(range(6), 6)],
                column([int(v) for v in world], 3),
            )
        )

    found = chances(arrangements("001122"), publish)
    assert max(chance for chance, _, _, _ in found) == 1


def odd_cut(a: int, b: int, held: int, ratio: Fraction) -> Fraction | None:
    """The larger of the chances in the two parts that a member holds the value that ``held`` rows
    hold, where a cut into ``a <= b`` rows failed.
    """
    cap, ways, left, right = int(a / ratio), 0, 0, 0
    for x in range(max(0, held - b), min(a, held) + 1):
        if max(x, held - x) > cap:
            worlds = comb(a, x) * comb(b, held - x)
            ways, left, right = ways + worlds, left + worlds * x, right + worlds * (held - x)
    return max(Fraction(left, ways * a), Fraction(right, ways * b)) if ways else None


def worst_odd_cut(sizes: Iterable[int], ratios: Iterable[Fraction], own: bool = False) -> Fraction:
    """The greatest chance times the ratio; ``own``: the value may be in as many rows of the larger
    part as that allows.
    """
    worst = Fraction(0)
    for a, ratio in product(sizes, ratios):
        for held in range(1, int((2 * a + 1) / ratio) + 1):
            chance = odd_cut(a + 1, a, held, ratio) if own else odd_cut(a, a + 1, held, ratio)
            worst = max(worst, (chance or 0) * ratio)
    return worst


RATIOS = [
    Fraction(r) for r in ("10/9", "4/3", "3/2", "2", "7/3", "5/2", "3", "10/3", "4", "11/2", "10")
]


def test_a_failed_odd_cut_stays_within_the_ratio() -> None:
    """In whole numbers: for no number of holders that a node may have is a chance above 1 in the
    ratio; it would be if the larger part's size were the cap.
    """
    assert worst_odd_cut([1, 2, 3, 5, 8, 13, 21, 34, 40], RATIOS) <= 1
    assert worst_odd_cut([2, 3, 5, 8, 13], RATIOS, own=True) > 1


@pytest.mark.slow
def test_failed_odd_cuts_stay_within_the_ratio_up_to_two_hundred_rows() -> None:
    """The same for every part of up to a hundred rows."""
    assert worst_odd_cut(range(1, 101), RATIOS) <= 1


def splits(counts: tuple[int, ...], a: int) -> Iterable[tuple[int, ...]]:
    """How many rows of each value the part of ``a`` rows may hold."""
    return (x for x in product(*(range(c + 1) for c in counts)) if sum(x) == a)


def multisets(n: int, most: int) -> Iterable[tuple[int, ...]]:
    """The ways to share ``n`` rows out to values, no more than ``most`` to one, in falling
    order.
    """
    if n == 0:
        yield ()
    for first in range(min(n, most), 0, -1):
        for rest in multisets(n - first, first):
            yield (first, *rest)


@pytest.mark.parametrize("l", ["3/2", "2", "5/2", "3"])
@pytest.mark.parametrize(
    "a", [2, 3, 4, pytest.param(5, marks=pytest.mark.slow), pytest.param(6, marks=pytest.mark.slow)]
)
def test_a_failed_odd_cut_of_several_values_stays_within_the_ratio(a: int, l: str) -> None:
    """All multisets of up to thirteen rows: that one value was too frequent in a part makes no
    other more likely than 1 in l.
    """
    ratio = Fraction(l)
    cap = int(a / ratio)
    for counts in multisets(2 * a + 1, int((2 * a + 1) / ratio)):
        ways, left = 0, Counter[int]()
        for x in splits(counts, a):
            if any(max(mine, c - mine) > cap for mine, c in zip(x, counts, strict=True)):
                worlds = int(
                    np.prod(
                        [comb(c, mine) for mine, c in zip(x, counts, strict=True)], dtype=object
                    )
                )
                ways += worlds
                for v, mine in enumerate(x):
                    left[v] += worlds * mine
        for v, c in enumerate(counts) if ways else ():
            assert (
                max(Fraction(left[v], ways * a), Fraction(c * ways - left[v], ways * (a + 1)))
                * ratio
                <= 1
            )
