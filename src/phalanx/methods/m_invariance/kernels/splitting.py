# SPDX-License-Identifier: Apache-2.0
"""The groups of a bucket: split (Xiao & Tao, SIGMOD 2007, Section 4.3)."""

from typing import Final, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Codes, Floats, Ints
from phalanx.kernels import njit

_MANY: Final = 16
"""From so many attributes on, all of a slot are looked at before those of the next one."""


class Along(NamedTuple):
    """Where the codes of each of d attributes lie: code c of attribute i at ``positions[starts[i] +
    c]``, in ascending order; ``starts`` (d + 1,).

    They are whole numbers, so that extents add up to the same in any order; all of them together
    have 31 bits.
    """

    positions: Codes
    starts: Ints


class Buckets(NamedTuple):
    """Which slots are whose: bucket b holds ``sizes[b]`` lists (one per value) of ``lengths[b]``
    slots from slot ``starts[b]`` on, and its groups are called ``names[b]`` and so on.
    """

    starts: Ints
    sizes: Ints
    lengths: Ints
    names: Ints


class _Room(NamedTuple):
    """Scratch for a bucket of lists of so many slots."""

    lanes: Floats
    """(slots, lanes) where each slot lies, a multiple of four attributes wide; no slot where there
    are many attributes.
    """
    low: Floats
    """(length, lanes) the least position of each row in an attribute's order; no row where there
    are many attributes.
    """
    high: Floats
    least: Codes
    """(d,) the least position of some slots."""
    most: Codes
    extents: Codes
    """(d,) those of all slots that are cut."""
    before: Floats
    """(length,) the extents of all rows up to one, over all attributes."""
    behind: Floats
    """(length,) those of all rows from one on."""
    firsts: Ints
    """(length, s) how many tuples of each list a first part of so many rows holds."""
    side: Bools
    """(slots,) True for the first part of a cut, while it is made."""
    moved: Codes
    """(length,)"""


@njit(cache=True, nogil=True, fastmath=False)
def _in_order(
    codes: Codes, first: int, most: int, order: Codes, moved: Codes, counts: Ints
) -> None:
    """Make ``order`` (n,) the stable order of the codes ``codes[first:first + n]``, none above
    ``most``, by their bytes; ``moved`` (n,) and ``counts`` (257,) are written over.
    """
    n, shift = len(order), 0
    for i in range(n):
        order[i] = i
    while most >> shift > 0:
        for c in range(257):
            counts[c] = 0
        for i in range(n):
            counts[((codes[first + i] >> shift) & 255) + 1] += 1
        for c in range(1, 257):
            counts[c] += counts[c - 1]
        for i in range(n):
            c = (codes[first + order[i]] >> shift) & 255
            moved[counts[c]] = order[i]
            counts[c] += 1
        for i in range(n):
            order[i] = moved[i]
        shift += 8


