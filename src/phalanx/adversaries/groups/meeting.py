# SPDX-License-Identifier: Apache-2.0
"""All pairs of a box and another one that it meets, without looking at every two of them: a tuple is
a box that holds one point.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np

from phalanx.arrays import Ints
from phalanx.errors import ReleaseError

_AT_ONCE: Final = 1 << 22
"""Pairs that are compared at once."""
_FEW: Final = 1 << 16
"""So many are compared without dividing them first."""
_WORTH: Final = 0.9
"""A cut that leaves more than this part of the pairs is not made."""
_MOST_PAIRS: Final = 1 << 26
"""More pairs of a tuple and a box that contains it take more than 4 GB, and minutes."""


def containing(codes: Ints, low: Ints, high: Ints) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of a tuple, with ``codes`` (n, d), and a box that contains it, some at a time."""
    return meeting((codes, codes), (low, high))


def few_enough(pairs: Iterator[tuple[Ints, Ints]]) -> Iterator[tuple[Ints, Ints]]:
    """The same pairs of a tuple and a box; ReleaseError as soon as they are too many to be held at
    once.
    """
    so_far = 0
    for owner, group in pairs:
        so_far += len(owner)
        if so_far > _MOST_PAIRS:
            raise ReleaseError(
                f"there are more than {_MOST_PAIRS} pairs of a tuple and a group that may host it,"
                " which is more than this adversary can hold."
            )
        yield owner, group


def meeting(ours: tuple[Ints, Ints], theirs: tuple[Ints, Ints]) -> Iterator[tuple[Ints, Ints]]:
    """All pairs of one of our boxes and one of theirs that have a point in common, some at a time.
    The ends of boxes, within them, as shape (n, d) each; a box whose ends are the wrong way round
    may be said to meet another.

    Ours are halved, with those of theirs that reach into each half, while this saves comparisons.
    """
    (low, high), (begin, end) = ours, theirs
    parts = [(np.arange(len(low)), np.arange(len(begin)))]
    while parts:
        some, boxes = parts.pop()
        halves = _halved(ours, theirs, some, boxes) if len(some) * len(boxes) > _FEW else None
        if halves is not None:
            parts += halves
            continue
        step = max(1, _AT_ONCE // max(len(boxes), 1))
        for start in range(0, len(some), step):
            part = some[start : start + step]
            meet = np.ones((len(part), len(boxes)), dtype=bool)
            for i in range(low.shape[1]):
                meet &= high[part, i, None] >= begin[boxes, i]
                meet &= low[part, i, None] <= end[boxes, i]
            at, box = np.nonzero(meet)
            yield part[at], boxes[box]


def _halved(
    ours: tuple[Ints, Ints], theirs: tuple[Ints, Ints], some: Ints, boxes: Ints
) -> list[tuple[Ints, Ints]] | None:
    """The cut at the median of some attribute's low ends that leaves the fewest pairs to compare;
    None where none saves a tenth of them.
    """
    (low, high), (begin, end) = ours, theirs
    best, least = None, _WORTH * len(some) * len(boxes)
    for i in range(low.shape[1]):
        of_low = low[some, i]
        median = np.partition(of_low, len(some) // 2)[len(some) // 2]
        left = of_low < median
        if not left.any():
            continue
        reach_left = begin[boxes, i] <= high[some[left], i].max()
        reach_right = end[boxes, i] >= median
        on_left, left_ones, right_ones = (
            int(np.count_nonzero(ones)) for ones in (left, reach_left, reach_right)
        )
        work = on_left * left_ones + (len(some) - on_left) * right_ones
        if work < least:
            best, least = [(some[left], boxes[reach_left]), (some[~left], boxes[reach_right])], work
    return best
