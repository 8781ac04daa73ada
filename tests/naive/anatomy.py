# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious anatomy: lists, sorted anew for every group. Shares no code with the kernel.

``values[row]`` is a row's sensitive value, ``shuffled`` the rows in random order, ``pick(bound)`` a
random whole number below a bound.
"""

from collections.abc import Callable, Sequence


def groups_of(
    values: Sequence[int], shuffled: Sequence[int], size: int, pick: Callable[[int], int]
) -> list[list[int]]:
    """The groups as lists of row numbers, in the order in which they are formed; residue rows come
    last in theirs.
    """
    waiting: dict[int, list[int]] = {}
    for row in shuffled:
        waiting.setdefault(values[row], []).append(row)
    ranked = sorted(sorted(waiting), key=lambda v: -len(waiting[v]))
    groups = []
    while sum(1 for v in ranked if waiting[v]) >= size:
        ranked.sort(key=lambda v: -len(waiting[v]))
        fewest = len(waiting[ranked[size - 1]])
        sure = [v for v in ranked if len(waiting[v]) > fewest]
        tied = [v for v in ranked if len(waiting[v]) == fewest]
        rest = [v for v in ranked if len(waiting[v]) < fewest]
        wanted = size - len(sure)
        if wanted < len(tied):
            for done in range(wanted):
                i, j = pick(len(tied) - done), len(tied) - 1 - done
                tied[i], tied[j] = tied[j], tied[i]
        taken = sure + tied[len(tied) - wanted :]
        groups.append([waiting[v].pop(0) for v in taken])
        ranked = sure + tied + rest
    for v in sorted(waiting):
        for row in waiting[v]:
            free = [group for group in groups if all(values[other] != v for other in group)]
            free[pick(len(free))].append(row)
    return groups
