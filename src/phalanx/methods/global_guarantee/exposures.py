# SPDX-License-Identifier: Apache-2.0
"""The paper's statistics file (Section 7): what a series remembers of each person's exposures,
recalled for the rows of a table and carried on.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Codes, Floats, Ints, different
from phalanx.data.standing import rows_of
from phalanx.methods.global_guarantee.kernels import exposures as kernels
from phalanx.methods.global_guarantee.kernels.exposures import Hosts, Pairs
from phalanx.methods.global_guarantee.ratios import Strategy, at_most, nlow
from phalanx.release.evidence.exposures import SCALE, Exposures

TIMES: Final = 8
"""Exposures are told apart up to so many when their chances are estimated."""
_AT_ONCE: Final = 1 << 20
"""So many ratios are computed together."""
_UNKNOWN: Final = -1
"""The place of a person whom memory does not know."""


@dataclass(frozen=True, eq=False)
class Demands:
    """The ratio that each row demands of a group, by protected value: ``base`` (v,), or where it was
    exposed before, that of its ``history`` (n,), as compressed rows.
    """

    base: Floats
    history: Codes
    starts: Ints
    value: Codes
    ratio: Floats

    def history_of(self, entries: Ints) -> Ints:
        """The histories of some entries of ``ratio``."""
        return np.searchsorted(self.starts, entries, side="right") - 1

    @property
    def highest(self) -> Floats:
        """The largest ratio that each row demands, whatever the value, shape (n,)."""
        base, some = float(self.base.max(initial=1.0)), np.flatnonzero(np.diff(self.starts))
        highest = np.full(len(self.starts) - 1, base)
        if len(some):
            highest[some] = np.maximum(np.maximum.reduceat(self.ratio, self.starts[some]), base)
        return highest[self.history]

    def at_most(self, times: float, least: "Demands") -> "Demands":
        """The same rows with no more than ``times`` the ``least`` that they may demand."""
        return replace(
            self,
            base=at_most(times, self.base, least.base),
            ratio=at_most(times, self.ratio, least.ratio),
        )


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics file beside the rows of a table: ``place`` (n,) is where ``carried`` knows the
    person of each row.
    """

    carried: Exposures
    place: Ints
    names: pl.Series
    """The protected values, those that ``carried`` knows first."""

    @classmethod
    def of(cls, carried: Exposures, persons: pl.Series, names: pl.Series) -> "Statistics":
        """Look all persons up."""
        return cls(carried, rows_of(persons, carried.persons), names)

    def least(self, l: Fraction) -> Demands:
        """The least that keeps the guarantee for the rows, whatever they hold now: who holds a value
        must not be known by the groups.
        """
        history, pairs = self._histories
        ratio = np.empty(len(pairs.value))
        for at in range(0, len(ratio), _AT_ONCE):
            some = slice(at, at + _AT_ONCE)
            ratio[some] = nlow(pairs.survival[some] / SCALE, l)
        base = np.full(len(self.names), nlow(np.ones(1), l)[0])
        return Demands(base, history, pairs.starts, pairs.value, ratio)

    def demands(self, strategy: Strategy, least: Demands) -> Demands:
        """What the rows demand by a strategy, where so much is the ``least``."""
        _, pairs = self._histories
        ratio = np.empty(len(pairs.value))
        for at in range(0, len(ratio), _AT_ONCE):
            some = slice(at, at + _AT_ONCE)
            ratio[some] = strategy.beyond(
                least.ratio[some], pairs.survival[some], pairs.times[some]
            )
        fresh = np.full(len(least.base), SCALE), np.zeros(len(least.base), dtype=np.int64)
        base = strategy.beyond(least.base, *fresh)
        return replace(least, base=base, ratio=ratio)

    @cached_property
    def _histories(self) -> tuple[Codes, Pairs]:
        """The history of each row, shape (n,), among those that a row has, of which the last one is
        of those who have none; and their pairs.
        """
        old, is_known = self.carried, self.place != _UNKNOWN
        of = old.history[self.place[is_known]]
        some = np.flatnonzero(np.bincount(of, minlength=len(old.starts) - 1))
        number = np.empty(len(old.starts) - 1, dtype=np.int32)
        number[some] = np.arange(len(some))
        history = np.full(len(self.place), len(some), dtype=np.int32)
        history[is_known] = number[of]
        first, end = old.starts[some], old.starts[some + 1]
        starts = np.concatenate([[0], np.cumsum(end - first)])
        before = _pairs(old)
        taken = Pairs(starts, *(np.empty(starts[-1], dtype=each.dtype) for each in before[1:]))
        kernels.take(before, some, taken)
        return history, taken._replace(starts=np.append(starts, starts[-1]))

    def after(self, persons: pl.Series, group: Ints, hosts: Hosts) -> tuple[Exposures, int]:
        """What to carry once every row of ``persons`` stands in ``group`` (n,), negative for none;
        and the least survival among the exposed.
        """
        exposing = np.append(np.diff(hosts.starts) > 0, [False])  # and whom no group hosts
        new = np.flatnonzero((self.place == _UNKNOWN) & (group >= 0) & exposing[group])
        old, known = self.carried, len(self.carried.persons)
        people = pl.concat([old.persons.alias("person"), persons.alias("person").gather(new)])
        hosted = np.full(len(people), kernels.NOWHERE, dtype=np.int64)
        is_known = self.place != _UNKNOWN
        hosted[self.place[is_known]] = group[is_known]
        hosted[known:] = group[new]
        hosted[~exposing[hosted]] = kernels.NOWHERE
        past = np.concatenate([old.history, np.full(len(new), len(old.starts) - 1)])
        # Who has the same past and is in the same group has the same history from now on.
        distinct, history = different(past * len(exposing) + hosted + 1)
        past, host = np.divmod(distinct, len(exposing))
        going_on = past, host - 1, hosts
        before = _pairs(old)
        to = np.concatenate([[0], np.cumsum(kernels.widths(before, *going_on))]).astype(np.int64)
        after = Pairs(to, *(np.empty(to[-1], dtype=each.dtype) for each in before[1:]))
        least = kernels.expose(before, *going_on, SCALE, after)
        return Exposures(people, history, *after, self.names), int(least)


