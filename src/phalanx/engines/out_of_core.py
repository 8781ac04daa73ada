# SPDX-License-Identifier: Apache-2.0
"""A table larger than the memory, some rows at a time as often as a method counts them, or in parts
that fit: read twice, and laid down in files without a name, of which one is read at a time.

The first time a sample of the quasi-identifiers, and how far each attribute reaches, are taken; the
second time every row goes to the file of its part. No other process can open such a file, and the system
takes it back with the process, however that ends: no row is left behind by a kill.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, ClassVar, Final

import numpy as np
import polars as pl

from phalanx.arrays import Ints, in_order
from phalanx.data.identifying import check_whole, judged
from phalanx.data.microdata import Microdata, check_columns
from phalanx.data.persons import PersonKey
from phalanx.data.repeated import Repeated
from phalanx.data.schema import Schema
from phalanx.data.sources.available_memory import in_words
from phalanx.data.sources.batches import Batches
from phalanx.data.sources.frames import apart
from phalanx.engines.cells import Cells, Look, sampled_share
from phalanx.engines.regions import Region, merged
from phalanx.errors import MethodError, SourceError
from phalanx.methods.base import Division
from phalanx.progress import Progress, silent, told_of_rows
from phalanx.randomness import Randomness

_MOST_PARTS: Final = 480
"""So many files are written at once, and as many again where persons stay in parts: below the 1,024
that a process may usually open.
"""
_AT_ONCE: Final = 1 << 17
"""So many rows are counted at a time, where as many fit."""
LEAST_ROWS: Final = 2_000
"""A part of fewer rows loses too much."""
_SMALL: Final = 8
"""A part of less than this part of its size is published with its neighbour."""


@dataclass(frozen=True)
class Divided:
    """A table that is published in parts; nothing of it is read before they are asked for."""

    batches: Batches
    schema: Schema
    rows: int
    most: int
    """So many rows are wanted in a part."""
    room: int
    """Bytes that what is made of one part may take."""
    asked: bool = False
    """Whether the plan says so, and not an estimate, which goes by how many rows there are."""
    progress: Progress = silent
    """Told of the rows, each time that they are read."""
    share: ClassVar[float] = 0.4
    """A part is made to take so much of the memory: the rest is for reading and what allocators
    keep.
    """

    def parts(
        self, by: Division, place: Path, key: PersonKey | None, rng: Randomness
    ) -> Iterator[Microdata]:
        """The table part by part, in an order that chance gave.

        Parameters
        ----------
        by : Division
            How it may be divided: by regions of the quasi-identifiers, or by chance.
        place : Path
            A folder on the disk that has room for the rows; nothing appears in it.
        key : PersonKey, optional
            Makes persons of identifiers, where an identifier is declared.
        rng : Randomness
            The one source of chance.

        Yields
        ------
        Microdata
            Some of the rows, over domains that reach as far as the whole table's; without persons.

        Raises
        ------
        SourceError, SchemaError
            Where the table is not what the schema says, or a person is in it twice.
        MethodError
            Where the parts would be too many.
        """
        self.check_identifying(place)
        cells = self._cells(by, rng)
        self.check_count(cells.root.end)
        with ExitStack() as opened:
            files = [opened.enter_context(TemporaryFile(dir=place)) for _ in range(cells.root.end)]
            counts = self._route(cells, files, place, key, rng)
            together = merged(counts, self.least)
            for turn in rng.stream("order of parts").permutation(len(together)):
                frame = pl.concat([read_part(files[number]) for number in together[turn]])
                yield cells.microdata(frame)

    def readings(self, place: Path, key: PersonKey | None) -> Callable[[], Iterator[Microdata]]:
        """The table as often as it is asked for, some rows at a time, in its order.

        Parameters
        ----------
        place : Path
            A folder on the disk that has room for a hash of each person; nothing appears in it.
        key : PersonKey, optional
            Makes persons of identifiers, where an identifier is declared.

        Returns
        -------
        Callable[[], Iterator[Microdata]]
            Reads it from its beginning, in the same pieces whenever it is called; without persons.

        Raises
        ------
        SourceError, SchemaError
            Where the table is not what the schema says, or a person is in it twice.
        """
        schema = self.schema
        self.check_identifying(place)
        cells = Cells(schema, (), Region())
        columns = self.columns

        def read() -> Iterator[Microdata]:
            for frame in _pieces(self.each(columns), min(self.most, _AT_ONCE)):
                yield cells.microdata(frame)

        if key is not None and schema.identifier is not None:
            with Repeated(self.rows, self.room, place) as repeated:
                for batch in self.each([schema.identifier]):
                    repeated.see(key.hash(batch[schema.identifier]))
                repeated.check(schema.identifier)
        return read

    def each(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some columns of all rows, some rows at a time.

        Parameters
        ----------
        columns : Sequence[str]
            Their names.

        Yields
        ------
        pl.DataFrame
            Of further rows, in their order.
        """
        return told_of_rows("read", self.rows, self.progress)(self.batches.each(columns))

    def drawn(self, rng: Randomness) -> Microdata:
        """Rows of the table that chance drew, as many as fit, each as likely as any other.

        Parameters
        ----------
        rng : Randomness
            The one source of chance.

        Returns
        -------
        Microdata
            These rows, encoded, without persons.

        Raises
        ------
        SourceError, SchemaError
            Where they are not what the schema says.
        """
        self.check_head()
        share = min(sampled_share(self.rows), Fraction(self.most, self.rows))
        stream = rng.stream("sample of rows")
        drawn = [
            apart(batch[stream.bernoulli(share, batch.height)]) for batch in self.each(self.columns)
        ]
        return Cells(self.schema, (), Region()).microdata(pl.concat(drawn))

    def check_head(self) -> pl.DataFrame:
        """The columns, without rows; SourceError or SchemaError where they are not those of the
        schema, or no row is there.
        """
        if not self.rows:
            raise SourceError("the table has no rows; give one that has some.")
        head = next(self.batches.each(self.batches.names)).clear()
        check_columns(head, self.schema)
        return head

    def check_identifying(self, place: Path) -> None:
        """The same, or SchemaError where a column names people; ``place``: a folder on the disk, in
        which nothing appears.
        """
        names = judged(self.check_head(), self.schema)
        check_whole(names, self.schema, self.each, self.rows, self.room, place)

    def check_count(self, parts: int) -> None:
        """MethodError where there would be too many parts."""
        if parts > _MOST_PARTS:
            raise MethodError(
                f"the table would be published in {parts:,} parts, and {_MOST_PARTS} are the most;"
                " raise [publish] memory_limit."
            )

    def look(self) -> Look:
        """A look at its quasi-identifiers, which has seen none yet."""
        return Look(self.schema, sampled_share(self.rows, len(self.schema.quasi)))

    def most_beside(self, held: int) -> int:
        """So many rows are wanted in a part, where so many bytes are held of the quasi-identifiers of
        all; MethodError where that leaves too little.
        """
        if held * _SMALL < self.room:
            return self.most
        most = self.most * max(0, self.room - held) // self.room
        if most < min(self.rows, LEAST_ROWS):
            raise MethodError(
                f"the different texts of the quasi-identifiers take {in_words(held)} of the"
                f" {in_words(self.room)} for a part; raise [publish] memory_limit, or leave out one"
                " with too many."
            )
        return most

    @property
    def least(self) -> int:
        """A part of fewer rows is published with its neighbour."""
        return max(1, self.most // _SMALL)

    @property
    def columns(self) -> list[str]:
        """Those of which a part is made."""
        return [
            name for name, role in self.schema.roles.items() if role not in ("identifier", "drop")
        ]

    def _cells(self, by: Division, rng: Randomness) -> Cells:
        """The cells, after one look at all quasi-identifiers."""
        if by == "chance":
            return Cells.by_chance(self.schema, self.rows, self.most)
        stream, look = rng.stream("sample of quasi-identifiers"), self.look()
        for batch in self.each(self.schema.quasi):
            look.see(batch, stream)
        return look.cells(self.rows, self.most_beside(look.held))

    def _route(
        self,
        cells: Cells,
        files: Sequence[IO[bytes]],
        place: Path,
        key: PersonKey | None,
        rng: Randomness,
    ) -> list[int]:
        """Write every row to the file of its part; how many rows each has."""
        followed = self.schema.identifier if key is not None else None
        stream = rng.stream("rows dealt out")
        if key is None or followed is None:
            batches = self.each(self.columns)
            return route(((batch, cells.tag(batch, stream)) for batch in batches), files)
        with Repeated(self.rows, self.room, place) as repeated:

            def tagged() -> Iterator[tuple[pl.DataFrame, Ints]]:
                for batch in self.each([*self.columns, followed]):
                    repeated.see(key.hash(batch[followed]))
                    yield batch.drop(followed), cells.tag(batch, stream)

            counts = route(tagged(), files)
            repeated.check(followed)
        return counts


def route(tagged: Iterable[tuple[pl.DataFrame, Ints]], files: Sequence[IO[bytes]]) -> list[int]:
    """Write rows to files.

    Parameters
    ----------
    tagged : Iterable[tuple[pl.DataFrame, Ints]]
        Some rows at a time, and the number of the file of each.
    files : Sequence[IO[bytes]]
        The files.

    Returns
    -------
    list[int]
        How many rows each has.
    """
    import pyarrow as pa

    counts = np.zeros(len(files), dtype=np.int64)
    with ExitStack() as opened:
        writers: dict[int, Any] = {}
        for batch, parts in tagged:
            order = in_order(parts)
            table = batch[order].to_arrow(compat_level=pl.CompatLevel.oldest())
            sizes = np.bincount(parts, minlength=len(files))
            ends = np.cumsum(sizes)
            for number in np.flatnonzero(sizes).tolist():
                piece = table.slice(ends[number] - sizes[number], sizes[number])
                if number not in writers:
                    options = pa.ipc.IpcWriteOptions(compression="lz4")
                    writers[number] = opened.enter_context(
                        pa.ipc.new_stream(files[number], table.schema, options=options)
                    )
                writers[number].write_table(piece)
            counts += sizes
    return [int(count) for count in counts]


def _pieces(frames: Iterator[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    """The same rows in pieces of ``size``, of which the last two may be smaller by half."""
    held = next(frames)
    for frame in frames:
        held = pl.concat([held, frame])
        while held.height >= 2 * size:
            yield held[:size]
            held = held[size:]
    even = -(-held.height // -(-held.height // size))
    yield from (held[at : at + even] for at in range(0, held.height, even))


def read_part(file: IO[bytes]) -> pl.DataFrame:
    """The rows of a part, whose file is closed, and so is gone."""
    import pyarrow as pa

    with file:
        file.seek(0)
        with pa.ipc.open_stream(file) as stream:
            frame = pl.from_arrow(stream.read_all())
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()
