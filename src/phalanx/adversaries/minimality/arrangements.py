# SPDX-License-Identifier: Apache-2.0
"""In how many ways the values of some groups can lie with their persons such that every one of some
cuts fails, and who then has what how often: exactly.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial, prod
from operator import sub
from typing import Any, Final, NamedTuple, Protocol

from phalanx.adversaries.minimality.requirements import Requirement, State

_FEW: Final = 200
"""So many ways to give rows to atoms, or fewer, are listed once and kept."""
REST = -1
"""Stands for all values of a group that break no cut, however they lie."""
Places = tuple[int, ...]
_State = tuple[Places, tuple[Any, ...]]
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
        arrows: list[_Arrow] = []
        reached: dict[_State, int] = {}
        for source, weight in layer.items():
            if judged.settled(source[1]):
                continue
            for places in _given(source[0], pools, [counts.get(value, 0) for counts in given]):
                left = tuple(map(sub, source[0], places))
                known = source[1] if value == REST else judged.after(source[1], value, places)
                arrow = _Arrow(source, (left, known), prod(map(comb, source[0], places)), places)
                arrows.append(arrow)
                reached[arrow.target] = reached.get(arrow.target, 0) + weight * arrow.ways
                seen += 1
                if seen > most:
                    return None
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
    value broke it.
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
        self._room: dict[int, list[list[tuple[Places, int]]]] = {}
        self.begin = (False,) * len(cuts)

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

    def after(self, known: tuple[bool, ...], value: int, given: Places) -> tuple[bool, ...]:
        if (
            value not in self._room
        ):  # how many rows with the value each side still takes; the same for thousands of arrows
            self._room[value] = [
                [(atoms, most - beside.get(value, 0)) for beside, atoms, most in cut]
                for cut in self._sides
            ]
        after = list(known)
        for i, cut in enumerate(self._room[value]):
            if not known[i]:
                for atoms, most in cut:
                    if sum([given[a] for a in atoms]) > most:
                        after[i] = True
                        break
        return tuple(after)

    def settled(self, known: tuple[bool, ...]) -> bool:
        return all(known)

    def all_fail(self, known: tuple[bool, ...]) -> bool:
        return all(known)


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


def _given(left: Places, pools: Sequence[Pool], counts: Sequence[int]) -> Iterator[Places]:
    """All ways to give so many rows of each pool to its atoms, of which so many persons are
    ``left``; the atoms of pools follow each other.
    """
    if not pools:
        yield ()
        return
    room = left[pools[0].atoms[0] : pools[0].atoms[-1] + 1]
    few = prod([min(most, counts[0]) + 1 for most in room[1:]]) <= _FEW
    for part in _listed(room, counts[0]) if few else _dealt(room, counts[0]):
        if len(pools) == 1:
            yield part
        else:
            for others in _given(left, pools[1:], counts[1:]):
                yield part + others


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
