"""Which buckets of a sliced table a tuple matches, and how well: from scratch, for any grouping.

Source: Li, Li, Zhang, Molloy, "Slicing", section 4.1 (matching buckets, f(t, B)). How we differ: a tuple is not held against every bucket; each column
value lists the buckets it occurs in, and a tuple follows the shortest of its values' lists.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def _by_bucket(bucket: Ints) -> tuple[Ints, Ints]:
    """The rows in order of their buckets, and the size of every bucket."""
    sizes = np.zeros(bucket.max() + 1, np.int64)
    for b in bucket:
        sizes[b] += 1
    places = np.cumsum(sizes) - sizes
    order = np.empty(len(bucket), np.int64)
    for i in range(len(bucket)):
        order[places[bucket[i]]] = i
        places[bucket[i]] += 1
    return order, sizes


@_kernel
def _index(column: Codes, bucket: Ints, order: Ints, begins: Ints, lists: Codes, times: Codes, begin: int) -> int:
    """Write each value's buckets, ascending, and how often it stands there, from ``begin`` on; returns where they end."""
    number = len(begins) - 1
    latest = np.full(number, -1, np.int64)
    lengths = np.zeros(number, np.int64)
    for i in order:
        if latest[column[i]] != bucket[i]:
            latest[column[i]] = bucket[i]
            lengths[column[i]] += 1
    begins[0] = begin
    for v in range(number):
        begins[v + 1] = begins[v] + lengths[v]
    at = begins[:-1] - 1
    latest[:] = -1
    for i in order:
        v = column[i]
        if latest[v] != bucket[i]:
            latest[v] = bucket[i]
            at[v] += 1
            lists[at[v]], times[at[v]] = bucket[i], 0
        times[at[v]] += 1
    return int(begins[number])


@_kernel
def _seek(lists: Codes, at: int, end: int, wanted: int) -> int:
    """The first place from ``at`` on whose bucket is not below ``wanted``: steps that double, then halve."""
    step = 1
    while at + step < end and lists[at + step] < wanted:
        at += step
        step *= 2
    low, high = at, min(at + step, end)
    while low < high:
        middle = (low + high) // 2
        if lists[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@_kernel
def matches(columns: Codes, bucket: Ints, tuples: Codes, widths: Ints) -> tuple[Ints, Floats]:
    """How many buckets each tuple matches, shape (t,), and its matching degree f(t), the sum over these of prod_i n_i(t, B) / |B|, shape (t,).

    ``columns`` (c, n): every row's value in each column, of the sensitive column its quasi-identifiers alone; ``bucket`` (n,): every row's bucket, from 0 on,
    in any order of rows; ``tuples`` (c, t): the values that are looked for, original or fake, any of them negative where no row has it; ``widths`` (c,): how
    many values each column has, above all of ``columns`` and ``tuples``. Columns share no attribute. A degree too small for floating point is 0.
    """
    c, n = columns.shape
    number = tuples.shape[1]
    matched, degree = np.zeros(number, np.int64), np.zeros(number, np.float64)
    order, sizes = _by_bucket(bucket)
    base = np.zeros(c + 1, np.int64)
    for j in range(c):
        base[j + 1] = base[j] + widths[j] + 1
    begins = np.empty(base[c], np.int64)
    lists, times = np.empty(c * n, np.int32), np.empty(c * n, np.int32)
    end = 0
    for j in range(c):
        end = _index(columns[j], bucket, order, begins[base[j] : base[j + 1]], lists, times, end)
    at, stop = np.empty(c, np.int64), np.empty(c, np.int64)
    for t in range(number):
        shortest, known = 0, True
        for j in range(c):
            v = tuples[j, t]
            known = known and v >= 0
            if known:
                at[j], stop[j] = begins[base[j] + v], begins[base[j] + v + 1]
                if stop[j] - at[j] < stop[shortest] - at[shortest]:
                    shortest = j
        if not known:
            continue
        for place in range(at[shortest], stop[shortest]):
            b = lists[place]
            share, here = times[place] / sizes[b], True
            for j in range(c):
                if j != shortest:
                    if at[j] < stop[j]:
                        at[j] = _seek(lists, at[j], stop[j], b)
                    here = at[j] < stop[j] and lists[at[j]] == b
                    if not here:
                        break
                    share *= times[at[j]] / sizes[b]
            if here:
                matched[t] += 1
                degree[t] += share
    return matched, degree
