# SPDX-License-Identifier: Apache-2.0
"""Mondrian's cuts chosen by what mutual cover will cost on both sides, not by which attribute is
widest.

Source: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, section 4, for the cuts; Li, Ma, Xi, Zhang, Xie,
Shang, "MuCo", section 4, for what they are for. A published value needs 1/delta tuples to cover for
it, so that a group costs about what its tuples, in the order of an attribute, are apart from the
ones 1/delta - 1 places further on. Of the cuts that keep the promise, one on each attribute, the
one is taken after which both sides cost least together.

Every function here releases the lock, so that disjoint parts of the table are cut by several
threads at once.
"""

from typing import Any, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Codes, Floats, Ints
from phalanx.kernels import njit
from phalanx.kernels.rule import Rule
from phalanx.kernels.sorting import sort
from phalanx.methods.mondrian.kernels.cuts import count_here, forget_here, sides_keep, sides_of
from phalanx.methods.mondrian.kernels.cutting import (
    LEFT_OVER,
    STRICT,
    Cut,
    Nodes,
    Table,
    largest_domain,
    make,
    next_median,
    next_node,
    nodes_of,
)

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Room(NamedTuple):
    """Room to put the rows of a node in order, on both sides of a cut."""

    side: Bools
    """Whether each row of the node is on the left."""
    histogram: Codes
    """Two rows; zero, and left so."""
    ordered: Codes


@_kernel
def covering(ordered: Codes, places: Floats, window: int) -> float:
    """How far the codes ``ordered`` are from the ones ``window - 1`` places further on, by their
    ``places``, at most 1 each, summed.
    """
    total = 0.0
    for i in range(len(ordered) - window + 1):
        total += min(places[ordered[i + window - 1]] - places[ordered[i]], 1.0)
    return total


@_kernel
def in_order(column: Codes, side: Bools, histogram: Codes, domain: int, ordered: Codes) -> int:
    """Write the codes of the ``column`` on the left ``side``, and behind them those on the right,
    each in order, into ``ordered``; how many are left.

    Codes are below ``domain``; they are counted in the ``histogram`` (2, domain or more), which is
    zero and left so, where they are many, else sorted.
    """
    left, n = 0, len(column)
    if domain > 4 * n:
        right = n
        for p in range(n):
            if side[p]:
                ordered[left] = column[p]
                left += 1
            else:
                right -= 1
                ordered[right] = column[p]
        sort(ordered[:left])
        sort(ordered[left:n])
        return left
    for p in range(n):
        histogram[0 if side[p] else 1, column[p]] += 1
    at = 0
    for s in range(2):
        for v in range(domain):
            for _ in range(histogram[s, v]):
                ordered[at] = v
                at += 1
            histogram[s, v] = 0
        left = at if s == 0 else left
    return left


@_kernel
def _costs(table: Table, start: int, stop: int, cut: Cut, window: int, room: Room) -> float:
    """What both sides of a cut will cost together, over all attributes."""
    codes, offsets, size = table.codes, table.offsets, stop - start
    for p in range(size):
        room.side[p] = codes[cut.attribute, start + p] <= cut.last
    total = 0.0
    for b in range(len(offsets) - 1):
        places = table.positions[offsets[b] : offsets[b + 1]]
        column = codes[b, start:stop]
        left = in_order(column, room.side, room.histogram, len(places), room.ordered)
        total += covering(room.ordered[:left], places, window) + covering(
            room.ordered[left:size], places, window
        )
    return total


@_kernel
def cut(window: int, table: Table, rule: Rule, first: int, end: int, grain: int) -> Ints:
    """Cut the rows ``first .. end-1`` into groups, in place; at least ``window`` rows cover for a
    published value.

    ``table``, ``rule`` and ``grain`` are those of ``mondrian.cut``; cuts are strict.
    """
    sides, n = sides_of(rule), end - first
    nodes: Nodes = nodes_of(table, first, end, STRICT, rule.k, grain)
    counted = min(largest_domain(table), 4 * n) + 1
    room = Room(np.empty(n, np.bool_), np.zeros((2, counted), np.int32), np.empty(n, np.int32))
    while True:
        start, stop = next_node(table, nodes, rule.k)
        if stop == 0:
            break
        distinct = count_here(table, start, stop, rule, sides)
        least, chosen, judged = np.inf, Cut(-1, 0, 0, 0), -1
        while True:
            tried = next_median(table, nodes, start, stop)
            a = tried.attribute
            if a < 0:
                break
            if a == judged or not sides_keep(table, start, stop, tried, rule, sides, distinct):
                continue
            judged = a  # of each attribute the first cut that keeps the rule
            cost = _costs(table, start, stop, tried, window, room)
            if cost < least or (cost == least and a < chosen.attribute):
                least, chosen = cost, tried
        forget_here(sides, distinct)
        if chosen.attribute >= 0:
            make(table, nodes, start, stop, chosen)
    return nodes.pending[: nodes.state[LEFT_OVER]]
