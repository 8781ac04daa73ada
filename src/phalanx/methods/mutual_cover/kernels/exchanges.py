# SPDX-License-Identifier: Apache-2.0
"""Rows exchanged between groups whose tuples publish alike, so that these lie nearer to each other.

A group costs on each attribute what lies between two of its tuples, in the mean, times its size.
Cuts part rows along one attribute at a time, so that rows that are near on all attributes come to
stand on two sides of one. So afterwards two groups give each other a row, or change one for
another, where they then cost less together, both are still large enough, and all their rows can
still change. Each group is compared with those of the rows that are nearest to its own.

Two groups of m and n rows are compared by the sums of what lies between their rows: m n of them say
what each of the m n exchanges would gain.

Source: our own; the exchange of two points is that of Kernighan and Lin's heuristic for graphs
(1970).

Every function here releases the lock, so that disjoint blocks are worked on by several threads.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Codes, Floats, Ints
from phalanx.kernels import njit
from phalanx.methods.mutual_cover.kernels.alike import choose_turned

NEAREST: Final = 10
"""So many rows are nearest."""
_BOXED: Final = 16
"""So many rows are passed over at once where none of them is near."""
_BOXES: Final = 64
"""So many boxes next to each other are looked at together."""
_LAST: Final = 2**31 - 1
LARGEST: Final = 64
"""Groups of more rows stay as they were cut: to compare two takes the square of their size."""
_ROUNDS: Final = 5
"""All groups are gone through at most so often; later rounds hardly change anything."""
_GAIN: Final = 1e-9
"""Less than this is no gain."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Rows(NamedTuple):
    """n rows, by d attributes."""

    codes: Codes
    """Shape (n, d)."""
    at: Floats
    """Where each row is on each line along which rows are apart, shape (n, lines)."""
    nodes: Codes
    """The nodes that it has on levels of trees, shape (n, levels)."""
    steps: Floats
    """How far apart different nodes are on each level, shape (levels,)."""


class Groups(NamedTuple):
    """The groups of a block that are small enough to be changed."""

    members: Ints
    """Their rows, shape (g, LARGEST + 1)."""
    size: Ints
    """How many these are, shape (g,); 0 for a group that stays as it is."""
    apart: Floats
    """What lies between each of them and the others of its group, shape (g, LARGEST + 1)."""
    pairs: Floats
    """What lies between all pairs of a group, shape (g,)."""
    of: Ints
    """The group of each row of the block."""


class Asked(NamedTuple):
    """What groups must keep."""

    least: int
    """The least size of a group."""
    window: int
    """So many tuples cover for a value."""
    changes: int
    """On so many attributes each row changes, at least."""


class Room(NamedTuple):
    """Room to compare two groups in."""

    apart: Floats
    """What lies between each two of their rows, shape (LARGEST + 1, LARGEST + 1)."""
    gains: Floats
    """What each move would gain, shape (LARGEST + 1, LARGEST + 1)."""
    sums: Floats
    """Sums over the rows of one, and over those of the other, shape (2, LARGEST + 1)."""
    at: Floats
    """Where the rows of one are, along memory, shape (lines, LARGEST + 1)."""
    nodes: Codes
    """Shape (levels, LARGEST + 1)."""
    codes: Codes
    """What they have, shape (d, LARGEST + 1)."""
    times: Ints
    """How many rows have the values of each, shape (LARGEST + 1, d)."""
    most: Ints
    """How many have the most frequent value, shape (d,)."""
    turned: Bools
    """Shape (d,)."""


@_kernel
def _compare(rows: Rows, own: Ints, other: Ints, room: Room) -> None:
    """Write what lies between each of the rows ``own`` (m,) and each of the ``other`` (n,) into
    ``room``; one row is compared with all others at a time, which a processor does at once.
    """
    n, lines, levels = len(other), rows.at.shape[1], len(rows.steps)
    for q in range(n):
        for a in range(lines):
            room.at[a, q] = rows.at[other[q], a]
        for a in range(levels):
            room.nodes[a, q] = rows.nodes[other[q], a]
    for p in range(len(own)):
        apart = room.apart[p, :n]
        apart[:] = 0.0
        for a in range(lines):
            line, here = room.at[a, :n], rows.at[own[p], a]
            for q in range(n):
                apart[q] += abs(line[q] - here)
        for a in range(levels):
            level, node, step = room.nodes[a, :n], rows.nodes[own[p], a], rows.steps[a]
            for q in range(n):
                apart[q] += step if level[q] != node else 0.0


