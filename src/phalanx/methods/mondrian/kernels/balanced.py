# SPDX-License-Identifier: Apache-2.0
"""Balanced cuts: a partition whose failed cuts tell nothing about any one person.

Every cut divides a node into equally large parts, at a place that quasi-identifiers and coins alone
decide. It is made if every part may be a group, and that is judged by one rule for all parts. Where
it fails, the parts are not forgotten: they become *blocks* of the node, and every later cut divides
each block, so that each part of it has an equal share of every block. So anyone who sees that a cut
failed, and knows this code, can exchange the blocks (in all parts at once) without a change of what
is seen: each member of a published group is equally likely to hold each of its values.

A node of an odd number of rows is divided as evenly as can be; both parts may hold what the smaller
one may. Where that fails the node is a group, for its rows could not be exchanged any more; the
chance of each stays within what the group may hold, if not equal. That is so for ratios (largest
shares) alone: under entropy, recursive or distinct diversity and closeness a failed odd cut may
name persons, so ``methods/mondrian/balanced.py`` deals rows out so that no cut is odd.

Throughout, ``positions`` (n, d) are the rows' places in [0, 1]; ``order[start:end]`` are the rows
of a node or part; ``size`` is a number of rows; ``shares`` and ``asked`` are what a group must
keep, a :class:`Shares` and an ``Asked``; ``ratio`` (v,) is what the node demands by
value; ``room`` is scratch.

Source: our own, against Wong, Fu, Wang, Pei, "Minimality attack in privacy preserving data
publishing", VLDB 2007. Proof and figures: docs/explanation/who-knows-the-method.md; enumeration:
tests/worlds/.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Codes, Floats, Ints
from phalanx.kernels import njit
from phalanx.kernels.rule import FREQUENCY, Asked, Scratch, close, diverse, is_about, scratch_of
from phalanx.methods.mondrian.kernels.cells import select

LOOKED_AT: Final = 2**16
"""In nodes of at most so many rows every attribute is tried, and the one that narrows most is cut;
in larger ones the widest is.
"""

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
    over_ratio: Floats


class Counts(NamedTuple):
    """Room to judge a group: counts (all zero between two uses) and the like, by value."""

    counts: Ints
    ratio: Floats
    values: Codes
    seen: Codes
    """In which turn rows that demand the same were last looked at."""
    scratch: Scratch


class Room(NamedTuple):
    """Room to choose attributes; of the node's length, or of d attributes."""

    by: Ints
    """Shape (d,): the attributes to cut by, in turn."""
    tried: Ints
    best: Ints
    moved: Ints
    low: Floats
    high: Floats


@_kernel
def part(positions: Floats, by: Ints, order: Ints, start: int, middle: int, end: int) -> None:
    """Reorder ``order[start:end]`` so that the rows before ``middle`` come first by the attributes
    ``by``; the second decides where the first is equal, and so on.

    Rows that are equal in all fall on either side by the order in which they stand.
    """
    low, high = start, end
    for a in by:
        keys = positions[:, a]
        select(order, keys, low, middle, high)
        last, first = -np.inf, np.inf
        for i in range(low, middle):
            last = max(last, keys[order[i]])
        for i in range(middle, high):
            first = min(first, keys[order[i]])
        if last < first:
            return
        left, right = middle, middle
        for i in range(middle - 1, low - 1, -1):
            if keys[order[i]] == first:
                left -= 1
                order[i], order[left] = order[left], order[i]
        for i in range(middle, high):
            if keys[order[i]] == first:
                order[i], order[right] = order[right], order[i]
                right += 1
        low, high = left, right


@_kernel
def divide(
    positions: Floats,
    by: Ints,
    order: Ints,
    start: int,
    end: int,
    blocks: int,
    parts: int,
    moved: Ints,
) -> None:
    """Divide each block of ``order[start:end]`` into equal ``parts`` by the attributes ``by``, as
    :func:`part` does, and bring the parts together.

    With ``s`` rows, part x is then ``order[start + s * x // parts : start + s * (x + 1) //
    parts]``, with as many blocks as the node had, one behind the other. The size of several
    ``blocks`` is a multiple of ``parts``. ``moved`` is scratch of the node's length.
    """
    size = (end - start) // blocks
    for k in range(blocks):
        first = start + k * size
        for x in range(1, parts):
            part(
                positions,
                by,
                order,
                first + size * (x - 1) // parts,
                first + size * x // parts,
                first + size,
            )
    if blocks == 1:
        return
    share = size // parts
    for k in range(blocks):
        for x in range(parts):
            to, at = (x * blocks + k) * share, start + k * size + x * share
            moved[to : to + share] = order[at : at + share]
    order[start:end] = moved[: end - start]


