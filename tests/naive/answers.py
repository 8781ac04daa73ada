# SPDX-License-Identifier: Apache-2.0
"""What a query can come to in any table that a generalized release of whole numbers with tight boxes
leaves possible, by making all of them. Shares no code with the source.
"""

from itertools import product


def worlds(rows, quasi):
    """The rows that each group can have been made of, group by group: numbers within the box, a row
    at each of its ends; what is not in a box is as it is published.
    """
    groups = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    made = []
    for members in groups.values():
        columns = []
        for name in quasi:
            low, high = members[0][f"{name}_low"], members[0][f"{name}_high"]
            among = product(range(low, high + 1), repeat=len(members))
            columns.append([each for each in among if {low, high} <= set(each)])
        made.append(
            [
                [
                    row | {name: numbers[i] for name, numbers in zip(quasi, each, strict=True)}
                    for i, row in enumerate(members)
                ]
                for each in product(*columns)
            ]
        )
    return made


def extremes(groups, holds, of=None, *, mean=False):
    """The least and the greatest count of the rows for which ``holds``, sum of a number of theirs,
    or mean of it; None where no table has a mean.
    """
    reached = {(0, 0)}
    for tables in groups:
        parts = set()
        for table in tables:
            inside = [row for row in table if holds(row)]
            parts.add((len(inside), sum(row[of] for row in inside) if of else 0))
        reached = {(n + m, s + t) for n, s in reached for m, t in parts}
    figures = [s / n if mean else s if of else n for n, s in reached if n or not mean]
    return (min(figures), max(figures)) if figures else None
