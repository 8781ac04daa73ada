# SPDX-License-Identifier: Apache-2.0
"""Random output tables in which the tuples of a group are as alike as the promise that each changes
allows.

Of m tuples c_j have value j. Where all tuples of the group publish j with c_j / m, what a row shows
on that attribute says nothing of whose of the group it is, j is published as often as it occurs,
and each tuple has 1/m of it. A tuple then stays with c_i / m. Where own values would so be too
probable together, attributes are *turned*: the tuples stand in a circle, in the order of their
values, and each publishes the value of the one s places further on, where s is each of ``most`` ..
m - ``most`` alike, if no value has more than ``most`` tuples. So every tuple changes there, values
are published as often as they occur, and each tuple has at most one part in m - 2 * most + 1 of a
value. Attributes are turned one after the other, the one with the most parts first, until all
tuples change.

Source: our own; the tables keep the delta-probability (Definition 3) of Li, Ma, Xi, Zhang, Xie,
Shang, "MuCo".

Every function here releases the lock.
"""

from typing import Any

import numpy as np

from phalanx.arrays import Bools, Floats, Ints
from phalanx.kernels import njit
from phalanx.methods.mutual_cover.kernels.program import Grid

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def choose_turned(
    times: Ints, most: Ints, tuples: int, changes: int, window: int, turned: Bools
) -> bool:
    """Set which attributes of a group are ``turned``, shape (d,), so that own values have at most d
    - ``changes`` together for every tuple; False where that cannot be.

    ``times`` (t, d): how many of the group's ``tuples`` have the own value of each tuple; ``most``
    (d,): how many have the most frequent one. A value needs ``window`` tuples to cover for it.
    """
    t, d = times.shape
    turned[:] = False
    while True:
        still = 0
        for i in range(t):
            stays = 0
            for a in range(d):
                stays += 0 if turned[a] else times[i, a]
            still = max(still, stays)
        if still <= (d - changes) * tuples:
            return True
        best = -1
        for a in range(d):
            if not turned[a] and (best < 0 or most[a] < most[best]):
                best = a
        if best < 0 or tuples - 2 * most[best] + 1 < window:
            return False
        turned[best] = True


@_kernel
def _turn(c: Ints, tuples: int, most: int, p: Floats) -> None:
    """Fill ``p`` (k, k) with the table of an attribute that is turned, whose classes have ``c``
    tuples.
    """
    k, parts = len(c), tuples - 2 * most + 1
    p[:] = 0.0
    place = 0
    for i in range(k):
        for _ in range(c[i]):
            begin = place + most  # the values from here on are published, as many as parts
            for turn in range(2):
                end = -turn * tuples
                for j in range(k):
                    start, end = end, end + c[j]
                    reached = min(begin + parts, end + tuples) - max(begin, start + tuples)
                    p[i, j] += max(reached, 0) / (parts * c[i])
            place += 1


@_kernel
def alike(
    grid: Grid,
    types: Ints,
    first_type: Ints,
    window: int,
    changes: int,
    table: Floats,
    bad: Bools,
    which: Ints,
) -> None:
    """Fill in the ``table`` the tables of the groups ``which``, and say in ``bad`` whether a group has none.

    Group g has on attribute a the problem ``a * groups + g`` of the ``grid``, and the tuple types
    ``first_type[g] .. first_type[g + 1] - 1`` of ``types`` (classes on each attribute). A value
    needs ``window`` tuples to cover for it; every type changes on at least ``changes`` attributes.
    """
    groups, d = len(first_type) - 1, types.shape[1]
    starts, cells, counts = grid.starts, grid.cells, grid.counts
    most, turned = np.empty(d, np.int64), np.empty(d, np.bool_)
    for g in which:
        own = types[first_type[g] : first_type[g + 1]]
        times = np.empty(own.shape, np.int64)
        for a in range(d):
            t = a * groups + g
            c = counts[starts[t] : starts[t + 1]]
            most[a] = c.max()
            for i in range(len(own)):
                times[i, a] = c[own[i, a]]
        m = counts[starts[g] : starts[g + 1]].sum()
        bad[g] = not choose_turned(times, most, m, changes, window, turned)
        for a in range(d):
            t = a * groups + g
            c = counts[starts[t] : starts[t + 1]]
            k = len(c)
            p = table[cells[t] : cells[t] + k * k].reshape(k, k)
            if turned[a] and not bad[g]:
                _turn(c, m, most[a], p)
            else:
                for i in range(k):
                    for j in range(k):
                        p[i, j] = c[j] / m
