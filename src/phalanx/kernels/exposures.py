"""What persons have been exposed to, carried from release to release: compressed rows of pairs (person, value), merged in one pass.

Survival is a whole number of ``scale`` parts, below 2**62, and always rounded down (Wong et al., ICDE 2010, Lemma 4: it is multiplied by 1 - n_s / n).
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def left_of(survival: int, n: int, n_s: int) -> int:
    """The largest whole number of parts that is at most ``survival * (n - n_s) / n``, without a product that overflows.

    ``survival`` below 2**62; ``n_s`` of the ``n`` members have the value, n below 2**31.
    """
    whole, rest = survival // n, survival % n
    return int(survival - whole * n_s - (rest * n_s + n - 1) // n)


@_kernel
def widths_beside(place: Ints, starts: Ints, value: Ints, held_starts: Ints, held: Codes) -> Ints:
    """How many values each row has a history with or holds now, shape (n,).

    ``place``, ``starts``, ``value``, ``held_starts`` and ``held`` as in :func:`lay_beside`.
    """
    found = np.empty(len(place), np.int64)
    for i in range(len(place)):
        own, p = held_starts[i], place[i]
        at, end = (starts[p], starts[p + 1]) if p >= 0 else (0, 0)
        n = (end - at) + (held_starts[i + 1] - own)
        while at < end and own < held_starts[i + 1]:
            if value[at] == held[own]:
                n -= 1
            if value[at] <= held[own]:
                at += 1
            else:
                own += 1
        found[i] = n
    return found


@_kernel
def lay_beside(
    place: Ints,
    starts: Ints,
    value: Ints,
    survival: Ints,
    times: Ints,
    held_starts: Ints,
    held: Codes,
    scale: int,
    to_starts: Ints,
    to_value: Codes,
    to_survival: Ints,
    to_times: Ints,
    to_own: Bools,
) -> None:
    """Bring together what memory knows of every row's person and what the row holds now.

    Row i is person ``place[i]`` of memory (negative: nobody), whose pairs are ``value``, ``survival`` and ``times`` between ``starts``; it holds
    ``held[held_starts[i]:held_starts[i + 1]]``. ``to_starts`` (n + 1,) must hold the first places; ``to_value`` (ascending within a row), ``to_survival``
    (``scale`` without a history), ``to_times`` and ``to_own`` (the row holds the value) are filled.
    """
    for i in range(len(place)):
        own, own_end, p, to = held_starts[i], held_starts[i + 1], place[i], to_starts[i]
        at, end = (starts[p], starts[p + 1]) if p >= 0 else (0, 0)
        while at < end or own < own_end:
            known = at < end and (own == own_end or value[at] <= held[own])
            mine = own < own_end and (at == end or held[own] <= value[at])
            to_value[to] = value[at] if known else held[own]
            to_survival[to] = survival[at] if known else scale
            to_times[to] = times[at] if known else 0
            to_own[to] = mine
            to += 1
            at += known
            own += mine


@_kernel
def widths(starts: Ints, value: Ints, group: Ints, group_starts: Ints, group_value: Codes) -> Ints:
    """How many pairs each person has once the release is counted, shape (p,).

    ``starts`` (p + 1,) and ``value``: the pairs before, ascending by value within a person; ``group`` (p,): the group that hosts the person now,
    negative for none; group g holds the values ``group_value[group_starts[g]:group_starts[g + 1]]``, ascending.
    """
    found = np.empty(len(starts) - 1, np.int64)
    for p in range(len(found)):
        n = starts[p + 1] - starts[p]
        g = group[p]
        if g >= 0:
            at = starts[p]
            for j in range(group_starts[g], group_starts[g + 1]):
                while at < starts[p + 1] and value[at] < group_value[j]:
                    at += 1
                if at == starts[p + 1] or value[at] != group_value[j]:
                    n += 1
        found[p] = n
    return found


@_kernel
def expose(
    starts: Ints,
    value: Ints,
    survival: Ints,
    times: Ints,
    own: Bools,
    group: Ints,
    row: Ints,
    held_starts: Ints,
    held: Codes,
    group_starts: Ints,
    group_value: Codes,
    group_count: Ints,
    group_size: Ints,
    added: Bools,
    scale: int,
    new_starts: Ints,
    new_value: Ints,
    new_survival: Ints,
    new_times: Ints,
    new_own: Bools,
    stage: Ints,
) -> int:
    """Count one release: every member of a group is exposed to each of its protected values; returns the least survival of the exposed.

    ``starts``, ``value``, ``group``, ``group_starts`` and ``group_value`` as in :func:`widths`; ``survival``, ``times`` and ``own`` (held the last time)
    beside ``value``. Person p stands in ``row[p]``, which holds ``held[held_starts[row]:held_starts[row + 1]]``; negative for none. Of the
    ``group_size[g]`` members ``group_count[j]`` have the value ``group_value[j]``. Survival is multiplied by the share of the others, or where
    ``added[g]`` the share with the value is taken off it; someone new has ``scale``. ``new_starts`` (p + 1,) must hold the first places; ``new_value``,
    ``new_survival``, ``new_times`` and ``new_own`` are filled; ``stage`` (g,) is raised to the most exposures that somebody had behind them to a value that
    they hold now.
    """
    least = scale
    for p in range(len(starts) - 1):
        at, end = starts[p], starts[p + 1]
        to = new_starts[p]
        g = group[p]
        if g >= 0:
            n = group_size[g]
            for j in range(group_starts[g], group_starts[g + 1]):
                while at < end and value[at] < group_value[j]:
                    new_value[to], new_survival[to], new_times[to], new_own[to] = value[at], survival[at], times[at], own[at]
                    at += 1
                    to += 1
                before, often = scale, 0
                if at < end and value[at] == group_value[j]:
                    before, often = survival[at], times[at]
                    at += 1
                after = before - (scale - left_of(scale, n, group_count[j])) if added[g] else left_of(before, n, group_count[j])
                after = max(after, 0)
                new_value[to], new_survival[to], new_times[to] = group_value[j], after, often + 1
                new_own[to] = False
                if row[p] >= 0:
                    for i in range(held_starts[row[p]], held_starts[row[p] + 1]):
                        new_own[to] = new_own[to] or held[i] == group_value[j]
                if new_own[to]:
                    stage[g] = max(stage[g], often)
                to += 1
                least = min(least, after)
        while at < end:
            new_value[to], new_survival[to], new_times[to], new_own[to] = value[at], survival[at], times[at], own[at]
            at += 1
            to += 1
    return least
