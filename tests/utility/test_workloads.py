# SPDX-License-Identifier: Apache-2.0
"""Counting queries drawn at random, and the truth of each."""

from datetime import date

import polars as pl
import pytest

from phalanx.randomness import Randomness
from phalanx.utility.workloads import Rows, workload

TABLE = pl.DataFrame(
    {
        "age": [20 + i * 7 % 50 if i % 9 else None for i in range(200)],
        "day": [date(2020, 1, 1 + i % 28) for i in range(200)],
        "job": [["clerk", "judge", None, "sailor"][i * 5 % 7 % 4] for i in range(200)],
        "ill": [["a", "b", "c"][i * i % 11 % 3] for i in range(200)],
    }
)
IS = {
    "in": lambda value, test: value in test.values,
    "below": lambda value, test: value >= test.values[0],
    "upto": lambda value, test: value <= test.values[0],
}


def true_of(row, where):
    """Row by row, as a reader would count; a missing value fulfils nothing."""
    return all(
        row[t.attribute] is not None and IS[t.kind](row[t.attribute], t) for t in where.parts
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_truth_is_that_of_counting_row_by_row(seed):
    """Of numbers, days and texts, some of them missing; each is of one row in 400 at least."""
    rows = Rows(TABLE)
    asked = workload(rows, ["age", "day", "job"], "ill", 20, Randomness.seeded(seed).stream("w"))
    assert len(asked) == 20 and len({len(query.where.parts) for query, _ in asked}) > 1
    for query, truth in asked:
        slow = [true_of(row, query.where) for row in TABLE.iter_rows(named=True)]
        assert rows.true_of(query.where).tolist() == slow
        assert truth == sum(slow) >= 1


@pytest.mark.parametrize(("different", "kinds"), [(8, {"in"}), (9, {"below", "upto"})])
def test_many_numbers_are_asked_for_by_ranges(different, kinds):
    """Few of them one by one, as texts are."""
    rows = Rows(pl.DataFrame({"n": [i % different for i in range(90)]}))
    asked = workload(rows, ["n"], None, 20, Randomness.seeded(2).stream("w"))
    assert {test.kind for query, _ in asked for test in query.where.parts} == kinds


def test_a_query_is_of_few_attributes_and_of_half_of_their_values():
    """One to three that others know, and the sensitive one; each by one value or up to half."""
    table = pl.DataFrame({name: [i * j % 6 for i in range(120)] for j, name in enumerate("abcdef")})
    asked = workload(Rows(table), list("bcdef"), "a", 60, Randomness.seeded(3).stream("w"))
    tests = [query.where.parts for query, _ in asked]
    assert {len(parts) - 1 for parts in tests} == {1, 2, 3}
    assert all(parts[-1].attribute == "a" for parts in tests)
    assert {len(test.values) for parts in tests for test in parts} == {1, 2, 3}
    for test in (test for parts in tests for test in parts):
        assert len(test.values) <= max(1, table[test.attribute].n_unique() // 2)


def test_a_sample_may_lack_values_that_are_asked_about():
    """The rest is counted."""
    asked = workload(Rows(TABLE), ["job"], "ill", 10, Randomness.seeded(1).stream("w"))
    few = TABLE.filter(pl.col("ill") == "a")
    for query, _ in asked:
        slow = sum(true_of(row, query.where) for row in few.iter_rows(named=True))
        assert Rows(few).true_of(query.where).sum() == slow
