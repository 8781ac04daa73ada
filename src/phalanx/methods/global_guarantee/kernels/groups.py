# SPDX-License-Identifier: Apache-2.0
"""Grouping under ratios that differ by person and value.

Source: Wong, Fu, Liu, Wang, Xu, "Global Privacy Guarantee in Serial Data Publishing", ICDE 2010,
Sections 5 and 7: any grouping algorithm with the check that n / n_s is at least what each member
demands, for every protected value s of the group.

How we differ from the paper: a group is grown around the row that demands most, by the row that
makes the box grow least; it stops at the size that is demanded, so that groups are no larger than
they must be. Rows are looked for in cells of a k-d tree first, and only what finds no company there
goes up. A row that would raise the demand (a person whose budget for the value is half spent) is
passed over while there are others.

Throughout, ``positions`` (n, d) are the rows' places in [0, 1], and ``shares`` is what rows hold
and demand, a :class:`~phalanx.methods.mondrian.kernels.balanced.Shares`.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Floats, Ints
from phalanx.kernels import njit
from phalanx.methods.mondrian.kernels.balanced import Shares

FREE: Final = -1
"""The group of a row that is in none yet."""
END: Final = -1
"""What follows the last of a linked list."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Limits(NamedTuple):
    """How far a group may grow: the ``least`` size of any, by how much (``slack``) its demand may
    rise above the one it began with, how many of the nearest free rows are looked at (``most``),
    and how many protected ``values`` it may have.
    """

    least: int
    slack: float
    most: int
    values: int


class Grown(NamedTuple):
    """A group in the making: its ``members``; its protected values in ``slots``, how many hold each
    (``counts``), and the largest ratio that a member demands for it (``ratios``).
    """

    members: Ints
    slots: Ints
    counts: Ints
    ratios: Floats


class Groups(NamedTuple):
    """Groups 0 .. g-1 as linked lists: ``head`` (g,) the first member, ``following`` (n,) the next
    one or END; ``sizes`` (g,); ``box`` (g, d, 2): their ends on all quasi-identifiers.
    """

    head: Ints
    following: Ints
    sizes: Ints
    box: Floats


