# SPDX-License-Identifier: Apache-2.0
"""Exchanges of rows between groups, slow and obvious: every group is counted anew for every move.
Shares no code with the kernels.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from naive.alike import tables

Groups = list[list[int]]
Apart = Sequence[Sequence[Fraction]]


def cost(apart: Apart, groups: Groups) -> Fraction:
    """What all groups cost: between two of a group's rows, in the mean, times its size."""
    return sum(
        (Fraction(apart[i][j]) / len(group) for group in groups for i in group for j in group),
        Fraction(0),
    )


def moves(groups: Groups, i: int, least: int, largest: int) -> Iterator[Groups]:
    """The groups after each move of row i to another group, and after each exchange for one of its
    rows.
    """
    (own,) = (g for g, group in enumerate(groups) if i in group)
    if len(groups[own]) > largest:
        return
    for h, other in enumerate(groups):
        if h == own or len(other) > largest:
            continue
        for j in (None, *other):
            if j is None and len(groups[own]) <= least:
                continue
            moved = [list(group) for group in groups]
            moved[own].remove(i)
            moved[h].append(i)
            if j is not None:
                moved[h].remove(j)
                moved[own].append(j)
            yield moved


def can_change(
    rows: Sequence[tuple[int, ...]], groups: Groups, changes: int, window: int
) -> list[bool]:
    """Whether all rows of each group can."""
    return [tables([rows[i] for i in group], changes, window) is not None for group in groups]
