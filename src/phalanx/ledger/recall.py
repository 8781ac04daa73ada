# SPDX-License-Identifier: Apache-2.0
"""What a series remembers, read table by table as of one moment: its entries are looked at once,
however many parts it has.
"""

from collections.abc import Sequence
from typing import Final

import polars as pl

from phalanx.errors import LedgerError
from phalanx.ledger.committing import CARRIED
from phalanx.ledger.entries import ReleaseEntry
from phalanx.ledger.rows import Entries, Rows
from phalanx.ledger.sealing import parts_of, tables_of, unpack, unpack_groups, within

GROUPS: Final = "groups"
MEMORY: Final = "memory/"


class Recall:
    """What a series remembers. Each segment is bound to the release that it stems from, so that
    those of another moment are not taken for it.
    """

    def __init__(self, rows: Rows, series: str, entries: Entries) -> None:
        self._rows = rows
        self.series = series
        self.entries = entries

    def remembered(self, part: int | None = None) -> dict[str, pl.DataFrame]:
        """What its releases remembered, in their order.

        Parameters
        ----------
        part : int, optional
            Of this part of the series alone, which has a memory of its own.

        Returns
        -------
        dict[str, pl.DataFrame]
            A table for each name.

        Raises
        ------
        LedgerError
            Where a segment was changed or removed, or the series was published meanwhile.
        """
        tables: dict[str, list[pl.DataFrame]] = {}
        begins = MEMORY + ("" if part is None else within(part, ""))
        for entry, segments in self.entries:
            for name in tables_of(begins, segments):
                content = self._table(entry, segments, begins + name)
                tables.setdefault(name, []).append(unpack(content))
        return {
            name: pl.concat(frames, how="vertical_relaxed")
            for name, frames in sorted(tables.items())
        }

    def state(self, part: int | None = None) -> dict[str, pl.DataFrame]:
        """What its last release carries on.

        Parameters
        ----------
        part : int, optional
            Of this part of the series alone.

        Returns
        -------
        dict[str, pl.DataFrame]
            A table for each name; none before the first release.

        Raises
        ------
        LedgerError
            Where a segment was changed or removed, or the series was published meanwhile.
        """
        begins = CARRIED + ("" if part is None else within(part, ""))
        return {
            name: unpack(self._table(entry, segments, begins + name))
            for entry, segments in self.entries[-1:]
            for name in tables_of(begins, segments)
        }

    def groups(self, number: int, part: int | None = None) -> pl.DataFrame | None:
        """Which group each person was published in.

        Parameters
        ----------
        number : int
            The release, from 1.
        part : int, optional
            Of this part of the series alone; of a release in parts, all of them if not given.

        Returns
        -------
        pl.DataFrame | None
            (person Binary, group Int64), sorted by person, where it is not of several parts; None
            where the release keeps none.

        Raises
        ------
        LedgerError
            Where a segment was changed or removed, or the series was published meanwhile.
        """
        for entry, segments in self.entries:
            if entry.number == number:
                wanted = [GROUPS] if part is None else []
                wanted += [within(of, GROUPS) for of in parts_of(segments) if part in (None, of)]
                mappings = [
                    unpack_groups(self._table(entry, segments, name))
                    for name in wanted
                    if name in segments
                ]
                return pl.concat(mappings) if mappings else None
        return None

    def mapped(self) -> list[int]:
        """The releases of which it is known, in one piece, who is in which group.

        Returns
        -------
        list[int]
            Their numbers, ascending.
        """
        return [entry.number for entry, segments in self.entries if GROUPS in segments]

    def parts(self) -> dict[int, list[int]]:
        """The parts of the series in which its persons stay.

        Returns
        -------
        dict[int, list[int]]
            By release the numbers of those that have rows in it, ascending; none where it was
            published in one piece, or follows no persons.
        """
        return {entry.number: parts_of(segments) for entry, segments in self.entries}

    def _table(self, entry: ReleaseEntry, segments: Sequence[str], name: str) -> bytes | memoryview:
        try:
            return self._rows.table(self.series, entry, segments, name)
        except LedgerError:
            if len(self._rows.entries(self.series)) == len(self.entries):
                raise
            raise LedgerError(
                f"series {self.series!r} was published by another process meanwhile; nothing was"
                " recorded, so try again."
            ) from None
