# SPDX-License-Identifier: Apache-2.0
"""What Mondrian's cuts have in common, whatever a bucket or group must keep: the nodes that wait,
where to cut the next one at its medians, and moving rows to their side.

    while True:
        start, stop = next_node(table, nodes, least)
        if stop == 0:
            break
        ...try cuts, as next_median offers them...
            make(table, nodes, start, stop, cut)

Throughout, ``table`` are the rows to cut, and ``nodes`` those that wait; the node that is cut has
the rows ``start .. stop-1``, of which a group has ``least`` or more.

Source: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, section 4.
"""

from typing import Any, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Codes, Floats, Ints
from phalanx.kernels import njit

WAITING = 64
"""The smaller part is cut first, so that as many nodes at most wait."""
_WAITING, LEFT_OVER, _ATTRIBUTE, _WAY, _MEDIAN, _BELOW, _AT_MOST, _THROUGH_NOW = range(8)
"""Places of ``Nodes.state``: how many wait, and how many are put by; the next five are of the median that is tried, and
the last says whether what is left to try are cuts through rows with one code."""
STRICT, RELAXED, EITHER, AT_LAST = range(4)
"""How rows with one code are cut: they stay together; they may fall on both sides; at a median the
former is tried before the latter; of all attributes the former is, before the latter of any.
"""
_AFTER, _BEFORE, _THROUGH = range(3)
"""Ways to cut at a median: behind all rows that have it, before them, or so that both parts are
equally large, whatever rows have it.
"""
_FEW, _DIGIT = 64, 256
"""Fewer rows are sorted one by one, more by digits of this base."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Table(NamedTuple):
    """Rows to cut by d attributes; n rows, which are reordered so that groups stand together."""

    codes: Codes
    """Shape (d or more, n): codes of the attributes, and below them what else a row brings."""
    rows: Codes
    """Shape (n,): their numbers."""
    positions: Floats
    """Each code's place, attribute ``a`` from ``offsets[a]`` on; of Mondrian's own cuts whole
    numbers, so that widths add up to the same in any order.
    """
    offsets: Ints
    """Shape (d + 1,)."""
    begins: Bools
    """Shape (n,): set at each group's first place."""


class Nodes(NamedTuple):
    """Nodes that wait to be cut, and room for the one that is."""

    relaxed: bool
    """Whether rows with one code may fall on both sides."""
    at_last: bool
    """Whether they do only where no attribute has another cut."""
    first_way: int
    grain: int
    """Nodes of at most so many rows are put by, into ``pending``."""
    stack: Ints
    pending: Ints
    state: Ints
    low: Ints
    """Shape (d,): the node's least code on each attribute."""
    high: Ints
    width: Floats
    """Shape (d,): its width in places; -1 where all its rows agree, or no cut is left to try."""
    histogram: Codes
    buffers: Codes


class Cut(NamedTuple):
    """Left go the rows whose code is at most ``last``, and the first ``dealt`` of the next code."""

    attribute: int
    """-1: there is none."""
    last: int
    left: int
    """How many go left in all."""
    dealt: int


@_kernel
def largest_domain(table: Table) -> int:
    """The most codes of an attribute of the ``table``."""
    most = 0
    for a in range(len(table.offsets) - 1):
        most = max(most, table.offsets[a + 1] - table.offsets[a])
    return most


