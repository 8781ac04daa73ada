# SPDX-License-Identifier: Apache-2.0
"""What a series remembers of everybody's exposures, recalled for the rows of a table and carried
on.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.methods.global_guarantee.kernels import exposures as kernels
from phalanx.methods.global_guarantee.ratios import Strategy
from phalanx.release.evidence.exposures import SCALE, Exposures

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

TIMES: Final = 8
"""Exposures are told apart up to so many when their chances are estimated."""


@dataclass(frozen=True, eq=False)
class Demands:
    """The ratio that each row demands of a group, by protected value: ``base`` (v,), or its own
    where it was exposed before (compressed rows).
    """

    base: Floats
    starts: Ints
    value: Codes
    ratio: Floats


@dataclass(frozen=True, eq=False)
class Recalled:
    """Memory beside the rows of a table: ``place`` (n,) is where memory knows the person of each
    row, -1 for nowhere.
    """

    memory: Exposures
    place: Ints
    names: pl.Series
    """The protected values, those that memory knows first."""

    @classmethod
    def of(cls, memory: Exposures, persons: pl.Series, names: pl.Series) -> "Recalled":
        """Look everybody up."""
        known = pl.DataFrame(
            {"person": memory.persons, "place": np.arange(len(memory.persons), dtype=np.int64)}
        )
        found = (
            persons.alias("person")
            .to_frame()
            .join(known, on="person", how="left", maintain_order="left")["place"]
        )
        return cls(memory, found.fill_null(-1).to_numpy(), names)

    def pairs(self) -> tuple[Ints, Ints]:
        """The pairs of the rows' persons: first place of each row (n + 1,), and where memory holds
        each pair.
        """
        begins = self.memory.starts
        counts = (
            np.where(self.place >= 0, begins[self.place + 1] - begins[self.place], 0)
            if len(begins) > 1
            else np.zeros(len(self.place), dtype=np.int64)
        )
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return starts, np.repeat(
            np.where(self.place >= 0, begins[self.place], 0) - starts[:-1], counts
        ) + np.arange(starts[-1])

    def demands(self, strategy: Strategy) -> Demands:
        """What the rows demand by a strategy, whatever they hold now: who holds a value must not be
        known by the groups.
        """
        fresh = float(strategy.ratio(np.ones(1), np.zeros(1, dtype=np.int64))[0])
        starts, index = self.pairs()
        old = self.memory
        ratio = np.maximum(strategy.ratio(old.survival[index] / SCALE, old.times[index]), 1.0)
        return Demands(
            np.full(len(self.names), fresh), starts, old.value[index].astype(np.int32), ratio
        )

    def after(self, persons: pl.Series, group: Ints, hosts: "Hosts") -> tuple[Exposures, int]:
        """What to carry once every row of ``persons`` stands in ``group`` (n,), -1 for none; and
        the least survival among the exposed.
        """
        exposing = np.diff(hosts.starts) > 0
        new = np.flatnonzero((self.place < 0) & (group >= 0) & exposing[group])
        everybody = pl.concat(
            [self.memory.persons.alias("person"), persons.alias("person").gather(new)]
        )
        known = len(self.memory.persons)
        hosted = np.full(len(everybody), -1, dtype=np.int64)
        there = self.place >= 0
        hosted[self.place[there]] = group[there]
        hosted[known:] = group[new]
        old = self.memory
        starts = np.concatenate([old.starts, np.full(len(new), old.starts[-1])])
        width = kernels.widths(starts, old.value, hosted, hosts.starts, hosts.value)
        to = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
        value, survival, times = (np.empty(to[-1], dtype=np.int64) for _ in range(3))
        least = kernels.expose(
            *(starts, old.value, old.survival, old.times, hosted),
            *(
                hosts.starts,
                hosts.value,
                hosts.count,
                hosts.size,
                hosts.added,
                SCALE,
                to,
                value,
                survival,
                times,
            ),
        )
        return Exposures(everybody, to, value, survival, times, self.names), int(least)


@dataclass(frozen=True, eq=False)
class Hosts:
    """Groups as they expose their members: of ``size[g]`` members ``count[j]`` hold ``value[j]``,
    for j from ``starts[g]`` to ``starts[g + 1]``.
    """

    starts: Ints
    value: Codes
    count: Ints
    size: Ints
    added: Bools
    """Where shares are added up instead of multiplied (see methods/global_guarantee/cohorts.py)."""

    @classmethod
    def of(cls, group: Ints, codes: Codes, size: Ints, added: Bools, values: int) -> "Hosts":
        """Count protected ``codes`` (e,) by the ``group`` (e,) in which they stand, negative for
        none.
        """
        inside = group >= 0
        key, count = np.unique(group[inside] * max(values, 1) + codes[inside], return_counts=True)
        host = key // max(values, 1)
        starts = np.searchsorted(host, np.arange(len(size) + 1)).astype(np.int64)
        return cls(
            starts, (key % max(values, 1)).astype(np.int32), count.astype(np.int64), size, added
        )

    def beside(self, others: "Hosts") -> "Hosts":
        """These groups, and then the others."""
        return Hosts(
            np.concatenate([self.starts, self.starts[-1] + others.starts[1:]]),
            np.concatenate([self.value, others.value]),
            np.concatenate([self.count, others.count]),
            np.concatenate([self.size, others.size]),
            np.concatenate([self.added, others.added]),
        )


def counted(memory: Exposures) -> Ints:
    """How many pairs have 0, 1, … exposures behind them, shape (TIMES + 1,)."""
    return np.bincount(np.minimum(memory.times, TIMES), minlength=TIMES + 1).astype(np.int64)


def least_survival(l: Fraction) -> int:
    """The parts of SCALE that survival must keep: 1 - 1/l, rounded up."""
    return ceil(SCALE * (1 - 1 / l))
