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