@_kernel
def nearest(rows: Rows, most: int) -> Ints:
    """The rows that are nearest to each row, but for itself, shape (n, most), of equally near ones
    the first; -1 where there are not so many.

    Rows stand near those that they were cut with, so that they are looked at some in a row at a
    time, from a row's own ones on, and passed over where the box around them is too far off.
    """
    n, lines, levels = len(rows.codes), rows.at.shape[1], len(rows.steps)
    many = (n + _BOXED - 1) // _BOXED
    by_line, by_level = np.empty((lines, n)), np.empty((levels, n), np.int32)
    low, high = np.full((lines, many), np.inf), np.full((lines, many), -np.inf)
    first, last = np.empty((levels, many), np.int32), np.empty((levels, many), np.int32)
    first[:], last[:] = _LAST, -1
    for j in range(n):
        b = j // _BOXED
        for a in range(lines):
            by_line[a, j] = rows.at[j, a]
            low[a, b] = min(low[a, b], rows.at[j, a])
            high[a, b] = max(high[a, b], rows.at[j, a])
        for a in range(levels):
            by_level[a, j] = rows.nodes[j, a]
            first[a, b] = min(first[a, b], rows.nodes[j, a])
            last[a, b] = max(last[a, b], rows.nodes[j, a])
    across = Across(by_line, by_level, rows.steps, np.empty(_BOXES * _BOXED))
    near, far, off = np.full((n, most), -1, np.int64), np.empty(most), np.empty(many)
    for i in range(n):
        off[:] = 0.0
        for a in range(lines):
            least, greatest, here = low[a], high[a], by_line[a, i]
            for b in range(many):
                off[b] += max(least[b] - here, here - greatest[b], 0.0)
        for a in range(levels):
            node, step = by_level[a, i], rows.steps[a]
            for b in range(many):
                off[b] += step if node < first[a, b] or node > last[a, b] else 0.0
        far[:] = np.inf
        own = i // _BOXED
        _nearer(across, i, own, own + 1, far, near[i])
        b = 0
        while b < many:
            end = b
            while end < min(many, b + _BOXES) and end != own:
                if off[end] > far[most - 1] or (
                    off[end] == far[most - 1] and end * _BOXED > near[i, most - 1]
                ):  # of equally near rows these come later
                    break
                end += 1
            if end > b:
                _nearer(across, i, b, end, far, near[i])
            b = max(end, b + 1)
    return near


class Across(NamedTuple):
    """Where rows are, attribute by attribute, along memory."""

    at: Floats
    """Shape (lines, n)."""
    nodes: Codes
    """Shape (levels, n)."""
    steps: Floats
    room: Floats
    """Room for what lies between a row and some others."""


@_kernel
def _nearer(across: Across, i: int, box: int, end: int, far: Floats, near: Ints) -> None:
    """Take those rows of the boxes ``box .. end - 1`` among the nearest to row i that are ``near``
    and no further off than ``far`` says.
    """
    begin, last = box * _BOXED, len(far) - 1
    many = min(end * _BOXED, across.at.shape[1]) - begin
    off = across.room[:many]
    off[:] = 0.0
    for a in range(len(across.at)):
        line, here = across.at[a, begin : begin + many], across.at[a, i]
        for p in range(many):
            off[p] += abs(line[p] - here)
    for a in range(len(across.steps)):
        level, node = across.nodes[a, begin : begin + many], across.nodes[a, i]
        step = across.steps[a]
        for p in range(many):
            off[p] += step if level[p] != node else 0.0
    if begin <= i < begin + many:
        off[i - begin] = np.inf
    for q in range(many):
        j = begin + q
        if off[q] < far[last] or (off[q] == far[last] and j < near[last]):
            p = last
            while p > 0 and (far[p - 1] > off[q] or (far[p - 1] == off[q] and near[p - 1] > j)):
                far[p], near[p] = far[p - 1], near[p - 1]
                p -= 1
            far[p], near[p] = off[q], j


