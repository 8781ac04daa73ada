# SPDX-License-Identifier: Apache-2.0
"""How probable it was that a tuple publishes a given row of its group, by the law under which rows
were drawn (see :class:`OutputTables`).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phalanx.adversaries.records.subsets import bits_of
from phalanx.errors import ReleaseError
from phalanx.exact import Ints
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows
from phalanx.release.evidence.outputs import OutputTables

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

_ROOM: Final = 2**62
"""Sums that could pass this are computed with Python's integers."""
_MOST_CHANGES: Final = 16
"""Sets of at most so many attributes are changed afterwards in the paper's way; there are 2^16 ways
to choose a part of them.
"""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The published persons of a perturbed release, numbered as in ``drawn``, and how probable each
    row of their group was for each of them.
    """

    drawn: DrawnRows
    """Own and published values of every person, by sound tables of the release."""

    def possible(self, tuples: Ints, rows: Ints) -> tuple[Ints, Ints, Floats]:
        """Those pairs of a person and a person's row in which the first may have published the
        second, and the logarithms of how probable it was.

        ``tuples`` and ``rows`` (n,): two persons of one group each. ReleaseError where rows were
        changed afterwards on too many attributes.
        """
        changed = self.drawn.classes.own[tuples] != self.drawn.shown[rows]
        with np.errstate(divide="ignore"):
            logs = (
                self._together(tuples, rows, changed)
                if self.drawn.outputs.weights is None
                else self._repaired(tuples, rows, changed)
            )
        kept = logs > -np.inf
        return tuples[kept], rows[kept], logs[kept]

    @cached_property
    def _sets(self) -> tuple[Ints, Floats]:
        return changed_together(self._leave, self.drawn.outputs)

    @cached_property
    def _leave(self) -> Ints:
        """The units with which every person changes, shape (p, d)."""
        return self.drawn.outputs.denominator - self.drawn.units(self.drawn.classes.own)

    @cached_property
    def _classes(self) -> Ints:
        """How many classes every person's table has, shape (p, d)."""
        return np.diff(self.drawn.outputs.starts)[self.drawn.table]

    def _units(self, tuples: Ints, rows: Ints, a: int) -> Ints:
        """How many units persons give on one attribute to the values that rows show; 0 for a value
        that their group does not have.
        """
        drawn, shown = self.drawn, self.drawn.shown[rows, a]
        cell = (
            drawn.outputs.cells[drawn.table[tuples, a]]
            + drawn.classes.own[tuples, a] * self._classes[tuples, a]
            + np.maximum(shown, 0)
        )
        return np.where(shown >= 0, drawn.outputs.units[cell], np.int64(0))

    def _together(self, tuples: Ints, rows: Ints, changed: Bools) -> Floats:
        """The set of attributes that changed, and for each of them what it became."""
        sets, chances = self._sets
        chance = np.where(sets[tuples] == bits_of(changed)[:, None], chances[tuples], 0.0).sum(
            axis=1
        )
        logs: Floats = np.log(chance)
        for a in range(changed.shape[1]):
            some = np.flatnonzero(changed[:, a] & (logs > -np.inf))
            logs[some] += np.log(self._units(tuples[some], rows[some], a)) - np.log(
                self._leave[tuples[some], a]
            )
        return logs

    def _repaired(self, tuples: Ints, rows: Ints, changed: Bools) -> Floats:
        """Every attribute by itself, where the row came out changed; and where it did not, what was
        changed afterwards.
        """
        outputs, d = self.drawn.outputs, changed.shape[1]
        group, denominator = self.drawn.classes.group[tuples], np.log(float(outputs.denominator))
        logs = np.zeros(len(tuples))
        for a in range(d):
            logs += np.log(self._units(tuples, rows, a)) - denominator
        eligible = np.where(
            np.diff(outputs.starts)[outputs.of] > 1,
            1 if outputs.weights is None else outputs.weights,
            0,
        )
        times = np.minimum((eligible > 0).sum(axis=1), outputs.changes)[group]
        logs[~changed.any(axis=1) & (times > 0)] = -np.inf
        after = np.flatnonzero(
            (times > 0) & (changed.sum(axis=1) == times) & (self.drawn.shown[rows] >= 0).all(axis=1)
        )
        stays = (
            np.log(outputs.denominator - self._leave[tuples[after]]).sum(axis=1) - d * denominator
        )
        others = np.where(
            changed[after], np.log(np.maximum(self._classes[tuples[after]] - 1, 1)), 0.0
        ).sum(axis=1)
        logs[after] = np.logaddexp(
            logs[after], stays - others + np.log(_chosen(eligible[group[after]], changed[after]))
        )
        return logs


def changed_together(leave: Ints, outputs: OutputTables) -> tuple[Ints, Floats]:
    """Which attributes of a tuple change together, and how probable it is.

    ``leave`` (p, d): the units with which each attribute changes. They are laid along a line, and
    the set that changes is the same between two neighbours of the d + 1 points, modulo the
    denominator, at which one begins or ends. Returns the sets, as bits, and their probabilities,
    shape (p, d + 1); a set may stand there several times, or with probability 0.
    """
    whole, d = outputs.denominator, leave.shape[1]
    kind: Any = object if (d + 1) * whole >= _ROOM else np.int64
    leave = leave.astype(kind)
    begins = np.zeros((len(leave), d + 1), dtype=kind)
    begins[:, 1:] = np.cumsum(leave[:, list(outputs.order)], axis=1)
    points = np.sort(begins % whole, axis=1)
    ends = np.concatenate([points[:, 1:], np.full((len(leave), 1), whole, dtype=kind)], axis=1)
    sets = np.zeros((len(leave), d + 1), dtype=np.int64)
    for place, a in enumerate(outputs.order):
        within = (points - begins[:, place, None]) % whole < leave[:, a, None]
        sets |= within.astype(np.int64) << a
    return sets, (ends - points).astype(np.float64) / whole


def _chosen(weights: Ints, held: Bools) -> Floats:
    """How probable it is that attributes drawn one after the other, by their weights, are just
    those that are held, each of shape (n, d).

    ReleaseError where they are more than can be gone through.
    """
    most = int(held.sum(axis=1).max(initial=0))
    if most > _MOST_CHANGES:
        raise ReleaseError(
            f"rows were changed on {most} quasi-identifiers afterwards, and this adversary follows"
            f" at most {_MOST_CHANGES}; look at another release."
        )
    cases, of = np.unique(np.concatenate([weights, held], axis=1), axis=0, return_inverse=True)
    d = weights.shape[1]
    weight, held = cases[:, :d].astype(np.float64), cases[:, d:] > 0
    found = np.zeros(len(cases))
    for size in np.unique(held.sum(axis=1)).tolist():
        some = np.flatnonzero(held.sum(axis=1) == size)
        members = weight[some[:, None], np.nonzero(held[some])[1].reshape(len(some), size)]
        found[some] = _one_after_the_other(members, weight[some].sum(axis=1))
    return np.asarray(found[of.ravel()])


def _one_after_the_other(members: Floats, total: Floats) -> Floats:
    """The probability that draws without putting back take all members before any other, in
    whatever order; ``members`` (n, size) are weights.
    """
    size = members.shape[1]
    reached, taken = np.zeros((1 << size, len(members))), np.zeros((1 << size, len(members)))
    reached[0] = 1
    for some in range(1, 1 << size):
        for i in range(size):
            if some >> i & 1:
                before = some ^ 1 << i
                taken[some] = taken[before] + members[:, i]
                reached[some] += reached[before] * members[:, i] / (total - taken[before])
    return np.asarray(reached[-1])
