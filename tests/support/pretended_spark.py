# SPDX-License-Identifier: Apache-2.0
"""Spark as far as tables that are counted, or whose persons are followed, need it, in this process and without Java: a
frame is partitions of record batches, read in any order, each as often as it is asked for.
"""

import json
import pickle
import sys
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import polars as pl
import pyarrow as pa

from phalanx.engines.spark import (
    calling,
    checking,
    counting,
    following,
    persons,
    running,
    tasks,
)
from phalanx.engines.spark.faults import raise_told
from phalanx.engines.spark.running import Running
from phalanx.engines.spark.source import OnSpark


class Frame:
    """A table of Spark, as one reads it anew whenever it is asked for."""

    def __init__(self, pretended, partitions):
        self.pretended, self._partitions = pretended, partitions

    def partitions(self):
        return self._partitions()

    def mapInArrow(self, work, _):
        def mapped():
            parts = self.partitions()
            made = {}
            for place in self.pretended.order(len(parts)):
                self.pretended.place = place
                made[place] = list(work(iter(parts[place])))
            return [made[place] for place in range(len(parts))]

        return Frame(self.pretended, mapped)

    def unionAll(self, other):
        return Frame(self.pretended, lambda: self.partitions() + other.partitions())

    def repartition(self, count, *_):
        def together():
            parts = self.partitions()
            return [[batch for part in parts for batch in part]] if count == 1 else parts

        return Frame(self.pretended, together)

    def groupBy(self, name):
        return Grouped(self, name)

    def persist(self, _):
        return self

    def unpersist(self):
        pass

    def rows(self):
        parts = self.partitions()
        return [
            row
            for place in self.pretended.order(len(parts))
            for batch in parts[place]
            for row in batch.to_pylist()
        ]

    collect = rows


class Grouped:
    """The rows of a frame by one of its columns."""

    def __init__(self, frame, name):
        self.frame, self.name = frame, name

    def applyInArrow(self, work, _):
        def applied():
            groups = {}
            for row in self.frame.rows():
                groups.setdefault(row[self.name], []).append(row)
            return [list(work(_batches(rows))) for rows in groups.values()]

        return Frame(self.frame.pretended, applied)


def _batches(rows):
    return iter(pa.Table.from_pylist(rows).to_batches(max_chunksize=3))


class Pretended:
    """Stands for a session, and for what it runs."""

    def __init__(self, monkeypatch, most=2_500, *, backwards=False):
        self.most, self.backwards, self.place = most, backwards, 0
        self.sparkContext = SimpleNamespace(
            getLocalProperty=lambda _: None, setLocalProperty=lambda *_: None
        )
        stubs = SimpleNamespace(StorageLevel=SimpleNamespace(DISK_ONLY=None))
        monkeypatch.setitem(sys.modules, "pyspark", stubs)
        pickles = SimpleNamespace(CPickleSerializer=lambda: pickle)
        monkeypatch.setitem(sys.modules, "pyspark.serializers", pickles)
        monkeypatch.setattr(checking, "session", lambda *_: nullcontext(self))
        monkeypatch.setattr("phalanx.engines.choosing.require_extra", lambda *_: None)
        monkeypatch.setattr(tasks, "place_of_worker", lambda: self.place)
        for module in (calling, counting, following, running):
            monkeypatch.setattr(module, "silenced", lambda: None)
        for module in (checking, counting, following):
            monkeypatch.setattr(module, "by_group", lambda work, _: work)
            monkeypatch.setattr(module, "stage", lambda *_: nullcontext())
        monkeypatch.setattr(Running, "read", lambda at, columns: at.frame(columns))
        monkeypatch.setattr(Running, "counted", _counted)
        monkeypatch.setattr(Running, "each_cell", _each_cell)
        monkeypatch.setattr(Running, "each", _each)
        monkeypatch.setattr(OnSpark, "running", self.running())

    def order(self, count):
        return range(count - 1, -1, -1) if self.backwards else range(count)

    def range(self, first, end, *_):
        def turns():
            return [[pa.RecordBatch.from_pydict({"id": [turn]})] for turn in range(first, end)]

        return Frame(self, turns)

    def createDataFrame(self, table):
        return Frame(self, lambda: [[batch] for batch in table.to_batches()])

    def running(self):
        @contextmanager
        def run(table, _):
            frame = pl.read_parquet(table.source)
            third = -(-frame.height // 3)

            def read(columns):
                pieces = [frame[n * third : (n + 1) * third].select(columns) for n in range(3)]
                plain = [piece.to_arrow(compat_level=pl.CompatLevel.oldest()) for piece in pieces]
                return Frame(self, lambda: [t.to_batches(max_chunksize=700) for t in plain])

            yield Running(self, read, table.schema, frame.height, self.most)

        return run


def _sent(work):
    """As it comes to a worker."""
    return pickle.loads(pickle.dumps(work))  # noqa: S301 - our own


def _each(_, work, numbers, *__):
    work = _sent(work)
    return [work(number) for number in numbers]


def _counted(_, tagged):
    counts = {}
    for row in tagged.rows():
        if row["fault"]:
            raise_told(row["fault"])
        counts[row["part"]] = counts.get(row["part"], 0) + row["rows"]
    return counts


def _each_cell(_, tagged, numbers, solving):
    cells, solving = {}, _sent(solving)
    for row in tagged.rows():
        if row["part"] != persons.REPEATED:
            at = numbers[row["part"]]
            cells.setdefault(at, []).append({**row, "at": at})
    solved = {}
    for at, rows in cells.items():
        (record,) = [r for b in tasks.solve(_batches(rows), solving) for r in b.to_pylist()]
        if record["fault"]:
            raise_told(record["fault"])
        solved[at] = json.loads(record["figures"])
    return [solved[at] for at in range(len(solving.counts))]
