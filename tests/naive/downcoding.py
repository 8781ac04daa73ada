# SPDX-License-Identifier: Apache-2.0
"""The slow downcoder: one group, one attribute and one record at a time, in exact fractions. Shares
no code with the source.
"""

from fractions import Fraction


def narrowed(groups, columns):
    """What is found in groups of records (tuples of whole numbers): the records narrowed, those
    narrowed rightly, and how many would be by chance.

    The records of a group are known by their smallest and largest values alone; ``columns``: all
    values of each attribute.
    """
    made = right = 0
    chance = Fraction(0)
    for records in groups:
        found = []
        for a, column in enumerate(columns):
            low, high = min(r[a] for r in records), max(r[a] for r in records)
            if low < high:
                inside = [x for x in column if low <= x <= high]
                by_chance = sum(
                    1 - (1 - Fraction(inside.count(end), len(inside))) ** len(records)
                    for end in (low, high)
                )
                found.append((by_chance, a, low, high))
        if found:
            by_chance, a, low, high = min(found)
            made += 2
            right += any(r[a] == low for r in records) + any(r[a] == high for r in records)
            chance += by_chance
    return made, right, chance
