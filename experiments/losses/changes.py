# SPDX-License-Identifier: Apache-2.0
"""Whether an analyst sees changes of the data or of the grouping: changes of counts from release to
release, with groups cut anew each time beside groups that keep the cuts of the release before.

    PHALANX_DATA=FOLDER python experiments/losses/changes.py [--k 10] [--queries 200] [--only NAME]

Series: ``panel`` (``rwm5yr``, 1984 to 1988; needs no folder) and ``acs`` (20,000 rows of
``acs2018_occsal``, 700 of which are replaced at each of four further releases). Of each release
random counts are asked, with a range of about a third of the domain on two quasi-identifiers;
answers spread the rows of a group evenly over its box, as in the papers. Two other ways to answer
were tried where cuts are kept: over the *cells* that the cuts make, which do not move with the rows
in them; and, to compare two years, over *both boxes* of a group that both of them have. *Same*: how
many groups have the cuts that they had in the release before. *Of changes*: the sum over
queries and years of |answered change - true change|, as a part of the sum of true changes; *of
counts*: the median relative error of the counts themselves; *beside*: of changes, beside groups cut
anew at the same places. Cuts are strict ones of Mondrian, *kept* with ``keep_cuts``.

*Values told*: of those who came, how many have a value (education in the panel, occupation in the
census) that follows for sure from what their group has more of than the groups of the release
before, and not from one release alone. Who knows everybody's quasi-identifiers and who was there
knows the groups of every release.
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl
from folders import data_file, show

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.demo import QUASI, RELEASES, panel
from phalanx.methods.base import Memory
from phalanx.methods.mondrian.cut_tree import CUTS, VALUES
from phalanx.methods.mondrian.method import CutAt, Mondrian
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Tables

Ints = npt.NDArray[np.int64]
Boxes = npt.NDArray[np.int64]
"""The first and last code of every group on every attribute, shape (g, d, 2)."""
Path = tuple[tuple[int, int], ...]
"""Which attributes were cut, and which side of each cut it is."""
PLACES: tuple[CutAt, ...] = ("least-width", "median")


@dataclass(frozen=True)
class Series:
    """Tables of persons who come and go."""

    codes: Sequence[Ints]
    """Quasi-identifiers of each release, shape (n, d)."""
    people: Sequence[pl.DataFrame]
    """Person and value of each row of each release."""

    @property
    def sizes(self) -> Ints:
        """How many codes each attribute has."""
        return np.concatenate(self.codes).max(axis=0) + 1


@dataclass(frozen=True)
class Table:
    """Who is in each group of a release, and the values of each group."""

    persons: Sequence[Sequence[int]]
    values: Sequence["Counter[str]"]

    @classmethod
    def of(cls, groups: Sequence[Ints], people: pl.DataFrame) -> "Table":
        person, value = (column.to_list() for column in people.get_columns())
        return cls(
            [[person[row] for row in rows] for rows in groups],
            [Counter(value[row] for row in rows) for rows in groups],
        )


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
    return np.split(codes.astype(np.int64) - 1, np.cumsum([t.height for t in tables])[:-1])


@dataclass(frozen=True)
class Release:
    """The groups of one release."""

    boxes: Boxes
    """Tight ones, as they are published."""
    groups: Sequence[Ints]
    """The rows of each."""
    cells: Mapping[Path, tuple[npt.NDArray[np.int64], int]]
    """By the cuts that lead to a part: what lies between these, shape (d, 2), and the group there;
    empty where cuts are not kept.
    """

    def rows(self) -> Ints:
        """Of each group."""
        return np.array([len(rows) for rows in self.groups])


def cells(state: Tables, sizes: Ints) -> Iterator[tuple[Path, npt.NDArray[np.int64]]]:
    """The parts that kept cuts make of all values."""
    of_attribute = {
        name: state[VALUES].filter(pl.col("attribute") == name)["value"].cast(pl.Int64)
        for name in state[VALUES]["attribute"].unique()
    }
    cuts = list(state[CUTS].iter_rows())
    whole = np.stack([np.zeros_like(sizes), sizes - 1], axis=1)
    waiting: list[tuple[Path, npt.NDArray[np.int64]]] = [((), whole)]
    for name, last in cuts:
        path, box = waiting.pop()
        if name is None:
            yield path, box
            continue
        a, at = int(name), int(of_attribute[name][last])
        low, high = box.copy(), box.copy()
        low[a, 1], high[a, 0] = min(low[a, 1], at), max(high[a, 0], at + 1)
        waiting += [((*path, (a, 1)), high), ((*path, (a, 0)), low)]


def published(releases: Sequence[Ints], sizes: Ints, method: Mondrian) -> Iterator[Release]:
    """Every release of a series."""
    memory = Memory()
    for codes in releases:
        names = [str(a) for a in range(codes.shape[1])]
        data = Microdata.encode(pl.DataFrame(codes, schema=names), Schema(quasi=names))
        draft = method.publish(data, memory, Randomness.seeded(1))
        memory = memory.after(draft, None)
        order = np.argsort(draft.groups, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(draft.groups[order])) + 1)
        ends = [[codes[rows].min(axis=0), codes[rows].max(axis=0)] for rows in groups]
        boxes = np.moveaxis(np.array(ends), 1, 2)
        placed = {}
        for path, cell in cells(memory.state, sizes) if method.keep_cuts else ():
            within = (boxes[:, :, 0] >= cell[:, 0]) & (boxes[:, :, 1] <= cell[:, 1])
            placed[path] = cell, int(np.flatnonzero(within.all(axis=1))[0])
        yield Release(boxes, groups, placed)


def by_cells(release: Release, asked: Boxes) -> npt.NDArray[np.float64]:
    """Counts by rows that are spread over cells."""
    boxes, groups = zip(*release.cells.values(), strict=True)
    return answers(np.array(boxes), release.rows()[list(groups)], asked)


def by_both(before: Release, now: Release, asked: Boxes) -> npt.NDArray[np.float64]:
    """Changes of counts, of a group that both have by the box that holds both of its own."""
    same = before.cells.keys() & now.cells.keys()
    said = []
    for one, other in ((now, before), (before, now)):
        boxes = one.boxes.copy()
        for path in same:
            mine, theirs = boxes[one.cells[path][1]], other.boxes[other.cells[path][1]]
            mine[:, 0] = np.minimum(mine[:, 0], theirs[:, 0])
            mine[:, 1] = np.maximum(mine[:, 1], theirs[:, 1])
        said.append(answers(boxes, one.rows(), asked))
    return said[0] - said[1]


def told(before: Table, now: Table) -> Iterator[bool]:
    """Of each person who came, whether two releases tell a value that this one alone does not.

    Values stay. Who of a group was there before was in certain groups; what the group has more of
    than these had together, those who came must have. A person is told where all who came to the
    group have one and the same value for sure.
    """
    group_of = {person: g for g, persons in enumerate(before.persons) for person in persons}
    for persons, values in zip(now.persons, now.values, strict=True):
        came = [person for person in persons if person not in group_of]
        groups = {group_of[person] for person in persons if person in group_of}
        had = sum((before.values[g] for g in groups), Counter())
        surely = values - had
        alike = surely.total() == len(came) and len(surely) == 1 < len(values)
        yield from [alike] * len(came)


def rwm5yr() -> Series:
    people = panel()
    tables = [people.filter(pl.col("year") == year) for year in RELEASES]
    first = people.sort("year").group_by("id").agg(pl.col("educ").first())  # values stay
    values = [
        t.select("id").join(first, on="id", how="left", maintain_order="left") for t in tables
    ]
    return Series(coded(tables, QUASI), values)


def census() -> Series:
    quasi = ["age", "sex", "education17", "birthplace57"]
    columns = ["row_id", *quasi, "occupation50"]
    pool = pl.read_parquet(data_file("acs2018_occsal.parquet"), columns=columns)
    pool = pool.sample(22_800, seed=1)
    tables = [pool.slice(700 * year, 20_000) for year in range(5)]
    return Series(coded(tables, quasi), [t.select("row_id", "occupation50") for t in tables])


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
        series = SERIES[name]()
        asked = queries(series.sizes, given.queries)
        true = np.stack(
            [answers(np.stack([c, c], axis=2), np.ones(len(c)), asked) for c in series.codes]
        )
        true_changes = np.diff(true, axis=0)

        def wrong(changes: npt.NDArray[np.float64], real: npt.NDArray[np.float64]) -> float:
            return float(np.abs(changes - real).sum() / np.abs(real).sum())

        for cut_at in PLACES:
            anew = 0.0
            for kept in (False, True):
                method = Mondrian(k=given.k, cuts="strict", cut_at=cut_at, keep_cuts=kept)
                made = list(published(series.codes, series.sizes, method))
                tables = [
                    Table.of(release.groups, people)
                    for release, people in zip(made, series.people, strict=True)
                ]
                came = [one for pair in pairwise(tables) for one in told(*pair)]
                said = {
                    "kept" if kept else "anew": [answers(r.boxes, r.rows(), asked) for r in made]
                }
                same = ""
                if kept:
                    said["kept, by cells"] = [by_cells(r, asked) for r in made]
                    both = [len(a.cells.keys() & b.cells.keys()) for a, b in pairwise(made)]
                    same = f"{sum(both) / sum(len(r.cells) for r in made[1:]):.0%}"
                groups = f"{np.mean([len(r.groups) for r in made]):.0f}"
                for way, of_all in said.items():
                    found = np.stack(of_all)
                    changes = wrong(np.diff(found, axis=0), true_changes)
                    of_counts = np.median((np.abs(found - true) / np.maximum(true, 1))[true > 0])
                    anew = anew if kept else changes
                    beside = f"{changes / anew - 1:+.0%}" if kept else ""
                    known = f"{sum(came):,} of {len(came):,}" if way in ("anew", "kept") else ""
                    cells_ = [groups, same, f"{changes:.2f}", beside, f"{of_counts:.1%}", known]
                    rows.append([name, cut_at, way, *cells_])
                if kept:
                    found = np.stack([by_both(*pair, asked) for pair in pairwise(made)])
                    changes = wrong(found, true_changes)
                    cells_ = [groups, same, f"{changes:.2f}", f"{changes / anew - 1:+.0%}", "", ""]
                    rows.append([name, cut_at, "kept, by both boxes", *cells_])
    header = [
        "series",
        "cuts",
        "",
        "groups",
        "same",
        "error of changes",
        "beside",
        "error of counts",
    ]
    show([*header, "values told"], rows)


if __name__ == "__main__":
    main()
