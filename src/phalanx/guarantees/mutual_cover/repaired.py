# SPDX-License-Identifier: Apache-2.0
"""What is published where rows that came out unchanged are changed afterwards, as in the paper of
mutual cover: not what the random output tables say.

Of a tuple of classes i_1 .. i_d, all attributes stay with probability P = prod_a p_a(i_a, i_a).
Given that, attribute a is among the changed ones with the group's r_a, and shows each of the
group's other values alike. So it is published with

    p_a(i_a, j) + P r_a / (k_a - 1) for another value j, and p_a(i_a, i_a) - P r_a for its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, prod
from typing import Final

import numpy as np
import numpy.typing as npt

from phalanx.exact import Ints
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows

Floats = npt.NDArray[np.float64]

_MOST: Final = 1 << 12
"""So many ways to choose the attributes that are changed are followed, and no more."""
_CELLS: Final = 1 << 21
"""So many cells are looked at together."""
_ROUNDING: Final = 1e-13
"""More than rounding costs a probability."""


def published_share(rows: DrawnRows) -> Fraction | None:
    """The largest share of a published value that one tuple gives, as it is after rows were
    changed; None for too many ways to change them.

    Floating point only chooses the columns that may have it, by bounds on what rounding costs;
    these are computed as fractions.
    """
    outputs = rows.outputs
    d = len(outputs.attributes)
    if sum(comb(d, size) for size in range(outputs.changes + 1)) > _MOST or outputs.weights is None:
        return None
    chosen = np.where(np.diff(outputs.starts)[outputs.of] > 1, outputs.weights, 0)
    columns = _columns(rows, _chosen(chosen, outputs.changes))
    candidates = columns.high >= columns.low.max(initial=0.0)
    places, high = columns.places[candidates], columns.high[candidates]
    exact, found = _Exact(rows, chosen), Fraction(0)
    for i in np.argsort(-high, kind="stable").tolist():
        if found >= high[i]:
            break
        group, a, column = places[i].tolist()
        found = max(found, exact.share(group, a, column))
    return found


def _chosen(weights: Ints, changes: int) -> Floats:
    """With which probability each attribute is among the changed ones of a row that came out
    unchanged, by group, shape (g, d).
    """
    d = weights.shape[1]
    found, total = np.zeros(weights.shape), weights.sum(axis=1)
    reached: dict[tuple[int, ...], Floats] = {(): np.ones(len(weights))}
    for size in range(changes):
        further: dict[tuple[int, ...], Floats] = {
            some: np.zeros(len(weights)) for some in combinations(range(d), size + 1)
        }
        for some, probability in reached.items():
            left = total - weights[:, list(some)].sum(axis=1)
            for a in set(range(d)) - set(some):
                step = np.where(left > 0, probability * weights[:, a] / np.maximum(left, 1), 0.0)
                further[tuple(sorted((*some, a)))] += step
                found[:, a] += step
        reached = further
    return found


@dataclass(frozen=True, eq=False)
class _Columns:
    """All columns of all tables, and between which bounds the largest share of a tuple lies, shape
    (columns,) each.
    """

    places: Ints
    """Group, attribute and column, shape (columns, 3)."""
    low: Floats
    high: Floats


def _columns(rows: DrawnRows, chosen: Floats) -> _Columns:
    """From the most, the least and the sum of P over the tuples of each class."""
    parts = list(_parts(rows, chosen))
    if not parts:
        return _Columns(np.zeros((0, 3), np.int64), np.zeros(0), np.zeros(0))
    places, low, high = zip(*parts, strict=True)
    return _Columns(np.concatenate(places), np.concatenate(low), np.concatenate(high))


def _parts(rows: DrawnRows, chosen: Floats) -> Iterator[tuple[Ints, Floats, Floats]]:
    """The columns of some groups' tables on one attribute, some groups at a time."""
    outputs, classes = rows.outputs, rows.classes
    stays = (rows.units(classes.own) / outputs.denominator).prod(axis=1)
    sizes = np.diff(outputs.starts)[outputs.of]
    for a in range(len(outputs.attributes)):
        first = classes.first[a]
        of_class = first[classes.group] + classes.own[:, a]
        most, least = np.zeros(first[-1]), np.ones(first[-1])
        np.maximum.at(most, of_class, stays)
        np.minimum.at(least, of_class, stays)
        summed = np.bincount(of_class, weights=stays, minlength=first[-1])
        for k in np.unique(sizes[:, a]).tolist():
            of_k = np.flatnonzero(sizes[:, a] == k)
            step = max(1, _CELLS // k**2)
            for begin in range(0, len(of_k), step):
                groups = of_k[begin : begin + step]
                table = outputs.of[groups, a]
                units = (
                    outputs.units[outputs.cells[table][:, None] + np.arange(k * k)].reshape(
                        -1, k, k
                    )
                    / outputs.denominator
                )
                counts = outputs.counts[outputs.starts[table][:, None] + np.arange(k)]
                at = first[groups][:, None] + np.arange(k)
                away = chosen[groups, a][:, None]
                to = away / max(k - 1, 1) if k > 1 else np.zeros_like(away)
                own = np.arange(k)
                given = units + (most[at] * to)[:, :, None]
                given[:, own, own] = units[:, own, own] - least[at] * away
                mass = (
                    (units * counts[:, :, None]).sum(axis=1)
                    + to * (summed[at].sum(axis=1)[:, None] - summed[at])
                    - away * summed[at]
                )
                wrong = _ROUNDING * (counts.sum(axis=1)[:, None] + 1)
                bare = ~units.any(
                    axis=1
                    # nobody gives it anything but by being changed, so that nothing is taken off and
                    # rounding is relative
                )
                sure = np.where(bare, mass > 0, mass > 2 * wrong)
                share = np.where(sure, given.max(axis=1) / np.where(sure, mass, 1), 0.5)
                error = np.where(
                    sure, np.where(bare, wrong, 2 * wrong / np.where(sure, mass, 1)), 0.5
                )
                nobody = bare & (mass == 0)
                low, high = (
                    np.where(nobody, 0, np.clip(share + by, 0, 1)).ravel() for by in (-error, error)
                )
                places = np.stack(np.broadcast_arrays(groups[:, None], a, own), axis=2).reshape(
                    -1, 3
                )
                yield places.astype(np.int64), low, high


class _Exact:
    """Shares of columns as fractions, each group looked at once."""

    def __init__(self, rows: DrawnRows, weights: Ints) -> None:
        self._rows, self._weights = rows, weights
        self._order = np.argsort(rows.classes.group, kind="stable")
        self._ends = np.searchsorted(rows.classes.group[self._order], np.arange(len(weights) + 1))
        self._stays = rows.stay
        self._known: dict[bytes, Fraction] = {}

    def share(self, group: int, a: int, column: int) -> Fraction:
        """The largest share of the column that a tuple of the group gives; 0 for a column that
        nobody gives anything.
        """
        outputs = self._rows.outputs
        members = self._order[self._ends[group] : self._ends[group + 1]]
        stays, own = self._stays[members], self._rows.classes.own[members, a]
        key = np.concatenate(
            [
                [a, column, outputs.of[group, a]],
                self._weights[group],
                np.column_stack([own, stays]).ravel(),
            ]
        ).tobytes()
        if key not in self._known:
            self._known[key] = self._share(
                outputs.table(int(outputs.of[group, a])).tolist(),
                self._away(group, a),
                own.tolist(),
                stays.tolist(),
                column,
            )
        return self._known[key]

    def _share(
        self,
        table: list[list[int]],
        away: Fraction,
        own: list[int],
        stays: list[list[int]],
        column: int,
    ) -> Fraction:
        whole = self._rows.outputs.denominator
        given = []
        for i, units in zip(own, stays, strict=True):
            moved = Fraction(prod(units), whole ** len(units)) * away
            given.append(
                Fraction(table[i][column], whole)
                + (-moved if i == column else moved / (len(table) - 1))
            )
        total = sum(given, Fraction(0))
        return max(given) / total if total else Fraction(0)

    def _away(self, group: int, a: int) -> Fraction:
        """With which probability the attribute is among the changed ones."""
        weights = self._weights[group].tolist()
        if not weights[a]:
            return Fraction(0)
        found, total, reached = Fraction(0), sum(weights), {frozenset[int](): Fraction(1)}
        for _ in range(self._rows.outputs.changes):
            further: dict[frozenset[int], Fraction] = {}
            for some, probability in reached.items():
                left = total - sum(weights[b] for b in some)
                for b, weight in enumerate(weights):
                    if weight and b not in some:
                        step = probability * Fraction(weight, left)
                        further[some | {b}] = further.get(some | {b}, Fraction(0)) + step
                        found += step if b == a else 0
            reached = further
        return found
