# SPDX-License-Identifier: Apache-2.0
"""A million rows drawn from the tables of one group come out as often as the tables say, together
and by attribute; what is off by a little is noticed.

Chi-square on fixed seeds. Each test raises a false alarm for at most one of a million other seeds:
its threshold is SURE over the number of comparisons that it makes (Bonferroni).
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import chdtrc

from naive import mutual_cover as naive
from phalanx.data.distances import Line
from phalanx.methods.mutual_cover import output_tables
from phalanx.methods.mutual_cover.kernels import drawing as kernel
from phalanx.methods.mutual_cover.method import draw
from phalanx.methods.mutual_cover.output_tables import Maker, Tables
from phalanx.randomness import Randomness

SURE = 1e-6
ROWS = 1_000_000
GROUP = [(0, 0, 0), (1, 2, 0), (2, 1, 1), (3, 3, 1), (4, 0, 2), (6, 1, 2), (7, 4, 3), (9, 2, 3)]
"""Eight tuples of one group, each of which is drawn 125,000 times."""


def tables_of(monkeypatch: pytest.MonkeyPatch, denominator: int | None = None) -> Tables:
    """The tables of the group, with as many rows of each tuple as make a million."""
    if denominator is not None:
        monkeypatch.setattr(output_tables, "denominator_for", lambda _tuples, _delta: denominator)
    columns = [np.array(column, dtype=np.int32) for column in zip(*GROUP, strict=True)]
    sizes = [int(column.max()) + 1 for column in columns]
    lines = [Line(np.arange(float(size))) for size in sizes]
    maker = Maker(
        columns=columns,
        places=[line.line for line in lines],
        distances=lines,
        delta=Fraction(3, 10),
        changes=1,
    )
    tables = maker.tables(np.zeros(len(GROUP), np.int64))
    times = ROWS // len(GROUP)
    return replace(tables, group=np.zeros(ROWS, np.int64), own=np.repeat(tables.own, times, axis=0))


def units(tables: Tables) -> list[list[list[int]]]:
    """The one group's tables, by attribute."""
    return [tables.problems.part(tables.units, int(t)).tolist() for t in tables.of[0]]


def improbable(seen: Counter[object], law: dict[object, Fraction], comparisons: int) -> bool:
    """Whether so many are further from their law than happens with SURE, over all comparisons;
    outcomes that are expected fewer than 5 times are one.
    """
    n = sum(seen.values())
    if {outcome for outcome, times in seen.items() if times} - {
        outcome for outcome, p in law.items() if p
    }:
        return True
    often = [outcome for outcome, p in law.items() if n * p >= 5]
    pairs = [(seen[outcome], float(n * law[outcome])) for outcome in often]
    rest = float(n - sum(expected for _, expected in pairs))
    if rest > 1e-6:
        pairs.append((n - sum(observed for observed, _ in pairs), rest))
    if len(pairs) < 2:
        return False
    statistic = sum((observed - expected) ** 2 / expected for observed, expected in pairs)
    return bool(chdtrc(len(pairs) - 1, statistic) < SURE / comparisons)


def off_by_attribute(tables: Tables, drawn: np.ndarray) -> int:
    """How many pairs of a tuple and an attribute come out improbably, by the tables."""
    times, found = ROWS // len(GROUP), 0
    for t in range(len(GROUP)):
        rows = drawn[t * times : (t + 1) * times]
        for a, table in enumerate(units(tables)):
            law = {
                j: Fraction(n, tables.denominator)
                for j, n in enumerate(table[tables.own[t * times, a]])
            }
            found += improbable(
                Counter(dict(enumerate(np.bincount(rows[:, a]).tolist()))), law, 3 * len(GROUP)
            )
    return found


