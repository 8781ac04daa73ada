# SPDX-License-Identifier: Apache-2.0
"""Where in its box a row is believed to lie: how the regions of an attribute share all rows out, and
what a row of a box has on average.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from phalanx.arrays import Bools, Floats, Ints
from phalanx.estimators.regions import Regions
from phalanx.estimators.view import Box

_ROUNDS: Final = 2
"""Rounds of expectation maximization. More fit ends of boxes and not people: without a limit all of
a coarse attribute ends up at ends of boxes.
"""
_HALVINGS: Final = 40
"""By so many the share of rows without a value is known well enough."""
_HEAP: Final = 0.4
"""Where boxes of so many rows begin at a value, it may be that of many."""
_ONE_OF_MANY: Final = 0.05
"""Where a value is a smaller part of all that there may be, a uniform guess gives it nothing."""
_LEAST: Final = 1e-12
"""The share with which a region begins at least that has one: beside a value of 1e300 the others
would have so little that a box's rows over it are no number.
"""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of a facet's entries, or of those of several, and how many rows there are of each."""

    low: Ints
    """Shape (b,), as in :class:`Box`, and so the next ones."""
    high: Ints
    missing: Bools
    rows: Floats
    """How many rows all its entries have."""
    tight: Floats
    """How many of these entries have two rows at least, where its ends are tight."""

    @classmethod
    def of(cls, box: Box, count: Ints | Floats) -> "Boxes":
        """Of entries of so many rows each, ``count`` of shape (e,)."""
        tight = np.zeros(len(box.low))
        if box.tight.any():
            tight = box.sums(box.tight[box.which] & (count >= 2))
        return cls(box.low, box.high, box.missing, box.sums(count), tight)

    @classmethod
    def together(cls, boxes: "Sequence[Boxes]") -> "Boxes":
        """Those of all, of which some may be the same."""
        return cls(
            *(np.concatenate([getattr(one, each.name) for one in boxes]) for each in fields(cls))
        )

    def points(self, regions: Regions) -> Floats:
        """How many rows are in each region, of boxes of one region alone, shape (2K + 2,)."""
        at = np.where(self.low > self.high, regions.missing, self.low)
        is_point = self.low >= self.high
        return np.bincount(
            at[is_point], weights=self.rows[is_point], minlength=regions.missing + 1
        ).astype(np.float64)


def heaped(box: Boxes, measure: Floats) -> int | None:
    """The first region, where it is a value at which boxes of many rows begin, and one of many; None
    where not, or where some are missing.
    """
    if box.missing.any() or not box.tight.any():
        return None
    first = int(box.low.min())
    begins = box.low == first
    of_many = measure[first] < _ONE_OF_MANY * measure.sum()
    many = float(box.rows[begins].sum()) >= _HEAP * float(box.rows.sum())
    return first if of_many and many and bool((box.high > first)[begins].any()) else None


def maximized(box: Boxes, measure: Floats, *, ends: bool) -> Floats:
    """The distribution over regions under which the boxes are most likely, from a uniform one, by
    expectation maximization; shape (2K + 2,).

    Each round costs one pass over boxes and one over regions: a box takes the mass between its ends
    from running sums, and gives its rows by differences.
    """
    size = len(measure) - 1
    point = box.low == box.high
    share = np.maximum(measure, 0).copy()
    # a point that is some box's only value has room for it
    share[box.low[point & ~box.missing]] = np.maximum(share[box.low[point & ~box.missing]], 1e-9)
    missing = missing_share(box)
    share /= max(share.sum(), 1e-300)
    share = np.where(share > 0, np.maximum(share, _LEAST), 0) * (1 - missing)
    share[-1] = missing
    fixed = np.zeros(size + 1)
    rest = box.rows
    if ends and box.tight.any():
        two = box.tight
        for end in (np.where(box.missing, size, np.clip(box.low, 0, size)), box.high):
            fixed += np.bincount(np.clip(end, 0, size), weights=two, minlength=size + 1)
        rest = rest - 2 * two
    low, high, some = np.clip(box.low, 0, size), np.clip(box.high + 1, 0, size), box.low <= box.high
    for turn in range(_ROUNDS):
        upto = np.concatenate([[0.0], np.cumsum(share[:-1])])
        of_values = np.where(some, upto[high] - upto[low], 0)
        # how values lie on a wide scale is not told yet, and how many are missing by that
        of_missing = box.missing * np.where(some, of_values * missing / (1 - missing), 1.0)
        if turn and missing:
            with_value = max(1 - share[-1], _LEAST)
            now = _missing_by(box, of_values / with_value, share[-1], rest, fixed[-1])
            more = (1 - now) / with_value
            share, of_values = np.append(share[:-1] * more, now), of_values * more
            of_missing = box.missing * np.where(some, now, 1.0)
        mass = of_values + of_missing
        per = np.where(mass > 0, rest / np.where(mass > 0, mass, 1), 0)
        steps = np.bincount(low[some], weights=per[some], minlength=size + 1) - np.bincount(
            high[some], weights=per[some], minlength=size + 1
        )
        new = fixed + share * np.append(np.cumsum(steps)[:size], 0)
        new[-1] += float((per * of_missing).sum())
        new /= max(new.sum(), 1e-300)
        share = new
    return share


