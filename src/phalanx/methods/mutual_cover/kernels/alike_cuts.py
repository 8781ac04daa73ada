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
    place: Codes
    """For each attribute the places of the node's rows by their codes."""
    times: Codes
    """For each attribute and row, how many rows of its side have its value."""
    sorted: Ints
    """The same by row and attribute, those of the left first."""
    most: Ints
    """For each side and attribute, the greatest of these."""
    turned: Bools


@_kernel
def _run(place: float, many: int, before: int, m: int) -> float:
    """What ``many`` of ``m`` rows at one ``place``, with so many ``before`` them, add to how far all
    are from all others, each pair once.
    """
    return place * (many * (2 * before + many - m))


@_kernel
def _counted(
    column: Codes, places: Floats, side: Bools, left: int, histogram: Codes, times: Codes
) -> tuple[float, int, int]:
    """How far the rows on each of two sides, of which the one has ``left``, are from each other, in
    the mean, summed; and how many rows of a side have its most frequent code.

    ``times`` becomes how many rows of its side have the code of each row. The ``histogram`` (2,
    domain or more) is zero and left so.
    """
    domain, total, most_left, most_right = len(places), 0.0, 0, 0
    for p in range(len(column)):
        histogram[0 if side[p] else 1, column[p]] += 1
    for s in range(2):
        m, before, far, most = left if s == 0 else len(column) - left, 0, 0.0, 0
        for v in range(domain):
            many: Any = np.int64(histogram[s, v])
            if many:
                far += _run(places[v], many, before, m)
                before += many
                most = max(most, many)
        total += 2.0 * far / max(m, 1)
        if s == 0:
            most_left = most
        else:
            most_right = most
    for p in range(len(column)):
        times[p] = histogram[0 if side[p] else 1, column[p]]
    histogram[:, :domain] = 0
    return total, most_left, most_right


@_kernel
def _walked(
    column: Codes, order: Codes, places: Floats, side: Bools, left: int, times: Codes
) -> tuple[float, int, int]:
    """The same for few rows of a large domain, whose places are in ``order`` by their codes."""
    n, begin = len(column), 0
    far, before, most = (0.0, 0.0), (0, 0), (0, 0)
    while begin < n:
        code, end, of_left = column[order[begin]], begin, 0
        while end < n and column[order[end]] == code:
            of_left += side[order[end]]
            end += 1
        many = (of_left, end - begin - of_left)
        for i in range(begin, end):
            times[order[i]] = many[0] if side[order[i]] else many[1]
        far = (
            far[0] + _run(places[code], many[0], before[0], left),
            far[1] + _run(places[code], many[1], before[1], n - left),
        )
        before = (before[0] + many[0], before[1] + many[1])
        most = (max(most[0], many[0]), max(most[1], many[1]))
        begin = end
    return 2.0 * far[0] / max(left, 1) + 2.0 * far[1] / max(n - left, 1), most[0], most[1]


@_kernel
def _judged(
    table: Table, start: int, stop: int, cut: Cut, changes: int, window: int, room: Room
) -> float:
    """What both sides of a cut cost together, over all attributes; infinite where not all rows of a
    side can change.
    """
    codes, offsets, size = table.codes, table.offsets, stop - start
    d, left, total = len(offsets) - 1, cut.left, 0.0
    side = room.side[:size]
    for p in range(size):
        side[p] = codes[cut.attribute, start + p] <= cut.last
    for b in range(d):
        places = table.positions[offsets[b] : offsets[b + 1]]
        column, times = codes[b, start:stop], room.times[b]
        if len(places) > size:
            order = room.place[b, :size]
            far, most_left, most_right = _walked(column, order, places, side, left, times)
        else:
            far, most_left, most_right = _counted(column, places, side, left, room.histogram, times)
        total += far
        room.most[0, b], room.most[1, b] = most_left, most_right
    if _all_change(room.times, side, left, changes):
        return total
    at, other = 0, left
    for p in range(size):
        place = at if side[p] else other
        for b in range(d):
            room.sorted[place, b] = room.times[b, p]
        if side[p]:
            at += 1
        else:
            other += 1
    for begin, end, most in ((0, left, room.most[0]), (left, size, room.most[1])):
        times_of = room.sorted[begin:end]
        if not choose_turned(times_of, most, end - begin, changes, window, room.turned):
            return np.inf
    return total


@_kernel
def _all_change(times: Codes, side: Bools, left: int, changes: int) -> bool:
    """Whether all rows of both sides change where every row publishes the value of any, so that no
    attribute needs to be turned.
    """
    d, size = len(times), len(side)
    for p in range(size):
        stays = 0
        for b in range(d):
            stays += times[b, p]
        if stays > (d - changes) * (left if side[p] else size - left):
            return False
    return True


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
    counted = min(largest_domain(table), n) + 1
    room = Room(
        np.empty(n, np.bool_),
        np.zeros((2, counted), np.int32),
        np.empty((d, n), np.int32),
        np.empty((d, n), np.int32),
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
            column, place = table.codes[a, start:stop], room.place[a, :size]
            sort(column, nodes.low[a], nodes.high[a], nodes.histogram, place)
        for a in range(d):
            if nodes.low[a] == nodes.high[a]:
                continue
            column, place, looked_at = table.codes[a, start:stop], room.place[a, :size], 0
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
