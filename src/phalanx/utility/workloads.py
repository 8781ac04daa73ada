# SPDX-License-Identifier: Apache-2.0
"""Workloads: counting queries drawn at random, and how far answers are from the truth."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.arrays import Bools, Ints, places_among
from phalanx.estimators.conditions import All, Comparison, Condition, Query
from phalanx.randomness import Stream

_SHARE: Final = 400
"""A query is of at least one row in so many, as the relative error of less says little."""
_TRIES: Final = 20


class Rows:
    """The rows of a table, to count those that a workload's conditions are true of: each condition
    is asked once of each different value.
    """

    def __init__(self, table: pl.DataFrame) -> None:
        self.height = table.height
        self.values = {c.name: c.drop_nulls().unique().sort() for c in table}
        """The different values of each column, in their order."""
        self.codes = {c.name: self._coded(c) for c in table}
        """Which of them each row has, shape (n,), one more than there are for none."""
        self._fulfilled: dict[Comparison, Bools] = {}
        self._listed: dict[str, list[Any]] = {}

    def _coded(self, column: pl.Series) -> Ints:
        values = self.values[column.name]
        if column.dtype == pl.String:
            return places_among(column, values)
        if column.dtype.is_numeric() or column.dtype.is_temporal():  # a join takes far more memory
            at = values.to_physical().search_sorted(column.to_physical().fill_null(0))
            return at.cast(pl.Int64).set(column.is_null(), len(values)).to_numpy()
        lookup = pl.DataFrame({"value": values, "code": np.arange(len(values))})
        rows = pl.DataFrame({"value": column})
        codes = rows.join(lookup, on="value", how="left", maintain_order="left")["code"]
        return codes.fill_null(len(values)).to_numpy()

    def listed(self, name: str) -> list[Any]:
        """The different values of a column as Python's, which all tests of them share."""
        if name not in self._listed:
            self._listed[name] = self.values[name].to_list()
        return self._listed[name]

    def true_of(self, where: Condition) -> Bools:
        """The rows that a condition is true of, shape (n,); a missing value fulfils nothing."""
        true = np.ones(self.height, dtype=np.bool_)
        for test in where.parts if isinstance(where, All) else (where,):
            if isinstance(test, Comparison):
                true &= self._of_value(test)[self.codes[test.attribute]]
        return true

    def _of_value(self, test: Comparison) -> Bools:
        """Which of an attribute's values fulfil a test, and at the end that none does."""
        if test not in self._fulfilled:
            values = self.values[test.attribute]
            fulfil = np.zeros(len(values) + 1, dtype=np.bool_)
            if test.kind == "in":
                fulfil[:-1] = values.is_in(
                    pl.Series(test.values, dtype=values.dtype).implode()
                ).to_numpy()
            elif test.kind == "below":
                fulfil[:-1] = (values >= test.values[0]).to_numpy()
            else:
                fulfil[:-1] = (values <= test.values[0]).to_numpy()
            self._fulfilled[test] = fulfil
        return self._fulfilled[test]


def workload(
    rows: Rows, quasi: Sequence[str], sensitive: str | None, times: int, stream: Stream
) -> list[tuple[Query, int]]:
    """Queries on one to three quasi-identifiers and the sensitive value, each with the number of
    rows that it is true of.
    """
    queries: list[tuple[Query, int]] = []
    for _ in range(times * _TRIES):
        if len(queries) == times:
            break
        order = stream.permutation(len(quasi))[: 1 + int(stream.integers(min(3, len(quasi)), 1)[0])]
        names = [quasi[i] for i in order] + ([sensitive] if sensitive is not None else [])
        tests = [
            test for name in names if len(rows.values[name]) for test in _tests(rows, name, stream)
        ]
        where = All(tuple(tests))
        truth = int(rows.true_of(where).sum())
        if truth * _SHARE >= rows.height and truth > 0:
            queries.append((Query("count", None, where), truth))
    return queries


def _tests(rows: Rows, name: str, stream: Stream) -> list[Comparison]:
    """A range of a number or day between two rows' values, or up to half of all values."""
    values = rows.values[name]
    if (values.dtype.is_numeric() or values.dtype.is_temporal()) and len(values) > 8:
        present = rows.codes[name][rows.codes[name] < len(values)]
        two = present[stream.integers(len(present), 2)]
        low, high = values.gather(np.sort(two)).to_list()
        return [Comparison(name, "below", (low,), negated=True), Comparison(name, "upto", (high,))]
    chosen = stream.permutation(len(values))[
        : 1 + int(stream.integers(max(1, len(values) // 2), 1)[0])
    ]
    every = rows.listed(name)
    return [Comparison(name, "in", tuple(every[at] for at in chosen.tolist()))]


def errors(queries: Sequence[tuple[Query, int]], answer: Callable[[Query], float]) -> Any:
    """The relative error of each answer, shape (queries,)."""
    return np.array([abs(answer(query) - truth) / truth for query, truth in queries])
