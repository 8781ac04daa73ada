# SPDX-License-Identifier: Apache-2.0
"""How far the values of an attribute are from one another: along a line, up a hierarchy, or as a
matrix says. Makers and adversaries ask the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Floats, Ints
from phalanx.data.domain import Domain
from phalanx.errors import PlanError, did_you_mean

WORDS: Final = ("l1", "hierarchy", "equal")
"""What a distance may be called; else it is given as a matrix."""


class Distance(Protocol):
    """The distances of one attribute, over the codes of its domain."""

    def __len__(self) -> int: ...

    @property
    def line(self) -> Floats:
        """Places of the domain's values that grow with the code, so that neighbours are as far
        apart as they are.
        """

    def between(self, one: Ints, other: Ints) -> Floats:
        """From the values with some codes to those with others, in the shape of both."""


@dataclass(frozen=True, eq=False)
class Line:
    """Numbers and days by how far apart they are, over the width of the domain (l1)."""

    places: Floats

    def __len__(self) -> int:
        return len(self.places)

    @property
    def _width(self) -> float:
        return (float(self.places[-1] - self.places[0]) if len(self.places) else 0.0) or 1.0

    @property
    def line(self) -> Floats:
        """The places, from 0 to 1."""
        return (self.places - self.places[:1]) / self._width

    def between(self, one: Ints, other: Ints) -> Floats:
        """Whole places and a width find more equal distances than places from 0 to 1."""
        return self.apart(self.places[one], self.places[other])

    def apart(self, one: Floats, other: Floats) -> Floats:
        """The same of places."""
        away = np.asarray(one - other)
        np.abs(away, out=away)
        away /= self._width
        return away


@dataclass(frozen=True, eq=False)
class Levels:
    """Values by the level on which their paths meet, over the height of the tree."""

    ancestors: npt.NDArray[np.int32]
    """The node above every code on each level from the leaf to the root, shape (levels, domain)."""

    def __len__(self) -> int:
        return len(self.ancestors[0])

    @property
    def line(self) -> Floats:
        """The leaves from left to right, each as far from the one before it as the level says on
        which they meet.
        """
        codes = np.arange(len(self))
        return np.concatenate([[0.0], np.cumsum(self.between(codes[1:], codes[:-1]))])

    def between(self, one: Ints, other: Ints) -> Floats:
        """On so many levels below the root the nodes differ."""
        apart = np.zeros(np.broadcast_shapes(one.shape, other.shape))
        for nodes in self.ancestors[:-1]:
            apart += nodes[one] != nodes[other]
        return apart / (len(self.ancestors) - 1)


@dataclass(frozen=True, eq=False)
class Matrix:
    """Values by a matrix that was given."""

    matrix: Floats

    def __len__(self) -> int:
        return len(self.matrix)

    @property
    def line(self) -> Floats:
        """The values in order, each as far from the one before it as the matrix says, over the
        greatest distance of all.
        """
        steps = np.concatenate([[0.0], np.cumsum(np.diagonal(self.matrix, 1))])
        return np.asarray(steps / (self.matrix.max(initial=0.0) or 1.0))

    def between(self, one: Ints, other: Ints) -> Floats:
        """As given."""
        return self.matrix[one, other]


def distance_of(where: str, name: str, domain: Domain, asked: Any = None) -> Distance:
    """The distance that is asked for, else l1 for numbers and dates, the hierarchy for values that
    have one, and 0 or 1 for all others.

    PlanError, which begins with ``where``, for an attribute that has no places on a line or no
    hierarchy, and a matrix that does not say all it must.
    """
    on_a_line = domain.type in ("numeric", "date")
    if isinstance(asked, Mapping):
        return Matrix(distance_matrix(f"{where} of {name!r}", domain, asked))
    if asked is None:
        asked = "l1" if on_a_line else "equal" if domain.hierarchy is None else "hierarchy"
    if asked == "l1" and not on_a_line:
        raise PlanError(
            f"{where} asks for l1 on {name!r}, which is {domain.type}; declare it numeric, or use"
            " 'hierarchy' or 'equal'."
        )
    if asked == "l1":
        return Line(domain.positions)
    if asked == "equal":
        everything = np.arange(len(domain), dtype=np.int32)
        return Levels(np.stack([everything, np.zeros_like(everything)]))
    ancestors = domain.ancestors
    if ancestors is None:
        raise PlanError(
            f"{where} asks for the hierarchy of {name!r}, which has none; declare one, or use"
            " 'equal' or 'l1'."
        )
    levels = [ancestors[level].rank("dense").fill_null(0) for level in ancestors.columns]
    return Levels(np.stack([level.to_numpy().astype(np.int32) for level in levels]))


def check_asked(where: str, asked: Mapping[str, Any]) -> None:
    """PlanError, which begins with ``where``, for a distance that is neither a known word nor a
    matrix of distances of 0 or more.
    """
    if not isinstance(asked, Mapping):
        raise PlanError(
            f"{where} = {asked!r} is no table; write {{ age = 'l1' }}, with a distance for each"
            " attribute that needs one."
        )
    for name, word in asked.items():
        if isinstance(word, str):
            if word not in WORDS:
                hint = did_you_mean(word, WORDS) or "; use l1, hierarchy, equal, or a matrix."
                raise PlanError(f"{where} of {name!r} is {word!r}{hint}")
        elif not isinstance(word, Mapping) or not all(
            isinstance(row, Mapping) for row in word.values()
        ):
            raise PlanError(
                f"{where} of {name!r} is neither a word nor a matrix; write l1, hierarchy, equal,"
                " or { a = { b = 1 } }."
            )
        elif not all(_is_distance(d) for row in word.values() for d in row.values()):
            raise PlanError(
                f"{where} of {name!r} has a distance that is no number of 0 or more; correct it."
            )


def distance_matrix(what: str, domain: Domain, asked: Mapping[Any, Any]) -> Floats:
    """The distances between all values of a domain, shape (len, len): ``asked[a][b]``, keys being
    values or their text, the empty one a missing value.

    What is given one way holds the other way, too, and a value is at distance 0 from itself.
    ``what`` begins the error: PlanError where no distance of 0 or more is given for two of the
    values.

    >>> import polars as pl
    >>> distance_matrix("distances of 'town'", Domain("categorical", pl.Series(["a", "b"])), {"a": {"b": 2}}).tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    values = ["" if value is None else _text(value) for value in domain.values.to_list()]
    pairs = {
        (_text(a), _text(b)): d
        for a, row in asked.items()
        if isinstance(row, Mapping)
        for b, d in row.items()
    }
    matrix = [
        [0.0 if i == j else pairs.get((a, b), pairs.get((b, a))) for j, b in enumerate(values)]
        for i, a in enumerate(values)
    ]
    if not all(_is_distance(d) for row in matrix for d in row):
        raise PlanError(
            f"{what} is a matrix without a distance of 0 or more for some two of its {len(values)}"
            " values; give one for each two."
        )
    return np.array(matrix, dtype=np.float64).reshape(len(values), len(values))


def _is_distance(number: Any) -> bool:
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return is_number and 0 <= number < float("inf")


def _text(value: Any) -> str:
    """A value as a plan writes it in a key."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
