# SPDX-License-Identifier: Apache-2.0
"""The rows of a query or of a CSV file in memory, or, where these are too many, on the disk, in a
file without a name, from which they are read some at a time.

No other process can open such a file, and the system takes it back with the process, however that
ends.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import Any, Final

import polars as pl

from phalanx.data.sources import csv_blocks
from phalanx.data.sources.available_memory import memory_left
from phalanx.data.sources.batches import AT_ONCE, Batches
from phalanx.data.sources.csv_blocks import Types, end_of_rows, text_blocks, typed
from phalanx.data.sources.csv_files import Parser, parsed
from phalanx.data.sources.databases import check_room, rows_of_query, within_memory
from phalanx.data.sources.dialects import Dialect
from phalanx.data.sources.frames import to_polars
from phalanx.data.sources.parquet_folders import check_same, state_of
from phalanx.data.sources.source import is_csv, read_source
from phalanx.errors import SourceError, path_of


@dataclass(frozen=True)
class Query:
    """A query, of which nothing is asked yet; ``drop`` and ``text`` as ``read_source`` takes
    them.
    """

    url: str = field(repr=False)
    """Which may hold a password."""
    sql: str | None = field(repr=False)
    drop: Collection[str] = ()
    text: Collection[str] = ()

    def whole(self) -> pl.DataFrame:
        """Its rows, as ``read_source`` gives them; SourceError as it says."""
        with rows_of_query(self.url, self.sql, self.text) as reader:
            return to_polars(within_memory(reader), drop=self.drop)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same, asked for anew, for what takes a table."""
        return self.whole().to_arrow().__arrow_c_stream__(requested_schema)

    def fetch(self, fits: Callable[[int, Sequence[str]], bool], place: Path) -> Any:
        """Its rows.

        Parameters
        ----------
        fits : Callable[[int, Sequence[str]], bool]
            Whether so many rows of these columns, or more, may be published in memory.
        place : Path
            A folder on the disk that has room for the rows; nothing appears in it.

        Returns
        -------
        pl.DataFrame | Batches
            All of them; on the disk as soon as those that came do not fit.

        Raises
        ------
        SourceError
            As ``read_source``.
        """
        import pyarrow as pa

        with rows_of_query(self.url, self.sql, self.text) as reader:
            held, rows, room = list[Any](), iter(reader), memory_left() // 2
            for batch in rows:
                held.append(batch)
                if not fits(sum(some.num_rows for some in held), batch.schema.names):
                    return self._laid_down(chain(_one_by_one(held), rows), place)
                room = check_room(batch, room)
            return to_polars(pa.Table.from_batches(held, schema=reader.schema), drop=self.drop)

    def _laid_down(self, batches: Iterator[Any], place: Path) -> Batches:
        return laid_down((to_polars(batch, drop=self.drop) for batch in batches), place)


