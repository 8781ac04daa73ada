# SPDX-License-Identifier: Apache-2.0
"""Hard bounds: what holds of the table by construction of the release, whatever anybody believes.

In every entry of a facet a test is true of all rows, of none, or of some; in every group the parts
of a condition are put together by Fréchet's bounds (of n rows, of which a have one property and b
the other, at least a + b - n and at most min(a, b) have both). Counterfeits may be any of the rows
among which they stand. No step takes anything for independent, or evenly spread.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Final

import numpy as np

from phalanx.arrays import Bools, Floats, Ints
from phalanx.errors import ReleaseError
from phalanx.estimators.conditions import All, Comparison, Condition, Either, comparisons
from phalanx.estimators.entries import Facet
from phalanx.estimators.regions import Regions
from phalanx.estimators.sharing import Shared
from phalanx.estimators.sums import Numbers, Sums, slack
from phalanx.estimators.view import Box, View

Between = tuple[Ints, Ints]
"""At least, and at most, so many rows."""

_HALVINGS: Final = 60


class Bounds:
    """Bounds of one query on one release; ``regions`` are those of every attribute that it
    names, ``shared`` what other groups of the query worked out.
    """

    def __init__(
        self, view: View, regions: Mapping[str, Regions], shared: Shared | None = None
    ) -> None:
        self.view, self.regions = view, regions
        self.shared = Shared() if shared is None else shared
        self._prepared: dict[tuple[str, Condition], Numbers] = {}
        self._sums: dict[tuple[str, Condition], Sums] = {}

    def each(self) -> "Iterator[Bounds]":
        """Those of one part of the release after another, of which each is forgotten before the
        next one, as what is asked group by group is larger than a release; these where it is not
        in parts.
        """
        for view in self.view.each():
            yield self if view is self.view else type(self)(view, self.regions, self.shared.apart())

    def box(self, facet: Facet, name: str) -> Box:
        """A facet's entries on one attribute."""
        regions = self.regions[name]
        return self.shared.of(
            (facet, name, regions), lambda: Box.of(self.view, facet, name, regions)
        )

    def regions_of(self, condition: Condition) -> tuple[Regions, ...]:
        """The regions of each test in a condition, which with it say what it is true of."""
        return tuple(self.regions[test.attribute] for test in comparisons(condition))

    def rows(self, condition: Condition) -> Between:
        """Of each group, how many rows that are a person's the condition is true of, shapes
        (g,).
        """
        return self.shared.of(
            (self.view, condition, self.regions_of(condition)), lambda: self._rows(condition)
        )

    def _rows(self, condition: Condition) -> Between:
        real = self.view.real
        for facet in self.view.facets:
            if within(condition, facet):
                at_least, at_most = self.entries(facet, condition)
                low = high = self._by_group(facet, at_least)
                if at_most is not at_least:
                    high = self._by_group(facet, at_most)
                if facet.fake:
                    low = np.maximum(0, low - self.view.counterfeits)
                return low, np.minimum(high, real)
        if isinstance(condition, Comparison):
            raise ReleaseError(
                f"this release says nothing of {condition.attribute!r}; ask about another"
                " attribute."
            )
        return _together(condition, [self.rows(part) for part in self._parts(condition)], real)

    def _parts(self, condition: All | Either) -> Sequence[Condition]:
        """The parts of a condition that no facet answers whole, those of one facet put together."""
        rest, parts = list(condition.parts), []
        for facet in self.view.facets:
            here, rest = parted(rest, facet)
            if here:
                parts.append(type(condition)(tuple(here)) if len(here) > 1 else here[0])
        return [*parts, *rest]

    def _by_group(self, facet: Facet, of_entries: Ints) -> Ints:
        by_group = np.zeros(len(self.view.rows), dtype=np.int64)
        np.add.at(by_group, facet.group, of_entries)
        return by_group

    def entries(self, facet: Facet, condition: Condition) -> Between:
        """Of each entry, how many of its rows the condition is true of, shapes (e,)."""
        by_attribute = merged(condition, self.regions)
        if isinstance(by_attribute, Leaf):
            return self._of_box(facet, by_attribute)
        parts = [self.entries_of(facet, part) for part in by_attribute.parts]
        return _together(by_attribute, parts, facet.count)

    def entries_of(self, facet: Facet, part: "Leaf | Joined") -> Between:
        """The same of a condition whose tests of one attribute have been put together."""
        if isinstance(part, Leaf):
            return self._of_box(facet, part)
        return _together(part, [self.entries_of(facet, p) for p in part.parts], facet.count)

    def _of_box(self, facet: Facet, leaf: "Leaf") -> Between:
        key = (facet, leaf.attribute, self.regions[leaf.attribute], leaf.mask.tobytes())
        return self.shared.of(key, lambda: self._of_leaf(facet, leaf))

    def _of_leaf(self, facet: Facet, leaf: "Leaf") -> Between:
        box, n = self.box(facet, leaf.attribute), facet.count
        possible = self.regions[leaf.attribute].possible
        inside, outside = (_held(box, possible & mask) for mask in (leaf.mask, ~leaf.mask))
        low = n * (outside == 0)[box.which]  # a product takes a third of what a choice does
        if ((inside == 0) != (outside == 0)).all():  # as of values that stand as they are
            return low, low
        high = n * (inside > 0)[box.which]
        partly = (inside > 0) & (outside > 0) & box.tight
        if not partly.any():
            return low, high
        first = np.where(
            box.missing, leaf.mask[-1], leaf.mask[np.clip(box.low, 0, len(leaf.mask) - 1)]
        )
        true = first.astype(np.int64) + leaf.mask[np.clip(box.high, 0, len(leaf.mask) - 1)]
        partly, true = partly[box.which], true[box.which]
        return np.where(partly, np.minimum(true, n), low), np.where(
            partly, np.maximum(n - (2 - true), np.minimum(true, n)), high
        )

    def sums(self, name: str, where: Condition, shift: float = 0.0) -> tuple[float, float]:
        """The least and the greatest sum of a number, less ``shift``, over all rows that the
        condition is true of.
        """
        return self.least(name, where, shift), self.greatest(name, where, shift)

    def width(self, name: str, where: Condition, shift: float) -> float:
        """How far :meth:`sums` would be apart if no row had to stand at an end of its box, which is
        what the error of intervals was measured as a share of.
        """
        numbers, more = self._of_all(name, where), self._slack(name, where, shift)
        return 2 * more - numbers.up_anywhere.least(-shift) - numbers.down_anywhere.least(shift)

    def open_sums(self, name: str, where: Condition) -> Bools:
        """In which groups it is open which of the numbers are of rows that the condition is true of,
        be it settled how many; shape (g,).
        """
        low, high = self.rows(where)
        numbers = self.numbers(name, where)
        there = np.zeros_like(low)
        np.add.at(there, numbers.group, numbers.copies)
        open_groups: Bools = (low < high) | (there > low)
        return open_groups

    def least(self, name: str, where: Condition, shift: float) -> float:
        """The least of :meth:`sums`."""
        return self._of_all(name, where).up.least(-shift) - self._slack(name, where, shift)

    def greatest(self, name: str, where: Condition, shift: float) -> float:
        """The greatest of :meth:`sums`."""
        return self._slack(name, where, shift) - self._of_all(name, where).down.least(shift)

    def _slack(self, name: str, where: Condition, shift: float) -> float:
        exact = self.regions[name].line.kind == "whole" and shift == 0
        return slack(self._of_all(name, where), shift, exact=exact)

    def _of_all(self, name: str, where: Condition) -> Numbers | Sums:
        """The numbers of all parts."""
        if not self.view.parts:
            return self.numbers(name, where)
        if (name, where) not in self._sums:
            self._sums[name, where] = Sums.of(bounds.numbers(name, where) for bounds in self.each())
        return self._sums[name, where]

    def numbers(self, name: str, where: Condition) -> Numbers:
        """The numbers that can be among those of the rows that the condition is true of."""
        if (name, where) not in self._prepared:
            low, high = self.rows(where)
            facet = self._facet_of(name, where)
            inner = [part for part in _top(where) if within(part, facet)]
            copies = self.entries(facet, All(tuple(inner)))[1]
            allowed = self._allowed(name, inner)
            least, greatest = self._ends(facet, name, allowed)
            first, last = self._at_ends(facet, name, allowed, copies)
            there = (copies > 0) & (high[facet.group] > 0)
            self._prepared[name, where] = Numbers(
                group=facet.group[there],
                least=least[there],
                greatest=greatest[there],
                first=first[there],
                last=last[there],
                copies=copies[there],
                low=low,
                high=high,
                ends_in=self._is_about(name, where),
                surely=bool(low.any()),
            )
        return self._prepared[name, where]

    def _at_ends(
        self, facet: Facet, name: str, allowed: Bools, copies: Ints
    ) -> tuple[Floats, Floats]:
        """The greatest number at the low end of each entry and the least one at its high end, where
        a row must stand there if so many copies are in, shapes (e,); NaN where none must.
        """
        box, regions = self.box(facet, name), self.regions[name]
        if not box.tight.any():
            none = np.full(len(facet.count), np.nan)
            return none, none
        low, high = (np.clip(end, 0, len(allowed) - 1) for end in (box.low, box.high))
        first = np.where(allowed[low] & ~box.missing, regions.greatest[low], np.nan)
        last = np.where(allowed[high], regions.least[high], np.nan)
        most = self._of_leaf(facet, Leaf(name, allowed))[1]
        all_in = box.tight[box.which] & (facet.count > 1) & (copies >= most)
        return (
            np.where(all_in, first[box.which], np.nan),
            np.where(all_in, last[box.which], np.nan),
        )

    def _is_about(self, name: str, where: Condition) -> bool:
        """Whether the number alone decides of which rows the condition is true."""
        tree = merged(where, self.regions)
        return isinstance(tree, Leaf) and tree.attribute == name

    def _facet_of(self, name: str, where: Condition) -> Facet:
        """The facet that holds a number, with most of the condition beside it."""
        having = [f for f in self.view.facets if name in f.ends]
        return max(having, key=lambda f: sum(within(part, f) for part in _top(where)))

    def _allowed(self, name: str, parts: Sequence[Condition]) -> Bools:
        """The regions of a number that the condition leaves."""
        allowed = self.regions[name].possible.copy()
        for part in parts:
            leaf = merged(part, self.regions)
            if isinstance(leaf, Leaf) and leaf.attribute == name:
                allowed &= leaf.mask
        allowed[-1] = False
        return allowed

    def _ends(self, facet: Facet, name: str, allowed: Bools) -> tuple[Floats, Floats]:
        """The least and the greatest number of each entry within what is allowed; anything where
        there is none.
        """
        key = ("ends", facet, name, self.regions[name], allowed.tobytes())
        return self.shared.of(key, lambda: self._ends_of(facet, name, allowed))

    def _ends_of(self, facet: Facet, name: str, allowed: Bools) -> tuple[Floats, Floats]:
        box, regions = self.box(facet, name), self.regions[name]
        size = len(allowed)
        places = np.arange(size)
        following = np.minimum.accumulate(np.where(allowed, places, size)[::-1])[::-1]
        before = np.maximum.accumulate(np.where(allowed, places, -1))
        first, last = (
            following[np.clip(box.low, 0, size - 1)],
            before[np.clip(box.high, 0, size - 1)],
        )
        none = (first > last) | (box.low > box.high)
        first, last = np.where(none, 0, first), np.where(none, 0, last)
        least = np.where(none, 0.0, regions.least[first])
        greatest = np.where(none, 0.0, regions.greatest[last])
        return least[box.which], greatest[box.which]

    def means(self, name: str, where: Condition) -> tuple[float, float] | None:
        """The least and the greatest mean of a number over the rows that the condition is true of,
        if there is one; None where there can be none.
        """
        numbers = self._of_all(name, where)
        if not numbers.rows:
            return None
        ends = numbers.ends
        if not numbers.surely or not all(map(math.isfinite, ends)):
            return ends
        # a mean is above t in every table that is possible, if the numbers less t cannot add up to
        # 0 or less
        above = _last(lambda t: self.least(name, where, t) > 0, ends[0], ends[1])
        below = -_last(lambda t: self.greatest(name, where, -t) < 0, -ends[1], -ends[0])
        return above, below


