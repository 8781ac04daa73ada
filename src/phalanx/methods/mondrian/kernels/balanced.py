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

Throughout, ``places`` are where rows are; ``order[start:end]`` are the rows
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

LOOKED_AT: Final = 2**16
"""In nodes of at most so many rows every attribute is tried, and the one that narrows most is cut;
in larger ones the widest is.
"""

_FEW: Final = 10
"""So few keys are sorted."""
_PLACES: Final = 1024
"""Over so many places keys are counted."""

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


class Places(NamedTuple):
    """Where rows are on d attributes, by the number of each place among those of its attribute; and
    what they hold.
    """

    codes: Codes
    """Shape (d + 3, r): that of attribute q of the row ``order[i]`` is ``codes[q, i]``; behind them
    what ``held_by`` gives.
    """
    values: Floats
    """All places of the first attribute, ascending, then those of the second, and so on."""
    starts: Ints
    """Shape (d,): where those of an attribute begin."""


class Room(NamedTuple):
    """Room to choose attributes; of the node's length, or of d attributes."""

    by: Ints
    """Shape (d,): the attributes to cut by, in turn."""
    spread: Floats
    """Shape (d,): how wide the node is."""
    spreads: Floats
    """The same of its parts."""
    part_of: Codes
    best: Codes
    keys: Codes
    left: Ints
    counts: Ints
    moved: Ints


@_kernel
def kth(keys: Codes, size: int, k: int, spare: Codes, counts: Ints) -> int:
    """The ``k``-th smallest (from 1) of the first ``size`` of ``keys``; ``spare``, of their length,
    and ``counts`` are scratch.

    Keys are counted by where they lie between the least and the largest; where several have one
    place, those that lie where the k-th one does are looked at again.
    """
    while True:
        low, high = keys[0], keys[0]
        for i in range(size):
            low = keys[i] if keys[i] < low else low
            high = keys[i] if keys[i] > high else high
        if low == high:
            return int(low)
        if size <= _FEW:
            for i in range(size):
                key, at = keys[i], i
                while at > 0 and spare[at - 1] > key:
                    spare[at] = spare[at - 1]
                    at -= 1
                spare[at] = key
            return int(spare[k - 1])
        shift = 0
        while (high - low) >> shift >= min(2 * size, len(counts)):
            shift += 1
        counts[: ((high - low) >> shift) + 1] = 0
        for i in range(size):
            counts[(keys[i] - low) >> shift] += 1
        place = 0
        while counts[place] < k:
            k -= counts[place]
            place += 1
        if shift == 0:
            return int(low + place)
        kept = 0
        for i in range(size):
            if (keys[i] - low) >> shift == place:
                spare[kept] = keys[i]
                kept += 1
        keys, size = spare, kept


@_kernel
def take(
    codes: Codes, start: int, waiting: int, wanted: int, by: Ints, turn: int, x: int, room: Room
) -> None:
    """Of the first ``waiting`` of the rows in ``room.left`` put the ``wanted`` ones into part ``x``
    that come first by the attributes ``by``, from the ``turn``-th on: the next decides where one is
    equal.

    Rows that are equal in all come first in the order in which they stand. Rows of the node have
    the ``codes`` (d, r) from ``start`` on.
    """
    left, keys, part_of = room.left, room.keys, room.part_of
    while turn < len(by) and 0 < wanted < waiting:
        column = codes[by[turn], start:]
        for i in range(waiting):
            keys[i] = column[left[i]]
        last = kth(keys, waiting, wanted, keys, room.counts)
        equal = np.int64(0)
        for i in range(waiting):
            row = left[i]
            if column[row] < last:
                part_of[row] = x
                wanted -= 1
            elif column[row] == last:
                left[equal] = row
                equal += 1
        waiting = int(equal)
        turn += 1
    for i in range(wanted):
        part_of[left[i]] = x


@_kernel
def divide(
    codes: Codes, start: int, end: int, blocks: int, parts: int, by: Ints, room: Room
) -> None:
    """Set ``room.part_of`` to the part, from 0, of each row of a node, of which ``codes`` (d, r)
    has those from ``start`` to ``end``: each of its ``blocks``, which stand one behind the other,
    is divided into equal ``parts`` by the attributes ``by``, as :func:`take` does.
    """
    size, left, last_part = (end - start) // blocks, room.left, np.int32(parts - 1)
    for k in range(blocks):
        first = k * size
        column = codes[by[0], start + first : start + first + size]
        of = room.part_of[first : first + size]
        wanted = size // parts
        last = kth(column, size, max(wanted, 1), room.keys, room.counts)
        below, equal = np.int64(0), np.int64(0)
        for i in range(size):
            of[i] = np.int32(0) if column[i] < last else last_part
            below += column[i] < last
        for i in range(size):
            left[equal] = first + i
            equal += column[i] == last
        take(codes, start, equal, wanted - below, by, np.int64(1), np.int64(0), room)
        for x in range(1, last_part):
            waiting = np.int64(0)
            for i in range(size):
                left[waiting] = first + i
                waiting += of[i] == last_part
            wanted = size * (x + 1) // parts - size * x // parts
            take(codes, start, waiting, wanted, by, np.int64(0), x, room)


