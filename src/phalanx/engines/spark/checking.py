# SPDX-License-Identifier: Apache-2.0
"""A check in the workers of Spark: of files that all of them see under the same path, and of what this
process knows of each part.

What is known of persons goes to the workers sealed, under a key that ends with the check, some parts at
a time, so that this process and Spark's own hold no more than these.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import polars as pl

from phalanx.engines.spark.calling import (
    CALLED,
    by_group,
    call_each,
    refusing_spark,
    results_of,
    stage,
    there,
)
from phalanx.engines.spark.faults import ANY, WorkerFault, told
from phalanx.engines.spark.records import record, records
from phalanx.engines.spark.session import session
from phalanx.ledger.sealing import pack, seal, unpack, unseal
from phalanx.randomness import Randomness
from phalanx.temporary import temporary_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

T = TypeVar("T")
Beside = Sequence[pl.DataFrame | None]
"""The tables that lie beside one part."""

BESIDE: Final = "at long, turn long, sealed binary"
_AT_ONCE: Final = 1 << 28
"""So many sealed bytes go to the workers at a time, or one part."""


@dataclass(frozen=True)
class Workers:
    """Calls a function in the workers, of the folder in which this process is."""

    spark: "SparkSession"
    key: bytes = field(repr=False)

    def each(self, work: Callable[[int], T], numbers: Iterable[int]) -> Iterable[T]:
        """Call a function with every number.

        Parameters
        ----------
        work : Callable[[int], T]
            What is called.
        numbers : Iterable[int]
            The numbers.

        Returns
        -------
        Iterable[T]
            What it gave, in their order.
        """
        return call_each(self.spark, partial(there, Path.cwd(), work), numbers, "check")

    def beside(self, work: Callable[[int, Beside], T], tables: Iterable[Beside]) -> Iterator[T]:
        """Call a function with each number from 0 and the tables that lie beside it.

        Parameters
        ----------
        work : Callable[[int, Beside], T]
            What is called; it may be called twice with one number.
        tables : Iterable[Beside]
            The tables of each number, read as they go to the workers.

        Yields
        ------
        T
            What it gave, in their order.
        """
        looked = by_group(partial(look, folder=Path.cwd(), work=work, key=self.key), CALLED)
        waiting: list[pa.RecordBatch] = []
        turns: list[int] = []
        size = 0
        for at, given in enumerate(tables):
            sealed = [self._sealed(table, at, turn) for turn, table in enumerate(given)]
            waiting.append(records(BESIDE, [at] * len(sealed), list(range(len(sealed))), sealed))
            turns.append(at)
            size += sum(len(content or b"") for content in sealed)
            if size >= _AT_ONCE:
                yield from self._looked(looked, waiting, turns)
                waiting, turns, size = [], [], 0
        if turns:
            yield from self._looked(looked, waiting, turns)

    def _sealed(self, table: pl.DataFrame | None, *place: int) -> bytes | None:
        return None if table is None else seal(self.key, pack(table), *place)

    def _looked(
        self,
        looked: Callable[[Any], Any],
        waiting: "Sequence[pa.RecordBatch]",
        turns: Sequence[int],
    ) -> list[Any]:
        import pyarrow as pa

        frame = self.spark.createDataFrame(pa.Table.from_batches(waiting))
        parts = frame.repartition(len(turns), "at").groupBy("at")
        with stage(self.spark, "check"):
            return results_of(parts.applyInArrow(looked, CALLED).collect(), turns)


def look(
    batches: "Iterable[pa.RecordBatch]", folder: Path, work: Callable[[int, Beside], T], key: bytes
) -> "Iterator[pa.RecordBatch]":
    """Call a function with one number and what lies beside it.

    Parameters
    ----------
    batches : Iterable[pa.RecordBatch]
        Its tables, as ``BESIDE`` says, in any order.
    folder : Path
        In which it was asked for.
    work : Callable[[int, Beside], T]
        What is called.
    key : bytes
        Under which they are sealed.

    Yields
    ------
    pa.RecordBatch
        What it gave, or raised, as ``CALLED`` says.
    """
    from pyspark.serializers import CPickleSerializer

    rows = [row for batch in batches for row in batch.to_pylist()]
    at = rows[0]["at"]
    try:
        beside = [_unsealed(row, key) for row in sorted(rows, key=lambda row: int(row["turn"]))]
        given = there(folder, lambda number: work(number, beside), at)
        yield record(CALLED, at, CPickleSerializer().dumps(given), None)
    except ANY as error:
        yield record(CALLED, at, None, told(error))


def _unsealed(row: dict[str, Any], key: bytes) -> pl.DataFrame | None:
    if row["sealed"] is None:
        return None
    content = unseal(key, row["sealed"], row["at"], row["turn"])
    if content is None:
        raise WorkerFault("what lies beside a part was changed")
    return unpack(content)


@contextmanager
def workers(master: str | None) -> Iterator[Workers]:
    """The workers of Spark, for functions that look at files which all of them see under the same
    path.

    Parameters
    ----------
    master : str, optional
        Where Spark runs; by default in the session that is active, or on all processors here.

    Yields
    ------
    Workers
        Call a function there.

    Raises
    ------
    ExtraError, PlanError
        As ``session`` does.
    """
    key = Randomness.secure().stream("key of what lies beside").words(4).tobytes()
    with (
        temporary_folder() as place,
        session(place, master) as spark,
        refusing_spark("it was not checked"),
    ):
        yield Workers(spark, key)
