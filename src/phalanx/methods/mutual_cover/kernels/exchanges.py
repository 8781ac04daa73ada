# SPDX-License-Identifier: Apache-2.0
"""Rows exchanged between groups whose tuples publish alike, so that these lie nearer to each other.

A group costs on each attribute what lies between two of its tuples, in the mean, times its size.
Cuts part rows along one attribute at a time, so that rows that are near on all attributes come to
stand on two sides of one. So afterwards a row goes to another group, or changes places with a row
of it, where the two groups then cost less together, both are still large enough, and all their rows
can still change. Each row is compared with the groups of the rows that are nearest to it.

Source: our own; the exchange of two points is that of Kernighan and Lin's heuristic for graphs
(1970).

Every function here releases the lock, so that disjoint blocks are worked on by several threads.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Codes, Floats, Ints
from phalanx.kernels import njit
from phalanx.methods.mutual_cover.kernels.alike import choose_turned

NEAREST: Final = 15
"""So many rows are nearest."""
LARGEST: Final = 32
"""Groups of more rows stay as they were cut: to compare two takes the square of their size."""
_ROUNDS: Final = 5
"""All rows are gone through at most so often; later rounds hardly change anything."""
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
    """Groups of rows; a group's rows follow each other as in a chain."""

    of: Ints
    """The group of each row, shape (n,)."""
    size: Ints
    head: Ints
    """A row of each group."""
    after: Ints
    """The next row of a row's group, or -1, shape (n,)."""


class Asked(NamedTuple):
    """What groups must keep."""

    least: int
    """The least size of a group."""
    window: int
    """So many tuples cover for a value."""
    changes: int
    """On so many attributes each row changes, at least."""


@_kernel
def _between(rows: Rows, i: int, j: int) -> float:
    far = 0.0
    for a in range(rows.at.shape[1]):
        far += abs(rows.at[i, a] - rows.at[j, a])
    for a in range(len(rows.steps)):
        far += rows.steps[a] if rows.nodes[i, a] != rows.nodes[j, a] else 0.0
    return far


@_kernel
def _to_all(rows: Rows, i: int, members: Ints) -> float:
    far = 0.0
    for j in members:
        far += _between(rows, i, j)
    return far


@_kernel
def _of_pairs(rows: Rows, members: Ints) -> float:
    """Between all pairs."""
    far = 0.0
    for i in members:
        far += _to_all(rows, i, members)
    return far / 2


@_kernel
def _nearest(rows: Rows, block: Ints, i: int, near: Ints, far: Floats) -> int:
    """Write the rows of the ``block`` that are nearest to row i, but for itself, into ``near``; how
    many there are.
    """
    taken = 0
    for j in block:
        if j == i or len(near) == 0:
            continue
        d = _between(rows, i, j)
        if taken == len(near) and d >= far[taken - 1]:
            continue
        p = min(taken, len(near) - 1)
        while p > 0 and far[p - 1] > d:
            far[p], near[p] = far[p - 1], near[p - 1]
            p -= 1
        far[p], near[p] = d, j
        taken = min(taken + 1, len(near))
    return taken


@_kernel
def _members(groups: Groups, g: int, room: Ints) -> Ints:
    """The rows of a group, in the room."""
    i = groups.head[g]
    for p in range(groups.size[g]):
        room[p] = i
        i = groups.after[i]
    return room[: groups.size[g]]


@_kernel
def _can_change(codes: Codes, members: Ints, out: int, into: int, asked: Asked) -> bool:
    """Whether all ``members`` of a group could change, if the row ``out`` left it and the row
    ``into`` came; -1 for none.
    """
    size, d, at = len(members) + (into >= 0) - (out >= 0), codes.shape[1], 0
    now, most = np.empty(size, np.int64), np.zeros(d, np.int64)
    for i in members:
        if i != out:
            now[at] = i
            at += 1
    if into >= 0:
        now[at] = into
    times = np.zeros((size, d), np.int64)
    for p in range(size):
        for j in now:
            for a in range(d):
                times[p, a] += codes[now[p], a] == codes[j, a]
        for a in range(d):
            most[a] = max(most[a], times[p, a])
    turned: Bools = np.empty(d, np.bool_)
    able: bool = choose_turned(times, most, size, asked.changes, asked.window, turned)
    return able


