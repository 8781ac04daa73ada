# SPDX-License-Identifier: Apache-2.0
"""What a group must keep, as kernels take it: its least size, and the diversity and closeness of
its sensitive values. All but entropy is decided in integers. ``scratch`` is room for that.

Closeness after Li, Li, Venkatasubramanian, "t-Closeness", ICDE 2007, section 4. Made by
``methods.requirement``, which validates it.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.kernels import njit
from phalanx.kernels.sorting import sort

FEW: Final = 16
"""Where a group has less than one in so many values, only its own are looked at."""
NONE: Final = 0
FREQUENCY, DISTINCT, ENTROPY, RECURSIVE = 1, 2, 3, 4
ORDERED, TREE = 1, 2
ENTROPY_MARGIN: Final = 1e-9
"""Rounding of the entropy's sum stays below this; a group nearer than this to the bound is
declined, unless its values are equally frequent.
"""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Rule(NamedTuple):
    """What a group must keep; a fraction is a numerator and a denominator, each below 2**31."""

    k: int
    """The least size."""
    diversity: int
    """``NONE`` or how l is meant."""
    l_num: int
    l_den: int
    log_l: float
    """ln l."""
    c_num: int
    c_den: int
    distance: int
    """``NONE``, ``ORDERED`` or ``TREE``; the equal distance is a tree of one level."""
    t_num: int
    t_den: int
    rows: int
    """How many rows the table has."""
    totals: Ints
    """Shape (m,): how often each sensitive value stands in the table; (0,) where the rule is about
    none.
    """
    nodes: Codes
    """Shape (levels, m): the node above each value on each level below the root, from the leaf
    up.
    """
    node_totals: Ints
    """Shape (levels, m): how often each node stands in the table."""
    sums: Ints
    """As :func:`sums_of` makes them, for ``ORDERED``."""


def sums_of(totals: Ints) -> Ints:
    """How many rows of the table have one of the first i values, and the sum of the first i of
    these numbers, without that of no value; shape (2, m + 1). ``totals`` (m,): rows by value.
    """
    sums = np.zeros((2, len(totals) + 1), np.int64)
    np.cumsum(totals, out=sums[0, 1:])
    np.cumsum(sums[0, 1:], out=sums[1, 1:])
    return sums


def of_size(k: int) -> Rule:
    """A rule about no sensitive value: ``k`` rows at least."""
    none, nodes = np.empty(0, np.int64), np.empty((1, 0), np.int32)
    return Rule(k, NONE, 1, 1, 0.0, 1, 1, NONE, 1, 1, 1, none, nodes, none[None, :], sums_of(none))


class Asked(NamedTuple):
    """A rule, and the sensitive values that it is about."""

    sensitive: Codes
    """Shape (n,), below m; of length 0 where the rule is about none."""
    rule: Rule


class Scratch(NamedTuple):
    """Room to judge a group; m sensitive values."""

    spare: Ints
    """Shape (m,): zero, and left so."""
    reached: Codes
    frequencies: Ints


@_kernel
def scratch_of(m: int) -> Scratch:
    """Room for ``m`` sensitive values."""
    return Scratch(np.zeros(m, np.int64), np.empty(m, np.int32), np.empty(m, np.int64))


@_kernel
def is_about(rule: Rule) -> bool:
    """Whether the ``rule`` is about sensitive values."""
    return bool(rule.diversity != NONE or rule.distance != NONE)


@_kernel
def diverse(
    counts: Ints, values: Codes, distinct: int, size: int, rule: Rule, scratch: Scratch
) -> bool:
    """Whether ``size`` rows with ``counts`` of the first ``distinct`` of ``values`` are diverse, as
    the ``rule`` asks.
    """
    if rule.diversity == NONE:
        return True
    frequencies = scratch.frequencies
    present, most = 0, 0
    for i in range(distinct):
        r = counts[values[i]]
        if r > 0:
            frequencies[present] = r
            present += 1
            most = max(most, r)
    if rule.diversity == FREQUENCY:
        return bool(most * rule.l_num <= size * rule.l_den)
    if rule.diversity == DISTINCT or (rule.diversity == ENTROPY and most * present == size):
        return bool(present * rule.l_den >= rule.l_num)  # of equal frequencies: ln(present)
    if rule.diversity == ENTROPY:
        total = 0.0
        sort(frequencies[:present])  # so that no order of rows is seen in the sum
        for i in range(present):
            total += frequencies[i] * np.log(frequencies[i])
        return bool(np.log(size) - total / size >= rule.log_l + ENTROPY_MARGIN)
    if present < rule.l_num:
        return False
    ascending = frequencies[:present]
    sort(ascending)
    tail = 0
    for i in range(present - rule.l_num + 1):
        tail += ascending[i]
    return bool(most * rule.c_den < rule.c_num * tail)


@_kernel
def close(
    counts: Ints, values: Codes, distinct: int, size: int, rule: Rule, scratch: Scratch
) -> bool:
    """Whether ``size`` rows with ``counts`` of the first ``distinct`` of ``values`` are within t of
    the table, as the ``rule`` asks: both sides are multiplied by size, rows and the distance's scale, and
    counted in whole units of size times rows, and a rest, which fit 64 bits.

    A tree's earth mover's distance is half the sum, over all edges, of the mass that must cross the
    edge (each edge is 1/height long).
    """
    if rule.distance == NONE:
        return True
    rows, totals, nodes, node_totals = rule.rows, rule.totals, rule.nodes, rule.node_totals
    unit, whole, rest = size * rows, 0, 0
    if rule.distance == ORDERED:
        longest = len(totals) - 1
        if distinct < len(totals) // FEW:
            whole, rest = _carried_over(counts, values, distinct, size, rule, scratch.reached)
        else:
            carried = 0
            for v in range(len(totals)):
                carried += counts[v] * rows - totals[v] * size
                whole, rest = _added(whole, rest, abs(carried), unit)
    else:
        longest = 2 * nodes.shape[0]
        spare, reached = scratch.spare, scratch.reached
        for level in range(nodes.shape[0]):
            met, missed = 0, rows
            for i in range(distinct):
                r = counts[values[i]]
                if r > 0:
                    node = nodes[level, values[i]]
                    if spare[node] == 0:
                        reached[met] = node
                        met += 1
                    spare[node] += r
            for j in range(met):
                node = reached[j]
                surplus = abs(spare[node] * rows - node_totals[level, node] * size)
                whole, rest = _added(whole, rest, surplus, unit)
                missed -= node_totals[level, node]
                spare[node] = 0
            whole, rest = _added(whole, rest, missed * size, unit)
    # whole + rest / unit <= t * longest, with t = p / q of 31 bits, in 64 bits
    p, q = rule.t_num, rule.t_den
    most, over = p * longest // q, p * longest % q
    return bool(
        whole < most or (whole == most and rest <= over * (unit // q) + over * (unit % q) // q)
    )


@_kernel
def _added(whole: int, rest: int, more: int, unit: int) -> tuple[int, int]:
    """``more``, from 0 to a ``unit`` (below 2**62), added to whole units and the ``rest`` below one."""
    rest += more
    if rest >= unit:
        return whole + 1, rest - unit
    return whole, rest


@_kernel
def _carried_over(
    counts: Ints, values: Codes, distinct: int, size: int, rule: Rule, own: Codes
) -> tuple[int, int]:
    """What is carried from value to value until ``counts`` are as in the table, of all values
    together, in units of ``size`` times the table's rows, and the rest: between two of a group's
    ``own`` values its share stays, and the table's grows.
    """
    rows, below, sums = rule.rows, rule.sums[0], rule.sums[1]
    m, present = len(rule.totals), 0
    for i in range(distinct):
        if counts[values[i]] > 0:
            own[present] = values[i]
            present += 1
    sort(own[:present])
    first = m if present == 0 else np.int64(own[0])
    whole, rest, reached = sums[first] // rows, sums[first] % rows * size, 0
    for i in range(present):
        first, end = np.int64(own[i]), m if i + 1 == present else np.int64(own[i + 1])
        reached += counts[first]
        level = reached * rows // size
        low, high = first, end  # where the table first has more than the group
        while low < high:
            middle = (low + high) // 2
            if below[middle + 1] > level:
                high = middle
            else:
                low = middle + 1
        for many, theirs, sign in (
            (low - first, sums[low] - sums[first], 1),
            (end - low, sums[end] - sums[low], -1),
        ):
            ours = many * reached
            whole += sign * (ours // size - theirs // rows)
            rest += sign * (ours % size * rows - theirs % rows * size)
            if rest < 0:
                whole, rest = whole - 1, rest + size * rows
            elif rest >= size * rows:
                whole, rest = whole + 1, rest - size * rows
    return whole, rest


@_kernel
def meets(asked: Asked) -> bool:
    """Whether all rows, as one group, meet what is ``asked``."""
    rule, size = asked.rule, len(asked.sensitive)
    m = len(rule.totals)
    counts, values, scratch = np.zeros(m, np.int64), np.arange(m).astype(np.int32), scratch_of(m)
    for v in asked.sensitive:
        counts[v] += 1
    return bool(
        size >= rule.k
        and close(counts, values, m, size, rule, scratch)
        and diverse(counts, values, m, size, rule, scratch)
    )
