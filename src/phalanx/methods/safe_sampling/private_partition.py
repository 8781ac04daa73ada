# SPDX-License-Identifier: Apache-2.0
"""A partition of all tuples into boxes, chosen from the table by differential privacy: finer where
rows are many, one box where they are few.

The second, finer family of schemes beside the levels of Li, Qardaji and Su: a kd-tree of which
every cut is a private choice, after Cormode, Procopiuc, Srivastava, Shen and Yu, "Differentially
private spatial decompositions" (ICDE 2012). How we differ: the cuts also open the nodes of
hierarchies, and a cut is worth what it does for the rows that come through sampling, so that no
noisy counts are needed.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from phalanx.arrays import Ints, in_order
from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata
from phalanx.errors import PlanError
from phalanx.methods.safe_sampling.axes import Banded, Grid, Nodes
from phalanx.methods.safe_sampling.kernels import images as safe_sampling
from phalanx.methods.safe_sampling.kernels import private_partition as kernel
from phalanx.methods.safe_sampling.partitions import (
    Box,
    Cut,
    Node,
    Opened,
    Part,
    PartitionScheme,
    Places,
    Span,
    groups,
    narrowed,
    open_axes,
    whole,
)
from phalanx.methods.safe_sampling.private_choice import UNIT, PrivateChoice
from phalanx.methods.safe_sampling.schemes import Axes

MOST_EDGES: Final = 1_000
"""A cut is considered at every inner edge of a span; where these are more, at so many, evenly
spaced.
"""


def choose_partition(
    axes: Axes, microdata: Microdata, epsilon: Fraction, crowd: int, depth: int = 10, k: int = 1
) -> PartitionScheme:
    """A partition that is likely to bring many rows through with much information; the choice is
    epsilon-differentially private.

    ``axes``: the levels that the plan fixes, None where the partition divides; ``crowd``: how many
    rows a cell needs to come through, which is ceil(k / beta); ``depth``: how often a part may be
    divided.

    From the box of all tuples on, every box chooses among staying whole and all its cuts, by a
    noisy maximum over :meth:`Division.scores`. **Privacy**: the boxes of one level are disjoint,
    and which of them a row is in is settled before they choose, so that adding a row has a part in
    one choice of each level, which costs epsilon / depth; ``depth`` such levels, each chosen in
    knowledge of those above, cost epsilon.

    A box of fewer than ``k`` rows is left whole, as if it had chosen so: no image in it, however it
    were divided, can occur k times in a sample, and only images that do ever leave, neither the
    other boxes nor their number. Where there is no such threshold, leave ``k`` at 1.

    Raises PlanError where nothing is left to choose, or bands have no level, SchemaError where a
    grid has missing values.
    """
    divided = open_axes(axes.axes, axes.levels)
    if not divided:
        raise PlanError(
            "[method] epsilon_scheme pays for a partition, and [method.scheme] fixes all levels;"
            " take some out, or set epsilon_scheme = 0."
        )
    for axis in divided:
        if isinstance(axis, Banded):
            raise PlanError(
                f"[method.scheme] {axis.name} is in bands without an end, and a partition divides a"
                " range; give it a level, or { low, high, widths } in place of the hierarchy."
            )
    division = Division(axes, microdata, crowd)
    each = epsilon / depth

    everything = tuple(whole(axis) for axis in divided)
    root = _divided(division, each, k, everything, division.all_rows, depth)
    return PartitionScheme(axes.axes, axes.levels, root, epsilon)


def _divided(
    division: "Division", epsilon: Fraction, k: int, box: Box, rows: Ints, left: int
) -> Part:
    """What a box with these rows is divided into, at most ``left`` times, each choice at
    ``epsilon``.
    """
    others = division.cuts(box)
    if left == 0 or others == 0 or len(rows) < k:
        return None
    choice = PrivateChoice(epsilon, division.sensitivity(box))
    scores = division.scores(box, rows)
    scores[0] += choice.head_start(others)
    return division.divided(
        box,
        rows,
        choice.among(scores),
        lambda part, among: _divided(division, epsilon, k, part, among, left - 1),
    )


class Division:
    """What a box may be divided into, and how good that is. All but the counts of rows is made of
    what is declared.

    A box keeps of every attribute a part of its information: 1 less the share of the range, or of
    the other leaves, that it spans; of a hierarchy that does not declare its leaves, the share of
    levels above. ``W(box)`` is the sum over all attributes, in units of 2^-16, those with a fixed
    level among them.
    """

    def __init__(self, axes: Axes, microdata: Microdata, crowd: int) -> None:
        self.crowd = crowd
        self.ways: list[_Ways] = []
        self.of_fixed = 0
        head = np.zeros(microdata.rows, dtype=np.int64)
        for axis in axes.axes:
            column = microdata.columns[axis.name]
            if (level := axes.levels[axis.name]) is not None:
                cells = axis.cells(column.domain, level)
                head, _ = safe_sampling.number(head * cells.count + cells.of_code[column.codes])
                self.of_fixed += math.floor(UNIT * axis.information(level))
            elif isinstance(axis, Grid):
                self.ways.append(_Edges(axis, Places(axis, column)))
            elif isinstance(axis, Nodes):
                self.ways.append(_Children(axis, Places(axis, column)))
        self.fixed = head
        self.all_rows = in_order(head)
        """All rows, those together that the fixed levels do not tell apart; parts of it keep this
        order.
        """

    def keeps(self, box: Box) -> int:
        """W of a box."""
        return self.of_fixed + sum(
            ways.keeps(side) for ways, side in zip(self.ways, box, strict=True)
        )

    def cuts(self, box: Box) -> int:
        """In how many ways a box may be divided."""
        return sum(ways.cuts(side) for ways, side in zip(self.ways, box, strict=True))

    def sensitivity(self, box: Box) -> int:
        """The largest W that any part of the box, or the box itself, can have, at least 1."""
        information = self.keeps(box)
        return max(
            [
                1,
                *(
                    information - ways.keeps(side) + ways.most(side)
                    for ways, side in zip(self.ways, box, strict=True)
                ),
            ]
        )

    def scores(self, box: Box, rows: Ints) -> Ints:
        """How useful the box would be whole, and after each of its cuts: a whole number each, shape
        (1 + cuts,).

        ``U = sum over parts c, over cells f of the fixed levels, of W(c) * max(0, n_cf - crowd)``,
        where n_cf counts the ``rows`` of the box in both. The choice between U and U is that
        between the gains of the cuts, and 0 for none, as the same number is taken from all; but
        gains may fall when a row is added, and U cannot, which halves what the choice costs.

        **Sensitivity**: adding a row to the box raises every score by 0 to :meth:`sensitivity`; so
        all move the same way. Proof: after any one cut, the row is in one part c, by the row alone,
        and in one cell f, so that one n_cf grows by 1; max(0, n_cf - crowd) grows by 0 or 1, and
        the score by 0 or W(c); W(c) is made of what is declared, and no larger than
        :meth:`sensitivity`. Everything is a whole number.
        """
        information, fixed = self.keeps(box), self.fixed[rows]
        together = kernel.child_excess(fixed, np.zeros(len(rows), dtype=np.int32), 1, self.crowd)
        after = [
            ways.scores(side, information - ways.keeps(side), fixed, rows, self.crowd)
            for ways, side in zip(self.ways, box, strict=True)
        ]
        return np.concatenate([information * together, *after])

    def divided(
        self, box: Box, rows: Ints, chosen: int, deeper: Callable[[Box, Ints], Part]
    ) -> Part:
        """The box after the choice at this place of the scores, and what ``deeper`` makes of its
        parts.
        """
        cut = chosen - 1
        for at, (ways, side) in enumerate(zip(self.ways, box, strict=True)):
            if 0 <= cut < ways.cuts(side):
                return ways.divided(side, box, at, cut, rows, deeper)
            cut -= ways.cuts(side)
        return None


class _Ways(ABC):
    """How one attribute's side of a box may be divided."""

    places: Places

    @abstractmethod
    def keeps(self, side: Any) -> int:
        """What a side keeps of the information, 0 to UNIT."""

    @abstractmethod
    def cuts(self, side: Any) -> int:
        """In how many ways it may be divided, by what is declared."""

    @abstractmethod
    def most(self, side: Any) -> int:
        """A bound of what it, or whatever one cut leaves of it, keeps, by what is declared."""

    @abstractmethod
    def scores(self, side: Any, others: int, fixed: Ints, rows: Ints, crowd: int) -> Ints:
        """The usefulness after each cut, shape (cuts,), of a box of these rows; ``others``: what
        the other attributes keep.
        """

    @abstractmethod
    def divided(
        self,
        side: Any,
        box: Box,
        at: int,
        cut: int,
        rows: Ints,
        deeper: Callable[[Box, Ints], Part],
    ) -> Part:
        """The box after a cut of its side, which stands ``at`` this place."""