@_kernel
def nodes_of(table: Table, first: int, end: int, how: int, least: int, grain: int) -> Nodes:
    """The rows ``first .. end-1`` as one node that waits, to be cut as ``how`` says; ``grain``: see
    :class:`Nodes`.
    """
    d, n = len(table.offsets) - 1, end - first
    domain = max(64, largest_domain(table) + 1)
    stack = np.empty((2 * WAITING, 2), np.int64)
    stack[0, 0], stack[0, 1] = first, end
    state = np.zeros(8, np.int64)
    state[_WAITING] = 1
    return Nodes(
        how != STRICT,
        how == AT_LAST,
        _THROUGH if how == RELAXED else _AFTER,
        grain,
        stack,
        np.empty((n // max(1, least) + 1 if grain > 0 else 0, 2), np.int64),
        state,
        np.empty(d, np.int64),
        np.empty(d, np.int64),
        np.empty(d, np.float64),
        np.empty(min(domain, 2 * n + 64), np.int32),
        np.empty((2, n + 1), np.int32),
    )


@_kernel
def next_node(table: Table, nodes: Nodes, least: int) -> tuple[int, int]:
    """The ends of the next node that has rows for two groups of ``least``, measured; (0, 0) where
    none is left. Smaller ones are groups.
    """
    state = nodes.state
    while state[_WAITING] > 0:
        state[_WAITING] -= 1
        start, stop = nodes.stack[state[_WAITING], 0], nodes.stack[state[_WAITING], 1]
        if stop - start <= nodes.grain:
            nodes.pending[state[LEFT_OVER], 0] = start
            nodes.pending[state[LEFT_OVER], 1] = stop
            state[LEFT_OVER] += 1
            continue
        table.begins[start] = True
        if stop - start >= 2 * least:
            _measure(table, nodes, start, stop)
            state[_WAY], state[_THROUGH_NOW] = nodes.first_way, 0
            return start, stop
    return 0, 0


@_kernel
def _measure(table: Table, nodes: Nodes, start: int, stop: int) -> None:
    """Set a node's ends on every attribute, ``low`` and ``high``, and its ``width`` there."""
    _find_ends(table, nodes, start, stop)
    _set_widths(table, nodes)


@_kernel
def _find_ends(table: Table, nodes: Nodes, start: int, stop: int) -> None:
    for a in range(len(nodes.low)):
        lo = table.codes[a, start]
        hi = lo
        for v in table.codes[a, start:stop]:
            lo = min(lo, v)
            hi = max(hi, v)
        nodes.low[a], nodes.high[a] = lo, hi


@_kernel
def _set_widths(table: Table, nodes: Nodes) -> None:
    for a in range(len(nodes.low)):
        lo, hi = nodes.low[a], nodes.high[a]
        at, positions = table.offsets[a], table.positions
        nodes.width[a] = positions[at + hi] - positions[at + lo] if hi > lo else -1.0


@_kernel
def _widest(width: Floats) -> int:
    """The attribute with the greatest width, the first of equals."""
    best = 0
    for a in range(1, len(width)):
        if width[a] > width[best]:
            best = a
    return best


@_kernel
def median(column: Codes, low: int, high: int, histogram: Codes) -> tuple[int, int, int]:
    """The lower median of a ``column`` whose ends are ``low`` and ``high``; and how many are below
    it, and at most it.

    Counts into as many places of the ``histogram`` as the node affords, and narrows to the median's
    bucket until a bucket is one code.
    """
    rank = (len(column) - 1) // 2
    afford = min(len(histogram), 2 * len(column) + 64)
    below = 0
    while True:
        span = high - low
        shift = 0
        while (span >> shift) >= afford:
            shift += 1
        for b in range((span >> shift) + 1):
            histogram[b] = 0
        for v in column:
            x = np.int64(v) - low
            if 0 <= x <= span:
                histogram[x >> shift] += 1
        b = 0
        while below + histogram[b] <= rank:
            below += histogram[b]
            b += 1
        low += b << shift
        if shift == 0:
            return low, below, below + histogram[b]
        high = min(high, low + (1 << shift) - 1)


@_kernel
def next_median(table: Table, nodes: Nodes, start: int, stop: int) -> Cut:
    """The next cut of a node to be tried: by the widest attribute, in all ways, then by the next
    widest; and then, where that comes last, through rows with one code.
    """
    state, size = nodes.state, stop - start
    way = state[_WAY]
    if way == nodes.first_way or state[_THROUGH_NOW] == 1:
        a = _widest(nodes.width)
        if nodes.width[a] < 0 and nodes.at_last and state[_THROUGH_NOW] == 0:
            _set_widths(table, nodes)
            state[_THROUGH_NOW] = 1
            a = _widest(nodes.width)
        if nodes.width[a] < 0:
            return Cut(-1, 0, 0, 0)
        way = _THROUGH if state[_THROUGH_NOW] == 1 else way
        nodes.width[a] = -1.0
        state[_ATTRIBUTE] = a
        column = table.codes[a, start:stop]
        middle = median(column, nodes.low[a], nodes.high[a], nodes.histogram)
        state[_MEDIAN], state[_BELOW], state[_AT_MOST] = middle
    last_way = _THROUGH if nodes.relaxed and not nodes.at_last else _BEFORE
    state[_WAY] = way + 1 if way < last_way else nodes.first_way
    attribute, code, below = state[_ATTRIBUTE], state[_MEDIAN], state[_BELOW]
    if way == _AFTER:
        return Cut(attribute, code, state[_AT_MOST], 0)
    if way == _BEFORE:
        return Cut(attribute, code - 1, below, 0)
    return Cut(attribute, code - 1, size // 2, size // 2 - below)


@_kernel
def _divide(table: Table, start: int, stop: int, cut: Cut, wrong: Codes) -> None:
    """Strict cut: exchange the rows that stand on the wrong side."""
    codes, rows, middle = table.codes, table.rows, start + cut.left
    column = codes[cut.attribute]
    n = 0
    for p in range(start, middle):
        wrong[0, n] = p
        n += column[p] > cut.last
    n = 0
    for p in range(middle, stop):
        wrong[1, n] = p
        n += column[p] <= cut.last
    for c in range(len(codes)):
        column = codes[c]
        for i in range(n):
            p, q = wrong[0, i], wrong[1, i]
            column[p], column[q] = column[q], column[p]
    for i in range(n):
        p, q = wrong[0, i], wrong[1, i]
        rows[p], rows[q] = rows[q], rows[p]


@_kernel
def _by_digits(column: Codes, low: int, span: int, order: Codes) -> None:
    """The same where there are more codes than rows: few rows one by one, many by one digit after
    the other, the least first.
    """
    n = len(column)
    if n < _FEW:
        for i in range(n):
            j = i
            while j > 0 and column[order[j - 1]] > column[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
        return
    places, moved, shift = np.empty(_DIGIT + 1, np.int64), np.empty(n, np.int32), 0
    for i in range(n):
        order[i] = i
    while span >> shift > 0:
        places[:] = 0
        for i in range(n):
            places[((column[i] - low >> shift) & (_DIGIT - 1)) + 1] += 1
        for digit in range(_DIGIT):
            places[digit + 1] += places[digit]
        for i in range(n):
            digit = (column[order[i]] - low >> shift) & (_DIGIT - 1)
            moved[places[digit]] = order[i]
            places[digit] += 1
        for i in range(n):
            order[i] = moved[i]
        shift += 8


@_kernel
def sort(column: Codes, low: int, high: int, histogram: Codes, order: Codes) -> None:
    """Write the places of a ``column``, whose codes are from ``low`` to ``high``, into ``order`` by
    their codes; equal ones keep their order.

    ``histogram`` is scratch, used where it affords the codes.
    """
    n, span = len(column), high - low
    if span + 2 > min(len(histogram), 2 * n + 64):
        _by_digits(column, low, span, order)
        return
    histogram[: span + 2] = 0
    for v in column:
        histogram[v - low + 1] += 1
    for b in range(span):
        histogram[b + 1] += histogram[b]
    for i in range(n):
        b = column[i] - low
        order[histogram[b]] = i
        histogram[b] += 1


@_kernel
def _sort_all(table: Table, nodes: Nodes, start: int, stop: int, attribute: int) -> None:
    """Relaxed cut: sort the rows by the attribute. Equal ones keep their order, which is that of
    earlier cuts, so that parts are narrow on these too.
    """
    n, codes, rows = stop - start, table.codes, table.rows
    order, moved = nodes.buffers[0, :n], nodes.buffers[1, :n]
    low, high = nodes.low[attribute], nodes.high[attribute]
    sort(codes[attribute, start:stop], low, high, nodes.histogram, order)
    for c in range(len(codes)):
        column = codes[c, start:stop]
        for i in range(n):
            moved[i] = column[order[i]]
        for i in range(n):
            column[i] = moved[i]
    for i in range(n):
        moved[i] = rows[start + order[i]]
    for i in range(n):
        rows[start + i] = moved[i]


@_kernel
def make(table: Table, nodes: Nodes, start: int, stop: int, cut: Cut) -> None:
    """Move the rows of a node to their sides of a ``cut``, and let both wait, the smaller one on
    top.
    """
    middle = start + cut.left
    if nodes.relaxed:
        _sort_all(table, nodes, start, stop, cut.attribute)
    else:
        _divide(table, start, stop, cut, nodes.buffers)
    stack, at = nodes.stack, nodes.state[_WAITING]
    small_first = middle - start < stop - middle
    stack[at, 0], stack[at, 1] = (middle, stop) if small_first else (start, middle)
    stack[at + 1, 0], stack[at + 1, 1] = (start, middle) if small_first else (middle, stop)
    nodes.state[_WAITING] += 2
