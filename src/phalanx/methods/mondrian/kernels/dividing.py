# SPDX-License-Identifier: Apache-2.0
"""How a node of balanced cuts is divided into parts, and by which attribute; no sensitive value is
looked at.

A node is the rows ``order[start:end]``, of which ``codes`` (d, r), or ``places``, say where each is;
``size`` is a number of rows; ``plan`` is how a node is divided; ``parts`` are numbered from 0;
``room`` is scratch. Source: our own; see ``balanced.py``.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Codes, Floats, Ints
from phalanx.kernels import njit

LOOKED_AT: Final = 2**16
"""In nodes of at most so many rows every attribute is tried, and the one that narrows most is cut;
in larger ones the widest is.
"""
MANY: Final = 16
"""From so many places on, the rows that stand furthest out are no kind of rows by themselves."""
_DRAWN: Final = 8
"""Of so many of them, drawn at random, it is seen how wide they are ..."""
_LOOKED_AT: Final = 4096
"""... among at most so many."""

_FEW: Final = 10
"""So few keys are sorted."""
_PLACES: Final = 1024
"""Over so many places keys are counted."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


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


class Plan(NamedTuple):
    """How a node is divided."""

    blocks: int
    """How many blocks of one size it has."""
    parts: int
    lead: int
    """How many rows the first part has; so has every other one but the last of two."""


class Room(NamedTuple):
    """Room to choose attributes; of the node's length, or of d attributes."""

    by: Ints
    """Shape (d,): the attributes to cut by, in turn."""
    spread: Floats
    """Shape (d,): how wide the node is."""
    spreads: Floats
    """The same of its parts."""
    weight: Floats
    """Shape (d,): how much a width counts."""
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
def divide(codes: Codes, start: int, end: int, plan: Plan, by: Ints, room: Room) -> None:
    """Set ``room.part_of`` to the part, from 0, of each row of a node, of which ``codes`` (d, r)
    has those from ``start`` to ``end``: each of its blocks, which stand one behind the other, is
    divided as ``plan`` says by the attributes ``by``, as :func:`take` does.
    """
    size, left, last_part = (end - start) // plan.blocks, room.left, np.int32(plan.parts - 1)
    wanted = plan.lead // plan.blocks
    for k in range(plan.blocks):
        first = k * size
        column = codes[by[0], start + first : start + first + size]
        of = room.part_of[first : first + size]
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
            take(codes, start, waiting, wanted, by, np.int64(0), x, room)


@_kernel
def bring_together(
    codes: Codes, order: Ints, start: int, end: int, parts: int, part_of: Codes, room: Room
) -> None:
    """Reorder ``order[start:end]``, and their ``codes``, by ``part_of``, the part of each row, and
    else as they stand.

    The parts then stand one behind the other, each with as many blocks as the node had.
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
def weigh(places: Places, start: int, end: int, room: Room) -> None:
    """Set ``room.weight``: on an attribute of many places how wide a few rows of a node are, drawn
    at random, over how wide the node is; 1 on others.

    A few rows that stand far out make a node wide, and none of its groups but their own: each cut
    at the middle would leave them as far from one half, and cost the other half a cut by another
    attribute. Rows with one of few places, however, are parted once and for all.
    """
    d, size, weight = len(places.starts), min(end - start, _LOOKED_AT), room.weight
    few = min(size, _DRAWN)
    for q in range(d):
        first, weight[q] = places.starts[q], 1.0
        behind = places.starts[q + 1] if q + 1 < d else len(places.values)
        if behind - first < MANY:
            continue
        column, total = places.codes[q, start:end], 0.0
        for i in range(0, size - few + 1, few):
            low, high = column[i], column[i]
            for j in range(i + 1, i + few):
                low, high = min(low, column[j]), max(high, column[j])
            total += places.values[first + high] - places.values[first + low]
        low, high = column[0], column[0]
        for j in range(len(column)):
            low, high = min(low, column[j]), max(high, column[j])
        if high > low:
            wide = places.values[first + high] - places.values[first + low]
            weight[q] = total / (size // few * wide)


@_kernel
def extent(
    places: Places,
    start: int,
    end: int,
    parts: int,
    part_of: Codes,
    spread: Floats,
    weight: Floats,
) -> float:
    """The sum of the widths of the ``parts`` of a node on all attributes, ``part_of`` being that of
    each row, and each width times the ``weight`` (d,) of its attribute; ``spread`` (d,) is set to
    the sum of those on each.
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
        spread[q] *= weight[q]
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
def divide_best(places: Places, order: Ints, start: int, end: int, plan: Plan, room: Room) -> None:
    """Divide a node as ``plan`` says by the best attribute: of a small one first by that whose parts
    are narrowest together, of a large one by the widest; widths count as much as ``room.weight``
    says.

    No sensitive value is looked at.
    """
    codes, by, spread, part_of = places.codes, room.by, room.spread, room.part_of
    size, narrowest = end - start, np.inf
    part_of[:size] = 0
    extent(places, start, end, np.int64(1), part_of, spread, room.weight)
    if size <= LOOKED_AT:
        for q in range(len(spread)):
            if spread[q] <= 0:
                continue
            from_widest(spread, q, by)
            divide(codes, start, end, plan, by, room)
            total = extent(places, start, end, plan.parts, part_of, room.spreads, room.weight)
            if total < narrowest:
                narrowest = total
                for i in range(size):
                    room.best[i] = part_of[i]
    if narrowest < np.inf:
        bring_together(codes, order, start, end, plan.parts, room.best, room)
    else:
        from_widest(spread, int(np.argmax(spread)), by)
        divide(codes, start, end, plan, by, room)
        bring_together(codes, order, start, end, plan.parts, part_of, room)


@_kernel
def divide_unevenly(
    places: Places, order: Ints, start: int, end: int, plan: Plan, unit: int, room: Room
) -> Plan:
    """Divide a node that is one block into two as ``plan`` says, or the other way round: the plan by
    which it was divided.

    Where the node is so many times ``unit`` rows, and some are left over, they are left over in the
    narrower part: the other one is cut into groups of that size, and they stand in larger ones in
    the end, which cost least where rows stand near each other.
    """
    weigh(places, start, end, room)
    divide_best(places, order, start, end, plan, room)
    middle, size = start + plan.lead, end - start
    if size % unit == 0:
        return plan
    room.part_of[:size] = 0
    one, part_of, spread = np.int64(1), room.part_of, room.spreads
    first = extent(places, start, middle, one, part_of, spread, room.weight)
    if first >= extent(places, middle, end, one, part_of, spread, room.weight):
        return plan
    turned = Plan(plan.blocks, plan.parts, size - plan.lead)
    divide_best(places, order, start, end, turned, room)
    return turned


@_kernel
def part_of_node(start: int, end: int, plan: Plan, x: int) -> tuple[int, int]:
    """Where part ``x`` of a node begins and ends once it is divided as ``plan`` says."""
    first = start + plan.lead * x
    return first, end if x == plan.parts - 1 else first + plan.lead


@_kernel
def room_of(longest: int, d: int) -> Room:
    """Room for nodes of at most ``longest`` rows, on ``d`` attributes."""
    return Room(
        np.empty(d, np.int64),
        np.empty(d, np.float64),
        np.empty(d, np.float64),
        np.ones(d, np.float64),
        np.empty(longest, np.int32),
        np.empty(min(longest, LOOKED_AT), np.int32),
        np.empty(longest, np.int32),
        np.empty(longest, np.int64),
        np.empty(_PLACES, np.int64),
        np.empty(longest, np.int64),
    )
