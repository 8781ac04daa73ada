# SPDX-License-Identifier: Apache-2.0
"""What an adversary learns from a table that is published in parts, by enumeration of all tables.

It has all quasi-identifiers, hence the partition, and this code. The groups are the parts here, the
coarsest that there can be, so that all it learns comes from the partition and from whether there is
a release. Refusing where a part is not diverse keeps 1/l; to publish parts together where one of
them fails, as it would be done out of good will, does not: the release says then which tables it
cannot be.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest

Parts = tuple[range, ...]


def diverse(values, l):
    return max(Counter(values).values()) * l <= len(values)


def refusing(values, parts, l):
    """What is published: the counts of every part; None where nothing is."""
    if not all(diverse([values[i] for i in part], l) for part in parts):
        return None
    return tuple((part, tuple(sorted(values[i] for i in part))) for part in parts)


def mending(values, parts, l):
    """The same, but the whole table as one part where a part fails."""
    return refusing(values, parts, l) or refusing(values, (range(len(values)),), l)


def worst(rule, parts, values, l):
    """The greatest posterior of any value of any person, over all releases that there can be."""
    worlds = set(permutations(values))
    releases = {}
    for world in worlds:
        if (release := rule(world, parts, l)) is not None:
            releases.setdefault(release, []).append(world)
    return max(
        (
            Fraction(count, len(possible))
            for possible in releases.values()
            for person in range(len(values))
            for count in Counter(world[person] for world in possible).values()
        ),
        default=Fraction(0),
    )


TABLES = [
    (parts, values, l)
    for sizes, l in (((2, 4), 2), ((2, 3), 2), ((3, 4), 2), ((2, 2, 2), 2), ((3, 4), 3))
    for parts in [tuple(range(sum(sizes[:i]), sum(sizes[: i + 1])) for i in range(len(sizes)))]
    for values in sorted(
        {"".join(sorted(letters)) for letters in product("wxyz", repeat=sum(sizes))}
    )
    if diverse(values, l)
]


@pytest.mark.parametrize("l", [2, 3])
def test_refusing_keeps_the_bound_over_all_tables(l):
    """Whatever the table is, nobody is linked with a value with more than 1/l."""
    tables = [(parts, values) for parts, values, bound in TABLES if bound == l]
    assert len(tables) > 10
    assert max(worst(refusing, parts, values, l) for parts, values in tables) <= Fraction(1, l)


def test_a_coarser_partition_where_a_part_fails_would_not():
    """The broken twin: some table is published together because a part failed, and the posterior of
    somebody is above 1/l.
    """
    assert any(worst(mending, parts, values, l) > Fraction(1, l) for parts, values, l in TABLES)
