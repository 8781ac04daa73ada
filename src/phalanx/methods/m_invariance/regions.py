# SPDX-License-Identifier: Apache-2.0
"""Regions: parts of the quasi-identifiers in which new persons of m-invariance meet.

Nothing here looks at a sensitive value. Where a region is cut follows from the quasi-identifiers of
those who are passed on to its parts; whether it is cut, and who is passed on, is decided by counts
(``methods/m_invariance/assigning.py``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Codes, Floats, Ints
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance import kernels

Cut = tuple[str, float | None, list[str | None]]

WHOLE: Final = 1
"""The region of the whole table; region i is cut into 2i and 2i + 1."""
TABLE: Final = "regions"
"""Memory table (region, attribute, below, value): a cut region, the attribute, and what lies in its
first part: positions under ``below``, or one of the values that are listed."""


@dataclass(kw_only=True, eq=False)
class Regions:
    """The cuts of a series, and those that a release adds."""

    microdata: Microdata
    cuts: dict[int, Cut]
    """Of every region that was ever cut: attribute, the least position of the second part, or the
    values of the first part.
    """
    added: list[tuple[int, str, float | None, str | None]] = field(default_factory=list)
    codes: Mapping[str, Codes] = field(init=False)
    """Of the rows that are cut, by attribute."""

    def __post_init__(self) -> None:
        self.codes = {name: each.codes for name, each in self.microdata.columns.items()}

    @classmethod
    def recall(cls, microdata: Microdata, memory: Memory) -> "Regions":
        """The cuts that memory holds."""
        cuts: dict[int, Cut] = {}
        table = memory.tables.get(TABLE)
        for region, attribute, below, value in table.iter_rows() if table is not None else ():
            cuts.setdefault(region, (attribute, below, []))[2].append(value)
        return cls(microdata=microdata, cuts=cuts)

    def among(self, rows: Ints) -> "Regions":
        """The same regions, of ``rows`` (n,), which are numbered as they stand there: to go through
        them in order is to go along memory. What is added is added to both.
        """
        regions = replace(self)
        regions.codes = {name: codes[rows] for name, codes in self.codes.items()}
        return regions

    def cut(self, region: int, rows: Ints, least: int) -> tuple[Ints, Ints]:
        """Cut ``rows`` (r,), in random order, in two parts of at least ``least`` rows: their
        places.

        A region is always cut where it was first cut. Where that makes a part too small, the rows
        next to the cut go there, those of one value by lot.
        """
        if region not in self.cuts:
            self._choose(region, rows)
        attribute, below, values = self.cuts[region]
        column = self.microdata.columns[attribute]
        second = _second(column.domain, below, values)
        codes = self.codes[attribute][rows]
        in_second = second[codes]
        first = len(rows) - int(in_second.sum())
        place = min(max(first, least), len(rows) - least)
        if place == first:
            return np.flatnonzero(~in_second), np.flatnonzero(in_second)
        order = np.lexsort((codes, in_second))
        return np.sort(order[:place]), np.sort(order[place:])

    def to_remember(self) -> Mapping[str, pl.DataFrame]:
        """What to append to memory: the cuts that are new; nothing where there are none."""
        schema = {
            "region": pl.Int64,
            "attribute": pl.String,
            "below": pl.Float64,
            "value": pl.String,
        }
        return {TABLE: pl.DataFrame(self.added, schema=schema, orient="row")} if self.added else {}

    def _choose(self, region: int, rows: Ints) -> None:
        """Cut near the middle, between two values, where that takes most off the spread of an
        attribute.

        Where all rows are equal, the cut lies before all values, and who goes where is drawn.
        """
        name, domain, at, most = (
            self.microdata.schema.quasi[0],
            self.microdata.quasi[0].domain,
            0,
            0.0,
        )
        for attribute, column in zip(
            self.microdata.schema.quasi, self.microdata.quasi, strict=True
        ):
            counts = kernels.counted(self.codes[attribute], rows, len(column.domain))
            before = np.cumsum(counts)[:-1]
            middle = int(np.argmin(np.abs(2 * before - len(rows)))) + 1 if len(before) else 0
            positions = column.domain.normalised
            parts = [
                _spread(counts[part], positions[part]) for part in (np.s_[:middle], np.s_[middle:])
            ]
            gain = _spread(counts, positions) - sum(parts)
            if gain > most:
                name, domain, at, most = attribute, column.domain, middle, gain
        if domain.type in ("numeric", "date"):
            below = float(domain.positions[at])
            self.cuts[region] = (name, below, [])
            self.added.append((region, name, below, None))
        else:
            values = domain.values[:at].cast(pl.String).to_list()
            self.cuts[region] = (name, None, values)
            self.added += [(region, name, None, value) for value in values]


def _second(domain: Domain, below: float | None, values: Sequence[str | None]) -> Bools:
    """Whether each code lies in the second part."""
    if below is not None:
        return np.asarray(domain.positions >= below)
    first = set(values)
    return np.array([value not in first for value in domain.values.cast(pl.String).to_list()])


def _spread(counts: Ints, positions: Floats) -> float:
    """Rows times the standard deviation of their positions."""
    n = int(counts.sum())
    if n == 0:
        return 0.0
    mean = float(counts @ positions) / n
    return n * float(np.sqrt(counts @ (positions - mean) ** 2 / n))
