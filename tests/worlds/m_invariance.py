# SPDX-License-Identifier: Apache-2.0
"""Every possible world of a small published series: the reasonable surjections of Xiao & Tao's
Definition 13, counted.

An adversary knows who is in which release, everybody's quasi-identifier values there, the released
tables, and how many counterfeits each group holds. A world gives every released tuple to a person
or calls it a counterfeit, such that each person has exactly one tuple in each release of theirs, in
a group whose box covers them, always with the same value (Conditions 1.1 and 1.2), and each group
holds its number of counterfeits. With ``principle`` the adversary also knows that the series is
m-invariant (Condition 2): a person's groups have one signature. Equal counterfeits are
interchangeable, which multiplies every world's count by the same number and so does not change a
ratio.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class PublishedRelease:
    """``persons``: person -> QI values; ``groups``: group -> (box as [(low, high)], list of values,
    number of counterfeits).
    """

    persons: dict
    groups: dict


def assignments(release, principle):
    """All ways to give the tuples of one release to its persons: Counter of frozenset of (person,
    value, signature).
    """
    tuples = [(g, value) for g, (_, values, _) in release.groups.items() for value in values]
    signature = {g: frozenset(values) for g, (_, values, _) in release.groups.items()}
    counterfeits = {g: c for g, (_, _, c) in release.groups.items()}
    covers = {
        (p, g): all(low <= x <= high for x, (low, high) in zip(qi, box, strict=True))
        for p, qi in release.persons.items()
        for g, (box, _, _) in release.groups.items()
    }
    found = Counter()

    def give(i, free, invented, told):
        if i == len(tuples):
            if not free and invented == counterfeits:
                found[frozenset(told)] += 1
            return
        g, value = tuples[i]
        for p in free:
            if covers[p, g]:
                give(
                    i + 1,
                    free - {p},
                    invented,
                    [*told, (p, value, signature[g] if principle else None)],
                )
        if invented[g] < counterfeits[g]:
            give(i + 1, free, invented | {g: invented[g] + 1}, told)

    give(0, frozenset(release.persons), dict.fromkeys(release.groups, 0), [])
    return found


def worlds(series, principle=True):
    """All worlds of the series: Counter of frozenset of (person, value, signature)."""
    total = Counter({frozenset(): 1})
    for release in series:
        joined = Counter()
        for told, n in assignments(release, principle).items():
            own = {p: (v, s) for p, v, s in told}
            for before, k in total.items():
                known = {p: (v, s) for p, v, s in before}
                if all(known.get(p, own[p]) == own[p] for p in own):
                    joined[frozenset(before | told)] += n * k
        total = joined
    return total


def risks(series, values, principle=True):
    """Definition 14: for every person the share of worlds that rebuild the true value, as a
    fraction; None if there is no world at all.
    """
    total, right = 0, defaultdict(int)
    for told, n in worlds(series, principle).items():
        total += n
        for p, v, _ in told:
            right[p] += n * (v == values[p])
    return {p: Fraction(right[p], total) for r in series for p in r.persons} if total else None
