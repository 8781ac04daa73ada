# SPDX-License-Identifier: Apache-2.0
"""Slicing's diversity-check: whether p(t, s) stays at most 1/l over all buckets that a tuple
matches.

Source: Li, Li, Zhang, Molloy, "Slicing", section 4.3, Figure 2, whose lines stand beside. How we
differ: the paper's check scans all tuples and buckets for every cut. A tuple that matches half of a
bucket matches the whole of it, so a cut is of concern only to the tuples that match the bucket:
each bucket lists them, and each tuple lists its buckets (L[t]). And p = 1/l is allowed, as the
paper's definition says and its pseudo-code does not.

p(t, s) is asked to keep the bound twice: with buckets weighed by shares f(t, B), as the paper does,
and by rows, |B| f(t, B), which is right for an adversary who takes every published row as equally
likely to be t's.

A tuple none of whose buckets has a value above 1/l beside its quasi-identifiers keeps the bound,
which integers decide. For any other, p(t, s) is summed in floating point over its buckets, and
accepted only where it is below the bound by more than rounding can be: this check can only decline.
So it does for tuples that are to keep the bound in each of their buckets.

Throughout, ``cells``, ``halves`` and ``rule`` are those of ``halves.py``; ``tuples``, ``buckets``
and ``lists`` say who matches what; the bucket that is cut begins at ``start``.
"""

from typing import Any, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Codes, Floats, Ints
from phalanx.kernels import njit
from phalanx.kernels.rule import Rule
from phalanx.kernels.sorting import sort
from phalanx.methods.slicing.kernels.halves import Cells, Halves

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")

MARGIN = 1e-9
"""Sums of p(t, s) within this part of the bound are declined; rounding stays far below it."""
TINY = 1e-280
"""Sums of f(t, B), or of |B| f(t, B), below this have lost what is to be compared (a share in each
of very many columns), and are declined.
"""
USED, FREE = range(2)
"""Places of ``Lists.ends``: how many entries there are, and the first that is free, -1 for none."""


class Tuples(NamedTuple):
    """The different tuples of the table, t of them."""

    values: Codes
    """Shape (c, t): by column, of the sensitive column its quasi-identifiers, q."""
    in_each: Bools
    """Shape (t,): which of them no bucket that they match may leave above the bound."""


class Buckets(NamedTuple):
    """What each bucket holds, by its first place; of shape (n,), with room for marks."""

    held: Codes
    """How many cells it has."""
    cells: Codes
    """From its first place on: these, ascending."""
    counts: Codes
    """How often each."""
    rows: Ints
    head: Ints
    """Its first entry of ``Lists``, -1 for none."""
    bad: Bools
    """Shape (2, qs): where a half has a value above 1/l; False between two cuts."""
    by_shares: Floats
    """Shape (values,): sums of one tuple; zero between two tuples."""
    by_rows: Floats


class Lists(NamedTuple):
    """Pairs of a tuple and a bucket that it matches: a list for each bucket, and L[t] for each
    tuple.
    """

    of_tuple: Codes
    """-1: free."""
    of_bucket: Ints
    weight: Floats
    """``prod_i n_i / |B|^c`` over the first c - 1 columns, so that f(t, B) is this times the
    bucket's rows with t's q.
    """
    bad: Bools
    """Whether the bucket has a value above 1/l beside the tuple's q."""
    next_here: Ints
    """The next entry of the bucket, or the next that is free."""
    next_there: Ints
    """The next entry of the tuple."""
    first: Ints
    """Shape (t,): each tuple's first entry."""
    bads: Codes
    """Shape (t,): how many of its entries are bad."""
    ends: Ints


