# SPDX-License-Identifier: Apache-2.0
"""Groups of the global guarantee grown again from each of their members, to see around whom a
published group can have grown.

Written anew from what the method's page says (grouping "bottom-up"): groups are grown around the
rows with protected values, those that demand most first; the row joins that makes the box grow
least, until the group is as large as it must be; who would raise the demand is passed over.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.exact import exact

_ROUNDING: Final = 1e-9
"""More than rounding costs a width or a demand."""
_PLACES: Final = 1 << 21
"""So many places of rows beside boxes are held at once."""


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
                margin > _ROUNDING, self.l * survival / np.maximum(margin, _ROUNDING), inf
            )
        return np.maximum(self.factor * asked, self.least)


class Asked:
    """What each row of a table demands, which is the same for all but those whose person a group linked
    with a value before; ``survival``: what is left to them, by value and person.
    """

    def __init__(
        self, demand: Demand, persons: list[bytes], survival: Mapping[Any, Mapping[bytes, float]]
    ) -> None:
        self._fresh = float(demand.ratio(np.ones(1))[0])
        self._linked: dict[Any, tuple[Ints, Floats]] = {}
        row_of = {person: row for row, person in enumerate(persons)} if survival else {}
        for value, linked in survival.items():
            here = sorted((row_of[p], left) for p, left in linked.items() if p in row_of)
            if here:
                rows, left = (np.array(side) for side in zip(*here, strict=True))
                self._linked[value] = rows, demand.ratio(left)

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
    gap = np.maximum(low - group.others, 0).sum(axis=1) + np.maximum(group.others - high, 0).sum(
        axis=1
    )
    near = (gap < (high - low).sum()) & (group.demanded_by_others <= most + _ROUNDING)
    if near.any():
        near &= gap < _longest(group.members)
    others, n = group.others[near], len(group.members)
    least = np.full(n, n - 1, dtype=np.int64)
    step = max(1, _PLACES // ((n + len(others)) * group.members.shape[1]))
    for start in range(0, n if len(others) else 0, step):
        least[start : start + step] = _grown(
            group.members, np.arange(start, min(start + step, n)), others
        )
    if demand.known and group.single:
        least[np.ceil(group.demanded - _ROUNDING) < np.ceil(most - _ROUNDING)] = -1
    return least


def _longest(members: Floats) -> float:
    """The longest step of the shortest way to join all members, each from one who has joined: no
    box of some of them grows more with the next.
    """
    away, longest = np.abs(members - members[0]).sum(axis=1), 0.0
    joined = np.arange(len(members)) == 0
    for _ in range(len(members) - 1):
        nearest = int(np.where(joined, np.inf, away).argmin())
        joined[nearest], longest = True, max(longest, float(away[nearest]))
        away = np.minimum(away, np.abs(members - members[nearest]).sum(axis=1))
    return longest


def _grown(members: Floats, seeds: Ints, others: Floats) -> Ints:
    """How many members join each of some ``seeds``, one after the other, before another person
    makes the box grow less.
    """
    sizes = np.full(len(seeds), len(members) - 1, dtype=np.int64)
    low, high, growing = members[seeds], members[seeds], np.arange(len(seeds))
    joined = np.zeros((len(seeds), len(members)), dtype=bool)
    joined[growing, seeds] = True
    for so_far in range(len(members) - 1):
        wider = np.where(joined[growing], np.inf, _wider(members, low[growing], high[growing]))
        best = wider.argmin(axis=1)
        least = wider[np.arange(len(growing)), best]
        stops = _wider(others, low[growing], high[growing]).min(axis=1) < least - _ROUNDING
        sizes[growing[stops]] = so_far
        growing, best = growing[~stops], best[~stops]
        low[growing], high[growing] = (
            np.minimum(low[growing], members[best]),
            np.maximum(high[growing], members[best]),
        )
        joined[growing, best] = True
        if not len(growing):
            break
    return sizes


def _wider(rows: Floats, low: Floats, high: Floats) -> Floats:
    """By how much each of some boxes, of shape (b, d), grows with each of some rows, shape (b,
    rows): attribute by attribute, of which there are few.
    """
    wider = np.zeros((len(low), len(rows)))
    for at, first, last in zip(rows.T, low.T[:, :, None], high.T[:, :, None], strict=True):
        wider += np.maximum(np.maximum(first - at, at - last), 0)
    return wider
