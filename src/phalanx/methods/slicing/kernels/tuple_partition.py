# SPDX-License-Identifier: Apache-2.0
"""Slicing's tuple-partition: Mondrian cuts, kept where the sliced table stays l-diverse.

Source: Li, Li, Zhang, Molloy, "Slicing", section 4.3, Figure 1, whose lines stand beside; Mondrian
after LeFevre, DeWitt, Ramakrishnan, ICDE 2006. How we differ from the paper: where no tuples are
given, a cut is judged by the two halves and not by all buckets, which for strict cuts is the same,
as every tuple matches its own bucket alone. Relaxed cuts keep rows of equal values together as long
as any such cut is allowed, and are made where buckets are expected to be narrowest.
"""

from typing import Any

import numpy as np

from phalanx.arrays import Codes, Floats, Ints
from phalanx.kernels import njit
from phalanx.kernels.rule import Rule
from phalanx.methods.mondrian.kernels.cutting import (
    Cut,
    Table,
    make,
    next_median,
    next_node,
    nodes_of,
)
from phalanx.methods.mondrian.kernels.narrow_cuts import compare, next_narrow, room
from phalanx.methods.slicing.kernels.diversity_check import (
    USED,
    Tuples,
    diversity_check,
    forget_bad,
    one_bucket,
    replace,
)
from phalanx.methods.slicing.kernels.halves import (
    Cells,
    count_halves,
    forget_halves,
    half_keeps,
    halves_of,
)

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def tuple_partition(
    table: Table, cells: Cells, rule: Rule, how: int, compared: int, tuples: Tuples, limit: int
) -> tuple[Codes, Ints, Floats]:
    """tuple-partition(T, l) of Figure 1: cut all rows of the ``table`` into buckets, in place,
    which keep the ``rule``; as one bucket they must keep it already. ``how``: strictly or relaxed;
    of nodes with room for ``compared`` buckets all cuts are compared, and where none of the
    narrowest is allowed, those at medians are tried.

    Below its attributes, the table has every row's value in the first c - 1 columns and its cell;
    or, where there are no ``tuples`` (0, 0), its ``cells`` alone, one or more, each of another q.
    With tuples p(t, s) is at most 1/l for each of them, by shares and by rows, and of the rule only
    the least size and l count; else each bucket keeps the rule by itself. Stops after ``limit``
    cuts, where that is not negative.

    Returns every pair of a tuple and a bucket that it matches: the tuple, the bucket's first place,
    and the weight of ``Lists``.
    """
    n, c, first = len(table.rows), len(tuples.values), np.int64(0)
    widths = np.empty(max(c - 1, 0), np.int64)
    for j in range(len(widths)):
        widths[j] = tuples.values[j].max() + 1
    halves = halves_of(cells, rule, widths)
    over_all = c > 0
    count_halves(table, first, n, Cut(0, 2**31, n, 0), cells, halves)  # all go left
    buckets, lists = one_bucket(n, cells, halves, tuples)
    forget_halves(table, first, n, cells, halves)
    nodes = nodes_of(table, 0, n, how, rule.k, 0)  # line 1
    fewest = max(rule.k, -(-rule.l_num // max(rule.l_den, 1)))
    most = min(compared * fewest, n)
    at = room(max(most, 1), table)
    done = 0
    while True:  # line 2
        start, stop = next_node(table, nodes, rule.k if done != limit else n)  # line 3
        if stop == 0:
            break
        narrow = stop - start <= most
        if narrow:
            compare(table, nodes, start, stop, fewest, at)
        while True:
            cut = next_narrow(at) if narrow else next_median(table, nodes, start, stop)  # line 4
            if cut.attribute < 0 and narrow:
                narrow = False
                continue
            if cut.attribute < 0:
                break  # line 7
            if cut.left < rule.k or stop - start - cut.left < rule.k:
                continue
            count_halves(table, start, stop, cut, cells, halves)
            if over_all:
                holds = diversity_check(start, cells, halves, rule, tuples, buckets, lists)  # 5
                if holds:
                    lists = replace(start, halves, tuples, buckets, lists)
                forget_bad(cells, halves, buckets)
            else:
                holds = True
                for half in range(2):
                    holds = holds and half_keeps(halves, half, cells, rule)
            forget_halves(table, start, stop, cells, halves)
            if holds:
                make(table, nodes, start, stop, cut)  # line 6
                done += 1
                break
    live = np.flatnonzero(lists.of_tuple[: lists.ends[USED]] >= 0)
    return lists.of_tuple[live], lists.of_bucket[live], lists.weight[live]
