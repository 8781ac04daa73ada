# SPDX-License-Identifier: Apache-2.0
"""What the workers of Spark do: look at quasi-identifiers, tag rows with cells, solve a cell.

Between two of them rows are packed: Spark sees the number of a cell, how many rows there are, and
bytes. A worker draws by names that do not change when its task is run twice, from keys that are as
secret as the rows, and rows are put into the order in which they were read; so it makes the same
twice. Nothing here raises: what goes wrong is one of the results (``faults``).
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import numpy as np
import polars as pl

from phalanx.arrays import Ints, in_order
from phalanx.data.identifying import judged
from phalanx.data.microdata import Microdata, check_columns
from phalanx.data.names import check_named
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.data.sources.frames import check_texts, check_unique, to_polars
from phalanx.data.sources.parquet_folders import check_alike, files_of
from phalanx.data.sources.reading import check_values, malformed
from phalanx.engines.cells import Cells, Look
from phalanx.engines.regions import Region
from phalanx.engines.spark.faults import ANY, told
from phalanx.engines.spark.records import record, records
from phalanx.errors import MethodError, SourceError
from phalanx.methods.base import Settling
from phalanx.randomness import Randomness, Shared

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetSchema
    from pyspark.sql import DataFrame

Work = Callable[[int, Microdata, Randomness], Mapping[str, Any]]
"""Publishes a cell, of which it is given the number, the rows and a source of chance; what it gives
are figures that JSON can say, and no rows.
"""

LOOKED: Final = "place long, reach binary, drawn binary, fault string"
CUT: Final = "reach binary, cuts string, fault string"
DRAWN: Final = "place long, drawn binary, fault string"
SETTLED: Final = "settled string, fault string"
TAGGED: Final = "part int, place long, turn long, rows long, packed binary, fault string"
NUMBERED: Final = "part int, at int"
SOLVED: Final = "at int, figures string, fault string"

AT_ONCE: Final = 1 << 19
"""So many rows are held before they are packed."""
_NOT_READ: Final = {"Time": "times of a day", "Float16": "numbers of two bytes"}
_SAME_DAYS: Final = (None, "UTC", "Etc/UTC", "GMT", "+00:00", "Z")
"""Zones of time in which days are those that Spark makes of timestamps."""
_KEY: Final = 16
"""Bytes of a keyed hash."""


def look(
    batches: "Iterable[pa.RecordBatch]", schema: Schema, share: Fraction, shared: Shared
) -> "Iterator[pa.RecordBatch]":
    """One look at the quasi-identifiers of a partition; a record as ``LOOKED`` says."""
    try:
        looked, place = Look(schema, share), place_of_worker()
        stream = shared.of(f"partition {place}").stream("sample of quasi-identifiers")
        rows = 0
        for batch in batches:
            frame = _plain(batch, schema)
            looked.see(frame, stream)
            rows += frame.height
        if rows:
            yield record(LOOKED, place, packed(looked.reach()), packed(looked.drawn()), None)
    except ANY as error:
        yield record(LOOKED, 0, None, None, told(error))


def cut(
    batches: "Iterable[pa.RecordBatch]", schema: Schema, rows: int, most: int
) -> "Iterator[pa.RecordBatch]":
    """All looks together, and the regions that the sample divides; a record as ``CUT`` says."""
    try:
        looks = sorted(
            (record for batch in batches for record in batch.to_pylist()),
            key=lambda record: int(record["place"]),
        )
        if fault := next((each["fault"] for each in looks if each["fault"]), None):
            yield record(CUT, None, None, fault)
            return
        everything = Look(schema, Fraction(1))
        for each in looks:
            everything.add(unpacked(each["reach"]), unpacked(each["drawn"]))
        cells = everything.cells(rows, most)
        yield record(CUT, packed(everything.reach()), json.dumps(cells.root.cuts()), None)
    except ANY as error:
        yield record(CUT, None, None, told(error))


def draw(
    batches: "Iterable[pa.RecordBatch]", schema: Schema, share: Fraction, shared: Shared
) -> "Iterator[pa.RecordBatch]":
    """Rows of a partition that chance draws; a record as ``DRAWN`` says."""
    try:
        place = place_of_worker()
        stream = shared.of(f"partition {place}").stream("sample of rows")
        drawn = []
        for batch in batches:
            frame = _plain(batch, schema)
            drawn.append(frame[stream.bernoulli(share, frame.height)])
        if drawn:
            yield record(DRAWN, place, packed(pl.concat(drawn)), None)
    except ANY as error:
        yield record(DRAWN, 0, None, told(error))


def settle(
    batches: "Iterable[pa.RecordBatch]", schema: Schema, method: Settling
) -> "Iterator[pa.RecordBatch]":
    """What a method chooses by all rows that were drawn, which is published with its parameters; a
    record as ``SETTLED`` says.
    """
    try:
        drawn = sorted(
            (record for batch in batches for record in batch.to_pylist()),
            key=lambda record: int(record["place"]),
        )
        if fault := next((each["fault"] for each in drawn if each["fault"]), None):
            yield record(SETTLED, None, fault)
            return
        sample = pl.concat([unpacked(each["drawn"]) for each in drawn])
        settled = method.settled(Cells(schema, (), Region()).microdata(sample))
        chosen = {
            name: value
            for name, value in vars(settled).items()
            if value != getattr(method, name, None)
        }
        yield record(SETTLED, json.dumps(chosen), None)
    except ANY as error:
        yield record(SETTLED, None, told(error))


def cells_of(schema: Schema, reach: bytes, cuts: str) -> Cells:
    """What ``cut`` gave, as cells."""
    everything = Look(schema, Fraction(1))
    everything.add(unpacked(reach))
    return everything.along(Region.of_cuts(json.loads(cuts)))


@dataclass(frozen=True)
class Tagging:
    """What rows are tagged by."""

    cells: Cells
    shared: Shared
    key: PersonKey | None
    """Of keyed hashes that are compared once and thrown away; None where no person is identified."""
    ways: int
    """Over so many parts these are dealt, by how they begin; they are numbered below 0."""


def tag(batches: "Iterable[pa.RecordBatch]", tagging: Tagging) -> "Iterator[pa.RecordBatch]":
    """The rows of a partition, packed by the cell that each is in; and the keyed hashes of its
    persons; records as ``TAGGED`` says.
    """
    schema = tagging.cells.schema
    try:
        place = place_of_worker()
        stream = tagging.shared.of(f"partition {place}").stream("rows dealt out")
        for turn, frame in enumerate(held(batches, schema)):
            yield from _tagged(frame, tagging, stream, place, turn)
    except ANY as error:
        yield record(TAGGED, 0, 0, 0, 0, None, told(error))


def _tagged(
    frame: pl.DataFrame, tagging: Tagging, stream: Any, place: int, turn: int
) -> "Iterator[pa.RecordBatch]":
    """The records of some rows."""
    schema = tagging.cells.schema
    if tagging.key is not None and schema.identifier is not None:
        hashes = tagging.key.hash(frame[schema.identifier])
        begin = np.frombuffer(hashes.to_arrow().buffers()[2], dtype=">u2").reshape(-1, _KEY // 2)
        ways = begin[:, 0].astype(np.int64) * tagging.ways >> 16
        yield from _by_part(hashes.to_frame(), ways, -1 - np.arange(tagging.ways), place, turn)
    columns = [c for c, role in schema.roles.items() if role not in ("identifier", "drop")]
    parts = tagging.cells.tag(frame, stream)
    yield from _by_part(
        frame.select(columns), parts, np.arange(tagging.cells.root.end), place, turn
    )


def _by_part(
    frame: pl.DataFrame, parts: Ints, numbers: Ints, place: int, turn: int
) -> "Iterator[pa.RecordBatch]":
    """Rows packed by their parts, of which each has a number."""
    filled = [(part, piece.height, packed(piece)) for part, piece in pieces(frame, parts)]
    yield records(
        TAGGED,
        [int(numbers[part]) for part, *_ in filled],
        [place] * len(filled),
        [turn] * len(filled),
        [rows for _, rows, _ in filled],
        [content for *_, content in filled],
        [None] * len(filled),
    )


def held(batches: "Iterable[pa.RecordBatch]", schema: Schema) -> Iterator[pl.DataFrame]:
    """The rows that Spark gives, as many at once as are packed together."""
    frames: list[pl.DataFrame] = []
    for batch in batches:
        frames.append(_plain(batch, schema))
        if sum(frame.height for frame in frames) >= AT_ONCE:
            yield pl.concat(frames)
            frames = []
    if any(frame.height for frame in frames):
        yield pl.concat(frames)


def pieces(frame: pl.DataFrame, numbers: Ints) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each number from 0 that has any, in the order that they had."""
    order = in_order(numbers)
    sizes = np.bincount(numbers)
    ends, sorted_rows = np.cumsum(sizes), frame[order]
    for number in np.flatnonzero(sizes).tolist():
        end = int(ends[number])
        yield number, sorted_rows[end - int(sizes[number]) : end]