@_kernel
def extent(
    positions: Floats, order: Ints, start: int, end: int, low: Floats, high: Floats
) -> float:
    """The sum of the widths of ``order[start:end]`` on all attributes; ``low`` and ``high`` (d,)
    are set to its ends.
    """
    d = positions.shape[1]
    low[:], high[:] = np.inf, -np.inf
    for i in range(start, end):
        for q in range(d):
            p = positions[order[i], q]
            low[q] = p if p < low[q] else low[q]
            high[q] = p if p > high[q] else high[q]
    total = 0.0
    for q in range(d):
        total += high[q] - low[q]
    return total


@_kernel
def from_widest(spread: Floats, first: int, by: Ints) -> None:
    """Set ``by`` (d,) to the attributes in falling order of their ``spread`` (d,), ``first`` before
    all others.
    """
    by[0] = first
    filled = 1
    for q in range(len(spread)):
        if q == first:
            continue
        at = filled
        while at > 1 and spread[by[at - 1]] < spread[q]:
            by[at] = by[at - 1]
            at -= 1
        by[at] = q
        filled += 1


@_kernel
def divide_best(
    positions: Floats,
    order: Ints,
    start: int,
    end: int,
    blocks: int,
    parts: int,
    room: Room,
) -> None:
    """Divide a node by the best attribute: of a small one first by that whose parts are narrowest
    together, of a large one by the widest.

    No sensitive value is looked at.
    """
    by, tried, low, high = room.by, room.tried, room.low, room.high
    d, size = positions.shape[1], end - start
    extent(positions, order, start, end, low, high)
    spread = high - low
    narrowest = np.inf
    if size <= LOOKED_AT:
        for q in range(d):
            if spread[q] <= 0:
                continue
            tried[:size] = order[start:end]
            from_widest(spread, q, by)
            divide(positions, by, tried, 0, size, blocks, parts, room.moved)
            total = 0.0
            for x in range(parts):
                total += extent(
                    positions, tried, size * x // parts, size * (x + 1) // parts, low, high
                )
            if total < narrowest:
                narrowest = total
                room.best[:size] = tried[:size]
    if narrowest < np.inf:
        order[start:end] = room.best[:size]
    else:
        from_widest(spread, int(np.argmax(spread)), by)
        divide(positions, by, order, start, end, blocks, parts, room.moved)


@_kernel
def ways(size: int, blocks: int, unit: int) -> int:
    """Into how many parts a node of ``blocks`` is cut: three where that makes groups of about
    ``unit`` rows, or two cannot be even; 0 where none can.
    """
    block = size // blocks
    if 3 * unit <= size < 4 * unit and (blocks == 1 or block % 3 == 0):
        return 3
    if blocks == 1 or block % 2 == 0:
        return 2
    return 3 if block % 3 == 0 else 0


@_kernel
def node_ratios(order: Ints, start: int, end: int, shares: Shares, room: Counts, turn: int) -> None:
    """Raise the ratios in ``room`` to the largest that a row of ``order[start:end]`` demands, by
    value; no two uses of ``room`` are in one ``turn``.
    """
    ratio = room.ratio
    for i in range(start, end):
        of = shares.over_of[order[i]]
        if room.seen[of] != turn:
            room.seen[of] = turn
            for j in range(shares.over_starts[of], shares.over_starts[of + 1]):
                ratio[shares.over_value[j]] = max(ratio[shares.over_value[j]], shares.over_ratio[j])


@_kernel
def forget_ratios(
    order: Ints, start: int, end: int, shares: Shares, room: Counts, turn: int
) -> None:
    """Take back what :func:`node_ratios` did, in another ``turn``."""
    for i in range(start, end):
        of = shares.over_of[order[i]]
        if room.seen[of] != turn:
            room.seen[of] = turn
            for j in range(shares.over_starts[of], shares.over_starts[of + 1]):
                room.ratio[shares.over_value[j]] = shares.base[shares.over_value[j]]


