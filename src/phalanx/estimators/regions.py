# SPDX-License-Identifier: Apache-2.0
"""The values of one attribute in regions within which a query makes no difference: known points,
and the gaps between them.

The points are all ends that were published and all constants of the query, K of them in order.
Region 2i + 1 is point i, region 2i is the gap before it, region 2K the gap above all points, and
region 2K + 1 the missing value. A test is true in all of a region or in none of it, so that a box
is a range of regions and everything else is counting.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Bools, Floats, Ints
from phalanx.estimators.conditions import Comparison
from phalanx.estimators.lines import FAR, Keys, Known, Line

_FAR_APART: Final = 1e290
"""Numbers beyond it are farther apart, or together, than a float holds."""
_PARTS: Final = (1, 2, 4, 10, 20, 100, 1000)
"""Of a unit, in which numbers with decimals may be counted: years, half points, cents."""
_COUNTED: Final = 2.0**53
"""Whole numbers below it are floats each."""


@dataclass(frozen=True, eq=False)
class Regions:
    """The regions of one attribute, and which of them hold what."""

    line: Line
    points: npt.NDArray[Any]
    """The keys of all known points in order, shape (K,)."""
    published: Bools
    """Which of them are published ends, and no mere constants of the query, shape (K,)."""
    named: Bools
    """Which of the others a query asks about by ``=`` or ``in``, shape (K,)."""
    cut: Ints
    """As of the known ends."""

    @classmethod
    def of(cls, line: Line, known_ends: Known, asked: Iterable[Comparison]) -> "Regions":
        """The regions that published ends and the constants of a query make."""
        known, kind = known_ends.values, known_ends.values.dtype
        tests = [(test.kind, key) for test in asked for key in line.constants(test)]
        named = {key for how, key in tests if how == "in"}
        constants = np.array(sorted({key for _, key in tests}), dtype=kind)
        places = np.searchsorted(known, constants)
        new = np.append(known, constants[:1])[places] != constants if len(known) else places == 0
        new |= places == len(known)
        places, constants = places[new], constants[new]
        is_named = np.array([key in named for key in constants.tolist()], dtype=bool)
        return cls(
            line,
            np.insert(known, places, constants),
            np.insert(np.ones(len(known), dtype=bool), places, values=False),
            np.insert(np.zeros(len(known), dtype=bool), places, is_named),
            known_ends.cut,
        )

    def new(self, asked: Iterable[Comparison]) -> set[Any]:
        """The keys of the constants of a query that are none of the points."""
        constants = [key for test in asked for key in self.line.constants(test)]
        keys = np.array(constants, dtype=self.points.dtype)
        return set(keys[self._places(keys) < 0].tolist())

    def _places(self, keys: npt.NDArray[Any]) -> Ints:
        """The place of each key among the points, shape (n,), -1 for one that is none of them; of
        texts by a dictionary, since to search for thousands compares each with many.
        """
        if self.line.kind == "text":
            return np.array([self._of_text.get(key, -1) for key in keys.tolist()], dtype=np.int64)
        at = np.searchsorted(self.points, keys)
        there = (at < len(self.points)) & (np.append(self.points, keys[:1])[at] == keys)
        return np.where(there, at, -1)

    @cached_property
    def _of_text(self) -> dict[Any, int]:
        return {key: place for place, key in enumerate(self.points.tolist())}

    @property
    def missing(self) -> int:
        """The region of the missing value; there are as many before it."""
        return 2 * len(self.points) + 1

    def at(self, keys: "Keys", some: Ints) -> Ints:
        """The region of ``some`` published values that are points, shape (len(some),); anything for
        a missing one.
        """
        if not len(keys.different):
            return np.ones(len(some), dtype=np.int64)
        all_points = len(keys.different) == len(self.points)
        places = np.arange(len(self.points)) if all_points else self._places(keys.different)
        return 2 * places[keys.which[some]] + 1

    def mask(self, *tests: Comparison, every: bool = True) -> Bools:
        """Where all of some tests are true, or one of them at least, shape (2K + 2,); looked up
        once for the same ones.

        Where a test is true are few ranges of regions, so that many tests take no table of tests
        and regions.
        """
        if (tests, every) not in self._masks:
            steps = np.zeros(self.missing + 2, dtype=np.int64)
            for test in tests:
                for first, end in self._true_in(test):
                    steps[first] += 1
                    steps[end] -= 1
            times = np.cumsum(steps[:-1])
            self._masks[tests, every] = times == len(tests) if every else times > 0
        return self._masks[tests, every]

    @cached_property
    def _masks(self) -> dict[tuple[tuple[Comparison, ...], bool], Bools]:
        return {}

    def _true_in(self, test: Comparison) -> Iterator[tuple[int, int]]:
        """The ranges of regions where a test is true, none of which meet: the first, and the one
        after the last.
        """
        last, start = self.missing, 0
        for first, end in self._ranges(test):
            if not test.negated:
                yield first, end
            elif start < first:
                yield start, first
            start = end
        if test.negated and start < last:
            yield start, last

    def _ranges(self, test: Comparison) -> Iterable[tuple[int, int]]:
        """The same of a test that is not negated, in order; the missing value is told of by no test
        but ``missing``.
        """
        if test.kind == "missing":
            return [(self.missing, self.missing + 1)]
        keys = np.array(self.line.constants(test), dtype=self.points.dtype)
        places = (2 * self._places(keys) + 1).tolist()
        if test.kind == "in":
            return [(place, place + 1) for place in sorted(set(places))]
        if test.kind == "prefix":
            return [(places[0], places[1])]
        if not places:  # beyond all numbers, on one side or the other
            return [(0, self.missing if test.values[0] > 0 else 0)]
        return [(0, places[0] + (test.kind == "upto"))]

    @cached_property
    def possible(self) -> Bools:
        """The regions in which there can be a value, shape (2K + 2,); none between neighbouring
        whole numbers, days or leaves.
        """
        is_possible = np.ones(self.missing + 1, dtype=bool)
        if not self.line.continuous:
            is_possible[2:-2:2] = self._apart > 1
        if self.line.kind == "leaf":
            is_possible[[0, -2]] = False
        return is_possible

    @property
    def _apart(self) -> npt.NDArray[np.uint64]:
        """How far each whole point is from the one before, at least 1, shape (K - 1,): without a
        sign, as it may be beyond those that have one.
        """
        places = self.points.astype(np.uint64)
        apart: npt.NDArray[np.uint64] = places[1:] - places[:-1]
        return apart

    @cached_property
    def measure(self) -> Floats:
        """How much room there is in each region for a value of which nothing is known, shape (2K +
        2,).

        Numbers with decimals are counted where all that persons have are of one step, and have room
        between points alone where they are not. Between two texts that are published there is room
        for one more, or less where intervals end and begin there, which those that the query names
        share with what it does not name; so it says nothing of what is published that the query names
        others. The ends beyond all points and the missing value have no room.
        """
        if self.line.kind == "text":
            return self.drawable + self._unpublished
        room = np.zeros(self.missing + 1)
        if self.line.kind == "number":
            if self.parts:
                room[1:-1:2] = self._above - self._below - 1
                room[2:-2:2] = self._below[1:] - self._above[:-1] + 1
                return room
            far = bool((np.abs(self.points) > _FAR_APART).any())
            room[2:-2:2] = np.diff(np.ldexp(self.points, -64) if far else self.points)
            return room
        room[1:-1:2] = 1
        if self.line.kind in ("whole", "day"):
            room[2:-2:2] = self._apart.astype(np.float64) - 1
        return room

    @cached_property
    def drawable(self) -> Floats:
        """The same without texts that are not published, which no one could spell, shape (2K + 2,)."""
        if self.line.kind != "text":
            return self.measure
        room = np.zeros(self.missing + 1)
        room[1:-1:2] = self.published
        return room

    @property
    def _unpublished(self) -> Floats:
        """The room for texts that are not published, shape (2K + 2,)."""
        room = np.zeros(self.missing + 1)
        if not self.published.any():
            room[1:-1:2] = self.named
            return room
        gap = np.cumsum(self.published)  # how many are published up to each point
        last = int(gap[-1])
        between = np.arange(1, len(self.points))
        inside = between[(gap[between - 1] >= 1) & (gap[between - 1] < last)]
        of_gap = gap[inside - 1]
        pieces = np.bincount(of_gap, minlength=last + 1)
        named = np.bincount(gap[self.named], minlength=last + 1)
        named_inside = np.flatnonzero(self.named & (gap >= 1) & (gap < last))
        one = 1 / (1 + self.cut)
        room[2 * named_inside + 1] = one[gap[named_inside] - 1] / (1 + named[gap[named_inside]])
        room[2 * inside] = one[of_gap - 1] / (1 + named[of_gap]) / pieces[of_gap]
        return room

    @cached_property
    def parts(self) -> int:
        """In how many parts of a unit numbers with decimals are counted, as all are that persons
        have; 0 where they are not, or where it is not told.
        """
        ends = self.points[self.published]
        if self.line.kind != "number" or not self.line.of_values or not len(ends):
            return 0
        if not bool((np.abs(ends) < _COUNTED / max(_PARTS)).all()):
            return 0
        return next((parts for parts in _PARTS if _are_counted(ends, parts).all()), 0)

    @cached_property
    def _above(self) -> Floats:
        """The first of the counted numbers above each point, in their steps, shape (K,)."""
        steps = self.points * self.parts
        return np.where(_are_counted(self.points, self.parts), np.round(steps) + 1, np.ceil(steps))

    @cached_property
    def _below(self) -> Floats:
        """The last one below each point, shape (K,)."""
        steps = self.points * self.parts
        return np.where(_are_counted(self.points, self.parts), np.round(steps) - 1, np.floor(steps))

    @cached_property
    def least(self) -> Floats:
        """The least number in each region, shape (2K + 2,); numbers only."""
        return self._ends(0)

    @cached_property
    def greatest(self) -> Floats:
        """The greatest number in each region, or what none exceeds, shape (2K + 2,)."""
        return self._ends(1)

    @cached_property
    def middle(self) -> Floats:
        """What a value in each region is on average if it may be anywhere in it, shape (2K +
        2,).
        """
        with np.errstate(invalid="ignore", over="ignore"):
            middle = (self.least + self.greatest) / 2
            middle = np.where(np.isinf(middle), self.least / 2 + self.greatest / 2, middle)
        return np.where(np.isfinite(middle), middle, 0)

    def value_in(self, codes: Ints, at: Floats) -> npt.NDArray[Any]:
        """A value in each of some regions of numbers or days, but the missing one's: the point, or
        by chance one in the gap; beside all points the nearest one. ``at``: above 0 and below 1,
        shape (n,); there is a point.
        """
        last = len(self.points) - 1
        before, after = (np.clip(codes // 2 - less, 0, last) for less in (1, 0))
        low, high = self.points[before], self.points[after]
        inside = (codes % 2 == 0) & (before < after)
        if self.line.kind == "number":
            # beside an infinity the other end, and of halves, as no float may hold how far apart
            # they are
            start, end = (
                np.where(np.isfinite(low), low, high),
                np.where(np.isfinite(high), high, low),
            )
            start, end = np.where(np.isfinite([start, end]).all(axis=0), [start, end], 0) / 2
            between = 2 * (start + at * (end - start))
            if self.parts:
                many = self._below[after] - self._above[before] + 1
                step = self._above[before] + np.minimum(np.floor(at * many), many - 1)
                between = np.where(many > 0, step / self.parts, between)
            return np.where(inside, between, high)
        apart = high.astype(np.uint64) - low.astype(np.uint64)
        many = np.where(inside & (apart > 1), apart - np.uint64(1), np.uint64(1))
        step = np.minimum((at * many.astype(np.float64)).astype(np.uint64), many - np.uint64(1))
        between = (low.astype(np.uint64) + np.uint64(1) + step).astype(np.int64)
        return np.where(inside & (apart > 1), between, high)

    def _ends(self, side: int) -> Floats:
        ends = np.zeros(self.missing + 1)
        beside = self.points
        if not self.line.continuous:
            most = FAR["whole"][1 - side]  # beyond it there is none
            beside = beside + np.where(beside == most, 0, 1 - 2 * side)
        ends[1:-1:2] = _rounded(self.points, side)
        if side == 0:
            ends[0], ends[2:-1:2] = -math.inf, _rounded(beside, side)
        else:
            ends[-2], ends[0:-2:2] = math.inf, _rounded(beside, side)
        return ends


def _are_counted(numbers: Floats, parts: int) -> Bools:
    """Which numbers are whole ones of so many parts of a unit, shape (K,).

    >>> _are_counted(np.array([0.1, 0.25, 3]), 10).tolist()
    [True, False, True]
    """
    return np.asarray(np.round(numbers * parts) / parts == numbers)


def _rounded(numbers: npt.NDArray[Any], side: int) -> Floats:
    """The numbers as floats: of whole ones that no float holds the next one below (above), shape
    (K,).

    >>> _rounded(np.array([2**53 + 1, 7]), 0).tolist() == [2.0**53, 7.0]
    True
    """
    floats = numbers.astype(np.float64)
    if numbers.dtype != np.int64:
        return floats
    past = floats >= 2.0**63
    back = np.where(past, 0, floats).astype(np.int64)
    wrong = (past | (back > numbers)) if side == 0 else (~past & (back < numbers))
    return np.where(wrong, np.nextafter(floats, (-math.inf, math.inf)[side]), floats)