@_kernel
def _put(groups: Groups, i: int, h: int) -> None:
    """Put row i into group h."""
    g = groups.of[i]
    if groups.head[g] == i:
        groups.head[g] = groups.after[i]
    else:
        j = groups.head[g]
        while groups.after[j] != i:
            j = groups.after[j]
        groups.after[j] = groups.after[i]
    groups.after[i] = groups.head[h]
    groups.head[h] = i
    groups.of[i] = h
    groups.size[g] -= 1
    groups.size[h] += 1


@_kernel
def _best(
    rows: Rows, groups: Groups, i: int, near: Ints, asked: Asked, room: Ints
) -> tuple[int, int]:
    """The group of one of the rows ``near`` to which row i best goes, and which row comes for it, or
    -1; -1 and -1 where it best stays.
    """
    g, gain = groups.of[i], _GAIN
    goes, comes = -1, -1
    own = _members(groups, g, room[0])
    m, to_own, of_own = len(own), _to_all(rows, i, own), _of_pairs(rows, own)
    for p in range(len(near)):
        h = groups.of[near[p]]
        seen = h == g or groups.size[h] > LARGEST
        for q in range(p):
            seen = seen or groups.of[near[q]] == h
        if seen:
            continue
        other = _members(groups, h, room[1])
        n, to_other = len(other), _to_all(rows, i, other)
        if m > asked.least:
            of_other = _of_pairs(rows, other)
            less = of_own / m - (of_own - to_own) / (m - 1)
            less += of_other / n - (of_other + to_other) / (n + 1)
            if (
                less > gain
                and _can_change(rows.codes, own, i, -1, asked)
                and _can_change(rows.codes, other, -1, i, asked)
            ):
                goes, comes, gain = h, -1, less
        for j in other:
            apart = _between(rows, i, j)
            less = (to_own - _to_all(rows, j, own) + apart) / m
            less += (_to_all(rows, j, other) - to_other + apart) / n
            if (
                less > gain
                and _can_change(rows.codes, own, i, j, asked)
                and _can_change(rows.codes, other, j, i, asked)
            ):
                goes, comes, gain = h, j, less
    return goes, comes


@_kernel
def _is_new(groups: Groups, i: int, near: Ints, changed: Ints, looked: int) -> bool:
    """Whether the group of row i, or one of those of the rows ``near``, has ``changed`` after the
    step in which the row was ``looked`` at.
    """
    new: bool = changed[groups.of[i]] > looked
    for j in near:
        new = new or changed[groups.of[j]] > looked
    return new


@_kernel
def exchange(asked: Asked, rows: Rows, groups: Groups, blocks: Ints, which: Ints) -> None:
    """Exchange ``rows`` between the ``groups`` of each of the blocks ``which``, in place, so that
    groups keep what is ``asked``.

    Block b has the groups ``blocks[b] .. blocks[b + 1] - 1``.
    """
    for b in which:
        n = groups.size[blocks[b] : blocks[b + 1]].sum()
        block, largest = np.empty(n, np.int64), max(LARGEST, n)
        room, place = np.empty((2, largest), np.int64), 0
        for g in range(blocks[b], blocks[b + 1]):
            members = _members(groups, g, room[0])
            block[place : place + len(members)] = members
            place += len(members)
        block.sort()
        near, many = np.empty((n, min(NEAREST, n - 1)), np.int64), np.empty(n, np.int64)
        far, changed = np.empty(NEAREST, np.float64), np.zeros(len(groups.size), np.int64)
        for p in range(n):
            many[p] = _nearest(rows, block, block[p], near[p], far)
        step, looked = 0, np.full(n, -1, np.int64)
        for _ in range(_ROUNDS):
            for p in range(n):
                i, g = block[p], groups.of[block[p]]
                close = near[p, : many[p]]
                if groups.size[g] > LARGEST or not _is_new(groups, i, close, changed, looked[p]):
                    continue
                looked[p] = step
                h, j = _best(rows, groups, i, close, asked, room)
                if h < 0:
                    continue
                step += 1
                changed[g], changed[h] = step, step
                _put(groups, i, h)
                if j >= 0:
                    _put(groups, j, g)