@dataclass(frozen=True)
class Solving:
    """What is done with a cell."""

    cells: Cells
    counts: Sequence[int]
    """How many rows each cell has, by its number; those behind them hold keyed hashes."""
    shared: Shared
    work: Work


def solve(batches: "Iterable[pa.RecordBatch]", solving: Solving) -> "Iterator[pa.RecordBatch]":
    """Do the work on one cell; a record as ``SOLVED`` says."""
    at = -1
    try:
        got: list[tuple[int, int, int, bytes]] = []
        for batch in batches:
            for row in batch.select(["at", "place", "turn", "part", "packed"]).to_pylist():
                at = int(row["at"])
                got.append((row["place"], row["turn"], row["part"], row["packed"]))
        frame = pl.concat([unpacked(packed) for *_, packed in sorted(got, key=_read_order)])
        if at >= len(solving.counts):
            figures: Mapping[str, Any] = {"twice": frame.height - frame.n_unique()}
        else:
            _check_counted(frame.height, solving.counts[at])
            microdata = _microdata(solving.cells, frame)
            figures = solving.work(at, microdata, solving.shared.of(f"cell {at}"))
        yield record(SOLVED, at, json.dumps(figures), None)
    except ANY as error:
        yield record(SOLVED, at, None, told(error))


def _microdata(cells: Cells, frame: pl.DataFrame) -> Microdata:
    """The rows of a cell, encoded; where persons are followed, keyed hashes are in the place of the
    identifier.
    """
    name = cells.schema.identifier
    if name not in frame.columns:
        return cells.microdata(frame)
    persons = frame[name].alias("person")
    return replace(cells.microdata(frame.drop(name)), persons=persons)


