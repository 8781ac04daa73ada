"""What a series remembers of everybody's exposures, recalled for the rows of a table and carried on."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.kernels import exposures as kernels
from phalanx.methods.protected import Protected
from phalanx.methods.ratios import Strategy
from phalanx.release.exposures import SCALE, Exposures

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

TIMES: Final = 8
"""Exposures are told apart up to so many when their chances are estimated."""


@dataclass(frozen=True, eq=False)
class Demands:
    """The ratio that each row demands of a group, by protected value: ``base`` (v,), or its own where it was exposed before or holds the value (compressed rows)."""

    base: Floats
    starts: Ints
    value: Codes
    ratio: Floats


@dataclass(frozen=True, eq=False)
class Recalled:
    """Memory beside the rows of a table: ``place`` (n,) is where memory knows the person of each row, -1 for nowhere."""

    memory: Exposures
    place: Ints

    @classmethod
    def of(cls, memory: Exposures, persons: pl.Series) -> "Recalled":
        """Look everybody up."""
        known = pl.DataFrame({"person": memory.persons, "place": np.arange(len(memory.persons), dtype=np.int64)})
        found = persons.alias("person").to_frame().join(known, on="person", how="left", maintain_order="left")["place"]
        return cls(memory, found.fill_null(-1).to_numpy())

    def pairs(self) -> tuple[Ints, Ints]:
        """The pairs of the rows' persons: first place of each row (n + 1,), and where memory holds each pair."""
        begins = self.memory.starts
        counts = np.where(self.place >= 0, begins[self.place + 1] - begins[self.place], 0) if len(begins) > 1 else np.zeros(len(self.place), dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return starts, np.repeat(np.where(self.place >= 0, begins[self.place], 0) - starts[:-1], counts) + np.arange(starts[-1])

    def demands(self, strategy: Strategy, held: Protected) -> Demands:
        """What the rows, which hold ``held`` now, demand by a strategy."""
        fresh = float(strategy.ratio(np.ones(1), np.zeros(1, dtype=np.int64), np.zeros(1, dtype=bool))[0])
        old = self.memory
        width = kernels.widths_beside(self.place, old.starts, old.value, held.starts, held.codes)
        starts = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
        value, survival, times = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1], dtype=np.int64)
        own = np.empty(starts[-1], dtype=bool)
        kernels.lay_beside(*(self.place, old.starts, old.value, old.survival, old.times, held.starts, held.codes, SCALE, starts, value, survival, times, own))
        return Demands(np.full(len(held.names), fresh), starts, value, np.maximum(strategy.ratio(survival / SCALE, times, own), 1.0))

    def after(self, persons: pl.Series, held: Protected, group: Ints, hosts: "Hosts") -> tuple[Exposures, int, Ints]:
        """What to carry once every row of ``persons``, which hold ``held``, stands in ``group`` (n,), -1 for none.

        Also the least survival among the exposed, and how many groups there are by the most exposures that a holder had behind them.
        """
        exposing = np.diff(hosts.starts) > 0
        new = np.flatnonzero((self.place < 0) & (group >= 0) & exposing[group])
        everybody = pl.concat([self.memory.persons.alias("person"), persons.alias("person").gather(new)])
        known = len(self.memory.persons)
        hosted = np.full(len(everybody), -1, dtype=np.int64)
        there = self.place >= 0
        hosted[self.place[there]] = group[there]
        hosted[known:] = group[new]
        row = np.full(len(everybody), -1, dtype=np.int64)
        row[self.place[there]] = np.flatnonzero(there)
        row[known:] = new
        old = self.memory
        starts = np.concatenate([old.starts, np.full(len(new), old.starts[-1])])
        width = kernels.widths(starts, old.value, hosted, hosts.starts, hosts.value)
        to = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
        value, survival, times = (np.empty(to[-1], dtype=np.int64) for _ in range(3))
        own = np.empty(to[-1], dtype=bool)
        stage = np.full(len(hosts.size), -1, dtype=np.int64)
        least = kernels.expose(
            *(
                starts,
                old.value,
                old.survival,
                old.times,
                old.own,
                hosted,
                row,
                held.starts,
                held.codes,
                hosts.starts,
                hosts.value,
                hosts.count,
                hosts.size,
                hosts.added,
                SCALE,
            ),
            *(to, value, survival, times, own, stage),
        )
        return (
            Exposures(everybody, to, value, survival, times, own, held.names),
            int(least),
            np.bincount(np.minimum(stage[stage >= 0], TIMES), minlength=TIMES + 1),
        )


@dataclass(frozen=True, eq=False)
class Hosts:
    """Groups as they expose their members: of ``size[g]`` members ``count[j]`` hold ``value[j]``, for j from ``starts[g]`` to ``starts[g + 1]``."""

    starts: Ints
    value: Codes
    count: Ints
    size: Ints
    added: Bools
    """Where shares are added up instead of multiplied (see methods/cohorts.py)."""

    @classmethod
    def of(cls, group: Ints, codes: Codes, size: Ints, added: Bools, values: int) -> "Hosts":
        """Count protected ``codes`` (e,) by the ``group`` (e,) in which they stand, negative for none."""
        inside = group >= 0
        key, count = np.unique(group[inside] * max(values, 1) + codes[inside], return_counts=True)
        host = key // max(values, 1)
        starts = np.searchsorted(host, np.arange(len(size) + 1)).astype(np.int64)
        return cls(starts, (key % max(values, 1)).astype(np.int32), count.astype(np.int64), size, added)


def counted(memory: Exposures) -> Ints:
    """How many pairs were not held (were held) the last time and have 0, 1, … exposures behind them, shape (2, TIMES + 1)."""
    kind = memory.own * (TIMES + 1) + np.minimum(memory.times, TIMES)
    return np.bincount(kind, minlength=2 * (TIMES + 1)).astype(np.int64).reshape(2, TIMES + 1)


def least_survival(l: Fraction) -> int:
    """The parts of SCALE that survival must keep: 1 - 1/l, rounded up."""
    return ceil(SCALE * (1 - 1 / l))
