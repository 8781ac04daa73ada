# SPDX-License-Identifier: Apache-2.0
"""What can be believed of a release beyond what it says: where in a box the values lie, and that
facets of a group meet by chance.

Within a box attributes are taken for independent. An attribute's values lie

- ``uniform``: anywhere in the box alike;
- ``em``: as they lie in the whole release, by two rounds of expectation maximization over all boxes
  (self-consistency, Turnbull 1976) from a uniform guess.

Where an end of a box is a person's (``tight``), one row is taken to stand at each end and the
others in between; ``ends=False`` leaves that out, as the papers do.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Final, Literal

import numpy as np

from phalanx.arrays import Bools, Floats, Ints
from phalanx.errors import ReleaseError
from phalanx.estimators.attributing import Held, Shares, diagonal, learned
from phalanx.estimators.bounds import Bounds, Joined, Leaf, merged, parted, put_together, within
from phalanx.estimators.conditions import All, Comparison, Condition, Either, comparisons
from phalanx.estimators.entries import Facet
from phalanx.estimators.regions import Regions
from phalanx.estimators.sharing import Shared
from phalanx.estimators.spreading import Boxes, heaped, maximized, mean_inside, with_ends
from phalanx.estimators.view import Box, View

Spread = Literal["uniform", "em"]

_MOST_KINDS: Final = 250
"""More values are not told apart where it is learned how many rows of each are something."""
_HARDLY: Final = 1e-9
_LEAF: Final = 100
"""To look at a test takes as long as at so many entries."""


class Model:
    """Expected shares of rows, group by group."""

    def __init__(
        self,
        view: View,
        bounds: Bounds,
        spread: Spread = "em",
        *,
        ends: bool = True,
        beside: "Sequence[Bounds]" = (),
        shared: Shared | None = None,
        whole: "Model | None" = None,
    ) -> None:
        """``beside``: other releases of the series, from which the distribution of values is
        learned, too. ``shared``: what the same model worked out for other groups of a query.
        ``whole``: that of all parts, where this one is of a part.
        """
        self.view, self.bounds, self.spread, self.ends = view, bounds, spread, ends
        self.shared = Shared() if shared is None else shared
        self._beside, self._whole = list(beside), whole

    def each(self) -> "Iterator[Model]":
        """That of one part of the release after another, as ``Bounds.each``."""
        for bounds in self.bounds.each():
            yield (
                self
                if bounds is self.bounds
                else Model(
                    bounds.view,
                    bounds,
                    self.spread,
                    ends=self.ends,
                    shared=bounds.shared,
                    whole=self,
                )
            )

    def totals(self, name: str, where: Condition) -> tuple[float, float]:
        """The expected number of rows of all groups, and their expected sum of a number."""
        totals = [
            tuple(float(part.sum()) for part in model.expected(name, where))
            for model in self.each()
        ]
        rows, sums = (sum(each) for each in zip(*totals, strict=True))
        return rows, sums

    def rows(self, where: Condition) -> Floats:
        """How many rows of each group the condition is expected to be true of, shape (g,)."""
        return self.moments(None, where)[0]

    def moments(
        self, name: str | None, where: Condition, shift: float = 0.0
    ) -> tuple[Floats, Floats, Floats]:
        """Of each group the expected number of rows, their expected sum of a number less ``shift``,
        and of its squares, each of shape (g,).
        """
        rows, sums = self.expected(name, where, shift)
        if name is None:
            return rows, sums, sums
        having = self.holding(name, where)
        squares = self._group(_beside(where, having), having, name, 2, shift)[1]
        return rows, sums, self.view.real * squares

    def expected(
        self, name: str | None, where: Condition, shift: float = 0.0
    ) -> tuple[Floats, Floats]:
        """The first two of these."""
        having = None if name is None else self.holding(name, where)
        where = where if having is None else _beside(where, having)
        share, sums = self._group(where, having, name, 1, shift)
        rows = self.view.real * share
        return rows, rows if name is None else self.view.real * sums

    def is_in_one(self, where: Condition, name: str) -> bool:
        """Whether a facet holds a number and all that is asked beside it."""
        part = next(self.each())
        return within(where, part.holding(name, where))

    def holding(self, name: str, where: Condition) -> Facet:
        """The facet that holds a number, with most of the condition beside it."""
        parts = where.parts if isinstance(where, All) else (where,)
        return max(
            (f for f in self.view.believed if name in f.ends),
            key=lambda f: sum(within(part, f) for part in parts),
        )

    def _group(
        self, where: Condition, having: Facet | None, name: str | None, power: int, shift: float
    ) -> tuple[Floats, Floats]:
        """Of each group, the expected share of rows of which the condition is true, and the same
        times a power of the number, shapes (g,).
        """

        def base() -> Floats:
            if having is None:
                return np.ones(1)
            return self._mean(having, All(()), name, power, shift)

        for facet in ([having] if having is not None else []) + [
            f for f in self.view.believed if f is not having
        ]:
            if within(where, facet):
                share = self._mean(facet, where, None, 0, 0.0)
                return share, self._mean(
                    facet, where, name, power, shift
                ) if facet is having else share * base()
        if isinstance(where, Comparison):
            raise ReleaseError(
                f"this release says nothing of {where.attribute!r}; ask about another attribute."
            )
        parts, carrying = self._split(where, having)
        figures = [self._group(part, having, name, power, shift) for part in parts]
        every = isinstance(where, All)
        shares = [share if every else 1 - share for share, _ in figures]
        others = np.multiply.reduce([s for i, s in enumerate(shares) if i != carrying])
        with_value = figures[carrying][1]
        if every:
            return shares[carrying] * others, with_value * others
        all_rows = base()
        return 1 - shares[carrying] * others, all_rows - (all_rows - with_value) * others

    def _split(self, where: All | Either, having: Facet | None) -> tuple[list[Condition], int]:
        """The parts of a condition, those of one facet put together, and which of them says most of
        the number.
        """
        rest, carrying, is_there = list(where.parts), 0, False
        conditions: list[Condition] = []
        for facet in self.view.believed:
            here, rest = parted(rest, facet)
            if here:
                carrying = len(conditions) if facet is having else carrying
                is_there = is_there or facet is having
                conditions.append(type(where)(tuple(here)))
        if having is not None and not is_there:
            about = [any(t.attribute in having.ends for t in comparisons(part)) for part in rest]
            carrying = len(conditions) + about.index(True) if any(about) else carrying
        return [*conditions, *rest], carrying

    def apart(self, where: All | Either) -> "list[tuple[int, Condition]] | None":
        """A condition by the places of the facets that its parts are about, where each part is about
        one; None where not.
        """
        parts, _ = self._split(where, None)
        places = [
            next((i for i, f in enumerate(self.view.believed) if within(part, f)), None)
            for part in parts
        ]
        if None in places or len({*places}) < len(places):
            return None
        return [
            (place, part) for place, part in zip(places, parts, strict=True) if place is not None
        ]

    def chosen(self, facet: Facet, where: Condition) -> Floats:
        """The expected share of each entry's rows of which a condition is true, shape (e,)."""
        return self._entry(facet, where, None, 0, 0.0)

    def _mean(
        self, facet: Facet, where: Condition, name: str | None, power: int, shift: float
    ) -> Floats:
        """The mean over the rows of each group of what :meth:`_entry` expects, shape (g,)."""
        regions = (*self.bounds.regions_of(where), None if name is None else self._regions(name))
        key = ("mean", facet, where, name, power, shift, regions)
        return self.shared.of(key, lambda: self._mean_of(facet, where, name, power, shift))

    def _regions(self, name: str) -> Regions:
        return self.bounds.regions[name]

    def _mean_of(
        self, facet: Facet, where: Condition, name: str | None, power: int, shift: float
    ) -> Floats:
        real, groups = self._real(facet), len(self.view.rows)
        value = real * self._entry(facet, where, name, power, shift)
        sums = np.bincount(facet.group, weights=value, minlength=groups)
        if real is facet.count:
            return sums / np.maximum(self.view.total(facet), 1)
        return sums / np.maximum(np.bincount(facet.group, real, groups), _HARDLY)

    def _real(self, facet: Facet) -> "Floats | Ints":
        """How many rows of each entry are expected to be a person's, shape (e,): counterfeits have
        values of which persons are missing, as all groups together tell.
        """
        place = next(i for i, one in enumerate(self.view.believed) if one is facet)
        if not facet.fake or (shares := (self._whole or self).fake_at(place)) is None:
            return facet.count
        fake = shares.entries(self.held(place), self.view.counterfeits.astype(np.float64))
        return facet.count - np.clip(fake, 0, facet.count)

    def fake_at(self, place: int) -> Shares | None:
        """Which share of the rows with each value are counterfeits, by the place of the facet in
        each part; None where there are none, or values are not told apart.
        """
        return self.shared.of(("fake", self.view, place), lambda: (self._fake(place),))[0]

    def _fake(self, place: int) -> Shares | None:
        kinds = len(self.kinds(place))
        if not kinds or not any(part.view.counterfeits.any() for part in self.each()):
            return None
        normal = sum(part.held(place).normal(kinds) for part in self.each())
        hits = (
            (part.held(place), part.view.counterfeits.astype(np.float64)) for part in self.each()
        )
        return learned(hits, *diagonal(np.asarray(normal)), kinds)

    def kinds(self, place: int) -> Ints:
        """The regions of the sensitive attribute's values, by which a facet, by its place in each
        part, tells kinds of rows apart, ascending; none where it does not, or too many.
        """
        if self._whole is not None:
            return self._whole.kinds(place)
        name = self.view.sensitive
        key = ("kinds", self.view, place, self.bounds.regions.get(name))
        return self.shared.of(key, lambda: self._kinds(place, name))

    def _kinds(self, place: int, name: str) -> Ints:
        none: Ints = np.zeros(0, dtype=np.int64)
        kinds = none
        for part in self.each() if name in self.bounds.regions else ():
            facet = part.view.believed[place]
            if name not in facet.ends or not facet.ends[name].exact:
                return none
            kinds = np.union1d(kinds, part.values(facet, name))
            if len(kinds) > _MOST_KINDS:
                return none
        return kinds

    def values(self, facet: Facet, name: str) -> Ints:
        """The region of the value that each place of an attribute's has, shape (b,)."""
        box = self.bounds.box(facet, name)
        return np.where(box.low > box.high, self.bounds.regions[name].missing, box.low)

    def held(self, place: int) -> Held:
        """How many rows of each kind the groups of a part hold, by a facet that tells them apart."""
        facet, name = self.view.believed[place], self.view.sensitive
        kind = np.searchsorted(self.kinds(place), self.values(facet, name))
        which = self.bounds.box(facet, name).which
        rows = self.view.rows.astype(np.float64)
        return Held(facet.group, kind[which], facet.count.astype(np.float64), rows)

    def _entry(
        self, facet: Facet, condition: Condition, name: str | None, power: int, shift: float
    ) -> Floats:
        """The expected share of an entry's rows of which the condition is true; with ``name``,
        times a power of the number less ``shift``.
        """
        tree = merged(condition, self.bounds.regions)
        if name is None:
            return self._expected(facet, tree)
        regions, box = self.bounds.regions[name], self.bounds.box(facet, name)
        number = (regions.middle - shift) ** power
        number[-1] = 0
        key = ("cases", facet, condition, self.bounds.regions_of(condition), name, regions)
        result = np.zeros(len(facet.count))
        for inside, rest in self.shared.of(key, lambda: list(self._cases(facet, tree, name))):
            mass = self._share(facet, box, regions, name, np.where(inside, number, 0.0))
            result = result + (mass if rest is None else mass * rest)
        return result

    def _cases(
        self, facet: Facet, tree: Leaf | Joined, name: str
    ) -> Iterator[tuple[Bools, Floats | None]]:
        """The regions of an attribute by which tests of it are true there, and the share of an
        entry's rows of which the whole condition is then true; None for all. Without those regions
        where it is true of no row.
        """
        masks = {leaf.mask.tobytes(): leaf.mask for leaf in _of_attribute(tree, name)}
        for chosen, inside in _classes(list(masks.values()), self.bounds.regions[name].missing + 1):
            rest = _given(tree, name, dict(zip(masks, chosen, strict=True)))
            if rest is not False:
                yield inside, None if rest is True else self._expected(facet, rest)

    def _expected(self, facet: Facet, tree: Leaf | Joined) -> Floats:
        """The expected share of an entry's rows of which a condition is true, shape (e,)."""
        names = [leaf.attribute for leaf in _leaves(tree)]
        split = next((name for name in names if names.count(name) > 1), None)
        if split is None:
            return self._product(facet, tree)
        regions, box = self.bounds.regions[split], self.bounds.box(facet, split)
        result = np.zeros(len(facet.count))
        for inside, rest in self._cases(facet, tree, split):
            self.shared.spend(_LEAF * len(names) + len(facet.count))
            mass = self._share(facet, box, regions, split, inside.astype(np.float64))
            result = result + (mass if rest is None else mass * rest)
        return result

    def _product(self, facet: Facet, tree: Leaf | Joined) -> Floats:
        if isinstance(tree, Leaf):
            regions = self.bounds.regions[tree.attribute]
            key = ("share", facet, tree.attribute, regions, tree.mask.tobytes())
            return self.shared.of(key, lambda: self.of_leaf(facet, tree, regions))
        every = tree.kind is All
        if not tree.parts:
            return np.full(len(facet.count), float(every))
        shares = (self._product(facet, part) for part in tree.parts)
        result = reduce(np.multiply, (share if every else 1 - share for share in shares))
        return result if every else 1 - result

    def of_leaf(self, facet: Facet, leaf: Leaf, regions: Regions) -> Floats:
        """The expected share of an entry's rows of which all tests of one attribute are true."""
        box = self.bounds.box(facet, leaf.attribute)
        return self._share(facet, box, regions, leaf.attribute, leaf.mask.astype(np.float64))

    def _share(self, facet: Facet, box: Box, regions: Regions, name: str, value: Floats) -> Floats:
        """The expected ``value`` (one per region) of a row of each entry."""
        if facet.ends[name].exact:
            at = np.where(box.low > box.high, regions.missing, box.low)
            shares = value[at]
            free = box.low < box.high
            if free.any():
                weights = self.weights(facet, name, regions)
                shares = np.where(
                    free, float((weights * value).sum() / max(weights.sum(), 1e-300)), shares
                )
            return shares[box.which]
        inner = mean_inside(box, self.weights(facet, name, regions), value)
        if not self.ends:
            return inner[box.which]
        return with_ends(box, facet.count, value, inner)

    def weights(self, facet: Facet, name: str, regions: Regions) -> Floats:
        """How much of the table is believed to lie in each region, shape (2K + 2,)."""
        place = next(i for i, one in enumerate(self.view.believed) if one is facet)
        return (self._whole or self).weights_at(place, name, regions)

    def weights_at(self, place: int, name: str, regions: Regions) -> Floats:
        """The same by the place of the facet among those of each part that are believed."""
        key = ("weights", place, name, regions)
        return self.shared.of(key, lambda: self._weighed(place, name, regions))

    def _weighed(self, place: int, name: str, regions: Regions) -> Floats:
        boxes, exact = [], True
        for bounds in self.bounds.each():
            facet = bounds.view.believed[place]
            boxes.append(Boxes.of(bounds.box(facet, name), facet.count))
            exact &= facet.ends[name].exact
        if exact:
            return Boxes.together(boxes).points(regions)
        if self.spread == "uniform":
            return regions.measure
        for other in self._beside:
            for bounds in other.each():
                there = next((f for f in bounds.view.believed if name in f.ends), None)
                if there is not None:
                    boxes.append(Boxes.of(bounds.box(there, name), there.count))
        return maximized(Boxes.together(boxes), regions.measure, ends=self.ends)

    def alone(self, where: Condition) -> float:
        """Of how many rows a condition would be true if attributes had nothing to do with each other."""
        rows = sum(float(part.view.real.sum()) for part in self.each())
        return rows * self._alone(merged(where, self.bounds.regions))

    def _alone(self, tree: Leaf | Joined) -> float:
        if isinstance(tree, Leaf):
            return self._share_of(tree)
        shares = [self._alone(part) for part in tree.parts]
        if tree.kind is All:
            return math.prod(shares)
        return 1 - math.prod(1 - share for share in shares)

    def _share_of(self, leaf: Leaf) -> float:
        """Of which share of all rows the tests of one attribute are true."""
        regions, true, rows = self.bounds.regions[leaf.attribute], 0.0, 0
        for part in self.each():
            for facet in part.view.believed:
                if leaf.attribute in facet.ends:
                    true += float((facet.count * part.of_leaf(facet, leaf, regions)).sum())
                    rows += int(facet.count.sum())
        return true / max(rows, 1)

    def at_heap(self, where: Condition) -> bool:
        """Whether it is asked apart about a value at which most boxes of an attribute begin, of which
        they do not tell how often they hold it.
        """
        return any(self._is_heap(leaf) for leaf in _leaves(merged(where, self.bounds.regions)))

    def _is_heap(self, leaf: Leaf) -> bool:
        regions = self.bounds.regions[leaf.attribute]
        key = ("heap", self.view, leaf.attribute, regions)
        first = self.shared.of(key, lambda: self._heap(leaf.attribute, regions))
        return first is not None and bool(leaf.mask[first] != leaf.mask[first + 1])

    def _heap(self, name: str, regions: Regions) -> int | None:
        boxes = [
            Boxes.of(part.bounds.box(facet, name), facet.count)
            for part in self.each()
            for facet in part.view.believed
            if name in facet.ends and not facet.ends[name].exact
        ]
        return heaped(Boxes.together(boxes), regions.measure) if boxes else None


