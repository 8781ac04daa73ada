# SPDX-License-Identifier: Apache-2.0
"""Workloads: counting queries drawn at random, and how far answers are from the truth."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.estimators.conditions import All, Comparison, Condition, Query
from phalanx.randomness import Stream

_SHARE: Final = 400
"""A query is of at least one row in so many, as the relative error of less says little."""
_TRIES: Final = 20


def workload(
    table: pl.DataFrame, quasi: Sequence[str], sensitive: str | None, times: int, stream: Stream
) -> list[tuple[Query, int]]:
    """Queries on one to three quasi-identifiers and the sensitive value, each with the number of
    rows of the table that it is true of.
    """
    queries: list[tuple[Query, int]] = []
    values = {
        name: table[name].drop_nulls().unique().sort()
        for name in (*quasi, *([sensitive] if sensitive else []))
    }
    for _ in range(times * _TRIES):
        if len(queries) == times:
            break
        order = stream.permutation(len(quasi))[: 1 + int(stream.integers(min(3, len(quasi)), 1)[0])]
        names = [quasi[i] for i in order] + ([sensitive] if sensitive is not None else [])
        tests = [
            test
            for name in names
            if len(values[name])
            for test in _tests(values[name], table, stream)
        ]
        truth = table.select(_all_true(tests)).to_series().sum()
        if truth * _SHARE >= table.height and truth > 0:
            queries.append((Query("count", None, All(tuple(tests))), int(truth)))
    return queries


def _tests(values: pl.Series, table: pl.DataFrame, stream: Stream) -> list[Comparison]:
    """A range of a number or day between two rows' values, or up to half of all values."""
    name = values.name
    if (values.dtype.is_numeric() or values.dtype.is_temporal()) and len(values) > 8:
        present = table[name].drop_nulls()
        low, high = sorted(present[int(i)] for i in stream.integers(len(present), 2))
        return [Comparison(name, "below", (low,), negated=True), Comparison(name, "upto", (high,))]
    chosen = stream.permutation(len(values))[
        : 1 + int(stream.integers(max(1, len(values) // 2), 1)[0])
    ]
    return [Comparison(name, "in", tuple(values[int(i)] for i in chosen))]


def _all_true(tests: Sequence[Comparison]) -> pl.Expr:
    of: Mapping[str, Callable[[Comparison], pl.Expr]] = {
        "in": lambda t: pl.col(t.attribute).is_in(list(t.values)),
        "below": lambda t: pl.col(t.attribute) >= t.values[0],
        "upto": lambda t: pl.col(t.attribute) <= t.values[0],
    }
    return pl.all_horizontal([of[t.kind](t).fill_null(value=False) for t in tests])


def errors(queries: Sequence[tuple[Query, int]], answer: Callable[[Query], float]) -> Any:
    """The relative error of each answer, shape (queries,)."""
    return np.array([abs(answer(query) - truth) / truth for query, truth in queries])


def counted(table: pl.DataFrame, where: Condition) -> int:
    """How many rows of a table a workload's condition is true of."""
    tests = [
        part
        for part in (where.parts if isinstance(where, All) else (where,))
        if isinstance(part, Comparison)
    ]
    return int(table.select(_all_true(tests)).to_series().sum())
