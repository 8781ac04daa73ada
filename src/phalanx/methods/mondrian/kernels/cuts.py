# SPDX-License-Identifier: Apache-2.0
"""Mondrian's cuts over integer codes: in place, iterative, exact where a promise is tested.

Source: LeFevre, DeWitt, Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006, section 4
(strict and relaxed cuts); closeness after Li, Li, Venkatasubramanian, "t-Closeness", ICDE 2007,
section 4.

How we differ from the paper: where ``rule[CUT_AT]`` asks for the least width, all cuts of a small
node are compared, and each attribute's best one is tried (``narrow_cuts.py``), before those at
medians. Where cutting after the median value is not allowed, cutting before it is tried too, which
matters on skewed attributes (the median is then often the maximum, and nothing would be left on the
right); an attribute on which all tuples of a node agree is never cut, as that narrows nothing.
Relaxed cuts sort a node by the attribute, and rows that are equal there keep the order of earlier
cuts: at random they would be wide on all other attributes.

Every function here releases the lock, so that disjoint parts of the table are cut by several
threads at once.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.kernels import njit
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
from phalanx.methods.mondrian.kernels.narrow_cuts import LOOKED_AT, cheapest, compare, room

# What a group must meet, as one array of integers; fractions are kept as numerator and denominator,
# each below 2**31.
K, DIVERSITY, L_NUM, L_DEN, C_NUM, C_DEN, DISTANCE, T_NUM, T_DEN, ROWS, RELAXED, CUT_AT = range(12)
RULE_LENGTH: Final = 12
NONE: Final = 0
FREQUENCY, DISTINCT, ENTROPY, RECURSIVE = 1, 2, 3, 4
ORDERED, TREE = 1, 2
MEDIAN, LEAST_WIDTH = 1, 2
ENTROPY_MARGIN: Final = 1e-9
"""Rounding of the entropy's sum stays below this; a group nearer than this to the bound is
declined, unless its values are equally frequent.
"""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def diverse(
    counts: Ints,
    values: Codes,
    distinct: int,
    size: int,
    rule: Ints,
    log_l: float,
    frequencies: Ints,
) -> bool:
    """Whether ``size`` tuples with ``counts`` of the first ``distinct`` of ``values`` are diverse;
    all but entropy is decided in integers.

    ``rule`` and ``log_l`` are those of :func:`cut`; ``frequencies`` (m,) is scratch.
    """
    kind = rule[DIVERSITY]
    if kind == NONE:
        return True
    present, most = 0, 0
    for i in range(distinct):
        r = counts[values[i]]
        if r > 0:
            frequencies[present] = r
            present += 1
            most = max(most, r)
    if kind == FREQUENCY:
        return bool(most * rule[L_NUM] <= size * rule[L_DEN])
    if kind == DISTINCT or (
        kind == ENTROPY and most * present == size
    ):  # equally frequent values: the entropy is ln(present)
        return bool(present * rule[L_DEN] >= rule[L_NUM])
    if kind == ENTROPY:
        total = 0.0
        for i in range(present):
            total += frequencies[i] * np.log(frequencies[i])
        return bool(np.log(size) - total / size >= log_l + ENTROPY_MARGIN)
    if present < rule[L_NUM]:
        return False
    ascending = frequencies[:present]
    ascending.sort()
    tail = 0
    for i in range(present - rule[L_NUM] + 1):
        tail += ascending[i]
    return bool(most * rule[C_DEN] < rule[C_NUM] * tail)


@_kernel
def close(
    counts: Ints,
    values: Codes,
    distinct: int,
    size: int,
    rule: Ints,
    totals: Ints,
    nodes: Codes,
    node_totals: Ints,
    scratch: Ints,
    reached: Codes,
) -> bool:
    """Whether the counts are within t of the table's ``totals``, in integers: both sides are
    multiplied by size, rows and the distance's scale.

    The first ``distinct`` of ``values`` have counts; ``rule`` and ``node_totals`` are those of
    :func:`cut`; ``scratch``, which is zero and left so, and ``reached`` have as many places as
    there are values. ``nodes`` (levels, values): the node above each value on each level below the
    root; the equal distance is a tree of one level. A tree's earth mover's distance is half the
    sum, over all edges, of the mass that must cross the edge (each edge is 1/height long).
    """
    if rule[DISTANCE] == NONE:
        return True
    rows = rule[ROWS]
    work = 0
    if rule[DISTANCE] == ORDERED:
        carried = 0
        for v in range(len(totals)):
            carried += counts[v] * rows - totals[v] * size
            work += abs(carried)
        unit = (len(totals) - 1) * size * rows
    else:
        for level in range(nodes.shape[0]):
            met, missed = 0, rows
            for i in range(distinct):
                r = counts[values[i]]
                if r > 0:
                    node = nodes[level, values[i]]
                    if scratch[node] == 0:
                        reached[met] = node
                        met += 1
                    scratch[node] += r
            for j in range(met):
                node = reached[j]
                work += abs(scratch[node] * rows - node_totals[level, node] * size)
                missed -= node_totals[level, node]
                scratch[node] = 0
            work += missed * size
        unit = 2 * nodes.shape[0] * size * rows
    p, q = rule[T_NUM], rule[T_DEN]
    return bool(
        work <= p * (unit // q) + p * (unit % q) // q
    )  # the floor of t * unit, without overflow as t <= 1


@_kernel
def meets(
    sensitive: Codes, rule: Ints, log_l: float, totals: Ints, nodes: Codes, node_totals: Ints
) -> bool:
    """Whether the tuples with these ``sensitive`` codes, as one group, meet the ``rule``.

    ``log_l``, ``totals``, ``nodes`` and ``node_totals`` are those of :func:`cut`.
    """
    m = len(totals)
    counts = np.zeros(m, np.int64)
    for v in sensitive:
        counts[v] += 1
    values = np.arange(m).astype(np.int32)
    scratch = np.zeros(m, np.int64)
    size = len(sensitive)
    return bool(
        size >= rule[K]
        and close(
            counts,
            values,
            m,
            size,
            rule,
            totals,
            nodes,
            node_totals,
            scratch,
            np.zeros(m, np.int32),
        )
        and diverse(counts, values, m, size, rule, log_l, scratch)
    )


@_kernel
def _tally_left(column: Codes, sensitive: Codes, last: int, dealt: int, counts: Ints) -> None:
    """Count the sensitive values left of a cut: codes up to ``last``, and the first ``dealt``
    tuples of the next code.
    """
    for i in range(len(column)):
        if column[i] <= last:
            counts[sensitive[i]] += 1
        elif dealt > 0 and column[i] == last + 1:
            counts[sensitive[i]] += 1
            dealt -= 1


@_kernel
def count_here(sensitive: Codes, here: Ints, values: Codes) -> int:
    """Count the ``sensitive`` codes of a node in ``here`` (m,), zero before, and list those that
    there are in ``values``; how many different ones.
    """
    distinct = 0
    for v in sensitive:
        if here[v] == 0:
            values[distinct] = v
            distinct += 1
        here[v] += 1
    return distinct


@_kernel
def sides_keep(
    column: Codes,
    sensitive: Codes,
    last: int,
    left: int,
    dealt: int,
    rule: Ints,
    log_l: float,
    totals: Ints,
    nodes: Codes,
    node_totals: Ints,
    here: Ints,
    values: Codes,
    distinct: int,
    counts: Ints,
    scratch: Ints,
    reached: Codes,
    frequencies: Ints,
) -> bool:
    """Whether both sides of a cut are large, diverse and close enough.

    The cut leaves the ``left`` tuples of a node whose code in ``column`` is at most ``last``,
    ``dealt`` ones of the next code among them. ``sensitive``: the node's sensitive codes, of which
    ``here``, ``values`` and ``distinct`` are as :func:`count_here` leaves them; no tuple has any
    where ``distinct`` is 0. ``counts`` (m,) and ``scratch`` (m,) are zero and left so; ``reached``
    and ``frequencies`` (m,) are scratch. ``rule``, ``log_l``, ``totals``, ``nodes`` and
    ``node_totals`` are those of :func:`cut`.
    """
    size = len(column)
    kept = left >= rule[K] and size - left >= rule[K]
    if not kept or distinct == 0:
        return bool(kept)
    _tally_left(column, sensitive, last, dealt, counts)
    for side in range(2):
        part = left if side == 0 else size - left
        kept = (
            kept
            and close(
                counts, values, distinct, part, rule, totals, nodes, node_totals, scratch, reached
            )
            and diverse(counts, values, distinct, part, rule, log_l, frequencies)
        )
        for i in range(distinct):
            counts[values[i]] = here[values[i]] - counts[values[i]] if side == 0 else 0
    return bool(kept)


@_kernel
def cut(
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
    """Cut the tuples ``first .. end-1`` into groups, in place (section 4, Anonymize).

    ``codes`` (d, n), or (d + 1, n) with the sensitive attribute last where the rule is about it,
    and ``rows`` (n,) are reordered together so that groups stand together; ``begins`` (n,) is set
    at each group's first place. ``positions``: each code's place in [0, 1], attribute ``a`` from
    ``offsets[a]`` on. Nodes of at most ``grain`` tuples are not cut but returned, shape (p, 2), for
    other threads.

    ``rule`` (12,): what a group must meet, in the order of the constants above; ``log_l``: ln l. Of
    the m sensitive values, ``totals`` (m,) says how often each stands in the table, ``nodes``
    (levels, m) which node is above it on each level below the root of their hierarchy, from the
    leaf up, and ``node_totals`` (levels, m) how often each node stands in the table; all of length
    0 where the rule is about none.
    """
    d = len(offsets) - 1
    about = rule[DIVERSITY] != NONE or rule[DISTANCE] != NONE
    m = len(totals)
    domain = 64
    for a in range(d):
        domain = max(domain, offsets[a + 1] - offsets[a] + 1)
    histogram = np.empty(min(domain, 2 * (end - first) + 64), np.int32)
    buffers = np.empty((2, end - first + 1), np.int32)
    low, high, width = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.float64)
    here, counts, scratch = np.zeros(m, np.int64), np.zeros(m, np.int64), np.zeros(m, np.int64)
    values, reached, frequencies = (
        np.empty(m, np.int32),
        np.empty(m, np.int32),
        np.empty(m, np.int64),
    )
    most = min(LOOKED_AT * rule[K], end - first) if rule[CUT_AT] == LEAST_WIDTH else 0
    at = room(most, d)
    offers = ways(rule[RELAXED]) + (ways(0) if rule[RELAXED] and rule[CUT_AT] == LEAST_WIDTH else 0)
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
        looked_at = size <= most
        if looked_at:
            compare(
                codes,
                start,
                stop,
                positions,
                offsets,
                low,
                high,
                rule[K],
                rule[RELAXED],
                histogram,
                at,
            )
        middle, a, attempt, median_code, below, at_most = start, 0, 0, 0, 0, 0
        while middle == start:
            if looked_at:
                a = cheapest(at.cost)
                if at.cost[a] == np.inf:
                    if not about:  # no cut leaves k on both sides
                        break
                    looked_at = False
                    continue
                at.cost[a] = np.inf
                last, left, dealt = at.last[a], at.size[a], at.dealt[a]
            else:
                if attempt == 0:
                    a = widest(width)
                    if width[a] < 0:
                        break
                    width[a] = -1.0
                    median_code, below, at_most = median(
                        codes[a, start:stop], low[a], high[a], histogram
                    )
                loose = rule[RELAXED] if rule[CUT_AT] == MEDIAN or attempt == ways(0) else 0
                last, left, dealt = way(loose, attempt, median_code, below, at_most, size)
                attempt = (attempt + 1) % offers
            if sides_keep(
                codes[a, start:stop],
                codes[-1, start:stop],
                last,
                left,
                dealt,
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
                middle = start + left
                move(codes, rows, a, start, middle, stop, last, rule[RELAXED], histogram, buffers)
        for i in range(distinct):
            here[values[i]] = 0
        if middle > start:
            waiting = put(stack, waiting, start, middle, stop)
    return pending[:left_over]
