# SPDX-License-Identifier: Apache-2.0
"""Of all cuts of a node, the one after which its groups are expected to be narrowest.

A part costs its size times its width, the sum over the attributes. Parts that are cut further end
narrower, the larger they are: with d attributes, a size counts by the power 1 - 1 / (2d). The
power 1 is right for parts that stay groups. From 1 + log2(1 - 1 / (2d)) on downward an even cut
of a cube costs more than none, and a few rows after the other are cut off.

Source: our own; of the family of the surface area heuristic (MacDonald, Booth, "Heuristics for
ray tracing using space subdivision", 1990).
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Codes, Floats, Ints
from phalanx.kernels import njit
from phalanx.methods.mondrian.kernels.cutting import Cut, Nodes, Table, sort

LOOKED_AT: Final = 256
"""All cuts of a node that has room for so many groups are compared. Larger ones are cut at medians,
so that the time does not grow with the square of the rows where cuts are uneven."""
_AT_A_TIME: Final = 16
"""So many attributes of a row are looked at before those of the next one."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Room(NamedTuple):
    """What comparing the cuts of a node of at most r rows writes to; d attributes."""

    weight: Floats
    """Shape (r + 1,): what so many rows count."""
    order: Codes
    """Shape (r,): the places of a node by one attribute."""
    left: Floats
    """Shape (r,): the width of the rows up to each place of the order."""
    right: Floats
    """Shape (r,): the width of the rows behind it."""
    places: npt.NDArray[np.uint32]
    """Shape (r, but at most d, times d): of few rows one after another, on each attribute."""
    least: npt.NDArray[np.uint32]
    """Of each of a few attributes, the first place among the first rows, and among the last."""
    most: npt.NDArray[np.uint32]
    last: Ints
    """Shape (d,): the last code that goes left by each attribute's best cut."""
    size: Ints
    """Shape (d,): how many rows go left."""
    dealt: Ints
    """Shape (d,): how many of these have the next code."""
    cost: Floats
    """Shape (d,): what both parts cost, infinite where there is no cut."""


@_kernel
def room(rows: int, d: int) -> Room:
    """Room for nodes of at most ``rows`` rows with ``d`` attributes."""
    return Room(
        (np.arange(rows + 1) ** (1 - 1 / (2 * d))).astype(np.float64),
        np.empty(rows, np.int32),
        np.empty(rows, np.float64),
        np.empty(rows, np.float64),
        np.empty(min(rows, d) * d, np.uint32),
        np.empty((2, _AT_A_TIME), np.uint32),
        np.empty((2, _AT_A_TIME), np.uint32),
        np.empty(d, np.int64),
        np.empty(d, np.int64),
        np.empty(d, np.int64),
        np.empty(d, np.float64),
    )


@_kernel
def _widen(
    column: Codes, order: Codes, low: int, high: int, place: Floats, left: Floats, right: Floats
) -> None:
    """Add the widths on one attribute, up to each place of the ``order`` and behind it.

    ``left`` (n,) and ``right`` (n,) are added to, without the last of ``right``.

    ``column``: a node's codes, from ``low`` to ``high``, which lie at ``place``.
    """
    n, full = len(order), place[high] - place[low]
    lo = hi = column[order[0]]
    i = 0
    while i < n - 1:
        v = column[order[i]]
        lo, hi = min(lo, v), max(hi, v)
        if hi - lo == high - low:
            break
        left[i] += place[hi] - place[lo]
        i += 1
    for behind in range(i, n):
        left[behind] += full
    lo = hi = column[order[n - 1]]
    i = n - 1
    while i > 0:
        v = column[order[i]]
        lo, hi = min(lo, v), max(hi, v)
        if hi - lo == high - low:
            break
        right[i - 1] += place[hi] - place[lo]
        i -= 1
    for before in range(i):
        right[before] += full


