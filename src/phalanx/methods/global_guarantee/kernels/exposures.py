# SPDX-License-Identifier: Apache-2.0
"""What persons have been exposed to, carried from release to release: compressed rows of pairs
(history, value), merged in one pass. Persons with one history were always exposed together.

Survival is a whole number of ``scale`` parts, below 2**62, and always rounded down (Wong et al.,
ICDE 2010, Lemma 4: it is multiplied by 1 - n_s / n).
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Codes, Ints, Times
from phalanx.kernels import njit

NOWHERE: Final = -1
"""The group of a person whom no group hosts."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Pairs(NamedTuple):
    """What h histories are exposures to: compressed rows of (``value``, ascending within a history;
    its ``survival``; ``times`` exposed), from ``starts`` (h + 1,) on.
    """

    starts: Ints
    value: Codes
    survival: Ints
    times: Times


class Hosts(NamedTuple):
    """Groups as they expose their members: of ``size[g]`` members ``held[j]`` hold ``value[j]``,
    ascending, for j from ``starts[g]`` to ``starts[g + 1]``.
    """

    starts: Ints
    value: Codes
    held: Ints
    size: Ints


@_kernel
def left_of(survival: int, n: int, n_s: int) -> int:
    """The largest whole number of parts that is at most ``survival * (n - n_s) / n``, without a
    product that overflows.

    ``survival`` below 2**62; ``n_s`` of the ``n`` members have the value, n below 2**31.
    """
    whole, rest = survival // n, survival % n
    return int(survival - whole * n_s - (rest * n_s + n - 1) // n)


@_kernel
def widths(before: Pairs, past: Ints, group: Ints, hosts: Hosts) -> Ints:
    """How many pairs each history has once the release is counted, shape (h,).

    ``before``: the pairs that are carried; ``past`` (h,): which of its histories goes on in each;
    ``group`` (h,): the one of ``hosts`` that hosts its persons now, NOWHERE for none.
    """
    widths = np.empty(len(past), np.int64)
    for p in range(len(widths)):
        at, end = before.starts[past[p]], before.starts[past[p] + 1]
        widths[p] = end - at
        g = group[p]
        if g == NOWHERE:
            continue
        for j in range(hosts.starts[g], hosts.starts[g + 1]):
            while at < end and before.value[at] < hosts.value[j]:
                at += 1
            if at == end or before.value[at] != hosts.value[j]:
                widths[p] += 1
    return widths


@_kernel
def _copy(before: Pairs, at: int, end: int, after: Pairs, to: int) -> int:
    """Carry the pairs from ``at`` to ``end`` on as they are; returns where the next one goes."""
    for i in range(end - at):
        after.value[to + i] = before.value[at + i]
    for i in range(end - at):
        after.survival[to + i] = before.survival[at + i]
    for i in range(end - at):
        after.times[to + i] = before.times[at + i]
    return to + end - at


@_kernel
def take(before: Pairs, some: Ints, after: Pairs) -> None:
    """The pairs that ``some`` histories of ``before`` have, one after the other; ``after``: its
    ``starts`` must hold the first places, the rest is filled.
    """
    for h in range(len(some)):
        _copy(before, before.starts[some[h]], before.starts[some[h] + 1], after, after.starts[h])


@_kernel
def expose(before: Pairs, past: Ints, group: Ints, hosts: Hosts, scale: int, after: Pairs) -> int:
    """Count one release: every member of a group is exposed to each of its protected values;
    returns the least survival of the exposed.

    ``before``, ``past``, ``group`` and ``hosts`` as in :func:`widths`. Survival is multiplied by the share of
    the members without the value; where it is new it is ``scale``.
    ``after``: its ``starts`` must hold the first places, the rest is filled.
    """
    least = scale
    for p in range(len(past)):
        at, end, to = before.starts[past[p]], before.starts[past[p] + 1], after.starts[p]
        g = group[p]
        first, last = (0, 0) if g == NOWHERE else (hosts.starts[g], hosts.starts[g + 1])
        for j in range(first, last):
            value, n, n_s = hosts.value[j], hosts.size[g], hosts.held[j]
            stop = at
            while stop < end and before.value[stop] < value:
                stop += 1
            to = _copy(before, at, stop, after, to)
            at = stop
            survival, often = scale, 0
            if at < end and before.value[at] == value:
                survival, often = before.survival[at], before.times[at]
                at += 1
            survival = max(left_of(survival, n, n_s), 0)
            after.value[to], after.survival[to], after.times[to] = value, survival, often + 1
            to += 1
            least = min(least, survival)
        _copy(before, at, end, after, to)
    return least


@_kernel
def exposed_before(pairs: Pairs, persons: Ints, most: int) -> Ints:
    """How many pairs of a person and a value have 0, 1, … exposures behind them, and ``most`` or
    more, shape (most + 1,).

    ``pairs``: those of h histories; ``persons`` (h,): how many have each history.
    """
    pairs_of = np.zeros(most + 1, np.int64)
    for h in range(len(persons)):
        for e in range(pairs.starts[h], pairs.starts[h + 1]):
            pairs_of[min(int(pairs.times[e]), most)] += persons[h]
    return pairs_of
