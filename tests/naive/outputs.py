# SPDX-License-Identifier: Apache-2.0
"""Random output tables, slow and obvious: fractions, lists, every basis tried. Shares no code with
the kernels.

A problem is a list of counts, one per class, and a square list of distances; a table is a square
list of probabilities or of whole units.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, permutations
from math import ceil

Table = list[list[Fraction]]


def covers(counts: Sequence[int], delta: Fraction) -> set[tuple[Fraction, ...]]:
    """The corners of {w : sum c_i w_i = 1, 0 <= w_i <= delta}: classes taken in some order, each as
    far as delta goes, until the mass is 1.
    """
    found = set()
    for order in permutations(range(len(counts))):
        weights, left = [Fraction(0)] * len(counts), Fraction(1)
        for i in order:
            weights[i] = min(delta, left / counts[i])
            left -= weights[i] * counts[i]
        if left == 0:
            found.add(tuple(weights))
    return found


def least_cost(
    counts: Sequence[int], distances: Sequence[Sequence[Fraction]], delta: Fraction
) -> Fraction:
    """The least cost of any table, from all tables that are corners: at most k covers, whose
    weights follow from every class being covered once.
    """
    corners = [(j, w) for j in range(len(counts)) for w in covers(counts, delta)]
    costs = []
    for size in range(1, len(counts) + 1):
        for chosen in combinations(corners, size):
            weights = _only_solution([[w[i] for _, w in chosen] for i in range(len(counts))])
            if weights is not None and min(weights) >= 0:
                costs.append(
                    sum(
                        (
                            x * counts[i] * w[i] * distances[i][j]
                            for x, (j, w) in zip(weights, chosen, strict=True)
                            for i in range(len(counts))
                        ),
                        Fraction(0),
                    )
                )
    return min(costs)


def _only_solution(matrix: list[list[Fraction]]) -> list[Fraction] | None:
    """The only x with matrix x = 1, or None where there is none or more than one."""
    rows = [[*row, Fraction(1)] for row in matrix]
    unknowns = len(matrix[0])
    for column in range(unknowns):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column] != 0), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for r in range(len(rows)):
            if r != column:
                rows[r] = [
                    a - rows[r][column] * b for a, b in zip(rows[r], rows[column], strict=True)
                ]
    if any(row[-1] != 0 for row in rows[unknowns:]):
        return None
    return [row[-1] for row in rows[:unknowns]]


def cost(
    counts: Sequence[int],
    distances: Sequence[Sequence[float]],
    units: Sequence[Sequence[int]],
    denominator: int,
) -> Fraction:
    """What a table in whole units costs, exactly."""
    k = range(len(counts))
    return (
        sum(
            (Fraction(distances[i][j]) * counts[i] * units[i][j] for i in k for j in k), Fraction(0)
        )
        / denominator
    )


def keeps(
    counts: Sequence[int], units: Sequence[Sequence[int]], delta: Fraction, denominator: int
) -> bool:
    """Definitions 1 and 3 of the paper with no tolerance: rows of probabilities that sum to 1, and
    no tuple feeds more than delta of a column.
    """
    if any(sum(row) != denominator or min(row) < 0 for row in units):
        return False
    masses = [
        sum(c * row[j] for c, row in zip(counts, units, strict=True)) for j in range(len(counts))
    ]
    return all(row[j] <= delta * masses[j] for row in units for j in range(len(counts)))


def fewest_feeders(counts: Sequence[int], units: Sequence[Sequence[int]]) -> int:
    """How many tuples may have published a value, for the value for which they are fewest
    (Corollary 3.2).
    """
    feeders = [
        sum(c for c, row in zip(counts, units, strict=True) if row[j] > 0)
        for j in range(len(counts))
    ]
    return min(f for f in feeders if f > 0)


def promised_feeders(delta: Fraction) -> int:
    """ceil(1/delta)."""
    return ceil(1 / delta)