@_kernel
def _lay_out(table: Table, nodes: Nodes, start: int, stop: int, at: Room) -> int:
    """Write the rows of a node one after another, as places of their codes in
    ``table.positions``; how many attributes they differ on, which alone are written.
    """
    d, n = len(table.offsets) - 1, stop - start
    wide = 0
    for b in range(d):
        wide += nodes.low[b] < nodes.high[b]
    e = 0
    for b in range(d):
        if nodes.low[b] < nodes.high[b]:
            column, offset = table.codes[b, start:stop], table.offsets[b]
            for i in range(n):
                at.places[i * wide + e] = offset + column[i]
            e += 1
    return wide


@_kernel
def _widen_side_by_side(at: Room, n: int, wide: int, positions: Floats) -> None:
    """Add the widths on all attributes of ``n`` rows that were laid out by ``wide`` of them, up to
    each place of ``at.order`` and behind it; without the last ones of both.

    Where there are more attributes than rows, :func:`_widen` has more to begin than to do. The sums
    are added up in the same order.
    """
    order, places, least, most = at.order, at.places, at.least, at.most
    for begin in range(0, wide, _AT_A_TIME):
        some = min(_AT_A_TIME, wide - begin)
        first, last = order[0] * wide + begin, order[n - 1] * wide + begin
        for b in range(some):
            least[0, b] = most[0, b] = places[first + b]
            least[1, b] = most[1, b] = places[last + b]
        for i in range(n - 1):
            row, behind = order[i] * wide + begin, order[n - 1 - i] * wide + begin
            left, right = at.left[i], at.right[n - 2 - i]
            for b in range(some):
                v, w = places[row + b], places[behind + b]
                least[0, b], most[0, b] = min(least[0, b], v), max(most[0, b], v)
                least[1, b], most[1, b] = min(least[1, b], w), max(most[1, b], w)
                left += positions[most[0, b]] - positions[least[0, b]]
                right += positions[most[1, b]] - positions[least[1, b]]
            at.left[i], at.right[n - 2 - i] = left, right


@_kernel
def compare(table: Table, nodes: Nodes, start: int, stop: int, least: int, at: Room) -> None:
    """Set ``at.cost``, ``at.last``, ``at.size`` and ``at.dealt`` to each attribute's best cut of
    the node ``start .. stop-1`` of a ``table`` into parts of at least ``least`` rows; ``nodes`` has
    its ends.
    """
    codes, positions, offsets = table.codes, table.positions, table.offsets
    low, high = nodes.low, nodes.high
    d, n = len(offsets) - 1, stop - start
    order, left, right = at.order[:n], at.left[:n], at.right[:n]
    wide = _lay_out(table, nodes, start, stop, at) if n < d else 0
    for a in range(d):
        at.cost[a] = np.inf
        if low[a] == high[a]:
            continue
        column = codes[a, start:stop]
        sort(column, low[a], high[a], nodes.histogram, order)
        left[:], right[:] = 0.0, 0.0
        if wide > 0:
            _widen_side_by_side(at, n, wide, positions)
        else:
            for b in range(d):
                if low[b] < high[b]:
                    place = positions[offsets[b] : offsets[b + 1]]
                    _widen(codes[b, start:stop], order, low[b], high[b], place, left, right)
        best = 0
        for i in range(least, n - least + 1):
            if nodes.relaxed or column[order[i - 1]] < column[order[i]]:
                cost = left[i - 1] * at.weight[i] + right[i - 1] * at.weight[n - i]
                if cost < at.cost[a]:
                    at.cost[a], best = cost, i
        if best == 0:
            continue
        code = column[order[best]]
        at.last[a], at.size[a], at.dealt[a] = column[order[best - 1]], best, 0
        if at.last[a] == code:
            at.last[a] -= 1
            for i in range(best):
                at.dealt[a] += column[order[i]] == code


@_kernel
def next_narrow(at: Room) -> Cut:
    """The cut of ``at`` that costs least, by the first of equal attributes; it is not tried again."""
    a = int(np.argmin(at.cost))
    if at.cost[a] == np.inf:
        return Cut(-1, 0, 0, 0)
    at.cost[a] = np.inf
    return Cut(a, at.last[a], at.size[a], at.dealt[a])
