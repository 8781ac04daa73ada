# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious scores of schemes that are chosen privately: lists, dictionaries, fractions.
Shares no code with the source.

A table is a list of tuples, a value for each attribute; an attribute is one of the classes below,
each of which knows what is declared of it and nothing else. A side of a box is what it holds of one
attribute: the pair of cells of the finest level between which it lies, or a level and the name of a
node.
"""

from collections import Counter
from fractions import Fraction
from itertools import product
from math import ceil, floor

UNIT = 65536


class Grid:
    """Numbers from low to high in cells of each of the widths."""

    def __init__(self, low, high, widths):
        self.low, self.high, self.widths = low, high, widths
        self.levels = range(len(widths) + 1)
        self.cells = ceil(Fraction(high - low, widths[0]))

    def node(self, value, level):
        if level == len(self.widths):
            return "all"
        if value is None:
            return "missing"
        width = self.widths[level]
        return min(
            max(floor(Fraction(value - self.low, width)), 0),
            ceil(Fraction(self.high - self.low, width)) - 1,
        )

    def information(self, level):
        return (
            Fraction(0)
            if level == len(self.widths)
            else max(Fraction(0), 1 - Fraction(self.widths[level], self.high - self.low))
        )

    def all(self):
        return (0, self.cells)

    def holds(self, side, value):
        return side[0] <= self.node(value, 0) < side[1]

    def _position(self, edge):
        return (
            UNIT
            if edge == self.cells
            else floor(UNIT * Fraction(edge * self.widths[0], self.high - self.low))
        )

    def kept(self, side):
        return UNIT - self._position(side[1]) + self._position(side[0])

    def cuts(self, side, _values):
        return [[(side[0], edge), (edge, side[1])] for edge in range(side[0] + 1, side[1])]


class Bands:
    """Numbers in bands of each of the widths, from zero on, without an end; at level 1 at the
    least.
    """

    def __init__(self, widths):
        self.widths, self.levels = widths, range(1, len(widths) + 2)

    def node(self, value, level):
        return (
            "all"
            if level == self.levels[-1]
            else "missing"
            if value is None
            else value // self.widths[level - 1]
        )

    def information(self, level):
        return 1 - Fraction(level - 1, len(self.widths))


class Nodes:
    """Values under nodes; ``paths`` leads from every value to the root, ``declared`` says whether
    these are all the values that there are.
    """

    def __init__(self, paths, declared=True):
        self.paths, self.declared = paths, declared
        self.levels = range(len(next(iter(paths.values()))))

    def node(self, value, level):
        return (
            "*" if level == self.levels[-1] else None if value is None else self.paths[value][level]
        )

    def information(self, level):
        if not self.declared or len(self.paths) == 1:
            return 1 - Fraction(level, self.levels[-1])
        below = Counter(path[level] for path in self.paths.values())
        return 1 - Fraction(sum(below.values()) - len(below), len(below) * (len(self.paths) - 1))

    def all(self):
        return (self.levels[-1], "*")

    def holds(self, side, value):
        return self.node(value, side[0]) == side[1]

    def kept(self, side):
        if side[1] is None:
            return UNIT
        if not self.declared or len(self.paths) == 1:
            return floor(UNIT * self.information(side[0]))
        leaves = sum(path[side[0]] == side[1] for path in self.paths.values())
        return floor(UNIT * (1 - Fraction(leaves - 1, len(self.paths) - 1)))

    def cuts(self, side, values):
        """One cut at most: into the nodes of the next level at which what lies below has more than
        one; those of ``values`` are named.
        """
        if side[1] is None:
            return []
        for level in reversed(range(side[0])):
            below = {path[level] for path in self.paths.values() if path[side[0]] == side[1]}
            if len(below) > 1 or not self.declared or len(self.paths) == 1:
                names = {self.node(value, level) for value in values if self.holds(side, value)}
                return [[(level, name) for name in names]]
        return []


def excess(cells, crowd):
    """The sum of max(0, rows - crowd) over all cells."""
    return sum(max(0, rows - crowd) for rows in Counter(cells).values())


def qualities(table, attributes, fixed, crowd):
    """Levels -> quality, for every combination; ``fixed``: the levels that are given, None for the
    others.
    """
    found = {}
    for levels in product(
        *(
            a.levels if level is None else [level]
            for a, level in zip(attributes, fixed, strict=True)
        )
    ):
        kept = sum(
            floor(UNIT * a.information(level)) for a, level in zip(attributes, levels, strict=True)
        )
        weight = max(1, kept**3 // (UNIT * len(attributes)) ** 2)
        found[levels] = weight * excess(
            [
                tuple(a.node(v, level) for a, v, level in zip(attributes, row, levels, strict=True))
                for row in table
            ],
            crowd,
        )
    return found


def scores(table, attributes, fixed, box, crowd):
    """The usefulness of a box as it is, and after each of its cuts; ``box``: a side for each
    attribute that is not fixed, None for the others.
    """
    inside = [
        row
        for row in table
        if all(s is None or a.holds(s, v) for a, s, v in zip(attributes, box, row, strict=True))
    ]
    constant = sum(
        floor(UNIT * a.information(level))
        for a, level in zip(attributes, fixed, strict=True)
        if level is not None
    )

    def useful(sides):
        there = [
            row
            for row in inside
            if all(
                s is None or a.holds(s, v) for a, s, v in zip(attributes, sides, row, strict=True)
            )
        ]
        cells = [
            tuple(
                a.node(v, level)
                for a, v, level in zip(attributes, row, fixed, strict=True)
                if level is not None
            )
            for row in there
        ]
        return (
            constant
            + sum(a.kept(s) for a, s in zip(attributes, sides, strict=True) if s is not None)
        ) * excess(cells, crowd)

    found = [useful(box)]
    for i, (a, side) in enumerate(zip(attributes, box, strict=True)):
        if side is not None:
            for parts in a.cuts(side, [row[i] for row in inside]):
                found += [sum(useful([*box[:i], part, *box[i + 1 :]]) for part in parts)]
    return found
