# SPDX-License-Identifier: Apache-2.0
"""The boxes that cover each person, on every set of attributes: among all pairs of a person and a
box, or on a grid of the values that there are, in which a box is a block. Both give the same.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

import numpy as np

from phalanx.adversaries.records.rows import BITS, bits_of
from phalanx.arrays import Bools, Floats, Integers, Ints, ordered

_AT_ONCE: Final = 1 << 20
"""Corners of boxes that enter a grid at once."""
_PAIRS: Final = 1 << 16
"""Pairs of a person and a box that are held at once, or persons times sets; they are gone through
once for every set, and more of them leave the nearest memory each time.
"""
_GRID: Final = 1 << 24
"""No grid has more fields."""
_ENDLESS: Final = 1 << 62


@dataclass(frozen=True, eq=False)
class Boxes:
    """Published groups, g of them by d attributes, and what they hold."""

    low: Ints
    """Shape (g, d): the first code within."""
    high: Ints
    """Shape (g, d): the last one."""
    sizes: Ints
    """How many records each group has, shape (g,)."""
    group: Ints
    """Shape (c,): of each different value of a group, the group."""
    value: Ints
    """Its number, from 0."""
    count: Ints
    """How many records of the group have it."""


@dataclass(frozen=True, eq=False)
class Covered:
    """What boxes that cover persons hold, m sets of attributes."""

    count: Ints
    """How many records match each person on all attributes, shape (n,)."""
    identity: Floats
    """Shape (m,): over all persons whom some record matches so, the sum of one by how many match
    them."""
    attribute: Floats
    """The same of how many of these have the person's value, by how many match them."""


def grid_work(codes: Ints, values: Ints | None, boxes: Boxes, sets: Bools) -> int:
    """How many fields and corners :func:`on_grids` would go through; endless where a grid would be
    too large.
    """
    widths = (codes.max(axis=0, initial=0) + 2).tolist()
    of_values = 0 if values is None else int(values.max(initial=0)) + 2
    work = 0
    for held in sets:
        fields = prod(width for width, holds in zip(widths, held, strict=True) if holds)
        if fields * max(1, of_values) > _GRID:
            return _ENDLESS
        corners = 1 << int(held.sum())
        work += fields * (1 + of_values) + corners * (len(boxes.sizes) + 2 * len(boxes.group))
    return work


def on_grids(codes: Ints, values: Ints | None, boxes: Boxes, sets: Bools) -> Covered:
    """What covers persons with these ``codes`` (n, d) and ``values`` (n,), on a grid for every one
    of the ``sets`` (m, d), of which one has all attributes.
    """
    low, high = boxes.low, boxes.high
    count = _on_grid(codes, low, high, boxes.sizes)
    there = count > 0
    persons, of_person = codes[there], None if values is None else values[there]
    identity, attribute = np.zeros(len(sets)), np.zeros(len(sets))
    for at, held in enumerate(sets):
        some, first, last = persons[:, held], low[:, held], high[:, held]
        matching = _on_grid(some, first, last, boxes.sizes)
        identity[at] = (1 / matching).sum()
        if of_person is not None:
            first, last = (
                np.column_stack([ends[boxes.group], boxes.value]) for ends in (first, last)
            )
            alike = _on_grid(np.column_stack([some, of_person]), first, last, boxes.count)
            attribute[at] = (alike / matching).sum()
    return Covered(count.astype(np.int64), identity, attribute)


def _on_grid(codes: Ints, low: Ints, high: Ints, weight: Ints) -> Floats:
    """The weight of the boxes that cover each of some persons, shape (n,): it enters at a corner of
    a box and leaves at the next ones, and all that is before a field is summed up in it.
    """
    shape = codes.max(axis=0, initial=0) + 2
    strides = np.append(np.cumprod(shape[:0:-1])[::-1], 1)[: len(shape)]
    grid = np.zeros(prod(shape.tolist()))
    boxes = np.flatnonzero((low <= high).all(axis=1))
    at_once = max(1, _AT_ONCE >> len(shape))
    for begin in range(0, len(boxes), at_once):
        some = boxes[begin : begin + at_once]
        enters = np.minimum(low[some], shape - 1) * strides
        leaves = np.minimum(high[some] + 1, shape - 1) * strides
        at, entering = np.zeros((1, len(some)), np.int64), weight[some].astype(np.float64)[None]
        for a in range(len(shape)):
            at = np.concatenate([at + enters[:, a], at + leaves[:, a]])
            entering = np.concatenate([entering, -entering])
        np.add.at(grid, at.ravel(), entering.ravel())
    fields = grid.reshape(shape)
    for axis in range(len(shape)):
        np.cumsum(fields, axis=axis, out=fields)
    return np.asarray(grid[codes @ strides])


