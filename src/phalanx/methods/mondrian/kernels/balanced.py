# SPDX-License-Identifier: Apache-2.0
"""Balanced cuts: a partition whose failed cuts tell nothing about any one person.

Every cut divides a node into equally large parts, at a place that quasi-identifiers and coins alone
decide. It is made if every part may be a group, and that is judged by one rule for all parts. Where
it fails, the parts are not forgotten: they become *blocks* of the node, and every later cut divides
each block, so that each part of it has an equal share of every block. So anyone who sees that a cut
failed, and knows this code, can exchange the blocks (in all parts at once) without a change of what
is seen: each member of a published group is equally likely to hold each of its values.

A cut that *cannot* fail tells nothing by being made, so that its parts need not be equal: where the
smaller part might be a group even if it held all that the node holds. A node that holds nothing is
always cut so. Which cuts these are follows from how often values stand in a node, which is
published.

A node that can neither be cut so nor evenly may be divided into parts that differ by a row, of which
both may hold what the smaller one may. Where that fails the node is a group, for its rows could not
be exchanged any more; the chance of each stays within what the group may hold, if not equal, and a
method that asks for such cuts counts it so. That is so for ratios (largest shares) alone: under
entropy, recursive or distinct diversity and closeness a failed odd cut may name persons. Where no
cut may be odd, rows of a node that can be cut surely no more are first *dealt out*, by lots, into
parts that can be halved again and again (``dealing.py``); a deal of which a part may not be a group
is drawn again. Exchange the values of two rows of a group, and their lots: all deals come out as
before, so they tell nothing of any one person. Ties are decided by another order.

Throughout, ``places`` are where rows are; ``order[start:end]`` are the rows
of a node or part; ``size`` is a number of rows; ``shares`` and ``asked`` are what a group must
keep, a :class:`Shares` and an ``Asked``; ``ratio`` (v,) is what the node demands by
value; ``room`` is scratch.

Source: our own, against Wong, Fu, Wang, Pei, "Minimality attack in privacy preserving data
publishing", VLDB 2007. Proof and figures: docs/explanation/who-knows-the-method.md; enumeration:
tests/worlds/.
"""

from typing import Any, NamedTuple

import numpy as np

from phalanx.arrays import Codes, Floats, Ints, Singles
from phalanx.kernels import njit
from phalanx.kernels.rule import (
    FREQUENCY,
    NONE,
    Asked,
    Rule,
    Scratch,
    close,
    diverse,
    is_about,
    scratch_of,
)
from phalanx.methods.mondrian.kernels.dealing import DEALS, THIRDS, deal_out, dealt_apart
from phalanx.methods.mondrian.kernels.dividing import (
    Places,
    Plan,
    Room,
    bring_together,
    divide_best,
    divide_unevenly,
    part_of_node,
    room_of,
)

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Shares(NamedTuple):
    """What rows hold, and what a group of them must keep.

    Row i holds ``codes[starts[i]:starts[i + 1]]`` of v values. A group of n rows of which c hold
    value j must have ``c * r <= n`` for the largest ratio r that a row of its *node* demands:
    ``base[j]``, or that of the row, ``over_ratio`` beside ``over_value``, from
    ``over_starts[over_of[i]]`` on: rows with one ``over_of`` demand the same.
    """

    starts: Ints
    codes: Codes
    base: Floats
    over_of: Codes
    over_starts: Ints
    over_value: Codes
    over_ratio: Singles


class Counts(NamedTuple):
    """Room to judge a group: counts (all zero between two uses) and the like, by value."""

    counts: Ints
    ratio: Floats
    values: Codes
    seen: Codes
    """In which turn rows that demand the same were last looked at."""
    scratch: Scratch


class Sizes(NamedTuple):
    """How large groups are to be."""

    unit: int
    """What most groups with something to keep will need."""
    least: int
    """The least size of any."""
    odd: bool
    """Whether a node may be cut into parts that differ by a row."""


@_kernel
def ways(size: int, blocks: int, sizes: Sizes) -> int:
    """Into how many parts a node of ``blocks`` is cut: three where it is so many times some whole
    number of units, or cannot be halved; two that differ by a row where neither can be and
    ``sizes`` allow it; 0 where none can.
    """
    block = size // blocks
    if blocks == 1 and size % (3 * sizes.unit) == 0:
        return 3
    if block % 2 == 0 or (block % 3 != 0 and blocks == 1 and sizes.odd):
        return 2
    return 3 if block % 3 == 0 else 0


