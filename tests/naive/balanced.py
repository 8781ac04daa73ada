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
Broken = Literal["", "free", "own size", "three eighths", "forgets"]


def flat(blocks: Sequence[list[int]]) -> list[int]:
    return [i for block in blocks for i in block]


def groups_of(
    rows: Sequence[tuple[float, ...]],
    present: Sequence[int],
    unit: int,
    least: int,
    holds: Holds,
    broken: Broken = "",
) -> list[list[int]]:
    """The groups of the ``present`` rows, as sorted lists of row numbers; rows that are equal on
    all attributes fall in the order of their numbers.
    """
    attributes = range(len(rows[0]))

    def width(part: list[int], q: int) -> float:
        return max(rows[i][q] for i in part) - min(rows[i][q] for i in part)

    def share(block: list[int], by: list[int], parts: int, turn: int) -> list[list[int]]:
        ordered = sorted(block, key=lambda i: [rows[i][q] for q in by])
        n = len(ordered)
        ends = [n * x // parts for x in range(parts + 1)]
        if broken == "three eighths":
            ends = [0, 3 * n // 8, n]
        if broken == "free" and parts == 2 and n % 2 and turn % 2:
            ends[1] += 1
        return [ordered[a:b] for a, b in pairwise(ends)]

    def ways(size: int, blocks: list[list[int]]) -> int:
        each = len(blocks[0])
        if broken in ("free", "three eighths"):
            return 2
        if 3 * unit <= size < 4 * unit and (len(blocks) == 1 or each % 3 == 0):
            return 3
        if len(blocks) == 1 or each % 2 == 0:
            return 2
        return 3 if each % 3 == 0 else 0

    def cuts(node: list[int], blocks: list[list[int]], parts: int) -> list[list[list[list[int]]]]:
        """All cuts, the one that narrows most first; a cut is a list of parts, a part a list of
        blocks.
        """
        found = []
        for q in attributes:
            if width(node, q) > 0 or not any(width(node, other) > 0 for other in attributes):
                by = [
                    q,
                    *sorted(
                        (other for other in attributes if other != q),
                        key=lambda other: -width(node, other),
                    ),
                ]
                divided = [share(block, by, parts, turn) for turn, block in enumerate(blocks)]
                cut = [[pieces[x] for pieces in divided] for x in range(parts)]
                if all(piece for part in cut for piece in part):
                    found.append(
                        (
                            sum(width(flat(part), other) for part in cut for other in attributes),
                            q,
                            cut,
                        )
                    )
        return [cut for _, _, cut in sorted(found, key=lambda each: each[:2])]

    def grow(blocks: list[list[int]]) -> list[list[int]]:
        node = flat(blocks)
        while True:
            parts = ways(len(node), blocks)
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
                    return [group for part in cut for group in grow(part)]
            if broken == "forgets" or (len(node) % parts and broken != "free"):
                return [sorted(node)]
            blocks = [block for part in possible[0] for block in part]

    return sorted(grow([list(present)]))
