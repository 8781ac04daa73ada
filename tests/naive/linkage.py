# SPDX-License-Identifier: Apache-2.0
"""Linking by a random set of attributes, one person, one record and one set at a time."""

from fractions import Fraction
from itertools import combinations


def sets_of(attributes):
    """All sets of attributes."""
    return [
        set(held) for size in range(len(attributes) + 1) for held in combinations(attributes, size)
    ]


def disclosures(persons, records, matches, attributes, p):
    """Identity and attribute disclosure over persons and sets of attributes.

    ``persons``: (values by attribute, own record's place or None where it always matches, sensitive
    value). ``records``: (values, value -> share). ``matches(record, person, attribute)``: whether
    the record's value is one that the person may have.
    """
    by_identity = by_attribute = Fraction(0)
    for values, own, secret in persons:
        for held in sets_of(attributes):
            weight = Fraction(p) ** len(held) * (1 - Fraction(p)) ** (len(attributes) - len(held))
            found = [
                i
                for i, (record, _) in enumerate(records)
                if all(matches(record[a], values[a]) for a in held)
            ]
            if not found:
                continue
            if own is None or own in found:
                by_identity += weight / len(found)
            by_attribute += (
                weight
                * sum((Fraction(records[i][1].get(secret, 0)) for i in found), Fraction(0))
                / len(found)
            )
    return by_identity / len(persons), by_attribute / len(persons)
