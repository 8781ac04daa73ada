"""Groups of the global guarantee grown again from each of their members, to see around whom a published group can have grown.

Written anew from what the method's page says (grouping "bottom-up"): groups are grown around the rows with protected values, those that demand most first;
the row joins that makes the box grow least, until the group is as large as it must be; who would raise the demand is passed over.
"""

from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.guarantees.exact import Ints, exact

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_ROUNDING = 1e-9
"""More than rounding costs a width or a demand."""


@dataclass(frozen=True)
class Demand:
    """How many members for each row with a value somebody demands of a group, by the probability that no group linked them to it so far (``survival``)."""

    l: float
    factor: float = 1.0
    """Of the least that the guarantee asks: the alpha of the geometric strategy."""
    least: float = 0.0
    """The constant ratio."""
    known: bool = False
    """Whether it follows from public survivals alone how much is demanded; else only who demands more than whom."""

    @classmethod
    def of(cls, method: dict[str, Any]) -> "Demand":
        """By a manifest's parameters; the least that the guarantee asks where the strategy depends on what is not public."""
        l = float(exact(method.get("l", 2), "l"))
        if method.get("strategy") == "geometric":
            return cls(l, factor=float(method["alpha"]), known=True)
        if method.get("strategy") == "constant-ratio":
            return cls(l, least=1 / (1 - (1 - 1 / l) ** (1 / int(method["horizon"]))), known=True)
        return cls(l)

    def ratio(self, survival: Floats) -> Floats:
        """Infinite where the value may not be near the person any more."""
        left = self.l * survival - (self.l - 1)
        with np.errstate(divide="ignore"):
            asked = np.where(left > _ROUNDING, self.l * survival / np.maximum(left, _ROUNDING), inf)
        return np.maximum(self.factor * asked, self.least)


@dataclass(frozen=True, eq=False)
class Group:
    """A published group with protected values, and whoever was free when it grew."""

    members: Floats
    """Where its members are on every quasi-identifier, from 0 to 1, shape (n, d)."""
    others: Floats
    """The same of rows that no earlier group can have taken, shape (m, d)."""
    demanded: Floats
    """The most that each member demands for one row with one of the group's values, shape (n,)."""
    demanded_by_others: Floats
    single: bool
    """Whether only one row has a protected value: the group then grew around it, and by it is as large as it is."""


def reached(group: Group, demand: Demand) -> Ints:
    """How many members each member finds before the first row from outside, if the group grows around that member; the one who does not demand most finds none.

    Ties between a member and an outsider go to the member. Shape (n,): ``n - 1`` for whoever the whole group can have grown around.
    """
    low, high = group.members.min(axis=0), group.members.max(axis=0)
    most = float(group.demanded.max())
    gap = np.maximum(low - group.others, 0).sum(axis=1) + np.maximum(group.others - high, 0).sum(axis=1)
    near = (gap < (high - low).sum()) & (group.demanded_by_others <= most + _ROUNDING)
    found = np.array([_grown(group.members, seed, group.others[near]) for seed in range(len(group.members))], dtype=np.int64)
    if demand.known and group.single:
        found[np.ceil(group.demanded - _ROUNDING) < np.ceil(most - _ROUNDING)] = -1
    return found


def _grown(members: Floats, seed: int, others: Floats) -> int:
    """How many members join one after the other before somebody else makes the box grow less."""
    low, high = members[seed].copy(), members[seed].copy()
    left = np.delete(members, seed, axis=0)
    for joined in range(len(left)):
        wider = _wider(left, low, high)
        best = int(np.argmin(wider))
        if len(others) and _wider(others, low, high).min() < wider[best] - _ROUNDING:
            return joined
        low, high = np.minimum(low, left[best]), np.maximum(high, left[best])
        left = np.delete(left, best, axis=0)
    return len(members) - 1


def _wider(rows: Floats, low: Floats, high: Floats) -> Floats:
    wider: Floats = np.maximum(low - rows, 0).sum(axis=1) + np.maximum(rows - high, 0).sum(axis=1)
    return wider
