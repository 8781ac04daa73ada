# SPDX-License-Identifier: Apache-2.0
"""What a release of any form shows, in one shape: groups of rows, and facets that say, each by
itself, what the rows of a group hold.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from phalanx.arrays import (
    Bools,
    Floats,
    Integers,
    Ints,
    different,
    firsts,
)
from phalanx.errors import ReleaseError, did_you_mean
from phalanx.estimators.conditions import Condition, comparisons
from phalanx.estimators.entries import Facet, small, wide
from phalanx.estimators.lines import Keys, Known, Line
from phalanx.estimators.regions import Regions
from phalanx.release.manifest import PublishedAttribute


def _nothing_yet() -> dict[str, Any]:
    """What was looked at of a view whose facets are new ones."""
    return {"_lines": {}, "_keys": {}, "_different": {}, "_totals": {}, "_known": {}}


@dataclass(frozen=True, eq=False)
class Weights:
    """Survey weights: their column, and of each group the mean of its rows' as published, shape
    (g,).
    """

    name: str
    means: Floats


@dataclass(frozen=True, eq=False)
class View:
    """All that a release says of rows, whatever its form."""

    form: str
    attributes: tuple[PublishedAttribute, ...]
    rows: Ints
    """The published rows of each group, counterfeits among them, shape (g,)."""
    counterfeits: Ints
    """How many of these are counterfeits, shape (g,)."""
    facets: tuple[Facet, ...]
    model: str = "as the package that its form is from reads it"
    """What a point estimate takes for true beyond what is published, in few words."""
    shown: tuple[Facet, ...] = ()
    """What a point estimate goes by, where that is not what the bounds go by."""
    unpublished: int | None = 0
    """How many rows of the table are not published; None where it is not told."""
    why_unpublished: str = ""
    share: float = 1.0
    """The share of the table's rows that can be expected to be published."""
    dealt: bool = False
    """Whether rows came into groups without regard to their quasi-identifiers."""
    weights: Weights | None = None
    """How many persons of a population rows stand for; None where that is not published."""
    parts: tuple["View", ...] = ()
    """What is shown part by part, :meth:`packed`, where it is not held whole: then groups and
    facets are theirs alone, and :meth:`each` gives what can be asked.
    """
    _lines: dict[str, Line] = field(default_factory=dict)
    _keys: dict[int, Keys] = field(default_factory=dict)
    _different: dict[tuple[int, str], tuple[Ints, Integers]] = field(default_factory=dict)
    _totals: dict[int, Ints] = field(default_factory=dict)
    _known: dict[str, Known] = field(default_factory=dict)

    @classmethod
    def apart(cls, parts: Sequence["View"]) -> "View":
        """What the parts of one release show, each :meth:`packed`, of which each stays by itself."""
        none: Ints = np.zeros(0, dtype=np.int64)
        return replace(
            parts[0],
            **_nothing_yet(),
            rows=none,
            counterfeits=none,
            facets=(),
            shown=(),
            parts=tuple(parts),
        )

    def alike(self) -> bool:
        """Whether all parts say something of the same attributes, in values of the same types."""
        return len({str(part.types()) for part in self.parts}) == 1

    def types(self) -> list[list[tuple[Any, ...]]]:
        """The attributes of each facet, and the types of their ends."""
        return [
            [(name, ends.low.dtype, ends.high.dtype) for name, ends in facet.ends.items()]
            for facet in (*self.facets, *self.shown)
        ]

    def whole(self) -> "View":
        """What all parts show together; their groups are all different ones."""
        parts = self.parts
        before = np.cumsum([0, *(len(part.rows) for part in parts)])[:-1]
        facets, shown = (
            tuple(Facet.together(each, before) for each in zip(*of_parts, strict=True))
            for of_parts in ([part.facets for part in parts], [part.shown for part in parts])
        )
        weights = [part.weights for part in parts if part.weights is not None]
        return replace(
            self,
            **_nothing_yet(),
            rows=wide(np.concatenate([part.rows for part in parts])),
            counterfeits=wide(np.concatenate([part.counterfeits for part in parts])),
            facets=facets,
            shown=shown,
            weights=(
                replace(weights[0], means=np.concatenate([each.means for each in weights]))
                if weights
                else None
            ),
            parts=(),
        )

    def each(self) -> "Iterator[View]":
        """What each part shows, one after the other, so that it can be asked, in the regions of
        all; all of it where it is not in parts.
        """
        if not self.parts:
            yield self
        for part in self.parts:
            yield replace(part.unpacked(), _lines=self._lines)

    def taken(self, chosen: Sequence[tuple[Ints, Sequence[Ints]]]) -> "View":
        """What is believed of some groups, as a whole; ``chosen``: of each part which, ascending,
        and their entries of each facet that is believed.
        """
        parts = [
            part.of_groups(*some) for part, some in zip(self.parts or (self,), chosen, strict=True)
        ]
        return replace(View.apart(parts).whole(), _lines=self._lines)

    def of_groups(self, groups: Ints, entries: Sequence[Ints]) -> "View":
        """The same of one part."""
        place = np.zeros(len(self.rows), dtype=np.int64)
        place[groups] = np.arange(len(groups))
        return replace(
            self,
            **_nothing_yet(),
            rows=self.rows[groups],
            counterfeits=self.counterfeits[groups],
            facets=tuple(
                facet.taken(place, some) for facet, some in zip(self.believed, entries, strict=True)
            ),
            shown=(),
            weights=self.weights and replace(self.weights, means=self.weights.means[groups]),
        )

    @property
    def sensitive(self) -> str:
        """The sensitive attribute; empty where there is none."""
        return next((a.name for a in self.attributes if a.role == "sensitive"), "")

    def facets_with(self, name: str) -> "Iterator[Facet]":
        """All facets of all parts that say something of an attribute."""
        for part in self.parts or (self,):
            yield from (f for f in (*part.facets, *part.shown) if name in f.ends)

    def packed(self) -> "View":
        """The same in little room, to be part of a view and not to be asked."""
        return replace(
            self._with(Facet.packed), rows=small(self.rows), counterfeits=small(self.counterfeits)
        )

    def unpacked(self) -> "View":
        """The same in numbers that can be asked."""
        return replace(
            self._with(Facet.unpacked), rows=wide(self.rows), counterfeits=wide(self.counterfeits)
        )

    def _with(self, made: Callable[[Facet], Facet]) -> "View":
        facets, shown = (tuple(map(made, each)) for each in (self.facets, self.shown))
        return replace(self, facets=facets, shown=shown, **_nothing_yet())

    def places(self, names: Iterable[str]) -> int:
        """How many ends the entries of some attributes have, which are at least as many as there are
        different ones.
        """
        return sum(len(f.ends[name].low) for name in names for f in self.facets_with(name))

    def points(self, names: Iterable[str]) -> int:
        """How many points of some attributes these are at most: an interval has two."""
        return sum(
            len(f.ends[name].low) * (1 if f.ends[name].exact else 2)
            for name in names
            for f in self.facets_with(name)
        )

    @property
    def size(self) -> int:
        """About so many bytes it takes."""
        groups = self.rows.nbytes + self.counterfeits.nbytes
        return groups + sum(facet.size for facet in (*self.facets, *self.shown))

    @property
    def size_together(self) -> int:
        """About so many bytes it takes among others."""
        facets = (*self.facets, *self.shown)
        return 16 * len(self.rows) + sum(facet.size_together for facet in facets)

    @property
    def persons(self) -> int:
        """How many rows are a person's, in all groups."""
        return sum(
            int(part.rows.sum()) - int(part.counterfeits.sum()) for part in self.parts or (self,)
        )

    @property
    def entries(self) -> int:
        """How many entries the largest of its facets has."""
        return max((len(facet.group) for facet in (*self.facets, *self.shown)), default=0)

    @cached_property
    def real(self) -> Ints:
        """The rows of each group that are a person's, shape (g,)."""
        return self.rows - self.counterfeits

    @property
    def believed(self) -> tuple[Facet, ...]:
        """The facets that point estimates go by."""
        return self.shown or self.facets

    def attribute(self, name: str) -> PublishedAttribute:
        """The published attribute of this name; ReleaseError where there is none, or it holds
        sets.
        """
        if self.weights is not None and name == self.weights.name:
            raise ReleaseError(
                f"{name!r} is the survey weight, by which answers are weighted; ask for count(*),"
                " which adds weights up."
            )
        names = [a.name for a in self.attributes]
        if name not in names:
            raise ReleaseError(
                "this release has no attribute"
                f" {name!r}{did_you_mean(name, names) or '; it has ' + ', '.join(names) + '.'}"
            )
        attribute = self.attributes[names.index(name)]
        if attribute.type == "set":
            raise ReleaseError(
                f"{name!r} holds sets of values, and a query asks about one value; leave it out."
            )
        return attribute

    def line(self, name: str) -> Line:
        """How an attribute's values are ordered."""
        if name not in self._lines:
            cells = any(facet.ends[name].half_open for facet in self.facets_with(name))
            self._lines[name] = Line(self.attribute(name), list(self.ends(name)), cells=cells)
        return self._lines[name]

    def ends(self, name: str) -> Sequence[pl.Series]:
        """All published ends of an attribute."""
        return [
            end
            for f in self.facets_with(name)
            for end in (f.ends[name].low, *(() if f.ends[name].exact else (f.ends[name].high,)))
        ]

    def keys(self, name: str, ends: pl.Series) -> Keys:
        """Published ends as keys, looked at once; those of parts each time, as there may be one for
        each row.
        """
        if self.parts:
            return Keys.of(self.line(name), ends)
        if (
            id(ends) not in self._keys
        ):  # the view holds them, so that none gets the place of another one
            self._keys[id(ends)] = Keys.of(self.line(name), ends)
        return self._keys[id(ends)]

    def total(self, facet: Facet) -> Ints:
        """How many rows a facet has of each group, shape (g,); looked at once."""
        if id(facet) not in self._totals:
            total = np.zeros(len(self.rows), dtype=np.int64)
            np.add.at(total, facet.group, facet.count)
            self._totals[id(facet)] = total
        return self._totals[id(facet)]

    def different(self, facet: Facet, name: str) -> tuple[Ints, Integers]:
        """One of the entries of a facet that say the same of an attribute, shape (b,), and which of
        these b each entry says, shape (e,); looked at once. Where none is tight, one of the places
        of its ends in the stead of an entry.
        """
        at = id(facet), name
        if at not in self._different:
            ends = facet.ends[name]
            number = np.zeros(len(ends.low), dtype=np.int64)
            for keys in (self.keys(name, end) for end in (ends.low, ends.high)):
                number = number * max(1, len(keys.different)) + keys.which
            for mark in (ends.nothing, ends.missing, *ends.unbounded):
                number = 2 * number + mark
            places = ends.which
            if facet.tight is not None:
                every = number if places is None else different(number)[1][places]
                number, places = 2 * every + facet.tight, None
            numbers, which = different(number)
            small = which.astype(np.min_scalar_type(len(numbers)))
            one = firsts(which)
            self._different[at] = one, small if places is None else small[places]
        return self._different[at]

    def regions(self, name: str, asked: Condition, beside: "Sequence[View]" = ()) -> Regions:
        """The regions of an attribute for a query, which the ends of other releases cut, too."""
        tests = [t for t in comparisons(asked) if t.attribute == name]
        if name in self._known and not beside:
            return Regions.of(self.line(name), self._known[name], tests)
        line, ends = self.line(name), list[tuple[Keys, ...]]()
        for view in (self, *beside):
            for of_facet in (facet.ends[name] for facet in view.facets_with(name)):
                sides = (of_facet.low,) if of_facet.exact else (of_facet.low, of_facet.high)
                keys = tuple(view.keys(name, end) for end in sides)
                if line.kind == "text" and not of_facet.exact:
                    keys = tuple(each.of_entries(of_facet.which) for each in keys)
                ends.append(keys)
        known = Known.of(line, ends)
        if not self.parts and not beside:
            self._known[name] = known
        return Regions.of(line, known, tests)


