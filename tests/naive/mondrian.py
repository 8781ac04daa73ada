# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious Mondrian: lists, fractions, recursion. Shares no code with the kernel.

A row is a tuple of codes; ``places[a][code]`` is where a code lies, a whole number; a principle says of a
list of sensitive values whether they may stand together as a group.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import prod

import numpy as np

Principle = Callable[[list[int]], bool]


def whole(places: Sequence[Sequence[float]]) -> list[list[int]]:
    """Places in [0, 1] as whole numbers, rounded, each above the one before; widths of these are
    added up exactly.
    """
    lines: list[list[int]] = []
    for line in places:
        lines.append([])
        for place in line:
            rounded = round(place * (2**30 // len(places)))
            lines[-1].append(max([rounded, *(before + 1 for before in lines[-1][-1:])]))
    return lines


def groups_of(
    rows: Sequence[tuple[int, ...]],
    places: Sequence[Sequence[int]],
    sensitive: Sequence[int],
    principle: Principle,
    *,
    relaxed: bool = False,
    least: int | None = None,
    compared: int = 256,
    at_last: bool = False,
) -> list[list[int]]:
    """The groups, as lists of row numbers.

    ``least``: the size of which no part may be smaller, where cuts of least width come first, in
    nodes of at most ``compared`` times as many rows; None where all cuts are at medians.
    ``at_last``: rows of one value are cut only where no other cut of any attribute is allowed.
    """

    def allowed(node: list[int]) -> bool:
        return len(node) > 0 and principle([sensitive[i] for i in node])

    def halves(node: list[int], a: int) -> list[tuple[list[int], list[int]]]:
        """The cuts to try on an attribute, in order."""
        values = sorted(rows[i][a] for i in node)
        median = values[(len(values) - 1) // 2]
        ordered = sorted(node, key=lambda i: rows[i][a]) if relaxed else node
        even = (ordered[: len(node) // 2], ordered[len(node) // 2 :])
        if relaxed and least is None:
            return [even]
        return [
            (
                [i for i in ordered if rows[i][a] <= median],
                [i for i in ordered if rows[i][a] > median],
            ),
            (
                [i for i in ordered if rows[i][a] < median],
                [i for i in ordered if rows[i][a] >= median],
            ),
            *([even] if relaxed else []),
        ]

    def cost(part: list[int]) -> float:
        """Its size, which counts the less the more attributes there are, times its width."""
        width = sum(
            max(place[row[a]] for row in mine) - min(place[row[a]] for row in mine)
            for mine in [[rows[i] for i in part]]
            for a, place in enumerate(places)
        )
        return float(width * np.power(np.array([len(part)]), 1 - 1 / (2 * len(places)))[0])

    def narrowest(node: list[int]) -> list[tuple[list[int], list[int]]]:
        """The best cut of each attribute, the best first."""
        if least is None or len(node) > compared * least:
            return []
        found = []
        for a in range(len(places)):
            ordered = sorted(node, key=lambda i: rows[i][a])
            offered = []
            for i in range(least, len(node) - least + 1):
                left, right = ordered[:i], ordered[i:]
                if rows[left[-1]][a] < rows[right[0]][a] or (
                    relaxed and rows[left[0]][a] < rows[right[-1]][a]
                ):
                    offered.append((cost(left) + cost(right), a, i, left, right))
            if offered:
                found.append(min(offered))
        return [(left, right) for *_, left, right in sorted(found)]

    def drawn(node: list[int], a: int) -> float:
        """How wide a node is on an attribute of many codes, by eight of its rows drawn at random."""
        codes = sorted(rows[i][a] for i in node)
        low, high, place = codes[0], codes[-1], places[a]
        if len(place) < 16:
            return float(place[high] - place[low])
        domain = max(64, *(len(line) + 1 for line in places))
        step = 1
        while (high - low) // step >= min(domain, 2 * len(codes) + 64):
            step *= 2
        width, edges = 0.0, [*range(low, high + 1, step), high]
        for before, code in pairwise(edges):
            edge = code if code != high or step == 1 else edges[-2]
            share = sum(v < edge for v in codes) / len(codes)
            lower, upper = share * share * share * share, 1 - share
            upper = upper * upper * upper * upper
            width += (place[code] - place[before]) * (1 - lower * lower - upper * upper)
        return width

    def split(node: list[int]) -> list[list[int]]:
        for left, right in narrowest(node):
            if allowed(left) and allowed(right):
                return split(left) + split(right)
        spread = []
        for a in range(len(places)):
            low, high = min(rows[i][a] for i in node), max(rows[i][a] for i in node)
            if low < high:
                spread.append((-(places[a][high] - places[a][low]), a))
        by_ends = [halves(node, a) for _, a in sorted(spread)]
        if least is not None and 0 < compared * least < len(node):
            spread = [(-drawn(node, a), a) for _, a in spread]
        offered = [halves(node, a) for _, a in sorted(spread)]
        if at_last:
            offered = [*(cuts[:2] for cuts in offered), *(cuts[2:] for cuts in by_ends)]
        for cuts in offered:
            for left, right in cuts:
                if allowed(left) and allowed(right):
                    return split(left) + split(right)
        return [node]

    return split(list(range(len(rows))))


def at_least(k: int) -> Principle:
    return lambda group: len(group) >= k


def frequency(l: Fraction) -> Principle:
    return lambda group: Fraction(max(Counter(group).values()), len(group)) <= 1 / l


def distinct(l: Fraction) -> Principle:
    return lambda group: len(set(group)) >= l


def entropy(l: Fraction) -> Principle:
    """-sum (r/n) ln(r/n) >= ln l, raised to the n-th power: l^n * prod r^r <= n^n, in whole
    numbers.
    """
    return lambda group: (
        l ** len(group) * prod(r**r for r in Counter(group).values()) <= len(group) ** len(group)
    )


def recursive(c: Fraction, l: int) -> Principle:
    def holds(group: list[int]) -> bool:
        falling = sorted(Counter(group).values(), reverse=True)
        return falling[0] < c * sum(falling[l - 1 :])

    return holds


def closeness(
    t: Fraction, table: Sequence[int], distance: str, paths: Sequence[Sequence[str]] = ()
) -> Principle:
    """``paths[value]``: its nodes from the leaf to the root, for the hierarchical distance."""
    return lambda group: apart(group, table, distance, paths) <= t


def apart(
    group: Sequence[int], table: Sequence[int], distance: str, paths: Sequence[Sequence[str]] = ()
) -> Fraction:
    """The distance between the sensitive distributions of a group and the table; with ``paths``,
    all their leaves are values, used or not.
    """
    values = list(range(len(paths))) if paths else sorted(set(table))
    p = [Fraction(list(group).count(v), len(group)) for v in values]
    q = [Fraction(list(table).count(v), len(table)) for v in values]
    if distance == "equal":
        return sum((abs(a - b) for a, b in zip(p, q, strict=True)), Fraction(0)) / 2
    if distance == "ordered":
        if len(values) == 1:
            return Fraction(0)
        return sum(
            (
                abs(sum(p[: i + 1], Fraction(0)) - sum(q[: i + 1], Fraction(0)))
                for i in range(len(values))
            ),
            Fraction(0),
        ) / (len(values) - 1)
    return _moved([a - b for a, b in zip(p, q, strict=True)], [paths[v] for v in values])


def _moved(extra: list[Fraction], paths: list[Sequence[str]]) -> Fraction:
    """t-Closeness paper, section 4.2.2: at each inner node, what its children must exchange, times
    the node's height over the tree's.
    """
    height = len(paths[0]) - 1
    cost = Fraction(0)
    for level in range(1, height + 1):
        for node in {path[level] for path in paths}:
            below = [i for i, path in enumerate(paths) if path[level] == node]
            children = [
                sum(extra[i] for i in below if paths[i][level - 1] == child)
                for child in {paths[i][level - 1] for i in below}
            ]
            cost += Fraction(level, height) * min(
                sum(x for x in children if x > 0), -sum(x for x in children if x < 0)
            )
    return cost
