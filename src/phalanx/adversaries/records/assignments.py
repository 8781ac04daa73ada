# SPDX-License-Identifier: Apache-2.0
"""Who published which row of a group, for an adversary who knows how probable each row was for each
person: the posterior over all assignments of rows.

Every person has one row and every row one person, so that an assignment is as probable as the
product of its pairs, and a pair as the sum over all assignments that hold it. Persons who may have
published the same rows as probably are of one *kind*, and so are rows that all persons may have
published as probably: what is so of one pair of them is so of all. Pairs that no
assignment of all holds fall away: what is left are *knots* of persons among whom rows may have gone
round. Sums over a knot are exact where they can be taken person by person without too many
intermediate states; belief propagation stands in for them elsewhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import comb
from typing import Final

import numpy as np

from phalanx.arrays import Bools, Floats, Ints, different, in_order

MOST_STATES: Final = 1 << 20
"""A knot is summed exactly where at most so many states may come up."""
_LARGEST: Final = 500
"""A knot of more persons is not summed; to put these in order would take longer than to sum."""
_WIDEST: Final = 62
"""So many open rows have a bit each."""
_SWEEPS: Final = 30
"""So often persons and rows are weighed in turns."""
_ROUNDS: Final = 500
"""Belief propagation passes its messages at most so many times."""
_STILL: Final = 1e-10
"""It ends where no message changes by more."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Which kinds of persons may have published which kinds of rows, those of one kind of persons
    after the other.
    """

    person: Ints
    """Ascending, shape (e,)."""
    row: Ints
    logs: Floats
    """The logarithm of how probable such a row was for such a person."""
    persons: Ints
    """How many persons each kind is of, shape (p,)."""
    rows: Ints
    """How many rows each kind is of, shape (r,)."""
    own: tuple[Ints, Ints]
    """The kinds of persons and of rows that some person and the person's own row are of, shape (t,)
    each.
    """

    @classmethod
    def of(cls, person: Ints, row: Ints, logs: Floats, people: int) -> "Pairs":
        """In whatever order they come, each kind of one person or row, and row i the one of person
        i; each person's own row is among them.
        """
        one, each = np.ones(people, dtype=np.int64), np.arange(people)
        return cls.of_kinds(person, row, logs, (one, one), (each, each))

    @classmethod
    def of_kinds(
        cls, person: Ints, row: Ints, logs: Floats, many: tuple[Ints, Ints], own: tuple[Ints, Ints]
    ) -> "Pairs":
        """In whatever order they come; ``many``: ``persons`` and ``rows``."""
        order = np.lexsort((row, person))
        return cls(person[order], row[order], logs[order], *many, own)

    def take(self, which: Bools) -> "Pairs":
        """Some of the pairs."""
        return replace(self, person=self.person[which], row=self.row[which], logs=self.logs[which])


@dataclass(frozen=True, eq=False)
class Believed:
    """The pairs that may be true, and how probable each is."""

    pairs: Pairs
    probability: Floats
    """Of any one row of its kind; sums to 1 over all rows of each person, and where it is exact over
    all persons of each row, shape (e,).
    """
    exact: Bools
    """Whether those of each kind of persons are sums over all assignments, shape (p,)."""


def posterior(pairs: Pairs, most_states: int = MOST_STATES, work: int | None = None) -> Believed:
    """How probable each pair is, given that every row is one person's and theirs alone.

    Exact up to floating point, but for persons in knots that may take more than ``most_states``
    states, and, where ``work`` bounds the states of all knots together, for those in the largest
    knots that it does not suffice for: theirs are beliefs, which minimise Bethe's free energy
    instead of the true one (Chertkov & Yedidia 2013, Vontobel 2013). On knots of real tables these
    are off by some 0.02 on average and 0.5 at worst, and on the whole by less than 0.01 to one
    side; scaling rows and columns to sums of 1 alone (Sinkhorn) would be far too unsure, as it
    takes the square root of every odds already for two persons.
    """
    knot = knots(pairs)
    of_row = np.zeros(len(pairs.rows), dtype=np.int64)
    of_row[pairs.own[1]] = knot[pairs.own[0]]
    pairs = _scaled(pairs.take(knot[pairs.person] == of_row[pairs.row]))
    knot_of = knot[pairs.person]
    size = np.bincount(knot, weights=pairs.persons, minlength=1).astype(np.int64)
    probability, exact = np.ones(len(pairs.person)), np.ones(len(pairs.persons), dtype=bool)
    order = in_order(knot_of)
    ends = np.cumsum(np.bincount(knot_of, minlength=len(size)))
    large = []
    tangled = np.flatnonzero(size > 1)
    remaining = work
    for k in tangled[in_order(size[tangled])].tolist():
        edges = order[ends[k - 1] if k else 0 : ends[k]]
        most = most_states if remaining is None else min(most_states, remaining)
        believed = None
        if most > 0 and size[k] <= _LARGEST:
            logs, cells = _square(pairs, edges)
            believed = person_by_person(logs, most)
        if believed is None:
            large.append(edges)
        else:
            table = np.zeros(logs.shape)
            table[np.isfinite(logs)], states = believed
            probability[edges] = table[cells]
            remaining = None if remaining is None else remaining - states
    if large:
        edges = np.sort(np.concatenate(large))
        some = pairs.person[edges], pairs.row[edges]
        many = pairs.persons[some[0]], pairs.rows[some[1]]
        probability[edges] = beliefs(*some, pairs.logs[edges], *many)
        exact[pairs.person[edges]] = False
    return Believed(pairs, probability, exact)


def _scaled(pairs: Pairs) -> Pairs:
    """The same with persons and rows weighed so that each sums to nearly 1, which changes no
    posterior and keeps sums within floating point.
    """
    by_person = _Sides.of(pairs.person, pairs.rows[pairs.row])
    by_row = _Sides.of(pairs.row, pairs.persons[pairs.person])
    logs = pairs.logs
    for _ in range(_SWEEPS):
        logs = by_row.normal(by_person.normal(logs))
    return replace(pairs, logs=logs)


def _square(pairs: Pairs, edges: Ints) -> tuple[Floats, tuple[Ints, Ints]]:
    """The logarithms of one knot's pairs as a table of single persons and rows, both in their order;
    and which cell there is one of each pair.
    """
    (person, at), (row, where) = (
        np.unique(side[edges], return_inverse=True) for side in (pairs.person, pairs.row)
    )
    logs = np.full((len(person), len(row)), -np.inf)
    logs[at, where] = pairs.logs[edges]
    persons, rows = pairs.persons[person], pairs.rows[row]
    cells = (np.cumsum(persons) - persons)[at], (np.cumsum(rows) - rows)[where]
    return logs.repeat(persons, axis=0).repeat(rows, axis=1), cells


def knots(pairs: Pairs) -> Ints:
    """Which knot each kind of persons is in, numbered from 0: persons are in one where rows may have
    gone round among them (strongly connected components).

    A person and a row may belong together, beside each row's own person, just where both are in one
    knot. Source: Tarjan 1972, without recursion.
    """
    goes, to, nodes = _ways(pairs)
    first = np.searchsorted(goes, np.arange(nodes + 1)).tolist()
    row = to.tolist()
    place, low, knot = [-1] * nodes, [0] * nodes, [-1] * nodes
    at = first[:-1].copy()
    seen, components = 0, 0
    stack: list[int] = []
    for root in range(len(pairs.persons)):
        path = [root] if place[root] < 0 else []
        while path:
            here = path[-1]
            if place[here] < 0:
                place[here] = low[here] = seen
                seen += 1
                stack.append(here)
            if at[here] < first[here + 1]:
                there = row[at[here]]
                at[here] += 1
                if place[there] < 0:
                    path.append(there)
                elif knot[there] < 0:
                    low[here] = min(low[here], place[there])
                continue
            path.pop()
            if path:
                low[path[-1]] = min(low[path[-1]], low[here])
            if low[here] == place[here]:
                while knot[here] < 0:
                    knot[stack.pop()] = components
                components += 1
    return different(np.array(knot[: len(pairs.persons)], dtype=np.int64))[1]


def _ways(pairs: Pairs) -> tuple[Ints, Ints, int]:
    """From which node to which a row may go, ascending, and how many nodes there are: kinds of
    persons, and behind them kinds of rows that are the own ones of several kinds of persons.
    """
    owner, row = pairs.own
    shared = np.bincount(row, minlength=len(pairs.rows)) > 1
    node = len(pairs.persons) + np.arange(len(pairs.rows))
    alone = ~shared[row]
    node[row[alone]] = owner[alone]
    goes = np.concatenate([pairs.person, node[row[~alone]]])
    to = np.concatenate([node[pairs.row], owner[~alone]])
    order = np.argsort(goes, kind="stable")
    return goes[order], to[order], len(pairs.persons) + len(pairs.rows)


def person_by_person(logs: Floats, most_states: int) -> tuple[Floats, int] | None:
    """The posterior of the pairs of one knot, persons by persons, by going through these and
    keeping which of the open rows are taken, and how many states came up; None where that takes too
    much.

    ``logs`` (m, m): of a person and a row, -inf where the row is none that the person may have
    published.

    A row is open between the first and the last person who may have it; persons are ordered so that
    few are open at once.
    """
    order = _narrow(np.isfinite(logs), most_states)
    if order is None:
        return None
    weight: Floats = np.exp(logs)
    table = np.zeros(weight.shape)
    steps, behind = list(_steps(weight, order)), np.ones(1, dtype=np.float64)
    for step in reversed(
        steps
    ):  # what persons before and after this one may do, and what it does itself
        ahead = step.weight * behind[step.after]
        share = np.bincount(
            step.choice, weights=step.reached[step.before] * ahead, minlength=len(step.rows)
        )
        if not share.sum() > 0:  # too far apart for floating point
            return None
        table[step.person, step.rows] = share / share.sum()
        behind = np.asarray(
            np.bincount(step.before, weights=ahead, minlength=len(step.reached)), dtype=np.float64
        )
        behind /= behind.max()
    return table[np.isfinite(logs)], sum(len(step.before) for step in steps)


@dataclass(frozen=True, eq=False)
class _Step:
    """What one person may do: from which state to which, by taking which of its rows."""

    person: int
    rows: Ints
    reached: Floats
    """How much weight reaches each state before this person, summing to 1."""
    before: Ints
    choice: Ints
    after: Ints
    weight: Floats


def _steps(weight: Floats, order: list[int]) -> Iterator[_Step]:
    """All persons in their order; a state is the set of open rows that are taken, and rows that
    no later person may have are taken by then.
    """
    last = np.zeros(len(order), dtype=np.int64)
    for k, person in enumerate(order):
        last[weight[person] > 0] = k
    bit: dict[int, int] = {}
    free = set(range(_WIDEST))
    states, reached = np.zeros(1, dtype=np.int64), np.ones(1)
    for k, person in enumerate(order):
        rows = np.flatnonzero(weight[person])
        for row in rows.tolist():
            if row not in bit:
                bit[row] = min(free)
                free.remove(bit[row])
        closing = [row for row in rows.tolist() if last[row] == k]
        closed = sum(1 << bit[row] for row in closing)
        bits = [1 << bit[row] for row in rows.tolist()]
        fits = [
            np.flatnonzero((states & (one | closed)) == closed & ~one) for one in bits
        ]  # the row is free, and no other one that closes is
        choice = np.repeat(np.arange(len(bits)), [len(some) for some in fits])
        before = np.concatenate([*fits, np.zeros(0, dtype=np.int64)])
        taken = [(states[some] | one) & ~closed for some, one in zip(fits, bits, strict=True)]
        reachable = np.concatenate([*taken, np.zeros(0, dtype=np.int64)])
        states, after = different(reachable)
        step = _Step(person, rows, reached, before, choice, after, weight[person, rows[choice]])
        yield step
        reached = np.asarray(
            np.bincount(step.after, weights=reached[before] * step.weight, minlength=len(states)),
            dtype=np.float64,
        )
        reached /= reached.sum()
        free |= {bit.pop(row) for row in closing}


def _narrow(possible: Bools, most_states: int) -> list[int] | None:
    """An order of persons in which few rows are open at once; None where more states may come up
    than are wanted.
    """
    order: list[int] = []
    opened, remaining, states = np.zeros(len(possible), dtype=bool), possible.sum(axis=0), 0
    waiting = np.zeros(len(possible), dtype=np.int64)
    for _ in range(len(possible)):
        person = int(
            (
                waiting
                + (possible & ~opened).sum(axis=1)
                - (possible & (remaining == 1)).sum(axis=1)
            ).argmin()
        )
        order.append(person)
        waiting[person] = len(possible) * 2
        opened |= possible[person]
        remaining = remaining - possible[person]
        still = int((opened & (remaining > 0)).sum())
        states += comb(still, len(order) - int((opened & (remaining == 0)).sum()))
        if states > most_states or still + int(possible.sum(axis=1).max()) > _WIDEST:
            return None
    return order


def beliefs(person: Ints, row: Ints, logs: Floats, persons: Ints, rows: Ints) -> Floats:
    """Belief propagation over all pairs at once: how probable each is believed to be, summing to 1
    over each person.

    ``person`` ascending; ``persons`` and ``rows`` (e,): how many its kinds are of; every single
    person and row has two pairs or more. A message to a row says
    how much the person prefers it to all others, given what these rows said of themselves, and the
    other way round; half of each new message is the old one, so that they settle.
    """
    by_person, by_row = _Sides.of(person, rows), _Sides.of(row, persons)
    messages = np.zeros(len(logs))
    for _ in range(_ROUNDS):
        asked = -by_person.of_others(logs + messages)
        new = (messages - by_row.of_others(logs + asked)) / 2
        change = float(np.abs(new - messages).max())
        messages = new
        if change < _STILL:
            break
    asked = -by_person.of_others(logs + messages)
    belief = 1 / (1 + np.exp(-np.clip(logs + messages + asked, -700, 700)))
    return np.asarray(belief / np.bincount(by_person.place, weights=belief * rows)[by_person.place])


@dataclass(frozen=True, eq=False)
class _Sides:
    """Pairs by their person, or by their row."""

    order: Ints
    starts: Ints
    place: Ints
    """Whose each pair is, numbered from 0, shape (e,)."""
    many: Ints
    """How many pairs of one person, or row, each stands for, in ``order``, shape (e,)."""
    logs_of_many: Floats

    @classmethod
    def of(cls, side: Ints, many: Ints) -> "_Sides":
        _, place = np.unique(side, return_inverse=True)
        order = in_order(place)
        starts = np.flatnonzero(np.diff(place[order], prepend=-1))
        return cls(order, starts, place.ravel(), many[order], np.log(many[order]))

    def normal(self, logs: Floats) -> Floats:
        """The logarithms less those of their sums by side."""
        ordered, place = logs[self.order] + self.logs_of_many, self.place[self.order]
        most = np.maximum.reduceat(ordered, self.starts)
        summed = np.log(np.add.reduceat(np.exp(ordered - most[place]), self.starts)) + most
        return np.asarray(logs - summed[self.place])

    def of_others(self, logs: Floats) -> Floats:
        """The logarithm of the sum over all other pairs of the same side."""
        single, place = logs[self.order], self.place[self.order]
        ordered = single + self.logs_of_many
        most = np.maximum.reduceat(ordered, self.starts)
        rest = np.exp(single - most[place])
        summed = np.add.reduceat(rest * self.many, self.starts)
        first = self._first(ordered, most, place)
        without = ordered.copy()
        with np.errstate(divide="ignore"):
            without[first] = single[first] + np.log(self.many[first] - 1)
        second = np.maximum.reduceat(without, self.starts)
        others = summed[place] - rest
        products = np.empty_like(logs)
        with np.errstate(divide="ignore"):
            values = np.log(others) + most[place]
            values[first] = (
                np.log(np.add.reduceat(np.exp(without - second[place]), self.starts)) + second
            )
        products[self.order] = values
        return products

    def _first(self, ordered: Floats, most: Floats, place: Ints) -> Ints:
        """The first pair of each side that has the most."""
        at = np.flatnonzero(ordered == most[place])
        return at[np.unique(place[at], return_index=True)[1]]
