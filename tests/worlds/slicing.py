# SPDX-License-Identifier: Apache-2.0
"""Every arrangement of a sliced table: what an adversary who knows only the columns of every bucket
takes for equally likely, counted.

A bucket is published as its columns, each in an order that tells nothing. An arrangement gives the
columns an order beside each other; where columns share attributes, only those in which every row
has one value of each. The same values in a column may change places, which multiplies the count of
every arrangement by the same number, and so may whole rows; neither changes a share, so equal
arrangements are counted once and the first column stays as it is. By the paper's law a bucket
weighs as much as the share of its rows that equals the tuple, whatever its size; by rows, as their
number.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations


def arrangements(columns, sides):
    """All arrangements of one bucket, each a list of rows; ``columns``: names of attributes,
    ``sides``: for each column its tuples of values.
    """

    def beside(rows, i):
        if i == len(columns):
            yield rows
            return
        for order in set(permutations(sides[i])):
            added = [dict(zip(columns[i], values, strict=True)) for values in order]
            if all(
                row[name] == new[name]
                for row, new in zip(rows, added, strict=True)
                for name in row.keys() & new.keys()
            ):
                yield from beside([row | new for row, new in zip(rows, added, strict=True)], i + 1)

    yield from beside([dict(zip(columns[0], values, strict=True)) for values in sides[0]], 1)


def shares(columns, sides):
    """Row -> its expected share of the bucket's rows, over all arrangements; a row is a frozenset
    of (attribute, value).
    """
    found, count = Counter(), 0
    for rows in arrangements(columns, sides):
        count += 1
        found.update(frozenset(row.items()) for row in rows)
    return {row: Fraction(times, count * len(sides[0])) for row, times in found.items()}


def posteriors(columns, buckets, sensitive, by="shares"):
    """Tuple (without the sensitive value) -> sensitive value -> p(t, s), for every tuple that some
    arrangement of some bucket has.

    ``by``: whether a bucket weighs as much as the share of its rows that equal the tuple, or as
    their expected number.
    """
    with_value, alone = Counter(), Counter()
    for sides in buckets:
        for row, share in shares(columns, sides).items():
            weight = share * (len(sides[0]) if by == "rows" else 1)
            value = dict(row)[sensitive]
            t = row - {(sensitive, value)}
            with_value[t, value] += weight
            alone[t] += weight
    found = {}
    for (t, value), weight in with_value.items():
        found.setdefault(t, {})[value] = weight / alone[t]
    return found
