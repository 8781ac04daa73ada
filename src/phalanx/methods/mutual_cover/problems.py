# SPDX-License-Identifier: Apache-2.0
"""What random output tables are asked for: groups, each on one attribute, and rows laid out so."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Floats, Ints, different, firsts
from phalanx.data.distances import Distance
from phalanx.errors import MethodError
from phalanx.methods.mutual_cover.kernels.program import Grid
from phalanx.methods.slicing.tuples import numbered


@dataclass(frozen=True, eq=False)
class Problems:
    """Groups, each on one attribute: how many tuples have each of its k distinct original values,
    and how far these are from one another.
    """

    counts: Ints
    """The tuples of each class (distinct original value), all problems one after the other."""
    starts: Ints
    """Where each problem's classes begin, and the end, shape (problems + 1,)."""
    distances: Floats
    """From the value of a class to that of another, k * k per problem, row by row; 0 or more."""

    def __post_init__(self) -> None:
        if (
            len(self.starts) == 0
            or self.starts[0] != 0
            or self.starts[-1] != len(self.counts)
            or not (np.diff(self.starts) > 0).all()
        ):
            raise ValueError(
                "starts must rise from 0 to the number of classes, and every problem has a class"
            )
        if len(self.distances) != self.cells[-1]:
            raise ValueError(
                f"{len(self.distances)} distances are given and the problems have"
                f" {self.cells[-1]} cells"
            )
        if len(self.counts) and self.counts.min() < 1:
            raise ValueError("a class without tuples is no class")
        if not (np.isfinite(self.distances).all() and (self.distances >= 0).all()):
            raise MethodError(
                "a distance between two values is negative, infinite or not a number; give"
                " distances of 0 or more."
            )

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def cells(self) -> Ints:
        """Where each problem's distances begin, and the end, shape (problems + 1,); tables stand in
        the same places.
        """
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(self.starts) ** 2)])

    @property
    def grid(self) -> Grid:
        """The same as kernels take it."""
        return Grid(self.counts, self.starts, self.distances, self.cells)

    @cached_property
    def tuples(self) -> Ints:
        """The tuples of each problem, shape (problems,)."""
        if not len(self):
            return np.zeros(0, np.int64)
        return np.add.reduceat(self.counts, self.starts[:-1])

    @cached_property
    def greatest(self) -> Floats:
        """The greatest distance of each problem, shape (problems,)."""
        if not len(self):
            return np.zeros(0)
        return np.maximum.reduceat(self.distances, self.cells[:-1])

    @classmethod
    def on(cls, distance: Distance, codes: Ints, counts: Ints, starts: Ints) -> "Problems":
        """Problems on an attribute with these distances, one of whose values (``codes``) each class
        has.
        """
        k = np.repeat(np.diff(starts), np.diff(starts))
        others = codes[ranges(np.repeat(starts[:-1], np.diff(starts)), k)]
        return cls(counts, starts, distance.between(np.repeat(codes, k), others))

    @classmethod
    def joined(cls, parts: Sequence["Problems"]) -> "Problems":
        """The problems of several, one after the other."""
        ends = np.cumsum([0, *(len(part.counts) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)]
        counts, distances = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("counts", "distances")
        )
        return cls(counts, np.concatenate([*starts, ends[-1:]]), distances)

    def distinct(self) -> tuple["Problems", Ints]:
        """Each different problem once, and for every problem which of these it is, shape
        (problems,); as many counts and distances agree to the bit.
        """
        first: dict[tuple[bytes, bytes], int] = {}
        of = np.empty(len(self), np.int64)
        for p, (counts, distances) in enumerate(zip(*self._bytes(), strict=True)):
            of[p] = first.setdefault((counts, distances), p)
        which, of = np.unique(of, return_inverse=True)
        return self.take(which), of.astype(np.int64)

    def _bytes(self) -> tuple[list[bytes], list[bytes]]:
        """The counts, and the distances, of each problem."""
        contents = []
        for values, places in ((self.counts, self.starts), (self.distances + 0.0, self.cells)):
            whole, ends = values.tobytes(), (8 * places).tolist()
            contents.append([whole[a:b] for a, b in pairwise(ends)])
        return contents[0], contents[1]

    def take(self, which: Ints) -> "Problems":
        """The problems ``which``, in that order."""
        k = np.diff(self.starts)[which]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(k)])
        counts = self.counts[ranges(self.starts[which], k)]
        return Problems(counts, starts, self.distances[ranges(self.cells[which], k**2)])

    def part(self, cells: npt.NDArray[Any], which: int) -> npt.NDArray[Any]:
        """The part of ``cells`` that belongs to one of the problems, shape (k, k)."""
        k = int(self.starts[which + 1] - self.starts[which])
        return cells[self.cells[which] : self.cells[which + 1]].reshape(k, k)

    def of(self, which: int) -> tuple[Ints, Floats]:
        """The counts of one of the problems, shape (k,), and its distances, shape (k, k)."""
        counts = self.counts[self.starts[which] : self.starts[which + 1]]
        return counts, self.part(self.distances, which)


