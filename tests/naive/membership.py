# SPDX-License-Identifier: Apache-2.0
"""Grouping against membership disclosure, one row at a time; and the former one, whose cuts parted
the values.
"""

from fractions import Fraction


def runs(cells, q_of_cell, order, l):
    """Rows dealt out to sets, q by q, and sets of the same values side by side put together: a list
    of runs, each {value: rows}.
    """
    found = []
    for q in sorted(set(q_of_cell)):
        cards = [
            row
            for x in range(len(q_of_cell))
            if q_of_cell[x] == q
            for row in order
            if cells[row] == x
        ]
        sets = [[] for _ in range(len(cards) // l)]
        for i, row in enumerate(cards):
            sets[i % len(sets)].append(row)
        for one in sets:
            values = [cells[row] for row in one]
            if not found or list(found[-1]) != values:
                found.append({x: [] for x in values})
            for row in one:
                found[-1][cells[row]].append(row)
    return found


def parting_cut(cells, middle, l):
    """Which of the rows, in the order of a cut, go left: as many of the values that lie further
    left as keep l on both sides.
    """
    rows = {x: [i for i, y in enumerate(cells) if y == x] for x in set(cells)}

    def bounds(taken):
        return {
            x: (max(0, len(rows[x]) - (len(cells) - taken) // l), min(len(rows[x]), taken // l))
            for x in rows
        }

    def possible(taken):
        each = bounds(taken).values()
        return all(low <= high for low, high in each) and sum(
            low for low, _ in each
        ) <= taken <= sum(high for _, high in each)

    taken = min(filter(possible, range(len(cells) + 1)), key=lambda t: (abs(t - middle), t))
    goes, left = {x: low for x, (low, _) in bounds(taken).items()}, set()
    for x in sorted(rows, key=lambda x: (Fraction(sum(rows[x]), len(rows[x])), x)):
        goes[x] += min(bounds(taken)[x][1] - goes[x], taken - sum(goes.values()))
        left |= set(rows[x][: goes[x]])
    return [i in left for i in range(len(cells))]


def parting_cuts(place, order, cells, size, l):
    """The buckets of the former grouping as lists of rows, ``place`` being where each row stands on
    the one attribute.
    """
    m = len(order)
    parts = max(1, (m + size // 2) // size)
    if parts > 1:
        ordered = sorted(order, key=lambda row: place[row])
        goes = parting_cut([cells[row] for row in ordered], m * (parts // 2) // parts, l)
        sides = [
            [row for row, left in zip(ordered, goes, strict=True) if left is side]
            for side in (True, False)
        ]
        if min(map(len, sides)) >= size:
            return [
                bucket for side in sides for bucket in parting_cuts(place, side, cells, size, l)
            ]
    return [list(order)]
