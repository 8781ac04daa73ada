# SPDX-License-Identifier: Apache-2.0
"""Candidate sensitive sets of many persons at once: a set is a row of bits, one per sensitive value
of the series.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import polars as pl

from phalanx.arrays import Bools, Ints
from phalanx.data.microdata import Microdata
from phalanx.guarantees.views.boxes import candidate_sets
from phalanx.guarantees.views.groups import Groups
from phalanx.release.forms.generalized import Generalized

Sets = npt.NDArray[np.uint64]
"""Shape (n, words): bit ``v % 64`` of word ``v // 64`` says whether value v is in the set."""

_CELLS: Final = 1 << 27
"""Persons times values that are held in memory at once."""


@dataclass(frozen=True, eq=False)
class Values:
    """Every sensitive value of a series, numbered in no particular order; a missing one is a value
    too.

    Numbers are equal whatever their type. Where one release has text and another one numbers, as
    when one was read from CSV, all are compared as text.
    """

    domain: pl.Series

    @classmethod
    def of(cls, columns: Sequence[pl.Series]) -> "Values":
        """The union of the columns' values."""
        kinds = {column.dtype for column in columns}
        kind = next(iter(kinds)) if len(kinds) == 1 else pl.String()
        if len(kinds) > 1 and all(k.is_numeric() for k in kinds):
            kind = pl.Int64() if all(k.is_integer() for k in kinds) else pl.Float64()
        return cls(
            pl.concat([column.unique().cast(kind).alias("value") for column in columns]).unique()
        )

    @property
    def words(self) -> int:
        """How many words a set takes."""
        return -(-len(self.domain) // 64)

    def places(self, values: pl.Series) -> Ints:
        """The number of every value, shape (n,)."""
        numbered = pl.DataFrame(
            {"value": self.domain, "place": np.arange(len(self.domain), dtype=np.int64)}
        )
        wanted = values.alias("value").cast(self.domain.dtype).to_frame()
        return wanted.join(
            numbered, on="value", how="left", nulls_equal=True, maintain_order="left"
        )["place"].to_numpy()

    def of_groups(self, form: Generalized) -> tuple[pl.Series, Sets]:
        """The groups' ids, and the values that each group holds."""
        groups = Groups.of(form)
        place = self._published(groups)[groups.cell_value]
        sets = np.zeros((len(groups), self.words), dtype=np.uint64)
        np.bitwise_or.at(
            sets, (groups.cell_group, place // 64), np.uint64(1) << (place % 64).astype(np.uint64)
        )
        return groups.ids, sets

    def of_boxes(self, form: Generalized, microdata: Microdata) -> Sets:
        """For every row of the original table, the values of all groups whose box contains it: the
        paper's candidate sensitive set.
        """
        place = self._published(Groups.of(form))
        step = max(1, _CELLS // max(self.words * 64, 1))
        parts = [
            self._packed(candidate_sets(_part(microdata, start, start + step), form), place)
            for start in range(0, microdata.rows, step)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, self.words), dtype=np.uint64)

    def _published(self, groups: Groups) -> Ints:
        """The number of each value that a release's groups count."""
        return np.zeros(0, dtype=np.int64) if groups.values is None else self.places(groups.values)

    def _packed(self, possible: Bools, place: Ints) -> Sets:
        spread = np.zeros((len(possible), self.words * 64), dtype=bool)
        spread[:, place] = possible
        return np.packbits(spread, axis=1, bitorder="little").view("<u8").astype(np.uint64)


def _part(microdata: Microdata, start: int, stop: int) -> Microdata:
    return (
        microdata
        if start == 0 and stop >= microdata.rows
        else microdata.take(np.arange(start, min(stop, microdata.rows)))
    )


def sizes(sets: Sets) -> Ints:
    """How many values each set holds, shape (n,)."""
    counts: Ints = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    return counts


def hold(sets: Sets, places: Ints) -> Bools:
    """Whether each set holds the value of the number beside it, shape (n,); -1 is no value."""
    words = (
        sets[np.arange(len(sets)), np.maximum(places, 0) // 64]
        if len(sets)
        else np.zeros(0, dtype=np.uint64)
    )
    bits = (words >> (np.maximum(places, 0) % 64).astype(np.uint64)) & np.uint64(1)
    inside: Bools = (bits == 1) & (places >= 0)
    return inside
