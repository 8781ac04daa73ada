# SPDX-License-Identifier: Apache-2.0
"""What the workers of Spark do where persons are followed: they deal rows and known persons out by
keyed hashes, say to which part each row belongs, and look whether a person is in several parts.

As in ``tasks``, Spark sees numbers and bytes, a task that is run twice makes the same, and nothing
raises.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from phalanx.data.persons import PersonKey
from phalanx.data.repeated import halves
from phalanx.data.schema import Schema
from phalanx.engines.cells import Cells
from phalanx.engines.spark import tasks
from phalanx.engines.spark.faults import ANY, raise_told, told
from phalanx.engines.spark.records import record
from phalanx.randomness import Shared

if TYPE_CHECKING:
    import pyarrow as pa

    from phalanx.arrays import Ints

Known = Callable[[int], pl.Series]
"""Reads the keyed hashes of those who are known of a part, by its number, in a worker."""

DEALT: Final = "way int, part int, place long, turn long, packed binary, fault string"
COMPARED: Final = "twice long, persons long, fault string"
REPEATED: Final = -1
"""Stands for a part where rows are counted that repeat a person."""
_ROWS: Final = 0
"""Stands for a part where rows of the table are dealt out."""
_NEW: Final = -1
"""Of a row whose person was never published."""


def deal(
    batches: "Iterable[pa.RecordBatch]", schema: Schema, key: PersonKey, ways: int
) -> "Iterator[pa.RecordBatch]":
    """The rows of a partition by how the keyed hashes of their persons begin, with the hash in the
    place of the identifier; records as ``DEALT`` says.
    """
    name = str(schema.identifier)
    try:
        place = tasks.place_of_worker()
        for turn, frame in enumerate(tasks.held(batches, schema)):
            hashed = frame.with_columns(key.hash(frame[name]).alias(name))
            yield from _dealt(hashed, hashed[name], ways, _ROWS, place, turn)
    except ANY as error:
        yield record(DEALT, 0, _ROWS, 0, 0, None, told(error))


def tell(
    batches: "Iterable[pa.RecordBatch]", parts: Sequence[int], known: Known, ways: int
) -> "Iterator[pa.RecordBatch]":
    """Those who are known of some parts, dealt out as the rows are; records as ``DEALT`` says."""
    try:
        for batch in batches:
            for turn in batch.column(0).to_pylist():
                yield from dealt(known(parts[turn]).unique().sort(), ways, parts[turn], turn)
    except ANY as error:
        yield record(DEALT, 0, _ROWS, 0, 0, None, told(error))


def dealt(
    persons: pl.Series, ways: int, part: int = 1, place: int = 0
) -> "Iterator[pa.RecordBatch]":
    """The keyed hashes of some persons of a part; records as ``DEALT`` says."""
    named = persons.alias("person")
    yield from _dealt(named.to_frame(), named, ways, part, place, 0)


def _dealt(
    frame: pl.DataFrame, persons: pl.Series, ways: int, part: int, place: int, turn: int
) -> "Iterator[pa.RecordBatch]":
    for way, piece in tasks.pieces(frame, way_of(persons, ways)):
        yield record(DEALT, way, part, place, turn, tasks.packed(piece), None)


def way_of(persons: pl.Series, ways: int) -> "Ints":
    """Over so many ways, at most 65,536, persons are dealt by how their keyed hashes begin, shape
    (n,).
    """
    begin = halves(persons)[:, 0] & np.uint64(0xFFFF)
    numbers: Ints = begin.astype(np.int64) * ways >> 16
    return numbers


@dataclass(frozen=True)
class Belonging:
    """What says to which part a row belongs."""

    cells: Cells
    """Those that new persons are in."""
    shared: Shared


def belong(batches: "Iterable[pa.RecordBatch]", belonging: Belonging) -> "Iterator[pa.RecordBatch]":
    """The rows of one way, packed: of a new person by the cell that it is in, of a known one by the
    part, which is numbered behind the cells; records as ``tasks.TAGGED`` says.
    """
    cells = belonging.cells
    try:
        way, rows, known = _of_way(batches)
        if rows is None:
            return
        name, new = str(cells.schema.identifier), cells.root.end
        if twice := rows.height - rows[name].n_unique():
            yield record(tasks.TAGGED, REPEATED, way, 0, twice, None, None)
        known = known.unique("person", keep="first", maintain_order=True)
        of_row = rows.select(pl.col(name).alias("person")).join(
            known, on="person", how="left", maintain_order="left"
        )
        part = of_row["part"].fill_null(_NEW).to_numpy()
        stream = belonging.shared.of(f"way {way}").stream("rows dealt out")
        numbers = np.where(part == _NEW, cells.tag(rows, stream), new + part)
        for number, piece in tasks.pieces(rows, numbers):
            packed = tasks.packed(piece)
            yield record(tasks.TAGGED, number, way, 0, piece.height, packed, None)
    except ANY as error:
        yield record(tasks.TAGGED, 0, 0, 0, 0, None, told(error))


def compare(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """How many persons of one way are in a further part, and how many are in any, counted in each of
    theirs; a record as ``COMPARED`` says.
    """
    try:
        _, _, known = _of_way(batches)
        yield record(COMPARED, known.height - known["person"].n_unique(), known.height, None)
    except ANY as error:
        yield record(COMPARED, 0, 0, told(error))


def _of_way(
    batches: "Iterable[pa.RecordBatch]",
) -> tuple[int, pl.DataFrame | None, pl.DataFrame]:
    """The number of a way, its rows in the order in which they were read, and who is known of which
    part (person, part).
    """
    way, pieces = 0, []
    for batch in batches:
        for each in batch.to_pylist():
            if each["fault"]:
                raise_told(each["fault"])
            way = int(each["way"])
            pieces.append((each["part"], each["place"], each["turn"], each["packed"]))
    pieces.sort(key=lambda piece: piece[:3])
    frames = [(part, tasks.unpacked(packed)) for part, _, _, packed in pieces]
    rows = [frame for part, frame in frames if part == _ROWS]
    none_known = pl.DataFrame(schema={"person": pl.Binary, "part": pl.Int64})
    known = [frame.with_columns(part=pl.lit(part, pl.Int64)) for part, frame in frames if part]
    return way, pl.concat(rows) if rows else None, pl.concat([none_known, *known])
