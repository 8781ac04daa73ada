# SPDX-License-Identifier: Apache-2.0
"""Slicing's tuple partition with the exact check: Mondrian cuts, kept where p(t, s) stays at most
1/l over all buckets that a tuple matches.

Source: Li, Li, Zhang, Molloy, "Slicing", section 4.3, tuple-partition and diversity-check. How we
differ: the paper's check scans all tuples and buckets for every cut. Whoever matches half of a
bucket matches the whole of it, so a cut is of concern only to the tuples that match the bucket:
each bucket lists them, and each tuple lists its buckets. And p = 1/l is allowed, as the paper's
definition says and its pseudo-code does not.

p(t, s) is asked to keep the bound twice: with buckets weighed by shares f(t, B), as the paper does,
and by rows, |B| f(t, B), which is right for whoever takes every published row as equally likely to
be t's.

A tuple none of whose buckets has a value above 1/l beside its quasi-identifiers keeps the promise,
which integers decide. For any other, p(t, s) is summed in floating point over its buckets, and
accepted only where it is below the bound by more than rounding can be: this check can only decline.
So it does for tuples that are to keep the promise in each of their buckets.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.kernels import njit
from phalanx.methods.mondrian.kernels.cuts import L_DEN, L_NUM, RELAXED, K
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

MARGIN = 1e-9
"""Sums of p(t, s) within this part of the bound are declined; rounding stays far below it."""
TINY = 1e-280
"""Sums of f(t, B), or of |B| f(t, B), below this have lost what is to be compared (a share in each
of very many columns), and are declined.
"""


@_kernel
def _grown(array: Any, size: int) -> Any:
    """A longer copy."""
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


@_kernel
def _cells_of(ids: Codes, start: int, number: int, first: Ints, q: int) -> tuple[int, int]:
    """Where a bucket's cells of ``q`` begin and end among its ``number`` ascending cell ``ids``
    from ``start`` on.
    """
    found = np.searchsorted(ids[start : start + number], np.int32(first[q]))
    last = np.searchsorted(ids[start : start + number], np.int32(first[q + 1]))
    return int(start + found), int(start + last)


@_kernel
def _count(
    columns: Codes,
    codes: Codes,
    attribute: int,
    start: int,
    stop: int,
    last: int,
    dealt: int,
    counts: Codes,
    cells: Codes,
    met: Codes,
    width: Ints,
) -> tuple[int, int]:
    """Count both halves of a cut: column values, quasi-identifiers and cells; returns how many
    cells each half meets.
    """
    c = len(columns)
    n0, n1 = 0, 0
    for i in range(start, stop):
        h = 1
        if codes[attribute, i] <= last:
            h = 0
        elif dealt > 0 and codes[attribute, i] == last + 1:
            h = 0
            dealt -= 1
        for j in range(c - 1):
            counts[h, width[j] + columns[j, i]] += 1
        cell = columns[c - 1, i]
        if cells[h, cell] == 0:
            if h == 0:
                met[0, n0] = cell
                n0 += 1
            else:
                met[1, n1] = cell
                n1 += 1
        cells[h, cell] += 1
    return n0, n1


@_kernel
def cut_exact(
    codes: Codes,
    rows: Codes,
    positions: Floats,
    offsets: Ints,
    tuples: Codes,
    widths: Ints,
    cell_q: Codes,
    cell_s: Codes,
    first: Ints,
    in_each: npt.NDArray[np.bool_],
    rule: Ints,
    limit: int,
    begins: npt.NDArray[np.bool_],
) -> tuple[Codes, Ints, Floats]:
    """Cut all tuples into buckets, in place, so that p(t, s) <= l_den/l_num for each of ``tuples``,
    by shares and by rows; as one bucket they must keep it already.

    ``codes`` (d + c, n): the attributes, every row's value in the first c - 1 columns, and its
    cell, reordered with ``rows`` (n,) so that buckets stand together; ``begins`` (n,) is set at
    each bucket's first place. ``positions`` and ``offsets``: those of ``mondrian.cut``; of ``rule``
    only the least size, l, and whether cuts are relaxed. ``tuples`` (c, t): distinct tuples, by
    column, the last one their quasi-identifiers of the sensitive column; ``widths`` (c,): how many
    values each column has; ``in_each`` (t,): which of them no bucket that they match may leave
    above the bound. ``cell_q`` and ``cell_s`` (cells,): what a cell stands for, ascending;
    ``first`` (qs + 1,): where the cells of each q begin. Stops after ``limit`` cuts, where that is
    not negative.

    Returns every pair of a tuple and a bucket that it matches: the tuple, the bucket's first place,
    and ``prod_i n_i / |B|^c`` over the first c - 1 columns, so that f(t, B) is this times the
    bucket's tuples with t's q.
    """
    d = len(offsets) - 1
    c, number = tuples.shape
    n = len(rows)
    l_num, l_den = rule[L_NUM], rule[L_DEN]
    domain = 64
    for a in range(d):
        domain = max(domain, offsets[a + 1] - offsets[a])
    histogram = np.empty(min(domain, 2 * n + 64), np.int32)
    wrong = np.empty((2, n + 1), np.int32)
    low, high, width = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.float64)
    base = np.zeros(c, np.int64)
    for j in range(1, c):
        base[j] = base[j - 1] + widths[j - 1]
    counts = np.zeros((2, base[c - 1] + 1), np.int32)
    among = np.zeros((2, widths[c - 1]), np.int32)
    cells = np.zeros((2, len(cell_q)), np.int32)
    bad = np.zeros((2, widths[c - 1]), np.bool_)
    met = np.empty((2, n), np.int32)
    by_shares, by_rows = (
        np.zeros(int(cell_s.max()) + 1, np.float64),
        np.zeros(int(cell_s.max()) + 1, np.float64),
    )
    # what each bucket holds, from its first place on: cells in ascending order, and how often each
    cell_ids, cell_counts = np.empty(n, np.int32), np.empty(n, np.int32)
    held, sizes = np.zeros(n, np.int32), np.zeros(n, np.int64)
    head = np.full(n, -1, np.int64)
    # pairs of tuple and bucket, in a list for each bucket and one for each tuple
    of_tuple, of_bucket = np.arange(number).astype(np.int32), np.zeros(number, np.int64)
    weight, is_bad = np.zeros(number, np.float64), np.zeros(number, np.bool_)
    next_here, next_there = np.arange(1, number + 1), np.full(number, -1, np.int64)
    next_here[number - 1] = -1
    head[0] = 0
    list_of = np.arange(number)
    bads = np.zeros(number, np.int32)
    used, free = number, -1
    for i in range(n):
        for j in range(c - 1):
            counts[0, base[j] + codes[d + j, i]] += 1
        cells[0, codes[d + c - 1, i]] += 1
    for cell in range(len(cell_q)):
        cell_ids[cell], cell_counts[cell] = cell, cells[0, cell]
        cells[0, cell] = 0
    held[0], sizes[0] = len(cell_q), n
    for e in range(number):
        weight[e] = 1.0 / n
        for j in range(c - 1):
            weight[e] *= counts[0, base[j] + tuples[j, e]] / n
    counts[0, :] = 0
    stack = np.empty((2 * WAITING, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    waiting, done = 1, 0
    while waiting > 0:
        waiting -= 1
        start, stop = stack[waiting, 0], stack[waiting, 1]
        size = stop - start
        begins[start] = True
        if size < 2 * rule[K] or done == limit:
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
                n0, n1 = _count(
                    codes[d:], codes, a, start, stop, last, dealt, counts, cells, met, base
                )
                for h in range(2):
                    for i in range(n0 if h == 0 else n1):
                        among[h, cell_q[met[h, i]]] += cells[h, met[h, i]]
                    for i in range(n0 if h == 0 else n1):
                        cell = met[h, i]
                        if cells[h, cell] * l_num > among[h, cell_q[cell]] * l_den:
                            bad[h, cell_q[cell]] = True
                allowed = True
                e = head[start]
                while e >= 0 and allowed:
                    t = of_tuple[e]
                    q = tuples[c - 1, t]
                    left_bads = bads[t] - is_bad[e]
                    matched0, matched1 = among[0, q] > 0, among[1, q] > 0
                    for j in range(c - 1):
                        matched0 = matched0 and counts[0, base[j] + tuples[j, t]] > 0
                        matched1 = matched1 and counts[1, base[j] + tuples[j, t]] > 0
                    if left_bads + (matched0 and bad[0, q]) + (matched1 and bad[1, q]) > 0:
                        shares, numbers = 0.0, 0.0
                        for h in range(2):
                            if not (matched0 if h == 0 else matched1):
                                continue
                            part = left if h == 0 else size - left
                            w = 1.0 / part
                            for j in range(c - 1):
                                w *= counts[h, base[j] + tuples[j, t]] / part
                            for cell in range(first[q], first[q + 1]):
                                by_shares[cell_s[cell]] += w * cells[h, cell]
                                by_rows[cell_s[cell]] += w * cells[h, cell] * part
                            shares += w * among[h, q]
                            numbers += w * among[h, q] * part
                        other = list_of[t]
                        while other >= 0:
                            if other != e:
                                b = of_bucket[other]
                                begin, end = _cells_of(cell_ids, b, held[b], first, q)
                                for k in range(begin, end):
                                    w = weight[other] * cell_counts[k]
                                    by_shares[cell_s[cell_ids[k]]] += w
                                    by_rows[cell_s[cell_ids[k]]] += w * sizes[b]
                                    shares += w
                                    numbers += w * sizes[b]
                            other = next_there[other]
                        allowed = not in_each[t] and shares > TINY and numbers > TINY
                        for cell in range(first[q], first[q + 1]):
                            s = cell_s[cell]
                            if l_num * by_shares[s] > l_den * shares * (
                                1 - MARGIN
                            ) or l_num * by_rows[s] > l_den * numbers * (1 - MARGIN):
                                allowed = False
                        for cell in range(first[q], first[q + 1]):
                            by_shares[cell_s[cell]], by_rows[cell_s[cell]] = 0.0, 0.0
                    e = next_here[e]
                if allowed:
                    middle = start + left
                    done += 1
                    e, head[start], head[middle] = head[start], -1, -1
                    while e >= 0:
                        following = next_here[e]
                        t = of_tuple[e]
                        q = tuples[c - 1, t]
                        bads[t] -= is_bad[e]
                        taken = False
                        for h in range(2):
                            matched = among[h, q] > 0
                            part = left if h == 0 else size - left
                            w = 1.0 / part
                            for j in range(c - 1):
                                times = counts[h, base[j] + tuples[j, t]]
                                matched = matched and times > 0
                                w *= times / part
                            if not matched:
                                continue
                            entry = e
                            if taken:
                                if free >= 0:
                                    entry = free
                                    free = next_here[free]
                                else:
                                    if used == len(of_tuple):
                                        room = 2 * used
                                        of_tuple, of_bucket = (
                                            _grown(of_tuple, room),
                                            _grown(of_bucket, room),
                                        )
                                        weight, is_bad = _grown(weight, room), _grown(is_bad, room)
                                        next_here, next_there = (
                                            _grown(next_here, room),
                                            _grown(next_there, room),
                                        )
                                    entry = used
                                    used += 1
                                next_there[entry] = list_of[t]
                                list_of[t] = entry
                            taken = True
                            b = start if h == 0 else middle
                            of_tuple[entry], of_bucket[entry], weight[entry], is_bad[entry] = (
                                t,
                                b,
                                w,
                                bad[h, q],
                            )
                            bads[t] += bad[h, q]
                            next_here[entry] = head[b]
                            head[b] = entry
                        if (
                            not taken
                        ):  # the tuple matches neither half: its list goes on without this bucket
                            of_tuple[e] = -1
                            if list_of[t] == e:
                                list_of[t] = next_there[e]
                            else:
                                before = list_of[t]
                                while next_there[before] != e:
                                    before = next_there[before]
                                next_there[before] = next_there[e]
                            next_here[e] = free
                            free = e
                        e = following
                    for h in range(2):
                        b, number_of = (start, n0) if h == 0 else (middle, n1)
                        met[h, :number_of].sort()
                        held[b], sizes[b] = number_of, left if h == 0 else size - left
                        for i in range(number_of):
                            cell_ids[b + i], cell_counts[b + i] = met[h, i], cells[h, met[h, i]]
                for h in range(2):
                    for i in range(n0 if h == 0 else n1):
                        cell = met[h, i]
                        cells[h, cell] = 0
                        among[h, cell_q[cell]] = 0
                        bad[h, cell_q[cell]] = False
                for i in range(start, stop):
                    for j in range(c - 1):
                        counts[0, base[j] + codes[d + j, i]] = 0
                        counts[1, base[j] + codes[d + j, i]] = 0
                if allowed:
                    move(codes, rows, a, start, middle, stop, last, rule[RELAXED], histogram, wrong)
                    break
        if middle > start:
            waiting = put(stack, waiting, start, middle, stop)
    live = np.flatnonzero(of_tuple[:used] >= 0)
    return of_tuple[live], of_bucket[live], weight[live]
