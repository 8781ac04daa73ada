# SPDX-License-Identifier: Apache-2.0
"""Groups in which every member's demand is met: cut evenly, or grown around holders (Wong et al.,
Section 7; see the kernels for how).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Final

import numpy as np

from phalanx.arrays import Bools, Floats, Ints, different, in_order
from phalanx.data.microdata import Microdata
from phalanx.methods.global_guarantee.exposures import Demands
from phalanx.methods.global_guarantee.kernels import groups as kernels
from phalanx.methods.global_guarantee.kernels.groups import Limits
from phalanx.methods.global_guarantee.protected import Protected
from phalanx.methods.global_guarantee.uneven import unit_of
from phalanx.methods.mondrian.balanced import by_cuts, nothing_required
from phalanx.methods.mondrian.kernels import cells
from phalanx.methods.mondrian.kernels.balanced import Shares
from phalanx.methods.threads import on_all, threads

_WORK: Final = 1 << 31
"""Comparisons that looking for company in cells may cost; larger cells make narrower groups."""
_LARGEST_CELL: Final = 4096
_SLACKS: Final = (2.0, 4.0, 16.0, 256.0)
"""How far a group's demand may rise above the one it began with, where no others are left."""
_ASKED: Final = 256
"""How many of the nearest groups a row without company asks."""
_ENOUGH: Final = 512
"""A class of demand is grouped by itself where it has so many times the rows that its largest group
needs.
"""
_VALUES: Final = 4096
"""The most protected values of one group."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """The rows to group, real ones first: their places in [0, 1] on every quasi-identifier (n, d),
    what they hold, and what they demand.
    """

    positions: Floats
    held: Protected
    demands: Demands
    real: int
    """How many rows are to be published; the others are registered persons."""
    least: int
    """The size of any group."""
    order: Ints
    """The rows in random order, so that equal ones are dealt out by chance."""

    @property
    def rows(self) -> int:
        """All persons."""
        return len(self.positions)

    @property
    def shares(self) -> Shares:
        """What they hold and demand, for kernels."""
        protected, asked = self.held, self.demands
        demands = asked.base, asked.history, asked.starts, asked.value, asked.ratio
        return Shares(protected.starts, protected.codes, *demands)

    def free(self, group: Ints) -> Ints:
        """Who is in no ``group`` (n,) yet, in random order."""
        free: Ints = self.order[group[self.order] == kernels.FREE]
        return free

    @property
    def seeds(self) -> Bools:
        """Who has a protected value, shape (n,)."""
        return np.diff(self.held.starts) > 0


def places(*tables: Microdata) -> Floats:
    """Where rows stand on every quasi-identifier, scaled to [0, 1], shape (n, d)."""
    columns = [
        np.concatenate([c.domain.normalised[c.codes] for c in each])
        for each in zip(*(t.quasi for t in tables), strict=True)
    ]
    return np.ascontiguousarray(np.stack(columns, axis=1))


def grow(crowd: Crowd, order: Ints, wanted: Bools, group: Ints) -> Ints:
    """Grow a group around every ``wanted`` row, in ever larger cells of ``order``; returns the rows
    that found no company.

    ``order``: rows that are FREE; ``group`` (n,) is set to the name of each row's group, a row of
    it, where one is found.
    """
    n, d = len(order), crowd.positions.shape[1]
    if not wanted[order].any():
        return np.zeros(0, dtype=np.int64)
    order, shares, least = order.copy(), crowd.shares, crowd.least
    highest = float(shares.base[np.isfinite(shares.base)].max(initial=1.0))
    need = max(least, highest)
    constrained = min(n, int(wanted[order].sum() * need))
    largest = min(_LARGEST_CELL, _WORK // max(1, constrained * d))
    cell = max(int(4 * need), largest, 64)
    depth = max(0, int(np.log2(n / cell))) if n > cell else 0
    bounds = (np.arange(2**depth + 1, dtype=np.int64) * n) >> depth
    _arranged(crowd.positions, order, bounds)
    most, values = max(1024, 8 * ceil(highest)), min(len(shares.base), _VALUES)

    def grown(first: int, last: int, slack: float = 1.0) -> int:
        """Grow groups in some cells, as if they were one; how many are lonely."""
        rows, limits = order[bounds[first] : bounds[last]], Limits(least, slack, most, values)
        return int(kernels.grow(crowd.positions, rows, shares, limits, wanted, group))

    lonely = np.zeros(2**depth, dtype=np.int64)

    def settle(first: int, last: int) -> None:
        for i in range(first, last):
            lonely[i] = grown(i, i + 1)

    _in_threads(settle, 2**depth)
    for level in range(1, depth + 1):
        # Who found no company in the cell looks in the cell and its neighbour, and so on.
        lonely = lonely[0::2] + lonely[1::2]
        for i in np.flatnonzero(lonely).tolist():
            lonely[i] = grown(i << level, (i + 1) << level)
    for slack in _SLACKS:
        if lonely[0]:
            lonely[0] = grown(0, 2**depth, slack)
    left: Ints = order[wanted[order] & (group[order] == kernels.FREE)]
    return left


def by_demand(highest: Floats, rows: Ints, base: float) -> list[Ints]:
    """Rows apart by the ``highest`` ratio (n,) that each demands, in classes that double, those
    with the least last.

    A class that is small for what it demands goes with the one below. Demands follow from what was
    published, so that this tells nothing new.
    """
    level = np.ceil(np.log2(np.maximum(highest[rows] / base, 1.0)) - 1e-9).astype(np.int64)
    levels, small = [], np.zeros(len(rows), dtype=bool)
    for height in np.unique(level[level > 0])[::-1].tolist():
        small |= level == height
        if small.sum() >= _ENOUGH * highest[rows[small]].max():
            levels.append(rows[small])
            small[:] = False
    return [*levels, rows[small | (level == 0)]]


def cut(crowd: Crowd, rows: Ints, group: Ints) -> bool:
    """Cut rows, given in random order, into balanced groups; False, and nothing is done, where they
    hold too much to be even one group.

    ``group`` (n,) is set to the name of each row's group. See ``methods/mondrian/balanced.py``.
    """
    if len(rows) < crowd.least:
        return False
    unit = unit_of(crowd.demands, crowd.least)
    group_of = by_cuts(crowd.positions, rows, unit, crowd.least, crowd.shares, nothing_required())
    if group_of is None:
        return False
    group[rows] = group_of[rows]
    return True


def join(crowd: Crowd, rows: Ints, group: Ints) -> Ints:
    """Let rows into groups that may take them as they are, until none finds one any more;
    ``group`` (n,) is set. Returns who found none.
    """
    named = np.flatnonzero(group >= 0)
    if len(rows) == 0 or len(named) == 0:
        return rows
    names, member_of = different(group[named])
    by_group = in_order(member_of)
    members, of = named[by_group], member_of[by_group]
    starts = np.searchsorted(of, np.arange(len(names)))
    head, following = members[starts], np.full(crowd.rows, kernels.END, dtype=np.int64)
    same = of[1:] == of[:-1]
    following[members[:-1][same]] = members[1:][same]
    ends = [f.reduceat(crowd.positions[members], starts) for f in (np.minimum, np.maximum)]
    box = np.ascontiguousarray(np.stack(ends, axis=2))
    groups = kernels.Groups(head, following, np.bincount(member_of), box)
    place, left = np.full(crowd.rows, kernels.FREE, dtype=np.int64), rows
    while len(left) and kernels.join(crowd.positions, left, crowd.shares, groups, _ASKED, place):
        left = left[place[left] == kernels.FREE]
    joined = rows[place[rows] != kernels.FREE]
    group[joined] = names[place[joined]]
    return left


def deal(crowd: Crowd, rows: Ints, group: Ints) -> Ints:
    """Deal rows without protected values out into narrow groups of the least size; returns them
    where they are fewer than that, who stay as they are.
    """
    if len(rows) < crowd.least:
        return rows
    cells.shares_out(crowd.positions, rows.copy(), 0, len(rows), crowd.least, group)
    return rows[:0]


def _arranged(positions: Floats, order: Ints, bounds: Ints) -> None:
    """The cells of a k-d tree, the first cuts by one thread, the rest by all."""
    n = len(bounds) - 1
    parts = min(8, n)
    coarse = np.ascontiguousarray(bounds[:: n // parts])
    cells.arrange(positions, order, coarse, 0, parts)
    size = n // parts
    on_all(
        lambda i: cells.arrange(positions, order, bounds, i * size, (i + 1) * size), range(parts)
    )


def _in_threads(work: Callable[[int, int], None], n: int) -> None:
    parts = min(n, 4 * threads())
    edges = [n * i // parts for i in range(parts + 1)]
    on_all(lambda ends: work(*ends), pairwise(edges))
