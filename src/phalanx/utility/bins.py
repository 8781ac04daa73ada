# SPDX-License-Identifier: Apache-2.0
"""Bins of the values of a table, which may come in pieces, and what is known of it before: its
different values, and some of its rows.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Floats, Integers, places_among
from phalanx.data.sources.frames import apart

Coded = Mapping[str, Integers]
"""By attribute the bin of every row, shape (n,), of a type that takes little room."""

_BINS: Final = 10
_MOST: Final = 1 << 20
"""Of a larger table some rows say what its tenths are."""


@dataclass(frozen=True)
class Bins:
    """Bins of every attribute, made of the original alone: tenths of numbers and days with many
    values, other values one by one, missing ones by themselves.
    """

    edges: Mapping[str, Floats]
    values: Mapping[str, pl.Series]

    @classmethod
    def of(cls, original: pl.DataFrame) -> "Bins":
        """The bins that fit an original table."""
        return Seen([original], original.height, original.height).bins()

    def code(self, table: pl.DataFrame) -> dict[str, Integers]:
        """The bin of every value, 0 for a missing one, and a last bin for values that the original
        has not.
        """
        codes: dict[str, Integers] = {}
        for name, edges in self.edges.items():
            numbers = table[name].to_physical().cast(pl.Float64)
            place = np.searchsorted(edges, numbers.fill_null(0).to_numpy(), side="left") + 1
            codes[name] = np.where(numbers.is_null().to_numpy(), 0, place)
        for name, values in self.values.items():
            texts = _texts(table[name], values)
            codes[name] = np.where(texts.is_null().to_numpy(), 0, places_among(texts, values) + 1)
        return {
            name: codes[name].astype(np.min_scalar_type(self.size(name) - 1))
            for name in table.columns
            if name in codes
        }

    def code_all(self, pieces: Iterable[pl.DataFrame]) -> Coded:
        """The bin of every value of a table that comes in pieces, at least one."""
        coded = [self.code(piece) for piece in pieces]
        return {name: np.concatenate([each.pop(name) for each in coded]) for name in [*coded[0]]}

    def size(self, name: str) -> int:
        """How many bins an attribute has."""
        return len(self.edges[name]) + 2 if name in self.edges else len(self.values[name]) + 2


class Seen:
    """What is known of a table of so many ``rows`` that comes in ``pieces``, once all were seen.

    ``some``: its rows at equal distances, all where they are ``most`` or fewer.
    """

    def __init__(self, pieces: Iterable[pl.DataFrame], rows: int, most: int = _MOST) -> None:
        step, before, some = max(1, math.ceil(rows / max(most, 1))), 0, []
        self._values: dict[str, pl.Series] = {}
        """The different values of each column; of one that has tenths more than there are of these
        is enough."""
        self._anew: dict[str, list[pl.Series]] = defaultdict(list)
        for piece in pieces:
            some.append(apart(piece.gather_every(step, -before % step)) if step > 1 else piece)
            before += piece.height
            for column in piece.get_columns():
                self._see(column)
        for name in [*self._anew]:
            self._put_together(name)
        self.some = pl.concat(some)

    def bins(self) -> Bins:
        """The bins that fit the table."""
        edges, values = {}, {}
        for name, known in self._values.items():
            if _has_tenths(known):
                present = self.some[name].drop_nulls()
                numbers = (present if len(present) else known).to_physical().cast(pl.Float64)
                tenths = np.quantile(numbers.to_numpy(), np.arange(1, _BINS) / _BINS)
                edges[name] = np.unique(tenths)
            else:
                values[name] = known.cast(pl.String).unique().sort()
        return Bins(edges, values)

    def _see(self, column: pl.Series) -> None:
        known = self._values.get(column.name)
        if known is not None and _has_tenths(known):
            return
        anew = self._anew[column.name]
        anew.append(column.drop_nulls().unique())
        if known is None or sum(map(len, anew)) >= len(known):
            self._put_together(column.name)

    def _put_together(self, name: str) -> None:
        """Values that were seen anew and those before: once they are as many, as each time all are
        gone through.
        """
        known = [self._values[name]] if name in self._values else []
        self._values[name] = pl.concat([*known, *self._anew.pop(name)]).unique()


def _has_tenths(values: pl.Series) -> bool:
    """Whether a column with at least these different values is looked at in tenths."""
    return (values.dtype.is_numeric() or values.dtype.is_temporal()) and len(values) > 2 * _BINS


def _texts(column: pl.Series, values: pl.Series) -> pl.Series:
    """Values as the original's texts; whole numbers that became floats on the way are whole
    again, also beyond 64 bits, which a decimal may hold.
    """
    if column.dtype.is_float() and values.str.contains(r"^-?\d+$").all():
        whole = column.round().cast(pl.Int128, strict=False).cast(pl.String)
        return whole.fill_null(column.cast(pl.String))
    return column.cast(pl.String)
