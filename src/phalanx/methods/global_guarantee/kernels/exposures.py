# SPDX-License-Identifier: Apache-2.0
"""What persons have been exposed to, carried from release to release: compressed rows of pairs
(person, value), merged in one pass.

Survival is a whole number of ``scale`` parts, below 2**62, and always rounded down (Wong et al.,
ICDE 2010, Lemma 4: it is multiplied by 1 - n_s / n).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.kernels import njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def left_of(survival: int, n: int, n_s: int) -> int:
    """The largest whole number of parts that is at most ``survival * (n - n_s) / n``, without a
    product that overflows.

    ``survival`` below 2**62; ``n_s`` of the ``n`` members have the value, n below 2**31.
    """
    whole, rest = survival // n, survival % n
    return int(survival - whole * n_s - (rest * n_s + n - 1) // n)


@_kernel
def widths(starts: Ints, value: Ints, group: Ints, group_starts: Ints, group_value: Codes) -> Ints:
    """How many pairs each person has once the release is counted, shape (p,).

    ``starts`` (p + 1,) and ``value``: the pairs before, ascending by value within a person;
    ``group`` (p,): the group that hosts the person now, negative for none; group g holds the values
    ``group_value[group_starts[g]:group_starts[g + 1]]``, ascending.
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
    group: Ints,
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
) -> int:
    """Count one release: every member of a group is exposed to each of its protected values;
    returns the least survival of the exposed.

    ``starts``, ``value``, ``group``, ``group_starts`` and ``group_value`` as in :func:`widths`;
    ``survival`` and ``times`` beside ``value``. Of the ``group_size[g]`` members ``group_count[j]``
    have the value ``group_value[j]``. Survival is multiplied by the share of the others, or where
    ``added[g]`` the share with the value is taken off it; someone new has ``scale``. ``new_starts``
    (p + 1,) must hold the first places; ``new_value``, ``new_survival`` and ``new_times`` are
    filled.
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
                    new_value[to], new_survival[to], new_times[to] = (
                        value[at],
                        survival[at],
                        times[at],
                    )
                    at += 1
                    to += 1
                before, often = scale, 0
                if at < end and value[at] == group_value[j]:
                    before, often = survival[at], times[at]
                    at += 1
                after = (
                    before - (scale - left_of(scale, n, group_count[j]))
                    if added[g]
                    else left_of(before, n, group_count[j])
                )
                after = max(after, 0)
                new_value[to], new_survival[to], new_times[to] = group_value[j], after, often + 1
                to += 1
                least = min(least, after)
        while at < end:
            new_value[to], new_survival[to], new_times[to] = value[at], survival[at], times[at]
            at += 1
            to += 1
    return least
