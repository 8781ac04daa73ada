# SPDX-License-Identifier: Apache-2.0
"""A table that is published on Spark, before any of it is read; what reads it is loaded then."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phalanx.data.schema import Schema

if TYPE_CHECKING:
    from phalanx.engines.spark.running import Running


@dataclass(frozen=True)
class OnSpark:
    """A table that is published on Spark; nothing of it is read before it is asked for."""

    source: Any
    """The path of Parquet, a file or a folder of files, or a data frame of Spark."""
    schema: Schema
    most: int
    """So many rows of a cell fit the memory of a worker."""
    master: str | None

    @contextmanager
    def running(self, place: Path) -> "Iterator[Running]":
        """The table where Spark runs.

        Parameters
        ----------
        place : Path
            A private folder on a disk that has room for the rows; nothing is left there.

        Yields
        ------
        Running
            The table.

        Raises
        ------
        ExtraError, PlanError
            As ``session`` does.
        SourceError, SchemaError
            Where the table is not what the schema says.
        """
        from phalanx.engines.spark.calling import refusing_spark, stage
        from phalanx.engines.spark.running import Running, read
        from phalanx.engines.spark.session import session
        from phalanx.engines.spark.tasks import check_frame, check_path

        if is_frame(self.source):
            check_frame(self.source, self.schema)
            place_of = session(place, frame=self.source)
        else:
            check_path(self.source, self.schema)
            place_of = session(place, self.master)
        with place_of as spark, refusing_spark():
            with stage(spark, "count"):
                frame = self.source if is_frame(self.source) else read(spark, self.source)
                running = Running.of(spark, frame, self.schema, self.most)
            yield running


def is_frame(source: Any) -> bool:
    """Whether a source is a data frame of Spark; nothing is imported for it."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "mapInArrow")
