# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious tuple partition of slicing: lists, dictionaries, fractions. Shares no code with
the kernels.

A row is a tuple of attributes' codes; ``values[i]`` is what row i has in each column (of the
sensitive column, in the last place, its quasi-identifiers only) and ``sensitive[i]`` its sensitive
value. A bucket is a list of row numbers.
"""

from collections import Counter, defaultdict
from fractions import Fraction
from math import ceil, prod

import numpy as np


def degree(t, bucket, values):
    """f(t, B): the product over columns of the share of the bucket's rows that have the tuple's
    value there.
    """
    return prod(
        (Fraction(sum(values[i][j] == v for i in bucket), len(bucket)) for j, v in enumerate(t)),
        start=Fraction(1),
    )


def matching(t, buckets, values):
    """The number of matching buckets, and f(t)."""
    degrees = [degree(t, bucket, values) for bucket in buckets]
    return sum(f > 0 for f in degrees), sum(degrees, Fraction(0))


def beside(t, bucket, values, sensitive):
    """D(t, B): sensitive value -> its share among the bucket's rows with the tuple's
    quasi-identifiers of the sensitive column.
    """
    alike = [sensitive[i] for i in bucket if values[i][-1] == t[-1]]
    return {s: Fraction(times, len(alike)) for s, times in Counter(alike).items()}


def posterior(t, buckets, values, sensitive, by="shares"):
    """Sensitive value -> p(t, s), over all buckets that the tuple matches, weighed by shares or by
    rows.
    """
    degrees = [
        degree(t, bucket, values) * (len(bucket) if by == "rows" else 1) for bucket in buckets
    ]
    found = defaultdict(Fraction)
    for f, bucket in zip(degrees, buckets, strict=True):
        if f:
            for s, share in beside(t, bucket, values, sensitive).items():
                found[s] += f / sum(degrees) * share
    return dict(found)


def locally(principle, least=1):
    """For a list of (q, s): whether it is long enough and the sensitive values beside each q keep
    the principle.
    """

    def holds(pairs):
        among = defaultdict(list)
        for q, s in pairs:
            among[q].append(s)
        return len(pairs) >= least and all(principle(group) for group in among.values())

    return holds


def over_all_buckets(t, buckets, values, sensitive, l, ways=("shares", "rows")):
    """Whether p(t, s) <= 1/l, by shares and by rows; on the bound itself only where none of the
    matching buckets is above it, as the kernel says of itself.
    """
    return in_each_bucket(t, buckets, values, sensitive, l) or all(
        p * l < 1 for by in ways for p in posterior(t, buckets, values, sensitive, by).values()
    )


def in_each_bucket(t, buckets, values, sensitive, l):
    """Whether no value has more than 1/l beside the tuple's quasi-identifiers in any bucket that it
    matches.
    """
    met = [bucket for bucket in buckets if degree(t, bucket, values)]
    return all(
        share * l <= 1 for bucket in met for share in beside(t, bucket, values, sensitive).values()
    )


def by_shares_alone(t, buckets, values, sensitive, l):
    """Broken: the paper's check, which whoever weighs buckets by rows is above."""
    return over_all_buckets(t, buckets, values, sensitive, l, ["shares"])


def in_own_bucket(t, buckets, values, sensitive, l):
    """Broken: forgets every matching bucket but the first."""
    met = [bucket for bucket in buckets if degree(t, bucket, values)]
    return all(share * l <= 1 for share in beside(t, met[0], values, sensitive).values())


def cost(bucket, rows, places):
    """The size, which counts the less the more attributes there are, times the width."""
    width = sum(
        max(place[rows[i][a]] for i in bucket) - min(place[rows[i][a]] for i in bucket)
        for a, place in enumerate(places)
    )
    return float(width * np.power(np.array([len(bucket)]), 1 - 1 / (2 * len(places)))[0])


def narrowest(bucket, rows, places, fewest):
    """Of each attribute the cut after which both halves cost least, through rows of one value, too;
    the best attribute first.
    """
    best = []
    for a in range(len(places)):
        ordered = sorted(bucket, key=lambda i: rows[i][a])
        if rows[ordered[0]][a] == rows[ordered[-1]][a]:
            continue
        offered = [
            (cost(ordered[:n], rows, places) + cost(ordered[n:], rows, places), a, n, ordered)
            for n in range(fewest, len(ordered) - fewest + 1)
        ]
        best += [min(offered)] if offered else []
    for _, _, n, ordered in sorted(best):
        yield ordered[:n], ordered[n:]


def spread_of(bucket, rows, places):
    """The attributes on which the rows differ, the widest first."""
    spread = []
    for a in range(len(places)):
        low, high = min(rows[i][a] for i in bucket), max(rows[i][a] for i in bucket)
        if low < high:
            spread.append((-(places[a][high] - places[a][low]), a))
    return sorted(spread)


def through(bucket, rows, places):
    """Equally large halves, whatever rows have the median."""
    for _, a in spread_of(bucket, rows, places):
        ordered = sorted(bucket, key=lambda i: rows[i][a])
        yield ordered[: len(bucket) // 2], ordered[len(bucket) // 2 :]


def halves(bucket, rows, places, relaxed, fewest):
    """All cuts of a bucket that are tried, in order. Relaxed ones: the narrowest, where the bucket
    has room for no more than 256 of ``fewest`` rows; at the medians, between values; and through
    the rows at the medians. ``"through"``: these alone.
    """
    if relaxed == "through":
        yield from through(bucket, rows, places)
        return
    if relaxed and len(bucket) <= 256 * fewest:
        yield from narrowest(bucket, rows, places, fewest)
    for _, a in spread_of(bucket, rows, places):
        ordered = sorted(bucket, key=lambda i: rows[i][a])
        median = rows[ordered[(len(bucket) - 1) // 2]][a]
        below, equal = (
            [i for i in bucket if rows[i][a] < median],
            [i for i in bucket if rows[i][a] == median],
        )
        stand = ordered if relaxed else bucket
        for left in (below + equal, below):
            yield [i for i in stand if i in left], [i for i in stand if i not in left]
    if relaxed:
        yield from through(bucket, rows, places)


def exact_cuts(
    rows, places, values, sensitive, l, *, least=1, relaxed=False, keeps=over_all_buckets
):
    """The buckets before the first cut and after every one that is kept; the smaller half is cut
    before the larger, of equal halves the right one.
    """
    tuples = sorted(set(values))
    buckets = [list(range(len(rows)))]
    history, waiting = [buckets], [buckets[0]]
    while waiting:
        bucket = waiting.pop()
        for left, right in halves(bucket, rows, places, relaxed, max(least, ceil(l))):
            after = [b for b in buckets if b is not bucket] + [left, right]
            if min(len(left), len(right)) >= least and all(
                keeps(t, after, values, sensitive, l) for t in tuples
            ):
                buckets = after
                history.append(buckets)
                waiting += [right, left] if len(left) < len(right) else [left, right]
                break
    return history
