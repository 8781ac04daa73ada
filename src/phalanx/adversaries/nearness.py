"""How far the values of a person are from those of published rows, attribute by attribute, and which rows are nearest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from phalanx.adversaries.disclosure import Floats
from phalanx.adversaries.records import Records
from phalanx.data.domain import Domain
from phalanx.errors import PlanError, did_you_mean
from phalanx.guarantees.exact import Ints

Bools = npt.NDArray[np.bool_]

WORDS: Final = ("l1", "hierarchy", "equal")
"""What a distance may be called; else it is given as a matrix."""

_AT_ONCE: Final = 1 << 18
"""Pairs of a person and a row that are held at once: few enough for a processor's cache."""
_ROUNDING: Final = 1e-9
"""More than rounding costs a distance: below this, two are equal."""


class Distance(Protocol):
    """How far the values of one attribute are from each other."""

    def to_all(self, codes: Ints) -> Floats:
        """The distance of some values to every value of the domain, shape (c, len(domain))."""


@dataclass(frozen=True, eq=False)
class Line:
    """Numbers and days by how far apart they are, over the width of the domain."""

    places: Floats

    def to_all(self, codes: Ints) -> Floats:
        """The difference of places."""
        return np.abs(self.places[codes][:, None] - self.places[None, :])


@dataclass(frozen=True, eq=False)
class Levels:
    """Values by the level on which their paths meet, over the height of the tree."""

    ancestors: Ints
    """The node above every code on each level below the root, the leaf first, shape (height, domain)."""

    def to_all(self, codes: Ints) -> Floats:
        """The share of levels on which the nodes differ."""
        apart = self.ancestors[:, codes][:, :, None] != self.ancestors[:, None, :]
        return np.asarray(apart.mean(axis=0))


@dataclass(frozen=True, eq=False)
class Matrix:
    """Values by a matrix that was given."""

    matrix: Floats

    def to_all(self, codes: Ints) -> Floats:
        """The rows of the matrix."""
        return self.matrix[codes]


def distance_of(name: str, domain: Domain, asked: Any = None) -> Distance:
    """The distance that is asked for, else l1 for numbers and dates, the hierarchy for values that have one, and 0 or 1 for all others.

    PlanError where an attribute has no places on a line or no hierarchy, or a matrix does not say all it must.
    """
    on_a_line = domain.type in ("numeric", "date")
    if isinstance(asked, Mapping):
        return Matrix(_matrix(name, domain, asked))
    word = ("l1" if on_a_line else "equal" if domain.hierarchy is None else "hierarchy") if asked is None else asked
    if word == "equal":
        return Levels(np.arange(len(domain))[None, :])
    if word == "l1" and on_a_line:
        return Line(domain.normalised)
    if word == "hierarchy" and domain.ancestors is not None:
        levels = [domain.ancestors[level].fill_null("").rank("dense").to_numpy().astype(np.int64) for level in domain.ancestors.columns[:-1]]
        return Levels(np.stack(levels))
    if word in WORDS:
        lacks = f"which is {domain.type}" if word == "l1" else "which has none"
        raise PlanError(f"distances asks for {word} of {name!r}, {lacks}; leave it out, or use 'equal'.")
    raise PlanError(f"distances of {name!r} is {asked!r}{did_you_mean(str(asked), WORDS) or '; use l1, hierarchy, equal, or a matrix.'}")


def _matrix(name: str, domain: Domain, asked: Mapping[Any, Any]) -> Floats:
    """The matrix over the domain; what is given one way holds the other way, too, and a value is at distance 0 from itself."""
    said = {(str(a), str(b)): d for a, row in asked.items() if isinstance(row, Mapping) for b, d in row.items()}
    values = ["" if value is None else str(value) for value in domain.values.to_list()]
    found = [[0.0 if i == j else said.get((a, b), said.get((b, a))) for j, b in enumerate(values)] for i, a in enumerate(values)]
    if any(isinstance(d, bool) or not isinstance(d, int | float) or not 0 <= d < float("inf") for row in found for d in row):
        raise PlanError(f"distances of {name!r} is a matrix without a distance of 0 or more for some two of its {len(values)} values; give one for each two.")
    return np.array(found, dtype=np.float64).reshape(len(values), len(values))


def nearest(records: Records, distances: Sequence[Distance], persons: Ints, changes: int) -> Iterator[tuple[slice, Bools]]:
    """Some of the persons at a time: which they are, and for each row whether no other that differs on ``changes`` attributes is nearer, shape (c, n).

    A distance is the sum over the attributes; a value that no domain has is 1 from all others. Where no row differs on so many, all are as near.
    """
    n, d = records.rows.shape
    rows = [np.ascontiguousarray(records.rows[:, a]) for a in range(d)]
    step = max(1, _AT_ONCE // n)
    for start in range(0, len(persons), step):
        part = slice(start, min(start + step, len(persons)))
        some = persons[part]
        total, changed = np.zeros((len(some), n)), np.zeros((len(some), n), dtype=np.uint16)
        for a, distance in enumerate(distances):
            codes = records.persons[some, a]
            away = np.concatenate([distance.to_all(codes), np.ones((len(some), 1))], axis=1)  # the last for code -1
            total += away[:, rows[a]]
            changed += codes[:, None] != rows[a]
        total[changed < changes] = np.inf
        least = total.min(axis=1)[:, None]
        yield part, total <= np.where(np.isfinite(least), least * (1 + _ROUNDING) + _ROUNDING**2, np.inf)
