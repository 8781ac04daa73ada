# SPDX-License-Identifier: Apache-2.0
"""The one reader of files that others made: what a file declares is compared with its size and
with the memory, and nothing it says can quote a value.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from threading import RLock
from typing import Any, Final

import polars as pl

from phalanx.data.names import check_names
from phalanx.data.sources.available_memory import in_words, memory_left
from phalanx.errors import MachineError, PhalanxError, SourceError, lack_behind

PARQUET: Final = (".parquet", ".pq")
"""How Parquet files are called."""
IN_PARTS: Final = (*PARQUET, ".csv", ".tsv")
"""How files are called that are read some rows at a time, where a method publishes in parts."""
MAX_CELLS_PER_BYTE: Final = 20_000
"""A Parquet or Arrow file that declares more values per byte of file than this is taken for a bomb
(equal values compress well: 10,000 has been seen).
"""
ALWAYS_CELLS: Final = 100_000_000
"""So many values are read however small the file is."""
MAX_EXPANSION: Final = 2_000
"""So often may the declared size exceed the file's, beyond ``ALWAYS_BYTES``."""
ALWAYS_BYTES: Final = 4 << 30
MAX_VALUE: Final = 1 << 24
"""Bytes that a value may have; what is longer is no attribute of a person, and each step would copy
it.
"""
_FIRST, _LAST = ((day - date(1970, 1, 1)).days for day in (date.min, date.max))
_DAY: Final = 86_400
_TICKS: Final = {"ms": 10**3, "us": 10**6, "ns": 10**9}
_CELL: Final = 4
"""Bytes that a value takes at least, once it is read."""
_TEXT: Final = 128
"""Bits that Polars keeps of a text, beside a long one itself."""

_one_at_a_time: Final = RLock()
_read_in: Final[list[int]] = []
"""The process that read first, if any has."""


def check_process(error: type[PhalanxError]) -> None:
    """Refuse to read in a fork of a process that has read: the threads that read did not come
    along, and it would wait for them for ever.
    """
    if not _read_in:
        _read_in.append(os.getpid())
    if _read_in[0] != os.getpid():
        raise error(
            "this process is a fork of one that has read tables, whose threads it lacks; start it by"
            " 'spawn' or 'forkserver', or read nothing before."
        )


@contextmanager
def refusing(refusal: PhalanxError) -> Iterator[None]:
    """Whatever a reader raises inside is this one refusal, also a panic of Rust code, which is no
    Exception; MachineError where the machine lacks what it takes to read.

    A reader's own words quote the file: its message is dropped, and what a panic writes to standard
    error is, too. Ctrl-C and our own errors pass.
    """
    check_process(type(refusal))
    try:
        with _silenced():
            yield
    except MachineError:
        raise
    except PhalanxError as error:
        raise error if isinstance(error, type(refusal)) else type(refusal)(str(error)) from None
    except (
        Exception,  # noqa: BLE001 - a damaged file has been seen to raise eleven kinds
        pl.exceptions.PanicException,
    ) as error:
        raise lack_behind(error) or refusal from None


@contextmanager
def _silenced() -> Iterator[None]:
    """Nothing that is not Python writes to standard error: a panic puts its message and a backtrace
    there, before anybody can catch it.
    """
    with _one_at_a_time:
        try:
            descriptor = os.dup(2)
        except OSError:  # no standard error, so nothing to silence
            yield
            return
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
            yield
        finally:
            os.dup2(descriptor, 2)
            os.close(descriptor)


def check_size(path: Path, cells: int, size: int, needed: int = 0) -> None:
    """Refuse a file that promises more values or bytes than its own can hold, or than the memory
    can, before anything is allocated for it; ``needed``: bytes that its table takes at least.
    """
    weight = max(path.stat().st_size, 1)
    if (cells > ALWAYS_CELLS and cells > MAX_CELLS_PER_BYTE * weight) or (
        size > ALWAYS_BYTES and size > MAX_EXPANSION * weight
    ):
        raise SourceError(
            f"the file {path.name!r} declares {cells} values in {weight} bytes, more than a file of"
            " this size holds; it is damaged or hostile, so get it anew."
        )
    if (least := max(size, cells * _CELL, needed)) > (room := memory_left()):
        raise MachineError(
            f"the file {path.name!r} needs {in_words(least)} of memory or more, and"
            f" {in_words(room)} are left;"
            + (
                " read it on a larger machine, or in parts."
                if path.suffix.lower() in IN_PARTS
                else " save it as CSV or Parquet, which can be read in parts, or use a larger machine."
            )
        )


def check_value(column: str, size: int) -> None:
    """Refuse a column whose longest value has more than ``MAX_VALUE`` bytes."""
    if size > MAX_VALUE:
        raise SourceError(
            f"column {column!r} holds a value of more than {MAX_VALUE >> 20} MB, which is no"
            " attribute of a person; leave the column out at the source."
        )


