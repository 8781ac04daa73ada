# SPDX-License-Identifier: Apache-2.0
"""Rows of a perturbed release beside the tables that they were drawn from and the persons whose
they are: whether they may have been drawn so.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from phalanx.arrays import Bools, Ints, places_in
from phalanx.data.microdata import Microdata
from phalanx.guarantees.consistency.perturbed import codes_of
from phalanx.release.evidence.outputs import Classes, OutputTables
from phalanx.release.forms.perturbed import Perturbed

_ROOM: Final = 2**62
_AT_ONCE: Final = 1 << 20
"""So many persons are looked at together."""


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Every published person's own and published values, as classes of their group's tables."""

    outputs: OutputTables
    classes: Classes
    shown: Ints
    """The class of the value that the person's row shows, -1 for a value that no person of the
    group has, shape (p, d).
    """

    @classmethod
    def of(
        cls, outputs: OutputTables, microdata: Microdata, form: Perturbed, rows: Ints
    ) -> "DrawnRows":
        """Of sound tables, and ``rows`` that tell the published row of each row of the microdata,
        from 1, each once, 0 for none.
        """
        classes = outputs.classes(microdata, rows)
        published = rows[classes.who] - 1
        shown = np.empty_like(classes.own)
        for a, name in enumerate(outputs.attributes):
            domain = microdata.columns[name].domain
            code = codes_of(domain, form.table[name])[published]
            first = classes.first[a]
            cells = (
                np.repeat(np.arange(len(first) - 1), np.diff(first)) * len(domain)
                + classes.codes[a]
            )
            at = places_in(classes.group * len(domain) + code, cells)
            shown[:, a] = np.where((code >= 0) & (at >= 0), at - first[classes.group], -1)
        return cls(outputs, classes, shown)

    def of_persons(self, some: Ints | slice) -> "DrawnRows":
        """The same of ``some`` persons."""
        classes = self.classes
        who, group, own = classes.who[some], classes.group[some], classes.own[some]
        classes = replace(classes, who=who, group=group, own=own)
        return DrawnRows(self.outputs, classes, self.shown[some])

    def unlike_groups(self) -> int:
        """How many groups have other tuples, on some attribute, than the table says."""
        outputs = self.outputs
        unlike = np.zeros(len(outputs.of), np.bool_)
        for a in range(len(outputs.attributes)):
            of, first = outputs.of[:, a], self.classes.first[a]
            k = np.diff(outputs.starts)[of]
            same = np.diff(first) == k
            unlike |= ~same
            of, begin, k = outputs.starts[of][same], first[:-1][same], k[same]
            within = np.arange(int(k.sum())) - np.repeat(np.cumsum(k) - k, k)
            other = (
                outputs.counts[np.repeat(of, k) + within]
                != self.classes.counts[a][np.repeat(begin, k) + within]
            )
            unlike[np.repeat(np.flatnonzero(same), k)[other]] = True
        return int(unlike.sum())

    def units(self, column: Ints) -> Ints:
        """How many units each person gives to the class ``column``, shape (p, d), on every
        attribute; 0 where it is -1.
        """
        k = np.diff(self.outputs.starts).take(self.table)
        cell = self.outputs.cells.take(self.table) + self.classes.own * k + np.maximum(column, 0)
        return np.where(column >= 0, self.outputs.units.take(cell), 0)

    @cached_property
    def table(self) -> Ints:
        """Which table each person was drawn from on an attribute, shape (p, d)."""
        return self.outputs.of.take(self.classes.group, axis=0)

    @cached_property
    def stay(self) -> Ints:
        """How many units each person gives to their own value, shape (p, d)."""
        return self.units(self.classes.own)

    @cached_property
    def changed(self) -> Bools:
        """Where a row shows another value than its person's, shape (p, d)."""
        return np.not_equal(self.shown, self.classes.own)

    def too_still(self, changes: int) -> int:
        """How many persons change too seldom for any way of drawing all attributes together, with
        these tables, to change ``changes`` of them each time.

        There is such a way where the probabilities to change add up to ``changes`` or more, and in
        no other case.
        """
        return sum(int(each.still(changes).sum()) for each in self._some_at_a_time())

    def impossible(self) -> int:
        """How many rows cannot have been drawn from the tables in the way that is said of them (see
        :class:`OutputTables`).
        """
        return sum(int((~each.possible()).sum()) for each in self._some_at_a_time())

    def _some_at_a_time(self) -> Iterator["DrawnRows"]:
        for at in range(0, len(self.shown), _AT_ONCE):
            yield self.of_persons(slice(at, at + _AT_ONCE))

    def still(self, changes: int) -> Bools:
        """Which persons are :meth:`too_still`, shape (p,)."""
        leave = self.outputs.denominator - self.stay
        wide = leave.shape[1] * self.outputs.denominator >= _ROOM
        total = leave.astype(object).sum(axis=1) if wide else leave.sum(axis=1)
        return np.asarray(total < changes * self.outputs.denominator, dtype=np.bool_)

    def possible(self) -> Bools:
        """Which rows are not :meth:`impossible`, shape (p,)."""
        drawn = np.all(self.units(self.shown) > 0, axis=1)
        return np.logical_and(drawn, self._changed_together())

    def _changed_together(self) -> Bools:
        """Whether, from some place of the order on, some point of the line changes just those of its
        attributes that are changed in a row: one of the points where an attribute's part begins
        does.
        """
        order, rows = self.outputs.order, np.arange(len(self.shown))
        for start in range(len(order)):
            rows = rows[~self._changed_from(order[start:] + order[:start], rows)]
        together = np.ones(len(self.shown), np.bool_)
        together[rows] = False
        return together

    def _changed_from(self, order: Sequence[int], rows: Ints) -> Bools:
        """The same of ``rows`` (r,) where attributes are laid along the line in this ``order``; each
        point is asked about an attribute after the other, and the next one only of rows that it may
        still be.
        """
        whole, (_, d) = self.outputs.denominator, self.shown.shape
        kind = object if (d + 1) * whole >= _ROOM else np.int64
        leave = (whole - self.stay.take(rows, axis=0)[:, list(order)]).astype(kind)
        begins = np.zeros((len(leave), d + 1), dtype=kind)
        begins[:, 1:] = np.cumsum(leave, axis=1)
        by_itself = begins[:, :-1] >= self.outputs.changes * whole
        changed = self.changed.take(rows, axis=0)[:, list(order)]
        together = np.zeros(len(leave), np.bool_)
        for point in range(d + 1):
            here = np.flatnonzero(~together)
            for place in range(d):
                if not len(here):  # as at most points, after a few attributes
                    break
                from_begin = (begins[here, point] - begins[here, place]) % whole
                here = here[
                    by_itself[here, place]
                    | ((from_begin < leave[here, place]) == changed[here, place])
                ]
            together[here] = True
        return together
