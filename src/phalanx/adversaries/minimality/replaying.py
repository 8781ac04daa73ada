# SPDX-License-Identifier: Apache-2.0
"""Mondrian's strict cuts replayed beside the groups that were published: which cuts the method
tried and did not make (LeFevre et al., ICDE 2006).

Written anew from what the method's page says, for an adversary who knows each person's
quasi-identifiers. At every node the method tries the attributes by falling width, each behind its
median and then before it, and makes the first cut both of whose sides keep the requirement; with
``cut_at = "least-width"`` it tries the best cut of each attribute before those, in nodes of at most
256 times the least size. Where a cut goes between the published groups it was made: a side of whole
groups keeps whatever each of them keeps. A cut that goes through a group was tried and failed;
where both sides are large enough it failed by the values.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Bools, Floats, Ints
from phalanx.errors import ReleaseError
from phalanx.guarantees.views.groups import Groups

_COMPARED: Final = 256
"""All cuts of a node with room for so many groups are compared."""
_AT_ONCE: Final = 1 << 15
"""So many places of tuples are looked at together, which stay in the nearest memory."""
_MOST_WORK: Final = 1 << 31
"""More places of tuples, over all cuts that are compared, take longer than half a minute."""


@dataclass(frozen=True, eq=False)
class Persons:
    """All persons as distinct tuples of quasi-identifiers, each in one group.

    A *cell* is what a distribution of values is published for: a group, or of slicing the rows of a
    bucket with the same values beside the sensitive one.
    """

    codes: npt.NDArray[np.int32]
    """Shape (u, attributes)."""
    positions: Sequence[Floats]
    """Per attribute where each code is: whole numbers, on a line of 2**30 // attributes."""
    count: Ints
    """How many persons have each tuple, shape (u,)."""
    cell: Ints
    """Each tuple's cell, shape (u,)."""
    group: Ints
    """Each cell's group."""
    line: Ints
    """Each cell's line: the cells of a line are judged together."""


@dataclass(frozen=True, eq=False)
class FailedLine:
    """What a cut that failed makes of one line."""

    sizes: tuple[int, int]
    beside: tuple[Mapping[int, int], Mapping[int, int]]
    """How often each value stands on the left and on the right in cells that are wholly there."""
    parted: Mapping[int, Ints]
    """The cells that the cut parts, and the tuples of each that are on the left."""


FailedCut = tuple[FailedLine, ...]
"""Lines with a parted cell; all others keep the requirement on both sides."""


def failed_cuts(
    persons: Persons, groups: Groups, least: int, most: int, *, least_width: bool
) -> Iterator[FailedCut | None]:
    """All cuts that failed by the values, None in the place of one that parts more than ``most``
    cells.

    ``groups``: the values of the cells; ``least``: the least size of a group; ``least_width``:
    whether other cuts come before those at medians. ReleaseError where the groups are none that
    such cuts make.
    """
    if least_width and len(persons.codes):
        tuples, attributes = persons.codes.shape
        _afford(tuples, attributes, int(persons.count.sum()), least)
    stack = [np.arange(len(persons.codes))]
    while stack:
        node = stack.pop()
        size = int(persons.count[node].sum())
        of_group = persons.group[persons.cell[node]]
        several = bool((of_group != of_group[0]).any())
        if size < 2 * least and not several:
            continue
        made: Bools | None = None
        narrow = (
            _narrowest(persons, node, least, size)
            if least_width and size <= _COMPARED * least
            else ()
        )
        for left in chain(narrow, _tried(persons, node, least, size)):
            if several and not _parts_a_group(of_group, left):
                made = left
                break
            yield _failed(persons, groups, node, left, most)
        if made is not None:
            stack += [node[made], node[~made]]
        elif several:
            raise ReleaseError(
                "the groups are none that strict cuts of this table make; check that it is the"
                " table that was published, whole."
            )