def can_be_estimated(
    view: View, name: str | None, point: float, hard: tuple[float, float] | None
) -> bool:
    """Whether a figure is one: a float holds it, and no infinity may be among what it adds up."""
    infinite = name is not None and hard is None and view.line(name).infinite
    return math.isfinite(point) and not infinite


def _leaves(tree: Leaf | Joined) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        yield tree
    else:
        for part in tree.parts:
            yield from _leaves(part)


def _beside(where: Condition, having: Facet) -> Condition:
    """The same condition, where what is asked of the facet that has the number stands beside a part of
    which only some is about it: within each of that part's parts.
    """
    if not isinstance(where, All):
        return where
    here = [part for part in where.parts if within(part, having)]
    mixed = [
        part
        for part in where.parts
        if isinstance(part, Either)
        and not within(part, having)
        and any(test.attribute in having.ends for test in comparisons(part))
    ]
    if not here or len(mixed) != 1:
        return where
    either = Either(tuple(All((part, *here)) for part in mixed[0].parts))
    rest = tuple(p for p in where.parts if p is not mixed[0] and not any(p is h for h in here))
    return All((*rest, either)) if rest else either


def _of_attribute(tree: Leaf | Joined, name: str) -> Iterator[Leaf]:
    return (leaf for leaf in _leaves(tree) if leaf.attribute == name)


