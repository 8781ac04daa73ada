# SPDX-License-Identifier: Apache-2.0
"""The grouping against membership disclosure, published from every world: what its buckets say
about everybody to whoever knows how they are made, in fractions.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest

from naive.membership import parting_cuts
from phalanx.methods.slicing import dealing
from phalanx.methods.slicing.tuples import Coded

AGES = [1, 2, 4, 7, 11, 16, 22, 29]


def dealt(world, sexes, order, size, l):
    """The buckets of the source, as lists of rows."""
    codes = np.array([*range(len(world))])
    coded = Coded(
        np.stack([codes, np.array(sexes)]).astype(np.int32),
        np.array(["abcd".index(v) for v in world], dtype=np.int32),
    )
    attributes = np.stack([codes, np.array(sexes)])
    bucket = dealing.group(coded, attributes, bucket_size=size, l=l, order=np.array(order))
    return [np.flatnonzero(bucket == b).tolist() for b in range(bucket.max() + 1)]


def parted(world, _, order, size, l):
    """Broken: the former grouping, which sends the values that lie further left to the left."""
    return parting_cuts(AGES, order, world, size, l)


def orders(world):
    """All orders of the rows of each value, which are all that the deal uses of an order."""
    rows = [[i for i, v in enumerate(world) if v == s] for s in sorted(set(world))]
    for parts in product(*(permutations(some) for some in rows)):
        yield [row for part in parts for row in part]


def seen(buckets, world, sexes):
    """What is published, whatever the numbers of buckets and the order of rows: everybody's bucket,
    and the sensitive column of each.
    """
    return frozenset(
        (tuple(sorted(b)), tuple(sorted((sexes[i], world[i]) for i in b))) for b in buckets
    )


def posteriors(group, values, sexes, size, l):
    """The largest posterior of any person and value, and the share of publications in which
    somebody's is above 1/l; all worlds equally likely.
    """
    by_output = defaultdict(Counter)
    worlds = sorted({w for w in permutations(values) if keeps(w, sexes, l)})
    for world in worlds:
        ways = list(orders(world))
        for order in ways:
            by_output[seen(group(world, sexes, order, size, l), world, sexes)][world] += Fraction(
                1, len(ways)
            )
    largest, above = Fraction(0), Fraction(0)
    for likely in by_output.values():
        total, whose = sum(likely.values()), Counter()
        for world, weight in likely.items():
            for person, value in enumerate(world):
                whose[person, value] += weight
        most = max(whose.values()) / total
        largest, above = max(largest, most), above + total * (most > Fraction(1, l))
    return largest, above / len(worlds)


def keeps(world, sexes, l):
    pairs = list(zip(sexes, world, strict=True))
    return all(l * pairs.count(pair) <= sexes.count(pair[0]) for pair in pairs)


CASES = [
    ("aabbcc", [0] * 6, 2, 2, "1/2"),
    ("aaabbc", [0] * 6, 2, 2, "1/2"),
    ("aaabbc", [0] * 6, 3, 2, "1/2"),
    ("aabbcd", [0] * 6, 3, 3, "1/3"),
    ("aabbccd", [0] * 7, 2, 2, "1/2"),
    ("aabbcc", [0, 1, 0, 0, 1, 1], 2, 2, "1/3"),  # three values beside each q make one set of three
    ("aaabbcc", [0, 1, 0, 0, 1, 1, 0], 2, 2, "1/2"),
]


@pytest.mark.parametrize(("values", "sexes", "size", "l", "expected"), CASES)
def test_nobody_is_linked_with_more_than_one_in_l(values, sexes, size, l, expected):
    """Every order of the rows of every world: whoever knows the method and how often each value
    stands gives nobody's value more than 1/l.
    """
    assert posteriors(dealt, values, sexes, size, l) == (Fraction(expected), 0)


@pytest.mark.slow
def test_nobody_is_in_larger_buckets():
    """Eight rows in buckets of four: the same."""
    assert posteriors(dealt, "aaaabbcc", [0] * 8, 4, 2) == (Fraction(1, 2), 0)


@pytest.mark.parametrize("values", ["aaabbc", "aabbcc"])
def test_the_former_grouping_is_caught(values):
    """Broken twin: cuts that part the values make somebody certain."""
    largest, above = posteriors(parted, values, [0] * 6, 2, 2)

    assert largest == 1
    assert above > Fraction(1, 5)


def test_a_look_at_who_comes_first_is_caught():
    """Broken twin: sets whose rows stay in the order of the table, which the adversary knows,
    instead of one drawn by lot.
    """

    def in_order(world, sexes, order, size, l):
        return dealt(world, sexes, sorted(order), size, l)

    assert posteriors(in_order, "aaabbc", [0] * 6, 2, 2)[0] == 1
