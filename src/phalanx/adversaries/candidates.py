# SPDX-License-Identifier: Apache-2.0
"""Candidate sensitive sets of many persons at once: a set is a row of bits, one per sensitive value
of the series.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints, Sets, different, places_in, sets_of, words
from phalanx.data.microdata import Microdata
from phalanx.guarantees.views.boxes import candidate_sets, set_of_each
from phalanx.guarantees.views.groups import Groups
from phalanx.release.folder import Release
from phalanx.release.forms.generalized import Generalized


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
        """The union of the columns' values, in the order in which they first stand there: figures
        that are added up by value come out the same each time.
        """
        kinds = {column.dtype for column in columns}
        kind = next(iter(kinds)) if len(kinds) == 1 else pl.String()
        if len(kinds) > 1 and all(k.is_numeric() for k in kinds):
            kind = pl.Int64() if all(k.is_integer() for k in kinds) else pl.Float64()
        each = [c.unique(maintain_order=True).cast(kind).alias("value") for c in columns]
        return cls(pl.concat(each).unique(maintain_order=True))

    @property
    def words(self) -> int:
        """How many words a set takes."""
        return words(len(self.domain))

    def places(self, values: pl.Series) -> Ints:
        """The number of every value, shape (n,)."""
        numbered = pl.DataFrame(
            {"value": self.domain, "place": np.arange(len(self.domain), dtype=np.int64)}
        )
        wanted = values.alias("value").cast(self.domain.dtype).to_frame()
        return wanted.join(
            numbered, on="value", how="left", nulls_equal=True, maintain_order="left"
        )["place"].to_numpy()

    def of_groups(self, form: Generalized, places: Ints) -> Sets:
        """The values that the groups at these places hold, shape (n, words)."""
        groups = Groups.of(form)
        wanted, of = different(places)
        at = places_in(groups.cell_group, wanted)
        number = self._published(groups)[groups.cell_value[at >= 0]]
        return sets_of(at[at >= 0], number, len(wanted), len(self.domain))[of]

    def of_boxes(self, form: Generalized, microdata: Microdata) -> Sets:
        """For every row of the original table, the values of all groups whose box contains it: the
        paper's candidate sensitive set.
        """
        place = self._published(Groups.of(form))
        q = len(self.domain)
        return set_of_each(*candidate_sets(microdata, form, place, q), q)

    def opened(self, sets: Sets, release: Release) -> Sets:
        """The same sets (n, words), of which each that holds a value which is not shown holds all:
        such a row may have any.
        """
        hidden = np.flatnonzero(self.domain.is_null().to_numpy())
        if len(sets) and len(hidden) and hides_values(release):
            sets[hold(sets, np.repeat(hidden, len(sets)))] = self.every
        return sets

    @property
    def every(self) -> Sets:
        """The set of all values, shape (1, words)."""
        q = len(self.domain)
        return sets_of(np.zeros(q, dtype=np.int64), np.arange(q), 1, q)

    def _published(self, groups: Groups) -> Ints:
        """The number of each value that a release's groups count."""
        return np.zeros(0, dtype=np.int64) if groups.values is None else self.places(groups.values)


def hides_values(release: Release) -> bool:
    """Whether a row without a value may have one that is not shown, as under the global guarantee."""
    return "spent-budget" in (release.manifest.may_suppress or ())


def hold(sets: Sets, places: Ints) -> Bools:
    """Whether each set holds the value of the number beside it, shape (n,); -1 is no value."""
    word = (
        sets[np.arange(len(sets)), np.maximum(places, 0) // 64]
        if len(sets)
        else np.zeros(0, dtype=np.uint64)
    )
    bits = (word >> (np.maximum(places, 0) % 64).astype(np.uint64)) & np.uint64(1)
    inside: Bools = (bits == 1) & (places >= 0)
    return inside
