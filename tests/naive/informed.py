# SPDX-License-Identifier: Apache-2.0
"""Linking to the nearest row, one person and one row at a time."""

from fractions import Fraction


def nearest(person, rows, distances, changes):
    """The places of the nearest of the rows that differ from a person on ``changes`` attributes; of
    all rows where none does.
    """
    away = {}
    for i, row in enumerate(rows):
        if sum(a != b for a, b in zip(person, row, strict=True)) >= changes:
            away[i] = sum(
                (
                    Fraction(distance(a, b))
                    for distance, a, b in zip(distances, person, row, strict=True)
                ),
                Fraction(0),
            )
    return (
        [i for i, d in away.items() if d == min(away.values())] if away else list(range(len(rows)))
    )


def disclosures(persons, rows, secrets, distances, changes):
    """For every person the number of nearest rows, and the chances that one of these is the own
    (row i is of person i) and has the person's value.
    """
    found = []
    for i, person in enumerate(persons):
        places = nearest(person, rows, distances, changes)
        same = sum(secrets[r] == secrets[i] for r in places)
        found.append((len(places), Fraction(i in places, len(places)), Fraction(same, len(places))))
    return found
