# SPDX-License-Identifier: Apache-2.0
"""What a series remembers, read table by table as of one moment: its entries are looked at once,
however many parts it has.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Final, TypeVar

import polars as pl

from phalanx.errors import LedgerError
from phalanx.ledger.committing import CARRIED
from phalanx.ledger.entries import ReleaseEntry
from phalanx.ledger.rows import Entries, Rows
from phalanx.ledger.sealing import parts_of, tables_of, unpack, within

Content = TypeVar("Content", bytes, bytes | memoryview)
GROUPS: Final = "groups"
MEMORY: Final = "memory/"


class _Remembered(Mapping[str, pl.DataFrame]):
    """The tables whose segments begin with ``begins``, each read once, and not before it is needed."""

    def __init__(self, recall: "Recall", begins: str) -> None:
        names = (tables_of(begins, segments) for _, segments in recall.entries)
        self._names = sorted(set(chain.from_iterable(names)))
        self._recall, self._begins = recall, begins
        self._read: dict[str, pl.DataFrame] = {}

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self._read:
            if name not in self._names:
                raise KeyError(name)
            self._read[name] = self._recall.appended(name, self._begins)
        return self._read[name]

    def __reduce__(self) -> tuple[Any, ...]:
        """To another process goes what was read, and no ledger."""
        return dict, (dict(self),)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class Recall:
    """What a series remembers. Each segment is bound to the release that it stems from, so that
    those of another moment are not taken for it.
    """

    def __init__(self, rows: Rows, series: str, entries: Entries) -> None:
        self._rows = rows
        self.series = series
        self.entries = entries

    def remembered(self, part: int | None = None) -> Mapping[str, pl.DataFrame]:
        """What its releases remembered, in their order. Each table is read when it is first asked
        for, since some are hardly ever.

        Parameters
        ----------
        part : int, optional
            Of this part of the series alone, which has a memory of its own.

        Returns
        -------
        Mapping[str, pl.DataFrame]
            A table for each name; to ask for one raises LedgerError where a segment of it was
            changed or removed, or the series was published meanwhile.
        """
        begins = MEMORY + ("" if part is None else within(part, ""))
        return _Remembered(self, begins)

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
                    unpack(self._table(entry, segments, name))
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

    def check(self, numbers: Collection[int]) -> None:
        """Read every segment of some releases once, as what is not asked for now may be needed when no
        copy is left.

        Parameters
        ----------
        numbers : Collection[int]
            The releases.

        Raises
        ------
        LedgerError
            Where a segment was changed or removed, or the series was published meanwhile.
        """
        for entry, segments in self.entries:
            for name in segments if entry.number in numbers else ():
                self._own(partial(self._rows.segment, self.series, entry, name))

    def appended(self, name: str, begins: str) -> pl.DataFrame:
        """The rows that all releases appended to a table.

        Parameters
        ----------
        name : str
            The table.
        begins : str
            What the names of its segments begin with.

        Returns
        -------
        pl.DataFrame
            They, in the order of the releases.

        Raises
        ------
        LedgerError
            Where a segment was changed or removed, or the series was published meanwhile.
        """
        frames = [
            unpack(self._table(entry, segments, begins + name))
            for entry, segments in self.entries
            if begins + name in segments
        ]
        return pl.concat(frames, how="vertical_relaxed")

    def _table(self, entry: ReleaseEntry, segments: Sequence[str], name: str) -> bytes | memoryview:
        return self._own(partial(self._rows.table, self.series, entry, segments, name))

    def _own(self, read: Callable[[], Content]) -> Content:
        """What is read of the series as it was when it was looked at."""
        try:
            return read()
        except LedgerError:
            if len(self._rows.entries(self.series)) == len(self.entries):
                raise
            raise LedgerError(
                f"series {self.series!r} was published by another process meanwhile; nothing was"
                " recorded, so try again."
            ) from None
