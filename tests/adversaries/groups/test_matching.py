# SPDX-License-Identifier: Apache-2.0
"""Candidates and their ranks against enumeration, and areas under curves against counting pairs."""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.adversaries.groups import matching
from phalanx.adversaries.groups.matching import Column, area, matched, rank
from phalanx.randomness import Randomness


def enumerated(buckets, values):
    """Every candidate with its number of matching buckets and its degree, in fractions, by listing
    them all.
    """
    numbers, degrees = Counter(), Counter()
    for b in set(buckets):
        rows = [v for v, own in zip(values, buckets, strict=True) if own == b]
        counts = [Counter(column) for column in zip(*rows, strict=True)]
        for candidate in product(*counts):
            numbers[candidate] += 1
            degrees[candidate] += prod(
                (Fraction(c[v], len(rows)) for c, v in zip(counts, candidate, strict=True)),
                start=Fraction(1),
            )
    return numbers, degrees


def counted(true, fake):
    """The area by comparing every pair."""
    pairs = [(a > b) + Fraction(a == b, 2) for a in true for b in fake]
    return sum(pairs, Fraction(0)) / len(pairs)


tables = st.integers(2, 4).flatmap(
    lambda c: st.lists(
        st.tuples(st.integers(0, 3), st.tuples(*[st.integers(0, 3)] * c)), min_size=2, max_size=14
    )
)


def numbered(rows):
    buckets = np.unique([b for b, _ in rows], return_inverse=True)[1]
    values = np.stack(
        [
            np.unique(column, return_inverse=True)[1]
            for column in zip(*[v for _, v in rows], strict=True)
        ],
        axis=1,
    )
    return buckets.astype(np.int64), values.astype(np.int64)


@settings(max_examples=150, deadline=None)
@given(tables, st.sampled_from([0, matching.FEW_PAIRS]))
def test_numbers_degrees_and_fakes_are_those_of_enumeration(rows, few):
    """On any small table: every original's number and degree, how many fakes there are, and both
    areas (drawn ones, of other than two columns where even few are, within their wide margin).
    """
    buckets, values = numbered(rows)
    columns, sizes, (originals, persons) = (
        [Column.of_rows(buckets, v) for v in values.T],
        np.bincount(buckets),
        np.unique(values, axis=0, return_counts=True),
    )
    numbers, degrees = enumerated(buckets.tolist(), [tuple(v) for v in values.tolist()])
    number, degree = matched(columns, sizes, originals)
    assert number.tolist() == [numbers[tuple(o)] for o in originals.tolist()]
    assert np.exp(degree) == pytest.approx([float(degrees[tuple(o)]) for o in originals.tolist()])
    with mock.patch.multiple(matching, DRAWN=20_000, FEW_PAIRS=few):
        found = rank(columns, sizes, originals, persons, Randomness.seeded(1).stream("draw"))
    fakes = [c for c in numbers if list(c) not in originals.tolist()]
    assert found.drawn == (len(columns) > 2 and few == 0)
    assert found.fakes == (
        pytest.approx(len(fakes), abs=0.03 * len(numbers) + 0.1) if found.drawn else len(fakes)
    )
    if fakes:
        margin = 0.02 if found.drawn else 1e-12
        own = [tuple(o) for o in values.tolist()]
        assert found.by_number.area == pytest.approx(
            float(counted([numbers[o] for o in own], [numbers[f] for f in fakes])), abs=margin
        )
        assert found.by_degree.area == pytest.approx(
            float(counted([degrees[o] for o in own], [degrees[f] for f in fakes])), abs=margin
        )


def test_drawing_agrees_with_listing(monkeypatch):
    """On a table of thousands of candidates the drawn figures are those of the list, within a
    hundredth; a draw that forgets the weights is not.
    """
    rng = np.random.default_rng(4)
    buckets, values = (
        np.repeat(np.arange(20), 30),
        np.stack([rng.zipf(1.5, 600) % 50, rng.integers(0, 20, 600)], axis=1),
    )
    values = np.stack([np.unique(v, return_inverse=True)[1] for v in values.T], axis=1).astype(
        np.int64
    )
    columns, sizes, (originals, persons) = (
        [Column.of_rows(buckets, v) for v in values.T],
        np.bincount(buckets),
        np.unique(values, axis=0, return_counts=True),
    )
    listed = rank(columns, sizes, originals, persons, Randomness.seeded(1).stream("draw"))
    monkeypatch.setattr(matching, "MOST_PAIRS", 1)
    drawn = rank(columns, sizes, originals, persons, Randomness.seeded(1).stream("draw"))
    assert drawn.drawn
    assert not listed.drawn
    assert drawn.fakes == pytest.approx(listed.fakes, rel=0.01)
    assert drawn.by_number.area == pytest.approx(listed.by_number.area, abs=0.01)
    assert drawn.by_degree.area == pytest.approx(listed.by_degree.area, abs=0.01)
    forgetful = area(
        drawn.numbers_of_originals.astype(float), drawn.numbers_of_fakes.astype(float), persons
    )
    assert abs(forgetful.area - listed.by_number.area) > 0.02


def test_the_interval_covers_the_true_area():
    """Of 400 samples from two normal distributions one apart, whose true area is 0.760, about 95 %
    of the intervals hold it (at least 91 %).
    """
    rng = np.random.default_rng(8)
    true = 0.7602499389065233
    held = [
        a.low <= true <= a.high
        for a in (area(rng.normal(1, 1, 60), rng.normal(0, 1, 90)) for _ in range(400))
    ]
    assert 0.91 <= np.mean(held) <= 0.99


def test_scores_that_say_nothing_and_scores_that_say_all():
    """Equal scores have area 0.5, separated ones 1, reversed ones 0; without fakes nothing can be
    said.
    """
    ones = np.ones(5)
    assert area(ones, ones).area == 0.5
    assert area(ones, 0 * ones).area == 1
    assert area(0 * ones, ones).area == 0
    nothing = area(ones, ones[:0])
    assert (nothing.area, nothing.low, nothing.high) == (0.5, 0, 1)


def test_so_many_columns_that_no_float_holds_the_candidates():
    """Some 70 values in each of 200 columns leave more open than there are floats, and degrees that no
    float tells from 0; figures are finite, and those who are frequent still stand before fakes.
    """
    rng = np.random.default_rng(2)
    frequent = rng.random(300) < 0.5
    values = np.where(frequent[:, None], 0, np.tile(np.arange(1, 301)[:, None], 200))
    columns = [Column.of_rows(np.arange(300) % 2, v) for v in values.T]
    originals, persons = np.unique(values, axis=0, return_counts=True)
    with (
        np.errstate(over="raise", divide="raise", invalid="raise"),
        mock.patch.object(matching, "DRAWN", 2_000),
    ):
        found = rank(
            columns, np.array([150, 150]), originals, persons, Randomness.seeded(1).stream("draw")
        )

    assert np.isfinite([found.fakes, *found.weights_of_fakes.tolist()]).all()
    assert persons[0] / 300 < found.by_degree.area < persons[0] / 300 + 0.1