@_kernel
def demanded(row: int, value: int, shares: Shares) -> float:
    """The ratio that a ``row`` demands of a group with a ``value``: its own where it has one, else
    that of a person never linked to the value.
    """
    of = shares.over_of[row]
    low, high = shares.over_starts[of], shares.over_starts[of + 1]
    while low < high:
        middle = (low + high) // 2
        if shares.over_value[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low < shares.over_starts[of + 1] and shares.over_value[low] == value:
        return float(shares.over_ratio[low])
    return float(shares.base[value])


@_kernel
def _largest(row: int, value: int, members: Ints, shares: Shares) -> float:
    """The largest ratio that a row and some members demand of a group with a value."""
    ratio = demanded(row, value, shares)
    for member in members:
        ratio = max(ratio, demanded(member, value, shares))
    return float(ratio)


@_kernel
def _slot(value: int, used: int, group: Grown) -> int:
    """Where a group has a value; ``used`` where it does not."""
    at = 0
    while at < used and group.slots[at] != value:
        at += 1
    return at


@_kernel
def _would_demand(
    row: int, size: int, used: int, least: int, group: Grown, shares: Shares
) -> float:
    """The size that a group of ``size`` members and ``used`` values would have to have with one
    more row.
    """
    need = float(least)
    for i in range(used):
        value, count = group.slots[i], group.counts[i]
        for j in range(shares.starts[row], shares.starts[row + 1]):
            count += shares.codes[j] == value
        need = max(need, count * max(group.ratios[i], demanded(row, value, shares)))
    for value in shares.codes[shares.starts[row] : shares.starts[row + 1]]:
        if _slot(value, used, group) == used:
            need = max(need, _largest(row, value, group.members[:size], shares))
    return float(need)


@_kernel
def _add(row: int, size: int, used: int, group: Grown, shares: Shares) -> int:
    """Make a row a member of a group; returns how many protected values the group then has."""
    group.members[size] = row
    for i in range(used):
        group.ratios[i] = max(group.ratios[i], demanded(row, group.slots[i], shares))
    for value in shares.codes[shares.starts[row] : shares.starts[row + 1]]:
        at = _slot(value, used, group)
        if at < used:
            group.counts[at] += 1
            continue
        group.slots[used], group.counts[used] = value, 1
        group.ratios[used] = _largest(row, value, group.members[:size], shares)
        used += 1
    return used


@_kernel
def grow(
    positions: Floats, order: Ints, shares: Shares, limits: Limits, wanted: Bools, group: Ints
) -> int:
    """Grow a group around every ``wanted`` row that has none yet, hardest first, within ``limits``;
    returns how many of them found no company.

    Rows are taken from ``order`` where ``group`` (n,) is FREE; the group's name is the row it was
    grown around.
    """
    d = positions.shape[1]
    free = order[group[order] == FREE]
    seed_rows = free[wanted[free]]
    here, seeds = len(free), len(seed_rows)
    if seeds == 0:
        return 0
    grown = Grown(
        np.empty(here + 1, np.int64),
        np.empty(limits.values, np.int64),
        np.empty(limits.values, np.int64),
        np.empty(limits.values, np.float64),
    )
    needs = np.empty(seeds, np.float64)
    total = 0.0
    for i in range(seeds):
        needs[i] = -_would_demand(seed_rows[i], 0, 0, limits.least, grown, shares)
        total -= needs[i]
    # So many rows with protected values must share a group, or there are too few others for all.
    shared = np.ceil(total / (0.8 * here))
    turn = np.argsort(needs, kind="mergesort")
    low, high = np.empty(d, np.float64), np.empty(d, np.float64)
    near, cost = np.empty(here, np.int64), np.empty(here, np.float64)
    lonely = 0
    for t in range(seeds):
        seed = seed_rows[turn[t]]
        if group[seed] != FREE:
            continue
        if -needs[turn[t]] > min(here, limits.most + 1):  # also where nothing will ever do
            lonely += 1
            continue
        kept = 0
        for i in range(here):
            if group[free[i]] == FREE:
                free[kept] = free[i]
                kept += 1
        here = kept
        candidates = 0
        for i in range(here):
            row = free[i]
            if row != seed:
                near[candidates] = row
                gap = 0.0
                for q in range(d):
                    gap += abs(positions[row, q] - positions[seed, q])
                cost[candidates] = gap
                candidates += 1
        if candidates > limits.most:
            edge = np.partition(cost[:candidates], limits.most - 1)[limits.most - 1]
            kept = 0
            for i in range(candidates):
                if cost[i] <= edge and kept < limits.most:
                    near[kept] = near[i]
                    kept += 1
            candidates = kept
        used = _add(seed, 0, 0, grown, shares)
        size, need = 1, np.ceil(-needs[turn[t]])
        holders = 1
        highest = np.ceil(-needs[turn[t]] * limits.slack)
        for q in range(d):
            low[q] = high[q] = positions[seed, q]
        while size < need and candidates > 0:
            best, cheapest = -1, np.inf
            for i in range(candidates):
                row = near[i]
                wider = 0.0
                for q in range(d):
                    p = positions[row, q]
                    if p < low[q]:
                        wider += low[q] - p
                    elif p > high[q]:
                        wider += p - high[q]
                if shares.starts[row + 1] > shares.starts[row]:
                    if holders < shared:
                        wider -= 2.0 * d
                    elif shared > 1:
                        wider += 2.0 * d
                if wider < cheapest:
                    best, cheapest = i, wider
            row = near[best]
            # Whether taken or passed over, it is not looked at again.
            near[best] = near[candidates - 1]
            candidates -= 1
            number_of_shares = shares.starts[row + 1] - shares.starts[row]
            if used + number_of_shares > limits.values:
                continue
            after = np.ceil(_would_demand(row, size, used, limits.least, grown, shares))
            if after > max(need, highest):
                continue
            used = _add(row, size, used, grown, shares)
            size, need, holders = size + 1, max(need, after), holders + (number_of_shares > 0)
            for q in range(d):
                low[q] = min(low[q], positions[row, q])
                high[q] = max(high[q], positions[row, q])
        if size >= need:
            group[grown.members[:size]] = seed
        else:
            lonely += 1
    return lonely


@_kernel
def _nearest(gaps: Floats, most: int) -> Ints:
    """The places of the smallest ``gaps``, at most so many, the first of equal ones first."""
    if len(gaps) > most:
        edge = np.partition(gaps, most - 1)[most - 1]
        near = np.flatnonzero(gaps <= edge)
        return near[np.argsort(gaps[near], kind="mergesort")][:most]
    return np.argsort(gaps, kind="mergesort")


@_kernel
def _may_join(row: int, g: int, groups: Groups, shares: Shares, counts: Ints, held: Ints) -> bool:
    """Whether a group with one more row would hold no more than each member allows; ``counts`` (v,)
    are zeros, given back as such, and ``held`` (v,) is scratch.
    """
    distinct, member = 0, row
    while member != END:
        for value in shares.codes[shares.starts[member] : shares.starts[member + 1]]:
            if counts[value] == 0:
                held[distinct] = value
                distinct += 1
            counts[value] += 1
        member = groups.head[g] if member == row else groups.following[member]
    fits, room, member = True, groups.sizes[g] + 1, row
    while fits and member != END:
        for value in held[:distinct]:
            fits = fits and counts[value] * demanded(member, value, shares) <= room
        member = groups.head[g] if member == row else groups.following[member]
    counts[held[:distinct]] = 0
    return bool(fits)


@_kernel
def join(
    positions: Floats, rows: Ints, shares: Shares, groups: Groups, tries: int, place: Ints
) -> int:
    """Let each of ``rows`` into the one of ``groups`` whose box grows least among those that may
    take it without a change; returns how many found one.

    ``groups`` are changed, and ``place`` (n,) is set to the number of the group; ``tries``: how
    many of the nearest groups are asked.
    """
    d, joined = positions.shape[1], 0
    gaps = np.empty(len(groups.head), np.float64)
    counts, held = np.zeros(len(shares.base), np.int64), np.empty(len(shares.base), np.int64)
    for row in rows:
        for g in range(len(gaps)):
            gaps[g] = 0.0
            for q in range(d):
                p = positions[row, q]
                gaps[g] += max(0.0, groups.box[g, q, 0] - p) + max(0.0, p - groups.box[g, q, 1])
        for g in _nearest(gaps, tries):
            if _may_join(row, g, groups, shares, counts, held):
                groups.following[row], groups.head[g] = groups.head[g], row
                groups.sizes[g] += 1
                place[row] = g
                for q in range(d):
                    groups.box[g, q, 0] = min(groups.box[g, q, 0], positions[row, q])
                    groups.box[g, q, 1] = max(groups.box[g, q, 1], positions[row, q])
                joined += 1
                break
    return joined