class _Edges(_Ways):
    """A span of a grid, cut in two at an inner edge."""

    def __init__(self, axis: Grid, places: Places) -> None:
        self.places = places
        width, cells = 1 - axis.information(0), len(axis.edges(0)) - 1
        steps = [math.floor(UNIT * i * width) for i in range(cells)]
        self.position = np.array([*steps, UNIT], dtype=np.int64)
        """How far every edge is from the low end, in UNITs of the range."""

    def keeps(self, side: Span) -> int:
        return int(UNIT - (self.position[side.high] - self.position[side.low]))

    def _edges(self, side: Span) -> Ints:
        """The edges at which a cut is considered."""
        step = max(1, math.ceil((side.high - side.low - 1) / MOST_EDGES))
        return np.arange(side.low + step, side.high, step, dtype=np.int64)

    def cuts(self, side: Span) -> int:
        return len(self._edges(side))

    def _kept(self, side: Span) -> tuple[Ints, Ints]:
        """What is kept below each cut, and above."""
        at = self.position[self._edges(side)]
        return UNIT - (at - self.position[side.low]), UNIT - (self.position[side.high] - at)

    def most(self, side: Span) -> int:
        below, above = self._kept(side)
        return int(max(self.keeps(side), below.max(initial=0), above.max(initial=0)))

    def scores(self, side: Span, others: int, fixed: Ints, rows: Ints, crowd: int) -> Ints:
        below, above = kernel.cut_excess(fixed, self.places.cells(rows), side.low, side.high, crowd)
        inner = self._edges(side) - side.low - 1
        kept_below, kept_above = self._kept(side)
        return (others + kept_below) * below[inner] + (others + kept_above) * above[inner]

    def divided(
        self,
        side: Span,
        box: Box,
        at: int,
        cut: int,
        rows: Ints,
        deeper: Callable[[Box, Ints], Part],
    ) -> Part:
        edge = int(self._edges(side)[cut])
        below, above = Span(side.low, edge), Span(edge, side.high)
        is_above = self.places.cells(rows) >= edge
        parts = (
            deeper(narrowed(box, at, below), rows[~is_above]),
            deeper(narrowed(box, at, above), rows[is_above]),
        )
        return Cut(at, below, above, parts)


