# SPDX-License-Identifier: Apache-2.0
"""The paper's own table, how a draft of it is made, and what linkage discloses of one, for the
scripts beside this one.
"""

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from papers_way import PapersWay

from phalanx.adversaries import Attack
from phalanx.adversaries.records.linkage import Linkage
from phalanx.data.distances import Distance
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.exact import Number, exact, plain
from phalanx.methods.base import Draft, Memory, Method
from phalanx.methods.mondrian.method import Diversity, partition
from phalanx.methods.mutual_cover.kernels import cover_cuts
from phalanx.methods.mutual_cover.method import MutualCover, Outputs
from phalanx.methods.mutual_cover.output_tables import Maker, Tables
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.evidence.outputs import OutputTables
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.forms.perturbed import Perturbed
from phalanx.release.manifest import Manifest

QUASI = ["sex", "age", "relate", "marst", "race", "educ", "uhrswork"]
SENSITIVE = "incwage"
P_MATCH = ("0.3", "0.5", "0.7", "0.8", "0.9", "1")
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@cache
def census() -> pl.DataFrame:
    """The rows of the authors' extract, from the folder that PHALANX_DATA names."""
    folder = os.environ.get("PHALANX_DATA")
    if not folder or not Path(folder, "mutual_cover_census.parquet").is_file():
        sys.exit("Set PHALANX_DATA to the folder that holds mutual_cover_census.parquet.")
    return pl.read_parquet(Path(folder, "mutual_cover_census.parquet")).select(*QUASI, SENSITIVE)


@cache
def microdata() -> Microdata:
    """The table with the paper's quasi-identifiers; codes of categories are numbers in it, and are
    taken for numbers as in the authors' program.
    """
    return Microdata.encode(census(), Schema(quasi=QUASI, sensitive=SENSITIVE))


@cache
def originals() -> Ints:
    """The quasi-identifiers of every row, shape (n, d)."""
    return census().select(QUASI).to_numpy().astype(np.int64)


@cache
def salaries() -> Floats:
    return census()[SENSITIVE].to_numpy().astype(np.float64)


def publish(method: Method, seed: int) -> Draft:
    """A seeded draft of the table; nothing leaves."""
    return method.publish(microdata(), Memory(), Randomness.seeded(seed))


@dataclass(frozen=True, kw_only=True)
class Diverse(MutualCover):
    """Mutual cover in groups whose sensitive values are diverse, with tables of least cost, as in
    the paper. No option of the method, as it protects nothing (``known_method.py``).
    """

    outputs: Outputs = "least-cost"
    l: Number = 10
    diversity: Diversity = "frequency"

    def _groups(self, microdata: Microdata, distances: list[Distance]) -> Ints:
        rule = replace(self._mondrian, l=self.l, diversity=self.diversity, cuts="strict")
        cutter = partial(cover_cuts.cut, math.ceil(1 / exact(self.delta, "delta")))
        more: dict[str, Any] = (
            {}
            if self.grouping == "mondrian"
            else {"cutter": cutter, "places": [distance.line for distance in distances]}
        )
        return partition(
            rule, microdata.quasi, microdata.sensitive, of=microdata.schema.sensitive, **more
        )

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"l": plain(self.l), "diversity": self.diversity}


class Ours(MutualCover):
    """Mutual cover that makes its tables once for all drafts: they follow from the table and the
    parameters, and nothing of them is random.
    """

    def _maker(self, microdata: Microdata, distances: list[Distance]) -> Any:
        return _Solved(str(self.parameters()), super()._maker(microdata, distances))


class Cover(Diverse, Ours):
    """The same in diverse groups, with tables of least cost."""


class PaperCover(Cover, PapersWay):
    """The same by the paper's Algorithms 1 and 2."""


def solved(method: Ours) -> Tables:
    """The tables that drafts by a method are drawn from."""
    publish(method, 1)
    return _TABLES[str(method.parameters())]


@dataclass(frozen=True)
class _Solved:
    key: str
    maker: Maker

    def tables(self, group: Ints, part: Ints | None = None) -> Tables:
        if self.key not in _TABLES:
            _TABLES.clear()
            _TABLES[self.key] = self.maker.tables(group, part)
        return _TABLES[self.key]


_TABLES: dict[str, Tables] = {}
"""Of the parameters that were asked for last."""


def rows_of(draft: Draft) -> Ints:
    """What every row of the table published, in the order of the table, shape (n, d); of a
    perturbed form.
    """
    return draft.form.table.select(QUASI).to_numpy().astype(np.int64)[draft.groups - 1]


def attacked(
    adversary: Any,
    form: Form,
    rows: Ints | None = None,
    outputs: OutputTables | None = None,
    method: dict[str, Any] | None = None,
) -> Attack:
    """What an adversary makes of one release, given the table, which row is whose (``rows``, from
    1) and the tables it was drawn from.
    """
    said = {
        "series": "census",
        "number": 1,
        "method": method or {},
        "guarantees": [],
        "boxes": "tight",
        "files": [],
        **form.manifest_fields(),
    }
    manifest = Manifest(
        form=form.kind,
        attributes=list(form.attributes),
        rows=form.rows,
        groups=form.groups,
        counterfeits=0,
        **said,
    )
    evidence = Evidence(
        microdata={1: microdata()},
        rows={} if rows is None else {1: rows},
        parts={} if outputs is None else {1: outputs},
    )
    return adversary.attack([Release(manifest, form, Path("nowhere"))], evidence)


def disclosures(form: Form, rows: Ints | None = None, sample: int | None = None) -> Floats:
    """Identity and attribute disclosure at every P_match, shape (2, 6); ends the script where
    mutual cover left a row as it was.
    """
    found = attacked(Linkage(sample=sample), form, rows)
    at = [found.at(p) for p in P_MATCH]
    if isinstance(form, Perturbed) and at[-1].identity != 0:
        sys.exit(
            f"Identity disclosure at P = 1 is {at[-1].identity} and must be 0: somebody's row was"
            " published as it was."
        )
    return np.array([[a.identity for a in at], [a.attribute for a in at]])


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table under a heading."""
    print(f"### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)
