# SPDX-License-Identifier: Apache-2.0
"""A function called in the workers of Spark, once for each of some numbers; and what is shared by all that
runs there: its name, its silence, and how it fails.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import chdir, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from phalanx.engines.spark.faults import ANY, WorkerFault, raise_told, told
from phalanx.engines.spark.records import record, schema_of
from phalanx.errors import PhalanxError, PlanError, ReleaseError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

T = TypeVar("T")

CALLED: Final = "at long, result binary, fault string"
_DESCRIPTION: Final = "spark.job.description"
"""What Spark calls a job by, on its pages and in its records."""


def there(folder: Path, work: Callable[[int], T], number: int) -> T:
    """Work in the folder in which it was asked for, so that a path means what it means there."""
    try:
        with chdir(folder):
            return work(number)
    except FileNotFoundError as error:
        raise ReleaseError(
            f"the workers of Spark do not see {error.filename}; put the release into a folder that"
            " all of them share."
        ) from None


def call_each(
    spark: "SparkSession", work: Callable[[int], T], numbers: Iterable[int], name: str
) -> list[T]:
    """Call a function with every number, in workers.

    Parameters
    ----------
    spark : SparkSession
        Where.
    work : Callable[[int], T]
        What is called; it may be called twice with one number.
    numbers : Iterable[int]
        The numbers.
    name : str
        What Spark calls the stage.

    Returns
    -------
    list[T]
        What it gave, in their order.

    Raises
    ------
    PhalanxError
        What it raised of the first number of which it raised anything.
    """
    asked = list(numbers)

    def there(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        silenced()
        return called(batches, work, asked)

    # a data frame, and not what is older: its workers are those that have done all before
    turns = spark.range(0, len(asked), 1, max(1, len(asked)))
    with stage(spark, name):
        records = turns.mapInArrow(there, CALLED).collect()
    return results_of(records, range(len(asked)))


def results_of(records: Iterable[Any], turns: Sequence[int]) -> list[Any]:
    """What was given in each of some turns, in their order.

    Parameters
    ----------
    records : Iterable[Row]
        As ``CALLED`` says, in any order.
    turns : Sequence[int]
        The turns.

    Returns
    -------
    list[Any]
        What was given.

    Raises
    ------
    PhalanxError
        What was raised in the first turn in which anything was.
    WorkerFault
        Where a turn is missing.
    """
    from pyspark.serializers import CPickleSerializer

    of_turn = {each["at"]: each for each in records}
    if of_turn.keys() != set(turns):
        raise WorkerFault("calls were lost")
    for at in turns:
        if fault := of_turn[at]["fault"]:
            raise_told(fault)
    results = CPickleSerializer()
    return [results.loads(of_turn[at]["result"]) for at in turns]


def called(
    batches: "Iterable[pa.RecordBatch]", work: Callable[[int], Any], asked: Sequence[int]
) -> "Iterator[pa.RecordBatch]":
    """Call a function with what is asked for in each of some turns; records as ``CALLED`` says."""
    from pyspark.serializers import CPickleSerializer

    results = CPickleSerializer()
    for batch in batches:
        for at in batch.column(0).to_pylist():
            try:
                yield record(CALLED, at, results.dumps(work(asked[at])), None)
            except ANY as error:
                yield record(CALLED, at, None, told(error))


def by_group(work: Callable[[Iterable[Any]], Iterator[Any]], gives: str) -> Callable[[Any], Any]:
    """Work on the rows of a group, which gives records of a schema, in the form that this PySpark
    takes: some rows at a time, or, before 4.1, all of a group at once.
    """
    import pyarrow as pa
    import pyspark

    def whole(table: pa.Table) -> pa.Table:
        silenced()
        return pa.Table.from_batches(work(table.to_batches()), schema_of(gives))

    def by_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        silenced()
        return work(batches)

    return by_batches if tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 1) else whole


def silenced() -> None:
    """Nothing that libraries write in a worker leaves it: they quote what they stumble over."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os.close(nowhere)


@contextmanager
def stage(spark: "SparkSession", name: str) -> Iterator[None]:
    """What Spark calls the jobs that are begun meanwhile, on its pages and in its records."""
    context = spark.sparkContext
    before = context.getLocalProperty(_DESCRIPTION)
    context.setLocalProperty(_DESCRIPTION, f"phalanx: {name}")
    try:
        yield
    finally:
        context.setLocalProperty(_DESCRIPTION, before)  # None takes it away


def _interrupted(error: BaseException | None, before: BaseException | None) -> bool:
    """Whether an interruption was on its way when this was raised, and not ``before``."""
    while error is not before and not isinstance(error, KeyboardInterrupt | None):
        error = error.__context__
    return error is not before and error is not None


@contextmanager
def refusing_spark(so: str = "nothing was published") -> Iterator[None]:
    """What Spark raises in many lines, which may quote what it read, is one sentence; ``so``: what
    follows.
    """
    before = sys.exc_info()[1]  # what was being dealt with already
    try:
        yield
    except (PhalanxError, OSError, WorkerFault, MemoryError):
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        if _interrupted(error, before):  # what is asked of Java while it is left fails then
            raise KeyboardInterrupt from None
        if "No module named 'phalanx'" in str(error):
            raise PlanError(
                "the workers of Spark do not have Phalanx; set PYSPARK_PYTHON to an interpreter that"
                " has it before the session begins."
            ) from None
        condition = getattr(error, "getCondition", lambda: None)()
        if condition == "UNABLE_TO_INFER_SCHEMA":
            raise SourceError(
                "Spark sees no Parquet in the source, where it passes over names that begin with '_'"
                f" or '.'; check its path ({so})."
            ) from None
        raise SourceError(
            f"Spark stopped ({type(error).__name__}{f', {condition}' if condition else ''}); its log"
            f" says more, and {so}."
        ) from None
