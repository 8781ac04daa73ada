# SPDX-License-Identifier: Apache-2.0
"""Partitions: schemes that divide all possible tuples into boxes, finer in one place than in
another. Which box a tuple is in depends on the tuple alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from phalanx.arrays import Codes, Ints, in_order
from phalanx.data.column import Column
from phalanx.data.microdata import Microdata
from phalanx.errors import SchemaError
from phalanx.methods.safe_sampling.axes import Axis, Cells, Grid
from phalanx.methods.safe_sampling.schemes import number_images, published_attributes
from phalanx.release.manifest import PublishedAttribute


class Span(NamedTuple):
    """Cells of the finest level of a grid, from ``low`` to before ``high``."""

    low: int
    high: int


class Node(NamedTuple):
    """A node of a hierarchy, by its level and its name, which is None for the missing value's."""

    level: int
    name: str | None


Side = Span | Node
Box = tuple[Side, ...]
"""A side for every attribute that the partition divides."""


@dataclass(frozen=True)
class Cut:
    """A box divided in two at an edge of a grid."""

    side: int
    """Which attribute, among those that the partition divides."""
    below: Span
    above: Span
    parts: tuple["Part", "Part"]
    """How what is below the cut, and above, is divided further."""


@dataclass(frozen=True)
class Opened:
    """A box divided into the children of a node, one for each; those that are not named are not
    divided further.
    """

    side: int
    level: int
    """The level of the children."""
    children: Mapping[str | None, "Part"]


Part = Cut | Opened | None
"""How a box is divided; None: not at all."""


@dataclass(frozen=True)
class PartitionScheme:
    """Boxes over the attributes without a level, each combined with the cells of those that have
    one.

    ``root`` divides the box of all tuples. The boxes themselves are not published, those of
    published rows excepted.
    """

    axes: tuple[Axis, ...]
    levels: Mapping[str, int | None]
    root: Part
    epsilon: Fraction
    chosen: str = "partition"

    def images(self, microdata: Microdata, rows: Ints) -> tuple[Ints, pl.DataFrame]:
        """The image of each of the given rows, numbered from 0, and the images; SchemaError where a
        grid has no place for a missing value.
        """
        divided = open_axes(self.axes, self.levels)
        places = [Places(axis, microdata.columns[axis.name]) for axis in divided]
        box_of = np.empty(len(rows), dtype=np.int32)
        boxes: list[Box] = []
        for box, at in _boxes(
            self.root, tuple(whole(axis) for axis in divided), np.arange(len(rows)), rows, places
        ):
            box_of[at] = len(boxes)
            boxes.append(box)
        codes, cells = (
            [box_of],
            [Cells(np.arange(len(boxes), dtype=np.int32), _columns(divided, boxes))],
        )
        for axis in self.axes:
            if (level := self.levels[axis.name]) is not None:
                column = microdata.columns[axis.name]
                codes.append(column.codes[rows])
                cells.append(axis.cells(column.domain, level))
        image, images = number_images(codes, cells, np.arange(len(rows)))
        return image, images.select([name for axis in self.axes for name in axis.columns])

    def attributes(self, microdata: Microdata) -> list[PublishedAttribute]:
        """The attributes and the columns in which they are published."""
        return published_attributes(self.axes, microdata.schema)

    def parameters(self) -> dict[str, Any]:
        """What the manifest says of the scheme: nothing of the boxes, as those that are empty, or
        dropped, would tell of rows.
        """
        axes = {axis.name: axis.parameters() for axis in self.axes}
        return {
            "chosen": self.chosen,
            "attributes": {
                name: public | ({} if self.levels[name] is None else {"level": self.levels[name]})
                for name, public in axes.items()
            },
        }


def open_axes(axes: tuple[Axis, ...], levels: Mapping[str, int | None]) -> list[Axis]:
    """The attributes that a partition divides: those without a level."""
    return [axis for axis in axes if levels[axis.name] is None]


def whole(axis: Axis) -> Side:
    """The side that holds all values of an attribute."""
    return Span(0, len(axis.edges(0)) - 1) if isinstance(axis, Grid) else Node(axis.top, "*")


class Places:
    """Where the values of one attribute of a table lie: in which cell of a grid, under which node
    of each level.
    """

    def __init__(self, axis: Axis, column: Column) -> None:
        self.axis, self.column = axis, column
        self._levels: dict[int, tuple[Codes, list[str | None]]] = {}
        if isinstance(axis, Grid):
            self._finest = axis.finest(column.domain)
            if column.domain.has_missing and (column.codes == 0).any():
                raise SchemaError(
                    f"column {axis.name!r} has missing values, and a partition has no place for"
                    " them in a range; give it a level in [method.scheme], or fill them at the"
                    " source."
                )

    def cells(self, rows: Ints) -> Codes:
        """Of a grid, the cell of the finest level of each of the given rows."""
        return self._finest[self.column.codes[rows]]

    def nodes(self, level: int, rows: Ints) -> tuple[Codes, list[str | None]]:
        """Of a hierarchy, the number of each of the given rows' node at a level, and the names of
        the nodes in that order.
        """
        if level not in self._levels:
            cells = self.axis.cells(self.column.domain, level)
            self._levels[level] = cells.of_code, cells.columns[0].to_list()
        of_code, names = self._levels[level]
        return of_code[self.column.codes[rows]], names


def narrowed(box: Box, at: int, side: Side) -> Box:
    """The same box with another side for one attribute."""
    return (*box[:at], side, *box[at + 1 :])


def groups(numbers: Codes) -> Iterator[tuple[int, Ints]]:
    """The different numbers, shape (r,), ascending, each with the places where it stands,
    ascending.
    """
    order = in_order(numbers)
    ends = np.flatnonzero(np.diff(numbers[order])) + 1
    if len(order):
        for places in np.split(order, ends):
            yield int(numbers[places[0]]), places


def _boxes(
    part: Part, box: Box, at: Ints, rows: Ints, places: list[Places]
) -> Iterator[tuple[Box, Ints]]:
    """The boxes that hold any of the places ``at`` of the given rows, each with its own."""
    if part is None:
        if len(at):
            yield box, at
    elif isinstance(part, Cut):
        above = places[part.side].cells(rows[at]) >= part.above.low
        yield from _boxes(
            part.parts[0], narrowed(box, part.side, part.below), at[~above], rows, places
        )
        yield from _boxes(
            part.parts[1], narrowed(box, part.side, part.above), at[above], rows, places
        )
    else:
        numbers, names = places[part.side].nodes(part.level, rows[at])
        for number, among in groups(numbers):
            child = Node(part.level, names[number])
            yield from _boxes(
                part.children.get(child.name),
                narrowed(box, part.side, child),
                at[among],
                rows,
                places,
            )


def _columns(axes: list[Axis], boxes: list[Box]) -> list[pl.Series]:
    """What is published of the boxes: the ends of a span, or the name of a node."""
    columns = []
    for i, axis in enumerate(axes):
        sides = [box[i] for box in boxes]
        if isinstance(axis, Grid):
            spans = [side for side in sides if isinstance(side, Span)]
            for name, ends in zip(
                axis.columns, ([s.low for s in spans], [s.high for s in spans]), strict=True
            ):
                columns.append(axis.edges(0).gather(np.array(ends, dtype=np.int64)).alias(name))
        else:
            columns.append(
                pl.Series(
                    axis.name,
                    [side.name for side in sides if isinstance(side, Node)],
                    dtype=pl.String,
                )
            )
    return columns