def check_values(frame: pl.DataFrame) -> None:
    """Refuse a frame in which a text or bytes are longer than ``MAX_VALUE``."""
    for column in frame.get_columns():
        values = column
        while isinstance(values.dtype, pl.List):
            values = values.explode()
        if values.dtype == pl.String:
            check_value(values.name, values.str.len_bytes().max() or 0)  # type: ignore[arg-type]
        elif values.dtype == pl.Binary:
            check_value(values.name, values.bin.size().max() or 0)  # type: ignore[arg-type]


def check_dates(column: pl.Series, error: type[PhalanxError]) -> None:
    """Refuse a column of dates or timestamps of which one is outside the years 1 to 9999."""
    dtype = column.dtype
    if dtype != pl.Date and not isinstance(dtype, pl.Datetime):
        return
    day = _DAY * _TICKS[dtype.time_unit] if isinstance(dtype, pl.Datetime) else 1
    numbers = column.to_physical()
    least, most = numbers.min(), numbers.max()
    if least is not None and not (_FIRST * day <= least and most < (_LAST + 1) * day):  # type: ignore[operator]
        raise error(
            f"column {column.name!r} holds a date outside the years 1 to 9999; correct it, or leave"
            " the column out."
        )


def bytes_needed(meta: Any) -> int:
    """What the table of a Parquet file takes at least, once it is read; ``meta``: what pyarrow says
    of the file.
    """
    return int(meta.num_rows) * sum(map(_width_of, meta.schema.to_arrow_schema().types)) // 8


def _width_of(dtype: Any) -> int:
    """The bits that a value takes at least: of a text those of its place."""
    try:
        return int(dtype.bit_width)
    except ValueError:
        return _TEXT if str(dtype).removeprefix("large_") in ("string", "binary") else 0


def read_parquet(path: Path, refusal: PhalanxError | None = None) -> pl.DataFrame:
    """A Parquet file whole, by that very name; ``refusal``, or SourceError, where it is malformed
    or declares more than it can hold.
    """
    import pyarrow.parquet as pq

    with refusing_parquet(path, refusal) as not_whole:
        meta = pq.read_metadata(path)
        groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
        rows = max(meta.num_rows, sum(g.num_rows for g in groups))
        counts = [g.column(c).num_values for g in groups for c in range(g.num_columns)]
        sizes = [g.column(c).total_uncompressed_size for g in groups for c in range(g.num_columns)]
        if meta.num_rows < 0 or min(counts, default=0) < 0 or min(sizes, default=0) < 0:
            raise not_whole
        check_size(path, max(rows * meta.num_columns, sum(counts)), sum(sizes), bytes_needed(meta))
        check_names(meta.schema.to_arrow_schema().names, SourceError)
        return pl.read_parquet(path, glob=False, hive_partitioning=False)


def read_arrow(path: Path) -> pl.DataFrame:
    """An Arrow file or stream; every offset in it is checked, because a wrong one would read
    outside of the file.
    """
    import pyarrow as pa

    with (
        refusing(malformed(path, "Arrow")),
        _of_known_types(path),
        pa.memory_map(str(path)) as mapped,
    ):
        if mapped.read(4) == b"FEA1":
            raise SourceError(
                f"the file {path.name!r} is of the first Feather format, which is no longer read;"
                " save it again."
            )
        mapped.seek(0)
        file = mapped.read(6) == b"ARROW1"
        mapped.seek(0)
        reader = pa.ipc.open_file(mapped) if file else pa.ipc.open_stream(mapped)
        batches: list[Any] = []
        cells = size = 0
        for batch in (
            (reader.get_batch(i) for i in range(reader.num_record_batches)) if file else reader
        ):
            batch.validate(full=True)  # before anything asks how large it is
            batches.append(batch)
            cells, size = cells + batch.num_rows * max(batch.num_columns, 1), size + batch.nbytes
            check_size(path, cells, size)
        check_names(reader.schema.names, SourceError)
        table = pa.Table.from_batches(batches, schema=reader.schema)
        table.validate()
        return pl.from_arrow(table, rechunk=True)  # type: ignore[return-value]


@contextmanager
def refusing_parquet(path: Path, refusal: PhalanxError | None = None) -> Iterator[PhalanxError]:
    """Whatever a reader of a Parquet file raises inside is ``refusal``, or says what is wrong with the
    file; gives the refusal of one that is not whole.
    """
    not_whole = refusal or malformed(path, "Parquet")
    with refusing(not_whole), _of_known_types(path, refusal):
        yield not_whole


@contextmanager
def _of_known_types(path: Path, refusal: PhalanxError | None = None) -> Iterator[None]:
    """``refusal``, or SourceError, where a column has a type that Arrow has and does not read."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowNotImplementedError:
        raise refusal or SourceError(
            f"the file {path.name!r} holds a type that is not read, such as numbers beyond 64 bits;"
            " make it text at the source, or drop it there."
        ) from None


def unreadable(path: Path) -> SourceError:
    """What is said of a file that may not be read."""
    return SourceError(
        f"the file {path.name!r} cannot be read; check that you may read it, and that its disk is"
        " sound."
    )


def malformed(path: Path, kind: str) -> SourceError:
    """What is said of a file that its reader does not take."""
    return SourceError(
        f"the file {path.name!r} is not a whole {kind} file; it is damaged or of another kind, so"
        " save it again."
    )