def _tried(persons: Persons, node: Ints, least: int, size: int) -> Iterator[Bools]:
    """Who goes left, for every cut that the method tries in a node and that leaves enough persons
    on both sides, in its order.
    """
    codes, count = persons.codes[node], persons.count[node]
    low, high = codes.min(axis=0), codes.max(axis=0)
    width = np.array([p[b] - p[a] for p, a, b in zip(persons.positions, low, high, strict=True)])
    for a in np.argsort(-width, kind="stable").tolist():
        if low[a] == high[a]:
            continue
        column = codes[:, a]
        order = np.argsort(column, kind="stable")
        reached = np.cumsum(count[order])
        median = column[order[np.searchsorted(reached, (size - 1) // 2, side="right")]]
        for left in (column <= median, column < median):
            on_left = int(count[left].sum())
            if least <= on_left <= size - least:
                yield left


def _narrowest(persons: Persons, node: Ints, least: int, size: int) -> list[Bools]:
    """Who goes left by the best cut of each attribute, the best first: sizes, by the power 1 -
    1/(2d), times widths are least together.
    """
    codes, count = persons.codes[node], persons.count[node]
    weight = _weights(_COMPARED * least, codes.shape[1])
    cuts: list[tuple[float, int, Bools]] = []
    places = np.stack(
        [p[c].astype(np.int32) for p, c in zip(persons.positions, codes.T, strict=True)]
    )
    for a in range(codes.shape[1]):
        order = np.argsort(codes[:, a], kind="stable")
        column, reached = codes[order, a], np.cumsum(count[order])
        left, right = _widths(places, order)[:-1], _widths(places, order[::-1])[::-1][1:]
        cost = left * weight[reached[:-1]] + right * weight[size - reached[:-1]]
        cost[
            (column[:-1] == column[1:]) | (reached[:-1] < least) | (reached[:-1] > size - least)
        ] = np.inf
        if len(cost) and (best := int(cost.argmin())) >= 0 and np.isfinite(cost[best]):
            cuts.append((float(cost[best]), a, codes[:, a] <= column[best]))
    return [left for _, _, left in sorted(cuts, key=lambda cut: cut[:2])]


def _widths(places: npt.NDArray[np.int32], order: Ints) -> Floats:
    """How wide the first tuple, the first two and so on are in this order, all attributes together,
    shape (n,): whole numbers, whose sums are exact. ``places`` (attributes, n).
    """
    widths, at_once = np.zeros(len(order)), max(1, _AT_ONCE // len(order))
    for begin in range(0, len(places), at_once):
        some = places[begin : begin + at_once].take(order, axis=1)
        spans = np.maximum.accumulate(some, axis=1) - np.minimum.accumulate(some, axis=1)
        widths += spans.sum(axis=0)
    return widths


def _afford(tuples: int, attributes: int, size: int, least: int) -> None:
    """ReleaseError where it takes too long to compare all cuts with each other: in each node of up
    to ``_COMPARED`` times the least size, and about so many halvings deep, the widths of all
    attributes beside each one.
    """
    depth = math.log2(max(2.0, min(size / least, _COMPARED)))
    if 2 * tuples * attributes**2 * depth > _MOST_WORK:
        raise ReleaseError(
            f"to replay how the cuts of {attributes} quasi-identifiers were compared takes more than"
            f" the {_MOST_WORK} steps that this adversary spends; use the posterior one."
        )


@cache
def _weights(most: int, attributes: int) -> Floats:
    """What up to so many rows count, each figure by itself: where equal costs are told apart by
    their last bit, an array's powers, which some processors round otherwise, are not the method's.
    """
    power = 1 - 1 / (2 * attributes)
    return np.array([float(size) ** power for size in range(most + 1)])


def _parts_a_group(of_group: Ints, left: Bools) -> bool:
    return len(np.intersect1d(of_group[left], of_group[~left])) > 0


def _failed(
    persons: Persons, groups: Groups, node: Ints, left: Bools, most: int
) -> FailedCut | None:
    cells, place = np.unique(persons.cell[node], return_inverse=True)
    weight = persons.count[node]
    there = np.bincount(place, weights=weight).astype(np.int64)
    on_left = np.bincount(place, weights=weight * left).astype(np.int64)
    parted = (on_left > 0) & (on_left < there)
    if int(parted.sum()) > most:
        return None
    failed = []
    for line in np.unique(persons.line[cells[parted]]):
        here = persons.line[cells] == line
        sizes = int(on_left[here].sum()), int((there - on_left)[here].sum())
        beside = (
            _counts(groups, cells[here & ~parted & (on_left > 0)]),
            _counts(groups, cells[here & ~parted & (on_left == 0)]),
        )
        failed.append(
            FailedLine(
                sizes,
                beside,
                {
                    int(cells[i]): node[left & (place == i)]
                    for i in np.flatnonzero(here & parted).tolist()
                },
            )
        )
    return tuple(failed)


def _counts(groups: Groups, cells: Ints) -> dict[int, int]:
    """How often each value stands in some cells together."""
    if not len(cells):
        return {}
    length = groups.distinct[cells]
    at = np.repeat(groups.starts[cells] - (np.cumsum(length) - length), length) + np.arange(
        int(length.sum())
    )
    counts = np.bincount(groups.cell_value[at], weights=groups.cell_count[at]).astype(np.int64)
    return {int(value): int(counts[value]) for value in np.flatnonzero(counts)}
