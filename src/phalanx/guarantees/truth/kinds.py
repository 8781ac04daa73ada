# SPDX-License-Identifier: Apache-2.0
"""Kinds of persons, who are equal in all quasi-identifiers and in their value, and the groups that
each kind may be in.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from phalanx.arrays import Bools, Integers, Ints, firsts, places_in, row_numbers
from phalanx.guarantees.views.box_search import pairs_inside

_FEW: Final = 64
"""Where persons lie in the boxes of no more groups than this, on average, groups are looked for by
boxes alone, and their values looked at afterwards.
"""
_ASKED: Final = 32
"""So many points, or a few more, tell how many groups that is."""
_AT_ONCE: Final = 1 << 20
"""So many pairs are looked at at once."""


class Shown(NamedTuple):
    """What g groups show: their boxes, and their values."""

    low: Ints
    """The first code of each box, shape (g, d)."""
    high: Ints
    """The last one."""
    group: Ints
    """The cells of ``Groups``, by group and value: the place of the group, shape (c,)."""
    value: Ints
    """The place of the value, shape (c,)."""
    of_anybody: Bools
    """Which groups may be those of any person in their box, whatever the value, shape (g,)."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """The different kinds of the persons of n rows, u of them, in their order."""

    points: Ints
    """Their different quasi-identifiers as codes, in their order, shape (p, d)."""
    point: Ints
    """That of each kind, shape (u,)."""
    value: Ints
    """The value of each kind, as its place among those of the release; for one that the release does
    not show, their number; shape (u,).
    """
    persons: Ints
    """How many persons are of each kind, shape (u,)."""
    example: Ints
    """The first row of each kind, shape (u,)."""
    of_row: Ints
    """The kind of each row, shape (n,)."""

    @classmethod
    def of(cls, codes: Sequence[Integers], own: Ints, many: Ints) -> "Kinds":
        """Of rows with these ``codes``, attribute by attribute, and these values, none below 0, which
        stand for so ``many`` persons, each of shape (n,).

        >>> kinds = Kinds.of([np.array([4, 2, 4, 4])], np.array([1, 0, 0, 1]), np.array([1, 1, 5, 1]))
        >>> kinds.points.ravel(), kinds.point, kinds.value, kinds.persons
        (array([2, 4]), array([0, 1, 1]), array([0, 0, 1]), array([1, 5, 2]))
        """
        point_of_row = row_numbers(codes, len(own))
        first = firsts(point_of_row)
        points = np.empty((len(first), len(codes)), dtype=np.int64)
        for i, code in enumerate(codes):
            points[:, i] = code[first]
        of_row = row_numbers([point_of_row, own], len(own))
        example = firsts(of_row)
        persons = np.bincount(of_row, weights=many, minlength=len(example)).astype(np.int64)
        return cls(
            points=points,
            point=point_of_row[example],
            value=own[example],
            persons=persons,
            example=example,
            of_row=of_row,
        )

    def hosts(self, shown: Shown) -> tuple[Ints, Ints]:
        """Every pair of a kind and of a group that it may be in, by kinds, shape
        (m,) each: its box holds the quasi-identifiers, and it shows the value or may be anybody's.
        """
        if not len(shown.low):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        near = (self.points >= shown.low.min(axis=0)) & (self.points <= shown.high.max(axis=0))
        points = near.all(axis=1)
        if points.all():
            return self._hosts(shown)
        which = np.flatnonzero(points[self.point])
        some = replace(
            self,
            points=self.points[points],
            point=(np.cumsum(points) - 1)[self.point[which]],
            value=self.value[which],
        )
        kind, group = some._hosts(shown)  # noqa: SLF001 - our own
        return which[kind], group

    def _hosts(self, shown: Shown) -> tuple[Ints, Ints]:
        """The same, of ``points``, ``point`` and ``value`` alone."""
        asked = self.points[:: 1 + len(self.points) // _ASKED]
        around = sum(
            int(((shown.low <= point) & (point <= shown.high)).all(axis=1).sum()) for point in asked
        ) / max(len(asked), 1)
        if around > _FEW:
            return self._by_boxes_and_values(shown)
        none = np.zeros(0, dtype=np.int64)
        pairs = [(none, none), *self._by_boxes(shown, max(1, int(_AT_ONCE / max(around, 1))))]
        kind, group = (np.concatenate(side) for side in zip(*pairs, strict=True))
        return kind, group

    def _by_boxes(self, shown: Shown, at_once: int) -> Iterator[tuple[Ints, Ints]]:
        """The pairs of ``at_once`` points after the other, whose kinds follow each other too."""
        q = 1 + int(max(self.value.max(initial=0), shown.value.max(initial=0)))
        cells = shown.group * q + shown.value
        for first in range(0, len(self.points), at_once):
            points = self.points[first : first + at_once]
            point, host = pairs_inside(points, shown.low, shown.high)
            begins = np.searchsorted(point, np.arange(len(points) + 1))
            theirs = slice(*np.searchsorted(self.point, [first, first + len(points)]).tolist())
            of_kind, value = self.point[theirs] - first, self.value[theirs]
            many = np.diff(begins)[of_kind]
            ends = np.cumsum(many)
            for some in _some(ends):
                kind = np.arange(some.start, some.stop).repeat(many[some])
                before = (ends - many)[some]
                within = np.arange(len(kind)) - (before - before[0]).repeat(many[some])
                group = host[begins[of_kind[kind]] + within]
                fits = places_in(group * q + value[kind], cells) >= 0
                fits |= shown.of_anybody[group]
                yield theirs.start + kind[fits], group[fits]

    def _by_boxes_and_values(self, shown: Shown) -> tuple[Ints, Ints]:
        anybody, needed = np.flatnonzero(shown.of_anybody), ~shown.of_anybody[shown.group]
        group = np.concatenate([shown.group[needed], anybody])
        value, most = shown.value[needed], self.value.max(initial=0)
        low = np.column_stack([shown.low[group], np.append(value, np.full(len(anybody), -1))])
        high = np.column_stack([shown.high[group], np.append(value, np.full(len(anybody), most))])
        points = np.column_stack([self.points[self.point], self.value])
        kind, box = pairs_inside(points, low, high)
        return kind, group[box]


def _some(ends: Ints) -> Iterator[slice]:
    """Kinds one after the other, of which each slice has about so many pairs as are looked at at once,
    or is one; ``ends`` (u,): how many pairs there are up to each kind.
    """
    first = 0
    while first < len(ends):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _AT_ONCE, side="right")))
        yield slice(first, last)
        first = last
