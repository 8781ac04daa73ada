# SPDX-License-Identifier: Apache-2.0
"""The slow p(t, s): the paper's formulas, one tuple, one bucket and one value at a time, in
fractions. Shares no code with the source.
"""

from collections import Counter
from fractions import Fraction
from itertools import permutations


def one_after_another(columns):
    """An order of columns, from the last, in which what each shares with those before it stands in
    one of them; None where there is none.
    """
    last = len(columns) - 1
    for rest in permutations(range(last)):
        order = (last, *rest)
        before = [set().union(*(columns[j] for j in order[:i])) for i in range(len(order))]
        shared = [set(columns[i]) & seen for i, seen in zip(order, before, strict=True)]
        if all(
            not common or any(common <= set(columns[j]) for j in order[:i])
            for i, common in enumerate(shared)
        ):
            return list(zip(order, shared, strict=True))
    return None


def matching_degree(t, columns, sides, sensitive):
    """f(t, B): the share of the bucket's rows that equal t, column by column; among those that
    agree on what columns share, where they do.
    """
    degree = Fraction(1)
    for i, shared in one_after_another(columns):
        rows = [dict(zip(columns[i], values, strict=True)) for values in sides[i]]
        equal = sum(
            all(row[name] == t[name] for name in columns[i] if name != sensitive) for row in rows
        )
        agreeing = sum(all(row[name] == t[name] for name in shared) for row in rows)
        degree *= Fraction(equal, agreeing) if agreeing else 0
    return degree


def posterior(t, columns, buckets, sensitive, by="shares"):
    """Sensitive value -> p(t, s) = sum over buckets of p(t, B) D(t, B)[s], buckets weighed by
    shares or by rows; empty where t matches no bucket.
    """
    degrees = [
        matching_degree(t, columns, sides, sensitive) * (len(sides[0]) if by == "rows" else 1)
        for sides in buckets
    ]
    total, found = sum(degrees), {}
    for sides, degree in zip(buckets, degrees, strict=True):
        if not degree:
            continue
        rows = [dict(zip(columns[-1], values, strict=True)) for values in sides[-1]]
        alike = [
            row[sensitive]
            for row in rows
            if all(row[name] == t[name] for name in columns[-1] if name != sensitive)
        ]
        for value in alike:
            found[value] = found.get(value, Fraction(0)) + degree / total / len(alike)
    return found


def counting(people, columns, buckets, sensitive):
    """For every person, bucket -> in which share of all worlds they are in it: all ways to put
    everybody into buckets that give what is published.

    ``people``: everybody's tuple without the sensitive value, as dictionaries.
    """

    def quasi(t, i):
        return tuple(t[name] for name in columns[i] if name != sensitive)

    names = [tuple(name for name in column) for column in columns]
    asked = [
        [
            Counter(
                tuple(v for name, v in zip(names[i], values, strict=True) if name != sensitive)
                for values in side
            )
            for i, side in enumerate(sides)
        ]
        for sides in buckets
    ]
    places = [b for b, sides in enumerate(buckets) for _ in sides[0]]
    found, worlds = [Counter() for _ in people], 0
    for world in set(permutations(places)):
        inside = [
            [t for t, at in zip(people, world, strict=True) if at == b] for b in range(len(buckets))
        ]
        if all(
            Counter(quasi(t, i) for t in some) == asked[b][i]
            for b, some in enumerate(inside)
            for i in range(len(columns))
        ):
            worlds += 1
            for share, b in zip(found, world, strict=True):
                share[b] += 1
    return [{b: Fraction(times, worlds) for b, times in share.items()} for share in found]


def recursive_ratio(p, l):
    """``p_1 / (p_l + p_(l+1) + ...)`` in falling order; None for no tail."""
    falling = sorted(p.values(), reverse=True)
    tail = sum(falling[l - 1 :], Fraction(0))
    return falling[0] / tail if tail else None


def closeness(p, table, order):
    """The equal and the ordered distance between p and the table's distribution; ``order``: all
    values of the domain in order.
    """
    apart = [p.get(value, Fraction(0)) - table.get(value, Fraction(0)) for value in order]
    steps = [abs(sum(apart[: i + 1], Fraction(0))) for i in range(len(order))]
    return sum(map(abs, apart), Fraction(0)) / 2, sum(steps, Fraction(0)) / max(1, len(order) - 1)
