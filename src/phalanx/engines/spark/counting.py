# SPDX-License-Identifier: Apache-2.0
"""Counts of a table on Spark, for a method whose counts of parts add up: every partition is counted
where it is read, one worker adds up and lays down what is published, and every partition is looked
at once more. What comes to the process that publishes are numbers.

As in ``tasks``, a task that is run twice makes the same, and nothing raises.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.repeated import twice_in
from phalanx.data.schema import Schema
from phalanx.engines.cells import Cells
from phalanx.engines.regions import Region
from phalanx.engines.spark import persons, tasks
from phalanx.engines.spark.calling import by_group, silenced, stage
from phalanx.engines.spark.faults import ANY, raise_told, told
from phalanx.engines.spark.records import record
from phalanx.engines.spark.running import Running
from phalanx.methods.base import Summing
from phalanx.methods.written_alike import check_written_alike
from phalanx.randomness import Randomness, Shared, Stream

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

Lay = Callable[[Iterator[tuple[pl.DataFrame, Ints]]], int]
"""Adds up what was counted in each partition, and lays it down; how many pieces it is."""
Look = Callable[[Iterator[tuple[Microdata, pl.DataFrame, Ints]]], bytes]
"""Looks once more at rows, with their images and the image of each; what it saw."""

COUNTED: Final = "place long, counted binary, fault string"
TOLD: Final = "told binary, fault string"
_SAMPLE: Final = "rows drawn"
_WAYS: Final = 1 << 16


@dataclass(frozen=True)
class Sampling:
    """How the rows of a partition are drawn and counted."""

    schema: Schema
    method: Summing
    shared: Shared

    def pieces(
        self, batches: "Iterable[pa.RecordBatch]"
    ) -> Iterator[tuple[Microdata, pl.DataFrame, Ints, Ints]]:
        """Some rows at a time, with the images of those that were drawn, how often each occurs, and
        that of each row; the same whenever the partition is read.
        """
        cells = Cells(self.schema, (), Region())
        unit = f"partition {tasks.place_of_worker()}"
        stream: Stream = self.shared.of(unit).stream(_SAMPLE)
        for frame in tasks.held(batches, self.schema):
            check_written_alike(frame, self.schema, self.method)
            microdata = cells.microdata(frame)
            yield (microdata, *self.method.counted(microdata, stream))


def count(batches: "Iterable[pa.RecordBatch]", sampling: Sampling) -> "Iterator[pa.RecordBatch]":
    """Count the rows of a partition; records as ``COUNTED`` says."""
    try:
        place = tasks.place_of_worker()
        for _, images, times, _ in sampling.pieces(batches):
            counted = [images.to_struct("image"), pl.Series("times", times, dtype=pl.Int64)]
            yield record(COUNTED, place, tasks.packed(pl.DataFrame(counted)), None)
    except ANY as error:
        yield record(COUNTED, 0, None, told(error))


def add_up(batches: "Iterable[pa.RecordBatch]", lay: Lay) -> "Iterator[pa.RecordBatch]":
    """Add up what was counted in all partitions; a record as ``TOLD`` says."""
    try:
        rows = sorted(
            (row for batch in batches for row in batch.to_pylist()), key=lambda row: row["place"]
        )
        if fault := next((row["fault"] for row in rows if row["fault"]), None):
            yield record(TOLD, None, fault)
            return
        frames = (tasks.unpacked(row["counted"]) for row in rows)
        pieces = lay(
            (frame["image"].struct.unnest(), frame["times"].to_numpy()) for frame in frames
        )
        yield record(TOLD, json.dumps(pieces).encode(), None)
    except ANY as error:
        yield record(TOLD, None, told(error))


def look(
    batches: "Iterable[pa.RecordBatch]", sampling: Sampling, seen: Look
) -> "Iterator[pa.RecordBatch]":
    """Look at the rows of a partition once more; a record as ``TOLD`` says."""
    try:
        pieces = ((m, images, of_row) for m, images, _, of_row in sampling.pieces(batches))
        yield record(TOLD, seen(pieces), None)
    except ANY as error:
        yield record(TOLD, None, told(error))


def name(
    batches: "Iterable[pa.RecordBatch]", key: PersonKey, ways: int
) -> "Iterator[pa.RecordBatch]":
    """The keyed hashes of the persons of a partition; records as ``persons.DEALT`` says."""
    try:
        for batch in batches:
            identifiers = pl.Series(pl.from_arrow(batch.column(0)))
            yield from persons.dealt(
                key.hash(identifiers.alias(unquote(batch.schema.names[0]))), ways
            )
    except ANY as error:
        yield record(persons.DEALT, 0, 1, 0, 0, None, told(error))


@dataclass(frozen=True)
class Counting:
    """A table on Spark that is counted."""

    running: Running
    sampling: Sampling

    def laid(self, lay: Lay) -> int:
        """Count all rows, add up, and lay down what is published.

        Parameters
        ----------
        lay : Lay
            Called in one worker with what was counted, in the order of the partitions.

        Returns
        -------
        int
            What it gave.

        Raises
        ------
        PhalanxError
            What a worker raised first.
        """
        counted = self._rows().mapInArrow(_in_worker(count, sampling=self.sampling), COUNTED)
        together = counted.repartition(1).mapInArrow(_in_worker(add_up, lay=lay), TOLD)
        with stage(self.running.spark, "count"):
            (answer,) = together.collect()
        return int(json.loads(_unless_fault(answer)))

    def seen(self, look_at: Look) -> list[bytes]:
        """Look at all rows once more.

        Parameters
        ----------
        look_at : Look
            Called in a worker with the rows of each partition.

        Returns
        -------
        list[bytes]
            What it gave of each.

        Raises
        ------
        PhalanxError
            What a worker raised first.
        """
        work = _in_worker(look, sampling=self.sampling, seen=look_at)
        with stage(self.running.spark, "look again"):
            answers = self._rows().mapInArrow(work, TOLD).collect()
        return [_unless_fault(answer) for answer in answers]

    def check_persons(self, rng: Randomness) -> None:
        """SourceError where a person is in the table twice; by hashes that are thrown away."""
        identifier = self.sampling.schema.identifier
        if identifier is None:
            return
        key = PersonKey(rng.stream("persons compared").words(4).tobytes())
        ways = max(1, min(_WAYS, -(-self.running.rows // self.running.most)))
        named = self.running.read([identifier]).mapInArrow(
            _in_worker(name, key=key, ways=ways), persons.DEALT
        )
        compare = by_group(persons.compare, persons.COMPARED)
        by_way = named.repartition(ways, "way").groupBy("way")
        with stage(self.running.spark, "compare"):
            answers = by_way.applyInArrow(compare, persons.COMPARED).collect()
        if fault := next((each["fault"] for each in answers if each["fault"]), None):
            raise_told(fault)
        if twice := sum(each["twice"] for each in answers):
            raise twice_in(identifier, twice)

    def _rows(self) -> "DataFrame":
        roles = self.sampling.schema.roles.items()
        return self.running.read([n for n, role in roles if role not in ("identifier", "drop")])


def _in_worker(work: Callable[..., Iterator[Any]], **given: Any) -> Callable[..., Iterator[Any]]:
    """A function of workers, which is silent there."""
    with_given = partial(work, **given)

    def there(batches: Iterable[Any]) -> Iterator[Any]:
        silenced()
        return with_given(batches)

    return there


def _unless_fault(answer: Any) -> bytes:
    if answer["fault"]:
        raise_told(answer["fault"])
    return bytes(answer["told"])