def off_together(tables: Tables, drawn: np.ndarray, order: list[int]) -> int:
    """How many tuples come out improbably, as whole rows, by following every way that drawing can
    go.
    """
    times, found = ROWS // len(GROUP), 0
    for t in range(len(GROUP)):
        own = tuple(tables.own[t * times].tolist())
        law = naive.coupled(units(tables), tables.denominator, own, order)
        rows, seen = np.unique(
            drawn[t * times : (t + 1) * times] @ [100, 10, 1], return_counts=True
        )
        counted = Counter(
            {
                (row // 100, row // 10 % 10, row % 10): n
                for row, n in zip(rows.tolist(), seen.tolist(), strict=True)
            }
        )
        found += improbable(counted, law, len(GROUP))
    return found


def test_attributes_come_out_as_the_tables_say(monkeypatch):
    """Drawn together with the finest units, each attribute of each tuple has its table's
    probabilities, and everybody changes somewhere.
    """
    tables = tables_of(monkeypatch)
    drawn = draw(tables, np.array([2, 0, 1]), Randomness.seeded(11))
    assert off_by_attribute(tables, drawn) == 0
    assert (drawn != tables.own).any(axis=1).all()
    assert 1 < (drawn != tables.own).sum(axis=1).mean() < 3


def test_rows_come_out_as_systematic_sampling_says(monkeypatch):
    """Drawn together, whole rows have the probabilities of the coupling, which is the definition
    followed point by point.
    """
    tables = tables_of(monkeypatch, denominator=2520)
    drawn = draw(tables, np.array([2, 0, 1]), Randomness.seeded(12))
    assert off_together(tables, drawn, [2, 0, 1]) == 0
    assert off_by_attribute(tables, drawn) == 0


def test_tables_that_are_off_by_a_little_are_noticed(monkeypatch):
    """Power: rows drawn from tables in which one cell in a hundredth less are rejected by attribute
    and as whole rows.
    """
    tables = tables_of(monkeypatch, denominator=2520)
    moved = tables.units.copy()
    row = moved[: len(units(tables)[0])]
    most, least = int(row.argmax()), int(row.argmin())
    row[most] -= tables.denominator // 100
    row[least] += tables.denominator // 100
    drawn = draw(replace(tables, units=moved), np.array([2, 0, 1]), Randomness.seeded(14))
    assert off_by_attribute(tables, drawn) > 0
    assert off_together(tables, drawn, [2, 0, 1]) > 0


def test_points_that_are_not_uniform_are_noticed(monkeypatch):
    """Power: points that reach only 95 % of the line are rejected."""
    tables = tables_of(monkeypatch)
    real = kernel.coupled

    def short(own, law, chances, drawn):
        point = (chances.point * 0.95).astype(np.int64)
        return real(own, law, chances._replace(point=point), drawn)

    monkeypatch.setattr(kernel, "coupled", short)
    assert off_by_attribute(tables, draw(tables, np.array([2, 0, 1]), Randomness.seeded(15))) > 0


def test_values_that_are_not_uniform_are_noticed(monkeypatch):
    """Power: values drawn from words that are too short, so that remainders are uneven, are
    rejected.
    """
    real = kernel.coupled

    def draws_few(own, law, chances, drawn):
        return real(own, law, chances._replace(draws=chances.draws % 2520), drawn)

    monkeypatch.setattr(kernel, "coupled", draws_few)
    tables = tables_of(monkeypatch, denominator=2520)
    drawn = draw(tables, np.array([2, 0, 1]), Randomness.seeded(17))
    assert off_by_attribute(tables, drawn) > 0


def test_independent_attributes_are_noticed(monkeypatch):
    """Power: rows whose attributes are drawn apart have the tables' probabilities, and are rejected
    as whole rows where two attributes are left to chance.
    """
    tables = tables_of(monkeypatch, denominator=2520)
    numbers = (
        Randomness.seeded(18).stream("test").integers(tables.denominator, ROWS * 3).reshape(ROWS, 3)
    )
    drawn = np.empty_like(tables.own)
    for a, table in enumerate(units(tables)):
        ends = np.cumsum(table, axis=1)[tables.own[:, a]]
        drawn[:, a] = (ends <= numbers[:, a, None]).sum(axis=1)
    assert off_by_attribute(tables, drawn) == 0
    by_chance = sum(
        sum(0 < units(tables)[a][i][i] < 2520 for a, i in enumerate(own)) > 1
        for own in tables.own[:: ROWS // len(GROUP)].tolist()
    )
    assert off_together(tables, drawn, [2, 0, 1]) == by_chance > 0