class Leaf:
    """All tests of one attribute that stand together, as the regions where they are true."""

    def __init__(self, attribute: str, mask: Bools) -> None:
        self.attribute, self.mask = attribute, mask


class Joined:
    """Conditions of which all, or some, are to be true; those of one attribute are one leaf."""

    def __init__(self, kind: type[All | Either], parts: "Sequence[Leaf | Joined]") -> None:
        self.kind, self.parts = kind, parts


def merged(condition: Condition, regions: Mapping[str, Regions]) -> Leaf | Joined:
    """The condition with tests of one attribute that stand together made one."""
    if isinstance(condition, Comparison):
        return Leaf(condition.attribute, regions[condition.attribute].mask(condition))
    tests: dict[str, list[Comparison]] = {}
    parts: list[Leaf | Joined] = []
    for part in condition.parts:
        if isinstance(part, Comparison):
            tests.setdefault(part.attribute, []).append(part)
        else:
            parts.append(merged(part, regions))
    every = isinstance(condition, All)
    leaves = [Leaf(name, regions[name].mask(*some, every=every)) for name, some in tests.items()]
    return put_together(type(condition), [*leaves, *parts])


def put_together(kind: type[All | Either], parts: Sequence[Leaf | Joined]) -> Leaf | Joined:
    """One condition of some, of which all, or one at least, are to be true: the leaves of each
    attribute are one, and stand first.
    """
    masks: dict[str, list[Bools]] = {}
    for part in parts:
        if isinstance(part, Leaf):
            masks.setdefault(part.attribute, []).append(part.mask)
    join = np.logical_and if kind is All else np.logical_or
    leaves = [
        Leaf(name, some[0] if len(some) == 1 else join.reduce(some)) for name, some in masks.items()
    ]
    one: list[Leaf | Joined] = [*leaves, *(part for part in parts if isinstance(part, Joined))]
    return one[0] if len(one) == 1 else Joined(kind, one)


