# SPDX-License-Identifier: Apache-2.0
"""What an adversary learns from a table that is published in parts, by enumeration of all tables.

It has all quasi-identifiers, hence the partition, and this code. The groups are the parts here, the
coarsest that there can be, so that all it learns comes from the partition and from whether there is
a release. Where a part that is not diverse refuses the release, everybody has each value with
exactly the share that their group shows, as balanced cuts promise. Where parts are published
together because one of them fails, as it would be done out of good will, that is not so: the
release says then which tables it cannot be.

Where persons are followed, each stays in the part in which they were first published; the method
itself publishes every part of every release from every world then.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest

from worlds import test_published_global_guarantee as of_the_global_guarantee
from worlds.published_m_invariance import InParts, lasting, minvariance, posteriors

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


def surprises(rule, parts, values, l):
    """In how many cases a person has a value with another probability than the share that their group
    shows, over all releases that there can be of tables with these values.
    """
    releases = {}
    for world in set(permutations(values)):
        if (release := rule(world, parts, l)) is not None:
            releases.setdefault(release, []).append(world)
    return sum(
        Fraction(sum(world[person] == value for world in possible), len(possible))
        != Fraction(shown.count(value), len(shown))
        for release, possible in releases.items()
        for group, shown in release
        for person in group
        for value in set(values)
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
def test_refusing_tells_no_more_than_the_groups_show(l):
    """Whatever the table is, everybody has each value with exactly the share of their group, which is
    at most 1/l.
    """
    tables = [(parts, values) for parts, values, bound in TABLES if bound == l]
    assert len(tables) >= 4
    assert [surprises(refusing, parts, values, l) for parts, values in tables] == [0] * len(tables)


def test_a_coarser_partition_where_a_part_fails_would_tell_more():
    """The broken twin: what was published together says of somebody more than it shows."""
    assert any(surprises(mending, parts, values, l) for parts, values, l in TABLES)


HALF = Fraction(1, 2)
AGES = {f"p{i}": age for i, age in enumerate((1, 2, 41, 42, 3, 4))}
FOLLOWED = {
    "all stay": ("abab", [(0, 1, 2, 3)] * 2),
    "some leave, and others come": ("ababab", [(0, 1, 2, 3), (0, 2, 4, 5)]),
    "they return": ("abcabc", [(0, 1, 2, 3), (0, 2, 4, 5), (1, 3, 4, 5)]),
    "a part is empty for a while": ("abcabc", [(0, 1, 2, 3), (2, 3), (0, 1, 4, 5)]),
}
"""Values of persons and who is there; the third and the fourth live in one part, the others in
another.
"""


def staying(_, person):
    """The part in which a person was first published."""
    return person in ("p2", "p3")


def moving(release, person):
    """The part of where a person lives: later the first one and a newcomer live with the others."""
    return staying(release, person) or (release > 0 and person in ("p0", "p4"))


def followed(values, tables, part_of):
    """The largest probability of a value, over everything that may be published of a series."""
    present = [tuple(f"p{i}" for i in persons) for persons in tables]
    series = InParts(minvariance(), AGES, present, part_of)
    persons = [f"p{i}" for i in range(len(values))]
    return posteriors(series, lasting(persons, values, len(tables)))[0]


@pytest.mark.parametrize("case", FOLLOWED)
def test_who_stays_in_a_part_is_linked_with_no_more_than_one_in_m(case):
    """Whatever the values of all persons are, as a multiset, over all parts and all releases."""
    assert followed(*FOLLOWED[case], staying) <= HALF


def test_who_moves_to_another_part_is_exposed():
    """The broken twin: a part knows nothing of a person who comes from another one, and publishes
    them under a second signature.
    """
    assert followed("ababc", [(0, 1, 2, 3), (0, 1, 2, 3, 4)], moving) > HALF


def test_exposures_are_counted_in_the_part_in_which_a_person_stays():
    """Two parts of four, of whom some leave and return: values are independent, so that a part is a
    series by itself, and each is within 1/2.
    """
    for part in ([(0, 1, 2, 3), (0, 2, 3), (0, 1, 2, 3)], [(5, 6, 7, 8), (5, 6, 7, 8)]):
        assert of_the_global_guarantee.Series(part).ever <= HALF


def test_who_moves_to_another_part_spends_their_budget_again():
    """The broken twin: a person is linked in two parts, each of which takes them for new."""
    here, there = (of_the_global_guarantee.Series([part]) for part in ((0, 1, 2, 3), (0, 6, 7, 8)))
    assert 0 < here.ever <= HALF
    assert 0 < there.ever <= HALF
    assert 1 - (1 - here.ever) * (1 - there.ever) > HALF
