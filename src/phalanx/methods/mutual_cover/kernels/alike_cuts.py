# SPDX-License-Identifier: Apache-2.0
"""Mondrian's cuts for groups whose tuples publish alike: by how far tuples are from each other on
both sides, and none after which a side could not change all its tuples.

Source: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, section 4, for the cuts; what they are for stands
in ``methods/mutual_cover/kernels/alike.py``. A tuple publishes the value of any tuple of its group
alike, so that a group costs on each attribute what lies between two of its tuples, in the mean,
times its size. In small nodes cuts at some values around the median are compared, in large ones
those at the median alone.

Every function here releases the lock, so that disjoint parts of the table are cut by several
threads at once.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Codes, Floats, Ints
from phalanx.kernels import njit
from phalanx.kernels.rule import Rule
from phalanx.methods.mondrian.kernels.cutting import (
    LEFT_OVER,
    STRICT,
    Cut,
    Nodes,
    Table,
    largest_domain,
    make,
    next_node,
    nodes_of,
    sort,
)
from phalanx.methods.mutual_cover.kernels.alike import choose_turned
from phalanx.methods.mutual_cover.kernels.cover_cuts import in_order

_SMALL: Final = 64
"""In nodes of rows for so many groups several cuts are compared on each attribute."""
_COMPARED: Final = 5
"""So many; with 25 the paper's table costs a little less still, and takes far longer."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Room(NamedTuple):
    """Room to judge both sides of a cut of a node."""

    side: Bools
    """Whether each row of the node is on the left."""
    histogram: Codes
    """Two rows; zero, and left so."""
    ordered: Codes
    place: Codes
    """The places of the node's rows, by the attribute that is cut."""
    times: Ints
    """For each attribute and row, how many rows of its side have its value."""
    sorted: Ints
    """The same by row and attribute, those of the left first."""
    most: Ints
    """For each side and attribute, the greatest of these."""
    turned: Bools


@_kernel
def apart(ordered: Codes, places: Floats) -> float:
    """How far each of the codes ``ordered`` is from all of them in the mean, by their ``places``,
    summed.
    """
    m, total = len(ordered), 0.0
    for i in range(m):
        total += places[ordered[i]] * (2 * i - m + 1)
    return 2.0 * total / max(m, 1)


@_kernel
def _times(column: Codes, side: Bools, ordered: Codes, left: int, times: Ints) -> tuple[int, int]:
    """Write for each row of the ``column`` how many rows of its side have its code into ``times``;
    the greatest of these numbers on both sides.

    ``ordered``: the codes of the ``left`` rows on the left, and behind them those on the right,
    each in order.
    """
    most_left, most_right = 0, 0
    for p in range(len(column)):
        part = ordered[:left] if side[p] else ordered[left : len(column)]
        n = np.searchsorted(part, column[p], side="right") - np.searchsorted(part, column[p])
        times[p] = n
        if side[p]:
            most_left = max(most_left, n)
        else:
            most_right = max(most_right, n)
    return most_left, most_right


@_kernel
def _judged(
    table: Table, start: int, stop: int, cut: Cut, changes: int, window: int, room: Room
) -> float:
    """What both sides of a cut cost together, over all attributes; infinite where not all rows of a
    side can change.
    """
    codes, offsets, size = table.codes, table.offsets, stop - start
    d = len(offsets) - 1
    for p in range(size):
        room.side[p] = codes[cut.attribute, start + p] <= cut.last
    total, left = 0.0, cut.left
    for b in range(d):
        places = table.positions[offsets[b] : offsets[b + 1]]
        column = codes[b, start:stop]
        in_order(column, room.side, room.histogram, len(places), room.ordered)
        first, second = room.ordered[:left], room.ordered[left:size]
        total += apart(first, places) + apart(second, places)
        room.most[0, b], room.most[1, b] = _times(
            column, room.side, room.ordered, left, room.times[b]
        )
    at, other = 0, left
    for p in range(size):
        place = at if room.side[p] else other
        for b in range(d):
            room.sorted[place, b] = room.times[b, p]
        if room.side[p]:
            at += 1
        else:
            other += 1
    for begin, end, most in ((0, left, room.most[0]), (left, size, room.most[1])):
        times = room.sorted[begin:end]
        if not choose_turned(times, most, end - begin, changes, window, room.turned):
            return np.inf
    return total


@_kernel
def cut(
    changes: int, window: int, table: Table, rule: Rule, first: int, end: int, grain: int
) -> Ints:
    """Cut the rows ``first .. end-1`` into groups, in place, in each of which all rows can change
    on ``changes`` attributes; at least ``window`` rows cover for a published value.

    ``table``, ``rule`` (of which the size is asked alone) and ``grain`` are those of
    ``mondrian.cut``; cuts are strict. Where not even all rows can change, the groups cannot either.
    """
    n, d = end - first, len(table.offsets) - 1
    nodes: Nodes = nodes_of(table, first, end, STRICT, rule.k, grain)
    counted = min(largest_domain(table), 4 * n) + 1
    room = Room(
        np.empty(n, np.bool_),
        np.zeros((2, counted), np.int32),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty((d, n), np.int64),
        np.empty((n, d), np.int64),
        np.empty((2, d), np.int64),
        np.empty(d, np.bool_),
    )
    while True:
        start, stop = next_node(table, nodes, rule.k)
        if stop == 0:
            break
        size, least, chosen = stop - start, np.inf, Cut(-1, 0, 0, 0)
        compared = _COMPARED if size <= _SMALL * rule.k else 1
        for a in range(d):
            low, high = nodes.low[a], nodes.high[a]
            if low == high:
                continue
            column, place = table.codes[a, start:stop], room.place[:size]
            sort(column, low, high, nodes.histogram, place)
            looked_at = 0
            for step in range(size):
                i = size // 2 + ((step + 1) // 2 if step % 2 else -(step // 2))
                if looked_at == compared:
                    break
                if i < rule.k or size - i < rule.k or column[place[i - 1]] == column[place[i]]:
                    continue
                looked_at += 1
                last: Any = np.int64(column[place[i - 1]])  # as wide as in other cuts
                tried = Cut(a, last, i, 0)
                cost = _judged(table, start, stop, tried, changes, window, room)
                if cost < least:
                    least, chosen = cost, tried
        if chosen.attribute >= 0:
            make(table, nodes, start, stop, chosen)
    return nodes.pending[: nodes.state[LEFT_OVER]]
