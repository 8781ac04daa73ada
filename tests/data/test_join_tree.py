# SPDX-License-Identifier: Apache-2.0
"""A join tree is found exactly where there is one, among all trees that can be drawn."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.data.join_tree import ROOT, join_tree


def hang_together(places: set[int], edges: Sequence[tuple[int, int]]) -> bool:
    """Whether one can walk between any two of the places along edges and without leaving them."""
    reached = {min(places)}
    for _ in places:
        reached |= {
            b for edge in edges for a, b in (edge, edge[::-1]) if a in reached and b in places
        }
    return reached == places


def runs_through(columns: Sequence[set[str]], edges: Sequence[tuple[int, int]]) -> bool:
    """The running intersection property, as it is written: for every attribute, the columns that
    hold it hang together.
    """
    return all(
        hang_together({i for i, column in enumerate(columns) if attribute in column}, edges)
        for attribute in set().union(*columns)
    )


def possible(columns: Sequence[set[str]]) -> bool:
    """Whether any of all trees over the columns has the property."""
    c = len(columns)
    every = [
        edges
        for edges in itertools.combinations(itertools.combinations(range(c), 2), c - 1)
        if hang_together(set(range(c)), edges)
    ]
    return any(runs_through(columns, edges) for edges in every)


def wrong(columns: Sequence[set[str]], parents: Sequence[int]) -> list[str]:
    """What is wrong with the trees that are said."""
    edges = [(i, parent) for i, parent in enumerate(parents) if parent != ROOT]
    found = []
    for i in range(len(columns)):
        above, steps = i, 0
        while parents[above] != ROOT and steps <= len(columns):
            above, steps = parents[above], steps + 1
        tree = {j for j in range(len(columns)) if connected(i, j, edges)}
        if steps > len(columns):
            found.append(f"{i} is above itself")
        elif above != max(tree):
            found.append(f"{above} is a root and not the last of its tree")
    found += [
        f"{i} and {parent} share nothing" for i, parent in edges if not columns[i] & columns[parent]
    ]
    if not runs_through(columns, edges):
        found.append("an attribute's columns do not hang together")
    return found


def connected(i: int, j: int, edges: Sequence[tuple[int, int]]) -> bool:
    """Whether a path leads from one column to the other."""
    reached = {i}
    for _ in edges:
        reached |= {b for edge in edges for a, b in (edge, edge[::-1]) if a in reached}
    return j in reached


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sets(st.sampled_from("abcdef"), min_size=1, max_size=4), min_size=1, max_size=5))
def test_found_exactly_where_there_is_one(columns):
    """Against all trees over up to five columns: trees with the running intersection property,
    roots last; or None where there are none.
    """
    parents = join_tree(columns)

    assert (parents is not None) == possible(columns)
    assert parents is None or wrong(columns, parents) == []


def test_both_answers_come_up():
    """Of all ways to lay three columns over three attributes, some have a tree and some have
    none.
    """
    some = [{"a"}, {"b"}, {"c"}, {"a", "b"}, {"b", "c"}, {"a", "c"}, {"a", "b", "c"}]
    answers = [join_tree(three) is None for three in itertools.product(some, repeat=3)]

    assert answers == [not possible(three) for three in itertools.product(some, repeat=3)]
    assert 0 < sum(answers) < len(answers)


@pytest.mark.parametrize("parents", [(-1, -1, -1), (-1, 0, 1), (-1, 0, -1), (1, 2, 0), (-1, -1, 1)])
def test_wrong_trees_are_seen(parents):
    """Columns apart that share an attribute, roots that are not last, edges between strangers and
    circles are found.
    """
    assert wrong([{"a", "b"}, {"b", "c"}, {"d"}], parents)


def test_columns_that_share_nothing_stand_alone():
    """A partition has no parents; no columns have none either."""
    assert join_tree([{"a"}, {"b", "c"}, {"d"}]) == (ROOT, ROOT, ROOT)
    assert join_tree([]) == ()
