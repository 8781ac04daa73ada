# SPDX-License-Identifier: Apache-2.0
"""How far the values of a person are from those of published rows, attribute by attribute, and
which rows are nearest.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np

from phalanx.adversaries.disclosure import Floats
from phalanx.data.distance_matrix import distance_matrix
from phalanx.data.domain import Domain
from phalanx.errors import PlanError, did_you_mean
from phalanx.exact import Ints

WORDS: Final = ("l1", "hierarchy", "equal")
"""What a distance may be called; else it is given as a matrix."""

_BLOCK: Final = 256
"""So many rows are compared with a person rather than put into two blocks."""
_FEW: Final = 64
"""For domains of up to so many values blocks know which of them they hold."""
_AT_ONCE: Final = 1 << 18
"""Pairs of a person and a block that are held at once."""
_ROUNDING: Final = 1e-9
"""More than rounding costs a distance: below this, two are equal."""


class Distance(Protocol):
    """How far the values of one attribute are from each other."""

    def __len__(self) -> int: ...

    def to_all(self, codes: Ints) -> Floats:
        """The distance of some values to every value of the domain, shape (c, len(domain))."""


@dataclass(frozen=True, eq=False)
class Line:
    """Numbers and days by how far apart they are, over the width of the domain."""

    places: Floats

    def __len__(self) -> int:
        return len(self.places)

    def to_all(self, codes: Ints) -> Floats:
        """The difference of places."""
        return np.abs(self.places[codes][:, None] - self.places[None, :])


@dataclass(frozen=True, eq=False)
class Levels:
    """Values by the level on which their paths meet, over the height of the tree."""

    ancestors: Ints
    """The node above every code on each level below the root, the leaf first, shape (height,
    domain).
    """

    def __len__(self) -> int:
        return len(self.ancestors[0])

    def to_all(self, codes: Ints) -> Floats:
        """The share of levels on which the nodes differ."""
        apart = self.ancestors[:, codes][:, :, None] != self.ancestors[:, None, :]
        return np.asarray(apart.mean(axis=0))


@dataclass(frozen=True, eq=False)
class Matrix:
    """Values by a matrix that was given."""

    matrix: Floats

    def __len__(self) -> int:
        return len(self.matrix)

    def to_all(self, codes: Ints) -> Floats:
        """The rows of the matrix."""
        return self.matrix[codes]


def distance_of(name: str, domain: Domain, asked: Any = None) -> Distance:
    """The distance that is asked for, else l1 for numbers and dates, the hierarchy for values that
    have one, and 0 or 1 for all others.

    PlanError where an attribute has no places on a line or no hierarchy, or a matrix does not say
    all it must.
    """
    on_a_line = domain.type in ("numeric", "date")
    if isinstance(asked, Mapping):
        return Matrix(distance_matrix(f"distances of {name!r}", domain, asked))
    word = (
        ("l1" if on_a_line else "equal" if domain.hierarchy is None else "hierarchy")
        if asked is None
        else asked
    )
    if word == "equal":
        return Levels(np.arange(len(domain))[None, :])
    if word == "l1" and on_a_line:
        return Line(domain.normalised)
    if word == "hierarchy" and domain.ancestors is not None:
        levels = [
            domain.ancestors[level].rank("dense").fill_null(0).to_numpy().astype(np.int64)
            for level in domain.ancestors.columns[:-1]
        ]
        return Levels(np.stack(levels))
    if word in WORDS:
        lacks = f"which is {domain.type}" if word == "l1" else "which has none"
        raise PlanError(
            f"distances asks for {word} of {name!r}, {lacks}; leave it out, or use 'equal'."
        )
    raise PlanError(
        f"distances of {name!r} is"
        f" {asked!r}{did_you_mean(str(asked), WORDS) or '; use l1, hierarchy, equal, or a matrix.'}"
    )


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows in blocks of those that lie together, so that a person need not be compared with all of
    them.
    """

    distances: Sequence[Distance]
    codes: Ints
    """The rows' codes block by block, shape (n, d)."""
    row: Ints
    """Which row each of these is, shape (n,)."""
    starts: Ints
    """Where blocks begin, and the end, shape (b + 1,)."""

    @classmethod
    def of(cls, rows: Ints, distances: Sequence[Distance]) -> "Blocks":
        """Halve the rows on the attribute on which they lie farthest apart, while a half is larger
        than a block need be.
        """
        parts, ends, waiting = [np.zeros(0, dtype=np.int64)], [0], [np.arange(len(rows))]
        while waiting:
            some = waiting.pop()
            widths = [] if len(some) <= _BLOCK else _widths(rows[some], distances)
            if max(widths, default=-1) < 0:
                parts.append(some)
                ends.append(ends[-1] + len(some))
                continue
            codes = rows[some, int(np.argmax(widths))]
            cut = np.partition(codes, len(some) // 2)[len(some) // 2]
            left = codes < (cut if cut > codes.min() else cut + 1)
            waiting += [some[~left], some[left]]
        row = np.concatenate(parts)
        return cls(distances, rows[row], row, np.array(ends))

    @cached_property
    def _bounds(self) -> list[Floats | tuple[Floats, Floats]]:
        """By attribute what is the nearest in each block: for every code, or the first and the last
        place; nothing is nearer than 0.
        """
        found: list[Floats | tuple[Floats, Floats]] = []
        for a, distance in enumerate(self.distances):
            codes = self.codes[:, a]
            low, high = (
                each.reduceat(codes, self.starts[:-1]) for each in (np.minimum, np.maximum)
            )
            if isinstance(distance, Line):
                known = low >= 0
                found.append(
                    (
                        np.where(known, distance.places[np.maximum(low, 0)], -np.inf),
                        np.where(known, distance.places[high], np.inf),
                    )
                )
            else:
                everything = np.arange(len(distance))
                held = np.zeros((len(self.starts) - 1, len(everything) + 1), dtype=bool)
                held[np.repeat(np.arange(len(held)), np.diff(self.starts)), codes] = (
                    True  # -1 is the last
                )
                few = len(everything) <= _FEW
                away = (
                    [
                        np.where(held, each, np.inf).min(axis=1)
                        for each in _away(distance, everything)
                    ]
                    if few
                    else [np.zeros(len(held))]
                )
                found.append(np.stack(away))
        return found

    def at_least(self, persons: Ints) -> Floats:
        """How far each block is from each of some persons, at least, shape (c, b); ``persons`` (c,
        d) are codes.
        """
        total = np.zeros((len(persons), len(self.starts) - 1))
        for a, (bound, distance) in enumerate(zip(self._bounds, self.distances, strict=True)):
            if isinstance(distance, Line) and isinstance(bound, tuple):
                place = distance.places[persons[:, a], None]
                total += np.maximum(np.maximum(bound[0] - place, place - bound[1]), 0)
            elif len(bound) > 1:
                total += bound[persons[:, a]]
        return total


def nearest(blocks: Blocks, persons: Ints, changes: int) -> Iterator[Ints]:
    """For each person (codes, shape (p, d)) the rows to which no other that differs on ``changes``
    attributes is nearer.

    A distance is the sum over the attributes; a value that no domain has is 1 from all others.
    Where no row differs on so many, all are as near.
    """
    step = max(1, _AT_ONCE // (len(blocks.starts) - 1))
    for start in range(0, len(persons), step):
        some = persons[start : start + step]
        away = [_away(distance, some[:, a]) for a, distance in enumerate(blocks.distances)]
        for i, bounds in enumerate(blocks.at_least(some)):
            yield _nearest(blocks, some[i], [each[i] for each in away], bounds, changes)


def _nearest(
    blocks: Blocks, person: Ints, away: list[Floats], bounds: Floats, changes: int
) -> Ints:
    """The nearest rows of one person, by looking into one block after the other until all others
    are too far.
    """
    order = np.argsort(bounds)
    bounds, least, done, step = bounds[order], np.inf, 0, 4
    found: list[tuple[Ints, Floats]] = []
    while done < len(order) and bounds[done] <= _limit(least):
        upto = max(
            done + 1, min(done + step, int(np.searchsorted(bounds, _limit(least), side="right")))
        )
        at = ranges(blocks.starts[order[done:upto]], blocks.starts[order[done:upto] + 1])
        codes = blocks.codes[at]
        may_be = (codes != person).sum(axis=1) >= changes
        at, codes = at[may_be], codes[may_be]
        total = np.zeros(len(at))
        for a, distances in enumerate(away):
            total += distances[codes[:, a]]
        least = min(least, float(total.min(initial=np.inf)))
        found.append((at, total))
        done, step = upto, 4 * step
    if not np.isfinite(least):
        return blocks.row
    at, total = (np.concatenate(side) for side in zip(*found, strict=True))
    return blocks.row[at[total <= _limit(least)]]


def _away(distance: Distance, codes: Ints) -> Floats:
    """The distance of some values to every value of the domain, and at the end to a value that is
    in no domain.
    """
    return np.concatenate([distance.to_all(codes), np.ones((len(codes), 1))], axis=1)


def _widths(codes: Ints, distances: Sequence[Distance]) -> list[float]:
    """How far the first and the last code of each attribute are apart, in order to choose a cut; -1
    where all are the same.
    """
    ends = zip(codes.min(axis=0).tolist(), codes.max(axis=0).tolist(), distances, strict=True)
    return [
        (
            -1.0
            if low == high
            else 1.0
            if low < 0
            else float(distance.to_all(np.array([low]))[0, high])
        )
        for low, high, distance in ends
    ]


def _limit(least: float) -> float:
    return least * (1 + _ROUNDING) + _ROUNDING**2


def ranges(starts: Ints, ends: Ints) -> Ints:
    """The whole numbers from each start to below its end, one after the other."""
    length = ends - starts
    places: Ints = np.arange(int(length.sum())) + np.repeat(
        starts - (np.cumsum(length) - length), length
    )
    return places