@dataclass(frozen=True, eq=False)
class Layout:
    """Rows in groups, laid out as problems: that of group g on attribute a is number a * groups +
    g.
    """

    groups: int
    problems: Problems
    codes: Ints
    """The code of every class, in the places of the problems' counts."""
    own: Ints
    """The class of every row on every attribute, shape (n, d)."""
    group: Ints
    """The group of every row, 0 .. groups-1, shape (n,)."""

    @classmethod
    def of(
        cls,
        columns: Sequence[npt.NDArray[np.int32]],
        distances: Sequence[Distance],
        group: Ints,
    ) -> "Layout":
        """Lay out rows with these codes (d columns of shape (n,)) in these groups, none of which is
        empty.
        """
        groups = int(group.max(initial=-1)) + 1
        parts, codes, own = [], [], np.empty((len(group), len(columns)), np.int64)
        for a, (column, distance) in enumerate(zip(columns, distances, strict=True)):
            size = len(distance)
            cells, at = different(group * size + column)
            counts = np.bincount(at, minlength=len(cells)).astype(np.int64)
            starts = np.searchsorted(cells, np.arange(groups + 1) * size)
            codes.append(cells % size)
            parts.append(Problems.on(distance, codes[-1], counts, starts))
            own[:, a] = at - starts[group]
        return cls(groups, Problems.joined(parts), np.concatenate(codes), own, group)

    @property
    def attributes(self) -> int:
        """How many attributes there are."""
        return int(self.own.shape[1])

    @property
    def tables(self) -> Ints:
        """The problem of every group on every attribute, shape (groups, d)."""
        return np.arange(self.groups)[:, None] + np.arange(self.attributes) * self.groups

    @cached_property
    def types(self) -> tuple[Ints, Ints]:
        """The different tuples of each group as classes, shape (types, d), and where each group's
        begin, and the end.
        """
        of = numbered([self.group, *self.own.T])
        first = firsts(of)
        return self.own[first], np.searchsorted(self.group[first], np.arange(self.groups + 1))

    def cells(self, which: Ints) -> Ints:
        """The cells of some groups' tables on all attributes."""
        of = self.tables[which].T.ravel()
        return ranges(self.problems.cells[of], np.diff(self.problems.starts)[of] ** 2)

    def stays(self, cells: npt.NDArray[Any], own: Ints, table: Ints) -> npt.NDArray[Any]:
        """The ``cells`` of the own values of tuples with these classes, drawn from these tables, in
        the shape of both.
        """
        k = np.diff(self.problems.starts)[table]
        stays: npt.NDArray[Any] = cells[self.problems.cells[table] + own * (k + 1)]
        return stays


def ranges(starts: Ints, lengths: Ints) -> Ints:
    """The integers from each start on, as many as its length, one after the other."""
    ends = np.cumsum(lengths)
    places: Ints = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
        starts - (ends - lengths), lengths
    )
    return places
