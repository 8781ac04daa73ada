# SPDX-License-Identifier: Apache-2.0
"""Groups in which every member's demand is met: cut evenly, or grown around holders (Wong et al.,
Section 5; see the kernels for how).
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from phalanx.data.microdata import Microdata
from phalanx.methods.global_guarantee.exposures import Demands
from phalanx.methods.global_guarantee.kernels import groups as kernels
from phalanx.methods.global_guarantee.protected import Protected
from phalanx.methods.global_guarantee.uneven import unit_of
from phalanx.methods.mondrian.balanced import by_cuts, nothing_required
from phalanx.methods.mondrian.kernels import cells
from phalanx.methods.mondrian.kernels.balanced import Shares

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_WORK: Final = 1 << 31
"""Comparisons that looking for company in cells may cost; larger cells make narrower groups."""
_LARGEST_CELL: Final = 4096
_SLACKS: Final = (2.0, 4.0, 16.0, 256.0)
"""How far a group's demand may rise above the one it began with, where nobody else is left."""
_ASKED: Final = 256
"""How many of the nearest groups a row without company asks."""
_ENOUGH: Final = 64
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
        """Everybody."""
        return len(self.positions)

    @property
    def seeds(self) -> Bools:
        """Who has a protected value, shape (n,)."""
        return np.diff(self.held.starts) > 0

    def grown(
        self, order: Ints, start: int, end: int, slack: float, group: Ints, wanted: Bools
    ) -> int:
        """Grow groups among ``order[start:end]``; see the kernel."""
        held, asks = self.held, self.demands
        finite = asks.base[np.isfinite(asks.base)]
        most = max(1024, 8 * int(np.ceil(finite.max(initial=1.0))))
        lonely: int = kernels.grow(
            *(
                self.positions,
                order,
                start,
                end,
                self.least,
                held.starts,
                held.codes,
                asks.base,
                asks.starts,
                asks.value,
                asks.ratio,
            ),
            *(slack, most, group, min(len(asks.base), _VALUES), wanted),
        )
        return lonely


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

    ``group`` (n,) is set to the name of each row's group, a row of it, where one is found; FREE
    rows are taken.
    """
    n, d = len(order), crowd.positions.shape[1]
    if not wanted[order].any():
        return np.zeros(0, dtype=np.int64)
    order = order.copy()
    base = crowd.demands.base[np.isfinite(crowd.demands.base)]
    need = max(crowd.least, float(base.max(initial=1.0)))
    constrained = min(n, int(wanted[order].sum() * need))
    largest = min(_LARGEST_CELL, _WORK // max(1, constrained * d))
    cell = max(int(4 * need), largest, 64)
    depth = max(0, int(np.log2(n / cell))) if n > cell else 0
    bounds = (np.arange(2**depth + 1, dtype=np.int64) * n) >> depth
    _arranged(crowd.positions, order, bounds)
    lonely = np.zeros(2**depth, dtype=np.int64)

    def settle(first: int, last: int) -> None:
        for i in range(first, last):
            lonely[i] = crowd.grown(order, int(bounds[i]), int(bounds[i + 1]), 1.0, group, wanted)

    _in_threads(settle, 2**depth)
    for level in range(
        1, depth + 1
    ):  # who found nobody in the cell looks in the cell and its neighbour, and so on
        lonely = lonely[0::2] + lonely[1::2]
        for i in np.flatnonzero(lonely).tolist():
            lonely[i] = crowd.grown(
                order, int(bounds[i << level]), int(bounds[(i + 1) << level]), 1.0, group, wanted
            )
    for slack in _SLACKS:
        if lonely[0]:
            lonely[0] = crowd.grown(order, 0, n, slack, group, wanted)
    left: Ints = order[wanted[order] & (group[order] == kernels.FREE)]
    return left


def by_demand(highest: Floats, rows: Ints, base: float) -> list[Ints]:
    """Rows apart by the ``highest`` ratio (n,) that each demands, in classes that double, those
    with the least last.

    A class that is small for what it demands goes with the one below. Demands follow from what was
    published, so that this tells nothing new.
    """
    level = np.ceil(np.log2(np.maximum(highest[rows] / base, 1.0)) - 1e-9).astype(np.int64)
    found, small = [], np.zeros(len(rows), dtype=bool)
    for height in np.unique(level[level > 0])[::-1].tolist():
        small |= level == height
        if small.sum() >= _ENOUGH * highest[rows[small]].max():
            found.append(rows[small])
            small[:] = False
    return [*found, rows[small | (level == 0)]]


def cut(crowd: Crowd, rows: Ints, group: Ints) -> bool:
    """Cut rows, given in random order, into balanced groups; False, and nothing is done, where they
    hold too much to be even one group.

    ``group`` (n,) is set to the name of each row's group. See ``methods/mondrian/balanced.py``.
    """
    if len(rows) < crowd.least:
        return False
    held, asks = crowd.held, crowd.demands
    shares = Shares(held.starts, held.codes, asks.base, asks.starts, asks.value, asks.ratio)
    found = by_cuts(
        crowd.positions, rows, unit_of(asks, crowd.least), crowd.least, shares, nothing_required()
    )
    if found is None:
        return False
    group[rows] = found[rows]
    return True


def join(crowd: Crowd, rows: Ints, group: Ints) -> None:
    """Let rows into groups that may take them as they are, until nobody finds one any more;
    ``group`` (n,) is set.
    """
    named = np.flatnonzero(group >= 0)
    if len(rows) == 0 or len(named) == 0:
        return
    names, member_of = np.unique(group[named], return_inverse=True)
    by_group = np.argsort(member_of, kind="stable")
    members, of = named[by_group], member_of[by_group]
    starts = np.searchsorted(of, np.arange(len(names)))
    head, following = members[starts], np.full(crowd.rows, -1, dtype=np.int64)
    same = of[1:] == of[:-1]
    following[members[:-1][same]] = members[1:][same]
    box = np.ascontiguousarray(
        np.stack(
            [
                f.reduceat(crowd.positions[members], starts, axis=0)
                for f in (np.minimum, np.maximum)
            ],
            axis=2,
        )
    )
    sizes, place, tally = (
        np.bincount(member_of),
        np.full(crowd.rows, -1, dtype=np.int64),
        np.zeros(len(crowd.demands.base), dtype=np.int64),
    )
    held, asks = crowd.held, crowd.demands
    left = rows
    while len(left):
        found = kernels.join(
            *(
                crowd.positions,
                left,
                held.starts,
                held.codes,
                asks.base,
                asks.starts,
                asks.value,
                asks.ratio,
            ),
            *(head, following, sizes, box, place, tally, _ASKED),
        )
        left = left[place[left] < 0]
        if not found:
            break
    joined = rows[place[rows] >= 0]
    group[joined] = names[place[joined]]


def deal(crowd: Crowd, rows: Ints, group: Ints) -> None:
    """Deal rows without protected values out into narrow groups of the least size; fewer than that
    stay as they are.
    """
    if len(rows) >= crowd.least:
        rows = rows.copy()
        cells.shares_out(crowd.positions, rows, 0, len(rows), crowd.least, group)


def _arranged(positions: Floats, order: Ints, bounds: Ints) -> None:
    """The cells of a k-d tree, the first cuts by one thread, the rest by all."""
    n = len(bounds) - 1
    parts = min(8, n)
    coarse = np.ascontiguousarray(bounds[:: n // parts])
    cells.arrange(positions, order, coarse, 0, parts)
    size = n // parts
    with ThreadPoolExecutor(_threads()) as pool:
        for done in [
            pool.submit(cells.arrange, positions, order, bounds, i * size, (i + 1) * size)
            for i in range(parts)
        ]:
            done.result()


def _in_threads(work: Callable[[int, int], None], n: int) -> None:
    parts = min(n, 4 * _threads())
    edges = [n * i // parts for i in range(parts + 1)]
    with ThreadPoolExecutor(_threads()) as pool:
        for done in [pool.submit(work, a, b) for a, b in pairwise(edges)]:
            done.result()


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