@_kernel
def _sum(rows: Rows, groups: Groups, g: int, room: Room) -> None:
    """Sum what lies between the rows of a group; ``room`` is written over."""
    members, apart, pairs = groups.members[g, : groups.size[g]], groups.apart[g], 0.0
    _compare(rows, members, members, room)
    for p in range(len(members)):
        apart[p] = 0.0
        for q in range(p):
            far = room.apart[p, q]
            apart[p] += far
            apart[q] += far
            pairs += far
    groups.pairs[g] = pairs


@_kernel
def _can_change(codes: Codes, members: Ints, out: int, into: int, asked: Asked, room: Room) -> bool:
    """Whether all ``members`` of a group could change, if the row ``out`` left it and the row
    ``into`` came; -1 for none. ``room`` is written over.
    """
    size, d, still = 0, codes.shape[1], 0
    for p in range(len(members) + 1):
        i = members[p] if p < len(members) else into
        if i != out and i >= 0:
            for a in range(d):
                room.codes[a, size] = codes[i, a]
            size += 1
    for p in range(size):
        alike = 0
        for a in range(d):
            line, code, many = room.codes[a, :size], room.codes[a, p], 0
            for q in range(size):
                many += line[q] == code
            room.times[p, a] = many
            alike += many
        still = max(still, alike)
    if still <= (d - asked.changes) * size:  # as in most groups, in which nothing is turned
        return True
    for a in range(d):
        room.most[a] = 0
        for p in range(size):
            room.most[a] = max(room.most[a], room.times[p, a])
    times, most = room.times[:size], room.most
    able: bool = choose_turned(times, most, size, asked.changes, asked.window, room.turned)
    return able


@_kernel
def _put(groups: Groups, p: int, g: int, h: int) -> None:
    """Put the row at place p of group g into group h."""
    i = groups.members[g, p]
    groups.size[g] -= 1
    groups.members[g, p] = groups.members[g, groups.size[g]]
    groups.members[h, groups.size[h]] = i
    groups.size[h] += 1
    groups.of[i] = h


@_kernel
def _weigh(groups: Groups, g: int, h: int, asked: Asked, room: Room) -> float:
    """Write into ``room`` what each move between two groups would gain, and return the most: in row
    p + 1 and column q + 1 where their rows p and q change places; in the first column, or row,
    where one goes and none comes.
    """
    m, n = groups.size[g], groups.size[h]
    to_own, to_other, most = room.sums[0, :n], room.sums[1, :m], room.gains[0, 1 : n + 1]
    to_own[:], most[:] = 0.0, -np.inf
    of_h = groups.apart[h, :n]
    for p in range(m):
        apart, total = room.apart[p, :n], 0.0
        for q in range(n):
            to_own[q] += apart[q]
        for q in range(n):
            total += apart[q]
        to_other[p] = total
    for p in range(m):
        apart, gains = room.apart[p, :n], room.gains[p + 1, 1 : n + 1]
        of_own, of_other = groups.apart[g, p], to_other[p]
        for q in range(n):
            less = (of_own - to_own[q] + apart[q]) / m
            gains[q] = less + (of_h[q] - of_other + apart[q]) / n
            most[q] = gains[q] if gains[q] > most[q] else most[q]
    gain = -np.inf
    for q in range(n):
        gain = max(gain, most[q])
    of_own, of_other = groups.pairs[g], groups.pairs[h]
    before = of_own / m + of_other / n
    room.gains[: m + 1, 0], most[:] = -np.inf, -np.inf
    for p in range(m if m > asked.least else 0):
        less = before - (of_own - groups.apart[g, p]) / (m - 1)
        room.gains[p + 1, 0] = less - (of_other + to_other[p]) / (n + 1)
        gain = max(gain, room.gains[p + 1, 0])
    for q in range(n if n > asked.least else 0):
        less = before - (of_other - groups.apart[h, q]) / (n - 1)
        most[q] = less - (of_own + to_own[q]) / (m + 1)
        gain = max(gain, most[q])
    return gain


