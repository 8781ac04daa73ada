# SPDX-License-Identifier: Apache-2.0
"""The slow twin of the check of the global guarantee: dictionaries, sets and fractions, nothing
shared with the source.
"""

from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class Shown:
    """One release: ``rows`` group -> sets of values, one for each row; ``groups`` person -> group;
    counts of counterfeits and of registered persons.
    """

    rows: dict
    groups: dict
    counterfeits: dict = field(default_factory=dict)
    registered: dict = field(default_factory=dict)

    def members(self, group):
        return len(self.rows[group]) + self.registered.get(group, 0)

    def holding(self, group, value):
        return sum(value in row for row in self.rows[group])

    def people(self, group):
        return {p for p, g in self.groups.items() if g == group}

    def holds_any(self, group, values):
        return any(row & set(values) for row in self.rows[group])


def ever_linked(series, *, without=(), permanent=(), of_sets=False):
    """(person, value) -> Lemma 4's probability, for all values but those ``without``; in groups of
    cohorts of sets, shares are added up.
    """
    found = {}
    for person in {p for shown in series for p in shown.groups}:
        for value in (
            {v for shown in series for rows in shown.rows.values() for row in rows for v in row}
            - set(without)
            - set(permanent)
        ):
            survival, more, linked = Fraction(1), Fraction(0), False
            for shown in series:
                group = shown.groups.get(person)
                if group not in shown.rows or not shown.holding(group, value):
                    continue
                linked, share = True, Fraction(shown.holding(group, value), shown.members(group))
                if of_sets and shown.holds_any(group, permanent):
                    more += share
                else:
                    survival *= 1 - share
            if linked:
                found[person, value] = min(1 - survival + more, Fraction(1))
    return found


def largest_share(series, *, without=()):
    """The largest n_s / n of any group of any release."""
    return max(
        (
            Fraction(shown.holding(g, v), shown.members(g))
            for shown in series
            for g, rows in shown.rows.items()
            for v in {v for row in rows for v in row} - set(without)
        ),
        default=None,
    )


def cohorts_are_kept(series, permanent):
    """Whether all rules of docs/explanation/cohorts.md are kept, from the first release on."""
    cohorts = []  # (founding members, value -> carriers the last time)
    for shown in series:
        met, new = [], []
        for group in shown.rows:
            if not shown.holds_any(group, permanent):
                continue
            people, size, invented = (
                shown.people(group),
                len(shown.rows[group]),
                shown.counterfeits.get(group, 0),
            )
            if shown.registered.get(group, 0):
                return False
            mine = [c for c in cohorts if c[0] & people]
            if not mine:
                if not people or invented or len(people) != size:
                    return False
                new.append((frozenset(people), {v: shown.holding(group, v) for v in permanent}))
                continue
            if len(mine) > 1 or not people <= mine[0][0] or mine[0] in met:
                return False
            founders, carriers = mine[0]
            if (
                size != len(founders)
                or invented != size - len(people)
                or (founders & set(shown.groups)) != people
            ):
                return False
            for v in permanent:
                now = shown.holding(group, v)
                if now < carriers[v] or (now > carriers[v] and people != founders):
                    return False
                carriers[v] = now
            met.append(mine[0])
        if any(
            founders & set(shown.groups) and (founders, carriers) not in met
            for founders, carriers in cohorts
        ):
            return False
        cohorts += new
    return True


def cohort_faults(series, permanent):
    """What is said about the cohorts of a series, each release in the order of its groups."""
    cohorts, said = [], []  # [founding members, value -> carriers the last time]
    for number, shown in enumerate(series, 1):
        lasting = [g for g in sorted(shown.rows) if shown.holds_any(g, permanent)]
        members = {p for founders, _ in cohorts for p in founders}
        faults, new = [], []
        if n := sum(g not in lasting for p, g in shown.groups.items() if p in members):
            faults.append(f"{n} member(s) of cohorts stand in groups without a permanent value")
        for g in lasting:
            people, rows = shown.people(g), len(shown.rows[g])
            invented, registered = shown.counterfeits.get(g, 0), shown.registered.get(g, 0)
            now = {v: shown.holding(g, v) for v in permanent}
            mine = [c for c in cohorts if c[0] & people]
            if registered:
                faults.append(
                    f"group {g} holds a permanent value and {registered} registered person(s)"
                    " without a row"
                )
            if not mine:
                new.append([people, now])
                if invented or len(people) != rows:
                    faults.append(
                        f"group {g} is a new cohort of {len(people)} person(s) and has {rows}"
                        f" row(s), {invented} of them counterfeit"
                    )
            elif len(mine) > 1 or people - mine[0][0]:
                faults.append(
                    f"group {g} holds a permanent value and mixes members of a cohort with others"
                )
            else:
                faults += _again(g, mine[0], people, shown, now)
                mine[0][1] |= {v: n for v, n in now.items() if n}
        cohorts += new
        said += [f"release {number}: {fault}" for fault in faults]
    return said


def _again(group, cohort, people, shown, now):
    (founders, before), rows = cohort, len(shown.rows[group])
    invented = shown.counterfeits.get(group, 0)
    absent, lacking = len(founders) - len(people), len(founders & set(shown.groups)) - len(people)
    if lacking:
        yield f"group {group} lacks {lacking} member(s) of its cohort who are in the release"
    if rows != len(founders) or invented != absent:
        yield (
            f"group {group} has {rows} row(s), {invented} of them counterfeit, and its cohort"
            f" {len(founders)} members, {len(people)} of whom are in it"
        )
    for value in sorted(now):
        text = f"group {group} has {now[value]} carrier(s) of a permanent value and had {before[value]}"
        if now[value] < before[value]:
            yield text
        if now[value] > before[value] and absent:
            yield f"{text}, while {absent} member(s) of its cohort are absent"
