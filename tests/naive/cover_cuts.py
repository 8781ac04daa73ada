# SPDX-License-Identifier: Apache-2.0
"""Mondrian with cuts chosen by what mutual cover will cost, slow and obvious: lists, recursion.
Shares no code with the kernel.

A row is a tuple of codes; ``places[a][code]`` is where a code lies; a principle says of a list of
sensitive values whether they may stand together.
"""

from collections.abc import Sequence

from naive.mondrian import Principle


def cover_cost(values: Sequence[float], tuples: int) -> float:
    """Each value in order and the one ``tuples`` - 1 places further on: how far they are apart, at
    most 1 each, summed.
    """
    ordered = sorted(values)
    return sum(
        min(ordered[i + tuples - 1] - ordered[i], 1.0) for i in range(len(ordered) - tuples + 1)
    )


def groups_of(
    rows: Sequence[tuple[int, ...]],
    places: Sequence[Sequence[float]],
    sensitive: Sequence[int],
    principle: Principle,
    tuples: int,
) -> list[list[int]]:
    """The groups, as lists of row numbers; of each attribute the first allowed of two cuts, of
    these the one after which both sides cost least.
    """

    def cost(node: list[int]) -> float:
        return sum(
            cover_cost([places[a][rows[i][a]] for i in node], tuples) for a in range(len(places))
        )

    def split(node: list[int]) -> list[list[int]]:
        best = None
        for a in range(len(places)):
            codes = sorted(rows[i][a] for i in node)
            median = codes[(len(codes) - 1) // 2]
            after = (
                [i for i in node if rows[i][a] <= median],
                [i for i in node if rows[i][a] > median],
            )
            before = (
                [i for i in node if rows[i][a] < median],
                [i for i in node if rows[i][a] >= median],
            )
            for sides in (after, before):
                if all(side and principle([sensitive[i] for i in side]) for side in sides):
                    if best is None or sum(map(cost, sides)) < best[0]:
                        best = sum(map(cost, sides)), sides
                    break
        return [node] if best is None else split(best[1][0]) + split(best[1][1])

    return split(list(range(len(rows))))