def _read_order(piece: tuple[int, int, int, bytes]) -> tuple[int, int, int]:
    return piece[:3]


def numbered(numbers: Mapping[int, int]) -> "pa.Table":
    """The number of the merged cell that each is in, as ``NUMBERED`` says."""
    import pyarrow as pa

    return pa.Table.from_batches([records(NUMBERED, list(numbers), list(numbers.values()))])


def _check_counted(rows: int, counted: int) -> None:
    """A source that is read twice and gives other rows, or the same in another order, would lose
    some and have others twice.
    """
    if rows != counted:
        raise MethodError(
            f"a cell of {counted:,} rows came back with {rows:,}, so the source changed while it was"
            " read, or gives its rows in another order each time; write it as Parquet first."
        )


def packed(frame: pl.DataFrame) -> bytes:
    """Rows as bytes."""
    sink = BytesIO()
    frame.write_ipc_stream(sink, compression="lz4")
    return sink.getvalue()


def unpacked(content: bytes) -> pl.DataFrame:
    """The rows that were packed."""
    return pl.read_ipc_stream(BytesIO(content))


def _plain(batch: "pa.RecordBatch", schema: Schema) -> pl.DataFrame:
    """The rows that Spark gives, with the types that they have everywhere."""
    import pyarrow as pa

    table = pa.Table.from_batches([batch])
    table = table.rename_columns([unquote(name) for name in table.column_names])
    check_texts(table, schema.drop)
    frame = pl.DataFrame(pl.from_arrow(table))
    check_values(frame)
    return to_polars(frame, drop=schema.drop)


