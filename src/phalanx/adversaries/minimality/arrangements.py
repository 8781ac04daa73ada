# SPDX-License-Identifier: Apache-2.0
"""In how many ways the values of some groups can lie with their persons such that every one of some
cuts fails, and who then has what how often: exactly.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import chain, product
from math import comb, factorial, prod
from operator import sub
from typing import Any, Final, NamedTuple, Protocol

from phalanx.adversaries.minimality.requirements import Requirement, State

_FEW: Final = 200
"""So many ways to give rows to atoms, or fewer, are listed once and kept."""
REST = -1
"""Stands for all values of a group that break no cut, however they lie."""
Places = tuple[int, ...]
_State = tuple[Places, Any]
"""How many persons of every atom are left, and what is known of every cut."""


@dataclass(frozen=True)
class Line:
    """Rows of both sides of a cut that keep the requirement by themselves: all of them, or of
    slicing those with the same values beside the sensitive one.
    """

    sizes: tuple[int, int]
    """How many rows stand on the left, and on the right."""
    beside: tuple[Mapping[int, int], Mapping[int, int]]
    """How often each value stands there in groups that are wholly on one side."""
    atoms: tuple[Places, Places]
    """The other rows, as places among the atoms."""


@dataclass(frozen=True)
class Pool:
    """A group: its atoms, persons whom no cut parts, and how often it holds each value. Atoms are
    numbered through, pool after pool.
    """

    atoms: Places
    counts: Mapping[int, int]


@dataclass(frozen=True)
class Counted:
    """All arrangements in which every cut fails."""

    total: int
    """How many there are."""
    expected: Mapping[tuple[int, int], Fraction]
    """(atom, value) -> how many persons of the atom have the value, on average."""


class _Arrow(NamedTuple):
    """One way to give the rows with a value to atoms."""

    source: _State
    target: _State
    ways: int
    given: Places


def arrange(
    sizes: Sequence[int],
    pools: Sequence[Pool],
    cuts: Sequence[Sequence[Line]],
    requirement: Requirement,
    most: int,
) -> Counted | None:
    """Count the arrangements of the values of ``pools`` over atoms of these ``sizes`` in which
    every one of the ``cuts`` breaks the requirement.

    Values are given to atoms one after the other, and what is known of the cuts then is kept, as in
    a walk through a graph; None where it has more than ``most`` arrows. A cut is given by its
    lines, and fails where a side of one of them does not keep the requirement.
    """
    judged: _Judge = (
        _ByShares(cuts, requirement) if requirement.only_shares else _BySides(cuts, requirement)
    )
    given, shares = _merged(pools, judged.harmless(sizes, pools))
    begin = (tuple(sizes), judged.begin)
    layer, layers, seen, turns = {begin: 1}, [], 0, judged.in_turn(given)
    for value in turns:
        counts = [of_pool.get(value, 0) for of_pool in given]
        unsettled = [state for state in layer if not judged.settled(state[1])]
        # counted before they are made, as the last ones of too many would be most of the work
        seen += sum(_ways_to_give(left, pools, counts) for left, _ in unsettled)
        if seen > most:
            return None
        arrows = list(_arrows(unsettled, value, judged, pools, counts))
        reached: dict[_State, int] = {}
        for arrow in arrows:
            reached[arrow.target] = reached.get(arrow.target, 0) + layer[arrow.source] * arrow.ways
        layers.append((value, layer, arrows))
        layer = reached
    after = {state: int(judged.all_fail(state[1])) for state in layer}
    ways: dict[tuple[int, int], int] = {}
    for turn, (value, before, arrows) in reversed(list(enumerate(layers))):
        back: dict[_State, int] = {}
        for arrow in arrows:
            behind = arrow.ways * after[arrow.target]
            if behind:
                back[arrow.source] = back.get(arrow.source, 0) + behind
                for atom, count in enumerate(arrow.given):
                    if count:
                        ways[atom, value] = (
                            ways.get((atom, value), 0) + before[arrow.source] * behind * count
                        )
        for state in (state for state in before if judged.settled(state[1])):
            back[state] = _at_will(
                state[0],
                before[state],
                pools,
                [{v: counts[v] for v in turns[turn:] if v in counts} for counts in given],
                ways,
            )
        after = {state: back.get(state, 0) for state in before}
    total = after[begin]
    return Counted(total, _expected(ways, total, pools, shares))


def _arrows(
    states: Iterable[_State],
    value: int,
    judged: "_Judge",
    pools: Sequence[Pool],
    counts: Sequence[int],
) -> Iterator[_Arrow]:
    """All ways to give the rows with a value to the atoms of some states."""
    for source in states:
        left, known = source
        for places in _given(left, pools, counts):
            after = known if value == REST else judged.after(known, value, places)
            target = tuple(map(sub, left, places)), after
            yield _Arrow(source, target, prod(map(comb, left, places)), places)


class _Judge(Protocol):
    """What is known of every cut while values are given to atoms, one after the other."""

    begin: Any
    """Before the first value."""

    def harmless(self, sizes: Sequence[int], pools: Sequence[Pool]) -> set[int]:
        """The values that break no cut, however they lie."""

    def in_turn(self, given: Sequence[Mapping[int, int]]) -> list[int]:
        """The values in the order in which they are given."""

    def after(self, known: Any, value: int, given: Places) -> Any:
        """What is known once the rows with a value are given."""

    def settled(self, known: Any) -> bool:
        """Whether every cut breaks the requirement, whatever comes."""

    def all_fail(self, known: Any) -> bool:
        """Whether every cut breaks the requirement, after the last value."""


class _ByShares:
    """Cuts that are judged by the share of each value alone: of each cut it is known whether some
    value broke it, as a bit of one number.
    """

    def __init__(self, cuts: Sequence[Sequence[Line]], requirement: Requirement) -> None:
        self._sides = [
            [
                (line.beside[side], line.atoms[side], requirement.most(line.sizes[side]))
                for line in cut
                for side in range(2)
            ]
            for cut in cuts
        ]
        self._broken: dict[tuple[int, Places], int] = {}
        self._every = (1 << len(cuts)) - 1
        self.begin = 0

    def harmless(self, sizes: Sequence[int], pools: Sequence[Pool]) -> set[int]:
        values = {value for pool in pools for value in pool.counts}
        for beside, atoms, most in (side for cut in self._sides for side in cut):
            room = [sum(sizes[a] for a in pool.atoms if a in atoms) for pool in pools]
            values -= {
                v
                for v in values
                if beside.get(v, 0)
                + sum(min(p.counts.get(v, 0), r) for p, r in zip(pools, room, strict=True))
                > most
            }
        return values

    def in_turn(self, given: Sequence[Mapping[int, int]]) -> list[int]:
        # the harmless ones last
        return sorted(
            {value for counts in given for value in counts},
            key=lambda value: (value == REST, value),
        )

    def after(self, known: int, value: int, given: Places) -> int:
        # the rows with a value lie in few ways, and thousands of arrows have each
        broken = self._broken.get((value, given))
        if broken is None:
            broken = self._broken[value, given] = sum(
                1 << i
                for i, cut in enumerate(self._sides)
                if any(
                    beside.get(value, 0) + sum([given[a] for a in atoms]) > most
                    for beside, atoms, most in cut
                )
            )
        return known | broken

    def settled(self, known: int) -> bool:
        return known == self._every

    def all_fail(self, known: int) -> bool:
        return known == self._every


class _BySides:
    """Cuts whose sides are judged by all of their values together: of each side it is known what
    the values so far make of it.
    """

    def __init__(self, cuts: Sequence[Sequence[Line]], requirement: Requirement) -> None:
        self._requirement = requirement
        self._sides = [
            [
                (line.beside[side], line.atoms[side], line.sizes[side])
                for line in cut
                for side in range(2)
            ]
            for cut in cuts
        ]
        self.begin = tuple(tuple(requirement.start() for _ in cut) for cut in self._sides)

    def harmless(self, sizes: Sequence[int], pools: Sequence[Pool]) -> set[int]:
        return set()  # each value counts beside all others

    def in_turn(self, given: Sequence[Mapping[int, int]]) -> list[int]:
        if self._requirement.t is not None:
            return list(range(len(self._requirement.totals)))
        return sorted(
            {value for counts in given for value in counts}
            | {value for cut in self._sides for beside, _, _ in cut for value in beside}
        )

    def after(
        self, known: tuple[tuple[State, ...], ...], value: int, given: Places
    ) -> tuple[tuple[State, ...], ...]:
        return tuple(
            tuple(
                self._requirement.add(
                    state, value, beside.get(value, 0) + sum([given[a] for a in atoms]), size
                )
                for state, (beside, atoms, size) in zip(states, cut, strict=True)
            )
            for states, cut in zip(known, self._sides, strict=True)
        )

    def settled(self, known: tuple[tuple[State, ...], ...]) -> bool:
        return False  # the last value may still mend what the others broke

    def all_fail(self, known: tuple[tuple[State, ...], ...]) -> bool:
        return all(
            not all(
                self._requirement.keeps(state, size)
                for state, (_, _, size) in zip(states, cut, strict=True)
            )
            for states, cut in zip(known, self._sides, strict=True)
        )


def _merged(
    pools: Sequence[Pool], harmless: set[int]
) -> tuple[list[dict[int, int]], list[dict[int, Fraction]]]:
    """The values of each pool, the harmless ones taken together as one; and the share that each of
    these has of them.
    """
    given, shares = [], []
    for pool in pools:
        rest = sum(count for value, count in pool.counts.items() if value in harmless)
        given.append(
            {value: count for value, count in pool.counts.items() if value not in harmless}
            | ({REST: rest} if rest else {})
        )
        shares.append(
            {
                value: Fraction(count, rest)
                for value, count in pool.counts.items()
                if value in harmless
            }
        )
    return given, shares


def _at_will(
    left: Places,
    weight: int,
    pools: Sequence[Pool],
    counts: Sequence[Mapping[int, int]],
    counted: dict[tuple[int, int], int],
) -> int:
    """In how many ways the last values lie with the persons that are ``left`` where no cut forbids
    any; who has what then is added to ``counted``.
    """
    rows = [sum(of_pool.values()) for of_pool in counts]
    ways = prod(
        factorial(n) // prod(factorial(count) for count in of_pool.values())
        for n, of_pool in zip(rows, counts, strict=True)
    )
    for n, pool, of_pool in zip(rows, pools, counts, strict=True):
        for value, count in of_pool.items():
            each = weight * (
                ways * count // n
            )  # a whole number: so many arrangements give the value to a certain person
            for atom in pool.atoms:
                if left[atom]:
                    counted[atom, value] = counted.get((atom, value), 0) + each * left[atom]
    return ways


def _ways_to_give(left: Places, pools: Sequence[Pool], counts: Sequence[int]) -> int:
    """How many ways there are to give so many rows of each pool to its atoms."""
    return prod(
        _ways_to_deal(left[pool.atoms[0] : pool.atoms[-1] + 1], count)
        for pool, count in zip(pools, counts, strict=True)
    )


@lru_cache(maxsize=1 << 16)
def _ways_to_deal(room: Places, count: int) -> int:
    """In how many ways ``count`` rows fit where there is so much room.

    >>> _ways_to_deal((1, 2), 2)
    2
    """
    if len(room) == 1:
        return int(count <= room[0])
    return sum(_ways_to_deal(room[1:], count - here) for here in range(min(room[0], count) + 1))


def _given(left: Places, pools: Sequence[Pool], counts: Sequence[int]) -> Iterator[Places]:
    """All ways to give so many rows of each pool to its atoms, of which so many persons are
    ``left``; the atoms of pools follow each other.
    """
    ways = []
    for pool, count in zip(pools, counts, strict=True):
        room = left[pool.atoms[0] : pool.atoms[-1] + 1]
        few = _ways_to_deal(room, count) <= _FEW
        ways.append(_listed(room, count) if few else list(_dealt(room, count)))
    if len(ways) == 1:
        yield from ways[0]
        return
    for parts in product(*ways):
        yield tuple(chain.from_iterable(parts))


@lru_cache(maxsize=1 << 14)
def _listed(room: Places, count: int) -> tuple[Places, ...]:
    return tuple(_dealt(room, count))


def _dealt(room: Places, count: int) -> Iterator[Places]:
    """All ways to put ``count`` rows where there is so much room.

    >>> list(_dealt((1, 2), 2))
    [(0, 2), (1, 1)]
    """
    if len(room) == 1:
        yield (count,)
        return
    behind = sum(room[1:])
    for here in range(max(0, count - behind), min(room[0], count) + 1):
        for rest in _dealt(room[1:], count - here):
            yield (here, *rest)


def _expected(
    ways: Mapping[tuple[int, int], int],
    total: int,
    pools: Sequence[Pool],
    shares: Sequence[Mapping[int, Fraction]],
) -> dict[tuple[int, int], Fraction]:
    """The averages, of the values that were taken together too."""
    expected: dict[tuple[int, int], Fraction] = {}
    for pool, of_rest in zip(pools, shares, strict=True):
        for atom in pool.atoms:
            for value in pool.counts:
                number, share = (
                    (ways.get((atom, REST), 0), of_rest[value])
                    if value in of_rest
                    else (ways.get((atom, value), 0), Fraction(1))
                )
                if number:
                    expected[atom, value] = share * Fraction(number, total)
    return expected