@njit(cache=True, nogil=True, fastmath=False)
def split(
    codes: Codes, along: Along, real: Bools, buckets: Buckets, first: int, last: int, group: Ints
) -> None:
    """Phase 4: cut the buckets ``first .. last-1`` into groups of one tuple per value (Section
    4.3).

    ``codes`` (d, p): per attribute the code of each slot, in the order of buckets and, in these, of
    lists; ``along``: where codes lie; ``real`` (p,): False for a counterfeit, which has no
    position. ``group`` (p,) is set to the name of each slot's group. Of schemes with equal
    perimeter the most even one is taken, so that equal tuples do not make the recursion deep.

    The x-th slots of all lists lie side by side (a *row*), a list's counterfeits last. Where there
    are none, a scheme is a run of rows; elsewhere each list gives the first part as many tuples as
    bring it near a common place, and counterfeits make up the number (``_with_counterfeits``).
    """
    d, counts = len(codes), np.empty(257, dtype=np.int64)
    for b in range(first, last):
        start, s, length = buckets.starts[b], buckets.sizes[b], buckets.lengths[b]
        slots = s * length
        own, place = np.zeros(s, dtype=np.int64), np.empty((slots, d), dtype=np.int32)
        for slot in range(slots):
            own[slot // length] += real[start + slot]
            for i in range(d):
                place[slot, i] = along.positions[along.starts[i] + codes[i, start + slot]]
        rows, at = np.empty((d, slots), dtype=np.uint32), np.empty((2, s), dtype=np.int64)
        order, moved = np.empty(slots, dtype=np.uint32), np.empty(slots, dtype=np.uint32)
        for a in range(d):
            most = along.starts[a + 1] - along.starts[a] - 1
            _in_order(codes[a], start, most, order, moved, counts)
            for j in range(s):
                at[1, j], at[0, j] = j, own[j] * s + j
            for slot in order:
                j, kind = slot // length, 1 if real[start + slot] else 0
                rows[a, at[kind, j]] = slot
                at[kind, j] += s
        _cut(rows, place, own)
        for r in range(slots):
            group[start + rows[0, r]] = buckets.names[b] + r // s


@njit(cache=True, nogil=True, fastmath=False)
def _cut(rows: Codes, place: Codes, own: Ints) -> None:
    """Cut a bucket's lists again and again, until each row is a group.

    ``rows`` (d, slots): in each attribute's order, the x-th slot of the j-th of s lists at ``x s +
    j``; they become the same order. ``place`` (slots, d): where each slot lies. ``own`` (s,): the
    tuples of each list, which are written over.
    """
    d, s, slots = len(rows), len(own), len(place)
    length, lanes, few = rows.shape[1] // s, (d + 3) // 4 * 4, d < _MANY
    room = _Room(
        np.zeros((slots if few else 0, lanes)),
        np.empty((length if few else 0, lanes)),
        np.empty((length if few else 0, lanes)),
        np.empty(d, dtype=np.int32),
        np.empty(d, dtype=np.int32),
        np.empty(d, dtype=np.int32),
        np.empty(length),
        np.empty(length),
        np.empty((length, s), dtype=np.int64),
        np.zeros(slots, dtype=np.bool_),
        np.empty(length, dtype=np.uint32),
    )
    room.lanes[:, :d] = place[: len(room.lanes)]
    side, moved, taken = room.side, room.moved, np.empty(s, dtype=np.int64)
    stack, of_list = np.empty((length, 2), np.int64), np.empty((length, s), np.int64)
    stack[0, 0], stack[0, 1], depth = 0, length, 1
    for j in range(s):
        of_list[0, j] = own[j]
    while depth > 0:
        depth -= 1
        begin, end = stack[depth, 0], stack[depth, 1]
        n, full = end - begin, True
        for j in range(s):
            own[j] = of_list[depth, j]
            full = full and own[j] == n
        if n < 2:
            continue
        if full:
            best_a, best_x = _scheme(rows, place, s, begin, end, room)
            for j in range(s):
                taken[j] = best_x
        else:
            best_a, best_x = _with_counterfeits(rows, place, begin, end, own, taken, room)
        for j in range(s):
            for x in range(best_x):  # tuples, then counterfeits
                there = begin + x if x < taken[j] else begin + own[j] + x - taken[j]
                side[rows[best_a, there * s + j]] = True
        for a in range(d):
            if full and a == best_a:
                continue
            for j in range(s):
                left, right = begin * s + j, 0
                # a stable partition keeps both parts sorted; without a branch, which no processor
                # could foresee
                for r in range(begin * s + j, end * s, s):
                    slot = rows[a, r]
                    inside = side[slot]
                    rows[a, left] = slot
                    moved[right] = slot
                    left += s if inside else 0
                    right += 0 if inside else 1
                for x in range(right):
                    rows[a, left + x * s] = moved[x]
        for r in range(begin * s, (begin + best_x) * s):
            side[rows[0, r]] = False
        stack[depth, 0], stack[depth, 1] = begin, begin + best_x
        stack[depth + 1, 0], stack[depth + 1, 1] = begin + best_x, end
        for j in range(s):
            of_list[depth, j], of_list[depth + 1, j] = taken[j], own[j] - taken[j]
        depth += 2


@njit(cache=True, nogil=True, fastmath=False)
def _scheme(
    rows: Codes, place: Codes, s: int, begin: int, end: int, room: _Room
) -> tuple[int, int]:
    """The attribute and the number of rows of the first part of a best scheme of the rows ``begin
    .. end-1``, which hold no counterfeit.
    """
    n, before, behind, many = end - begin, room.before, room.behind, len(room.lanes) == 0
    best, best_a, best_x = np.inf, 0, 0
    if many:
        _extents(rows[0, begin * s : end * s], place, room)
    for a in range(len(rows)):
        slots = rows[a, begin * s : end * s]
        if many:
            _spans_of_many(slots, place, a, s, room)
        else:
            _spans_of_few(slots, s, room)
        for x in range(n - 1, 0, -1):
            cost = x * s * before[x - 1] + (n - x) * s * behind[x]
            if cost < best or (cost == best and abs(2 * x - n) < abs(2 * best_x - n)):
                best, best_a, best_x = cost, a, x
    return best_a, best_x


@njit(cache=True, nogil=True, fastmath=False)
def _widened(row: Codes, least: Codes, most: Codes) -> int:
    """The extents of some slots and one more, which lies at ``row`` (d,), over all attributes;
    ``least`` and ``most`` (d,) become those of them all.

    The compiler takes several attributes at once, as whole numbers come to the same sum in any
    order.
    """
    width = np.int32(0)
    for i in range(len(row)):
        low, high = min(least[i], row[i]), max(most[i], row[i])
        least[i], most[i] = low, high
        width = np.int32(width + np.int32(high - low))
    return int(width)


@njit(cache=True, nogil=True, fastmath=False)
def _extents(slots: Codes, place: Codes, room: _Room) -> None:
    """Set the extents of all ``slots`` by attribute."""
    least, most = room.least, room.most
    least[:], most[:] = place[slots[0]], place[slots[0]]
    for slot in slots:
        _widened(place[slot], least, most)
    room.extents[:] = most - least


@njit(cache=True, nogil=True, fastmath=False)
def _spans_of_many(slots: Codes, place: Codes, a: int, s: int, room: _Room) -> None:
    """Set the extents of all rows of ``slots``, s in each, up to each of them, and of those from
    each on, in the order of attribute ``a``.

    On all others the rows are soon as wide as they will be, and then ``a`` alone is looked at.
    """
    n, least, most = len(slots) // s, room.least, room.most
    others = np.int64(room.extents.sum()) - np.int64(room.extents[a])
    for backwards in range(2):
        spans, wide = room.behind if backwards else room.before, False
        first = place[slots[(n - 1) * s if backwards else 0]]
        least[:], most[:] = first, first
        for y in range(n):
            x, span = n - 1 - y if backwards else y, 0
            for slot in slots[x * s : (x + 1) * s]:
                if wide:
                    least[a] = min(least[a], place[slot, a])
                    most[a] = max(most[a], place[slot, a])
                else:
                    span = _widened(place[slot], least, most)
            along = np.int64(most[a]) - np.int64(least[a])
            wide = wide or span - along == others
            spans[x] = others + along if wide else span


@njit(cache=True, nogil=True, fastmath=False)
def _spans_of_few(slots: Codes, s: int, room: _Room) -> None:
    """The same for few attributes: a row's extent is measured once, four attributes at a time, which
    a processor does at once.
    """
    n, place, low, high = len(slots) // s, room.lanes, room.low, room.high
    for i in range(0, place.shape[1], 4):
        for x in range(n):
            l0 = l1 = l2 = l3 = np.inf
            h0 = h1 = h2 = h3 = -np.inf
            for r in range(x * s, (x + 1) * s):
                slot = slots[r]
                v0, v1 = place[slot, i], place[slot, i + 1]
                v2, v3 = place[slot, i + 2], place[slot, i + 3]
                l0, h0 = v0 if v0 < l0 else l0, v0 if v0 > h0 else h0
                l1, h1 = v1 if v1 < l1 else l1, v1 if v1 > h1 else h1
                l2, h2 = v2 if v2 < l2 else l2, v2 if v2 > h2 else h2
                l3, h3 = v3 if v3 < l3 else l3, v3 if v3 > h3 else h3
            low[x, i], low[x, i + 1], low[x, i + 2], low[x, i + 3] = l0, l1, l2, l3
            high[x, i], high[x, i + 1], high[x, i + 2], high[x, i + 3] = h0, h1, h2, h3
        _spans(low, high, i, (0, n, 1), room.before)
        _spans(low, high, i, (n - 1, 0, -1), room.behind)


@njit(cache=True, nogil=True, fastmath=False)
def _spans(low: Floats, high: Floats, i: int, along: tuple[int, int, int], spans: Floats) -> None:
    """Add the extents of all rows ``along`` a range up to each, over the attributes from ``i`` on,
    to ``spans`` (length,); the first attributes begin it.
    """
    p0 = p1 = p2 = p3 = np.inf
    q0 = q1 = q2 = q3 = -np.inf
    for x in range(along[0], along[1], along[2]):
        l0, l1, l2, l3 = low[x, i], low[x, i + 1], low[x, i + 2], low[x, i + 3]
        h0, h1, h2, h3 = high[x, i], high[x, i + 1], high[x, i + 2], high[x, i + 3]
        p0, q0 = l0 if l0 < p0 else p0, h0 if h0 > q0 else q0
        p1, q1 = l1 if l1 < p1 else p1, h1 if h1 > q1 else q1
        p2, q2 = l2 if l2 < p2 else p2, h2 if h2 > q2 else q2
        p3, q3 = l3 if l3 < p3 else p3, h3 if h3 > q3 else q3
        span = spans[x] if i > 0 else 0.0
        spans[x] = span + (q0 - p0) + (q1 - p1) + (q2 - p2) + (q3 - p3)


@njit(cache=True, nogil=True, fastmath=False)
def _with_counterfeits(
    rows: Codes, place: Codes, begin: int, end: int, own: Ints, taken: Ints, room: _Room
) -> tuple[int, int]:
    """The same of rows with counterfeits: list j has ``own[j]`` tuples, which come first, and
    ``taken`` (s,) becomes how many of them the best scheme puts into its first part.

    A first part of x rows is filled up to where the lists lie after x of n rows (a lower median of
    them, each as if its counterfeits stood evenly between its tuples): a list gives all tuples
    before that place and none behind it, so far as its counterfeits allow. Parts are measured by
    their tuples alone.
    """
    d, s, n, firsts, perimeter = len(rows), len(own), end - begin, room.firsts, room.before
    least, most, highest = room.least, room.most, np.int32(2**31 - 1)
    before, upto = np.empty(s, dtype=np.int64), np.empty(s, dtype=np.int64)
    evenly, carried = np.empty(s, dtype=np.int64), np.empty(s, dtype=np.int64)
    at = np.empty(s, dtype=np.int32)
    best, best_a, best_x = np.inf, 0, 0
    for a in range(d):
        before[:], upto[:], evenly[:], carried[:] = 0, 0, 0, n
        least[:], most[:] = highest, 0
        given, span = 0, 0
        firsts[0, :] = 0
        for x in range(1, n):
            some = 0
            for j in range(s):
                carried[j] += 2 * own[j]  # evenly[j] becomes x own[j] / n, rounded
                if carried[j] >= 2 * n:
                    carried[j] -= 2 * n
                    evenly[j] += 1
                if own[j] > 0:
                    where = place[rows[a, (begin + max(evenly[j] - 1, 0)) * s + j], a]
                    i = some
                    while i > 0 and at[i - 1] > where:
                        at[i] = at[i - 1]
                        i -= 1
                    at[i] = where
                    some += 1
            middle = at[(some - 1) // 2]
            for j in range(s):
                firsts[x, j] = x
                if own[j] < n:
                    while (
                        before[j] < own[j]
                        and place[rows[a, (begin + before[j]) * s + j], a] < middle
                    ):
                        before[j] += 1
                    upto[j] = max(upto[j], before[j])
                    while (
                        upto[j] < own[j] and place[rows[a, (begin + upto[j]) * s + j], a] <= middle
                    ):
                        upto[j] += 1
                    wanted = min(max(evenly[j], before[j]), upto[j])
                    firsts[x, j] = min(max(wanted, x - n + own[j], 0), x, own[j])
                for k in range(firsts[x - 1, j], firsts[x, j]):
                    span = _widened(place[rows[a, (begin + k) * s + j]], least, most)
                    given += 1
            perimeter[x] = given * span
        least[:], most[:] = highest, 0
        given, span = 0, 0
        for x in range(n - 1, 0, -1):
            for j in range(s):
                behind = own[j] if x == n - 1 else firsts[x + 1, j]
                for k in range(firsts[x, j], behind):
                    span = _widened(place[rows[a, (begin + k) * s + j]], least, most)
                    given += 1
            cost = perimeter[x] + given * span
            if cost < best or (cost == best and abs(2 * x - n) < abs(2 * best_x - n)):
                best, best_a, best_x = cost, a, x
                for j in range(s):
                    taken[j] = firsts[x, j]
    return best_a, best_x