@_kernel
def _step(rows: Rows, groups: Groups, g: int, h: int, asked: Asked, room: Room) -> bool:
    """Do what most brings two groups nearer, if anything does: a row of either goes to the other, or
    two change places. ``room`` is written over.
    """
    m, n = groups.size[g], groups.size[h]
    own, other = groups.members[g, :m], groups.members[h, :n]
    _compare(rows, own, other, room)
    gain = _weigh(groups, g, h, asked, room)
    while gain > _GAIN:
        p, q = _first(room.gains[: m + 1, : n + 1], gain)
        i, j = own[p - 1] if p > 0 else -1, other[q - 1] if q > 0 else -1
        if _can_change(rows.codes, own, i, j, asked, room) and _can_change(
            rows.codes, other, j, i, asked, room
        ):
            if p > 0:
                _put(groups, p - 1, g, h)
            if q > 0:
                _put(groups, q - 1, h, g)
            _sum(rows, groups, g, room)
            _sum(rows, groups, h, room)
            return True
        room.gains[p, q], gain = -np.inf, -np.inf
        for p in range(m + 1):
            for q in range(n + 1):
                gain = max(gain, room.gains[p, q])
    return False


@_kernel
def _first(gains: Floats, gain: float) -> tuple[int, int]:
    """The first place of a number among others, which has it."""
    for p in range(len(gains)):
        for q in range(gains.shape[1]):
            if gains[p, q] == gain:
                return p, q
    return -1, -1


@_kernel
def _exchange(asked: Asked, rows: Rows, groups: Groups, room: Room) -> None:
    """Exchange rows between the groups of a block, until no two that are near gain by it; ``room``
    is written over.
    """
    many, near = len(groups.size), nearest(rows, NEAREST)
    step, changed = 0, np.zeros(many, np.int64)
    looked = np.full((many, many), -1, np.int64)
    """The step at which two groups were compared; again only if one has changed since."""
    close, met, asks = np.empty(many, np.int64), np.full(many, -1, np.int64), 0
    for _ in range(_ROUNDS):
        before = step
        for g in range(many):
            some = 0
            for p in range(groups.size[g]):
                for j in near[groups.members[g, p]]:
                    h = groups.of[j] if j >= 0 else g
                    if h != g and met[h] != asks:
                        met[h], close[some] = asks, h
                        some += 1
            asks += 1
            for h in close[:some]:
                if max(changed[g], changed[h]) <= looked[g, h]:
                    continue
                while max(groups.size[g], groups.size[h]) <= LARGEST and _step(
                    rows, groups, g, h, asked, room
                ):
                    step += 1
                    changed[g], changed[h] = step, step
                looked[g, h], looked[h, g] = step, step
        if step == before:
            return


@_kernel
def exchange(
    asked: Asked, rows: Rows, of: Ints, order: Ints, first: Ints, blocks: Ints, which: Ints
) -> None:
    """Exchange ``rows`` between groups, within each of the blocks ``which``, so that groups keep
    what is ``asked``.

    ``of`` (n,): the group of each row, changed in place; group g has the rows
    ``order[first[g]:first[g + 1]]``, and block b the groups ``blocks[b] .. blocks[b + 1] - 1``.
    """
    for b in which:
        begin, many, n = blocks[b], blocks[b + 1] - blocks[b], 0
        size = first[begin + 1 : begin + many + 1] - first[begin : begin + many]
        for g in range(many):
            size[g] = size[g] if size[g] <= LARGEST else 0
            n += size[g]
        block, own = np.empty(n, np.int64), np.empty(n, np.int64)
        shape = (many, LARGEST + 1)
        groups = Groups(np.empty(shape, np.int64), size, np.empty(shape), np.empty(many), own)
        i = 0
        for g in range(many):
            for p in range(size[g]):
                block[i], own[i], groups.members[g, p] = order[first[begin + g] + p], g, i
                i += 1
        near = Rows(rows.codes[block], rows.at[block], rows.nodes[block], rows.steps)
        lines, levels, d = near.at.shape[1], len(near.steps), near.codes.shape[1]
        room = Room(
            np.empty((LARGEST + 1, LARGEST + 1)),
            np.empty((LARGEST + 1, LARGEST + 1)),
            np.empty((2, LARGEST + 1)),
            np.empty((lines, LARGEST + 1)),
            np.empty((levels, LARGEST + 1), dtype=np.int32),
            np.empty((d, LARGEST + 1), dtype=np.int32),
            np.empty((LARGEST + 1, d), dtype=np.int64),
            np.empty(d, dtype=np.int64),
            np.empty(d, dtype=np.bool_),
        )
        for g in range(many):
            _sum(near, groups, g, room)
        _exchange(asked, near, groups, room)
        for i in range(n):
            of[block[i]] = begin + own[i]
