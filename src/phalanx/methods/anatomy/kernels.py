# SPDX-License-Identifier: Apache-2.0
"""The array work of anatomy: groups of different values, largest hash buckets first, and the
residue (Xiao & Tao, VLDB 2006, the algorithm Anatomize).

The hash buckets of the paper, one per sensitive value, are here ``order``: the rows by value, those
of one value in random order. How many are left in each is kept in rank order by counting: of the
values tied for the last places of a group, random ones are moved to the end of their rank, from
where they fall into the next; no sorting and no heap.
"""

import numpy as np

from phalanx.arrays import Ints
from phalanx.kernels import njit
from phalanx.kernels.picking import pick
from phalanx.kernels.sorting import from_most


@njit(cache=True, nogil=True, fastmath=False)
def bucketization(counts: Ints, order: Ints, size: int, draws: Ints) -> Ints:
    """The bucket of every row, 0 .. g-1, shape (n,): ``size`` values in each, or more, all
    different.

    ``counts`` (q,): the rows of each value, none of them more than n / size; ``order`` (n,): the
    rows by value, in random order within each; ``draws`` (n + SPARE,): random numbers of ``0 ..
    2^63-1``. At most ``size - 1`` rows are residue, each of another value.
    """
    q, n = len(counts), len(order)
    bucket_of = np.empty(n, dtype=np.int64)
    first = np.zeros(q + 1, dtype=np.int64)
    for value in range(q):
        first[value + 1] = first[value] + counts[value]
    ranked = from_most(counts)
    left = counts.copy()
    at_least = np.zeros(
        counts.max() + 2, dtype=np.int64
    )  # how many values have so many rows left, or more
    for count in counts:
        at_least[count] += 1
    for count in range(len(at_least) - 2, -1, -1):
        at_least[count] += at_least[count + 1]
    at, buckets = 0, 0
    while at_least[1] >= size:
        last = left[ranked[size - 1]]
        sure, tied = at_least[last + 1], at_least[last]
        wanted = size - sure
        begin = tied - wanted  # the values at sure .. tied-1 are tied; those from here on are taken
        if begin > sure:
            for end in range(tied - 1, begin - 1, -1):
                chosen, at = pick(end + 1 - sure, draws, at)
                ranked[sure + chosen], ranked[end] = ranked[end], ranked[sure + chosen]
        for i in range(size):
            value = ranked[i if i < sure else begin + i - sure]
            bucket_of[order[first[value + 1] - left[value]]] = buckets
            at_least[left[value]] -= 1
            left[value] -= 1
        buckets += 1
    for value in range(q):
        for row in range(first[value + 1] - left[value], first[value + 1]):
            # the buckets that hold the value are ascending: step over them to the chosen one of the
            # others
            bucket, at = pick(buckets - (row - first[value]), draws, at)
            for held in range(first[value], row):
                if bucket_of[order[held]] > bucket:
                    break
                bucket += 1
            bucket_of[order[row]] = bucket
    return bucket_of
