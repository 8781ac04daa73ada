# SPDX-License-Identifier: Apache-2.0
"""A Parquet file, or a folder of some, that is read some rows at a time, as often as is asked, and
never whole.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from phalanx.data.names import check_named, check_names
from phalanx.data.sources.available_memory import memory_left
from phalanx.data.sources.csv_blocks import fits, sample_by_blocks
from phalanx.data.sources.dialects import Dialect
from phalanx.data.sources.frames import apart, to_polars
from phalanx.data.sources.parquet_folders import (
    State,
    check_alike,
    check_same,
    files_of,
    meta_of,
    state_of,
)
from phalanx.data.sources.reading import (
    PARQUET,
    bytes_needed,
    check_size,
    check_values,
    refusing_parquet,
)
from phalanx.data.sources.source import check_there, csv_dialect, is_csv, read_source
from phalanx.errors import SourceError

AT_ONCE: Final = 1 << 17
"""So many rows are read at a time."""
_LOOKED_AT: Final = 3
"""So many times a table's memory is taken while its columns are looked at."""
_SAMPLE: Final = 1_000_000


@dataclass(frozen=True)
class Batches:
    """The rows of a file, or of the files of a folder, some at a time, with the names and types that
    ``read_source`` gives them.

    ``names``: the columns; ``rows``: how many rows there are, as footers say.
    """

    path: Path
    names: Sequence[str]
    rows: int
    _drop: Collection[str] | None = ()
    _state: State = ()
    """Of the files, as they were when their footers were read."""

    @classmethod
    def of(cls, source: Any, *, drop: Collection[str] | None = ()) -> "Batches | None":
        """The rows of a source; None where it is no Parquet file or folder of some, or not a whole
        one.

        Parameters
        ----------
        source : Any
            What ``read_source`` takes.
        drop : Collection[str], optional
            Columns that may have any type, and are not read; None: all may.

        Returns
        -------
        Batches | None
            The rows, of which none is read yet.
        """
        if not is_parquet(source) or not Path(source).exists():
            return None
        try:
            state = state_of(Path(source))
            names, rows = _head(Path(source))
        except SourceError:  # which is said by what reads it whole
            return None
        return cls(Path(source), names, rows, drop, state)

    def fits(self) -> bool:
        """Whether the memory holds the whole table, and what it takes to look at its columns."""
        needed = sum(bytes_needed(meta_of(file)) for file in files_of(self.path))
        return needed * _LOOKED_AT <= memory_left()

    def each(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The rows in their order, some at a time.

        Parameters
        ----------
        columns : Sequence[str]
            Those that are wanted.

        Yields
        ------
        pl.DataFrame
            The next rows, of shape (b, columns).

        Raises
        ------
        SourceError
            Where the file is malformed, or was written since the first reading began: rows of two
            tables would be taken for those of one.
        """
        for file in files_of(self.path):
            yield from self._of_file(file, columns)

    def _of_file(self, path: Path, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Those of one file."""
        import pyarrow.parquet as pq

        with refusing_parquet(path):
            file = pq.ParquetFile(path, pre_buffer=False)
            batches = file.iter_batches(AT_ONCE, columns=list(columns), use_threads=False)
        with file:
            check_same(self.path, self._state)
            while True:
                with refusing_parquet(path):
                    batch = next(batches, None)
                    if batch is None:
                        check_same(self.path, self._state)
                        return
                    check_size(path, 0, batch.nbytes)
                    frame = pl.DataFrame(pl.from_arrow(batch))
                moments = [field.name for field in batch.schema if str(field.type) == "date64[ms]"]
                frame = frame.with_columns(pl.col(moments).cast(pl.Datetime("ms")))
                check_values(frame)
                wanted = [name for name in self.names if name in columns]
                yield to_polars(frame.select(wanted), drop=self._drop)

    def evenly(self, most: int) -> pl.DataFrame:
        """At most so many of the rows, at equal distances from the first one on.

        Parameters
        ----------
        most : int
            1 or more.

        Returns
        -------
        pl.DataFrame
            The rows, of shape (min(n, most), columns) or fewer.

        Raises
        ------
        SourceError
            As ``each``.
        """
        step, before, some = -(-self.rows // most), 0, []
        for batch in self.each(self.names):
            rows = batch.gather_every(step, -before % step)
            some.append(apart(rows))
            before += batch.height
        return pl.concat(some, how="vertical_relaxed")


def read_or_sample(
    source: Any,
    *,
    query: str | None = None,
    text: Collection[str] | None = (),
    dialect: Dialect | None = None,
) -> tuple[pl.DataFrame, int]:
    """A table to look at, and how many rows it has: whole, or where it takes more than its share of
    the memory, a million rows or less at equal distances of Parquet files or a CSV file.

    Parameters
    ----------
    source, query, text, dialect
        As for ``read_source``.

    Returns
    -------
    tuple[pl.DataFrame, int]
        The table, of shape (n or less, columns), and n.

    Raises
    ------
    SourceError
        As ``read_source``.
    """
    batches = Batches.of(source, drop=None) if query is None else None
    if batches is not None and not batches.fits():
        return batches.evenly(_SAMPLE), batches.rows
    if query is None and is_csv(source) and Path(source).is_file() and not fits(Path(source)):
        dialect = dialect or csv_dialect(source)
        return sample_by_blocks(Path(source), dialect, _SAMPLE)
    frame = read_source(source, query=query, drop=None, text=text, dialect=dialect)
    return frame, frame.height


def columns_of(
    source: Any, *, query: str | None = None, dialect: Dialect | None = None
) -> Sequence[str]:
    """The names of a table's columns; of Parquet files no row is read for them.

    Parameters
    ----------
    source, query, dialect
        As for ``read_source``.

    Returns
    -------
    Sequence[str]
        The names, in their order.

    Raises
    ------
    SourceError
        As ``read_source``.
    """
    batches = Batches.of(source, drop=None) if query is None else None
    if batches is not None:
        return batches.names
    return read_source(source, query=query, drop=None, dialect=dialect).columns


def is_parquet(source: Any) -> bool:
    """Whether a source is the path of a Parquet file, by its name, or of a folder."""
    return (
        isinstance(source, str | Path)
        and "://" not in str(source)
        and (Path(source).suffix.lower() in PARQUET or Path(source).is_dir())
    )


def check_parquet(source: Any) -> None:
    """SourceError where the path of Parquet files leads to none, or to one that is not whole."""
    if is_parquet(source):
        check_there(Path(source))
        _head(Path(source))


def _head(path: Path) -> tuple[list[str], int]:
    """The columns and how many rows there are, as the footers say."""
    files = files_of(path)
    metas = [meta_of(file) for file in files]
    for file, meta in zip(files, metas, strict=True):
        with refusing_parquet(file) as not_whole:
            groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
            if meta.num_rows < 0 or meta.num_rows != sum(group.num_rows for group in groups):
                raise not_whole
            names = list(meta.schema.to_arrow_schema().names)
            check_names(names, SourceError)
            check_named(names, SourceError)
    check_alike(files, metas)
    return list(metas[0].schema.to_arrow_schema().names), sum(meta.num_rows for meta in metas)
