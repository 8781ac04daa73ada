# SPDX-License-Identifier: Apache-2.0
"""Slow, obvious twins of the m-invariance kernels: lists, dictionaries, one tuple at a time."""

import math
from collections import Counter
from fractions import Fraction


def eligible(counts, m):
    """No value in more than 1/m of the tuples."""
    return all(m * n <= sum(counts.values()) for n in counts.values())


def balancing(buckets, left, m):
    """Fill one missing tuple at a time; ``buckets``: list of {value: owned}; ``left``: Counter,
    changed in place. Returns (filled, invented) per bucket.
    """
    filled, invented = [], []
    for bucket in buckets:
        most = max(bucket.values())
        took, made = Counter(), Counter()
        for value in sorted(bucket):
            for _ in range(most - bucket[value]):
                trial = Counter(left)
                trial[value] -= 1
                # once a removal is refused, later removals of the same value are refused too, as in
                # the paper's "as long as"
                if left[value] > 0 and not made[value] and eligible(+trial, m):
                    left[value] -= 1
                    took[value] += 1
                else:
                    made[value] += 1
        filled.append(took)
        invented.append(made)
    return filled, invented


def fewest_sets(counts, values, m):
    """The fewest sets of ``values``, from 1, that leave an m-eligible rest; None where no number
    does.
    """
    for sets in range(1, max(counts.values()) + 1):
        rest = Counter({v: n - sets * (v in values) for v, n in counts.items()})
        if m * max(rest.values()) <= sum(rest.values()):
            return sets
    return None


def entering(signatures, members, left, m, parts=0):
    """Let one whole set enter at a time, the largest signature first; ``signatures``: lists of
    values; ``left``: Counter, changed in place.

    With ``parts``, each takes the fewest sets after which no value has more than 1/(m parts) of the
    rest, and then none takes more; where no number does, it takes none beyond the count of a value
    that is not its own.
    """
    sets = [0] * len(signatures)
    for i in sorted(range(len(signatures)), key=lambda i: (-members[i], i)):
        most = max(left.values(), default=0)
        if parts:
            if eligible(left, m * parts):
                break
            others = max((n for v, n in left.items() if v not in signatures[i]), default=0)
            beyond = max(max(left[v] for v in signatures[i]) - others, 0)
            fewest = fewest_sets(left, signatures[i], m * parts)
            most = beyond if fewest is None else fewest
        while sets[i] < most and all(left[v] > 0 for v in signatures[i]):
            trial = Counter(left)
            trial.subtract(signatures[i])
            if not eligible(+trial, m):
                break
            left.subtract(signatures[i])
            sets[i] += 1
    return sets


def assignment(counts, m, parts=0):
    """Figure 3, with alpha found by trying. Returns [(alpha, values most frequent first)].

    With ``parts``, it stops where no value has more than 1/(m parts) of the rest, and takes no more
    to get there than it must.
    """
    counts = Counter({v: n for v, n in counts.items() if n})
    moves = []
    while sum(counts.values()) and not (parts and eligible(counts, m * parts)):
        ranked = sorted(counts, key=lambda v: (-counts[v], v))
        n = [counts[v] for v in ranked] + [0]
        gamma = sum(n)
        for beta in range(m, len(ranked) + 1):
            fits = [
                alpha
                for alpha in range(1, n[beta - 1] + 1)
                if m * (n[0] - alpha) <= gamma - alpha * beta
                and m * n[beta] <= gamma - alpha * beta
            ]
            if fits:
                break
        alpha = max(fits)
        fewest = fewest_sets(counts, ranked[:beta], m * parts) if parts else None
        alpha = alpha if fewest is None else min(alpha, fewest)
        moves.append((alpha, ranked[:beta]))
        for value in ranked[:beta]:
            counts[value] -= alpha
        counts = +counts
    return moves


def nearest(number, low, high):
    """The number between two others that is nearest to this one."""
    return min(range(low, high + 1), key=lambda other: abs(other - number))


def first_parts(ordered, x, length):
    """How many tuples each list, in the order of one attribute, gives a first part of x groups.

    Each list stands evenly among its counterfeits; their median after x groups is the place up to
    which tuples are given, as far as each part can be made up with counterfeits.
    """
    evenly = [math.floor(Fraction(x * len(places), length) + Fraction(1, 2)) for places in ordered]
    at = sorted(places[max(n - 1, 0)] for places, n in zip(ordered, evenly, strict=True) if places)
    middle = at[(len(at) - 1) // 2]
    return [
        nearest(
            nearest(n, sum(p < middle for p in places), sum(p <= middle for p in places)),
            max(0, x - (length - len(places))),
            min(x, len(places)),
        )
        for places, n in zip(ordered, evenly, strict=True)
    ]


def best_scheme(lists, positions, dimensions):
    """The least perimeter sum of all schemes; counterfeits have no position."""
    return min(cost for cost, *_ in _schemes(lists, positions, dimensions))


def split(lists, positions, dimensions):
    """The groups of a bucket, one slot of each list in each, in order: the best scheme, and its two
    parts alike. Of schemes that cost the same the most even one, of the first attribute, and with
    the larger first part.
    """
    if len(lists[0]) == 1:
        return [tuple(slot for (slot,) in lists)]
    schemes = _schemes(lists, positions, dimensions)
    n = len(lists[0])
    *_, x, firsts, a = min((cost, abs(2 * x - n), a, -x, x, f, a) for cost, a, x, f in schemes)
    parts = [], []
    for slots, first in zip(lists, firsts, strict=True):
        tuples = _in_order(slots, positions, a)
        others = [slot for slot in slots if positions[slot] is None]
        parts[0].append(tuples[:first] + others[: x - first])
        parts[1].append(tuples[first:] + others[x - first :])
    return [g for part in parts for g in split(part, positions, dimensions)]


def _in_order(slots, positions, a):
    """Those with a position, by attribute ``a``."""
    tuples = (slot for slot in slots if positions[slot] is not None)
    return sorted(tuples, key=lambda slot: (positions[slot][a], slot))


def _schemes(lists, positions, dimensions):
    """The cost of every scheme, its attribute, and the rows and the tuples of its first part."""
    for a in range(dimensions):
        ordered = [[positions[slot] for slot in _in_order(s, positions, a)] for s in lists]
        for x in range(1, len(lists[0])):
            firsts = first_parts([[p[a] for p in places] for places in ordered], x, len(lists[0]))
            cost = _of_tuples(p[:n] for p, n in zip(ordered, firsts, strict=True)) + _of_tuples(
                p[n:] for p, n in zip(ordered, firsts, strict=True)
            )
            yield cost, a, x, firsts


def _of_tuples(lists):
    """How many tuples there are, times the sum of side lengths of the box around them."""
    tuples = [place for places in lists for place in places]
    sides = [max(axis) - min(axis) for axis in zip(*tuples, strict=True)]
    return len(tuples) * sum(sides)


def total_perimeter(groups, positions):
    """The perimeters of finished groups, added up."""
    return sum(
        _of_tuples([[positions[slot] for slot in group if positions[slot] is not None]])
        for group in groups
    )


def largest_eligible(counts, m):
    """The largest cap that leaves an m-eligible rest, by trying."""
    best = 0
    for cap in range(1, max(counts, default=0) + 1):
        kept = Counter({i: min(n, cap) for i, n in enumerate(counts)})
        if eligible(kept, m):
            best = cap
    return best