@_kernel
def by_counts(rule: Rule) -> bool:
    """Whether a ``rule`` bounds how often a single value stands in a group, and asks for nothing
    else of sensitive values.
    """
    return bool(rule.distance == NONE and (rule.diversity in (NONE, FREQUENCY)))


@_kernel
def holds_none(held: Codes) -> bool:
    """Whether no row holds a value with shares, by what each ``held``."""
    none = True
    for value in held:
        none = none and value == -1
    return none


@_kernel
def held_by(order: Ints, shares: Shares, asked: Asked) -> Codes:
    """What each row of ``order`` demands, its sensitive value, and the value that it holds of those
    with shares, -1 for none and -2 for several; shape (3, r).
    """
    held = np.zeros((3, len(order)), np.int32)
    for i in range(len(order)):
        row = order[i]
        held[0, i] = shares.over_of[row]
        if is_about(asked.rule):
            held[1, i] = asked.sensitive[row]
        values = shares.starts[row + 1] - shares.starts[row]
        held[2, i] = -1 if values == 0 else -2
        if values == 1:
            held[2, i] = shares.codes[shares.starts[row]]
    return held


@_kernel
def node_ratios(demands: Codes, shares: Shares, room: Counts, turn: int) -> None:
    """Raise the ratios in ``room`` to the largest that a row of a node ``demands``, by value; no
    two uses of ``room`` are in one ``turn``.
    """
    if len(shares.over_value) == 0:
        return
    ratio = room.ratio
    for of in demands:
        if room.seen[of] != turn:
            room.seen[of] = turn
            for j in range(shares.over_starts[of], shares.over_starts[of + 1]):
                ratio[shares.over_value[j]] = max(ratio[shares.over_value[j]], shares.over_ratio[j])


@_kernel
def forget_ratios(demands: Codes, shares: Shares, room: Counts, turn: int) -> None:
    """Take back what :func:`node_ratios` did for rows with these ``demands``, in another
    ``turn``.
    """
    if len(shares.over_value) == 0:
        return
    for of in demands:
        if room.seen[of] != turn:
            room.seen[of] = turn
            for j in range(shares.over_starts[of], shares.over_starts[of + 1]):
                room.ratio[shares.over_value[j]] = shares.base[shares.over_value[j]]


@_kernel
def holds_shares(rows: Ints, held: Codes, size: int, shares: Shares, room: Counts) -> bool:
    """Whether ``rows``, and what they ``held`` (as :func:`held_by` says), hold no more than a group
    of ``size`` may under the ratios in ``room``.
    """
    if len(shares.codes) == 0:
        return True
    counts, holds = room.counts, True
    for i in range(len(held)):
        if held[i] >= 0:
            counts[held[i]] += 1
        elif held[i] == -2:
            for j in range(shares.starts[rows[i]], shares.starts[rows[i] + 1]):
                counts[shares.codes[j]] += 1
    for i in range(len(held)):
        if held[i] >= 0:
            holds = holds and counts[held[i]] * room.ratio[held[i]] <= size
            counts[held[i]] = 0
        elif held[i] == -2:
            for j in range(shares.starts[rows[i]], shares.starts[rows[i] + 1]):
                v = shares.codes[j]
                holds = holds and counts[v] * room.ratio[v] <= size
                counts[v] = 0
    return bool(holds)


@_kernel
def holds_rule(sensitive: Codes, size: int, asked: Asked, room: Counts) -> bool:
    """Whether rows with these ``sensitive`` values may be a group under a rule; the largest share
    is that of a group of ``size`` rows.
    """
    rule, counts, values, distinct = asked.rule, room.counts, room.values, np.int64(0)
    for v in sensitive:
        if counts[v] == 0:
            values[distinct] = v
            distinct += 1
        counts[v] += 1
    rows = len(sensitive)
    of = size if rule.diversity == FREQUENCY else rows
    holds = close(counts, values, distinct, rows, rule, room.scratch) and diverse(
        counts, values, distinct, of, rule, room.scratch
    )
    for i in range(distinct):
        counts[values[i]] = 0
    return bool(holds)


