# SPDX-License-Identifier: Apache-2.0
"""Small tables, their random output tables, and rows drawn from them by following the law, for
tests of whatever checks mutual cover.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from naive import mutual_cover as naive
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.guarantees.mutual_cover.guarantee import MutualCover
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.folder import Release
from phalanx.release.forms.perturbed import Perturbed, perturb
from phalanx.release.manifest import Manifest

NAMES = ("age", "sex", "town")


@dataclass(frozen=True)
class World:
    """A table in groups, what each row is drawn from, and what came out."""

    frame: pl.DataFrame
    group: list[int]
    """Of every row of the table."""
    tables: list[list[list[list[int]]]]
    """``tables[g][a]``: units of group g on attribute a."""
    classes: list[tuple[int, ...]]
    """Of every row, in its group."""
    whole: int
    changes: int
    order: tuple[int, ...]
    drawn: list[tuple[int, ...]]
    """The classes that every row shows."""

    @property
    def names(self) -> list[str]:
        return [c for c in self.frame.columns if c in NAMES]

    @cached_property
    def microdata(self) -> Microdata:
        return Microdata.encode(
            self.frame,
            Schema(identifier="who", quasi=self.names, sensitive="ill", missing="value"),
            PersonKey(bytes(32)),
        )

    def outcomes(self, row: int) -> Counter[tuple[int, ...]]:
        """With which probability each row comes out, by every way that it can go."""
        tables, own = self.tables[self.group[row]], self.classes[row]
        return naive.coupled(tables, self.whole, own, self.order, self.changes)

    @property
    def share(self) -> Fraction:
        """The largest share of one tuple in a value, by the tables."""
        found = Fraction(0)
        for g, tables in enumerate(self.tables):
            rows = [i for i, at in enumerate(self.group) if at == g]
            for a, table in enumerate(tables):
                units = [table[self.classes[i][a]] for i in rows]
                given = [[Fraction(n, self.whole) for n in row] for row in units]
                found = max(found, naive.largest_share(given))
        return found

    def publish(self, drawn: Sequence[tuple[int, ...]] | None = None) -> "Published":
        """The release of what was drawn, with all the evidence."""
        microdata, names = self.microdata, self.names
        values = [_values(self, g) for g in range(len(self.tables))]
        shown = [
            [values[g][a][j] for a, j in enumerate(row)]
            for g, row in zip(self.group, drawn or self.drawn, strict=True)
        ]
        codes = {
            n: np.array([row[a] for row in shown], dtype=np.int32) for a, n in enumerate(names)
        }
        form, rows = perturb(microdata, codes, Randomness.secure().stream("test"))
        group = np.empty(len(rows), np.int64)
        group[rows - 1] = self.group
        flat = [table for tables in self.tables for table in tables]
        counts = [
            Counter(self.classes[i][a] for i, at in enumerate(self.group) if at == g)
            for g, tables in enumerate(self.tables)
            for a in range(len(tables))
        ]
        outputs = OutputTables(
            attributes=tuple(names),
            group=group,
            of=np.arange(len(flat), dtype=np.int64).reshape(len(self.tables), len(names)),
            starts=np.concatenate([[0], np.cumsum([len(table) for table in flat])]).astype(
                np.int64
            ),
            counts=np.array(
                [
                    count[j]
                    for count, table in zip(counts, flat, strict=True)
                    for j in range(len(table))
                ],
                dtype=np.int64,
            ),
            units=np.array(
                [units for table in flat for row in table for units in row], dtype=np.int64
            ),
            denominator=self.whole,
            changes=self.changes,
            order=self.order,
        )
        return Published(released(form), microdata, rows, outputs)


@dataclass(frozen=True)
class Published:
    """A release and what may be laid beside it."""

    release: Release
    microdata: Microdata
    rows: np.ndarray
    outputs: OutputTables

    @property
    def form(self) -> Perturbed:
        form = self.release.form
        assert isinstance(form, Perturbed)
        return form

    @property
    def evidence(self) -> Evidence:
        return Evidence(microdata={1: self.microdata}, rows={1: self.rows}, parts={1: self.outputs})

    def verdicts(self, promise: MutualCover, evidence: Evidence | None = None) -> dict[str, object]:
        """What a promise finds, by part."""
        return {
            v.name.split(": ")[-1]: v
            for v in promise.check(
                self.release, evidence=self.evidence if evidence is None else evidence
            )
        }

    def with_table(self, table: pl.DataFrame) -> "Published":
        """The same with another published table."""
        return replace(self, release=released(replace(self.form, table=table)))


def released(form: Perturbed, guarantees: Sequence[MutualCover] = ()) -> Release:
    """A form with a manifest and no folder."""
    said = {
        "series": "s",
        "number": 1,
        "method": {"name": "by hand"},
        "guarantees": [g.parameters() for g in guarantees],
        "boxes": "exact",
    }
    manifest = Manifest(
        form="perturbed",
        attributes=list(form.attributes),
        rows=form.rows,
        groups=0,
        counterfeits=0,
        files=[],
        **said,
    )
    return Release(manifest, form, Path("nowhere"))


def _values(world: World, g: int) -> list[list[int]]:
    """By attribute: the codes of a group's values, ascending."""
    rows = [i for i, at in enumerate(world.group) if at == g]
    return [
        sorted({int(world.microdata.columns[name].codes[i]) for i in rows}) for name in world.names
    ]


