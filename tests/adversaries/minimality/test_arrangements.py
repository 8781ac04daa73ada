# SPDX-License-Identifier: Apache-2.0
"""Arrangements of values over persons: how many steps they take is known before they are made."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.adversaries.minimality import arrangements
from phalanx.adversaries.minimality.arrangements import Line, Pool, arrange
from phalanx.adversaries.minimality.requirements import Requirement

SIZES = (2, 1, 2, 2, 1)
"""Persons of five atoms, of which the first three are a group, and the others another."""
POOLS = [Pool((0, 1, 2), {0: 2, 1: 2, 2: 1}), Pool((3, 4), {0: 1, 2: 2})]
CUTS = [
    [Line((4, 4), ({}, {}), ((0, 3), (1, 2, 4)))],
    [Line((3, 5), ({}, {}), ((0, 1), (2, 3, 4)))],
]
ASKED = Requirement(least=2, l=2)


def taken(monkeypatch, most):
    """What is arranged in at most so many steps, and the steps that were made."""
    steps = []
    made = arrangements._arrows

    def noted(*given):
        for arrow in made(*given):
            steps.append(arrow)
            yield arrow

    monkeypatch.setattr(arrangements, "_arrows", noted)
    counted = arrange(SIZES, POOLS, CUTS, ASKED, most)
    monkeypatch.undo()
    return counted, len(steps)


def test_so_many_steps_and_no_more(monkeypatch):
    """As many steps as it takes are enough, one fewer are not; and of those of a value that are too
    many none is made.
    """
    counted, steps = taken(monkeypatch, 10**6)

    assert counted.total > 0
    assert taken(monkeypatch, steps) == (counted, steps)
    refused, before = taken(monkeypatch, steps - 1)
    assert refused is None and before < steps - 1
    assert taken(monkeypatch, 5) == (None, 0)


@pytest.mark.parametrize("l", [2, 3])
def test_arrangements_are_those_of_all_permutations(l):
    """Of all ways to give the values to persons, so many break both cuts as are counted, and so
    many persons of each atom have each value then.
    """
    atoms = [atom for atom, size in enumerate(SIZES) for _ in range(size)]
    total, held = 0, {}
    for first in set(itertools.permutations([0, 0, 1, 1, 2])):
        for second in set(itertools.permutations([0, 2, 2])):
            own = list(zip(atoms, first + second, strict=True))
            if all(breaks(line, own, l) for (line,) in CUTS):
                total += 1
                for pair in own:
                    held[pair] = held.get(pair, 0) + 1
    counted = arrange(SIZES, POOLS, CUTS, Requirement(least=2, l=l), 10**6)

    assert counted.total == total > 0
    assert {pair: mean * total for pair, mean in counted.expected.items()} == held


def breaks(line, own, l):
    """Whether a value has more than 1/l of a side of a cut."""
    sides = [[v for atom, v in own if atom in atoms] for atoms in line.atoms]
    return any(l * side.count(v) > len(side) for side in sides for v in side)


def test_a_cut_that_is_broken_stays_broken():
    """A value that breaks a cut again takes nothing back."""
    judged = arrangements._ByShares(CUTS, ASKED)
    once = judged.after(judged.begin, 0, (2, 0, 0, 1, 0))

    assert once != judged.begin
    assert judged.after(once, 1, (2, 0, 0, 1, 0)) == once


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5), st.data())
def test_ways_are_counted_as_they_are_listed(room, data):
    """There are as many ways to deal rows as the list of them is long, and each differs."""
    count = data.draw(st.integers(0, sum(room)))
    listed = list(arrangements._dealt(tuple(room), count))

    assert arrangements._ways_to_deal(tuple(room), count) == len(listed) == len(set(listed))


@pytest.mark.parametrize("few", [0, 10**6])
def test_ways_that_are_kept_are_those_that_are_not(few, monkeypatch):
    """Whether lists of ways are kept decides nothing."""
    usual = arrange(SIZES, POOLS, CUTS, ASKED, 10**6)
    monkeypatch.setattr(arrangements, "_FEW", few)
    assert arrange(SIZES, POOLS, CUTS, ASKED, 10**6) == usual
