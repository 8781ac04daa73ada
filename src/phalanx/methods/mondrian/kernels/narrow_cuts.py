# SPDX-License-Identifier: Apache-2.0
"""Of all cuts of a node, the one after which its groups are expected to be narrowest.

A part costs its size times its width, the sum over the attributes. Parts that are cut further end
narrower, the larger they are: with d attributes, a size counts by the power 1 - 1 / (2d). The
power 1 is right for parts that stay groups. From 1 + log2(1 - 1 / (2d)) on downward an even cut
of a cube costs more than none, and a few rows after the other are cut off. Places are whole
numbers: each attribute's line is 2**30 // d long, rounded to the nearest and pushed apart.

Source: our own; of the family of the surface area heuristic (MacDonald, Booth, "Heuristics for
ray tracing using space subdivision", 1990).
"""

from typing import Any, Final, NamedTuple

import numpy as np

from phalanx.arrays import Codes, Floats, Ints
from phalanx.kernels import njit
from phalanx.methods.mondrian.kernels.cutting import Cut, Nodes, Table, sort
from phalanx.methods.mondrian.kernels.dividing import MANY

LOOKED_AT: Final = 256
"""All cuts of a node that has room for so many groups are compared. Larger ones are cut at medians,
so that the time does not grow with the square of the rows where cuts are uneven."""
_SIDE_BY_SIDE: Final = 6
"""From so many attributes on, all of a row are looked at before those of the next one."""
_LAID_OUT: Final = 1 << 20
"""So many places at most are written row by row, since memory that is far away is slow."""

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


class Room(NamedTuple):
    """What comparing the cuts of a node of at most r rows writes to; d attributes."""

    weight: Floats
    """Shape (r + 1,): what so many rows count."""
    positions: Codes
    """The table's, as whole numbers of 32 bits."""
    order: Codes
    """Shape (r,): the places of a node by one attribute."""
    backwards: Codes
    """Shape (r,): the same, the last one first."""
    left: Codes
    """Shape (r,): the width of the rows up to each place of the order."""
    right: Codes
    """Shape (r,): the same of the order backwards."""
    places: Codes
    """Rows one after another, on each attribute."""
    least: Codes
    """Shape (d,): the first place among some rows."""
    most: Codes
    last: Ints
    """Shape (d,): the last code that goes left by each attribute's best cut."""
    size: Ints
    """Shape (d,): how many rows go left."""
    dealt: Ints
    """Shape (d,): how many of these have the next code."""
    cost: Floats
    """Shape (d,): what both parts cost, infinite where there is no cut."""


