# SPDX-License-Identifier: Apache-2.0
"""Random output tables of groups whose tuples are alike, and the cuts for them, slow and obvious:
fractions, lists, every turn of the circle. Shares no code with the kernels.

A tuple is the list of its classes, one per attribute, which are in the order of the values.
"""

from collections.abc import Sequence
from fractions import Fraction

Tuples = Sequence[tuple[int, ...]]


def tables(tuples: Tuples, changes: int, window: int) -> list[list[list[Fraction]]] | None:
    """``[a][i][j]``: with which probability the i-th tuple publishes value j on attribute a; None
    where not all tuples can change.
    """
    m, d = len(tuples), len(tuples[0])
    times = [[[t[a] for t in tuples].count(own[a]) for a in range(d)] for own in tuples]
    turned: list[int] = []
    while any(
        sum(n for a, n in enumerate(mine) if a not in turned) > (d - changes) * m for mine in times
    ):
        left = [a for a in range(d) if a not in turned]
        if not left:
            return None
        best = min(left, key=lambda a: max(mine[a] for mine in times))
        if m - 2 * max(mine[best] for mine in times) + 1 < window:
            return None
        turned.append(best)
    return [_table([t[a] for t in tuples], turned=a in turned) for a in range(d)]


def _table(values: Sequence[int], *, turned: bool) -> list[list[Fraction]]:
    """Of one attribute; of a turned one, the mean of equal tuples over all turns."""
    m, k = len(values), max(values) + 1
    if not turned:
        return [[Fraction(values.count(j), m) for j in range(k)]] * m
    most = max(values.count(j) for j in range(k))
    turns = range(most, m - most + 1)
    circle = sorted(range(m), key=lambda t: values[t])
    shown = {t: [values[circle[(at + turn) % m]] for turn in turns] for at, t in enumerate(circle)}
    found = []
    for own in values:
        alike = [j for t in range(m) if values[t] == own for j in shown[t]]
        found.append([Fraction(alike.count(j), len(alike)) for j in range(k)])
    return found


def groups(
    rows: Tuples, places: Sequence[Sequence[float]], k: int, changes: int, window: int
) -> list[list[int]]:
    """The groups, as lists of row numbers: of the five cuts nearest to the middle of each attribute
    those after which all can change, and of these the one after which both sides cost least.
    """

    def cost(node: list[int]) -> float:
        return sum(
            abs(place[rows[i][a]] - place[rows[h][a]]) / len(node)
            for a, place in enumerate(places)
            for i in node
            for h in node
        )

    def can(node: list[int]) -> bool:
        return tables([rows[i] for i in node], changes, window) is not None

    def split(node: list[int]) -> list[list[int]]:
        best = None
        for a in range(len(places)):
            ordered = sorted(node, key=lambda i: rows[i][a])
            middle = len(node) // 2
            at = [
                i
                for i in range(k, len(node) - k + 1)
                if rows[ordered[i - 1]][a] != rows[ordered[i]][a]
            ]
            at.sort(key=lambda i: (abs(i - middle), -i))
            for i in at[:5]:
                sides = ordered[:i], ordered[i:]
                if all(map(can, sides)) and (
                    best is None or sum(map(cost, sides)) < best[0] - 1e-9
                ):
                    best = sum(map(cost, sides)), sides
        return [node] if best is None else split(best[1][0]) + split(best[1][1])

    return split(list(range(len(rows))))
