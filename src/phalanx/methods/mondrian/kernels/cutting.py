# SPDX-License-Identifier: Apache-2.0
"""What Mondrian's cuts have in common, whatever a bucket or group must keep: where to cut, and
moving tuples to their side.

Source: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, section 4. Codes, rows and attributes are those of
``mondrian.cut``: ``codes`` (d, n) and ``rows`` (n,) are reordered together, ``start`` and ``end``
bound a node, ``attribute`` is the one that is cut, up to and with the code ``last`` and the first
``dealt`` tuples of the next code.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.kernels import njit

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

WAITING = 64
"""The smaller part is cut first, so that as many nodes at most wait."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def measure(
    codes: Codes,
    start: int,
    stop: int,
    positions: Floats,
    offsets: Ints,
    low: Ints,
    high: Ints,
    width: Floats,
) -> None:
    """A node's ends on every attribute, ``low`` and ``high`` (d,), and its normalised ``width``
    there, -1 where all its tuples agree.

    ``codes``: of the tuples ``start .. stop-1``; ``positions``: each code's place in [0, 1],
    attribute ``a`` from ``offsets[a]`` on.
    """
    for a in range(len(low)):
        lo = codes[a, start]
        hi = lo
        for v in codes[a, start:stop]:
            lo = min(lo, v)
            hi = max(hi, v)
        low[a], high[a] = lo, hi
        width[a] = positions[offsets[a] + hi] - positions[offsets[a] + lo] if hi > lo else -1.0


@_kernel
def widest(width: Floats) -> int:
    """The attribute with the greatest width, the first of equals."""
    found = 0
    for a in range(1, len(width)):
        if width[a] > width[found]:
            found = a
    return found


@_kernel
def median(column: Codes, low: int, high: int, histogram: Codes) -> tuple[int, int, int]:
    """The lower median of a ``column`` whose ends are ``low`` and ``high``; and how many are below
    it, and at most it.

    Counts into as many places of the ``histogram`` as the node affords, and narrows to the median's
    bucket until a bucket is one code.
    """
    rank = (len(column) - 1) // 2
    afford = min(len(histogram), 2 * len(column) + 64)
    below = 0
    while True:
        span = high - low
        shift = 0
        while (span >> shift) >= afford:
            shift += 1
        for b in range((span >> shift) + 1):
            histogram[b] = 0
        for v in column:
            x = np.int64(v) - low
            if 0 <= x <= span:
                histogram[x >> shift] += 1
        b = 0
        while below + histogram[b] <= rank:
            below += histogram[b]
            b += 1
        low += b << shift
        if shift == 0:
            return low, below, below + histogram[b]
        high = min(high, low + (1 << shift) - 1)


@_kernel
def _divide(
    codes: Codes,
    rows: Codes,
    attribute: int,
    start: int,
    middle: int,
    end: int,
    last: int,
    wrong: Codes,
) -> None:
    """Strict cut: exchange the tuples that stand on the wrong side of ``middle``."""
    column = codes[attribute]
    n = 0
    for p in range(start, middle):
        wrong[0, n] = p
        n += column[p] > last
    n = 0
    for p in range(middle, end):
        wrong[1, n] = p
        n += column[p] <= last
    for c in range(len(codes)):
        column = codes[c]
        for i in range(n):
            p, q = wrong[0, i], wrong[1, i]
            column[p], column[q] = column[q], column[p]
    for i in range(n):
        p, q = wrong[0, i], wrong[1, i]
        rows[p], rows[q] = rows[q], rows[p]


@_kernel
def sort(column: Codes, low: int, high: int, histogram: Codes, order: Codes) -> None:
    """Write the places of a ``column``, whose codes are from ``low`` to ``high``, into ``order`` by
    their codes; equal ones keep their order.

    ``histogram`` is scratch, used where it affords the codes.
    """
    n, span = len(column), high - low
    if span + 2 > min(len(histogram), 2 * n + 64):
        keys = np.empty(n, np.int64)
        for i in range(n):
            keys[i] = (np.int64(column[i]) << 32) | i
        keys.sort()
        for i in range(n):
            order[i] = keys[i] & 0xFFFFFFFF
        return
    histogram[: span + 2] = 0
    for v in column:
        histogram[v - low + 1] += 1
    for b in range(span):
        histogram[b + 1] += histogram[b]
    for i in range(n):
        b = column[i] - low
        order[histogram[b]] = i
        histogram[b] += 1


@_kernel
def _sort_all(
    codes: Codes,
    rows: Codes,
    attribute: int,
    start: int,
    end: int,
    histogram: Codes,
    buffers: Codes,
) -> None:
    """Relaxed cut: sort the tuples by the attribute. Equal ones keep their order, which is that of
    earlier cuts, so that parts are narrow on these too.
    """
    n = end - start
    order, moved = buffers[0, :n], buffers[1, :n]
    sort(
        codes[attribute, start:end],
        codes[attribute, start:end].min(),
        codes[attribute, start:end].max(),
        histogram,
        order,
    )
    for c in range(len(codes)):
        column = codes[c, start:end]
        for i in range(n):
            moved[i] = column[order[i]]
        column[:] = moved
    for i in range(n):
        moved[i] = rows[start + order[i]]
    rows[start:end] = moved


@_kernel
def ways(relaxed: int) -> int:
    """How many cuts an attribute offers: one where ``relaxed``, else after the median and before
    it.
    """
    return 1 if relaxed else 2


@_kernel
def way(
    relaxed: int, attempt: int, median: int, below: int, at_most: int, size: int
) -> tuple[int, int, int]:
    """A cut: the last code that goes left, how many tuples do, and how many of these have the next
    code.

    ``relaxed``: tuples with the median may fall on either side, so that both are equally large;
    else ``attempt`` 0 cuts after the median and 1 before it. ``below`` and ``at_most``: how many of
    the ``size`` tuples are below the ``median``, and at most it.
    """
    if relaxed:
        return median - 1, size // 2, size // 2 - below
    if attempt == 0:
        return median, at_most, 0
    return median - 1, below, 0


@_kernel
def move(
    codes: Codes,
    rows: Codes,
    attribute: int,
    start: int,
    middle: int,
    end: int,
    last: int,
    relaxed: int,
    histogram: Codes,
    buffers: Codes,
) -> None:
    """Move the tuples of a node to their sides of ``middle``; ``relaxed`` cuts sort them.
    ``histogram`` and ``buffers`` (2, node) are scratch.
    """
    if relaxed:
        _sort_all(codes, rows, attribute, start, end, histogram, buffers)
    else:
        _divide(codes, rows, attribute, start, middle, end, last, buffers)


@_kernel
def put(stack: Ints, waiting: int, start: int, middle: int, end: int) -> int:
    """Put both parts of a node, parted at ``middle``, on the ``stack`` (nodes, 2) above the
    ``waiting`` ones, the smaller one on top; how many wait then.
    """
    small_first = middle - start < end - middle
    stack[waiting, 0] = middle if small_first else start
    stack[waiting, 1] = end if small_first else middle
    stack[waiting + 1, 0] = start if small_first else middle
    stack[waiting + 1, 1] = middle if small_first else end
    return waiting + 2