@_kernel
def room(rows: int, table: Table) -> Room:
    """Room for nodes of at most ``rows`` rows of a ``table``."""
    d = len(table.offsets) - 1
    return Room(
        (np.arange(rows + 1) ** (1 - 1 / (2 * d))).astype(np.float64),
        table.positions.astype(np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(rows, np.int32),
        np.empty(min(rows * d, _LAID_OUT) if d >= _SIDE_BY_SIDE else 0, np.int32),
        np.empty(d, np.int32),
        np.empty(d, np.int32),
        np.empty(d, np.int64),
        np.empty(d, np.int64),
        np.empty(d, np.int64),
        np.empty(d, np.float64),
    )


@_kernel
def _widen(column: Codes, order: Codes, low: int, high: int, place: Codes, width: Codes) -> None:
    """Add the ``width`` (n,) on one attribute of the rows up to each place of the ``order``.

    ``column``: a node's codes, from ``low`` to ``high``, which lie at ``place``.
    """
    n, full = len(order), place[high] - place[low]
    lo = hi = column[order[0]]
    i = 0
    while i < n:
        v = column[order[i]]
        lo, hi = min(lo, v), max(hi, v)
        if hi - lo == high - low:
            break
        width[i] += place[hi] - place[lo]
        i += 1
    for behind in range(i, n):
        width[behind] += full


@_kernel
def _lay_out(table: Table, nodes: Nodes, start: int, stop: int, at: Room) -> tuple[int, int]:
    """Write the rows of a node one after another, on the attributes on which they differ; how many
    these are, and how wide all rows are. The former is 0 where there are few, or no room for the
    rows.
    """
    d, n = len(table.offsets) - 1, stop - start
    wide, full, e = 0, 0, 0
    for b in range(d):
        wide += nodes.low[b] < nodes.high[b]
        place = at.positions[table.offsets[b] :]
        full += place[nodes.high[b]] - place[nodes.low[b]]
    if wide < _SIDE_BY_SIDE or n * wide > len(at.places):
        return 0, full
    for b in range(d):
        if nodes.low[b] < nodes.high[b]:
            column, offset = table.codes[b, start:stop], table.offsets[b]
            for i in range(n):
                at.places[i * wide + e] = at.positions[offset + column[i]]
            e += 1
    return wide, full


@_kernel
def _side_by_side(at: Room, wide: int, others: int, order: Codes, width: Codes) -> None:
    """Make the ``width`` (n,) on one attribute that on all, of the rows up to each place of its
    ``order``; rows were laid out by ``wide`` attributes, and on the ``others`` all are so wide.

    The compiler takes several attributes at once, which it may, as whole numbers come to the same
    sum in any order.
    """
    least, most = at.least[:wide], at.most[:wide]
    least[:] = most[:] = at.places[order[0] * wide : order[0] * wide + wide]
    for i in range(len(order)):
        row, total = at.places[order[i] * wide : order[i] * wide + wide], np.int32(0)
        for b in range(wide):
            lo, hi = min(least[b], row[b]), max(most[b], row[b])
            least[b], most[b] = lo, hi
            total = np.int32(total + np.int32(hi - lo))
        if total - width[i] == others:
            width[i:] += others
            break
        width[i] = total


@_kernel
def compare(table: Table, nodes: Nodes, start: int, stop: int, least: int, at: Room) -> None:
    """Set ``at.cost``, ``at.last``, ``at.size`` and ``at.dealt`` to each attribute's best cut of
    the node ``start .. stop-1`` of a ``table`` into parts of at least ``least`` rows; ``nodes`` has
    its ends.
    """
    codes, offsets, low, high = table.codes, table.offsets, nodes.low, nodes.high
    d, n = len(offsets) - 1, stop - start
    left, right = at.left[:n], at.right[:n]
    order, backwards = at.order[:n], at.backwards[:n]
    wide, full = _lay_out(table, nodes, start, stop, at)
    for a in range(d):
        at.cost[a] = np.inf
        if low[a] == high[a]:
            continue
        column = codes[a, start:stop]
        sort(column, low[a], high[a], nodes.histogram, order)
        place = at.positions[offsets[a] : offsets[a + 1]]
        for i in range(n):
            p, behind = order[i], n - 1 - i
            left[i], right[behind] = (
                place[column[p]] - place[low[a]],
                place[high[a]] - place[column[p]],
            )
            backwards[behind] = p
        if wide > 0:
            others = full - (place[high[a]] - place[low[a]])
            _side_by_side(at, wide, others, order, left)
            _side_by_side(at, wide, others, backwards, right)
        for b in range(d if wide == 0 else 0):
            if b != a and low[b] < high[b]:
                of, place = codes[b, start:stop], at.positions[offsets[b] : offsets[b + 1]]
                _widen(of, order, low[b], high[b], place, left)
                _widen(of, backwards, low[b], high[b], place, right)
        best = 0
        for i in range(least, n - least + 1):
            if nodes.relaxed or column[order[i - 1]] < column[order[i]]:
                cost = left[i - 1] * at.weight[i] + right[n - 1 - i] * at.weight[n - i]
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
def narrow_widths(table: Table, nodes: Nodes, start: int, stop: int) -> None:
    """Set the width of the node ``start .. stop-1`` of a ``table``, which is too large for all cuts to be
    compared, to that of eight of its rows, drawn at random, on each attribute of many codes;
    ``nodes`` has its ends. Why, says ``weigh`` (``dividing.py``), which draws them.
    """
    for a in range(len(table.offsets) - 1):
        low, span = nodes.low[a], np.int64(nodes.high[a]) - nodes.low[a]
        if span == 0 or table.offsets[a + 1] - table.offsets[a] < MANY:
            continue
        shift, afford = 0, min(len(nodes.histogram), 2 * (stop - start) + 64)
        while (span >> shift) >= afford:
            shift += 1
        steps = (span >> shift) + 1
        nodes.histogram[:steps] = 0
        for v in table.codes[a, start:stop]:
            nodes.histogram[(np.int64(v) - low) >> shift] += 1
        width, below, place = 0.0, np.int64(0), table.positions[table.offsets[a] + low :]
        share = 0.0
        for b in range(1, steps + 1):
            if b < steps:  # within the last step most rows are taken to stand at its end
                below += nodes.histogram[b - 1]
                share = below / (stop - start)
            four, rest = share * share * share * share, 1 - share
            rest = rest * rest * rest * rest
            between = place[min(b << shift, span)] - place[(b - 1) << shift]
            width += between * (1 - four * four - rest * rest)
        nodes.width[a] = width


@_kernel
def next_narrow(at: Room) -> Cut:
    """The cut of ``at`` that costs least, by the first of equal attributes; it is not tried again."""
    a = int(np.argmin(at.cost))
    if at.cost[a] == np.inf:
        return Cut(-1, 0, 0, 0)
    at.cost[a] = np.inf
    return Cut(a, at.last[a], at.size[a], at.dealt[a])
