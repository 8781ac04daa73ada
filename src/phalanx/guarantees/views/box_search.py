# SPDX-License-Identifier: Apache-2.0
"""Which box a point lies in, what all boxes around it hold, and whether boxes meet: space is halved
until few boxes are left, which are compared one by one.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from phalanx.arrays import Bools, Ints, Sets
from phalanx.guarantees.views.holding import Holding

_COMPARED: Final = 1 << 18
"""Comparisons that are not worth halving the space for, and held at once."""
_WORTH: Final = 0.8
"""A cut that leaves a larger share of the boxes on one side is none."""
_HELD: Final = 1 << 22
"""So many words of what boxes hold are gone through at once."""


def box_of(points: Ints, low: Ints, high: Ints) -> Ints:
    """The first box that holds each point, -1 for none, shape (n,).

    ``points`` (n, d); ``low`` and ``high`` (b, d): the ends of the boxes, both within. A box whose
    low end is above its high end holds nothing.

    >>> box_of(np.array([[1, 1], [5, 5]]), np.array([[0, 0], [1, 1]]), np.array([[0, 9], [2, 2]]))
    array([ 1, -1])
    """
    box = np.full(len(points), -1, dtype=np.int64)
    waiting = [(np.arange(len(points)), np.arange(len(low)))]
    while waiting:
        some, boxes = waiting.pop()
        if not len(some) or not len(boxes):
            continue
        if (
            cut := _cut(low[boxes], high[boxes]) if len(some) * len(boxes) > _COMPARED else None
        ) is not None:
            at, value = cut
            below = points[some, at] < value
            waiting += [
                (some[below], boxes[low[boxes, at] < value]),
                (some[~below], boxes[high[boxes, at] >= value]),
            ]
            continue
        step = max(1, _COMPARED // len(boxes))
        for start in range(0, len(some), step):
            part = some[start : start + step]
            inside = _inside(points[part], low[boxes], high[boxes])
            box[part] = np.where(inside.any(axis=1), boxes[inside.argmax(axis=1)], -1)
    return box


def held_around(points: Ints, low: Ints, high: Ints, holds: Holding) -> Iterator[tuple[Ints, Sets]]:
    """What the boxes around each point hold together: which points, and a set for each of them, some
    after the other, until all were there.

    ``points`` (n, d); ``low`` and ``high`` (b, d) as for :func:`box_of`; ``holds``: what each box
    holds. Points are halved; a box around all of some is looked at once for them, and one
    that holds no more than such boxes do is not looked at again.

    >>> from phalanx.guarantees.views.holding import holding
    >>> holds = holding(np.array([0, 1]), np.array([0, 1]), 2, 2)
    >>> point, sets = next(
    ...     held_around(np.array([[1], [5]]), np.array([[0], [0]]), np.array([[9], [2]]), holds)
    ... )
    >>> point.tolist(), sets.tolist()
    ([0, 1], [[3], [1]])
    """
    waiting = [(np.arange(len(points)), np.flatnonzero((low <= high).all(axis=1)), holds.nothing)]
    while waiting:
        some, boxes, held = waiting.pop()
        if not len(some):
            continue
        here, first, last = points[some], low[boxes], high[boxes]
        least, most = here.min(axis=0), here.max(axis=0)
        whole = ((first <= least) & (last >= most)).all(axis=1)
        held = holds.added(held, boxes[whole])
        boxes = boxes[~whole & ((first <= most) & (last >= least)).all(axis=1)]
        boxes = boxes[holds.hold_more(boxes, held)]
        if len(some) * len(boxes) > _COMPARED:
            below = _halved(here, low[boxes], high[boxes])
            waiting += [(some[below], boxes, held), (some[~below], boxes, held)]
            continue
        step = max(1, _HELD // max(len(boxes) * holds.most, holds.words, 1))
        for start in range(0, len(some), step):
            part = some[start : start + step]
            point, box = np.nonzero(_inside(points[part], low[boxes], high[boxes]))
            yield part, holds.around(held, len(part), point, boxes[box])


def pairs_inside(points: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Every pair of a point and a box that holds it, by points and then by boxes, shape (p,) each.

    ``points`` (n, d); ``low`` and ``high`` (b, d) as for :func:`box_of`. Points are halved as by
    :func:`held_around`.

    >>> pairs_inside(np.array([[1], [5]]), np.array([[0], [0]]), np.array([[9], [2]]))
    (array([0, 0, 1]), array([0, 1, 0]))
    """
    none = np.zeros(0, dtype=np.int64)
    pairs = [(none, none)]
    waiting = [(np.arange(len(points)), np.flatnonzero((low <= high).all(axis=1)))]
    points, low, high = _in_few_bytes(points, low, high)
    while waiting:
        some, boxes = waiting.pop()
        if not len(some) or not len(boxes):
            continue
        here, first, last = points[some], low[boxes], high[boxes]
        least, most = here.min(axis=0), here.max(axis=0)
        whole = ((first <= least) & (last >= most)).all(axis=1)
        pairs.append((some.repeat(int(whole.sum())), np.tile(boxes[whole], len(some))))
        boxes = boxes[~whole & ((first <= most) & (last >= least)).all(axis=1)]
        if len(some) * len(boxes) > _COMPARED:
            below = _halved(here, low[boxes], high[boxes])
            waiting += [(some[below], boxes), (some[~below], boxes)]
            continue
        point, box = np.nonzero(_inside(here, low[boxes], high[boxes]))
        pairs.append((some[point], boxes[box]))
    point, box = (np.concatenate(side) for side in zip(*pairs, strict=True))
    both = point * max(len(low), 1) + box  # each below 2**31
    both.sort()
    point, box = np.divmod(both, max(len(low), 1))
    return point, box