@_kernel
def _counts(shares: Shares, asked: Asked) -> Counts:
    """Room for counts, at least one value's."""
    v = max(len(shares.base), len(asked.rule.totals), 1)
    return Counts(
        np.zeros(v, np.int64),
        shares.base.copy(),
        np.empty(v, np.int32),
        np.zeros(len(shares.over_starts) - 1, np.int32),
        scratch_of(v),
    )


@_kernel
def _holds(rows: Ints, held: Codes, size: int, shares: Shares, asked: Asked, room: Counts) -> bool:
    """Whether ``rows``, and what they ``held`` (3, r), keep what a group of ``size`` rows must,
    under the ratios in ``room`` and the rule.
    """
    holds = holds_shares(rows, held[2], size, shares, room)
    if holds and is_about(asked.rule):
        holds = holds_rule(held[1], size, asked, room)
    return bool(holds)


@_kernel
def unit_of(size: int, sizes: Sizes) -> int:
    """Of how many rows the groups of a node of ``size`` rows are to be, as ``sizes`` say."""
    return int(sizes.unit if size >= 2 * sizes.unit else sizes.least)


@_kernel
def lead_of(
    rows: Ints, held: Codes, sizes: Sizes, shares: Shares, asked: Asked, room: Counts
) -> int:
    """How many of the ``rows`` of a node come first where it is cut into two whatever they ``held``
    (3, r); 0 where no such cut is sure.

    That is ``sizes.unit`` rows (where there are two of these, or else ``sizes.least``) times a power
    of two, which can be halved again and again, from a third to two thirds of the node; where the
    smaller part may not hold all that the node holds, nearer to half, in smaller steps.
    """
    size, sure = len(rows), False
    unit = unit_of(size, sizes)
    step = unit
    while 3 * step <= size:
        step *= 2
    while step >= unit and size >= 2 * sizes.least and by_counts(asked.rule):
        lead = step * ((size + step) // (2 * step))
        fewer = min(lead, size - lead)
        if fewer >= sizes.least and _holds(rows, held, fewer, shares, asked, room):
            return int(lead)
        if not (sure or _holds(rows, held, size // 2, shares, asked, room)):
            return 0
        sure = True
        step //= 2
    return 0


@_kernel
def share_held(order: Ints, rows: int, shares: Shares, asked: Asked) -> float:
    """How large a share of the parts of ``order`` of so many ``rows``, of which each begins where
    the one before ends, may be groups under what any row of ``order`` demands.
    """
    room, held = _counts(shares, asked), held_by(order, shares, asked)
    node_ratios(held[0], shares, room, np.int64(1))
    holding, parts = 0, len(order) // rows
    for i in range(parts):
        part = order[i * rows : (i + 1) * rows], held[:, i * rows : (i + 1) * rows]
        holding += _holds(part[0], part[1], rows, shares, asked, room)
    return holding / max(parts, 1)


@_kernel
def deal(
    places: Places,
    order: Ints,
    lots: Codes,
    node: Ints,
    least: int,
    shares: Shares,
    asked: Asked,
    counts: Counts,
    room: Room,
) -> tuple[int, int]:
    """Deal rows of a ``node`` out, by their ``lots`` (n,), into two parts that may both be groups,
    neither below the ``least`` size: how many stand in the first, and the size that its groups come
    to; all rows where none are dealt out.

    Where a part may not be a group the lots are drawn again, and with larger parts in the end;
    ``counts`` is scratch. No part is for cuts into three where groups must be close to the table:
    a third is so less often than a half.
    """
    thirds = THIRDS if asked.rule.distance == NONE else 1
    start, end, d = node[0], node[1], len(places.starts)
    size, smallest = end - start, least
    rows, held = order[start:end], places.codes[d:, start:end]
    while True:
        wanted, unit = dealt_apart(size, least, smallest, d, thirds)
        if wanted == size:
            return wanted, unit
        for turn in range(DEALS):
            deal_out(lots[rows], turn * size // DEALS, wanted, room)
            fits = True
            for x in range(2):
                part = np.flatnonzero(room.part_of[:size] == x)
                fits = fits and _holds(rows[part], held[:, part], len(part), shares, asked, counts)
            if fits:
                bring_together(places.codes, order, start, end, np.int64(2), room.part_of, room)
                return wanted, unit
        smallest *= 4


@_kernel
def cut_evenly(
    places: Places,
    order: Ints,
    node: Ints,
    sizes: Sizes,
    shares: Shares,
    asked: Asked,
    counts: Counts,
    room: Room,
) -> Plan:
    """Cut a ``node`` into equal parts that may all be groups, as large as ``sizes`` say, by one
    attribute or, each time that they may not, by the next; a plan of no parts where none can be
    made. ``counts`` is scratch.
    """
    start, end, blocks, d = node[0], node[1], node[2], len(places.starts)
    size = end - start
    parts = ways(size, blocks, sizes)
    room.weight[:] = 1.0
    while parts > 0 and size // parts >= sizes.least:
        plan = Plan(blocks, parts, size // parts)
        divide_best(places, order, start, end, plan, room)
        made = True
        for x in range(parts):
            first, last = part_of_node(start, end, plan, x)
            part = order[first:last], places.codes[d:, first:last]
            made = made and _holds(part[0], part[1], plan.lead, shares, asked, counts)
        if made:
            return plan
        if size % parts != 0:
            break
        blocks *= parts
        parts = ways(size, blocks, sizes)
    return Plan(blocks, 0, size)


@_kernel
def cut(
    places: Places,
    order: Ints,
    lots: Codes,
    todo: Ints,
    sizes: Sizes,
    shares: Shares,
    asked: Asked,
    grain: int,
    group: Ints,
) -> Ints:
    """Cut nodes, each of which may be a group, into groups; ``group`` (n,) is set to one row of
    each row's group.

    ``places`` are those of the rows in ``order``, which are in random order within a node; both are
    reordered. ``lots`` (n,): another random order, by which rows are dealt out. ``todo`` (k, 4):
    the nodes as first and last place in ``order``, number of blocks, and the size that groups come
    to, 0 where rows may be dealt out; ``sizes``: how large groups are to be. Nodes of at most
    ``grain`` rows are not cut but returned, shape (k, 4), for other threads.
    """
    longest = 0
    for i in range(len(todo)):
        longest = max(longest, todo[i, 1] - todo[i, 0])
    counts, d, least = _counts(shares, asked), len(places.starts), sizes.least
    room = room_of(longest, d)
    stack = np.empty((len(todo) + 3 * 64, 4), np.int64)
    stack[: len(todo)] = todo
    waiting, left_over, turn = len(todo), 0, 0
    pending = np.empty((longest // max(least, 1) + 1 if grain > 0 else 0, 4), np.int64)
    while waiting > 0:
        waiting -= 1
        node = stack[waiting].copy()
        start, end, unit = node[0], node[1], node[3]
        size = end - start
        if size <= grain:
            pending[left_over] = node
            left_over += 1
            continue
        turn += 1
        node_ratios(places.codes[d, start:end], shares, counts, turn)
        held = places.codes[d:, start:end]
        if not is_about(asked.rule) and holds_none(held[2]):
            node[2] = 1
        wanted, lead = Sizes(unit if unit > 0 else sizes.unit, least, sizes.odd), 0
        if node[2] == 1:
            lead = lead_of(order[start:end], held, wanted, shares, asked, counts)
        plan, dealt = Plan(node[2], 2, lead), size
        if lead > 0:
            unit_now = unit_of(size, wanted)
            plan = divide_unevenly(places, order, start, end, plan, unit_now, room)
        elif unit == 0:
            dealt, unit = deal(places, order, lots, node, least, shares, asked, counts, room)
            plan = Plan(node[2], 2, dealt)
        if lead == 0 and dealt == size:
            wanted = Sizes(unit, least, sizes.odd)
            plan = cut_evenly(places, order, node, wanted, shares, asked, counts, room)
        turn += 1
        forget_ratios(places.codes[d, start:end], shares, counts, turn)
        for x in range(plan.parts):
            stack[waiting, 0], stack[waiting, 1] = part_of_node(start, end, plan, x)
            stack[waiting, 2], stack[waiting, 3] = plan.blocks, unit
            waiting += 1
        if dealt < size:
            stack[waiting - 1, 3] = 0
        if plan.parts == 0:
            for i in range(start, end):
                group[order[i]] = order[start]
    return pending[:left_over]
