# SPDX-License-Identifier: Apache-2.0
"""Slicing's tuple partition with the local check: Mondrian cuts, kept where both halves keep the
promise by themselves.

Source: Li, Li, Zhang, Molloy, "Slicing", section 4.3; Mondrian after LeFevre, DeWitt, Ramakrishnan,
ICDE 2006. How we differ from the paper: a cut is judged by the two halves and not by all buckets,
which for strict cuts is the same, as every tuple matches its own bucket alone.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.kernels import njit
from phalanx.methods.mondrian.kernels.cuts import (
    DISTANCE,
    DIVERSITY,
    FREQUENCY,
    L_DEN,
    L_NUM,
    NONE,
    RELAXED,
    K,
    close,
    diverse,
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
    widest,
)

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def _kept(
    cells: Codes,
    counts: Ints,
    among: Ints,
    met: Codes,
    cell_q: Codes,
    cell_s: Codes,
    first: Ints,
    rule: Ints,
    log_l: float,
    totals: Ints,
    nodes: Codes,
    node_totals: Ints,
    buffers: Ints,
    reached: Codes,
) -> bool:
    """Whether tuples with these ``cells`` keep the rule among those with each q; ``counts`` and
    ``among`` are zero, and left zero.
    """
    present = 0
    for cell in cells:
        if counts[cell] == 0:
            met[present] = cell
            present += 1
        counts[cell] += 1
        among[cell_q[cell]] += 1
    kept = True
    simple = rule[DISTANCE] == NONE and rule[DIVERSITY] == FREQUENCY
    values, frequencies = met[present:], buffers[1]
    for i in range(present):
        cell = met[i]
        q = cell_q[cell]
        size = among[q]
        if simple:
            if counts[cell] * rule[L_NUM] > size * rule[L_DEN]:
                kept = False
                break
        elif size > 0:  # each q once: it is marked as done
            among[q] = -size
            distinct = 0
            for other in range(first[q], first[q + 1]):
                if counts[other] > 0:
                    values[distinct] = cell_s[other]
                    buffers[0, cell_s[other]] = counts[other]
                    distinct += 1
            kept = close(
                buffers[0],
                values,
                distinct,
                size,
                rule,
                totals,
                nodes,
                node_totals,
                buffers[2],
                reached,
            ) and diverse(buffers[0], values, distinct, size, rule, log_l, frequencies)
            for j in range(distinct):
                buffers[0, values[j]] = 0
            if not kept:
                break
    for i in range(present):
        counts[met[i]] = 0
        among[cell_q[met[i]]] = 0
    return kept


@_kernel
def keeps(
    cells: Codes,
    cell_q: Codes,
    cell_s: Codes,
    first: Ints,
    rule: Ints,
    log_l: float,
    totals: Ints,
    nodes: Codes,
    node_totals: Ints,
) -> bool:
    """Whether all tuples, with all these ``cells`` (n * m,), keep the rule as one bucket.

    ``cell_q``, ``cell_s``, ``first``, ``rule``, ``log_l``, ``totals``, ``nodes`` and
    ``node_totals`` are those of :func:`cut_local`.
    """
    counts, among = np.zeros(len(cell_q), np.int64), np.zeros(len(first), np.int64)
    buffers = np.zeros((3, max(1, len(totals))), np.int64)
    met = np.empty(2 * len(cell_q) + 1, np.int32)
    reached = np.empty(max(1, len(totals)), np.int32)
    return bool(
        _kept(
            cells,
            counts,
            among,
            met,
            cell_q,
            cell_s,
            first,
            rule,
            log_l,
            totals,
            nodes,
            node_totals,
            buffers,
            reached,
        )
    )


@_kernel
def cut_local(
    codes: Codes,
    rows: Codes,
    positions: Floats,
    offsets: Ints,
    cell_q: Codes,
    cell_s: Codes,
    first: Ints,
    rule: Ints,
    log_l: float,
    totals: Ints,
    nodes: Codes,
    node_totals: Ints,
    begins: npt.NDArray[np.bool_],
) -> None:
    """Cut all tuples into buckets, in place, each of which keeps the rule by itself.

    ``codes`` (d + m, n), with every row's m cells below the attributes, each of another q, and
    ``rows`` (n,) are reordered together so that buckets stand together; ``begins`` (n,) is set at
    each bucket's first place. ``positions``, ``offsets``, ``rule``, ``log_l``, ``totals``,
    ``nodes`` and ``node_totals``: those of ``mondrian.cut``. ``cell_q`` and ``cell_s`` (cells,):
    the quasi-identifiers and the sensitive value of every cell; ``first`` (qs + 1,): where the
    cells of each q begin.
    """
    d = len(offsets) - 1
    n = len(rows)
    domain = 64
    for a in range(d):
        domain = max(domain, offsets[a + 1] - offsets[a])
    histogram = np.empty(min(domain, 2 * n + 64), np.int32)
    wrong = np.empty((2, n + 1), np.int32)
    low, high, width = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.float64)
    counts, among = np.zeros(len(cell_q), np.int64), np.zeros(len(first), np.int64)
    buffers = np.zeros((3, max(1, len(totals))), np.int64)
    met = np.empty(2 * len(cell_q) + 1, np.int32)
    reached = np.empty(max(1, len(totals)), np.int32)
    lines = len(codes) - d
    half = np.empty(lines * n, np.int32)
    stack = np.empty((2 * WAITING, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    waiting = 1
    while waiting > 0:
        waiting -= 1
        start, stop = stack[waiting, 0], stack[waiting, 1]
        size = stop - start
        begins[start] = True
        if size < 2 * rule[K]:
            continue
        measure(codes, start, stop, positions, offsets, low, high, width)
        middle = start
        while middle == start:
            a = widest(width)
            if width[a] < 0:
                break
            width[a] = -1.0
            median_code, below, at_most = median(codes[a, start:stop], low[a], high[a], histogram)
            for attempt in range(ways(rule[RELAXED])):
                last, left, dealt = way(rule[RELAXED], attempt, median_code, below, at_most, size)
                if left < rule[K] or size - left < rule[K]:
                    continue
                to_left, to_right, equal = 0, lines * left, dealt
                for i in range(start, stop):
                    goes = codes[a, i] <= last
                    if not goes and equal > 0 and codes[a, i] == last + 1:
                        goes = True
                        equal -= 1
                    for line in range(lines):
                        if goes:
                            half[to_left] = codes[d + line, i]
                            to_left += 1
                        else:
                            half[to_right] = codes[d + line, i]
                            to_right += 1
                split = lines * left
                allowed = _kept(
                    half[:split],
                    counts,
                    among,
                    met,
                    cell_q,
                    cell_s,
                    first,
                    rule,
                    log_l,
                    totals,
                    nodes,
                    node_totals,
                    buffers,
                    reached,
                )
                if allowed:
                    right = half[split : lines * size]
                    allowed = _kept(
                        right,
                        counts,
                        among,
                        met,
                        cell_q,
                        cell_s,
                        first,
                        rule,
                        log_l,
                        totals,
                        nodes,
                        node_totals,
                        buffers,
                        reached,
                    )
                if allowed:
                    middle = start + left
                    move(codes, rows, a, start, middle, stop, last, rule[RELAXED], histogram, wrong)
                    break
        if middle > start:
            waiting = put(stack, waiting, start, middle, stop)
