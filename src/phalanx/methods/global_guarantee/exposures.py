# SPDX-License-Identifier: Apache-2.0
"""The paper's statistics file (Section 7): what a series remembers of each person's exposures,
recalled for the rows of a table and carried on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from phalanx.arrays import Codes, Floats, Ints, Singles, different, rounded_up
from phalanx.data.standing import rows_of
from phalanx.methods.global_guarantee.kernels import exposures as kernels
from phalanx.methods.global_guarantee.kernels.exposures import Hosts, Pairs
from phalanx.methods.global_guarantee.ratios import Strategy, at_most, nlow
from phalanx.release.evidence.evidence import Tables
from phalanx.release.evidence.exposures import LAID, LEFT, SCALE, Exposures

TIMES: Final = 8
"""Exposures are told apart up to so many when their chances are estimated."""
AWAY: Final = 4
"""So many releases after the last one that a person was in, what is known of them is laid aside: who
returns sooner costs less so, and who does not, hardly more.
"""
ELSEWHERE: Final = "elsewhere"
"""The table carried (pairs) of how many pairs of persons who left have 0, 1, … exposures behind them."""
_AT_ONCE: Final = 1 << 17
"""So many pairs are looked at together, in memory that is used again for the next ones."""
_HISTORIES: Final = 1 << 32
"""More histories than a release makes."""
_UNKNOWN: Final = -1
"""The place of a person whom memory does not know."""


@dataclass(frozen=True, eq=False)
class Demands:
    """The ratio that each row demands of a group, by protected value: ``base`` (v,), or where it was
    exposed before, that of its ``history`` (n,), as compressed rows; these are rounded up.
    """

    base: Floats
    history: Codes
    starts: Ints
    value: Codes
    ratio: Singles

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

        def lessened(some: slice) -> Floats:
            asked, needed = (each.ratio[some].astype(np.float64) for each in (self, least))
            return at_most(times, asked, needed)

        return replace(
            self,
            base=at_most(times, self.base, least.base),
            ratio=_ratios(len(self.ratio), lessened),
        )


class Onward(NamedTuple):
    """The statistics file once a release is counted."""

    carried: Exposures
    """About all who were ever linked to a value and are in the release, or were in one of the last."""
    aside: Exposures
    """About those who have been away for too long for that."""
    elsewhere: Ints
    """As :class:`Statistics` has it."""
    least: int
    """The least survival among the exposed."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """The statistics file beside the rows of a table: ``place`` (n,) is where ``carried`` knows the
    person of each row.
    """

    carried: Exposures
    """About those of the last releases, and then about those who return later."""
    place: Ints
    names: pl.Series
    """The protected values, those that ``carried`` knows first."""
    elsewhere: Ints
    """How many pairs of other persons, who left, have 0, 1, … exposures behind them, as
    :func:`counted` counts them.
    """

    @classmethod
    def of(
        cls, carried: Exposures, persons: pl.Series, names: pl.Series, tables: Tables
    ) -> "Statistics":
        """Look all persons up, those who return in what was laid aside when they left, as the
        ``tables`` that are remembered have it.
        """
        place = rows_of(persons, carried.persons)
        elsewhere = (
            tables[ELSEWHERE]["pairs"].to_numpy()
            if ELSEWHERE in tables
            else np.zeros(TIMES + 1, dtype=np.int64)
        )
        unknown = np.flatnonzero(place == _UNKNOWN)
        left = _left(tables, persons, unknown)
        if len(left):
            carried, returned = _recalled(tables, carried, left)
            elsewhere = elsewhere - counted(returned)
            at, first = rows_of(persons.gather(unknown), left["person"]), len(carried.persons)
            place[unknown] = np.where(at == _UNKNOWN, at, first + at)
            carried = _and_persons(carried, returned)
        return cls(carried, place, names, elsewhere)

    def least(self, l: Fraction) -> Demands:
        """The least that keeps the guarantee for the rows, whatever they hold now: who holds a value
        must not be known by the groups.
        """
        history, _, starts = self._present
        value, ratio = np.empty(starts[-1], np.int32), np.empty(starts[-1], np.float32)
        for some, pairs in self._parts():
            value[some] = pairs.value
            ratio[some] = rounded_up(nlow(pairs.survival / SCALE, l))
        base = np.full(len(self.names), nlow(np.ones(1), l)[0])
        return Demands(base, history, starts, value, ratio)

    def demands(self, strategy: Strategy, least: Demands) -> Demands:
        """What the rows demand by a strategy, where so much is the ``least``."""
        ratio = np.empty(len(least.ratio), np.float32)
        for some, pairs in self._parts():
            needed = least.ratio[some].astype(np.float64)
            ratio[some] = rounded_up(strategy.beyond(needed, pairs.survival, pairs.times))
        fresh = np.full(len(least.base), SCALE), np.zeros(len(least.base), dtype=np.int64)
        base = strategy.beyond(least.base, *fresh)
        return replace(least, base=base, ratio=ratio)

    @cached_property
    def _present(self) -> tuple[Codes, Ints, Ints]:
        """The history of each row, shape (n,), among those that a row has, of which the last one is
        of those who have none; these, as ``carried`` has them; and where the pairs of each begin.
        """
        is_known = self.place != _UNKNOWN
        of, some, starts = _shared(self.carried, self.carried.history[self.place[is_known]])
        history = np.full(len(self.place), len(some), dtype=np.int32)
        history[is_known] = of
        return history, some, np.append(starts, starts[-1])

    def _parts(self) -> Iterator[tuple[slice, Pairs]]:
        """The pairs of all histories that a row has, some at a time, and their places."""
        _, some, starts = self._present
        for first, end in _together(starts[: len(some) + 1]):
            here = some[first:end]
            window = _window(self.carried, here[0], here[-1] + 1)
            taken = _empty(starts[first : end + 1] - starts[first])
            kernels.take(window, here - here[0], taken)
            yield slice(starts[first], starts[end]), taken

    def after(self, persons: pl.Series, group: Ints, hosts: Hosts, release: int) -> Onward:
        """What goes on once every row of ``persons`` stands in ``group`` (n,), negative for none, in
        this ``release``, from 1.
        """
        old = self.carried
        exposing = np.append(np.diff(hosts.starts) > 0, [False])  # and whom no group hosts
        exposed, is_known = exposing[group], self.place != _UNKNOWN
        rows, is_here = np.flatnonzero(is_known | exposed), np.zeros(len(old.persons), dtype=bool)
        is_here[self.place[is_known]] = True
        away = old.away.astype(np.int64) + 1
        waiting, gone = (np.flatnonzero(~is_here & each) for each in (away < AWAY, away >= AWAY))
        hosted = np.full(len(rows) + len(waiting), kernels.NOWHERE, dtype=np.int64)
        hosted[: len(rows)][exposed[rows]] = group[rows][exposed[rows]]
        past = np.append(old.history, [len(old.starts) - 1])[np.append(self.place[rows], waiting)]
        # Who has the same past and is in the same group has the same history from now on.
        distinct, history = different(past * len(exposing) + hosted + 1)
        past, host = np.divmod(distinct, len(exposing))
        people = pl.concat([persons.alias("person").gather(rows), _named(old, waiting)])
        carried, least = self._going_on(people, history, past, host - 1, hosts)
        number, some, _ = _shared(old, old.history[gone])
        aside = replace(
            old.with_histories(some), persons=_named(old, gone), history=number.astype(np.int64)
        )
        stays, laid = host == 0, old.laid.copy()
        laid[some] = True
        origin = release * _HISTORIES + np.arange(len(past))
        carried = replace(
            carried,
            origin=np.where(stays, np.append(old.origin, [0])[past], origin),
            laid=stays & np.append(laid, [False])[past],
            away=np.append(np.zeros(len(rows), dtype=np.int64), away[waiting]),
        )
        return Onward(carried, aside, self.elsewhere + counted(aside), least)

    def _going_on(
        self, people: pl.Series, history: Ints, past: Ints, host: Ints, hosts: Hosts
    ) -> tuple[Exposures, int]:
        """The same, once it is known which history each person has: of each its ``past`` (h,),
        ascending, and the group that is its ``host`` now.
        """
        old = self.carried
        many = np.append(np.diff(old.starts), [0])[past]
        many += np.append(np.diff(hosts.starts), [0])[host]
        most = np.concatenate([[0], np.cumsum(many)])
        # Room for as many as there may be; memory that is not written to costs nothing.
        times = int(old.times.max(initial=0)) + 1
        value, often = (
            np.empty(most[-1], np.min_scalar_type(high)) for high in (len(self.names), times)
        )
        survival, starts, least = np.empty(most[-1], np.int64), np.zeros(len(most), np.int64), SCALE
        for first, end in _together(most):
            window = _window(old, past[first], past[end - 1] + 1)
            here = past[first:end] - past[first], host[first:end], hosts
            ends = starts[first] + np.cumsum(kernels.widths(window, *here))
            starts[first + 1 : end + 1] = ends
            to, some = starts[first : end + 1], slice(starts[first], starts[end])
            after = _empty(to - to[0])
            least = min(least, int(kernels.expose(window, *here, SCALE, after)))
            value[some], survival[some], often[some] = after[1:]
        value, survival, often = (each[: starts[-1]] for each in (value, survival, often))
        return replace(
            old,
            persons=people,
            history=history,
            starts=starts,
            value=value,
            survival=survival,
            times=often,
            values=self.names,
        ), least


def _left(tables: Tables, persons: pl.Series, rows: Ints) -> pl.DataFrame:
    """Those of ``persons`` in some rows who left (person, history), each as they left last."""
    if LEFT not in tables or not len(rows):
        return pl.DataFrame()
    left = tables[LEFT]
    return left.filter(left["person"].is_in(persons.gather(rows).implode())).unique(
        "person", keep="last", maintain_order=True
    )


def _recalled(
    tables: Tables, carried: Exposures, left: pl.DataFrame
) -> tuple[Exposures, Exposures]:
    """What is carried, and behind it the histories of those who ``left`` that are not among these;
    and of them all what is known of these persons.
    """
    origin = left["history"].to_numpy().astype(np.int64)
    missing = pl.Series(np.setdiff1d(origin, carried.origin))
    laid, pieces = tables[LAID], [carried]
    for release in laid.filter(laid["history"].is_in(missing.implode()))["release"].unique():
        aside = Exposures.laid_aside(tables, release)
        pieces.append(aside.with_histories(np.flatnonzero(np.isin(aside.origin, missing))))
    together = replace(
        carried,
        starts=np.append([0], np.cumsum(np.concatenate([np.diff(e.starts) for e in pieces]))),
        value=np.concatenate([each.value for each in pieces]),
        survival=np.concatenate([each.survival for each in pieces]),
        times=np.concatenate([each.times for each in pieces]),
        origin=np.concatenate([each.origin for each in pieces]),
        laid=np.concatenate([each.laid for each in pieces]),
    )
    order = np.argsort(together.origin)
    history = order[np.searchsorted(together.origin[order], origin)]
    away = np.full(len(left), AWAY)
    return together, replace(together, persons=left["person"], history=history, away=away)


def _and_persons(carried: Exposures, others: Exposures) -> Exposures:
    """What is carried about more persons, whose histories are the same."""
    return replace(
        carried,
        persons=pl.concat([each.persons.alias("person") for each in (carried, others)]),
        history=np.concatenate([carried.history, others.history]),
        away=np.concatenate([carried.away, others.away]),
    )


def _named(carried: Exposures, persons: Ints) -> pl.Series:
    """The persons at some places."""
    return carried.persons.alias("person").gather(persons)


def _shared(carried: Exposures, history: Ints) -> tuple[Codes, Ints, Ints]:
    """Of persons with such a ``history`` (n,) the number of each one's among those that any has,
    shape (n,); these, ascending; and where the pairs of each begin.
    """
    some = np.flatnonzero(np.bincount(history, minlength=len(carried.starts) - 1))
    number = np.empty(len(carried.starts) - 1, dtype=np.int32)
    number[some] = np.arange(len(some))
    starts = np.concatenate([[0], np.cumsum(carried.starts[some + 1] - carried.starts[some])])
    return number[history], some, starts


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
    pairs_of, alike = np.zeros(TIMES + 1, dtype=np.int64), carried.alike
    for first, end in _together(carried.starts):
        pairs_of += kernels.exposed_before(_window(carried, first, end), alike[first:end], TIMES)
    return pairs_of


def _ratios(n: int, of: Callable[[slice], Floats]) -> Singles:
    """As many ratios, some at a time, rounded up."""
    ratios = np.empty(n, np.float32)
    for at in range(0, n, _AT_ONCE):
        some = slice(at, at + _AT_ONCE)
        ratios[some] = rounded_up(of(some))
    return ratios


def _together(starts: Ints) -> Iterator[tuple[int, int]]:
    """Of compressed rows the first and the end of some that have few pairs together, and of the
    next ones.
    """
    first, last = 0, len(starts) - 1
    while first < last:
        reached = int(np.searchsorted(starts, starts[first] + _AT_ONCE, side="right")) - 1
        end = max(reached, first + 1)
        yield first, end
        first = end


def _window(carried: Exposures, first: int, end: int) -> Pairs:
    """The pairs of histories from ``first`` to ``end``, of which the one beyond all others has none,
    in the types that kernels are compiled for: those of a ledger, which may not be written to.
    """
    starts = carried.starts[first : end + 1]
    if end == len(carried.starts):
        starts = np.append(starts, starts[-1])
    some = slice(starts[0], starts[-1])
    pairs = Pairs(
        starts - starts[0],
        carried.value[some].astype(np.int32),
        carried.survival[some].view(),
        carried.times[some].astype(np.uint16),
    )
    for each in pairs[1:]:
        each.flags.writeable = False
    return pairs


def _empty(starts: Ints) -> Pairs:
    """Room for the pairs of compressed rows."""
    n = starts[-1]
    return Pairs(starts, np.empty(n, np.int32), np.empty(n, np.int64), np.empty(n, np.uint16))


def least_survival(l: Fraction) -> int:
    """The parts of SCALE that survival must keep: 1 - 1/l, rounded up."""
    return ceil(SCALE * (1 - 1 / l))
