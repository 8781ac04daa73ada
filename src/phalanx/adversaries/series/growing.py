# SPDX-License-Identifier: Apache-2.0
"""Groups of the global guarantee grown again from each of their members, to see around whom a
published group can have grown.

Written anew from what the method's page says (grouping "bottom-up"): groups are grown around the
rows with protected values, those that demand most first; the row joins that makes the box grow
least, until the group is as large as it must be; who would raise the demand is passed over.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import numpy as np

from phalanx.adversaries.series.joining import ROUNDING, joined
from phalanx.arrays import Floats, Ints, in_order
from phalanx.exact import exact

_FEW: Final = 1024
"""Among so many members the longest step is looked for."""


@dataclass(frozen=True)
class Demand:
    """How many members for each row with a value a person demands of a group, by the probability
    that no group linked them to it so far (``survival``).
    """

    l: float
    factor: float = 1.0
    """Of the least that the guarantee asks: the alpha of the geometric strategy."""
    least: float = 0.0
    """The constant ratio."""
    known: bool = False
    """Whether it follows from public survivals alone how much is demanded; else only who demands
    more than whom.
    """

    @classmethod
    def of(cls, method: dict[str, Any]) -> "Demand":
        """By a manifest's parameters; the least that the guarantee asks where the strategy depends
        on what is not public.
        """
        l = float(exact(method.get("l", 2), "l"))
        if method.get("strategy") == "geometric":
            return cls(l, factor=float(method["alpha"]), known=True)
        if method.get("strategy") == "constant-ratio":
            return cls(l, least=1 / (1 - (1 - 1 / l) ** (1 / int(method["horizon"]))), known=True)
        return cls(l)

    def ratio(self, survival: Floats) -> Floats:
        """Infinite where the value may not be near the person any more."""
        margin = self.l * survival - (self.l - 1)
        with np.errstate(divide="ignore"):
            asked = np.where(
                margin > ROUNDING, self.l * survival / np.maximum(margin, ROUNDING), inf
            )
        return np.maximum(self.factor * asked, self.least)


class Left:
    """What is left to each person, by value, of the probability that no group linked them to it so
    far: 1 but for those who were in a group with it.
    """

    def __init__(self) -> None:
        self._number: dict[bytes, int] = {}
        self.of: dict[Any, tuple[Ints, Floats]] = {}
        """By value the numbers of those whom a group linked to it, ascending, and what is left."""

    def numbers(self, persons: Sequence[bytes]) -> Ints:
        """A number for each person, the same in every release, shape (n,)."""
        known = self._number
        return np.array([known.setdefault(person, len(known)) for person in persons], np.int64)

    def link(self, value: Any, numbers: Ints, kept: Floats) -> None:
        """Groups with a value linked these persons to it, each once, and so much of what was left
        to each is ``kept``.
        """
        before, left = self.of.get(value, (np.zeros(0, dtype=np.int64), np.zeros(0)))
        everyone = np.concatenate([before, numbers])
        order = in_order(everyone)
        everyone, left = everyone[order], np.concatenate([left, kept])[order]
        first = np.flatnonzero(np.diff(everyone, prepend=-1))
        self.of[value] = everyone[first], np.multiply.reduceat(left, first)


class Asked:
    """What each row of a table demands, which is the same for all but those whose person, of these
    ``numbers``, a group linked with a value before.
    """

    def __init__(self, demand: Demand, numbers: Ints, left: Left) -> None:
        self._fresh = float(demand.ratio(np.ones(1))[0])
        self._linked: dict[Any, tuple[Ints, Floats]] = {}
        by_number = in_order(numbers)
        ascending = numbers[by_number]
        for value, (linked, of_each) in left.of.items():
            at = np.searchsorted(ascending, linked).clip(max=len(numbers) - 1)
            here = ascending[at] == linked
            if here.any():
                rows = by_number[at[here]]
                order = in_order(rows)
                self._linked[value] = rows[order], demand.ratio(of_each[here][order])

    def of(self, value: Any, rows: Ints) -> Floats:
        """What these rows demand for a value, shape (n,)."""
        asked = np.full(len(rows), self._fresh)
        if value in self._linked:
            linked, ratio = self._linked[value]
            at = np.searchsorted(linked, rows).clip(max=len(linked) - 1)
            before = linked[at] == rows
            asked[before] = ratio[at[before]]
        return asked


@dataclass(frozen=True, eq=False)
class Group:
    """A published group with protected values, and the persons who were free when it grew."""

    members: Floats
    """Where its members are on every quasi-identifier, from 0 to 1, shape (n, d)."""
    others: Floats
    """The same of rows that no earlier group can have taken, shape (m, d)."""
    demanded: Floats
    """The most that each member demands for one row with one of the group's values, shape (n,)."""
    demanded_by_others: Floats
    single: bool
    """Whether only one row has a protected value: the group then grew around it, and by it is as
    large as it is.
    """


def reached(group: Group, demand: Demand) -> Ints:
    """How many members each member finds before the first row from outside, if the group grows
    around that member; the one who does not demand most finds none.

    Ties between a member and an outsider go to the member. Shape (n,): ``n - 1`` for a person whom
    the whole group can have grown around.
    """
    low, high = group.members.min(axis=0), group.members.max(axis=0)
    most = float(group.demanded.max())
    gap = gaps(group.others, group.others, low, high)
    near = (gap < (high - low).sum()) & (group.demanded_by_others <= most + ROUNDING)
    if near.any() and len(group.members) <= _FEW:
        near &= gap < _longest(group.members)
    others, n = group.others[near], len(group.members)
    least = joined(group.members, others) if len(others) else np.full(n, n - 1, dtype=np.int64)
    if demand.known and group.single:
        least[np.ceil(group.demanded - ROUNDING) < np.ceil(most - ROUNDING)] = -1
    return least


def gaps(low: Floats, high: Floats, first: Floats, last: Floats) -> Floats:
    """How far boxes, of shape (n, d), are from one box of shape (d,), added up over attributes."""
    apart: Floats = (np.maximum(first - high, 0) + np.maximum(low - last, 0)).sum(axis=1)
    return apart


def _longest(members: Floats) -> float:
    """The longest step of the shortest way to join all members, each from one who has joined: no
    box of some of them grows more with the next.
    """
    away, longest = np.abs(members - members[0]).sum(axis=1), 0.0
    inside = np.arange(len(members)) == 0
    for _ in range(len(members) - 1):
        nearest = int(np.where(inside, np.inf, away).argmin())
        inside[nearest], longest = True, max(longest, float(away[nearest]))
        away = np.minimum(away, np.abs(members - members[nearest]).sum(axis=1))
    return longest
