"""What Mondrian's cuts have in common, whatever a bucket or group must keep: where to cut, and moving tuples to their side.

Source: LeFevre, DeWitt, Ramakrishnan, ICDE 2006, section 4. Codes, rows and attributes are those of ``mondrian.cut``: ``codes`` (d, n) and ``rows`` (n,) are
reordered together, ``start`` and ``end`` bound a node, ``attribute`` is the one that is cut, up to and with the code ``last`` and the first ``dealt``
tuples of the next code.
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
def measure(codes: Codes, start: int, stop: int, positions: Floats, offsets: Ints, low: Ints, high: Ints, width: Floats) -> None:
    """A node's ends on every attribute, ``low`` and ``high`` (d,), and its normalised ``width`` there, -1 where all its tuples agree.

    ``codes``: of the tuples ``start .. stop-1``; ``positions``: each code's place in [0, 1], attribute ``a`` from ``offsets[a]`` on.
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
    """The lower median of a ``column`` whose ends are ``low`` and ``high``; and how many are below it, and at most it.

    Counts into as many places of the ``histogram`` as the node affords, and narrows to the median's bucket until a bucket is one code.
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
def _divide(codes: Codes, rows: Codes, attribute: int, start: int, middle: int, end: int, last: int, wrong: Codes) -> None:
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
def _deal(codes: Codes, rows: Codes, attribute: int, start: int, end: int, last: int, dealt: int, buffers: Codes) -> None:
    """Relaxed cut: codes up to ``last`` and the first ``dealt`` tuples of the next code go left; both sides keep their order."""
    column = codes[attribute]
    left, right = 0, 0
    order, moved = buffers[0], buffers[1]
    for p in range(start, end):
        goes = column[p] <= last
        if not goes and dealt > 0 and column[p] == last + 1:
            goes = True
            dealt -= 1
        if goes:
            order[left] = p
            left += 1
        else:
            moved[right] = p
            right += 1
    order[left : left + right] = moved[:right]
    for c in range(len(codes)):
        column = codes[c]
        for i in range(left + right):
            moved[i] = column[order[i]]
        column[start:end] = moved[: left + right]
    for i in range(left + right):
        moved[i] = rows[order[i]]
    rows[start:end] = moved[: left + right]


@_kernel
def ways(relaxed: int) -> int:
    """How many cuts an attribute offers: one where ``relaxed``, else after the median and before it."""
    return 1 if relaxed else 2


@_kernel
def way(relaxed: int, attempt: int, median: int, below: int, at_most: int, size: int) -> tuple[int, int, int]:
    """A cut: the last code that goes left, how many tuples do, and how many of these have the next code.

    ``relaxed``: tuples with the median may fall on either side, so that both are equally large; else ``attempt`` 0 cuts after the median and 1 before it.
    ``below`` and ``at_most``: how many of the ``size`` tuples are below the ``median``, and at most it.
    """
    if relaxed:
        return median - 1, size // 2, size // 2 - below
    if attempt == 0:
        return median, at_most, 0
    return median - 1, below, 0


@_kernel
def move(codes: Codes, rows: Codes, attribute: int, start: int, middle: int, end: int, last: int, dealt: int, relaxed: int, buffers: Codes) -> None:
    """Move the tuples of a node to their sides of ``middle``; ``relaxed`` cuts keep their order on both. ``buffers`` (2, node) is scratch."""
    if relaxed:
        _deal(codes, rows, attribute, start, end, last, dealt, buffers)
    else:
        _divide(codes, rows, attribute, start, middle, end, last, buffers)


@_kernel
def put(stack: Ints, waiting: int, start: int, middle: int, end: int) -> int:
    """Put both parts of a node, parted at ``middle``, on the ``stack`` (nodes, 2) above the ``waiting`` ones, the smaller one on top; how many wait then."""
    small_first = middle - start < end - middle
    stack[waiting, 0] = middle if small_first else start
    stack[waiting, 1] = end if small_first else middle
    stack[waiting + 1, 0] = start if small_first else middle
    stack[waiting + 1, 1] = middle if small_first else end
    return waiting + 2