@_kernel
def holds_shares(
    order: Ints, start: int, end: int, size: int, shares: Shares, room: Counts
) -> bool:
    """Whether ``order[start:end]`` hold no more than a group of ``size`` rows may under the ratios
    in ``room``.
    """
    counts, holds = room.counts, True
    for i in range(start, end):
        for j in range(shares.starts[order[i]], shares.starts[order[i] + 1]):
            counts[shares.codes[j]] += 1
    for i in range(start, end):
        for j in range(shares.starts[order[i]], shares.starts[order[i] + 1]):
            v = shares.codes[j]
            if counts[v] > 0:
                holds = holds and counts[v] * room.ratio[v] <= size
                counts[v] = 0
    return bool(holds)


@_kernel
def holds_rule(order: Ints, start: int, end: int, size: int, asked: Asked, room: Counts) -> bool:
    """Whether ``order[start:end]`` may be a group under a rule; the largest share is that of a
    group of ``size`` rows.
    """
    rule, counts, values, distinct = asked.rule, room.counts, room.values, 0
    for i in range(start, end):
        v = asked.sensitive[order[i]]
        if counts[v] == 0:
            values[distinct] = v
            distinct += 1
        counts[v] += 1
    of = size if rule.diversity == FREQUENCY else end - start
    holds = close(counts, values, distinct, end - start, rule, room.scratch) and diverse(
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
def _holds(
    order: Ints, start: int, end: int, size: int, shares: Shares, asked: Asked, room: Counts
) -> bool:
    """Whether ``order[start:end]`` keep what a group of ``size`` rows must, under the ratios in
    ``room`` and the rule.
    """
    holds = holds_shares(order, start, end, size, shares, room)
    if holds and is_about(asked.rule):
        holds = holds_rule(order, start, end, size, asked, room)
    return bool(holds)


@_kernel
def may_be_group(order: Ints, shares: Shares, asked: Asked) -> bool:
    """Whether all rows of ``order`` may be one group; the arguments are those of :func:`cut`."""
    room = _counts(shares, asked)
    node_ratios(order, 0, len(order), shares, room, 1)
    return bool(_holds(order, 0, len(order), len(order), shares, asked, room))


@_kernel
def cut(
    positions: Floats,
    order: Ints,
    todo: Ints,
    unit: int,
    least: int,
    shares: Shares,
    asked: Asked,
    grain: int,
    group: Ints,
) -> Ints:
    """Cut nodes, each of which may be a group, into groups; ``group`` (n,) is set to one row of
    each row's group.

    ``positions`` (n, d): every row's place in [0, 1]; ``order``: the rows, in random order within a
    node, reordered; ``todo`` (k, 3): the nodes as first and last place in ``order`` and number of
    blocks. ``unit``: the size that most groups will need, ``least``: the least size of any. Nodes
    of at most ``grain`` rows are not cut but returned, shape (k, 3), for other threads.
    """
    longest = 0
    for i in range(len(todo)):
        longest = max(longest, todo[i, 1] - todo[i, 0])
    counts, d = _counts(shares, asked), positions.shape[1]
    room = Room(
        np.empty(d, np.int64),
        np.empty(min(longest, LOOKED_AT), np.int64),
        np.empty(min(longest, LOOKED_AT), np.int64),
        np.empty(longest, np.int64),
        np.empty(d, np.float64),
        np.empty(d, np.float64),
    )
    stack = np.empty((len(todo) + 3 * 64, 3), np.int64)
    stack[: len(todo)] = todo
    waiting, left_over, turn = len(todo), 0, 0
    pending = np.empty((longest // max(least, 1) + 1 if grain > 0 else 0, 3), np.int64)
    while waiting > 0:
        waiting -= 1
        start, end, blocks = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        size = end - start
        if size <= grain:
            pending[left_over] = stack[waiting]
            left_over += 1
            continue
        turn += 1
        node_ratios(order, start, end, shares, counts, turn)
        made = False
        parts = ways(size, blocks, unit)
        while not made and parts > 0 and size // parts >= least:
            divide_best(positions, order, start, end, blocks, parts, room)
            made = True
            for x in range(parts):
                made = made and _holds(
                    order,
                    start + size * x // parts,
                    start + size * (x + 1) // parts,
                    size // parts,
                    shares,
                    asked,
                    counts,
                )
            if not made:
                if size % parts != 0:
                    break
                blocks *= parts
                parts = ways(size, blocks, unit)
        turn += 1
        forget_ratios(order, start, end, shares, counts, turn)
        if made:
            for x in range(parts):
                stack[waiting, 0], stack[waiting, 1] = (
                    start + size * x // parts,
                    start + size * (x + 1) // parts,
                )
                stack[waiting, 2] = blocks
                waiting += 1
        else:
            for i in range(start, end):
                group[order[i]] = order[start]
    return pending[:left_over]
