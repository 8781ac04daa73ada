# SPDX-License-Identifier: Apache-2.0
"""The random output tables of a whole group, slow and obvious: the paper's program with a row for
each tuple, by scipy. Shares no code with the kernels.

A tuple is the list of its classes, one per attribute; ``distances[a]`` is a square list of
distances between the classes of attribute a.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog


def least_cost(
    tuples: Sequence[Sequence[int]],
    distances: Sequence[Sequence[Sequence[float]]],
    delta: Fraction,
    most: float | None,
    *,
    shared: bool,
) -> float | None:
    """The least that tables of all attributes cost, over all tuples; None where there are none.

    Minimise sum dis(v_i, v_j) p_ij, so that rows sum to 1 and p_ij <= delta * sum_h p_hj (section
    4), and so that the own values of each tuple have at most ``most`` together, over all
    attributes. ``shared``: tuples with the same value on an attribute have the same row there.
    """
    columns = [
        (t, a, j)
        for t in range(len(tuples))
        for a in range(len(distances))
        for j in range(len(distances[a]))
    ]
    place = {cell: at for at, cell in enumerate(columns)}
    least = [distances[a][tuples[t][a]][j] for t, a, j in columns]
    ones, below, caps, equal = [], [], [], []
    for t in range(len(tuples)):
        for a in range(len(distances)):
            row = np.zeros(len(columns))
            row[[place[t, a, j] for j in range(len(distances[a]))]] = 1
            ones.append(row)
            twin = next(h for h in range(t + 1) if tuples[h][a] == tuples[t][a])
            for j in range(len(distances[a])):
                if shared and twin < t:
                    row = np.zeros(len(columns))
                    row[place[t, a, j]], row[place[twin, a, j]] = 1, -1
                    equal.append(row)
                row = np.zeros(len(columns))
                row[[place[h, a, j] for h in range(len(tuples))]] = -float(delta)
                row[place[t, a, j]] += 1
                below.append(row)
                caps.append(0.0)
        if most is not None:
            row = np.zeros(len(columns))
            row[[place[t, a, tuples[t][a]] for a in range(len(distances))]] = 1
            below.append(row)
            caps.append(most)
    sums = [1.0] * len(ones) + [0.0] * len(equal)
    found = linprog(
        np.array(least),
        A_ub=np.array(below),
        b_ub=np.array(caps),
        A_eq=np.array(ones + equal),
        b_eq=np.array(sums),
    )
    assert found.status in (0, 2), found.message
    return float(found.fun) if found.status == 0 else None


def stays(tuples: Sequence[Sequence[int]], units: Sequence[Sequence[Sequence[int]]]) -> list[int]:
    """What the own values of each tuple have together, in whole units of tables
    ``units[a][i][j]``.
    """
    return [sum(units[a][i][i] for a, i in enumerate(own)) for own in tuples]