def hosts_of(group: Ints, codes: Codes, size: Ints, values: int) -> Hosts:
    """Count protected ``codes`` (e,) by the ``group`` (e,) in which they stand, negative for none;
    ``size`` as in :class:`Hosts`, ``values``: how many there are.
    """
    inside = group >= 0
    key, count = np.unique(group[inside] * max(values, 1) + codes[inside], return_counts=True)
    host, value = np.divmod(key, max(values, 1))
    starts = np.searchsorted(host, np.arange(len(size) + 1)).astype(np.int64)
    return Hosts(starts, value.astype(np.int32), count.astype(np.int64), size)


def beside(some: Hosts, others: Hosts) -> Hosts:
    """Some groups, and then others."""
    starts = np.concatenate([some.starts, some.starts[-1] + others.starts[1:]])
    value = np.concatenate([some.value, others.value])
    held = np.concatenate([some.held, others.held])
    return Hosts(starts, value, held, np.concatenate([some.size, others.size]))


def counted(carried: Exposures) -> Ints:
    """How many pairs have 0, 1, … exposures behind them, shape (TIMES + 1,)."""
    pairs_of: Ints = kernels.exposed_before(_pairs(carried), carried.alike, TIMES)
    return pairs_of


def _pairs(carried: Exposures) -> Pairs:
    """What is carried and a history without pairs, as arrays that may not be written to, as those
    of a ledger are: kernels are compiled for such ones alone.
    """
    starts = np.append(carried.starts, carried.starts[-1])
    pairs = Pairs(starts, carried.value.view(), carried.survival.view(), carried.times.view())
    for each in pairs[1:]:
        each.flags.writeable = False
    return pairs


def least_survival(l: Fraction) -> int:
    """The parts of SCALE that survival must keep: 1 - 1/l, rounded up."""
    return ceil(SCALE * (1 - 1 / l))
