# SPDX-License-Identifier: Apache-2.0
"""Rows drawn from random output tables, and whose they are: every outcome, every order of changes,
every assignment, in fractions.
"""

from fractions import Fraction
from itertools import product


def outcomes(own, tables, denominator, order, changes=1):
    """Classes shown -> probability, of a tuple with classes ``own``; ``tables[a][i][j]`` in units;
    attributes drawn together along a line, from any one of them on, point by point, and those for
    which ``changes`` are certain already each by itself.
    """
    leave = [denominator - tables[a][i][i] for a, i in enumerate(own)]
    found = {}
    for first in range(len(order)):
        for point in range(denominator):
            at, choices = 0, [[] for _ in own]
            for a in order[first:] + order[:first]:
                cells = list(enumerate(tables[a][own[a]]))
                if at >= changes * denominator:
                    choices[a] = [(j, Fraction(n, denominator)) for j, n in cells]
                    continue
                if any(at <= point + z * denominator < at + leave[a] for z in range(len(own) + 1)):
                    choices[a] = [(j, Fraction(n, leave[a])) for j, n in cells if j != own[a]]
                else:
                    choices[a] = [(own[a], 1)]
                at += leave[a]
            for choice in product(*choices):
                probability = Fraction(1, denominator * len(order))
                for _, share in choice:
                    probability *= share
                shown = tuple(j for j, _ in choice)
                found[shown] = found.get(shown, 0) + probability
    return {shown: p for shown, p in found.items() if p}


def repaired_outcomes(own, tables, denominator, weights, changes):
    """The same where every attribute is drawn by itself, and a row that came out as it was is
    changed afterwards.
    """
    found = {}

    def add(shown, probability):
        if probability:
            found[shown] = found.get(shown, 0) + probability

    def change(shown, times, probability):
        open_to = [
            a for a in range(len(own)) if len(tables[a]) > 1 and shown[a] == own[a] and weights[a]
        ]
        if not times or not open_to:
            add(shown, probability)
            return
        for a in open_to:
            others = [j for j in range(len(tables[a])) if j != own[a]]
            for j in others:
                share = Fraction(weights[a], sum(weights[b] for b in open_to)) / len(others)
                change((*shown[:a], j, *shown[a + 1 :]), times - 1, probability * share)

    for shown in product(*(range(len(tables[a])) for a in range(len(own)))):
        probability = Fraction(1)
        for a, (i, j) in enumerate(zip(own, shown, strict=True)):
            probability *= Fraction(tables[a][i][j], denominator)
        if shown == tuple(own):
            change(shown, changes, probability)
        else:
            add(shown, probability)
    return found


def posterior(likelihood):
    """``[t][r]``: how probable it is that row r is of person t, by all assignments;
    ``likelihood[t][r]``: that t publishes r.
    """
    m = len(likelihood)
    found = [[Fraction(0)] * m for _ in range(m)]

    def assign(rows, weight):
        t = len(rows)
        if t == m:
            for person, row in enumerate(rows):
                found[person][row] += weight
            return
        for r in set(range(m)) - set(rows):
            if likelihood[t][r]:
                assign([*rows, r], weight * likelihood[t][r])

    assign([], Fraction(1))
    return [[weight / sum(row) for weight in row] for row in found]
