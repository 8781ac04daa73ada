# SPDX-License-Identifier: Apache-2.0
"""Mondrian's cuts over integer codes: in place, iterative, exact where a rule is tested.

Source: LeFevre, DeWitt, Ramakrishnan, "Mondrian Multidimensional K-Anonymity", ICDE 2006, section 4
(strict and relaxed cuts).

How we differ from the paper: where the least width is asked for, all cuts of a small node are
compared, and each attribute's best one is tried (``narrow_cuts.py``), before those at medians; of a
large one the attribute is cut on which a few of its rows are widest, not all.
Where cutting after the median value is not allowed, cutting before it is tried too, which matters
on skewed attributes (the median is then often the maximum, and nothing would be left on the right);
an attribute on which all rows of a node agree is never cut, as that narrows nothing. Relaxed cuts
sort a node by the attribute, and rows that are equal there keep the order of earlier cuts: at
random they would be wide on all other attributes.

Throughout, ``table`` are the rows to cut, in nodes from ``start`` to ``stop - 1``; ``rule`` is what
a group must keep, and ``sides`` room to judge it.

Every function here releases the lock, so that disjoint parts of the table are cut by several
threads at once.
"""

from typing import Any, NamedTuple

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.kernels import njit
from phalanx.kernels.rule import Rule, Scratch, close, diverse, is_about, scratch_of
from phalanx.methods.mondrian.kernels.cutting import (
    LEFT_OVER,
    Cut,
    Nodes,
    Table,
    make,
    next_median,
    next_node,
    nodes_of,
)
from phalanx.methods.mondrian.kernels.narrow_cuts import compare, narrow_widths, next_narrow, room

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Sides(NamedTuple):
    """Room to judge both sides of a cut; m sensitive values."""

    here: Ints
    """Shape (m,): how often the node has each; zero between two nodes."""
    values: Codes
    """Shape (m,): first those that the node has."""
    counts: Ints
    """Shape (m,): of one side; zero between two cuts."""
    scratch: Scratch


@_kernel
def sides_of(rule: Rule) -> Sides:
    """Room for a rule."""
    m = len(rule.totals)
    return Sides(np.zeros(m, np.int64), np.empty(m, np.int32), np.zeros(m, np.int64), scratch_of(m))


@_kernel
def count_here(table: Table, start: int, stop: int, rule: Rule, sides: Sides) -> int:
    """Count the sensitive codes of a node, which stand last; how many different ones there are, 0
    where the rule is about none.
    """
    if not is_about(rule):
        return 0
    distinct = 0
    for v in table.codes[-1, start:stop]:
        if sides.here[v] == 0:
            sides.values[distinct] = v
            distinct += 1
        sides.here[v] += 1
    return distinct


@_kernel
def forget_here(sides: Sides, distinct: int) -> None:
    """Take back what :func:`count_here` did, which counted ``distinct`` values."""
    for i in range(distinct):
        sides.here[sides.values[i]] = 0


@_kernel
def _tally_left(column: Codes, sensitive: Codes, cut: Cut, counts: Ints) -> None:
    """Count the sensitive values left of a cut."""
    dealt = cut.dealt
    for i in range(len(column)):
        if column[i] <= cut.last:
            counts[sensitive[i]] += 1
        elif dealt > 0 and column[i] == cut.last + 1:
            counts[sensitive[i]] += 1
            dealt -= 1


@_kernel
def sides_keep(
    table: Table, start: int, stop: int, cut: Cut, rule: Rule, sides: Sides, distinct: int
) -> bool:
    """Whether both sides of a ``cut`` are large, diverse and close enough; ``distinct`` is that of
    :func:`count_here`.
    """
    size, counts, values = stop - start, sides.counts, sides.values
    holds = cut.left >= rule.k and size - cut.left >= rule.k
    if not holds or distinct == 0:
        return bool(holds)
    _tally_left(table.codes[cut.attribute, start:stop], table.codes[-1, start:stop], cut, counts)
    for side in range(2):
        part = cut.left if side == 0 else size - cut.left
        holds = (
            holds
            and close(counts, values, distinct, part, rule, sides.scratch)
            and diverse(counts, values, distinct, part, rule, sides.scratch)
        )
        for i in range(distinct):
            v = values[i]
            counts[v] = sides.here[v] - counts[v] if side == 0 else 0
    return bool(holds)


@_kernel
def cut(
    how: int, compared: int, table: Table, rule: Rule, first: int, end: int, grain: int
) -> Ints:
    """Cut the rows ``first .. end-1`` into groups that keep the rule, in place (section 4,
    Anonymize).

    Where the rule is about sensitive values, these are the table's last codes. ``how``: strictly
    or relaxed; nodes with room for ``compared`` groups are cut where groups are expected to be
    narrowest. Nodes of at most ``grain`` rows are not cut but returned, shape
    (p, 2), for other threads.
    """
    sides = sides_of(rule)
    most = min(compared * rule.k, end - first)
    at = room(most, table)
    nodes: Nodes = nodes_of(table, first, end, how, rule.k, grain)
    while True:
        start, stop = next_node(table, nodes, rule.k)
        if stop == 0:
            break
        distinct = count_here(table, start, stop, rule, sides)
        narrow = stop - start <= most
        if narrow:
            compare(table, nodes, start, stop, rule.k, at)
        elif compared > 0:
            narrow_widths(table, nodes, start, stop)
        while True:
            tried = next_narrow(at) if narrow else next_median(table, nodes, start, stop)
            if tried.attribute < 0 and narrow and is_about(rule):
                narrow = False  # none leaves k rows on both sides that keep the rule: at medians
                continue
            if tried.attribute < 0:
                break
            if sides_keep(table, start, stop, tried, rule, sides, distinct):
                make(table, nodes, start, stop, tried)
                break
        forget_here(sides, distinct)
    return nodes.pending[: nodes.state[LEFT_OVER]]
