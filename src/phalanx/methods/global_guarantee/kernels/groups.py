# SPDX-License-Identifier: Apache-2.0
"""Grouping under ratios that differ by person and value, and what it leaves of everybody's budget.

Source: Wong, Fu, Liu, Wang, Xu, "Global Privacy Guarantee in Serial Data Publishing", ICDE 2010,
Sections 4 and 5: any grouping algorithm with the check that n / n_s is at least what each member
demands, for every protected value s of the group.

How we differ from the paper: a group is grown around the row that demands most, by the row that
makes the box grow least; it stops at the size that is demanded, so that groups are no larger than
they must be. Rows are looked for in cells of a k-d tree first, and only what finds no company there
goes up. A row that would raise the demand (somebody whose budget for the value is half spent) is
passed over while there are others.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.kernels import njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

FREE: Final = -1
_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def demanded(
    row: int, value: int, base: Floats, over_starts: Ints, over_value: Codes, over_ratio: Floats
) -> float:
    """The ratio that a row demands of a group with a value: its own where it has one, else that of
    somebody never linked to the value.

    ``base`` (v,): per value; the own ones of ``row`` are ``over_ratio`` beside ``over_value``
    (ascending), from ``over_starts[row]`` on.
    """
    low, high = over_starts[row], over_starts[row + 1]
    while low < high:
        middle = (low + high) // 2
        if over_value[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low < over_starts[row + 1] and over_value[low] == value:
        return float(over_ratio[low])
    return float(base[value])


@_kernel
def _would_demand(
    row: int,
    members: Ints,
    size: int,
    slots: Ints,
    slot_count: Ints,
    slot_ratio: Floats,
    used: int,
    least: float,
    starts: Ints,
    values: Codes,
    base: Floats,
    over_starts: Ints,
    over_value: Codes,
    over_ratio: Floats,
) -> float:
    """The size that a group would have to have with one more ``row``."""
    need = least
    for i in range(used):
        count = slot_count[i]
        for j in range(starts[row], starts[row + 1]):
            if values[j] == slots[i]:
                count += 1
        ratio = max(
            slot_ratio[i], demanded(row, slots[i], base, over_starts, over_value, over_ratio)
        )
        need = max(need, count * ratio)
    for j in range(starts[row], starts[row + 1]):
        known = False
        for i in range(used):
            known = known or slots[i] == values[j]
        if not known:
            ratio = demanded(row, values[j], base, over_starts, over_value, over_ratio)
            for i in range(size):
                ratio = max(
                    ratio,
                    demanded(members[i], values[j], base, over_starts, over_value, over_ratio),
                )
            need = max(need, ratio)
    return float(need)


@_kernel
def _add(
    row: int,
    members: Ints,
    size: int,
    slots: Ints,
    slot_count: Ints,
    slot_ratio: Floats,
    used: int,
    starts: Ints,
    values: Codes,
    base: Floats,
    over_starts: Ints,
    over_value: Codes,
    over_ratio: Floats,
) -> int:
    """Make ``row`` a member of a group; returns how many protected values the group then has."""
    members[size] = row
    for i in range(used):
        slot_ratio[i] = max(
            slot_ratio[i], demanded(row, slots[i], base, over_starts, over_value, over_ratio)
        )
    for j in range(starts[row], starts[row + 1]):
        at = -1
        for i in range(used):
            if slots[i] == values[j]:
                at = i
        if at >= 0:
            slot_count[at] += 1
            continue
        ratio = 0.0
        for i in range(size + 1):
            ratio = max(
                ratio, demanded(members[i], values[j], base, over_starts, over_value, over_ratio)
            )
        slots[used], slot_count[used], slot_ratio[used] = values[j], 1, ratio
        used += 1
    return used


@_kernel
def grow(
    positions: Floats,
    order: Ints,
    start: int,
    end: int,
    least: int,
    starts: Ints,
    values: Codes,
    base: Floats,
    over_starts: Ints,
    over_value: Codes,
    over_ratio: Floats,
    slack: float,
    most: int,
    group: Ints,
    slots_most: int,
    wanted: Bools,
) -> int:
    """Grow a group around every ``wanted`` row that has none yet, hardest first; returns how many
    of them found no company.

    Rows are taken from ``order[start:end]`` where ``group`` (n,) is FREE; the group's name is the
    row it was grown around. ``positions`` (n, d) as in :func:`arrange`; ``least``: the size of any
    group. Row i has the protected ``values[starts[i]:starts[i + 1]]``; what it demands of groups is
    in ``base``, ``over_starts``, ``over_value`` and ``over_ratio`` (see :func:`demanded`). A row
    may join if the group's demand does not rise above ``slack`` times the one it began with; of
    more than ``most`` free rows only the nearest so many are looked at. ``slots_most``: the most
    protected values that a group may have.
    """
    d = positions.shape[1]
    free = np.empty(end - start, np.int64)
    here, seeds = 0, 0
    seed_rows = np.empty(end - start, np.int64)
    for i in range(start, end):
        row = order[i]
        if group[row] == FREE:
            free[here] = row
            here += 1
            if wanted[row]:
                seed_rows[seeds] = row
                seeds += 1
    if seeds == 0:
        return 0
    members = np.empty(here + 1, np.int64)
    slots, slot_count, slot_ratio = (
        np.empty(slots_most, np.int64),
        np.empty(slots_most, np.int64),
        np.empty(slots_most, np.float64),
    )
    needs = np.empty(seeds, np.float64)
    total = 0.0
    for i in range(seeds):
        needs[i] = -_would_demand(
            seed_rows[i],
            members,
            0,
            slots,
            slot_count,
            slot_ratio,
            0,
            float(least),
            starts,
            values,
            base,
            over_starts,
            over_value,
            over_ratio,
        )
        total -= needs[i]
    shared = np.ceil(
        total / (0.8 * here)
    )  # so many rows with protected values must share a group, or there are too few others for all
    turn = np.argsort(needs, kind="mergesort")
    low, high = np.empty(d, np.float64), np.empty(d, np.float64)
    near, cost = np.empty(here, np.int64), np.empty(here, np.float64)
    lonely = 0
    for t in range(seeds):
        seed = seed_rows[turn[t]]
        if group[seed] != FREE:
            continue
        if -needs[turn[t]] > here:  # also where nothing will ever do
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
        if candidates > most:
            edge = np.partition(cost[:candidates], most - 1)[most - 1]
            kept = 0
            for i in range(candidates):
                if cost[i] <= edge and kept < most:
                    near[kept] = near[i]
                    kept += 1
            candidates = kept
        used = _add(
            seed,
            members,
            0,
            slots,
            slot_count,
            slot_ratio,
            0,
            starts,
            values,
            base,
            over_starts,
            over_value,
            over_ratio,
        )
        size, need = 1, np.ceil(-needs[turn[t]])
        holders = 1
        highest = np.ceil(-needs[turn[t]] * slack)
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
                if starts[row + 1] > starts[row]:
                    if holders < shared:
                        wider -= 2.0 * d
                    elif shared > 1:
                        wider += 2.0 * d
                if wider < cheapest:
                    best, cheapest = i, wider
            row = near[best]
            near[best] = near[
                candidates - 1
            ]  # whether taken or passed over, it is not looked at again
            candidates -= 1
            own = starts[row + 1] - starts[row]
            if used + own > slots_most:
                continue
            after = np.ceil(
                _would_demand(
                    row,
                    members,
                    size,
                    slots,
                    slot_count,
                    slot_ratio,
                    used,
                    float(least),
                    starts,
                    values,
                    base,
                    over_starts,
                    over_value,
                    over_ratio,
                )
            )
            if after > max(need, highest):
                continue
            used = _add(
                row,
                members,
                size,
                slots,
                slot_count,
                slot_ratio,
                used,
                starts,
                values,
                base,
                over_starts,
                over_value,
                over_ratio,
            )
            size, need, holders = size + 1, max(need, after), holders + (own > 0)
            for q in range(d):
                low[q] = min(low[q], positions[row, q])
                high[q] = max(high[q], positions[row, q])
        if size >= need:
            for i in range(size):
                group[members[i]] = seed
        else:
            lonely += 1
    return lonely


@_kernel
def join(
    positions: Floats,
    rows: Ints,
    starts: Ints,
    values: Codes,
    base: Floats,
    over_starts: Ints,
    over_value: Codes,
    over_ratio: Floats,
    head: Ints,
    following: Ints,
    sizes: Ints,
    box: Floats,
    group: Ints,
    tally: Ints,
    tries: int,
) -> int:
    """Let each of ``rows`` into the group whose box grows least among those that may take it
    without a change; returns how many found one.

    Groups 0 .. g-1 as linked lists: ``head`` (g,) the first member, ``following`` (n,) the next one
    or -1; ``sizes`` (g,); ``box`` (g, d, 2) their ends on ``positions``; ``group`` (n,) is set.
    ``starts``, ``values``, ``base``, ``over_starts``, ``over_value``, ``over_ratio`` as in
    :func:`grow`; ``tally`` (v,) zeros, given back as such; ``tries``: how many of the nearest
    groups are asked.
    """
    d, found = positions.shape[1], 0
    gaps = np.empty(len(head), np.float64)
    for row in rows:
        for g in range(len(head)):
            gap = 0.0
            for q in range(d):
                p = positions[row, q]
                gap += max(0.0, box[g, q, 0] - p) + max(0.0, p - box[g, q, 1])
            gaps[g] = gap
        for _ in range(min(tries, len(head))):
            g = int(np.argmin(gaps))
            if gaps[g] == np.inf:
                break
            gaps[g] = np.inf
            room = sizes[g] + 1
            for j in range(starts[row], starts[row + 1]):
                tally[values[j]] += 1
            member = head[g]
            while member >= 0:
                for j in range(starts[member], starts[member + 1]):
                    tally[values[j]] += 1
                member = following[member]
            fits = True
            member = row
            asked = head[g]
            while fits and member >= 0:
                other = row
                rest = head[g]
                while fits and other >= 0:  # every member, for every value of every member
                    for j in range(starts[other], starts[other + 1]):
                        v = values[j]
                        fits = (
                            fits
                            and tally[v]
                            * demanded(member, v, base, over_starts, over_value, over_ratio)
                            <= room
                        )
                    other = rest
                    rest = following[rest] if rest >= 0 else -1
                member = asked
                asked = following[asked] if asked >= 0 else -1
            for j in range(starts[row], starts[row + 1]):
                tally[values[j]] = 0
            member = head[g]
            while member >= 0:
                for j in range(starts[member], starts[member + 1]):
                    tally[values[j]] = 0
                member = following[member]
            if fits:
                following[row] = head[g]
                head[g] = row
                sizes[g] = room
                group[row] = g
                for q in range(d):
                    box[g, q, 0] = min(box[g, q, 0], positions[row, q])
                    box[g, q, 1] = max(box[g, q, 1], positions[row, q])
                found += 1
                break
    return found
