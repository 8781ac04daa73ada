# SPDX-License-Identifier: Apache-2.0
"""Rows that are dealt out before balanced cuts, against whoever knows the method: all lots, all
worlds, and the chance of each person and value in exact fractions.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest

from methods.mondrian.test_kernels_balanced import frequency, sets_of
from phalanx.kernels.rule import NONE, TREE, Asked
from phalanx.methods.mondrian import balanced
from phalanx.methods.mondrian.balanced import by_even_cuts, nothing_shared
from phalanx.methods.mondrian.kernels.dealing import dealt_apart
from worlds.test_balanced import World, arrangements


class Given:
    """A stream that permutes as it is told, in turn."""

    def __init__(self, *orders: Iterable[int]) -> None:
        self.orders = [np.array(list(order), dtype=np.int64) for order in orders]

    def permutation(self, n: int) -> Any:
        order = self.orders.pop(0)
        assert len(order) == n
        return order


def closely(values: list[int], t: Fraction) -> Asked:
    """No group further than t from the table."""
    asked = frequency(values, Fraction(1))
    rule = asked.rule._replace(
        diversity=NONE,
        distance=TREE,
        t_num=t.numerator,
        t_den=t.denominator,
        rows=len(values),
    )
    return asked._replace(rule=rule)


def dealt(
    values: str,
    l: Fraction,
    draws: Iterable[tuple[int, ...]],
    below: int = 0,
    *,
    least: int = 2,
    rule: Callable[[list[int], Fraction], Asked] = frequency,
) -> Fraction:
    """The greatest difference of a chance and a share, over worlds and the given orders in which
    rows are dealt out, of at least ``least`` rows to a group, under a ``rule``; ``below`` them stand so many rows, further
    apart, that all have other values, which are known.
    """
    n = len(values) + below
    above = (0.88, 0.9, 0.91, 0.92, 0.94, 0.96, 1.0)[: len(values)]
    rows = np.array([(x / 10,) for x in range(below)] + [(x,) for x in above])
    seen: dict[Any, Counter[World]] = defaultdict(Counter)
    orders = [(*range(below), *(below + i for i in order)) for order in draws]
    for world in arrangements(map(int, values)):
        asked = rule([*range(2, 2 + below), *world], l)
        for order in orders:
            group = by_even_cuts(rows, Given(range(n), order), least, asked)  # type: ignore[arg-type]
            if group is not None:
                found = [[i - below for i in each] for each in sets_of(group) if each[0] >= below]
                seen[
                    tuple(
                        (tuple(members), tuple(sorted(world[i] for i in members)))
                        for members in found
                    )
                ][world] += 1
    worst = Fraction(0)
    for groups, behind in seen.items():
        assert sum(len(members) for members, _ in groups) == len(values)
        for members, held in groups:
            for i, v in product(members, set(held)):
                chance = Fraction(
                    sum(often for world, often in behind.items() if world[i] == v), behind.total()
                )
                worst = max(worst, abs(chance - Fraction(held.count(v), len(members))))
    return worst


@pytest.fixture(params=[0, 8])
def below(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many rows are cut off before any is dealt out, for which groups are to come to two."""
    if request.param:
        monkeypatch.setattr(balanced, "promising", lambda *_: 2)
    return int(request.param)


@pytest.mark.slow
def test_rows_dealt_out_anew_say_nothing(below: int) -> None:
    """Seven rows, dealt out as four and three in every order that there is, at once and after a cut
    that cannot fail; deals of which a part is not diverse are drawn again.
    """
    assert dealt_apart(7, 2, 2, 1, 27) == (4, 2)
    assert dealt("0000111", Fraction(3, 2), permutations(range(7)), below) == 0


def test_rows_dealt_out_in_one_known_order_tell(below: int) -> None:
    """The same where the adversary knows the order: which deal was kept says what another would
    have held.
    """
    assert dealt("0000111", Fraction(3, 2), [(0, 1, 2, 3, 4, 5, 6)], below) > 0


@pytest.mark.slow
def test_rows_dealt_out_for_halves_alone_say_nothing() -> None:
    """Six rows that must be close to the table, dealt out as four and two in every order; in one
    known order they tell.
    """
    assert dealt_apart(6, 1, 1, 1, 1) == (4, 1)
    for draws, tells in ((permutations(range(6)), False), ([(0, 1, 2, 3, 4, 5)], True)):
        found = dealt("000011", Fraction(1, 6), draws, least=1, rule=closely)
        assert (found > 0) == tells


@pytest.mark.slow
def test_the_size_that_promises_most_says_nothing() -> None:
    """Six rows, in every order of lots: groups are to come to two rows where all pairs that are
    drawn differ, and else to three, by which the table is cut surely, or rows are dealt out.
    """
    asked, seen = frequency([0, 0, 1, 1, 2, 2], Fraction(3, 2)), set()
    for drawn in permutations(range(6)):
        seen.add(balanced.promising(np.array(drawn), 2, nothing_shared(6), asked))
    assert seen == {2, 3}
    assert dealt("001122", Fraction(3, 2), permutations(range(6))) == 0
    assert dealt("001122", Fraction(3, 2), [(0, 1, 2, 3, 4, 5)]) > 0
