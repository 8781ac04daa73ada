# SPDX-License-Identifier: Apache-2.0
"""The tuple-partition as Figure 1 of the paper reads, beside ours: how many buckets it makes of
small random tables.

    python experiments/slicing/figure_1.py [--tables 400] [--rows 12 40]

Figure 1 takes buckets from a *queue* and splits each *once*, as in Mondrian: at the median of the
widest attribute. Ours takes them from a *stack*, and tries the next attribute where a split is not
allowed. The check is that of the paper in all four cases: p(t, s), with buckets weighed alike, is
at most 1/l for every tuple of the table. *Ours, as it is* is the method itself, which also weighs
by rows and by counting. Tables have three quasi-identifiers, and columns of two attributes each.
"""

import argparse
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from adult import microdata, publish, show

from phalanx.methods.slicing.method import Slicing

Row = tuple[int, int, int, int]
"""Three quasi-identifiers and the sensitive value."""
Bucket = list[Row]
NAMES = ("a", "b", "c", "s")
VALUES = (8, 4, 2, 4)
L = 2


def drawn(rng: np.random.Generator, rows: int) -> list[Row]:
    """A random table."""
    columns = [rng.integers(0, size, rows).tolist() for size in VALUES]
    return list(zip(*columns, strict=True))


def keeps(table: Sequence[Row], buckets: Sequence[Bucket]) -> bool:
    """Figure 2: whether p(t, s) is at most 1/l for every tuple."""
    held = [
        (
            Counter(row[:2] for row in bucket),
            Counter(row[2] for row in bucket),
            Counter(row[2:] for row in bucket),
            len(bucket),
        )
        for bucket in buckets
    ]
    for a, b, c in {row[:3] for row in table}:
        degree, total = [Fraction(0)] * VALUES[3], Fraction(0)
        for left, right, pairs, size in held:
            matching = Fraction(left[a, b] * right[c], size * size)
            total += matching
            for s in range(VALUES[3]) if matching else ():
                degree[s] += matching * Fraction(pairs[c, s], right[c])
        if max(degree) * L > total:
            return False
    return True


def splits(
    bucket: Bucket, widths: Sequence[int], *, relaxed: bool
) -> Iterator[tuple[Bucket, Bucket]]:
    """A split of a bucket at the median of each attribute, the widest first."""
    spread = [max(row[i] for row in bucket) - min(row[i] for row in bucket) for i in range(3)]
    for i in sorted(range(3), key=lambda i: -Fraction(spread[i], max(widths[i], 1))):
        ordered = sorted(bucket, key=lambda row: row[i])
        if relaxed:
            yield ordered[: len(bucket) // 2], ordered[len(bucket) // 2 :]
            continue
        median = ordered[(len(bucket) - 1) // 2][i]
        ends = (median, median - 1)  # what equals the median goes left, or else right
        halves = [[[row for row in bucket if (row[i] <= end) == left] for left in (True, False)]
                  for end in ends]  # fmt: skip
        yield from ((left, right) for left, right in halves if left and right)


def figure_1(table: list[Row], *, queue: bool, once: bool, relaxed: bool) -> int:
    """How many buckets tuple-partition makes."""
    widths = [max(row[i] for row in table) - min(row[i] for row in table) for i in range(3)]
    waiting, done = deque([table]), list[Bucket]()  # line 1
    while waiting:  # line 2
        bucket = waiting.popleft() if queue else waiting.pop()  # line 3
        for left, right in splits(bucket, widths, relaxed=relaxed):  # line 4
            if left and right and keeps(table, [*waiting, left, right, *done]):  # line 5
                waiting.extend((left, right))  # line 6
                break
            if once:
                done.append(bucket)  # line 7
                break
        else:
            done.append(bucket)
    return len(done)


def as_it_is(table: list[Row], *, relaxed: bool) -> int:
    """How many buckets our method makes."""
    frame = pl.DataFrame(table, schema=NAMES, orient="row").with_columns(pl.col("s").cast(str))
    cuts: Any = "relaxed" if relaxed else "strict"
    method = Slicing(l=L, columns=[["a", "b"], ["c", "s"]], cuts=cuts)
    return publish(method, microdata(NAMES[:3], frame, "s"), 1).form.groups


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=400)
    parser.add_argument("--rows", type=int, nargs="+", default=[12, 40])
    asked = parser.parse_args()
    lines = []
    for rows in asked.rows:
        rng = np.random.default_rng(1)
        tables = [t for t in (drawn(rng, rows) for _ in range(asked.tables)) if keeps(t, [t])]
        for relaxed in (False, True):
            about = [f"{len(tables):,} of {rows} rows", "relaxed" if relaxed else "strict"]
            for queue, once in product((True, False), (True, False)):
                made = [
                    figure_1(table, queue=queue, once=once, relaxed=relaxed) for table in tables
                ]
                ways = ["queue" if queue else "stack", "one" if once else "all"]
                lines.append([*about, *ways, f"{np.mean(made):.2f}"])
            made = [as_it_is(table, relaxed=relaxed) for table in tables]
            lines.append([*about, "ours, as it is", "all", f"{np.mean(made):.2f}"])
    header = ["tables", "cuts", "buckets from a", "attributes tried", "buckets on average"]
    show(f"Random tables that are {L}-diverse in one bucket: buckets made", header, lines)


if __name__ == "__main__":
    main()