@_kernel
def bring_together(
    codes: Codes, order: Ints, start: int, end: int, parts: int, part_of: Codes, room: Room
) -> None:
    """Reorder ``order[start:end]``, and their ``codes``, by ``part_of``, the part of each row, and
    else as they stand.

    With ``s`` rows, part x is then ``order[start + s * x // parts : start + s * (x + 1) //
    parts]``, with as many blocks as the node had, one behind the other. The size of several blocks
    is a multiple of ``parts``.
    """
    size, filled, left, keys, moved = end - start, 0, room.left, room.keys, room.moved
    for x in range(parts):
        for i in range(size):
            if part_of[i] == x:
                left[filled] = i
                filled += 1
    node = order[start:end]
    for i in range(size):
        moved[i] = node[left[i]]
    for i in range(size):
        node[i] = moved[i]
    for q in range(len(codes)):
        column = codes[q, start:end]
        for i in range(size):
            keys[i] = column[left[i]]
        for i in range(size):
            column[i] = keys[i]


@_kernel
def extent(
    places: Places, start: int, end: int, parts: int, part_of: Codes, spread: Floats
) -> float:
    """The sum of the widths of the ``parts`` of a node on all attributes, ``part_of`` being that of
    each row; ``spread`` (d,) is set to the sum of those on each.
    """
    total = 0.0
    for q in range(len(places.starts)):
        spread[q] = 0.0
        column, first = places.codes[q, start:end], places.starts[q]
        for x in range(parts):
            part, low, high = np.int32(x), np.int32(2**31 - 1), np.int32(-1)
            for i in range(len(column)):
                least = column[i] if part_of[i] == part else np.int32(2**31 - 1)
                most = column[i] if part_of[i] == part else np.int32(-1)
                low, high = min(low, least), max(high, most)
            if high >= 0:
                spread[q] += places.values[first + high] - places.values[first + low]
        total += spread[q]
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
    places: Places, order: Ints, start: int, end: int, blocks: int, parts: int, room: Room
) -> None:
    """Divide a node by the best attribute: of a small one first by that whose parts are narrowest
    together, of a large one by the widest.

    No sensitive value is looked at.
    """
    codes, by, spread, part_of = places.codes, room.by, room.spread, room.part_of
    size, narrowest = end - start, np.inf
    part_of[:size] = 0
    extent(places, start, end, np.int64(1), part_of, spread)
    if size <= LOOKED_AT:
        for q in range(len(spread)):
            if spread[q] <= 0:
                continue
            from_widest(spread, q, by)
            divide(codes, start, end, blocks, parts, by, room)
            total = extent(places, start, end, parts, part_of, room.spreads)
            if total < narrowest:
                narrowest = total
                for i in range(size):
                    room.best[i] = part_of[i]
    if narrowest < np.inf:
        bring_together(codes, order, start, end, parts, room.best, room)
    else:
        from_widest(spread, int(np.argmax(spread)), by)
        divide(codes, start, end, blocks, parts, by, room)
        bring_together(codes, order, start, end, parts, part_of, room)


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
def may_be_group(order: Ints, shares: Shares, asked: Asked) -> bool:
    """Whether all rows of ``order`` may be one group; the arguments are those of :func:`cut`."""
    room, held = _counts(shares, asked), held_by(order, shares, asked)
    node_ratios(held[0], shares, room, np.int64(1))
    return bool(_holds(order, held[:, 0:], len(order), shares, asked, room))


@_kernel
def cut(
    places: Places,
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

    ``places`` are those of the rows in ``order``, which are in random order within a node; both are
    reordered. ``todo`` (k, 3): the nodes as first and last place in ``order`` and number of
    blocks. ``unit``: the size that most groups will need, ``least``: the least size of any. Nodes
    of at most ``grain`` rows are not cut but returned, shape (k, 3), for other threads.
    """
    longest = 0
    for i in range(len(todo)):
        longest = max(longest, todo[i, 1] - todo[i, 0])
    counts, d = _counts(shares, asked), len(places.starts)
    room = Room(
        np.empty(d, np.int64),
        np.empty(d, np.float64),
        np.empty(d, np.float64),
        np.empty(longest, np.int32),
        np.empty(min(longest, LOOKED_AT), np.int32),
        np.empty(longest, np.int32),
        np.empty(longest, np.int64),
        np.empty(_PLACES, np.int64),
        np.empty(longest, np.int64),
    )
    stack = np.empty((len(todo) + 3 * 64, 3), np.int64)
    for i in range(len(todo)):
        for j in range(3):
            stack[i, j] = todo[i, j]
    waiting, left_over, turn = len(todo), 0, 0
    pending = np.empty((longest // max(least, 1) + 1 if grain > 0 else 0, 3), np.int64)
    while waiting > 0:
        waiting -= 1
        start, end, blocks = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2]
        size = end - start
        if size <= grain:
            for j in range(3):
                pending[left_over, j] = stack[waiting, j]
            left_over += 1
            continue
        turn += 1
        node_ratios(places.codes[d, start:end], shares, counts, turn)
        made = False
        parts = ways(size, blocks, unit)
        while not made and parts > 0 and size // parts >= least:
            divide_best(places, order, start, end, blocks, parts, room)
            made = True
            for x in range(parts):
                first, last = start + size * x // parts, start + size * (x + 1) // parts
                made = made and _holds(
                    order[first:last],
                    places.codes[d:, first:last],
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
        forget_ratios(places.codes[d, start:end], shares, counts, turn)
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
