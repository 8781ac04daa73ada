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

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

import numpy as np

from phalanx.arrays import Bools, Floats, Ints
from phalanx.errors import ReleaseError
from phalanx.estimators.bounds import Bounds, Joined, Leaf, merged, within
from phalanx.estimators.conditions import All, Comparison, Condition, Either
from phalanx.estimators.regions import Regions
from phalanx.estimators.view import Box, Facet, View

Spread = Literal["uniform", "em"]

_ROUNDS: Final = 2
"""Rounds of expectation maximization. More fit ends of boxes and not people: without a limit all of
a coarse attribute ends up at ends of boxes.
"""
_LEAST: Final = 1e-12
"""The share with which a region begins at least that has one: beside a value of 1e300 the others
would have so little that a box's rows over it are no number.
"""


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
    ) -> None:
        """``beside``: other releases of the series, from which the distribution of values is
        learned, too.
        """
        self.view, self.bounds, self.spread, self.ends = view, bounds, spread, ends
        self._weights: dict[str, Floats] = {}
        self._beside = list(beside)

    def rows(self, where: Condition) -> Floats:
        """How many rows of each group the condition is expected to be true of, shape (g,)."""
        return self.moments(None, where)[0]

    def moments(
        self, name: str | None, where: Condition, shift: float = 0.0
    ) -> tuple[Floats, Floats, Floats]:
        """Of each group the expected number of rows, their expected sum of a number less ``shift``,
        and of its squares, each of shape (g,).
        """
        having = None if name is None else self._holding(name, where)
        share, sums = self._group(where, having, name, 1, shift)
        squares = sums if name is None else self._group(where, having, name, 2, shift)[1]
        real = self.view.real
        return real * share, real * sums, real * squares

    def _holding(self, name: str, where: Condition) -> Facet:
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
        base = (
            np.ones(len(self.view.rows))
            if having is None
            else self._mean(having, All(()), name, power, shift)
        )
        for facet in ([having] if having is not None else []) + [
            f for f in self.view.believed if f is not having
        ]:
            if within(where, facet):
                share = self._mean(facet, where, None, 0, 0.0)
                return share, self._mean(
                    facet, where, name, power, shift
                ) if facet is having else share * base
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
        return 1 - shares[carrying] * others, base - (base - with_value) * others

    def _split(self, where: All | Either, having: Facet | None) -> tuple[list[Condition], int]:
        """The parts of a condition, those of one facet put together, and which of them says most of
        the number.
        """
        rest, carrying = list(where.parts), 0
        conditions: list[Condition] = []
        for facet in self.view.believed:
            here = [part for part in rest if within(part, facet)]
            rest = [part for part in rest if part not in here]
            if here:
                carrying = len(conditions) if facet is having else carrying
                conditions.append(type(where)(tuple(here)))
        return [*conditions, *rest], carrying

    def _mean(
        self, facet: Facet, where: Condition, name: str | None, power: int, shift: float
    ) -> Floats:
        """The mean over the rows of each group of what :meth:`_entry` expects, shape (g,)."""
        g = len(self.view.rows)
        total = np.bincount(facet.group, weights=facet.count, minlength=g)
        sums = np.bincount(
            facet.group,
            weights=facet.count * self._entry(facet, where, name, power, shift),
            minlength=g,
        )
        return sums / np.maximum(total, 1)

    def _entry(
        self, facet: Facet, condition: Condition, name: str | None, power: int, shift: float
    ) -> Floats:
        """The expected share of an entry's rows of which the condition is true; with ``name``,
        times a power of the number less ``shift``.
        """
        tree = merged(condition, self.bounds.regions)
        return self._expected(facet, tree, name, power, shift)

    def _expected(
        self, facet: Facet, tree: Leaf | Joined, name: str | None, power: int, shift: float
    ) -> Floats:
        names = list(_leaves(tree))
        split = name if name is not None else next((n for n in names if names.count(n) > 1), None)
        if split is None:
            return self._product(facet, tree)
        regions, box = self.bounds.regions[split], self.bounds.box(facet, split)
        number = (
            (regions.middle - shift) ** power if split == name else np.ones(regions.missing + 1)
        )
        masks = {leaf.mask.tobytes(): leaf.mask for leaf in _of_attribute(tree, split)}
        result = np.zeros(len(facet.count))
        for chosen, inside in _classes(list(masks.values()), regions.missing + 1):
            weights = np.where(inside, number, 0.0)
            if split == name:
                weights[-1] = 0
            mass = self._share(facet, box, regions, split, weights)
            truth = dict(zip(masks, chosen, strict=True))
            result = result + mass * self._expected(facet, _given(tree, split, truth), None, 0, 0.0)
        return result

    def _product(self, facet: Facet, tree: Leaf | Joined) -> Floats:
        if isinstance(tree, Leaf):
            regions = self.bounds.regions[tree.attribute]
            return self._share(
                facet,
                self.bounds.box(facet, tree.attribute),
                regions,
                tree.attribute,
                tree.mask.astype(np.float64),
            )
        result = np.ones(len(facet.count))
        for part in tree.parts:
            share = self._product(facet, part)
            result = result * (share if tree.kind is All else 1 - share)
        return result if tree.kind is All else 1 - result

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
        inner = _inside(box, self.weights(facet, name, regions), value)
        if not self.ends:
            return inner[box.which]
        return with_ends(box, facet.count, value, inner)

    def weights(self, facet: Facet, name: str, regions: Regions) -> Floats:
        """How much of the table is believed to lie in each region, shape (2K + 2,)."""
        if name not in self._weights:
            box = self.bounds.box(facet, name)
            if facet.ends[name].exact:
                at = np.where(box.low > box.high, regions.missing, box.low)
                is_point = box.low >= box.high
                rows = box.sums(facet.count)
                self._weights[name] = np.bincount(
                    at[is_point], weights=rows[is_point], minlength=regions.missing + 1
                ).astype(np.float64)
            elif self.spread == "uniform":
                self._weights[name] = regions.measure
            else:
                boxes, counts = [box], [facet.count]
                for other in self._beside:
                    there = next((f for f in other.view.believed if name in f.ends), None)
                    if there is not None:
                        boxes.append(other.box(there, name))
                        counts.append(there.count)
                self._weights[name] = maximized(
                    Box.of_all(boxes), np.concatenate(counts), regions.measure, ends=self.ends
                )
        return self._weights[name]


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


