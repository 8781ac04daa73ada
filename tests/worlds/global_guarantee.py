# SPDX-License-Identifier: Apache-2.0
"""Every possible world of a small series of groups, counted: who was ever linked to what (Wong et
al., ICDE 2010, Section III).

An adversary knows who is in which group of which release (registered persons without a row too),
who of a cohort is absent and stood in for by a counterfeit, and the rows of every group. A world
gives every row of every group to a different one of its members, or to one of the group's nobodies;
a member who gets none has none. Worlds that differ in who has what are different, and equally
likely. Where some values are permanent, a world keeps them: whoever has one and is there later has
it again, and what stands in for somebody absent shows exactly the permanent values that they have.
"""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import factorial, prod

NO_ROW = None


@dataclass(frozen=True)
class Group:
    """``there``: members who are in the release; ``rows``: what is published, a set of values each;
    ``absent``: members who are stood in for.
    """

    there: tuple
    rows: tuple
    absent: tuple = ()
    nobody: int = 0


def ways(group):
    """In how many different ways its rows can be given to its members."""
    n = len(group.there) + len(group.absent) + group.nobody
    return factorial(n) // prod(
        factorial(k) for k in [n - len(group.rows), *Counter(group.rows).values()]
    )


@lru_cache(maxsize=500)
def shares(group):
    """All different ways to give a group's rows to its members: (person, whether they are there,
    their set of values or NO_ROW) for each.
    """
    places = [
        *((p, True) for p in group.there),
        *((p, False) for p in group.absent),
        *[(None, False)] * group.nobody,
    ]
    found = []

    def give(i, left, given):
        if i == len(places):
            found.append(tuple(given))
            return
        for row in [row for row, n in left.items() if n]:
            give(i + 1, left - Counter([row]), [*given, (*places[i], row)])

    give(0, Counter(group.rows) + Counter({NO_ROW: len(places) - len(group.rows)}), [])
    return found


def is_possible(person, there, row, has, permanent):
    """Whether somebody who ``has`` permanent values may have this row."""
    if person is None or row is NO_ROW:
        return True
    shown = row & permanent
    return has <= shown if there else has == shown


def worlds(series, permanent=frozenset(), person=None):
    """Counter of (who has which permanent values at the end, what ``person`` was ever linked to)
    over all worlds of the series.
    """
    total = Counter({(frozenset(), frozenset()): 1})
    for release in series:
        for group in release:
            joined = Counter()
            for given in shares(group):
                for (carried, linked), n in total.items():
                    has = {p: frozenset(v for q, v in carried if q == p) for p, _, _ in given}
                    if all(
                        is_possible(p, there, row, has[p], permanent) for p, there, row in given
                    ):
                        now = carried | {
                            (p, v)
                            for p, there, row in given
                            if there and row is not NO_ROW
                            for v in row & permanent
                        }
                        mine = linked | {
                            v
                            for p, there, row in given
                            if there and p == person and row is not NO_ROW
                            for v in row
                        }
                        joined[now, mine] += n
            total = joined
    return total


def ever_linked(series, person, values, permanent=frozenset()):
    """Value -> the share of worlds in which ``person`` was linked to it in at least one release;
    None if there is no world at all.
    """
    found = worlds(series, permanent, person)
    total = sum(found.values())
    return (
        {
            v: Fraction(sum(n for (_, linked), n in found.items() if v in linked), total)
            for v in values
        }
        if total
        else None
    )