def _missing_by(
    box: Boxes, of_values: Floats, missing: float, rest: Floats, surely: float
) -> float:
    """Which share of rows has no value, from ``missing`` on, by how much of all values lies in each
    box (``of_values``): of ``rest`` of its rows, beside those that ``surely`` have none.
    """
    alone = box.low > box.high
    for _ in range(_ROUNDS):
        of_missing = box.missing * np.where(alone, 1.0, missing)
        part = of_missing / np.maximum((1 - missing) * of_values + of_missing, 1e-300)
        missing = min(float(surely + (rest * part).sum()) / box.rows.sum(), 1 - _LEAST)
    return missing


def missing_share(box: Boxes) -> float:
    """Which share of rows has no value, by which boxes hold the missing value: the likeliest one if
    rows are in boxes whether they have a value or not, and in each box that holds it beside values
    one row at least has none; there is half a box more in which all have one.
    """
    beside, without = box.missing & (box.low <= box.high), box.missing & (box.low > box.high)
    surely = float(box.rows[without].sum())
    number = box.low[beside] * (int(box.high.max(initial=0)) + 1) + box.high[beside]
    _, same = np.unique(number, return_inverse=True)
    rows, tight = (np.bincount(same, weights=part[beside]) for part in (box.rows, box.tight))
    entries = np.maximum(tight, 1.0)
    if not surely and not rows.any():
        return 0.0
    each = np.maximum(rows / entries, 1.0)
    all_rows = box.rows.sum() + rows.sum() / max(2 * entries.sum(), 1)
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        share = (low + high) / 2
        expected = surely + float(
            (entries * each * share / -np.expm1(each * np.log1p(-share))).sum()
        )
        low, high = (share, high) if expected > share * all_rows else (low, share)
    return (low + high) / 2


def mean_inside(box: Box, weights: Floats, value: Floats) -> Floats:
    """The weighted mean of ``value`` over the regions that each box holds; where all of them weigh
    nothing, of its ends; shape (b,).
    """
    size = len(weights) - 1
    low, high = np.clip(box.low, 0, size), np.clip(box.high + 1, 0, size)
    mass, sums = (np.concatenate([[0.0], np.cumsum(w[:-1])]) for w in (weights, weights * value))
    some = box.low <= box.high
    total = np.where(some, mass[high] - mass[low], 0) + box.missing * weights[-1]
    weight_inside = (
        np.where(some, sums[high] - sums[low], 0) + box.missing * weights[-1] * value[-1]
    )
    plain = np.where(some, (value[low] + value[np.maximum(high - 1, 0)]) / 2, value[-1])
    return np.where(total > 0, weight_inside / np.where(total > 0, total, 1), plain)


def with_ends(box: Box, count: Ints, value: Floats, inner: Floats) -> Floats:
    """The mean of a ``value`` in every entry where one row stands at each end of a tight box and
    all others as ``inner`` says of its box, shape (e,).
    """
    if not box.tight.any():
        return inner[box.which]
    n = np.maximum(count, 1)
    first = np.where(box.missing, value[-1], value[np.clip(box.low, 0, len(value) - 1)])
    ends = first + value[np.clip(box.high, 0, len(value) - 1)]
    ends, inner = ends[box.which], inner[box.which]
    return np.where(box.tight[box.which] & (n >= 2), (ends + (n - 2) * inner) / n, inner)
