# SPDX-License-Identifier: Apache-2.0
"""Counts of a table that is read some rows at a time: how often each image occurs in the sample, and
how often each cell of the lowest levels does in the table, by which levels are chosen.
"""

from collections.abc import Iterable

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.column import encode_column
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import MethodError
from phalanx.methods.safe_sampling.schemes import Axes, FixedScheme

_TIMES = "times"


class Counts:
    """How often each of different rows occurs, of which at most so many are held."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: pl.DataFrame | None = None

    def add(self, rows: pl.DataFrame, times: Ints, beside: pl.DataFrame | None = None) -> None:
        """Count further rows; MethodError where there are more different ones than may be held.

        ``rows``: different ones, shape (g, columns); ``times`` (g,): how often each occurs.
        ``beside``: columns of which the first that was seen beside a row is kept.
        """
        names = [f"row {i}" for i in range(rows.width)]
        held = rows.rename(dict(zip(rows.columns, names, strict=True)))
        others = [] if beside is None else beside.columns
        held = held.with_columns(
            pl.Series(_TIMES, times, dtype=pl.Int64),
            *([] if beside is None else [beside[name].alias(f"of {name}") for name in others]),
        )
        if self._rows is not None:
            held = (
                pl.concat([self._rows, held], how="vertical_relaxed")
                .group_by(names, maintain_order=True)
                .agg(pl.col(_TIMES).sum(), *(pl.col(f"of {name}").first() for name in others))
            )
        if held.height > self._most:
            raise MethodError(
                f"more than {self._most:,} different rows are to be counted, too many for the"
                " memory; recode more coarsely, or raise [publish] memory_limit."
            )
        self._rows, self._names, self._others = held, rows.columns, others

    def crowds(self, k: int) -> tuple[pl.DataFrame, Ints]:
        """The rows that occur ``k`` times or more, shape (g, columns), and how often, shape (g,)."""
        rows = self._held.filter(pl.col(_TIMES) >= k)
        names = {f"row {i}": name for i, name in enumerate(self._names)}
        return rows.select(*names).rename(names), rows[_TIMES].to_numpy()

    def beside(self) -> tuple[pl.DataFrame, Ints]:
        """What stood beside the rows, in their order, and how often each occurs, shape (g,)."""
        names = {f"of {name}": name for name in self._others}
        return self._held.select(*names).rename(names), self._held[_TIMES].to_numpy()

    @property
    def _held(self) -> pl.DataFrame:
        if self._rows is None:
            raise MethodError("the table has no rows; there is nothing to publish.")
        return self._rows


def lowest_cells(
    axes: Axes, schema: Schema, batches: Iterable[Microdata], most: int
) -> tuple[Microdata, Ints]:
    """One row of each different cell that rows of a table fall into at the lowest levels that may be
    chosen, as microdata, and how many rows of the table are in it, shape (g,).

    Of values that one cell holds the first that was read stands for all: every level above puts them
    into one cell, too. MethodError where there are more than ``most``.
    """
    levels = tuple(
        axis.lowest if (level := axes.levels[axis.name]) is None else level for axis in axes.axes
    )
    scheme, counts = FixedScheme(axes.axes, levels), Counts(most)
    for microdata in batches:
        axes.check_fits(microdata)
        cell, cells = scheme.images(microdata, np.arange(microdata.rows))
        first = np.zeros(cells.height, dtype=np.int64)
        first[cell[::-1]] = np.arange(microdata.rows)[::-1]
        values = [
            column.domain.values.gather(column.codes[first]).alias(name)
            for name, column in microdata.columns.items()
        ]
        counts.add(cells, np.bincount(cell), pl.DataFrame(values))
    frame, times = counts.beside()
    columns = {name: encode_column(frame[name], schema) for name in frame.columns}
    return Microdata(schema, frame.height, columns, frame.select([]), None), times