@dataclass(frozen=True, eq=False)
class Box:
    """The regions of every entry of a facet on one attribute: those of the b different boxes that
    there are, and which of them each of the e entries is.
    """

    low: Ints
    """The first region, shape (b,); above the last where it holds the missing value alone."""
    high: Ints
    missing: Bools
    tight: Bools
    """Whether one row holds the first region and another one the last, shape (b,); the first is the
    missing value's where the entry holds it.
    """
    which: Integers
    """Shape (e,)."""

    @classmethod
    def of(cls, view: View, facet: Facet, name: str, regions: Regions) -> "Box":
        """The entries' ends as regions."""
        ends = facet.ends[name]
        one, which = view.different(facet, name)
        at = one
        if ends.which is not None and facet.tight is not None:
            at = ends.which[one].astype(np.int64)
        nothing, missing = ends.nothing[at], ends.missing[at]
        low, high = (regions.at(view.keys(name, end), at) for end in (ends.low, ends.high))
        low = np.where(ends.unbounded[0][at], 0, low)
        high = np.where(ends.unbounded[1][at], regions.missing - 1, high - ends.half_open)
        low, high = np.where(nothing, 1, low), np.where(nothing, 0, high)
        tight = np.zeros(len(low), dtype=bool) if facet.tight is None else facet.tight[one]
        return cls(low, high, missing, tight & ~nothing & ((low != high) | missing), which)

    def sums(self, of_entries: Ints | Floats | Bools) -> Floats:
        """What the entries of each box have together, shape (b,)."""
        sums = np.bincount(self.which, of_entries, len(self.low))
        return np.asarray(sums, dtype=np.float64)