def parted(
    conditions: Sequence[Condition], facet: Facet
) -> tuple[list[Condition], list[Condition]]:
    """The conditions of whose attributes a facet says something, and the others."""
    sides: tuple[list[Condition], list[Condition]] = ([], [])
    for one in conditions:
        sides[not within(one, facet)].append(one)
    return sides


def within(condition: Condition, facet: Facet) -> bool:
    """Whether a facet says something of every attribute of a condition."""
    return all(test.attribute in facet.ends for test in comparisons(condition))


def _top(condition: Condition) -> Sequence[Condition]:
    """The conditions that must all be true."""
    return condition.parts if isinstance(condition, All) else (condition,)


def _held(box: Box, mask: Bools) -> Ints:
    """How many regions of a mask every box holds, shape (b,)."""
    upto = np.concatenate([[0], np.cumsum(mask[:-1])])
    inside = (
        upto[np.clip(box.high + 1, 0, len(upto) - 1)] - upto[np.clip(box.low, 0, len(upto) - 1)]
    )
    rows_inside: Ints = np.where(box.low > box.high, 0, inside) + (box.missing & mask[-1])
    return rows_inside


def _together(condition: "All | Either | Joined", parts: Sequence[Between], n: Ints) -> Between:
    """Fréchet's bounds of n rows each."""
    every = condition.kind is All if isinstance(condition, Joined) else isinstance(condition, All)
    if not parts:
        return (n, n) if every else (np.zeros_like(n), np.zeros_like(n))
    lows, highs = [p[0] for p in parts], [p[1] for p in parts]
    if every:
        lacking = reduce(np.add, lows) - (len(parts) - 1) * n
        return np.maximum(0, lacking, out=lacking), reduce(np.minimum, highs)
    return reduce(np.maximum, lows), np.minimum(n, reduce(np.add, highs))


def _last(holds: Callable[[float], bool], low: float, high: float) -> float:
    """A number at which it holds, as near to the last one as halving comes; ``low`` where it holds
    nowhere above.
    """
    if holds(high):
        return high
    last = low
    for _ in range(_HALVINGS):
        middle = (last + high) / 2
        if not last < middle < high:
            break
        if holds(middle):
            last = middle
        else:
            high = middle
    return last
