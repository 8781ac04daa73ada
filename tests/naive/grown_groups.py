# SPDX-License-Identifier: Apache-2.0
"""The slow twin of grown groups: lists, and every demand of every member looked at each time.

``positions``: a list of places for each row; ``rows``: what each row holds; ``asked``: by row and
value the ratio that it demands; ``order``: the rows in the order in which they are taken.
"""


def meets(members, rows, asked):
    """Whether every member's demand is met for every value that a member holds."""
    values = [value for m in members for value in rows[m]]
    return all(
        values.count(value) * asked[m][value] <= len(members) for m in members for value in values
    )


def box_of(members, positions):
    """The least and the largest place of some rows on each axis."""
    axes = list(zip(*(positions[m] for m in members), strict=True))
    return [(min(axis), max(axis)) for axis in axes]


def gap(row, members, positions):
    """By how much the box of some members grows with one more row."""
    sides = zip(positions[row], box_of(members, positions), strict=True)
    return sum(max(0.0, low - p) + max(0.0, p - high) for p, (low, high) in sides)


def join(positions, rows, asked, order, group):
    """``group``, after rows that are in none joined what grows least of those that may take them,
    again and again until none may.
    """
    group = list(group)
    names = sorted({name for name in group if name >= 0})
    before = None
    while group != before:
        before = list(group)
        for row in order:
            if group[row] >= 0:
                continue
            members = {name: [m for m, g in enumerate(group) if g == name] for name in names}
            nearest = sorted(names, key=lambda name: gap(row, members[name], positions))
            fitting = (name for name in nearest if meets([row, *members[name]], rows, asked))
            group[row] = next(fitting, group[row])
    return group