@_kernel
def one_bucket(n: int, cells: Cells, halves: Halves, tuples: Tuples) -> tuple[Buckets, Lists]:
    """All ``n`` rows as one bucket, counted as the left one of ``halves``; nothing where there are
    no tuples.
    """
    c, t = tuples.values.shape
    values = int(cells.s.max()) + 1
    room = n if t > 0 else 0
    buckets = Buckets(
        np.zeros(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.zeros(room, np.int64),
        np.full(room, -1, np.int64),
        np.zeros((2, len(cells.first)), np.bool_),
        np.zeros(values, np.float64),
        np.zeros(values, np.float64),
    )
    lists = Lists(
        np.arange(t).astype(np.int32),
        np.zeros(t, np.int64),
        np.full(t, 1.0 / n),
        np.zeros(t, np.bool_),
        np.arange(1, t + 1),
        np.full(t, -1, np.int64),
        np.arange(t),
        np.zeros(t, np.int32),
        np.array([t, -1]),
    )
    if t == 0:
        return buckets, lists
    lists.next_here[t - 1] = -1
    for e in range(t):
        for j in range(c - 1):
            lists.weight[e] *= halves.values[0, halves.base[j] + tuples.values[j, e]] / n
    buckets.head[0], buckets.held[0], buckets.rows[0] = 0, len(cells.q), n
    for cell in range(len(cells.q)):
        buckets.cells[cell], buckets.counts[cell] = cell, halves.cells[0, cell]
    return buckets, lists


@_kernel
def _match(tuples: Tuples, t: int, halves: Halves, half: int) -> float:
    """The weight of a tuple in a half, below 0 where it does not match it."""
    c = len(tuples.values)
    if halves.among[half, tuples.values[c - 1, t]] == 0:
        return -1.0
    weight = 1.0 / halves.rows[half]
    for j in range(c - 1):
        times = halves.values[half, halves.base[j] + tuples.values[j, t]]
        if times == 0:
            return -1.0
        weight *= times / halves.rows[half]
    return float(weight)


@_kernel
def _bounded(
    e: int, cells: Cells, halves: Halves, rule: Rule, tuples: Tuples, buckets: Buckets, lists: Lists
) -> bool:
    """Whether p(t, s) stays within the bound for the tuple of an entry, if its bucket is cut."""
    t, first, s = lists.of_tuple[e], cells.first, cells.s
    q = tuples.values[-1, t]
    by_shares, by_rows = buckets.by_shares, buckets.by_rows
    shares, rows = 0.0, 0.0
    for half in range(2):  # p(t, B) and D(t, B) of both halves: lines 4 to 6
        weight = _match(tuples, t, halves, half)
        if weight < 0:
            continue
        part = halves.rows[half]
        for cell in range(first[q], first[q + 1]):
            by_shares[s[cell]] += weight * halves.cells[half, cell]
            by_rows[s[cell]] += weight * halves.cells[half, cell] * part
        shares += weight * halves.among[half, q]
        rows += weight * halves.among[half, q] * part
    other = lists.first[t]
    while other >= 0:  # and of the other buckets of L[t]
        if other != e:
            b = lists.of_bucket[other]
            bucket_cells = buckets.cells[b : b + buckets.held[b]]
            begin = np.searchsorted(bucket_cells, np.int32(first[q]))
            end = np.searchsorted(bucket_cells, np.int32(first[q + 1]))
            for k in range(b + begin, b + end):
                weight = lists.weight[other] * buckets.counts[k]
                by_shares[s[buckets.cells[k]]] += weight
                by_rows[s[buckets.cells[k]]] += weight * buckets.rows[b]
                shares += weight
                rows += weight * buckets.rows[b]
        other = lists.next_there[other]
    holds = not tuples.in_each[t] and shares > TINY and rows > TINY
    most_shares, most_rows = rule.l_den * shares * (1 - MARGIN), rule.l_den * rows * (1 - MARGIN)
    for cell in range(first[q], first[q + 1]):  # line 8: p(t, s) of each s
        if rule.l_num * by_shares[s[cell]] > most_shares:
            holds = False
        if rule.l_num * by_rows[s[cell]] > most_rows:
            holds = False
    for cell in range(first[q], first[q + 1]):
        by_shares[s[cell]], by_rows[s[cell]] = 0.0, 0.0
    return holds


@_kernel
def diversity_check(
    start: int,
    cells: Cells,
    halves: Halves,
    rule: Rule,
    tuples: Tuples,
    buckets: Buckets,
    lists: Lists,
) -> bool:
    """diversity-check(T, T*, l) of Figure 2, where T* is the table with the bucket at ``start`` cut
    into ``halves``, which it marks as bad where they have a value above 1/l.
    """
    for half in range(2):  # lines 2 and 3: f(v) of the halves is counted
        for i in range(halves.cells_met[half]):
            cell = halves.met[half, i]
            q = cells.q[cell]
            if halves.cells[half, cell] * rule.l_num > halves.among[half, q] * rule.l_den:
                buckets.bad[half, q] = True
    e = buckets.head[start]
    while e >= 0:  # line 7: of the tuples that match the bucket
        t = lists.of_tuple[e]
        q = tuples.values[-1, t]
        bads = lists.bads[t] - lists.bad[e]
        for half in range(2):
            if buckets.bad[half, q] and _match(tuples, t, halves, half) >= 0:
                bads += 1
        if bads > 0 and not _bounded(e, cells, halves, rule, tuples, buckets, lists):
            return False  # line 9
        e = lists.next_here[e]
    return True  # line 10


@_kernel
def forget_bad(cells: Cells, halves: Halves, buckets: Buckets) -> None:
    """Take back the marks of :func:`diversity_check`."""
    for half in range(2):
        for i in range(halves.cells_met[half]):
            buckets.bad[half, cells.q[halves.met[half, i]]] = False


@_kernel
def _grown(array: Any) -> Any:
    """A copy of twice the length."""
    longer = np.empty(2 * len(array), array.dtype)
    for i in range(len(array)):
        longer[i] = array[i]
    return longer


@_kernel
def _with_room(lists: Lists) -> Lists:
    """The same, with a free entry."""
    if lists.ends[FREE] >= 0 or lists.ends[USED] < len(lists.of_tuple):
        return lists
    return Lists(
        _grown(lists.of_tuple),
        _grown(lists.of_bucket),
        _grown(lists.weight),
        _grown(lists.bad),
        _grown(lists.next_here),
        _grown(lists.next_there),
        lists.first,
        lists.bads,
        lists.ends,
    )


@_kernel
def _new_entry(lists: Lists) -> int:
    """The number of a free entry, which is free no more."""
    entry = lists.ends[FREE]
    if entry >= 0:
        lists.ends[FREE] = lists.next_here[entry]
    else:
        entry = lists.ends[USED]
        lists.ends[USED] += 1
    return int(entry)


@_kernel
def _drop(lists: Lists, e: int) -> None:
    """Take an entry, whose tuple matches neither half, out of L[t]."""
    t = lists.of_tuple[e]
    lists.of_tuple[e] = -1
    if lists.first[t] == e:
        lists.first[t] = lists.next_there[e]
    else:
        before = lists.first[t]
        while lists.next_there[before] != e:
            before = lists.next_there[before]
        lists.next_there[before] = lists.next_there[e]
    lists.next_here[e] = lists.ends[FREE]
    lists.ends[FREE] = e


@_kernel
def replace(start: int, halves: Halves, tuples: Tuples, buckets: Buckets, lists: Lists) -> Lists:
    """Put the halves in the place of the bucket at ``start``; the lists, which may have grown."""
    middle = start + halves.rows[0]
    e, buckets.head[start], buckets.head[middle] = buckets.head[start], -1, -1
    while e >= 0:
        following = lists.next_here[e]
        t = lists.of_tuple[e]
        q = tuples.values[-1, t]
        lists.bads[t] -= lists.bad[e]
        taken = False
        for half in range(2):
            weight = _match(tuples, t, halves, half)
            if weight < 0:
                continue
            entry = e
            if taken:
                lists = _with_room(lists)
                entry = _new_entry(lists)
                lists.next_there[entry] = lists.first[t]
                lists.first[t] = entry
            taken = True
            b = start if half == 0 else middle
            bad = buckets.bad[half, q]
            lists.of_tuple[entry], lists.of_bucket[entry] = t, b
            lists.weight[entry], lists.bad[entry] = weight, bad
            lists.bads[t] += bad
            lists.next_here[entry] = buckets.head[b]
            buckets.head[b] = entry
        if not taken:
            _drop(lists, e)
        e = following
    for half in range(2):
        b, number = (start if half == 0 else middle), halves.cells_met[half]
        sort(halves.met[half, :number])
        buckets.held[b], buckets.rows[b] = number, halves.rows[half]
        for i in range(number):
            cell = halves.met[half, i]
            buckets.cells[b + i], buckets.counts[b + i] = cell, halves.cells[half, cell]
    return lists
