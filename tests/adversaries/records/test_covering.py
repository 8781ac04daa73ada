# SPDX-License-Identifier: Apache-2.0
"""What boxes cover persons, in pairs and on grids, against a slow twin."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.adversaries.records import covering, rows
from phalanx.adversaries.records.covering import Boxes, grid_work, in_pairs, on_grids

ENDS = st.tuples(st.integers(0, 5), st.integers(-1, 6))
"""What an interval begins and ends with: some are empty, and some go beyond all persons."""


@st.composite
def covered(draw):
    """Persons by up to 3 attributes, with or without values; up to 4 boxes and what they hold."""
    d = draw(st.integers(1, 3))
    person = st.lists(st.integers(0, 3), min_size=d, max_size=d)
    codes = np.array(draw(st.lists(person, min_size=1, max_size=6)), dtype=np.int64)
    box = st.lists(ENDS, min_size=d, max_size=d)
    ends = np.array(draw(st.lists(box, min_size=1, max_size=4)), dtype=np.int64)
    holds = [draw(st.dictionaries(st.integers(0, 2), st.integers(1, 3), min_size=1)) for _ in ends]
    cells = [(g, v, c) for g, held in enumerate(holds) for v, c in sorted(held.items())]
    group, value, count = np.array(cells, dtype=np.int64).T
    sizes = np.array([sum(held.values()) for held in holds])
    values = np.array([draw(st.integers(0, 3)) for _ in codes])
    boxes = Boxes(ends[:, :, 0], ends[:, :, 1], sizes, group, value, count)
    sets = np.array(list(product([False, True], repeat=d)))
    return codes, values if draw(st.booleans()) else None, boxes, sets


def by_hand(codes, values, boxes, sets):
    """One person, one box and one attribute after the other."""

    def weight(person, value, held):
        inside = [
            all(
                not holds or low <= code <= high
                for code, low, high, holds in zip(person, *ends, held, strict=True)
            )
            for ends in zip(boxes.low, boxes.high, strict=True)
        ]
        if value is None:
            return sum(n for n, within in zip(boxes.sizes, inside, strict=True) if within)
        cells = zip(boxes.group, boxes.value, boxes.count, strict=True)
        return sum(n for g, v, n in cells if inside[g] and v == value)

    every = [True] * codes.shape[1]
    count = [weight(person, None, every) for person in codes]
    identity, attribute = [0.0] * len(sets), [0.0] * len(sets)
    for i in np.flatnonzero(count):
        for s, held in enumerate(sets):
            matching = weight(codes[i], None, held)
            identity[s] += 1 / matching
            if values is not None:
                attribute[s] += weight(codes[i], values[i], held) / matching
    return count, identity, attribute


@settings(deadline=None)
@given(covered(), st.sampled_from([1, 16, covering._AT_ONCE]), st.sampled_from([1, 2]))
def test_both_ways_give_what_the_slow_twin_gives(case, at_once, bits):
    """Whatever boxes cover, some nothing and some beyond all persons; however many are gone through
    at once, and however many attributes have a bit in one word.
    """
    count, identity, attribute = by_hand(*case)
    with pytest.MonkeyPatch.context() as patch:
        for most in ("_AT_ONCE", "_PAIRS"):
            patch.setattr(covering, most, at_once)
        ways = [on_grids(*case)]
        ways += [in_pairs(*case, every=every) for every in (True, False)]
        for module in (rows, covering):
            patch.setattr(module, "BITS", bits)
        ways.append(in_pairs(*case, every=False))
    for way in ways:
        assert way.count.tolist() == count
        np.testing.assert_allclose(way.identity, identity, rtol=1e-12)
        np.testing.assert_allclose(way.attribute, attribute, rtol=1e-12)


def test_the_work_on_a_grid(monkeypatch):
    """Fields and corners of every set; endless where one grid would be too large, also for the
    values that stand on it.
    """
    codes, values = np.array([[0, 8], [3, 1]]), np.array([0, 1])
    ends, one = np.array([[0, 0]]), np.array([0])
    boxes = Boxes(ends, ends + 3, np.array([2]), one, one, np.array([2]))
    sets = np.array([[True, False], [True, True]])
    fields = [5, 5 * 10]
    assert grid_work(codes, None, boxes, sets) == sum(fields) + (2 + 4) * 3
    assert grid_work(codes, values, boxes, sets) == sum(fields) * (1 + 3) + (2 + 4) * 3
    monkeypatch.setattr(covering, "_GRID", 149)
    assert grid_work(codes, None, boxes, sets) < 1 << 62
    assert grid_work(codes, values, boxes, sets) == 1 << 62


@pytest.mark.parametrize("n", [0, 1])
def test_nobody_and_one(n):
    """Who is not there is not covered; sums of none are 0."""
    codes = np.full((n, 1), 7)
    ends, one = np.array([[0]]), np.array([0])
    boxes = Boxes(ends, ends, np.array([1]), one, one, one + 1)
    sets = np.array([[False], [True]])
    for way in (
        on_grids(codes, codes[:, 0], boxes, sets),
        in_pairs(codes, codes[:, 0], boxes, sets, every=True),
    ):
        assert way.count.tolist() == [0] * n
        assert way.identity.tolist() == way.attribute.tolist() == [0, 0]


@pytest.mark.parametrize("groups", [100, 3000])
def test_few_pairs_are_held_at_once(monkeypatch, groups):
    """However many persons and groups there are, what is gone through for every set of attributes
    is half a megabyte: of 4,000 persons in 1,757 groups with 40 attributes larger parts took four
    times as long.
    """
    held, within = [], covering._within
    monkeypatch.setattr(covering, "_within", lambda *about: held.append(within(*about)) or held[-1])
    codes = np.random.default_rng(1).integers(0, 9, (500, 12))
    low = np.random.default_rng(2).integers(0, 9, (groups, 12))
    one = np.ones(groups, dtype=np.int64)
    boxes = Boxes(low, low + 2, one, np.arange(groups), 0 * one, one)
    in_pairs(codes, np.zeros(500, dtype=np.int64), boxes, np.tri(12, dtype=bool), every=False)

    assert sum(part.shape[1] for part in held) == 500
    assert max(part.nbytes for part in held) <= 1 << 19
