# SPDX-License-Identifier: Apache-2.0
"""Cells: parts of a table that a method may publish each by itself, wherever that is done.

An engine runs two functions. ``Cells.tag`` names the cell of each row of a batch; what it goes by
anybody may know: quasi-identifiers and how many rows there are. To *solve* a cell is to make its
rows microdata (``Cells.microdata``) and to let the method publish these. Between the two, cells are
counted and merged with their neighbours until none is too small (``regions.merged``). The same
functions run in one process (``out_of_core``) and in many (``spark``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.engines.regions import Attribute, Region, compact, regions
from phalanx.randomness import Stream

if TYPE_CHECKING:
    from phalanx.arrays import Floats

_SAMPLE: Final = 200_000
"""So many rows tell where regions are cut."""
_SAMPLED_VALUES: Final = 2_000_000
"""And so many of their values, as all are held at once; but no fewer rows than a tenth."""


def sampled_share(rows: int, columns: int = 1) -> Fraction:
    """The probability with which each of so many rows, of so many quasi-identifiers, is in the sample
    that tells where to cut.

    >>> sampled_share(1_000_000), sampled_share(10), sampled_share(1_000_000, 50)
    (Fraction(1, 5), Fraction(1, 1), Fraction(1, 25))
    """
    most = min(_SAMPLE, max(_SAMPLE // 10, _SAMPLED_VALUES // max(1, columns)))
    return min(Fraction(1), Fraction(most, max(1, rows)))


@dataclass(frozen=True)
class Cells:
    """Which cell a row is in, and what the rows of one are to a method."""

    schema: Schema
    attributes: Sequence[Attribute]
    """The quasi-identifiers, in the schema's order."""
    root: Region
    """The cuts; the numbers of cells are those of its parts."""

    @classmethod
    def by_chance(cls, schema: Schema, rows: int, most: int) -> Self:
        """Cells that chance deals rows out to.

        Parameters
        ----------
        schema : Schema
            The role of each column.
        rows : int
            How many rows the table has.
        most : int
            So many are wanted in a cell.

        Returns
        -------
        Self
            The cells.
        """
        attributes = [Attribute(name, schema) for name in schema.quasi]
        return cls(schema, attributes, Region(ways=max(1, -(-rows // most))))

    def tag(self, batch: pl.DataFrame, stream: Stream) -> Ints:
        """The cell of each row; no sensitive value has a part in it.

        Parameters
        ----------
        batch : pl.DataFrame
            Some rows, with all quasi-identifiers where cells are regions of these, shape (n, …).
        stream : Stream
            Deals out rows that no quasi-identifier divides.

        Returns
        -------
        Ints
            Numbers from 0, shape (n,).
        """
        return self.root.parts_of(self._places(batch), stream)

    def microdata(self, frame: pl.DataFrame) -> Microdata:
        """The rows of a cell, encoded, their quasi-identifiers over domains that reach as far as
        the table's.

        Parameters
        ----------
        frame : pl.DataFrame
            The rows, without identifier, shape (n, …).

        Returns
        -------
        Microdata
            The same rows in the same order, without persons.

        Raises
        ------
        SourceError, SchemaError
            Where they are not what the schema says.
        """
        schema = self.schema
        without = replace(
            schema,
            identifier=None,
            drop=(),
            types={name: kind for name, kind in schema.types.items() if name in frame.columns},
            missing=schema.missing
            if isinstance(schema.missing, str)
            else {name: word for name, word in schema.missing.items() if name in frame.columns},
        )
        part = Microdata.encode(frame, without, whole=False)
        wider = {one.name: one.over_all(part.columns[one.name]) for one in self.attributes}
        return replace(part, columns={**part.columns, **wider})

    def _places(self, batch: pl.DataFrame) -> "Floats":
        """Where the rows are, shape (n, d); nowhere where nothing is cut."""
        if self.root.below is None:
            return np.zeros((batch.height, 1))
        return np.stack(
            [one.places(one.canonical(batch[one.name])) for one in self.attributes], axis=1
        )


class Look:
    """What one look at all quasi-identifiers tells: how far each attribute reaches, and a sample of
    their rows. Looks at parts of a table add up to one at all of it.
    """

    def __init__(self, schema: Schema, share: Fraction) -> None:
        self._schema = schema
        self._share = share
        self.attributes: Sequence[Attribute] = [Attribute(name, schema) for name in schema.quasi]
        self._drawn: list[pl.DataFrame] = []

    def see(self, batch: pl.DataFrame, stream: Stream) -> None:
        """Look at further rows.

        Parameters
        ----------
        batch : pl.DataFrame
            Some rows, with all quasi-identifiers, shape (n, …).
        stream : Stream
            Draws the sample.
        """
        rows = stream.bernoulli(self._share, batch.height)
        seen = [compact(one.see(batch[one.name])[rows]) for one in self.attributes]
        self._drawn.append(pl.DataFrame(seen))

    def reach(self) -> pl.DataFrame:
        """How far each attribute reaches, to be added to another look.

        Returns
        -------
        pl.DataFrame
            One row; of each attribute the list of its values or, of numbers and dates, of their
            ends.
        """
        return pl.DataFrame([one.reach().implode() for one in self.attributes])

    def drawn(self) -> pl.DataFrame:
        """The sample.

        Returns
        -------
        pl.DataFrame
            Quasi-identifiers in their canonical types, shape (s, d).
        """
        return pl.concat(self._drawn)

    def add(self, reach: pl.DataFrame, drawn: pl.DataFrame | None = None) -> None:
        """Add what another look told, at other rows.

        Parameters
        ----------
        reach : pl.DataFrame
            As ``reach`` gives it.
        drawn : pl.DataFrame, optional
            As ``drawn`` gives it.
        """
        for one in self.attributes:
            values = reach[one.name].explode().drop_nulls()
            if len(values):
                one.see(values)
        if drawn is not None:
            self._drawn.append(drawn)

    @property
    def held(self) -> int:
        """About so many bytes of memory what is known of the attributes takes."""
        return sum(one.held for one in self.attributes)

    def cells(self, rows: int, most: int) -> Cells:
        """Regions that the sample divides.

        Parameters
        ----------
        rows : int
            How many rows the table has.
        most : int
            So many are wanted in a cell.

        Returns
        -------
        Cells
            The cells.
        """
        drawn = self.drawn()
        places = np.stack([one.places(drawn[one.name]) for one in self.attributes], axis=1)
        return self.along(regions(places, rows, most))

    def along(self, root: Region) -> Cells:
        """Regions that are cut already.

        Parameters
        ----------
        root : Region
            Their cuts.

        Returns
        -------
        Cells
            The cells.
        """
        return Cells(self._schema, self.attributes, root)