class _Children(_Ways):
    """A node of a hierarchy, opened into its children, the missing value's own node among those of
    the root.
    """

    def __init__(self, axis: Nodes, places: Places) -> None:
        self.places = places
        self.axis = axis
        self.paths = (
            axis.declared.paths
            if isinstance(axis.declared, Tree) and len(axis.declared.paths) > 1
            else ()
        )
        """The leaves with all that is above them, where they are declared and more than one."""
        self.leaves = Counter(
            (level, name) for path in self.paths for level, name in enumerate(path)
        )

    def keeps(self, side: Node) -> int:
        if side.name is None:
            return UNIT
        if not self.paths:
            return math.floor(UNIT * self.axis.information(side.level))
        return UNIT - math.ceil(
            Fraction(UNIT * (self.leaves[side.level, side.name] - 1), len(self.paths) - 1)
        )

    def _opens_to(self, side: Node) -> int:
        """The level of the children; -1 for a node that has none, or the same leaves at all levels
        below.
        """
        if side.name is None or side.level == 0 or not self.paths:
            return -1 if side.name is None else side.level - 1
        below = [path for path in self.paths if path[side.level] == side.name]
        return next(
            (
                level
                for level in range(side.level - 1, -1, -1)
                if len({path[level] for path in below}) > 1
            ),
            -1,
        )

    def cuts(self, side: Node) -> int:
        return int(self._opens_to(side) >= 0)

    def most(self, side: Node) -> int:
        return UNIT if self.cuts(side) else self.keeps(side)

    def scores(self, side: Node, others: int, fixed: Ints, rows: Ints, crowd: int) -> Ints:
        if (level := self._opens_to(side)) < 0:
            return np.zeros(0, dtype=np.int64)
        numbers, names = self.places.nodes(level, rows)
        excess = kernel.child_excess(fixed, numbers, len(names), crowd)
        return np.array(
            [
                sum(
                    (others + self.keeps(Node(level, names[i]))) * int(excess[i])
                    for i in np.flatnonzero(excess)
                )
            ],
            dtype=np.int64,
        )

    def divided(
        self,
        side: Node,
        box: Box,
        at: int,
        cut: int,
        rows: Ints,
        deeper: Callable[[Box, Ints], Part],
    ) -> Part:
        level = self._opens_to(side)
        numbers, names = self.places.nodes(level, rows)
        parts = {
            names[number]: deeper(narrowed(box, at, Node(level, names[number])), rows[among])
            for number, among in groups(numbers)
        }
        return Opened(at, level, {name: part for name, part in parts.items() if part is not None})
