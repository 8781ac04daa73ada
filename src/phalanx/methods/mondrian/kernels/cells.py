# SPDX-License-Identifier: Apache-2.0
"""Rows in the cells of a k-d tree, and in narrow groups of a fixed size: the work that needs no
sensitive value.
"""

from typing import Any

import numpy as np

from phalanx.arrays import Floats, Ints
from phalanx.kernels import njit

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def select(order: Ints, keys: Floats, start: int, middle: int, end: int) -> None:
    """Reorder the rows ``order[start:end]`` so that those before ``middle`` have no larger one of
    the ``keys`` (n,) than those after it (Hoare).
    """
    low, high = start, end - 1
    while low < high:
        pivot = keys[order[(low + high) // 2]]
        i, j = low, high
        while i <= j:
            while keys[order[i]] < pivot:
                i += 1
            while keys[order[j]] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@_kernel
def _widest(
    positions: Floats, order: Ints, start: int, end: int, ends: Floats
) -> tuple[int, float]:
    """The attribute on which the rows ``order[start:end]`` are farthest apart, of several the first,
    and how far; ``ends``: room for two numbers of each.
    """
    ends[:, 0], ends[:, 1] = np.inf, -np.inf
    for i in range(start, end):
        for q in range(len(ends)):
            p = positions[order[i], q]
            ends[q, 0] = p if p < ends[q, 0] else ends[q, 0]
            ends[q, 1] = p if p > ends[q, 1] else ends[q, 1]
    widest, width = 0, -1.0
    for q in range(len(ends)):
        if ends[q, 1] - ends[q, 0] > width:
            widest, width = q, ends[q, 1] - ends[q, 0]
    return widest, width


@_kernel
def arrange(positions: Floats, order: Ints, bounds: Ints, first: int, last: int) -> None:
    """Put rows into the cells ``first .. last - 1`` of a k-d tree: each node is cut in two along
    its widest attribute.

    ``positions`` (n, d): every row's place in [0, 1] on every attribute; ``order`` (n,): the rows,
    reordered between ``bounds[first]`` and ``bounds[last]`` so that cell i holds
    ``order[bounds[i]:bounds[i + 1]]``.
    """
    ends, stack = np.empty((positions.shape[1], 2)), np.empty((64, 2), np.int64)
    stack[0, 0], stack[0, 1] = first, last
    waiting = 1
    while waiting > 0:
        waiting -= 1
        a, b = stack[waiting, 0], stack[waiting, 1]
        if b - a < 2:
            continue
        start, end = bounds[a], bounds[b]
        widest, width = _widest(positions, order, start, end, ends)
        middle = (a + b) // 2
        if width > 0 and bounds[middle] > start and bounds[middle] < end:
            select(order, positions[:, widest], start, bounds[middle], end)
        stack[waiting, 0], stack[waiting, 1] = a, middle
        stack[waiting + 1, 0], stack[waiting + 1, 1] = middle, b
        waiting += 2


@_kernel
def shares_out(positions: Floats, order: Ints, start: int, end: int, k: int, name: Ints) -> None:
    """Deal rows without protected values out into groups of ``k`` (the last one of less than 2k)
    that are narrow, by cuts at multiples of k.

    ``positions`` (n, d) as in :func:`arrange`; ``order[start:end]``: the rows, reordered; ``name``
    (n,) is set to one row of each group.
    """
    ends, stack = np.empty((positions.shape[1], 2)), np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = start, end
    waiting = 1 if end > start else 0
    while waiting > 0:
        waiting -= 1
        a, b = stack[waiting, 0], stack[waiting, 1]
        parts = (b - a) // k
        widest, width = _widest(positions, order, a, b, ends)
        if parts < 2:
            for i in range(a, b):
                name[order[i]] = order[a]
            continue
        middle = a + (parts // 2) * k
        if width > 0:
            select(order, positions[:, widest], a, middle, b)
        stack[waiting, 0], stack[waiting, 1] = a, middle
        stack[waiting + 1, 0], stack[waiting + 1, 1] = middle, b
        waiting += 2
