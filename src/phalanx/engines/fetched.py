# SPDX-License-Identifier: Apache-2.0
"""The rows of a query in memory, or, where these are too many, on the disk, in a file without a
name, from which they are read some at a time.

No other process can open such a file, and the system takes it back with the process, however that
ends.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import polars as pl

from phalanx.data.sources.batches import AT_ONCE, Batches
from phalanx.data.sources.databases import rows_of_query, within_memory
from phalanx.data.sources.frames import to_polars


@dataclass(frozen=True)
class Query:
    """A query, of which nothing is asked yet; ``drop`` and ``text`` as ``read_source`` takes
    them.
    """

    url: str
    sql: str | None
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
            held, rows = list[Any](), iter(reader)
            for batch in rows:
                held.append(batch)
                if not fits(sum(some.num_rows for some in held), batch.schema.names):
                    return self._laid_down(chain(_one_by_one(held), rows), place)
            return to_polars(pa.Table.from_batches(held, schema=reader.schema), drop=self.drop)

    def _laid_down(self, batches: Iterator[Any], place: Path) -> Batches:
        """The same rows in a file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        tables = (
            to_polars(batch, drop=self.drop).to_arrow(compat_level=pl.CompatLevel.oldest())
            for batch in batches
        )
        table = next(tables)
        names, rows = table.column_names, 0
        with TemporaryFile(dir=place) as file:
            with pq.ParquetWriter(file, table.schema, compression="lz4") as writer:
                while table is not None:
                    writer.write_table(table, row_group_size=AT_ONCE)
                    rows += table.num_rows
                    table = next(tables, None)
            file.flush()
            again = pa.OSFile(f"/dev/fd/{file.fileno()}")  # read in several places at once
        return _OnDisk(Path(), names, rows, file=again)


@dataclass(frozen=True)
class _OnDisk(Batches):
    """Rows in a file of ours, as often as is asked."""

    file: Any = None

    def each(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The rows in their order, some at a time."""
        import pyarrow.parquet as pq

        file = pq.ParquetFile(self.file, pre_buffer=False)
        for batch in file.iter_batches(AT_ONCE, columns=list(columns), use_threads=False):
            yield pl.DataFrame(pl.from_arrow(batch))


def _one_by_one(held: list[Any]) -> Iterator[Any]:
    """Those that are held, each of which is let go as the next is asked for."""
    while held:
        yield held.pop(0)
