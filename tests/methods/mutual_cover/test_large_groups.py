# SPDX-License-Identifier: Apache-2.0
"""Groups too large for all attributes at once: one attribute is solved anew, and what is promised
holds all the same.
"""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from phalanx import MutualCover, Schema, Series
from phalanx.data.distances import Line
from phalanx.methods.mutual_cover import program
from phalanx.methods.mutual_cover.output_tables import denominator_for, units_of
from phalanx.methods.mutual_cover.problems import Layout
from phalanx.methods.mutual_cover.program import change_by_turns, solve
from support.thoroughly import examples


def laid_out(rng, rows, values):
    """One group of so many rows over three attributes on a line."""
    columns = [rng.integers(0, size, rows).astype(np.int32) for size in values]
    return Layout.of(
        columns,
        [Line(np.arange(size, dtype=float)) for size in values],
        np.zeros(rows, np.int64),
    )


def alone(layout, delta):
    """Every attribute's tables by themselves, in the places of the cells."""
    tables = solve(layout.problems, delta)
    return np.concatenate([tables.table(p).ravel() for p in range(layout.attributes)])


@pytest.mark.parametrize("changes", [1, 2])
def test_what_is_missing_is_put_on_one_attribute(monkeypatch, changes):
    """Tables keep delta-probability and change every tuple often enough, in whole numbers; only one
    attribute moved, at no less than the least cost.
    """
    rng = np.random.default_rng(changes)
    found = 0
    for _ in range(examples(60)):
        layout = laid_out(rng, int(rng.integers(12, 60)), [4, 7, 11])
        delta = Fraction(1, int(rng.integers(2, 6)))
        denominator = denominator_for(60, delta)
        monkeypatch.setattr(program, "LARGE", 10**9)
        _, best, _, hopeless = units_of(layout, delta, changes, denominator)
        monkeypatch.setattr(program, "LARGE", 0)
        units, cost, _, bad = units_of(layout, delta, changes, denominator)
        if bad[0]:
            continue
        found += 1
        assert not hopeless[0]
        assert cost[0] >= best[0] - 1e-6
        problems = layout.problems
        own = layout.stays(
            units, layout.own, np.arange(3) + np.zeros((len(layout.own), 1), np.int64)
        )
        assert (own.sum(axis=1) <= (3 - changes) * denominator).all()
        for p in range(3):
            counts = problems.counts[problems.starts[p] : problems.starts[p + 1]]
            table = units[problems.cells[p] : problems.cells[p + 1]].reshape(len(counts), -1)
            assert (table.sum(axis=1) == denominator).all()
            mass = counts @ table
            assert (table * delta.denominator <= delta.numerator * mass).all()
    assert found >= examples(60) // 4  # one attribute is often enough


def test_a_class_that_never_published_its_own_value_does_not_begin_to():
    """A rare value that the cheapest tables give away is capped, too: once others publish it, it
    could come back to its own rows.
    """
    rng = np.random.default_rng(5)
    for _ in range(examples(40)):
        layout = laid_out(rng, 80, [2, 3, 40])
        table = alone(layout, Fraction(1, 6))
        if np.isfinite(change_by_turns(layout, Fraction(1, 6), 1, 0, table)):
            stays = layout.stays(table, layout.own, np.arange(3) + np.zeros((80, 1), np.int64)).sum(
                axis=1
            )
            assert stays.max() <= 2 + 1e-9


def test_one_attribute_that_cannot_gives_way_to_another():
    """Where an attribute has one value it cannot change, and where none can there are no tables."""
    same = np.zeros(20, np.int32)
    line = [Line(np.arange(4, dtype=float)), Line(np.arange(4, dtype=float))]
    layout = Layout.of(
        [same, np.repeat(np.arange(2), 10).astype(np.int32)], line, np.zeros(20, np.int64)
    )
    table = alone(layout, Fraction(1, 5))
    assert change_by_turns(layout, Fraction(1, 5), 1, 0, table) == pytest.approx(20 / 3)
    assert table.tolist() == pytest.approx([1, 0, 1, 1, 0])
    alike = Layout.of([same, same], line, np.zeros(20, np.int64))
    assert change_by_turns(alike, Fraction(1, 5), 1, 0, alone(alike, Fraction(1, 5))) == np.inf


def test_a_table_in_one_large_group_is_published(tmp_path):
    """A thousand rows in groups of at least four hundred: every check of the written files
    holds.
    """
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, 1000),
            "hours": rng.integers(1, 60, 1000),
            "salary": rng.integers(0, 60, 1000),
        }
    )
    schema = Schema(quasi=["age", "hours"], sensitive="salary")
    published = Series(
        "large",
        schema=schema,
        method=MutualCover(delta="1/6", k=400),
        to=tmp_path / "out",
        report=False,
    ).publish(frame)
    assert all(verdict.holds for verdict in published.checks)
    drawn = pl.concat(
        [published.table.select("age", "hours").unique(), frame.select("age", "hours").unique()]
    )
    assert drawn.height > drawn.n_unique()  # values are those of the table
