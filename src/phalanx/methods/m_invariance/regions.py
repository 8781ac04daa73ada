# SPDX-License-Identifier: Apache-2.0
"""Regions: parts of the quasi-identifiers in which new persons of m-invariance meet.

Nothing here looks at a sensitive value. Where a region is cut follows from the quasi-identifiers of
those who are passed on to its parts; whether it is cut, and who is passed on, is decided by counts
(``methods/m_invariance/assigning.py``).
"""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Codes, Ints
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance import kernels

WHOLE: Final = 1
"""The region of the whole table; region i is cut into 2i and 2i + 1."""
TABLE: Final = "region_cuts"
"""Memory table (region, attribute, below, first): a cut region, the attribute, and where its second
part begins: the least position of it, or the first of the categorical values that lie in it; with
neither, all of the region does.
"""


@dataclass(kw_only=True, eq=False)
class Regions:
    """The cuts of a series, and those that a release adds."""

    microdata: Microdata
    cuts: dict[int, tuple[str, int]]
    """Of every region that was ever cut: the attribute, and the least code of the second part."""
    added: list[tuple[int, str, float | None, str | None]] = field(default_factory=list)
    codes: Mapping[str, Codes] = field(init=False)
    """Of the rows that are cut, by attribute."""

    def __post_init__(self) -> None:
        self.codes = {name: each.codes for name, each in self.microdata.columns.items()}

    @classmethod
    def recall(cls, microdata: Microdata, memory: Memory) -> "Regions":
        """The cuts that memory holds."""
        table = memory.tables.get(TABLE)
        begins = {name: _Begins(column.domain) for name, column in microdata.columns.items()}
        cuts = {
            region: (attribute, begins[attribute].code_of(below, first))
            for region, attribute, below, first in (table.iter_rows() if table is not None else ())
        }
        return cls(microdata=microdata, cuts=cuts)

    def among(self, rows: Ints) -> "Regions":
        """The same regions, of ``rows`` (n,), which are numbered as they stand there: to go through
        them in order is to go along memory. What is added is added to both.
        """
        regions = replace(self)
        regions.codes = {name: codes[rows] for name, codes in self.codes.items()}
        return regions

    def cut(self, region: int, rows: Ints, least: int) -> tuple[Ints, Ints]:
        """Cut ``rows`` (r,), in random order, in two parts of at least ``least`` rows.

        A region is always cut where it was first cut. Where that makes a part too small, the rows
        next to the cut go there, those of one value by lot.
        """
        if region not in self.cuts:
            self._choose(region, rows)
        attribute, begins = self.cuts[region]
        first, second = kernels.parted(self.codes[attribute], rows, begins)
        place = min(max(len(first), least), len(rows) - least)
        if place == len(first):
            return first, second
        codes = self.codes[attribute][rows]
        order = np.lexsort((codes, codes >= begins))
        return rows[np.sort(order[:place])], rows[np.sort(order[place:])]

    def to_remember(self) -> Mapping[str, pl.DataFrame]:
        """What to append to memory: the cuts that are new; nothing where there are none."""
        schema = {
            "region": pl.Int64,
            "attribute": pl.String,
            "below": pl.Float64,
            "first": pl.String,
        }
        return {TABLE: pl.DataFrame(self.added, schema=schema, orient="row")} if self.added else {}

    def _choose(self, region: int, rows: Ints) -> None:
        """Cut near the middle, between two values, where that takes most off the spread of an
        attribute.

        Where all rows are equal, the cut lies before all values, and who goes where is drawn.
        """
        name, at, most = self.microdata.schema.quasi[0], 0, 0.0
        for attribute in self.microdata.schema.quasi:
            positions = self.microdata.columns[attribute].domain.normalised
            here, counts = self._counted(attribute, rows, len(positions))
            along = positions if here is None else positions[here]
            middle, gain = kernels.halved(counts, along)
            if gain > most:
                name, most = attribute, gain
                at = middle if here is None else int(here[middle - 1]) + 1
        self.cuts[region] = (name, at)
        domain = self.microdata.columns[name].domain
        if domain.type in ("numeric", "date"):
            self.added.append((region, name, float(domain.positions[at]), None))
        else:
            value = domain.values[at]
            self.added.append((region, name, None, None if value is None else str(value)))

    def _counted(self, attribute: str, rows: Ints, n: int) -> tuple[Ints | None, Ints]:
        """How many of ``rows`` hold each of the ``n`` codes; or, where these are more than there are
        rows, each of the codes that they hold, which are told, too.
        """
        if n <= len(rows):
            return None, kernels.counted(self.codes[attribute], rows, n)
        here, counts = np.unique(self.codes[attribute][rows], return_counts=True)
        return here.astype(np.int64), counts.astype(np.int64)


class _Begins:
    """Where the second part of a cut begins in a domain, which may have other values than that in
    which it was cut.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._missing = int(domain.has_missing)

    def code_of(self, below: float | None, first: str | None) -> int:
        """The least code of the second part."""
        if below is not None:
            return int(np.searchsorted(self._domain.positions, below))
        if first is None:
            return 0
        if (code := self._codes.get(first)) is not None:
            return code
        return self._missing + bisect_left(self._texts, first)

    @cached_property
    def _texts(self) -> list[str]:
        """All that is not missing, in order."""
        return self._domain.values[self._missing :].cast(pl.String).to_list()

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {text: self._missing + place for place, text in enumerate(self._texts)}
