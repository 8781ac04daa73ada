"""Sources: files and databases that hold a table about people, read whole or refused in one sentence."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import polars as pl

from phalanx.data.csv_files import read_csv
from phalanx.data.frames import to_polars
from phalanx.errors import SourceError, did_you_mean

MAX_CELLS_PER_BYTE: Final = 20_000
"""A Parquet or Arrow file that declares more values per byte of file than this is taken for a bomb (equal values compress well: 10,000 has been seen)."""
ALWAYS_CELLS: Final = 100_000_000
"""So many values are read however small the file is."""
MAX_EXPANSION: Final = 2_000
"""So often may the declared size exceed the file's, beyond ``ALWAYS_BYTES``."""
ALWAYS_BYTES: Final = 4 << 30

_CSV: Final = {".csv": ",", ".tsv": "\t"}
_PARQUET: Final = (".parquet", ".pq")
_IPC: Final = (".arrow", ".feather", ".ipc")


def read_source(source: str | Path, *, query: str | None = None, drop: Collection[str] | None = (), text: Collection[str] = ()) -> pl.DataFrame:
    """Read a table whole: a CSV, TSV (also ``.gz``), Parquet or Arrow/Feather file, or the rows of a query.

    ``source`` is a path, or a URL ``sqlite:///file.db`` or ``postgresql://…`` with a ``query``. Types of a CSV, and of SQLite, follow all of its rows (see
    ``phalanx.data.csv_files``), but for the columns in ``text``, which are text as it stands there; an empty field is missing. Categories become text.
    Columns in ``drop`` may have any type; ``None`` lets all do, for profiling.

    Raises SourceError where there is no such file, where it is malformed, or declares more than a file of its size can hold, and where the database
    refuses the query.
    """
    if "://" in str(source):
        from phalanx.data.databases import read_query

        return to_polars(read_query(str(source), query, text), drop=drop)
    if query is not None:
        raise SourceError("a query needs a database; give a url such as sqlite:///file.db, or leave the query out.")
    path = _existing(Path(source))
    suffixes = [s.lower() for s in path.suffixes]
    kind, packed = (suffixes[-2], True) if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes[-1] if suffixes else "", False)
    if kind in _CSV:
        return read_csv(path, separator=_CSV[kind], packed=packed, text=text)
    if kind in _PARQUET and not packed:
        return to_polars(_read_parquet(path), drop=drop)
    if kind in _IPC and not packed:
        return to_polars(_read_ipc(path), drop=drop)
    raise SourceError(f"the file {path.name!r} is not of a known kind; give a .csv, .tsv, .csv.gz, .parquet, .arrow or .feather file.")


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    if path.is_dir():
        raise SourceError(f"the source {str(path)!r} is a folder; name a file in it.")
    try:
        siblings = [p.name for p in path.parent.iterdir() if p.is_file()]
    except OSError:
        raise SourceError(f"there is no folder {str(path.parent)!r}; check the path of the source.") from None
    raise SourceError(f"there is no file {str(path)!r}{did_you_mean(path.name, siblings) or '; check the path of the source.'}")


def _check_declared(path: Path, cells: int, size: int) -> None:
    """Refuse a file whose header promises more than its bytes can hold, before anything is allocated for it."""
    weight = max(path.stat().st_size, 1)
    if (cells > ALWAYS_CELLS and cells > MAX_CELLS_PER_BYTE * weight) or (size > ALWAYS_BYTES and size > MAX_EXPANSION * weight):
        raise SourceError(
            f"the file {path.name!r} declares {cells} values in {weight} bytes, more than a file of this size holds; it is damaged or hostile, so get it anew."
        )


def _read_parquet(path: Path) -> pl.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        meta = pq.read_metadata(path)
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        rows = max(meta.num_rows, sum(g.num_rows for g in groups))
        counts = [g.column(c).num_values for g in groups for c in range(g.num_columns)]
        sizes = [g.column(c).total_uncompressed_size for g in groups for c in range(g.num_columns)]
    except (pa.ArrowException, OSError, ValueError, OverflowError):
        raise _malformed(path, "Parquet") from None
    if meta.num_rows < 0 or min(counts, default=0) < 0 or min(sizes, default=0) < 0:
        raise _malformed(path, "Parquet")
    _check_declared(path, max(rows * meta.num_columns, sum(counts)), sum(sizes))
    try:
        return pl.read_parquet(path, glob=False, hive_partitioning=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError):
        raise _malformed(path, "Parquet") from None


def _read_ipc(path: Path) -> Any:
    """An Arrow file or stream; every offset in it is checked, because a wrong one would read outside of the file."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(path)) as mapped:
            if mapped.read(4) == b"FEA1":
                raise SourceError(f"the file {path.name!r} is of the first Feather format, which is no longer read; save it again.")
            mapped.seek(0)
            reader = pa.ipc.open_file(mapped) if mapped.read(6) == b"ARROW1" else None
            mapped.seek(0)
            if reader is None:
                batches = list(pa.ipc.open_stream(mapped))
                schema = batches[0].schema if batches else pa.schema([])
            else:
                batches, schema = [reader.get_batch(i) for i in range(reader.num_record_batches)], reader.schema
            _check_declared(path, sum(b.num_rows for b in batches) * max(len(schema), 1), 0)
            table = pa.Table.from_batches(batches, schema=schema)
            table.validate(full=True)
            return pl.from_arrow(table, rechunk=True)
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError, pl.exceptions.PolarsError):
        raise _malformed(path, "Arrow") from None


def _malformed(path: Path, kind: str) -> SourceError:
    return SourceError(f"the file {path.name!r} is not a whole {kind} file; it is damaged or of another kind, so save it again.")