def _classes(masks: Sequence[Bools], size: int) -> Iterator[tuple[tuple[bool, ...], Bools]]:
    """The regions by which of the masks they are in, those that are in none of the first ones
    first.
    """
    code = np.zeros(size, dtype=np.int64)
    for mask in masks:
        code = 2 * code + mask
        if code.max(initial=0) > size:
            code = (np.cumsum(np.bincount(code) > 0) - 1)[code]
    for one in np.flatnonzero(np.bincount(code)):
        inside = code == one
        at = int(inside.argmax())
        yield tuple(bool(mask[at]) for mask in masks), inside


def _given(tree: Leaf | Joined, name: str, truth: Mapping[bytes, bool]) -> Leaf | Joined | bool:
    """What is left of a condition where it is known which tests of an attribute are true, by the
    bytes of their masks: no part that is known, and tests of one attribute are one again; whether
    it is true where nothing is left.
    """
    if isinstance(tree, Leaf):
        return tree if tree.attribute != name else truth[tree.mask.tobytes()]
    decides = tree.kind is not All
    parts: list[Leaf | Joined] = []
    for part in tree.parts:
        rest = _given(part, name, truth)
        if rest is decides:
            return decides
        if isinstance(rest, Joined) and rest.kind is tree.kind:
            parts += rest.parts
        elif not isinstance(rest, bool):
            parts.append(rest)
    return put_together(tree.kind, parts) if parts else not decides
