# SPDX-License-Identifier: Apache-2.0
"""Whether an analyst sees changes of the data or of the grouping: changes of counts from release to
release, with groups cut anew each time beside groups that keep the cuts of the first release.

    PHALANX_DATA=FOLDER python experiments/losses/changes.py [--k 10] [--queries 200] [--only NAME]

Series: ``panel`` (``rwm5yr``, 1984 to 1988; needs no folder) and ``acs`` (20,000 rows of
``acs2018_occsal``, 700 of which are replaced at each of four further releases). Of each release
random counts are asked, with a range of about a third of the domain on two quasi-identifiers;
answers spread the rows of a group evenly over its box, as in the papers. *Of changes*: the sum over
queries and years of |answered change - true change|, as a part of the sum of true changes; *of
counts*: the median relative error of the counts themselves.

Ways: ``anew``, what Mondrian does by itself; ``kept, tight``: rows go down the cuts of the release
before, a box without k rows is joined with its sister and one with 2k or more is cut further, and
what is published is the tight box; ``kept, whole``: the same, and what is published is the part of
the domain that the cuts leave, which stays the same where the cuts do. Cuts are at medians and see
quasi-identifiers alone. No option of a method: kept cuts tell that somebody was there before.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import polars as pl
from folders import data_file, show

from phalanx.demo import QUASI, RELEASES, panel

Ints = npt.NDArray[np.int64]
Boxes = npt.NDArray[np.int64]
"""The first and last code of every group on every attribute, shape (g, d, 2)."""


@dataclass
class Node:
    """A part of the domain, and how it is cut, if it is."""

    box: Boxes
    """Shape (d, 2)."""
    attribute: int = -1
    last: int = -1
    """The greatest code on the left."""
    sides: list["Node"] = field(default_factory=list)


def grow(node: Node, codes: Ints, k: int) -> Iterator[tuple[Boxes, Ints]]:
    """The groups of these rows (n, d) below a node, each with its part of the domain; cuts that
    are there are kept where both sides have k rows, and missing ones are made.
    """
    if node.sides:
        left = codes[:, node.attribute] <= node.last
        if min(left.sum(), (~left).sum()) >= k:
            yield from grow(node.sides[0], codes[left], k)
            yield from grow(node.sides[1], codes[~left], k)
            return
        node.sides = []
    width = np.diff(node.box, axis=1).ravel()
    spread = (codes.max(axis=0) - codes.min(axis=0)) / np.maximum(SIZES["now"] - 1, 1)
    for a in np.argsort(-spread, kind="stable").tolist() if len(codes) >= 2 * k else ():
        middle = int(np.sort(codes[:, a])[(len(codes) - 1) // 2])
        for last in (middle, middle - 1):
            left = codes[:, a] <= last
            if width[a] and min(left.sum(), (~left).sum()) >= k:
                low, high = node.box.copy(), node.box.copy()
                low[a, 1], high[a, 0] = last, last + 1
                node.attribute, node.last, node.sides = a, last, [Node(low), Node(high)]
                yield from grow(node.sides[0], codes[left], k)
                yield from grow(node.sides[1], codes[~left], k)
                return
    yield node.box, codes


SIZES: dict[str, Ints] = {}
"""How many codes each attribute of the series has."""


def answers(boxes: Boxes, rows: Ints, asked: Boxes) -> npt.NDArray[np.float64]:
    """The counts of queries (q, d, 2) by groups of so many rows, spread evenly over their boxes."""
    found = np.zeros(len(asked))
    width = boxes[:, :, 1] - boxes[:, :, 0] + 1
    for i, query in enumerate(asked):
        inside = np.minimum(boxes[:, :, 1], query[:, 1]) - np.maximum(boxes[:, :, 0], query[:, 0])
        found[i] = (rows * np.prod(np.maximum(inside + 1, 0) / width, axis=1)).sum()
    return found


def queries(sizes: Ints, number: int, seed: int = 1) -> Boxes:
    """Ranges of about a third of the domain on two attributes, all values of the others."""
    rng = np.random.default_rng(seed)
    asked = np.tile(np.stack([np.zeros_like(sizes), sizes - 1], axis=1), (number, 1, 1))
    for query in asked:
        for a in rng.choice(len(sizes), 2, replace=False):
            length = max(1, int(sizes[a]) // 3)
            query[a, 0] = rng.integers(0, sizes[a] - length + 1)
            query[a, 1] = query[a, 0] + length - 1
    return asked


def coded(tables: Sequence[pl.DataFrame], quasi: Sequence[str]) -> list[Ints]:
    """The codes of every release, in the order of all values that occur."""
    together = pl.concat([table.select(quasi) for table in tables])
    codes = np.stack([together[name].rank("dense").to_numpy() for name in quasi], axis=1)
    SIZES["now"] = codes.max(axis=0).astype(np.int64)
    return np.split(codes.astype(np.int64) - 1, np.cumsum([t.height for t in tables])[:-1])


def published(releases: Sequence[Ints], k: int, way: str) -> Iterator[tuple[Boxes, Ints]]:
    """The boxes of every release and how many rows each has."""
    whole = np.stack([np.zeros_like(SIZES["now"]), SIZES["now"] - 1], axis=1)
    root = Node(whole)
    for codes in releases:
        root = Node(whole) if way == "anew" else root
        groups = list(grow(root, codes, k))
        tight = [np.stack([rows.min(axis=0), rows.max(axis=0)], axis=1) for _, rows in groups]
        boxes = tight if way != "kept, whole" else [box for box, _ in groups]
        yield np.stack(boxes), np.array([len(rows) for _, rows in groups])


def rwm5yr() -> list[Ints]:
    people = panel()
    return coded([people.filter(pl.col("year") == year) for year in RELEASES], QUASI)


def census() -> list[Ints]:
    quasi = ["age", "sex", "education17", "birthplace57"]
    pool = pl.read_parquet(data_file("acs2018_occsal.parquet"), columns=quasi)
    pool = pool.sample(22_800, seed=1)
    return coded([pool.slice(700 * year, 20_000) for year in range(5)], quasi)


SERIES = {"panel": rwm5yr, "acs": census}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--only", choices=SERIES)
    given = parser.parse_args()
    rows = []
    for name in [given.only] if given.only else SERIES:
        releases = SERIES[name]()
        asked = queries(SIZES["now"], given.queries)
        true = np.stack(
            [answers(np.stack([c, c], axis=2), np.ones(len(c)), asked) for c in releases]
        )
        for way in ("anew", "kept, tight", "kept, whole"):
            made = list(published(releases, given.k, way))
            said = np.stack([answers(*groups, asked) for groups in made])
            change = np.abs(np.diff(said, axis=0) - np.diff(true, axis=0)).sum()
            of_counts = np.median((np.abs(said - true) / np.maximum(true, 1))[true > 0])
            groups = np.mean([len(boxes) for boxes, _ in made])
            error = change / np.abs(np.diff(true, axis=0)).sum()
            rows.append([name, way, f"{groups:.0f}", f"{error:.2f}", f"{of_counts:.1%}"])
    show(["series", "cuts", "groups", "error of changes", "error of counts"], rows)


if __name__ == "__main__":
    main()
