# SPDX-License-Identifier: Apache-2.0
"""The stages of a table on Spark: one look, tags, counts, and every cell solved where its rows are.

The source is read twice, first its quasi-identifiers. What comes to the process that publishes are
how far attributes reach, where regions are cut, how many rows each cell has, and figures of what was
published; no row does. The second reading packs rows by cell, in files that Spark encrypts. Cells are
counted there, merged with their neighbours until none is too small, and solved.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from phalanx.data.identifying import UNIQUENESS, refuse
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.data.sources.parquet_folders import files_of
from phalanx.engines.cells import Cells, sampled_share
from phalanx.engines.regions import merged
from phalanx.engines.spark import tasks
from phalanx.engines.spark.calling import by_group, call_each, silenced, stage
from phalanx.engines.spark.faults import WorkerFault, raise_told
from phalanx.errors import MethodError, SourceError
from phalanx.methods.base import Division, Method, Settling
from phalanx.randomness import Randomness
from phalanx.release.parts import MOST

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

T = TypeVar("T")

_MOST_ROWS: Final = 1_000_000
"""Of a cell, where the memory of a worker would take more."""
_LEAST_ROWS: Final = 500_000
"""Smaller cells are not made so that all workers have one; they lose too much."""
_EACH: Final = 2
"""So many cells for each worker, so that none waits long for the last one."""
_SAMPLED: Final = 100
"""So many rows at least, drawn by chance, tell where a cell ends, so that its size is about the one
that was wanted.
"""
_SMALL: Final = 8
"""A cell of less than this part of its size is published with its neighbour."""
_SPREAD: Final = 0.02
"""The standard error, as a share, of how many distinct values are estimated."""
_DOUBT: Final = 5
"""Where an estimate is not so many standard errors away, values are counted."""
_HASHES: Final = 2_000_000
"""So many persons are compared at a time."""


@dataclass(frozen=True)
class Running:
    """A table on Spark, of so many ``rows``, and cells of at most about so many."""

    spark: "SparkSession"
    frame: "DataFrame"
    schema: Schema
    rows: int
    most: int

    @classmethod
    def of(cls, spark: "SparkSession", frame: "DataFrame", schema: Schema, most: int) -> "Running":
        """Count the rows, and look at the names and types of columns, and at how many values come
        again.
        """
        names = tasks.check_table(_columns(frame), schema)
        rows = _rows(frame, names, schema)
        workers = max(1, spark.sparkContext.defaultParallelism)
        shared = max(_LEAST_ROWS, -(-rows // (_EACH * workers)))
        return cls(spark, frame, schema, rows, min(most, _MOST_ROWS, shared))

    def solved(
        self, by: Division, rng: Randomness, work: tasks.Work, *, persons: bool
    ) -> list[Mapping[str, Any]]:
        """Do some work on every cell, where its rows are.

        Parameters
        ----------
        by : Division
            How the table may be divided: by regions of the quasi-identifiers, or by chance.
        rng : Randomness
            The one source of chance.
        work : Callable[[int, Microdata, Randomness], Mapping]
            Publishes a cell, and gives figures that JSON can say; it may be called twice for one
            cell, with the same draws.
        persons : bool
            Whether a person may be in the table once only.

        Returns
        -------
        list[Mapping[str, Any]]
            Of each cell what its work gave, in an order that chance gave; cells are numbered so.

        Raises
        ------
        PhalanxError
            What the work raised first.
        SourceError
            Where a person is in the table twice.
        MethodError
            Where cells would be too many, or the source does not give the same rows twice.
        """
        from pyspark import StorageLevel

        shared, key = rng.shared(), None
        cells = self.cells(by, rng)
        if persons and self.schema.identifier is not None:
            key = PersonKey(rng.stream("persons compared").words(4).tobytes())
        tagging = tasks.Tagging(cells, shared, key, min(1 << 16, -(-self.rows // _HASHES)))

        def tag(batches: Iterable[Any]) -> Iterator[Any]:
            silenced()
            return tasks.tag(batches, tagging)

        columns = [n for n, r in self.schema.roles.items() if r != "drop"]
        if key is None:
            columns = [name for name in columns if name != self.schema.identifier]
        tagged = self.read(columns).mapInArrow(tag, tasks.TAGGED).persist(StorageLevel.DISK_ONLY)
        try:
            counts = self.counted(tagged)
            numbers, sizes = self._numbered(cells, counts, rng)
            return self.each_cell(tagged, numbers, tasks.Solving(cells, sizes, shared, work))
        finally:
            tagged.unpersist()

    @property
    def least(self) -> int:
        """A cell of fewer rows is published with its neighbour."""
        return max(1, self.most // _SMALL)

    def counted(self, tagged: "DataFrame") -> dict[int, int]:
        """How many rows each part has.

        Parameters
        ----------
        tagged : DataFrame
            Of Spark, as ``tasks.TAGGED`` says.

        Returns
        -------
        dict[int, int]
            By the number of the part.

        Raises
        ------
        PhalanxError
            What a worker raised first.
        MethodError
            Where the source does not give the same rows twice.
        """
        from pyspark.sql import functions as f

        with stage(self.spark, "tag"):
            of_part = tagged.groupBy("part").agg(f.sum("rows"), f.max("fault")).collect()
        if fault := next((each[2] for each in of_part if each[2]), None):
            raise_told(fault)
        counts = {int(part): int(rows) for part, rows, _ in of_part}
        if (again := sum(rows for part, rows in counts.items() if part >= 0)) != self.rows:
            raise MethodError(
                f"the source had {self.rows:,} rows and then {again:,}, so it changed while it"
                " was read; write it as Parquet first."
            )
        return counts

    def settled(self, method: Method, rng: Randomness) -> Method:
        """The method that parts are published by: one that chooses by the table as a whole does so
        by rows that chance draws, in a worker, and its choice alone comes here.

        Parameters
        ----------
        method : Method
            What the plan asks for.
        rng : Randomness
            The one source of chance.

        Returns
        -------
        Method
            The same where there is nothing to choose.

        Raises
        ------
        PhalanxError
            What a worker raised first.
        """
        if not isinstance(method, Settling) or not method.settles:
            return method
        schema, share, shared = self.schema, sampled_share(self.rows), rng.shared()

        def draw(batches: Iterable[Any]) -> Iterator[Any]:
            silenced()
            return tasks.draw(batches, schema, share, shared)

        def settle(batches: Iterable[Any]) -> Iterator[Any]:
            silenced()
            return tasks.settle(batches, schema, method)

        columns = [n for n, r in schema.roles.items() if r not in ("identifier", "drop")]
        drawn = self.read(columns).mapInArrow(draw, tasks.DRAWN)
        with stage(self.spark, "settle"):
            (record,) = drawn.repartition(1).mapInArrow(settle, tasks.SETTLED).collect()
        if record["fault"]:
            raise_told(record["fault"])
        chosen: Method = replace(method, **json.loads(record["settled"]))  # type: ignore[type-var]
        return chosen

    def each(
        self, work: Callable[[int], T], numbers: Iterable[int], name: str = "check"
    ) -> list[T]:
        """Call a function with every number, in workers.

        Parameters
        ----------
        work : Callable[[int], T]
            What is called; it may be called twice with one number.
        numbers : Iterable[int]
            The numbers.
        name : str, optional
            What Spark calls the stage.

        Returns
        -------
        list[T]
            What it gave, in their order.

        Raises
        ------
        PhalanxError
            What it raised first.
        """
        return call_each(self.spark, work, numbers, name)

    def cells(self, by: Division, rng: Randomness) -> Cells:
        """The cells, after one look at all quasi-identifiers.

        Parameters
        ----------
        by : Division
            How the table may be divided.
        rng : Randomness
            The one source of chance.

        Returns
        -------
        Cells
            Where regions are cut.

        Raises
        ------
        PhalanxError
            What a worker raised first.
        """
        if by == "chance":
            return Cells.by_chance(self.schema, self.rows, self.most)
        schema, rows, most = self.schema, self.rows, self.most
        share, shared = _drawn_share(rows, most), rng.shared()

        def look(batches: Iterable[Any]) -> Iterator[Any]:
            silenced()
            return tasks.look(batches, schema, share, shared)

        def cut(batches: Iterable[Any]) -> Iterator[Any]:
            silenced()
            return tasks.cut(batches, schema, rows, most)

        looked = self.read(schema.quasi).mapInArrow(look, tasks.LOOKED)
        with stage(self.spark, "look"):
            (record,) = looked.repartition(1).mapInArrow(cut, tasks.CUT).collect()
        if record["fault"]:
            raise_told(record["fault"])
        return tasks.cells_of(schema, bytes(record["reach"]), record["cuts"])

    def _numbered(
        self, cells: Cells, counts: Mapping[int, int], rng: Randomness
    ) -> tuple[dict[int, int], list[int]]:
        """The number of the merged cell that each is in, and how many rows these have."""
        each = [counts.get(number, 0) for number in range(cells.root.end)]
        together = merged(each, self.least)
        check_count(len(together))
        order = rng.stream("order of parts").permutation(len(together))
        numbers = {part: at for at, turn in enumerate(order) for part in together[turn]}
        behind = {part: len(order) - 1 - part for part in counts if part < 0}
        sizes = [sum(each[part] for part in together[turn]) for turn in order]
        return {**numbers, **behind}, sizes

    def each_cell(
        self, tagged: "DataFrame", numbers: Mapping[int, int], solving: tasks.Solving
    ) -> list[Mapping[str, Any]]:
        """Solve every cell where its rows are.

        Parameters
        ----------
        tagged : DataFrame
            Of Spark, as ``tasks.TAGGED`` says.
        numbers : Mapping[int, int]
            The number of the cell that each part is in.
        solving : tasks.Solving
            What is done with them.

        Returns
        -------
        list[Mapping[str, Any]]
            Of each cell what its work gave.

        Raises
        ------
        PhalanxError
            What the work raised first; SourceError where a person is in the table twice.
        """
        from pyspark.sql import functions as f

        numbered = self.spark.createDataFrame(tasks.numbered(numbers))
        cells = tagged.join(f.broadcast(numbered), "part").repartition(
            len(set(numbers.values())), "at"
        )
        work = by_group(partial(tasks.solve, solving=solving), tasks.SOLVED)
        with stage(self.spark, "solve"):
            records = cells.groupBy("at").applyInArrow(work, tasks.SOLVED).collect()
        if fault := next((each["fault"] for each in records if each["fault"]), None):
            raise_told(fault)
        figures = {int(each["at"]): json.loads(each["figures"]) for each in records}
        if figures.keys() != set(numbers.values()) or len(records) != len(figures):
            raise WorkerFault("cells were lost, or solved twice")
        count = len(solving.counts)
        twice = sum(of_cell["twice"] for at, of_cell in figures.items() if at >= count)
        if twice:
            raise SourceError(
                f"{twice} row(s) repeat a person in identifier column {self.schema.identifier!r}; a"
                " release holds one row per person, so keep one of them."
            )
        return [figures[at] for at in range(count)]

    def read(self, columns: Sequence[str]) -> "DataFrame":
        """Some columns of the table.

        Parameters
        ----------
        columns : Sequence[str]
            Their names.

        Returns
        -------
        DataFrame
            Of Spark, with columns that are named as ``tasks.spelled`` says; nothing is read yet.
        """
        return self.frame.select(*(_column(name).alias(tasks.spelled(name)) for name in columns))


def _drawn_share(rows: int, most: int) -> Fraction:
    """The probability with which a row is in the sample that tells where cells of so many end; of a
    table of many cells, more rows than would tell of a few.

    >>> _drawn_share(10_000_000, 800_000), _drawn_share(10_000_000_000, 800_000)
    (Fraction(1, 50), Fraction(1, 8000))
    """
    return max(sampled_share(rows), min(Fraction(1), Fraction(_SAMPLED, most)))


def check_count(cells: int) -> None:
    """MethodError where there would be too many cells."""
    if cells > MOST:
        raise MethodError(
            f"the table would be published in {cells:,} cells, and {MOST:,} are the most; give"
            " workers more memory."
        )


def read(spark: "SparkSession", source: Any) -> "DataFrame":
    """The rows of a file of Parquet, or of the files of a folder, by their very names."""
    files = files_of(Path(source).absolute())
    return spark.read.parquet(*(f"file://{_literal(str(file))}" for file in files))


def _literal(path: str) -> str:
    r"""A path as Spark is told it, which takes some signs for a pattern, and a percent sign for itself.

    >>> print(_literal("/a b/ä%20[1].parquet"))
    /a b/ä%20\[1\].parquet
    """
    return "".join(f"\\{each}" if each in "\\*?[]{}" else each for each in path)


def _rows(frame: "DataFrame", names: Sequence[str], schema: Schema) -> int:
    """How many rows there are; SourceError where there are none, SchemaError where one of these
    columns names people: it is estimated which could, and counted of those alone.
    """
    from pyspark.sql import functions as f

    present = {name: _present(frame, name) for name in names}
    estimates = [
        each
        for column in present.values()
        for each in (f.count(column), f.approx_count_distinct(column, _SPREAD))
    ]
    rows, *about = frame.agg(f.count(f.lit(1)), *estimates).collect()[0]
    if not rows:
        raise SourceError("the table has no rows; give one that has some.")
    for (name, column), filled, many in zip(present.items(), about[::2], about[1::2], strict=True):
        if many > (1 - _DOUBT * _SPREAD) * UNIQUENESS * filled:
            measured = f.lit(0)  # of numbers alone, as texts cannot be divided
            if dict(frame.dtypes)[name].startswith(("float", "double", "decimal")):
                measured = f.count(f.when(column % 1 != 0, 1))
            distinct, decimals = frame.agg(f.count_distinct(column), measured).collect()[0]
            if not decimals:
                refuse(name, schema, distinct, filled)
    return int(rows)


def _present(frame: "DataFrame", name: str) -> "Column":
    """A column, in which what is no number is missing."""
    from pyspark.sql import functions as f

    column = _column(name)
    if dict(frame.dtypes)[name] in ("float", "double"):
        return f.when(~f.isnan(column), column)
    return column


def _columns(frame: "DataFrame") -> Any:
    """Names and types of a table, in Arrow's words; timestamps are of the zone in which they are read,
    which PySpark 4.3 asks for.
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    asked = "timezone" in signature(to_arrow_schema).parameters
    return to_arrow_schema(frame.schema, **({"timezone": "UTC"} if asked else {}))


def _column(name: str) -> "Column":
    """A column of the table, whatever its name holds."""
    from pyspark.sql import functions as f

    return f.col(f"`{name.replace('`', '``')}`")


__all__ = ["Running", "read"]
