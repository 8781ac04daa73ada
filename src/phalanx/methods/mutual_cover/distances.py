# SPDX-License-Identifier: Apache-2.0
"""How far the values of an attribute are from one another: along a line, up a hierarchy, or as a
matrix says.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from phalanx.data.distance_matrix import distance_matrix
from phalanx.data.domain import Domain
from phalanx.errors import PlanError, SchemaError, did_you_mean
from phalanx.methods.mutual_cover.outputs import Floats, Ints, Problems

WORDS = ("l1", "hierarchy", "equal")
"""What a plan may call a distance; else it gives a matrix."""


class Distance(Protocol):
    """The distances of one attribute, over the codes of its domain."""

    @property
    def greatest(self) -> float:
        """The greatest distance of two values of the domain."""

    @property
    def line(self) -> Floats:
        """Places of the domain's values that grow with the code, so that neighbours are as far
        apart as they are.
        """

    def problems(self, codes: Ints, counts: Ints, starts: Ints) -> Problems:
        """Problems whose classes have these codes and counts, as in :class:`Problems`."""


@dataclass(frozen=True, eq=False)
class Line:
    """Numbers and days by how far apart they are, over the width of the domain (l1)."""

    places: Floats

    @property
    def greatest(self) -> float:
        """The first and the last value are 1 apart; a domain of one value has no distances."""
        return float(len(self.places) > 1)

    @property
    def line(self) -> Floats:
        """The places, from 0 to 1."""
        width = float(self.places[-1] - self.places[0]) if len(self.places) else 0.0
        return (self.places - self.places[0]) / (width or 1.0) if len(self.places) else self.places

    def problems(self, codes: Ints, counts: Ints, starts: Ints) -> Problems:
        """Problems whose classes have these codes and counts."""
        width = float(self.places[-1] - self.places[0]) if len(self.places) else 0.0
        return Problems.along(self.places[codes], counts, starts, width or 1.0)


@dataclass(frozen=True, eq=False)
class Levels:
    """Values by the level on which their paths meet, over the height of the tree."""

    ancestors: npt.NDArray[np.int32]
    """The node above every code on each level from the leaf to the root, shape (levels, domain)."""

    @property
    def greatest(self) -> float:
        """1 where two values meet in the root alone."""
        height = len(self.ancestors) - 1
        return (
            max(
                (
                    level + 1
                    for level in range(height)
                    if (self.ancestors[level] != self.ancestors[level, 0]).any()
                ),
                default=0,
            )
            / height
        )

    @property
    def line(self) -> Floats:
        """The leaves from left to right, each as far from the one before it as the level says on
        which they meet.
        """
        steps = (self.ancestors[:-1, 1:] != self.ancestors[:-1, :-1]).sum(axis=0) / (
            len(self.ancestors) - 1
        )
        return np.concatenate([[0.0], np.cumsum(steps)])

    def problems(self, codes: Ints, counts: Ints, starts: Ints) -> Problems:
        """Problems whose classes have these codes and counts."""
        return Problems.under(codes, self.ancestors, counts, starts)


@dataclass(frozen=True, eq=False)
class Matrix:
    """Values by a matrix that was given."""

    matrix: Floats

    @property
    def greatest(self) -> float:
        """The greatest that is given for two values of the domain."""
        return float(self.matrix.max(initial=0.0))

    @property
    def line(self) -> Floats:
        """The values in order, each as far from the one before it as the matrix says, over the
        greatest distance of all.
        """
        return np.concatenate([[0.0], np.cumsum(np.diagonal(self.matrix, 1))]) / (
            self.greatest or 1.0
        )

    def problems(self, codes: Ints, counts: Ints, starts: Ints) -> Problems:
        """Problems whose classes have these codes and counts."""
        return Problems.between(codes, self.matrix, counts, starts)


def distance_of(name: str, domain: Domain, asked: Any = None) -> Distance:
    """The distance that a plan asks for, else l1 for numbers and dates, the hierarchy for values
    that have one, and 0 or 1 for all others.

    SchemaError where an attribute has no places on a line or no hierarchy; PlanError for a matrix
    that does not say all it must.
    """
    on_a_line = domain.type in ("numeric", "date")
    if isinstance(asked, Mapping):
        return Matrix(distance_matrix(f"[method] distances of {name!r}", domain, asked))
    if asked is None:
        asked = "l1" if on_a_line else "equal" if domain.hierarchy is None else "hierarchy"
    if asked == "l1":
        if not on_a_line:
            raise SchemaError(
                f"[method] distances asks for l1 on {name!r}, which is {domain.type}; declare it"
                " numeric, or use 'hierarchy' or 'equal'."
            )
        return Line(domain.positions)
    if asked == "equal":
        everything = np.arange(len(domain), dtype=np.int32)
        return Levels(np.stack([everything, np.zeros_like(everything)]))
    ancestors = domain.ancestors
    if ancestors is None:
        raise SchemaError(
            f"[method] distances asks for the hierarchy of {name!r}, which has none; declare one,"
            " or use 'equal' or 'l1'."
        )
    return Levels(
        np.stack(
            [
                ancestors[level].rank("dense").fill_null(0).to_numpy().astype(np.int32)
                for level in ancestors.columns
            ]
        )
    )


def check_asked(asked: Mapping[str, Any]) -> None:
    """PlanError where a distance is neither a known word nor a matrix of distances of 0 or more."""
    if not isinstance(asked, Mapping):
        raise PlanError(
            f"[method] distances = {asked!r} is no table; write {{ age = 'l1' }}, with a distance"
            " for each attribute that needs one."
        )
    for name, word in asked.items():
        if isinstance(word, str):
            if word not in WORDS:
                raise PlanError(
                    f"[method] distances of {name!r} is"
                    f" {word!r}{did_you_mean(word, WORDS) or '; use l1, hierarchy, equal, or a matrix.'}"
                )
        elif not isinstance(word, Mapping) or not all(
            isinstance(row, Mapping) for row in word.values()
        ):
            raise PlanError(
                f"[method] distances of {name!r} is neither a word nor a matrix; write l1,"
                " hierarchy, equal, or { a = { b = 1 } }."
            )
        elif any(
            isinstance(d, bool) or not isinstance(d, int | float) or not 0 <= d < float("inf")
            for row in word.values()
            for d in row.values()
        ):
            raise PlanError(
                f"[method] distances of {name!r} has a distance that is no number of 0 or more;"
                " correct it."
            )