def _inside(box: Box, weights: Floats, value: Floats) -> Floats:
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


def maximized(box: Box, count: Ints | Floats, measure: Floats, *, ends: bool) -> Floats:
    """The distribution over regions under which the boxes are most likely, from a uniform one, by
    expectation maximization; shape (2K + 2,). ``count``: the rows of each entry, shape (e,).

    Each round costs one pass over boxes and one over regions: a box takes the mass between its ends
    from running sums, and gives its rows by differences.
    """
    size = len(measure) - 1
    point = box.low == box.high
    share = np.maximum(measure, 0).copy()
    # a point that is some box's only value has room for it
    share[box.low[point & ~box.missing]] = np.maximum(share[box.low[point & ~box.missing]], 1e-9)
    share[-1] = 1.0 if box.missing.any() else 0.0
    share /= max(share.sum(), 1e-300)
    share = np.where(share > 0, np.maximum(share, _LEAST), 0)
    fixed = np.zeros(size + 1)
    rest = box.sums(count)
    if ends and box.tight.any():
        two = box.sums(box.tight[box.which] & (count >= 2))
        for end in (np.where(box.missing, size, np.clip(box.low, 0, size)), box.high):
            fixed += np.bincount(np.clip(end, 0, size), weights=two, minlength=size + 1)
        rest = rest - 2 * two
    low, high, some = np.clip(box.low, 0, size), np.clip(box.high + 1, 0, size), box.low <= box.high
    for _ in range(_ROUNDS):
        upto = np.concatenate([[0.0], np.cumsum(share[:-1])])
        mass = np.where(some, upto[high] - upto[low], 0) + box.missing * share[-1]
        per = np.where(mass > 0, rest / np.where(mass > 0, mass, 1), 0)
        steps = np.bincount(low[some], weights=per[some], minlength=size + 1) - np.bincount(
            high[some], weights=per[some], minlength=size + 1
        )
        factor = np.concatenate([np.cumsum(steps)[:size], [float((per * box.missing).sum())]])
        new = fixed + share * factor
        new /= max(new.sum(), 1e-300)
        share = new
    return share


def _leaves(tree: Leaf | Joined) -> Iterator[str]:
    if isinstance(tree, Leaf):
        yield tree.attribute
    else:
        for part in tree.parts:
            yield from _leaves(part)


def _of_attribute(tree: Leaf | Joined, name: str) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        if tree.attribute == name:
            yield tree
    else:
        for part in tree.parts:
            yield from _of_attribute(part, name)


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


def _given(tree: Leaf | Joined, name: str, truth: Mapping[bytes, bool]) -> Leaf | Joined:
    """The condition where it is known which tests of an attribute are true, by the bytes of their
    masks.
    """
    if isinstance(tree, Leaf):
        if tree.attribute != name:
            return tree
        return Joined(All, ()) if truth[tree.mask.tobytes()] else Joined(Either, ())
    return Joined(tree.kind, [_given(part, name, truth) for part in tree.parts])
