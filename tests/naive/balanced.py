# SPDX-License-Identifier: Apache-2.0
"""The slow, obvious balanced cuts: lists, sorting, recursion. Shares no code with the kernel.

A row is a tuple of places; a node is a list of blocks, each a list of row numbers. ``holds(part,
size, node)`` says whether the rows of a part keep what a group of ``size`` rows must. The
``broken`` ones cut as one might who has not thought of the adversary; tests that enumerate worlds
must reject them.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

Holds = Callable[[list[int], int, list[int]], bool]
MANY, DRAWN = 16, 8
Broken = Literal["", "free", "own size", "three eighths", "forgets", "unsure"]


def flat(blocks: Sequence[list[int]]) -> list[int]:
    return [i for block in blocks for i in block]


def lead_of(size: int, unit: int, least: int, sure: Callable[[int], bool]) -> int:
    """How many rows the first of two parts has that need not be equal: the nearest to half of so
    many times a step, which is as large as two thirds allow and as ``sure`` says of the smaller
    part's rows; 0 for none.
    """
    smallest = unit if size >= 2 * unit else least
    steps = [smallest << i for i in range(64) if i == 0 or 3 * (smallest << i) <= 2 * size]
    for step in reversed(steps):
        lead = min(range(0, size + 2 * step, step), key=lambda x: (abs(2 * x - size), -x))
        if min(lead, size - lead) >= least and sure(min(lead, size - lead)):
            return lead
    return 0


def dealt_apart(n: int, unit: int, smallest: int, d: int, most_thirds: int = 27) -> tuple[int, int]:
    """How many of ``n`` rows are dealt out as one part, and the size of its groups."""
    found = []
    for thirds in (t for t in (1, 3, 9, 27) if t <= most_thirds):
        for ways in (thirds << i for i in range(20) if thirds << i <= n // unit):
            for size in (n // ways, (n - smallest) // ways):
                dealt, rest = size * ways, n - size * ways
                if size >= unit and (rest == 0 or min(rest, dealt) >= smallest):
                    halved = next(1 << i for i in range(20) if dealt % (2 << i))
                    width = dealt * (min(size * (1 + 4 / halved), dealt) / dealt) ** (1 / d)
                    if rest > 0:
                        width += rest * (1.3 * unit / rest) ** (1 / d)
                    found.append((width, dealt, size))
    return min(reversed(found), key=lambda each: each[0], default=(0.0, n, n))[1:]


def groups_of(
    rows: Sequence[tuple[float, ...]],
    present: Sequence[int],
    unit: int,
    least: int,
    holds: Holds,
    broken: Broken = "",
    odd: bool = True,
    lots: Sequence[int] | None = None,
) -> list[list[int]]:
    """The groups of the ``present`` rows, as sorted lists of row numbers; rows that are equal on
    all attributes fall in the order in which they are present. ``odd``: parts may differ by a row;
    ``lots``: by which rows are dealt out, where they are.
    """
    attributes, given = range(len(rows[0])), unit
    as_wide = [1.0 for _ in attributes]

    def width(part: list[int], q: int) -> float:
        return max(rows[i][q] for i in part) - min(rows[i][q] for i in part)

    def weights(node: list[int]) -> list[float]:
        """How wide a few rows in turn are, over how wide the node is, by attribute."""
        drawn, found, few = node[:4096], list(as_wide), min(len(node), DRAWN)
        groups = [drawn[i : i + few] for i in range(0, len(drawn) - few + 1, few)]
        for q in attributes:
            if len({rows[i][q] for i in present}) >= MANY and width(node, q) > 0:
                found[q] = sum(width(group, q) for group in groups) / (len(groups) * width(node, q))
        return found

    def share(block: list[int], by: list[int], parts: int, turn: int, lead: int) -> list[list[int]]:
        ordered = sorted(block, key=lambda i: [rows[i][q] for q in by])
        n = len(ordered)
        ends = [0, lead, n] if lead else [n * x // parts for x in range(parts + 1)]
        if broken == "three eighths":
            ends = [0, 3 * n // 8, n]
        if broken == "free" and parts == 2 and n % 2 and turn % 2:
            ends[1] += 1
        pieces = [set(ordered[a:b]) for a, b in pairwise(ends)]
        return [[i for i in block if i in piece] for piece in pieces]

    def ways(size: int, blocks: list[list[int]], unit: int) -> int:
        each = len(blocks[0])
        if broken in ("free", "own size", "three eighths"):
            return 2
        if len(blocks) == 1 and size % (3 * unit) == 0:
            return 3
        if each % 2 == 0:
            return 2
        if each % 3 == 0:
            return 3
        return 2 if odd and len(blocks) == 1 else 0

    def cuts(
        node: list[int],
        blocks: list[list[int]],
        parts: int,
        lead: int = 0,
        weight: Sequence[float] = as_wide,
    ) -> list[list[list[list[int]]]]:
        """All cuts, the one that narrows most first; a cut is a list of parts, a part a list of
        blocks. ``lead``: how many rows the first of two parts has, 0 for half of them; ``weight``:
        how much the width on each attribute counts.
        """
        found, counts = [], [width(node, q) * weight[q] for q in attributes]
        for q in attributes:
            if counts[q] > 0 or not any(counts):
                others = (other for other in attributes if other != q)
                by = [q, *sorted(others, key=lambda other: -counts[other])]
                divided = [share(block, by, parts, turn, lead) for turn, block in enumerate(blocks)]
                cut = [[pieces[x] for pieces in divided] for x in range(parts)]
                if all(piece for part in cut for piece in part):
                    found.append(
                        (
                            sum(
                                sum(width(flat(part), other) for part in cut) * weight[other]
                                for other in attributes
                            ),
                            q,
                            cut,
                        )
                    )
        return [cut for _, _, cut in sorted(found, key=lambda each: each[:2])]

    def turned(node: list[int], lead: int, unit: int) -> list[list[list[list[int]]]]:
        """The cuts of a node of one block after which the part of ``lead`` rows is the wider one, or
        first where both are as wide, or no row is left over.
        """
        unit = unit if len(node) >= 2 * unit else least
        weight = weights(node)
        possible = cuts(node, [node], 2, lead, weight)
        first, last = (
            sum(width(flat(part), q) * weight[q] for q in attributes)
            for part in (possible[0] if possible else [[node], [node]])
        )
        if len(node) % unit == 0 or first >= last:
            return possible
        node = [i for part in possible[0] for i in flat(part)]  # as the first cut left them
        return cuts(node, [node], 2, len(node) - lead, weight)

    def deal(node: list[int], lots: Sequence[int]) -> tuple[list[list[int]], int]:
        by_lot, n, smallest = sorted(node, key=lambda i: lots[i]), len(node), least
        while True:
            many, size = dealt_apart(n, least, smallest, len(attributes))
            if many == n:
                return [node], size
            for turn in range(20):
                first = turn * n // 20
                dealt = {by_lot[(first + i) % n] for i in range(many)}
                parts = [[i for i in node if (i in dealt) == there] for there in (True, False)]
                if all(holds(part, len(part), node) for part in parts):
                    return parts, size
            smallest *= 4

    def grow(
        blocks: list[list[int]], unit: int = unit, deals: bool = lots is not None
    ) -> list[list[int]]:
        node = flat(blocks)
        if holds(node, 0, node):  # nothing that is bounded
            blocks = [node]
        lead = lead_of(
            len(node), unit, least, lambda fewer: broken == "unsure" or holds(node, fewer, node)
        )
        fewer = min(lead, len(node) - lead)
        if lead and len(blocks) == 1 and broken in ("", "unsure"):
            for cut in turned(node, lead, unit)[:1]:
                if all(holds(flat(part), fewer, node) for part in cut):
                    return [group for part in cut for group in grow(part, unit, deals)]
        if deals and lots is not None:
            dealt, unit = deal(node, lots)
            if len(dealt) == 2:
                return [*grow([dealt[0]], unit, False), *grow([dealt[1]], given, True)]
        while True:
            parts = ways(len(node), blocks, unit)
            if parts == 0 or len(node) // parts < least:
                return [sorted(node)]
            possible = cuts(node, blocks, parts)
            if broken != "forgets":
                possible = possible[:1]
            if not possible:
                return [sorted(node)]
            for cut in possible:
                sizes = [len(flat(part)) for part in cut]
                if min(sizes) >= least and all(
                    holds(flat(part), size if broken == "own size" else min(sizes), node)
                    for part, size in zip(cut, sizes, strict=True)
                ):
                    return [group for part in cut for group in grow(part, unit, False)]
            if broken == "forgets" or (len(node) % parts and broken != "free"):
                return [sorted(node)]
            blocks = [block for part in possible[0] for block in part]

    return sorted(grow([list(present)]))