def in_pairs(
    codes: Ints, values: Ints | None, boxes: Boxes, sets: Bools, *, every: bool
) -> Covered:
    """The same by all pairs of a person and a box, some at a time; ``every``: whether all sets of
    the attributes are among the ``sets`` (m, d).
    """
    n, d = codes.shape
    order = np.arange(n) if values is None else np.argsort(values, kind="stable")
    of_value = None if values is None else values[order]
    count = np.zeros(n, dtype=np.int64)
    identity, attribute = np.zeros(len(sets)), np.zeros(len(sets))
    full = int(sets.all(axis=1).argmax())
    chosen = bits_of(sets)
    most = max(1, _PAIRS // max(len(boxes.sizes), len(sets)))
    own, low, high = _narrow(codes[order], boxes.low, boxes.high)
    sizes, cells = boxes.sizes.astype(np.float64), _Cells.of(boxes)
    for part in _parts(of_value, n, most):
        within = _within(own[part], low, high)
        sums = _sums(within, sizes, chosen, d, every=every)
        count[order[part]] = sums[:, full]
        there = sums[:, full] > 0
        if not there.all():
            within, sums = within[:, there], sums[there]
        identity += (1 / sums).sum(axis=0)
        if of_value is not None:
            groups, counts = cells.of_value(int(of_value[part.start]))
            alike = _sums(within[:, :, groups], counts, chosen, d, every=every)
            attribute += (alike / sums).sum(axis=0)
    return Covered(count, identity, attribute)


@dataclass(frozen=True, eq=False)
class _Cells:
    """What groups hold, by value."""

    value: Ints
    """Ascending, shape (c,)."""
    group: Ints
    count: Floats

    @classmethod
    def of(cls, boxes: Boxes) -> "_Cells":
        value, order = ordered(boxes.value)
        return cls(value, boxes.group[order], boxes.count[order].astype(np.float64))

    def of_value(self, value: int) -> tuple[Ints, Floats]:
        """The groups that have it, and how many records of each."""
        begin, end = (int(np.searchsorted(self.value, value, side)) for side in ("left", "right"))
        return self.group[begin:end], self.count[begin:end]


def _narrow(codes: Ints, low: Ints, high: Ints) -> tuple[Integers, Integers, Integers]:
    """The same persons and boxes in the least room, boxes by attribute, shape (d, g): all boxes are
    gone through for every person.
    """
    top = int(codes.max(initial=0))
    kind = np.min_scalar_type(-top - 2)  # for one more than there are, and one less
    begin = np.clip(low.T, 0, top + 1).astype(kind, order="C")
    end = np.clip(high.T, -1, top).astype(kind, order="C")
    return codes.astype(kind), begin, end


def _parts(values: Ints | None, people: int, most: int) -> Iterator[slice]:
    """Ranges of people who have the same value, at most so many in each; ``values`` are in
    order.
    """
    ends = (
        np.array([people])
        if values is None
        else np.append(np.flatnonzero(np.diff(values)) + 1, people)
    )
    start = 0
    for end in ends.tolist():
        for begin in range(start, end, most):
            yield slice(begin, min(begin + most, end))
        start = end


def _within(codes: Integers, low: Integers, high: Integers) -> Integers:
    """On which attributes each of some persons is within each box, as words of bits, shape (words,
    persons, boxes); of up to eight attributes words of a byte.
    """
    n, d = codes.shape
    kind: type[np.integer] = np.uint8 if d <= min(BITS, 8) else np.int64
    inside_bits = np.zeros((-(-d // BITS), n, low.shape[1]), dtype=kind)
    for a in range(d):
        inside = (codes[:, a, None] >= low[a]) & (codes[:, a, None] <= high[a])
        inside_bits[a // BITS] |= inside.view(np.uint8).astype(kind, copy=False) << kind(a % BITS)
    return inside_bits


def _sums(within: Integers, weight: Floats, chosen: Ints, d: int, *, every: bool) -> Floats:
    """For every person and set of attributes, as the bits that are ``chosen``, the weight of the
    boxes that hold the person on all of them, shape (persons, m).
    """
    n = within.shape[1]
    if not every:
        sums = np.zeros((n, chosen.shape[1]))
        for at, bits in enumerate(chosen.T.tolist()):
            held = [(word & some) == some for word, some in zip(within, bits, strict=True)]
            sums[:, at] = np.logical_and.reduce(held) @ weight
        return sums
    keys = within[0].astype(np.int64)
    keys += (np.arange(n) << d)[:, None]
    summed = np.bincount(
        keys.ravel(), weights=np.broadcast_to(weight, keys.shape).ravel(), minlength=n << d
    ).reshape([n] + [2] * d)
    for axis in range(1, d + 1):  # what is within on more attributes is within on fewer
        without, with_it = (tuple([slice(None)] * axis + [i]) for i in (0, 1))
        summed[without] += summed[with_it]
    return np.asarray(summed.reshape(n, 1 << d)[:, chosen[0]], dtype=np.float64)
