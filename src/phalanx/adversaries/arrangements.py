"""In how many ways the values of some groups can lie with their persons such that every one of some cuts fails, and who then has what how often: exactly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, prod

from phalanx.adversaries.requirements import Requirement, State

REST = -1
"""Stands for all values of a group that break no cut, however they lie."""
Places = tuple[int, ...]
_State = tuple[Places, tuple[State, ...]]
"""How many persons of every atom are left, and what is known of both sides of every line."""


@dataclass(frozen=True)
class Line:
    """Rows of both sides of a cut that keep the requirement by themselves: all of them, or of slicing those with the same values beside the sensitive one."""

    sizes: tuple[int, int]
    """How many rows stand on the left, and on the right."""
    beside: tuple[Mapping[int, int], Mapping[int, int]]
    """How often each value stands there in groups that are wholly on one side."""
    atoms: tuple[Places, Places]
    """The other rows, as places among the atoms."""


@dataclass(frozen=True)
class Pool:
    """A group: its atoms, persons whom no cut parts, and how often it holds each value."""

    atoms: Places
    counts: Mapping[int, int]


@dataclass(frozen=True)
class Counted:
    """All arrangements in which every cut fails."""

    total: int
    """How many there are."""
    expected: Mapping[tuple[int, int], Fraction]
    """(atom, value) -> how many persons of the atom have the value, on average."""


@dataclass(frozen=True)
class _Arrow:
    """One way to give the rows with a value to atoms."""

    source: _State
    target: _State
    ways: int
    given: Places


def arrange(sizes: Sequence[int], pools: Sequence[Pool], cuts: Sequence[Sequence[Line]], requirement: Requirement, most: int) -> Counted | None:
    """Count the arrangements of the values of ``pools`` over atoms of these ``sizes`` in which every one of the ``cuts`` breaks the requirement.

    Values are given to atoms one after the other, and what is known of the cuts then is kept, as in a walk through a graph; None where it has more than
    ``most`` arrows. A cut is given by its lines, and fails where a side of one of them does not keep the requirement.
    """
    given, shares = _merged(sizes, pools, cuts, requirement)
    lines = [line for cut in cuts for line in cut]
    begin = (tuple(sizes), tuple(requirement.start() for _ in range(2 * len(lines))))
    layer, layers, seen = {begin: 1}, [], 0
    for value in _in_turn(given, lines, requirement):
        arrows: list[_Arrow] = []
        reached: dict[_State, int] = {}
        for source, weight in layer.items():
            for places in _given(source[0], pools, [counts.get(value, 0) for counts in given]):
                left = tuple(a - b for a, b in zip(source[0], places, strict=True))
                known = source[1] if value == REST else _known(source[1], cuts, value, places, requirement)
                arrow = _Arrow(source, (left, known), prod(comb(a, b) for a, b in zip(source[0], places, strict=True)), places)
                arrows.append(arrow)
                reached[arrow.target] = reached.get(arrow.target, 0) + weight * arrow.ways
                seen += 1
                if seen > most:
                    return None
        layers.append((value, layer, arrows))
        layer = reached
    after = {state: int(_all_fail(state[1], cuts, requirement)) for state in layer}
    found: dict[tuple[int, int], int] = {}
    for value, before, arrows in reversed(layers):
        back: dict[_State, int] = {}
        for arrow in arrows:
            behind = arrow.ways * after[arrow.target]
            if behind:
                back[arrow.source] = back.get(arrow.source, 0) + behind
                for atom, count in enumerate(arrow.given):
                    if count:
                        found[atom, value] = found.get((atom, value), 0) + before[arrow.source] * behind * count
        after = {state: back.get(state, 0) for state in before}
    total = after[begin]
    return Counted(total, _expected(found, total, pools, shares))


def _merged(
    sizes: Sequence[int], pools: Sequence[Pool], cuts: Sequence[Sequence[Line]], requirement: Requirement
) -> tuple[list[dict[int, int]], list[dict[int, Fraction]]]:
    """The values of each pool, those that can break no cut taken together as one; and the share that each of these has of them."""
    harmless: list[set[int]] = [set(pool.counts) if requirement.only_shares else set() for pool in pools]
    if requirement.only_shares:
        for line in (line for cut in cuts for line in cut):
            for side in range(2):
                inside = [sum(sizes[a] for a in pool.atoms if a in line.atoms[side]) for pool in pools]
                for value in {value for pool in pools for value in pool.counts}:
                    here = sum(min(pool.counts.get(value, 0), places) for pool, places in zip(pools, inside, strict=True))
                    if here + line.beside[side].get(value, 0) > requirement.most(line.sizes[side]):
                        for values in harmless:
                            values.discard(value)
    given, shares = [], []
    for pool, values in zip(pools, harmless, strict=True):
        rest = sum(pool.counts[value] for value in values)
        given.append({value: count for value, count in pool.counts.items() if value not in values} | ({REST: rest} if rest else {}))
        shares.append({value: Fraction(pool.counts[value], rest) for value in values})
    return given, shares


def _in_turn(given: Sequence[Mapping[int, int]], lines: Sequence[Line], requirement: Requirement) -> list[int]:
    """The values in the order in which they are given; all values of the table where their distance is asked for."""
    if requirement.t is not None:
        return list(range(len(requirement.totals)))
    values = {value for counts in given for value in counts} - {REST}
    if not requirement.only_shares:
        values |= {value for line in lines for beside in line.beside for value in beside}
    return [*sorted(values), REST] if any(REST in counts for counts in given) else sorted(values)


def _given(left: Places, pools: Sequence[Pool], counts: Sequence[int]) -> Iterator[Places]:
    """All ways to give so many rows of each pool to its atoms, of which so many persons are ``left``."""
    if not pools:
        yield (0,) * len(left)
        return
    for others in _given(left, pools[1:], counts[1:]):
        for part in _dealt([left[a] for a in pools[0].atoms], counts[0]):
            places = list(others)
            for atom, count in zip(pools[0].atoms, part, strict=True):
                places[atom] = count
            yield tuple(places)


def _dealt(room: list[int], count: int) -> Iterator[Places]:
    """All ways to put ``count`` rows where there is so much room.

    >>> list(_dealt([1, 2], 2))
    [(0, 2), (1, 1)]
    """
    if len(room) == 1:
        yield (count,)
        return
    behind = sum(room[1:])
    for here in range(max(0, count - behind), min(room[0], count) + 1):
        for rest in _dealt(room[1:], count - here):
            yield (here, *rest)


def _known(states: tuple[State, ...], cuts: Sequence[Sequence[Line]], value: int, given: Places, requirement: Requirement) -> tuple[State, ...]:
    """What is known of both sides of every line once the rows with a value are given; of a cut that a share breaks, nothing else matters."""
    found: list[State] = []
    for cut in cuts:
        first = len(found)
        for line in cut:
            for side in range(2):
                count = line.beside[side].get(value, 0) + sum(given[a] for a in line.atoms[side])
                found.append(requirement.add(states[len(found)], value, count, line.sizes[side]))
        if requirement.only_shares and any(state[0] for state in found[first:]):
            found[first:] = [(1, (0, 0))] * (len(found) - first)
    return tuple(found)


def _all_fail(states: tuple[State, ...], cuts: Sequence[Sequence[Line]], requirement: Requirement) -> bool:
    """Whether every cut has a side that does not keep the requirement."""
    at = 0
    for cut in cuts:
        kept = True
        for line in cut:
            kept = kept and all(requirement.keeps(states[at + side], line.sizes[side]) for side in range(2))
            at += 2
        if kept:
            return False
    return True


def _expected(
    found: Mapping[tuple[int, int], int], total: int, pools: Sequence[Pool], shares: Sequence[Mapping[int, Fraction]]
) -> dict[tuple[int, int], Fraction]:
    """The averages, of the values that were taken together too."""
    expected: dict[tuple[int, int], Fraction] = {}
    for pool, of_rest in zip(pools, shares, strict=True):
        for atom in pool.atoms:
            for value in pool.counts:
                number, share = (found.get((atom, REST), 0), of_rest[value]) if value in of_rest else (found.get((atom, value), 0), Fraction(1))
                if number:
                    expected[atom, value] = share * Fraction(number, total)
    return expected
