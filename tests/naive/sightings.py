# SPDX-License-Identifier: Apache-2.0
"""Adversaries who follow persons through releases, the slow way: one person, one release, one group
and one value at a time. Shares no code with the source.

A release is (hosts, groups): person -> group -> share of being there, and group -> value -> count.
"""

from math import exp, log


def laws(release):
    """Each person's value -> probability by one release alone."""
    hosts, groups = release
    found = {}
    for person, shares in hosts.items():
        found[person] = {}
        for g, share in shares.items():
            for v, n in groups[g].items():
                found[person][v] = found[person].get(v, 0.0) + share * n / sum(groups[g].values())
    return found


def together(releases, persons, everywhere):
    """Each person's value -> probability by the releases multiplied; ``everywhere``: how frequent
    each value is. Empty where they contradict each other.
    """
    found = {}
    for person in persons:
        p = dict(everywhere)
        for law in map(laws, releases):
            if person in law:
                p = {v: x * law[person].get(v, 0.0) / everywhere[v] for v, x in p.items()}
        total = sum(p.values())
        found[person] = {v: x / total for v, x in p.items() if x} if total else {}
    return found


def learned(people, releases, everywhere, rounds=10, settled=0.005, sweeps=5, weight=10):
    """The same after learning from all releases; ``people``: person -> attribute values, in which
    numbers are as they are learned.
    """
    start = together(releases, people, everywhere)
    for law in map(laws, releases):
        for person, p in law.items():
            if not start[person] or start[person].get("contradicted"):
                start[person] = p | {"contradicted": True}
    for p in start.values():
        p.pop("contradicted", None)
    believed = {person: dict(p) for person, p in start.items()}
    values = sorted(everywhere, key=str)
    for _ in range(rounds):
        with_v = {v: sum(p.get(v, 0.0) for p in believed.values()) for v in values}
        score = {person: dict.fromkeys(values, 0.0) for person in people}
        for i in range(len(next(iter(people.values())))):
            held = {}
            for person, features in people.items():
                for v, x in believed[person].items():
                    held[features[i], v] = held.get((features[i], v), 0.0) + x
            for person, features in people.items():
                share = sum(held.get((features[i], v), 0.0) for v in values) / sum(held.values())
                for v in values:
                    score[person][v] += log(
                        (held.get((features[i], v), 0.0) + weight * share)
                        / (with_v[v] + weight)
                        / share
                    )
        now = {}
        for person, p in start.items():
            most = max(score[person][v] for v in p)
            raw = {v: x * exp(score[person][v] - most) for v, x in p.items()}
            now[person] = {v: x / sum(raw.values()) for v, x in raw.items()}
        fit(now, releases, sweeps)
        moved = sum(
            abs(now[person].get(v, 0.0) - believed[person].get(v, 0.0))
            for person in people
            for v in values
        )
        believed = now
        if moved < 2 * settled * len(people):
            break
    return believed


def fit(now, releases, sweeps):
    """Beliefs scaled in turns until every group of every release holds as much of each value as it
    should.
    """
    begun = [
        {
            (p, g, v): share * n / sum(groups[g].values())
            for p, shares in hosts.items()
            for g, share in shares.items()
            for v, n in groups[g].items()
        }
        for hosts, groups in releases
    ]
    masses = [dict(mass) for mass in begun]
    for _ in range(sweeps):
        for r, (hosts, groups) in enumerate(releases):
            mass = masses[r]
            of_value = {}
            for (p, _, v), x in mass.items():
                of_value[p, v] = of_value.get((p, v), 0.0) + x
            for p, g, v in mass:
                mass[p, g, v] *= now[p].get(v, 0.0) / of_value[p, v] if of_value[p, v] else 0.0
            for g, counts in groups.items():
                for v, n in counts.items():
                    there = sum(x for (_, g_, v_), x in mass.items() if (g_, v_) == (g, v))
                    for key in mass:
                        if key[1:] == (g, v) and there:
                            mass[key] *= n / there
            for p in hosts:
                total = sum(x for (p_, _, _), x in mass.items() if p_ == p)
                if total:
                    now[p] = {}
                    for (p_, _, v), x in mass.items():
                        if p_ == p and x:
                            now[p][v] = now[p].get(v, 0.0) + x / total
                else:
                    for key, x in begun[r].items():
                        if key[0] == p:
                            mass[key] = x
