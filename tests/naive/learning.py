# SPDX-License-Identifier: Apache-2.0
"""The slow posterior adversary: the law and what can be learned, one person, one group and one
value at a time. Shares no code with the source.
"""

from math import exp, log


def law(hosts, groups):
    """Each person's (group, value) -> probability; ``hosts``: each person's group -> share,
    ``groups``: group -> value -> count.
    """
    found = []
    for shares in hosts:
        total = sum(shares.values())
        found.append(
            {
                (g, s): share / total * n / sum(groups[g].values())
                for g, share in shares.items()
                for s, n in groups[g].items()
            }
        )
    return found


def learned(people, hosts, groups, rounds=10, settled=0.005, sweeps=5, weight=10):
    """The same after learning; ``people``: each one's attribute values, in which numbers are as
    they are learned.
    """
    before = law(hosts, groups)
    believed = [dict(p) for p in before]
    values = sorted({s for p in before for _, s in p}, key=str)
    for _ in range(rounds):
        likelihood = [dict.fromkeys(values, 0.0) for _ in people]
        everybody = sum(sum(p.values()) for p in believed)
        for i in range(len(people[0])) if people else ():
            held = {}
            for person, p in zip(people, believed, strict=True):
                for (_, s), x in p.items():
                    held[person[i], s] = held.get((person[i], s), 0.0) + x
            for person, of_person in zip(people, likelihood, strict=True):
                everywhere = sum(held.get((person[i], s), 0.0) for s in values) / everybody
                for s in values:
                    with_s = sum(x for (_, s_), x in held.items() if s_ == s)
                    if everywhere:
                        of_person[s] += log(
                            (held.get((person[i], s), 0.0) + weight * everywhere)
                            / (with_s + weight)
                            / everywhere
                        )
        now = [
            {(g, s): x * exp(of_person[s]) for (g, s), x in p.items()}
            for p, of_person in zip(before, likelihood, strict=True)
        ]
        scale(now)
        for _ in range(sweeps):
            for g, counts in groups.items():
                for s, n in counts.items():
                    there = sum(p.get((g, s), 0.0) for p in now)
                    for p in now:
                        if (g, s) in p and there:
                            p[g, s] *= n / there
            scale(now)
        moved = sum(
            abs(x - by_value(old)[s])
            for p, old in zip(now, believed, strict=True)
            for s, x in by_value(p).items()
        )
        believed = now
        if moved < 2 * settled * sum(1 for p in now if p):
            break
    return believed


def scale(believed):
    """Everybody's probabilities made to add up to 1."""
    for p in believed:
        total = sum(p.values())
        for key in p:
            p[key] /= total


def by_value(p):
    """Sensitive value -> probability, whichever the group."""
    found = {}
    for (_, s), x in p.items():
        found[s] = found.get(s, 0.0) + x
    return found
