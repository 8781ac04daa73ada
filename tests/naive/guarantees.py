# SPDX-License-Identifier: Apache-2.0
"""The checks once more, slowly and obviously: lists, dictionaries and fractions, nothing shared
with the source.
"""

from collections import Counter
from fractions import Fraction
from itertools import pairwise


def counts_by_group(groups, values):
    """Group -> how often each value stands in it."""
    found = {}
    for group, value in zip(groups, values, strict=True):
        found.setdefault(group, Counter())[value] += 1
    return found


def k(groups):
    return min(Counter(groups).values())


def largest_share(groups, values):
    return max(
        Fraction(max(c.values()), sum(c.values())) for c in counts_by_group(groups, values).values()
    )


def distinct(groups, values):
    return min(len(c) for c in counts_by_group(groups, values).values())


def entropy_holds(groups, values, l):
    """n**n >= l**n * prod(r**r) in whole numbers."""
    for c in counts_by_group(groups, values).values():
        n = sum(c.values())
        right = Fraction(l) ** n
        for r in c.values():
            right *= r**r
        if n**n < right:
            return False
    return True


def recursive_holds(groups, values, c, l):
    for counts in counts_by_group(groups, values).values():
        r = sorted(counts.values(), reverse=True)
        if not r[0] < Fraction(c) * sum(r[l - 1 :]):
            return False
    return True


def distance_equal(groups, values):
    rows, table = len(values), Counter(values)
    far = Fraction(0)
    for c in counts_by_group(groups, values).values():
        n = sum(c.values())
        far = max(far, sum(abs(Fraction(c[v], n) - Fraction(table[v], rows)) for v in table) / 2)
    return far


def distance_ordered(groups, values, domain):
    rows, table = len(values), Counter(values)
    if len(domain) == 1:
        return Fraction(0)
    far = Fraction(0)
    for c in counts_by_group(groups, values).values():
        n, running, total = sum(c.values()), Fraction(0), Fraction(0)
        for v in domain:
            running += Fraction(c[v], n) - Fraction(table[v], rows)
            total += abs(running)
        far = max(far, total / (len(domain) - 1))
    return far


def distance_hierarchical(groups, values, paths):
    """The paper's own formula: at every inner node, what its children can settle among themselves
    costs the node's height.
    """
    rows, table = len(values), Counter(values)
    height = len(next(iter(paths.values()))) - 1
    far = Fraction(0)
    for c in counts_by_group(groups, values).values():
        n = sum(c.values())
        extra = {v: Fraction(c[v], n) - Fraction(table[v], rows) for v in paths}
        total = Fraction(0)
        for level in range(1, height + 1):
            for node in {tuple(p[level:]) for p in paths.values()}:
                children = {}
                for v, p in paths.items():
                    if tuple(p[level:]) == node:
                        children[tuple(p[level - 1 :])] = (
                            children.get(tuple(p[level - 1 :]), Fraction(0)) + extra[v]
                        )
                positive = sum(e for e in children.values() if e > 0)
                negative = -sum(e for e in children.values() if e < 0)
                total += Fraction(level, height) * min(positive, negative)
        far = max(far, total)
    return far


def m_unique(groups, values, m):
    return all(
        sum(c.values()) >= m and max(c.values()) == 1
        for c in counts_by_group(groups, values).values()
    )


def in_interval(x, low, high):
    """None stands for the missing value; a missing low end means that the interval contains it."""
    if x is None:
        return low is None
    if high is None:
        return False
    return (low is None or low <= x) and x <= high


def moved(hosted, *, consecutive):
    """Person -> how many signatures, of those who stood under more than one; ``hosted`` is a
    dictionary from person to signature for each release.
    """
    found = {}
    for person in {name for hosts in hosted for name in hosts}:
        if consecutive:
            for before, now in pairwise(hosted):
                if person in before and person in now and before[person] != now[person]:
                    found[person] = 2
        else:
            several = {hosts[person] for hosts in hosted if person in hosts}
            if len(several) > 1:
                found[person] = len(several)
    return found


def fewest_candidates(boxed, *, consecutive):
    """The size of the smallest candidate set that anybody has had; ``boxed`` is a dictionary from
    person to the values of all boxes around them, for each release. None where nobody is in one.
    """
    sizes = []
    for number, local in enumerate(boxed):
        for person, values in local.items():
            left = set(values)
            for before in boxed[max(number - 1, 0) if consecutive else 0 : number]:
                left &= before.get(person, left)
            sizes.append(len(left))
    return min(sizes, default=None)
