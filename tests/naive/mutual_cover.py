# SPDX-License-Identifier: Apache-2.0
"""How rows of mutual cover are drawn, by following every way it can go; whole fractions, no arrays.
Shares no code with the makers or the checks.

A table is a list of rows of whole units, ``tables[a][i][j]``: what a tuple whose value on attribute
a is the i-th gives to the j-th, out of ``whole``. A tuple is the list of its classes, one per
attribute.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product

Outcome = tuple[int, ...]
Tables = Sequence[Sequence[Sequence[int]]]


def coupled(
    tables: Tables, whole: int, own: Outcome, order: Sequence[int], changes: int = 1
) -> Counter[Outcome]:
    """With which probability each row comes out where one point of a line says which attributes
    change: from any place of the order on, the line takes attributes until ``changes`` are certain,
    and the others are drawn each by itself.
    """
    found: Counter[Outcome] = Counter()
    for first, point in product(range(len(order)), range(whole)):
        ways: list[list[tuple[int, Fraction]]] = [[] for _ in own]
        begin = 0
        for a in [*order[first:], *order[:first]]:
            leave = whole - tables[a][own[a]][own[a]]
            if begin >= changes * whole:
                ways[a] = [
                    (j, Fraction(units, whole))
                    for j, units in enumerate(tables[a][own[a]])
                    if units
                ]
                continue
            if any(begin <= point + z * whole < begin + leave for z in range(len(own) + 1)):
                ways[a] = [
                    (j, Fraction(units, leave))
                    for j, units in enumerate(tables[a][own[a]])
                    if j != own[a] and units
                ]
            else:
                ways[a] = [(own[a], Fraction(1))]
            begin += leave
        for way in product(*ways):
            probability = Fraction(1, whole * len(order))
            for _, how_likely in way:
                probability *= how_likely
            found[tuple(j for j, _ in way)] += probability
    return found


def marginal(outcomes: Mapping[Outcome, Fraction], a: int, k: int) -> list[Fraction]:
    """With which probability each value of one attribute comes out."""
    return [
        sum((p for outcome, p in outcomes.items() if outcome[a] == j), Fraction(0))
        for j in range(k)
    ]


def largest_share(marginals: Sequence[Sequence[Fraction]]) -> Fraction:
    """The largest share of one tuple in a value that a group publishes, from each tuple's
    probabilities; values that nobody publishes are none.
    """
    columns = list(zip(*marginals, strict=True))
    return max(max(column) / sum(column) for column in columns if sum(column))


def fewest_unchanged(original: Sequence[Outcome], published: Sequence[Outcome]) -> int:
    """How many rows are as they were, over all ways in which the rows may belong to the tuples, at
    least.
    """
    return min(
        sum(row == own for row, own in zip(way, original, strict=True))
        for way in permutations(published)
    )
