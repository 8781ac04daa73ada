# SPDX-License-Identifier: Apache-2.0
"""How probable each row of a group was for each of its persons, by the random output tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from phalanx.adversaries.records.rows import BITS, bits_of
from phalanx.arrays import Bools, Floats, Ints
from phalanx.guarantees.mutual_cover.drawn_rows import DrawnRows

_ROOM: Final = 2**62
"""Sums that could pass this are computed with Python's integers."""


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

        ``tuples`` and ``rows`` (n,): two persons of one group each.
        """
        changed = self.drawn.classes.own[tuples] != self.drawn.shown[rows]
        with np.errstate(divide="ignore"):
            logs = self._logs(tuples, rows, changed)
        is_possible = logs > -np.inf
        return tuples[is_possible], rows[is_possible], logs[is_possible]

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

    def _logs(self, tuples: Ints, rows: Ints, changed: Bools) -> Floats:
        """Of each line the set of its attributes that changed, for each of them what it became, and
        what each other attribute shows; the mean over all lines.
        """
        outputs, d = self.drawn.outputs, changed.shape[1]
        whole, who, at = outputs.denominator, *np.unique(tuples, return_inverse=True)
        gives = np.stack([self._units(tuples, rows, a) for a in range(d)], axis=1) / whole
        leaves = self._leave[tuples] / whole
        became = gives / np.where(leaves > 0, leaves, 1.0)
        total = np.zeros(len(tuples))
        for first in range(d):
            order = outputs.order[first:] + outputs.order[:first]
            on = on_line(self._leave[who], order, outputs.changes * whole)
            laid = order[: int(on.sum(axis=1).max(initial=0))]  # the others change by themselves
            sets, chances = changed_together(np.where(on, self._leave[who], 0), laid, whole)
            is_so = (sets[:, at] == bits_of(changed & on[at])[:, :, None]).all(axis=0)
            shows = np.where(on[at], np.where(changed, became, 1.0), gives)
            total += np.where(is_so, chances[at], 0.0).sum(axis=1) * shows.prod(axis=1)
        logs: Floats = np.log(total / d)
        return logs


def on_line(leave: Ints, order: Sequence[int], enough: int) -> Bools:
    """Whether an attribute of a tuple is laid along the line, or drawn by itself, shape (p, d); the
    line ends where it is long ``enough``.

    ``leave`` (p, d): the units with which each attribute changes.
    """
    kind: Any = object if (leave.shape[1] + 1) * enough >= _ROOM else np.int64
    ordered = leave[:, list(order)].astype(kind)
    is_on_line = np.empty(leave.shape, dtype=np.bool_)
    is_on_line[:, list(order)] = np.cumsum(ordered, axis=1) - ordered < enough
    return is_on_line


def changed_together(leave: Ints, order: Sequence[int], whole: int) -> tuple[Ints, Floats]:
    """Which attributes of a tuple change together, and how probable it is.

    ``leave`` (p, d): the units with which each attribute changes. Those of the n in ``order`` are
    laid along a line, and the set that changes is the same between two neighbours of the n + 1
    points, modulo the denominator, at which one begins or ends. Returns the sets, as words of bits,
    shape (words, p, n + 1), and their probabilities, shape (p, n + 1); a set may stand there
    several times, or with probability 0.
    """
    d, n = leave.shape[1], len(order)
    kind: Any = object if (d + 1) * whole >= _ROOM else np.int64
    leave = leave.astype(kind)
    begins = np.zeros((len(leave), n + 1), dtype=kind)
    begins[:, 1:] = np.cumsum(leave[:, list(order)], axis=1)
    begun = begins % whole
    points = np.sort(begun, axis=1)
    ends = np.concatenate([points[:, 1:], np.full((len(leave), 1), whole, dtype=kind)], axis=1)
    sets = np.zeros((-(-d // BITS), len(leave), n + 1), dtype=np.int64)
    for place, a in enumerate(order):
        behind = points - begun[:, place, None]
        within = behind + whole * (behind < 0) < leave[:, a, None]
        sets[a // BITS] |= within.astype(np.int64) << a % BITS
    return sets, (ends - points).astype(np.float64) / whole
