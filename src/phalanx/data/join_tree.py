# SPDX-License-Identifier: Apache-2.0
"""Columns that share attributes, as a tree: where there is one, what each column knows of its
parent is all that it knows of the others.
"""

from collections.abc import Collection, Sequence

ROOT = -1
"""The parent of a column that has none."""


def join_tree(columns: Sequence[Collection[str]]) -> tuple[int, ...] | None:
    """For every column the place of its parent, ROOT for one that has none; None where no such
    trees exist.

    In these trees the columns that hold an attribute hang together, whatever the attribute (the
    running intersection property): the columns, taken as hyperedges over the attributes, are
    acyclic. A column and its parent share an attribute; columns that share none, even by way of
    others, stand in trees of their own, and the last column of each is its root.

    A spanning forest of greatest weight, the weight of an edge being the number of attributes that
    its columns share, is such a forest if there is any (Bernstein, Goodman, SIAM J. Comput. 1981;
    Maier, "The Theory of Relational Databases", 1983, chapter 13).

    >>> join_tree([{"age", "zip"}, {"sex"}, {"zip", "illness"}])
    (2, -1, -1)
    >>> join_tree([{"a", "b"}, {"b", "c"}, {"a", "c"}]) is None
    True
    """
    column_sets = [set(column) for column in columns]
    parents = [ROOT] * len(column_sets)
    shared = [0] * len(column_sets)
    """How many attributes a column shares with its parent; until it is in a tree, with the nearest
    column that is.
    """
    waiting = set(range(len(column_sets)))
    while waiting:
        joining = max(waiting, key=lambda place: (shared[place], place))
        waiting.remove(joining)
        for place in waiting:
            if (common := len(column_sets[place] & column_sets[joining])) > shared[place]:
                parents[place], shared[place] = joining, common
    holders = sum(len(column) for column in column_sets) - len(set().union(*column_sets))
    return tuple(parents) if sum(shared) == holders else None