@dataclass(frozen=True)
class Lines:
    """A CSV file, of which nothing is read yet; ``dialect``, ``drop`` and ``text`` as
    ``read_source`` takes them.
    """

    path: Path
    dialect: Dialect | None
    drop: Collection[str] = ()
    text: Collection[str] = ()

    def whole(self) -> pl.DataFrame:
        """Its rows, as ``read_source`` gives them; SourceError as it says."""
        return read_source(self.path, drop=self.drop, text=self.text, dialect=self.dialect)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The same, read anew, for what takes a table."""
        return self.whole().to_arrow().__arrow_c_stream__(requested_schema)

    def fetch(self, fits: Callable[[int, Sequence[str]], bool], place: Path) -> Any:
        """As :meth:`Query.fetch`. How long values are has no part in whether they fit, as it has none
        where rows of other sources are counted.
        """
        if not self.path.is_file() or not (names := self._names()):
            return self.whole()
        most = self.path.stat().st_size // len(names)  # of empty values each takes a byte
        in_memory = fits(most, names) or fits(csv_blocks.rows_of(self.path), names)
        if in_memory and csv_blocks.fits(self.path):
            return self.whole()
        laid = self._laid_down(place)
        return pl.concat(laid.each(laid.names)) if in_memory and laid.rows else laid

    def lay(self, place: Path) -> Batches | None:
        """Its rows on the disk, however few, in the folder ``place``, where nothing appears; None
        where it is no file, or its first lines are none. SourceError as ``read_source``.
        """
        return self._laid_down(place) if self.path.is_file() and self._names() else None

    def _laid_down(self, place: Path) -> Batches:
        dialect = self.dialect or csv_blocks.dialect_by_blocks(self.path, self.text)
        types = Types(dialect, self.text)

        def seen() -> Iterator[pl.DataFrame]:
            for frame in text_blocks(self.path, dialect):
                types.see(frame)
                yield frame

        state = state_of(self.path)
        laid = laid_down(seen(), place)
        check_same(self.path, state)
        types.check_decimals(self.path)
        return replace(laid, parsers=types.parsers, _drop=self.drop)

    def _names(self) -> Sequence[str]:
        """The columns; none where the first lines are none, which is said of all of them."""
        head = csv_blocks.head_of(self.path)
        try:
            return parsed(head[: end_of_rows(head)] or head, self.path, self.dialect)[0].columns
        except SourceError:
            return []


def some_at_a_time(source: Any, text: Collection[str], place: Path) -> Batches | None:
    """The rows of Parquet files, or of a CSV file, which is laid down once; None for what is neither,
    or cannot be read, which is said of all of it.

    Parameters
    ----------
    source : Any
        What ``read_source`` takes.
    text : Collection[str]
        Columns of a CSV file that are text as it stands there.
    place : Path
        As for :meth:`Lines.lay`.
    """
    if not is_csv(source):
        return Batches.of(source, drop=None)
    return Lines(path_of(source, "the source", SourceError), None, text=text).lay(place)


def read_or_batches(source: Any, text: Collection[str], *, in_parts: bool) -> Any:
    """A table whole; or, where it is Parquet files that take more than their share of the memory, or
    where it was published ``in_parts``, its rows some at a time, if they can be read so.

    Parameters
    ----------
    source, text
        As for :func:`some_at_a_time`.
    in_parts : bool
        Whether the whole table would be too large.

    Returns
    -------
    pl.DataFrame | Batches
        The table.

    Raises
    ------
    SourceError
        As ``read_source``.
    """
    if in_parts and not (is_csv(source) and _fits(source)):
        batches = some_at_a_time(source, text, Path(gettempdir()))
    else:
        batches = Batches.of(source, drop=None)
        batches = None if batches is None or batches.fits() else batches
    return read_source(source, drop=None, text=text) if batches is None else batches


def _fits(source: str | Path) -> bool:
    """Whether the memory holds a CSV file; also of one that is not there, which is said then."""
    path = path_of(source, "the source", SourceError)
    return not path.is_file() or csv_blocks.fits(path)


def laid_down(frames: Iterator[pl.DataFrame], place: Path) -> "OnDisk":
    """Some rows after the other in a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    tables = (frame.to_arrow(compat_level=pl.CompatLevel.oldest()) for frame in frames)
    table = next(tables)
    names, rows = table.column_names, 0
    with _naming(place), TemporaryFile(dir=place) as file:
        with pq.ParquetWriter(file, table.schema, compression="lz4") as writer:
            while table is not None:
                writer.write_table(table, row_group_size=AT_ONCE)
                rows += table.num_rows
                table = next(tables, None)
        file.flush()
        again = pa.OSFile(f"/dev/fd/{file.fileno()}")  # read in several places at once
    return OnDisk(Path(), names, rows, file=again)


@contextmanager
def _naming(place: Path) -> Iterator[None]:
    """The folder stands in what is said where its disk is full, as the file has no name."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(place)
        raise


@dataclass(frozen=True)
class OnDisk(Batches):
    """Rows in a file of ours, as often as is asked."""

    file: Any = None
    parsers: Mapping[str, Parser] = field(default_factory=dict)
    """How columns of text are read that are none."""

    def each(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The rows in their order, some at a time."""
        import pyarrow.parquet as pq

        file = pq.ParquetFile(self.file, pre_buffer=False)
        for batch in file.iter_batches(AT_ONCE, columns=list(columns), use_threads=False):
            frame = pl.DataFrame(pl.from_arrow(batch))
            yield to_polars(typed(frame, self.parsers), drop=self._drop)


def _one_by_one(held: list[Any]) -> Iterator[Any]:
    """Those that are held, each of which is let go as the next is asked for."""
    while held:
        yield held.pop(0)


FETCHED: Final = (Query, Lines)
"""What is fetched as soon as it is known how much memory there is for it."""
