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

from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.kernels import njit
from phalanx.methods.mondrian.kernels.cuts import (
    DISTANCE,
    DIVERSITY,
    NONE,
    K,
    count_here,
    sides_keep,
)
from phalanx.methods.mondrian.kernels.cutting import (
    WAITING,
    Codes,
    Floats,
    Ints,
    measure,
    median,
    move,
    put,
    way,
    ways,
)

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


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
def in_order(
    column: Codes, side: npt.NDArray[np.bool_], histogram: Codes, domain: int, ordered: Codes
) -> int:
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
        ordered[:left].sort()
        ordered[left:n].sort()
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
def _costs(
    codes: Codes,
    start: int,
    stop: int,
    side: npt.NDArray[np.bool_],
    positions: Floats,
    offsets: Ints,
    window: int,
    histogram: Codes,
    ordered: Codes,
) -> float:
    """What both sides of a node will cost together, over all attributes."""
    total = 0.0
    for b in range(len(offsets) - 1):
        places = positions[offsets[b] : offsets[b + 1]]
        left = in_order(codes[b, start:stop], side, histogram, len(places), ordered)
        total += covering(ordered[:left], places, window) + covering(
            ordered[left : stop - start], places, window
        )
    return total


@_kernel
def cut(
    window: int,
    codes: Codes,
    rows: Codes,
    positions: Floats,
    offsets: Ints,
    rule: Ints,
    log_l: float,
    totals: Ints,
    nodes: Codes,
    node_totals: Ints,
    first: int,
    end: int,
    grain: int,
    begins: npt.NDArray[np.bool_],
) -> Ints:
    """Cut the tuples ``first .. end-1`` into groups, in place; at least ``window`` tuples cover for
    a published value.

    ``codes``, ``rows``, ``positions``, ``offsets``, ``rule``, ``log_l``, ``totals``, ``nodes``,
    ``node_totals``, ``grain`` and ``begins`` are those of ``mondrian.cut``; cuts are strict.
    """
    d = len(offsets) - 1
    about = rule[DIVERSITY] != NONE or rule[DISTANCE] != NONE
    m = len(totals)
    domain = 64
    for a in range(d):
        domain = max(domain, offsets[a + 1] - offsets[a])
    histogram = np.empty(min(domain, 2 * (end - first) + 64), np.int32)
    tallies = np.zeros((2, min(domain, 4 * (end - first)) + 1), np.int32)
    ordered, side = np.empty(end - first, np.int32), np.empty(end - first, np.bool_)
    buffers = np.empty((2, end - first + 1), np.int32)
    low, high, width = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.float64)
    here, counts, scratch = np.zeros(m, np.int64), np.zeros(m, np.int64), np.zeros(m, np.int64)
    values, reached, frequencies = (
        np.empty(m, np.int32),
        np.empty(m, np.int32),
        np.empty(m, np.int64),
    )
    stack = np.empty((2 * WAITING, 2), np.int64)
    stack[0, 0], stack[0, 1] = first, end
    waiting = 1
    pending = np.empty(((end - first) // max(1, rule[K]) + 1 if grain > 0 else 0, 2), np.int64)
    left_over = 0
    while waiting > 0:
        waiting -= 1
        start, stop = stack[waiting, 0], stack[waiting, 1]
        size = stop - start
        if size <= grain:
            pending[left_over, 0], pending[left_over, 1] = start, stop
            left_over += 1
            continue
        begins[start] = True
        if size < 2 * rule[K]:
            continue
        measure(codes, start, stop, positions, offsets, low, high, width)
        distinct = 0
        if about:
            distinct = count_here(codes[d, start:stop], here, values)
        best, cut_at, cut_last, cut_left = np.inf, -1, 0, 0
        for a in range(d):
            if width[a] < 0:
                continue
            median_code, below, at_most = median(codes[a, start:stop], low[a], high[a], histogram)
            for attempt in range(ways(0)):
                last, left, _ = way(0, attempt, median_code, below, at_most, size)
                if sides_keep(
                    codes[a, start:stop],
                    codes[-1, start:stop],
                    last,
                    left,
                    0,
                    rule,
                    log_l,
                    totals,
                    nodes,
                    node_totals,
                    here,
                    values,
                    distinct,
                    counts,
                    scratch,
                    reached,
                    frequencies,
                ):
                    for p in range(size):
                        side[p] = codes[a, start + p] <= last
                    cost = _costs(
                        codes, start, stop, side, positions, offsets, window, tallies, ordered
                    )
                    if cost < best:
                        best, cut_at, cut_last, cut_left = cost, a, last, left
                    break
        for i in range(distinct):
            here[values[i]] = 0
        if cut_at >= 0:
            move(
                codes, rows, cut_at, start, start + cut_left, stop, cut_last, 0, histogram, buffers
            )
            waiting = put(stack, waiting, start, start + cut_left, stop)
    return pending[:left_over]
