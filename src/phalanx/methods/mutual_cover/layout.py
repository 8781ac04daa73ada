# SPDX-License-Identifier: Apache-2.0
"""Rows in groups, laid out as problems of random output tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from phalanx.methods.mutual_cover.distances import Distance
from phalanx.methods.mutual_cover.outputs import Ints, Problems, ranges
from phalanx.methods.slicing.tuples import numbered


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
        sizes: Sequence[int],
        distances: Sequence[Distance],
        group: Ints,
    ) -> "Layout":
        """Lay out rows with these codes (d columns of shape (n,), over domains of these ``sizes``)
        in these groups, none of which is empty.
        """
        groups = int(group.max(initial=-1)) + 1
        parts, codes, own = [], [], np.empty((len(group), len(columns)), np.int64)
        for a, (column, size, distance) in enumerate(zip(columns, sizes, distances, strict=True)):
            cells, at, counts = np.unique(
                group * size + column, return_inverse=True, return_counts=True
            )
            starts = np.searchsorted(cells, np.arange(groups + 1) * size)
            codes.append(cells % size)
            parts.append(distance.problems(codes[-1], counts, starts))
            own[:, a] = at - starts[group]
        return cls(groups, Problems.joined(parts), np.concatenate(codes), own, group)

    @property
    def attributes(self) -> int:
        """How many attributes there are."""
        return int(self.own.shape[1])

    @cached_property
    def types(self) -> tuple[Ints, Ints]:
        """The different tuples of each group as classes, shape (types, d), and where each group's
        begin, and the end.
        """
        of = numbered([self.group, *self.own.T])
        _, first = np.unique(of, return_index=True)
        return self.own[first], np.searchsorted(self.group[first], np.arange(self.groups + 1))

    def cells(self, which: Ints) -> Ints:
        """The cells of some groups' tables on all attributes."""
        of = (np.arange(self.attributes)[:, None] * self.groups + which).ravel()
        return ranges(self.problems.cells[of], np.diff(self.problems.starts)[of] ** 2)

    def stays(self, cells: npt.NDArray[Any], own: Ints, table: Ints) -> npt.NDArray[Any]:
        """The ``cells`` of the own values of tuples with these classes, drawn from these tables, in
        the shape of both.
        """
        k = np.diff(self.problems.starts)[table]
        found: npt.NDArray[Any] = cells[self.problems.cells[table] + own * (k + 1)]
        return found