def _in_few_bytes(*places: Ints) -> list[Ints]:
    """The same in the least type that holds all, of which more are compared at once."""
    most = max(max(int(each.max(initial=0)), -int(each.min(initial=0))) for each in places)
    return [each.astype(np.min_scalar_type(-most - 1)) for each in places]


def _halved(points: Ints, low: Ints, high: Ints) -> Bools:
    """Which points lie in the first half, shape (n,), where they are halved on the attribute that
    leaves the fewest boxes on both sides; not all points are equal.
    """
    fewest, best = np.inf, np.zeros(len(points), dtype=np.bool_)
    for of_point, first, last in zip(points.T, low.T, high.T, strict=True):
        value = np.partition(of_point, len(of_point) // 2)[len(of_point) // 2]
        if value == of_point.min():
            above = of_point[of_point > value]
            if not len(above):
                continue
            value = above.min()
        boxes = int((first < value).sum()) + int((last >= value).sum())
        if boxes < fewest:
            fewest, best = boxes, of_point < value
    return best


def _inside(points: Ints, low: Ints, high: Ints) -> Bools:
    """Which boxes each point lies in, shape (n, b)."""
    inside = np.ones((len(points), len(low)), dtype=np.bool_)
    for of_point, first, last in zip(points.T, low.T, high.T, strict=True):
        inside &= (first <= of_point[:, None]) & (of_point[:, None] <= last)
    return inside


def any_meet(low: Ints, high: Ints) -> bool:
    """Whether any two boxes have a point in common; ``low`` and ``high`` (b, d), no low end above
    its high end.
    """
    waiting = [np.arange(len(low))]
    while waiting:
        boxes = waiting.pop()
        if (
            cut := _cut(low[boxes], high[boxes]) if len(boxes) ** 2 > _COMPARED else None
        ) is not None:
            at, value = cut
            waiting += [
                boxes[low[boxes, at] < value],
                boxes[high[boxes, at] >= value],
            ]  # two boxes that meet, meet on one side
            continue
        step = max(1, _COMPARED // max(len(boxes), 1))
        for start in range(0, len(boxes), step):
            part = boxes[start : start + step]
            meeting = np.ones((len(part), len(boxes)), dtype=bool)
            for first, last in zip(low.T, high.T, strict=True):
                meeting &= (first[part, None] <= last[boxes]) & (first[boxes] <= last[part, None])
            if meeting.sum() > len(part):
                return True
    return False


def _cut(low: Ints, high: Ints) -> tuple[int, int] | None:
    """An attribute and a value of it that has the fewest boxes on its fuller side, those across it
    being on both; None where no cut is worth it.
    """
    best, cut = int(_WORTH * len(low)), None
    for at in range(low.shape[1]):
        ends = low[:, at]
        value = np.partition(ends, len(ends) // 2)[len(ends) // 2]
        if not (ends < value).any():  # the lowest is also the middle one
            above = ends[ends > value]
            if not len(above):
                continue
            value = above.min()
        fuller = max(int((ends < value).sum()), int((high[:, at] >= value).sum()))
        if fuller < best:
            best, cut = fuller, (at, int(value))
    return cut