def spelled(name: str) -> str:
    """The name of a column as Spark is told it, which takes a dot in a name for something else."""
    return "".join(f"%{ord(each):02X}" if each in "%.`" else each for each in name)


def check_table(columns: "pa.Schema", schema: Schema) -> list[str]:
    """SourceError or SchemaError where the columns of a table are not what the schema says; which of
    them could name people.
    """
    check_named(columns.names, SourceError)
    check_unique(columns.names)
    head = to_polars(pl.DataFrame(pl.from_arrow(columns.empty_table())), drop=schema.drop)
    check_columns(head, schema)
    return judged(head, schema)


def check_path(source: Any, schema: Schema) -> None:
    """The same of a path of Parquet, by the ends of its files, so that no Spark is started in vain, and
    no file is read in another way than the others; SourceError where one is no Parquet, and nothing
    where they cannot be opened here.
    """
    import pyarrow.parquet as pq
    from pyarrow import ArrowException, ArrowInvalid

    path = Path(source)
    if ":" in path.name:
        raise SourceError(
            f"Spark reads nothing with a colon in its name, as {path.name!r} has; rename it."
        )
    files = files_of(path)
    with suppress(ArrowException, OSError):
        metas = []
        for file in files:
            try:
                metas.append(pq.read_metadata(file))
            except ArrowInvalid:
                raise malformed(file, "Parquet") from None
        check_alike(files, metas)
        for meta in metas:
            check_types(meta.schema, schema)
        check_table(metas[0].schema.to_arrow_schema(), schema)


def check_frame(frame: "DataFrame", schema: Schema) -> None:
    """SourceError for a frame whose session was stopped, and for one of whose published columns the
    session shows times in a zone that has other days than UTC, by which they would be published.
    """
    spark = frame.sparkSession
    if spark.sparkContext._jsc is None:  # noqa: SLF001 - PySpark has no other name for it
        raise SourceError("the Spark session of the data frame was stopped; read the table anew.")
    zone = spark.conf.get("spark.sql.session.timeZone")
    for name, kind in frame.dtypes:
        published = schema.role(name) in ("quasi", "sensitive", "keep")
        if published and kind == "timestamp" and zone not in _SAME_DAYS:
            raise SourceError(
                f"column {name!r} holds timestamps, shown in the zone {zone}, whose days are not those of"
                " UTC; cast it to a date, or set the session's zone to UTC."
            )


def check_types(columns: "ParquetSchema", schema: Schema) -> None:
    """SourceError where a column, whatever its role, has a type that Spark does not read, or where one
    that is published would have other days there, as it forgets zones of time.
    """
    for column in (columns.column(at) for at in range(len(columns))):
        of = json.loads(column.logical_type.to_json())
        if of["Type"] in _NOT_READ or of.get("timeUnit") == "nanoseconds":
            raise SourceError(
                f"column {column.path!r} holds {_NOT_READ.get(of['Type'], 'nanoseconds')}, which Spark"
                " does not read; leave it out at the source, or write it otherwise."
            )
    for field in columns.to_arrow_schema():
        zone = getattr(field.type, "tz", None)
        if zone not in _SAME_DAYS and schema.role(field.name) in ("quasi", "sensitive", "keep"):
            raise SourceError(
                f"column {field.name!r} holds timestamps of the zone {zone}, which Spark forgets; write"
                " them as dates at the source."
            )


def place_of_worker() -> int:
    """The number of the partition that this worker reads, which is the same for the same rows; 0
    where no Spark runs.
    """
    spark = sys.modules.get("pyspark")
    context = None if spark is None else spark.TaskContext.get()
    return 0 if context is None else int(context.partitionId())