def generated(seed: int, *, changes: int = 1, whole: int = 12) -> World:
    """One to three groups of two to five people with two or three attributes; tables at random,
    with many cells of 0.
    """
    rng = np.random.default_rng([seed, False, changes, whole])
    names = NAMES[: max(changes, int(rng.integers(2, 4)))]
    sizes = rng.integers(2, 6, int(rng.integers(1, 4)))
    group = np.repeat(np.arange(len(sizes)), sizes)
    rng.shuffle(group)
    n = len(group)
    values = {"age": [None, 30, 31, 40], "sex": ["F", "M"], "town": ["Aachen", "Bonn", None]}
    frame = pl.DataFrame(
        {"who": range(n)}
        | {
            name: [values[name][rng.integers(len(values[name]))] for _ in range(n)]
            for name in names
        }
        | {"ill": [["flu", "gout", "rash"][rng.integers(3)] for _ in range(n)]},
        schema={"who": pl.Int64}
        | {name: pl.Int64 if name == "age" else pl.String for name in names}
        | {"ill": pl.String},
    )
    microdata = Microdata.encode(
        frame,
        Schema(identifier="who", quasi=list(names), sensitive="ill", missing="value"),
        PersonKey(bytes(32)),
    )
    codes = np.stack([microdata.columns[name].codes for name in names], axis=1)
    tables, classes = [], [()] * n
    for g in range(len(sizes)):
        own = [np.unique(codes[group == g, a], return_inverse=True) for a in range(len(names))]
        for i, row in zip(
            np.flatnonzero(group == g),
            np.stack([at.ravel() for _, at in own], axis=1).tolist(),
            strict=True,
        ):
            classes[i] = tuple(row)
        tables.append([[_row(rng, len(distinct), whole) for _ in distinct] for distinct, _ in own])
    order = tuple(rng.permutation(len(names)).tolist())
    world = World(frame, group.tolist(), tables, classes, whole, changes, order, [])
    drawn = []
    for i in range(n):
        found = world.outcomes(i)
        drawn.append(list(found)[int(rng.integers(len(found)))])
    return replace(world, drawn=drawn)


def _row(rng: np.random.Generator, k: int, whole: int) -> list[int]:
    """Whole units that sum to ``whole``, many of them 0."""
    share = rng.random(k) * (rng.random(k) < 0.7)
    share[rng.integers(k)] += 0.1
    units = np.floor(share / share.sum() * whole).astype(int)
    units[int(np.argmax(share))] += whole - units.sum()
    return units.tolist()
