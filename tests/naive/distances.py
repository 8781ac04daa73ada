# SPDX-License-Identifier: Apache-2.0
"""Distances between values, slow and obvious: paths up a tree, places on a line. Shares no code
with the makers.
"""

from collections.abc import Sequence
from fractions import Fraction


def on_a_line(places: Sequence[float], i: int, j: int) -> float:
    """|v_i - v_j| over the width of the whole domain."""
    return abs(places[i] - places[j]) / ((max(places) - min(places)) or 1)


def up_the_tree(paths: Sequence[Sequence[str]], i: int, j: int) -> Fraction:
    """How far up, from the leaves, the paths of two leaves meet, over the height of the tree; a
    path goes from the leaf to the root.
    """
    height = len(paths[i]) - 1
    return Fraction(
        next(level for level in range(height + 1) if paths[i][level:] == paths[j][level:]), height
    )
