# SPDX-License-Identifier: Apache-2.0
"""Whether a table fits the memory, by an estimate that is made before it is read: rows times columns
times the bytes that a method was measured to take for a value. No value has a part in it.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from phalanx.data.schema import Schema
from phalanx.data.sources.available_memory import in_words, memory_held, memory_left
from phalanx.data.sources.batches import Batches, check_parquet, is_parquet
from phalanx.engines.fetched import Lines, Query
from phalanx.engines.out_of_core import LEAST_ROWS, Divided
from phalanx.engines.spark.source import OnSpark, is_frame
from phalanx.errors import MethodError, PlanError, SourceError, path_of, require_extra, shortened
from phalanx.methods.base import Divisible, Following, Method, Summing

Engine = Literal["local", "out-of-core", "spark"]

Began = Literal["local", "out-of-core"]

_BYTES_PER_VALUE: Final = 170
"""Of a method that does not say."""
_OF_A_WORKER: Final = 2 << 30
"""What a worker of Spark may take where nothing is said."""
_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12} | {
    f"{unit}i": 1 << 10 * power for power, unit in enumerate("kmgt", 1)
}


def bytes_of(limit: str | int) -> int:
    """Bytes, from a text such as ``4 GiB``; PlanError where it is none.

    >>> bytes_of("4 GiB"), bytes_of("1.5 MB"), bytes_of(1000)
    (4294967296, 1500000, 1000)
    """
    written = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", str(limit).lower())
    unit = _UNITS.get(written[2]) if written else None
    if written is None or unit is None or float(written[1]) <= 0:
        raise PlanError(f"[publish] memory_limit = {limit!r} is no memory; write it as '4 GiB'.")
    return int(float(written[1]) * unit)


def fetch(
    source: Query | Lines,
    schema: Schema,
    method: Method,
    engine: Engine | None = None,
    memory_limit: str | int | None = None,
    began: Began | None = None,
    *,
    place: Path,
    held: int | None = None,
) -> Any:
    """The rows of a query or of a CSV file: in memory where they are published whole, else on the
    disk, where the estimate is above the memory.

    Parameters
    ----------
    source : Query | Lines
        The query, or the file.
    schema, method, engine, memory_limit, began
        As for ``divide``.
    place : Path
        A folder on the disk that has room for the rows; nothing appears in it.
    held : int, optional
        As for ``divide``.

    Returns
    -------
    pl.DataFrame | Batches
        What ``divide`` takes.

    Raises
    ------
    SourceError
        As ``read_source``.
    MethodError
        Where the plan wants parts, and the method does not publish in parts.
    """
    engine = "out-of-core" if engine is None and began == "out-of-core" else engine
    refusal = _whole(method, schema, began)
    if refusal and engine == "out-of-core":
        raise MethodError(
            f"{refusal}, and engine = 'out-of-core' divides it; leave the engine out."
        )
    if refusal or engine not in (None, "out-of-core"):
        return source.whole()
    room, each = _room(memory_limit, held), _bytes_per_value(method)

    def fits(rows: int, names: Sequence[str]) -> bool:
        columns = len([name for name in names if name not in schema.drop])
        return engine is None and rows * columns * each <= room

    fetched = source.fetch(fits, place)
    if engine == "out-of-core" and not isinstance(fetched, Batches):
        raise SourceError("the table has no rows; give one that has some.")
    return fetched


def divide(
    table: Any,
    schema: Schema,
    method: Method,
    engine: Engine | None = None,
    memory_limit: str | int | None = None,
    began: Began | None = None,
    *,
    spark_master: str | None = None,
    held: int | None = None,
) -> Divided | OnSpark | None:
    """The table in parts of which each fits the memory, where the plan says so, or where the
    estimate does; on Spark where the plan says that; None where it is published whole.

    Parameters
    ----------
    table : Any
        What ``read_source`` takes, or what ``fetch`` gives.
    schema : Schema
        The role of each column.
    method : Method
        How it is published.
    engine : Engine, optional
        Where; by the estimate if not given.
    memory_limit : str | int, optional
        What the whole process may take, as ``4 GiB`` or in bytes; what the machine, its container
        and the limits of the process leave if not given. On Spark what each worker may take.
    began : Began, optional
        How the first release was published of a series that follows persons, for so it goes on.
    spark_master : str, optional
        Where Spark runs.
    held : int, optional
        So many bytes the process held before anything was fetched, which may be used again; what it
        holds now if not given.

    Returns
    -------
    Divided | OnSpark | None
        The parts, of which none is made yet.

    Raises
    ------
    MethodError
        Where the table does not fit, and the method does not publish in parts.
    PlanError
        Where the table is not one that can be read in parts, or the limit is none.
    """
    if is_parquet(table):
        table = path_of(table, "the source", SourceError)
    if began is not None and engine is not None and (engine == "local") != (began == "local"):
        raise PlanError(
            f"[publish] engine = {engine!r} is not how the series began, and its persons stay where"
            " they are; leave the engine out, or begin another series."
        )
    goes_on = engine is None and began == "out-of-core"
    engine = "out-of-core" if goes_on else engine
    if engine == "spark":
        return _on_spark(table, schema, method, memory_limit, spark_master)
    if spark_master is not None:
        raise PlanError(
            "[publish] spark_master says where Spark runs, and the engine is another; set engine ="
            " 'spark', or leave it out."
        )
    room, each = _room(memory_limit, held), _bytes_per_value(method)
    if engine == "local":
        return None
    laid = isinstance(table, Batches)  # as the estimate was above the memory
    batches = table if laid else Batches.of(table, drop=schema.drop)
    if batches is None:
        if engine is None:
            return None
        check_parquet(table)
        raise PlanError(
            "this series began in parts, in which persons stay, and goes on from Parquet, CSV that is"
            " not packed, or a query; write the table into such a file."
            if goes_on
            else "[publish] engine = 'out-of-core' reads Parquet, CSV that is not packed, or a query,"
            " and no wave of a panel; leave the engine out."
        )
    columns = len([name for name in batches.names if name not in schema.drop])
    rows = batches.rows
    needed = rows * columns * each
    if engine is None and needed <= room and not laid:
        return None
    if refusal := _whole(method, schema, began):
        if needed <= room:
            raise MethodError(
                f"{refusal}, where it fits, and engine = 'out-of-core' divides it; leave the engine"
                " out."
            )
        raise MethodError(
            f"{refusal}, and {rows:,} rows of {columns} columns are estimated to take"
            f" {in_words(needed)} where {in_words(room)} may be taken; raise [publish] memory_limit, or"
            " use a larger machine."
        )
    part = int(room * Divided.share) // (max(1, columns) * each)
    if part < min(rows, LEAST_ROWS):
        raise MethodError(_too_little(room, columns))
    return Divided(batches, schema, rows, part, int(room * Divided.share), asked=engine is not None)


def within(
    frame: pl.DataFrame, method: Method, memory_limit: str | int | None, held: int
) -> pl.DataFrame:
    """A table that is published whole; MethodError where it is estimated to take more than the limit
    that a plan names.

    Parameters
    ----------
    frame : pl.DataFrame
        The table, without columns that are dropped.
    method, memory_limit, held
        As for ``divide``.
    """
    if memory_limit is None:
        return frame
    needed = frame.height * frame.width * _bytes_per_value(method)
    if needed > (room := _room(memory_limit, held)):
        raise MethodError(
            f"{frame.height:,} rows of {frame.width} columns take about {in_words(needed)} where"
            f" {in_words(room)} may be taken, and are published whole; raise [publish] memory_limit."
        )
    return frame


def _on_spark(
    table: Any,
    schema: Schema,
    method: Method,
    memory_limit: str | int | None,
    master: str | None,
) -> OnSpark:
    """The table on Spark, in cells that fit a worker."""
    require_extra("spark", "engine = 'spark'")
    refusal = _whole(method, schema)
    sums = isinstance(method, Summing) and method.sums
    if not refusal and isinstance(method, Divisible) and not sums and method.divided_by == "counts":
        refusal = f"{method.name} chooses by counts of the table as a whole"
    if refusal:
        raise MethodError(
            f"{refusal}, and engine = 'spark' divides it; leave the engine out, or change the"
            " method or its parameters."
        )
    if not is_frame(table):
        if not isinstance(table, str | Path) or "://" in str(table):
            raise PlanError(
                "[publish] engine = 'spark' reads Parquet, or a data frame of Spark; give the path"
                " of a file or of a folder of files, or leave the engine out."
            )
        if not Path(table).exists():
            raise SourceError(f"there is no file {shortened(str(table))!r}; check the source.")
    room = _OF_A_WORKER if memory_limit is None else bytes_of(memory_limit)
    each = _bytes_per_value(method)
    columns = len([role for role in schema.roles.values() if role != "drop"])
    most = int(room * Divided.share) // (columns * each)
    if most < LEAST_ROWS:
        raise MethodError(_too_little(room, columns))
    return OnSpark(table, schema, most, master)


def _room(memory_limit: str | int | None, held: int | None) -> int:
    """Bytes that may be taken beside what is ``held``."""
    room = memory_left()
    if memory_limit is not None:
        held = memory_held() if held is None else held
        room = min(room, max(0, bytes_of(memory_limit) - held))
    return room


def _bytes_per_value(method: Method) -> int:
    each: int = getattr(method, "bytes_per_value", _BYTES_PER_VALUE)
    return each


def _too_little(room: int, columns: int) -> str:
    return (
        f"{in_words(room)} of memory may be taken, too little for parts of {LEAST_ROWS:,} rows of"
        f" {columns} columns; raise [publish] memory_limit."
    )


def _whole(method: Method, schema: Schema, began: Began | None = None) -> str:
    """Why a table must be published whole; empty where it need not be."""
    if began == "local":
        return "the series began in one piece, in which its persons stay"
    if not isinstance(method, Divisible) or method.needs_persons > isinstance(method, Following):
        return f"{method.name} needs the whole table in memory"
    if method.divided_by is None:
        return f"{method.name} with these parameters needs the whole table in memory"
    if schema.cluster is not None:
        return "households that stay together need the whole table in memory"
    if schema.not_applicable:
        return "values that are not applicable need the whole table in memory"
    return ""
