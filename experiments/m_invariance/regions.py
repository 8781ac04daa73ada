# SPDX-License-Identifier: Apache-2.0
"""What regions gain and cost: series published with new persons cut into 1 to 1,000 regions, into
as many as "auto" makes, and in the paper's way.

    PHALANX_DATA=FOLDER python experiments/m_invariance/regions.py [--series acs] [--sensitive
    income50]
        [--m 4] [--regions paper 1 auto 16 1000] [--releases 20]
    PHALANX_DATA=FOLDER python experiments/m_invariance/regions.py --series adult --m 5 --releases 3
    PHALANX_DATA=FOLDER python experiments/m_invariance/regions.py --learn --first 6000
        --replaced 200 --releases 3 --m 5

Series: ``acs`` (the paper's own on ``acs2018_occsal``), ``panel`` (``rwm5yr``), ``made-up`` (values
depend on quasi-identifiers), and ``adult`` (6,000 rows, 500 replaced, occupation). Loss and the
median error of 500 COUNT queries (theta = 10 %) are those of the first and of the last release,
counterfeits counted as an analyst would; "paper" among ``--regions`` is the paper's own way
(``balancing = "paper"``, one region), beside which the last release's loss and error then stand in
per cent, and what came of the goal: loss 50 % and error 60 % below, with at most 5 % of
counterfeits. *By group*: how often a learner who knows everyone's group in the last release names
the value of a person rightly, at any size. *Learned*: how often the learner of a series names the
value of a person rightly; it is played on ``adult`` and, with ``--learn``, on the others, which
must be small, as it needs every group that may host a person. At the end stands the last release's
loss, error, counterfeits and learning by the number of regions. Releases are made by the method
itself and not checked from files. Prints a Markdown table; progress goes to the standard error.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import acs
import numpy as np
import polars as pl

import series as common
from phalanx.adversaries import SeriesLearning
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.data.schema import Schema
from phalanx.demo import QUASI, RELEASES, panel
from phalanx.guarantees.views.groups import Groups
from phalanx.methods.base import Memory
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.randomness import Randomness
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.form import Form

HEADER = (
    "series",
    "m",
    "regions",
    "signatures",
    "loss, release 1",
    "loss, last",
    "error, release 1",
    "error, last",
    "loss beside the paper's",
    "error beside the paper's",
    "counterfeits",
    "of the rows",
    "seconds",
    "by group",
    "learned",
    "base rate",
)
ALL_M = (2, 4, 6, 8, 10)
WORDS = ("auto", "paper")
THETA, QUERIES = 0.1, 500
LOSS, ERROR, COUNTERFEITS = -0.5, -0.6, 0.05
"""The goal, beside the paper's way."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A series of tables."""

    name: str
    tables: Sequence[pl.DataFrame]
    schema: Schema
    more: dict[str, Any]
    """Parameters of the method beside m and regions."""
    learn: bool = False

    @cached_property
    def encoded(self) -> Sequence[Microdata]:
        key = PersonKey(bytes(32))
        return [Microdata.encode(table, self.schema, key) for table in self.tables]


@dataclass(frozen=True, kw_only=True)
class Played:
    """What one way made of a series."""

    signatures: int
    losses: Sequence[float]
    """Of the first and of the last release."""
    errors: Sequence[float]
    counterfeits: int
    """In the last release, which has so many ``rows``."""
    rows: int
    seconds: float
    """For a release, on average."""
    by_group: float
    learned: tuple[str, str]

    def beside(self, paper: "Played | None") -> tuple[float, float] | None:
        """How much greater the last release's loss and error are than the paper's, as a part of
        it.
        """
        if paper is None or paper is self:
            return None
        return self.losses[-1] / paper.losses[-1] - 1, self.errors[-1] / paper.errors[-1] - 1


def of_census(given: argparse.Namespace) -> Iterator[Case]:
    pool = pl.read_parquet(common.data_file("acs2018_occsal.parquet"))
    for name in given.sensitive or acs.SENSITIVE:
        asked = acs.Asked(
            first=given.first,
            replaced=given.replaced,
            releases=given.releases,
            m=0,
            other_m=(),
            l=(),
            everything=False,
        )
        tables = acs.series_of(pool, name, asked)
        yield Case(name=name, tables=tables, schema=acs.schema_of(name), more={}, learn=given.learn)


def of_panel(given: argparse.Namespace) -> Iterator[Case]:
    people = panel()
    years = RELEASES[: given.releases]
    tables = [people.filter(pl.col("year") == year).drop("year") for year in years]
    schema = Schema(identifier="id", quasi=QUASI, sensitive="educ")
    more = {"changed": "suppress", "not_eligible": "suppress"}
    yield Case(name="panel, educ", tables=tables, schema=schema, more=more, learn=given.learn)


def of_made_up(given: argparse.Namespace) -> Iterator[Case]:
    """Twenty values about as frequent as 1 / sqrt(rank), two thirds of them by age and by town."""
    rng, n = np.random.default_rng(5), 30_000
    age, town = rng.integers(18, 90, n), rng.integers(0, 30, n)
    ranks = np.arange(1, 21)
    drawn = rng.choice(20, n, p=ranks**-0.5 / (ranks**-0.5).sum())
    own = (age // 9 + 2 * (town // 6) + rng.integers(0, 8, n)) % 20
    ill = np.where(rng.random(n) < 2 / 3, own, drawn)
    pool = pl.DataFrame({"who": np.arange(n), "age": age, "town": town, "ill": ill})
    pool = pool.with_columns(pl.col("ill").cast(pl.String))
    tables = list(common.replaced(pool, 15_000, 750, min(given.releases, 20), seed=5))
    schema = Schema(identifier="who", quasi=("age", "town"), sensitive="ill")
    yield Case(name="made-up", tables=tables, schema=schema, more={}, learn=given.learn)


def of_adult(given: argparse.Namespace) -> Iterator[Case]:
    columns = ["age", "education", "sex", "race", "occupation"]
    pool = pl.read_parquet(common.data_file("adult.parquet")).select(columns).drop_nulls()
    pool = pool.with_row_index("row_id")
    tables = list(common.replaced(pool, 6_000, 500, given.releases, seed=5))
    schema = Schema(identifier="row_id", quasi=columns[:-1], sensitive="occupation")
    yield Case(name="adult", tables=tables, schema=schema, more={}, learn=True)


SERIES = {"acs": of_census, "panel": of_panel, "made-up": of_made_up, "adult": of_adult}


def play(case: Case, m: int, regions: int | str) -> Played:
    """Publish the series; ``regions`` may be "paper"."""
    how = {"balancing": "paper"} if regions == "paper" else {"regions": regions}
    method = MInvariance(m=m, **how, **case.more)
    memory = Memory()
    losses, errors, seconds = [], [], []
    published: list[tuple[Form, Microdata, Any]] = []
    for number, microdata in enumerate(case.encoded, 1):
        began = time.perf_counter()
        draft = method.publish(microdata, memory, Randomness.secure())
        seconds.append(time.perf_counter() - began)
        mapping = draft.mapping(microdata)
        memory = memory.after(draft, mapping)
        if case.learn:
            published.append((draft.form, microdata, mapping))
        if number in (1, len(case.encoded)):
            losses.append(common.loss(draft.form, microdata))
            asked = {"theta": THETA, "queries": QUERIES, "seed": 8}
            errors.append(common.workload_error(draft.form, microdata, **asked))
    common.tell(f"{case.name}, m = {m}, regions = {regions}: {sum(seconds):.0f} s")
    groups = Groups.of(draft.form)
    return Played(
        signatures=memory.tables["signatures"]["signature"].n_unique(),
        losses=losses,
        errors=errors,
        counterfeits=int(groups.counterfeits.sum()),
        rows=int(groups.sizes.sum()),
        seconds=statistics.mean(seconds),
        by_group=learned_by_group(groups, case.encoded[-1], mapping),
        learned=learned(published) if case.learn else ("", ""),
    )


def cells(case: Case, m: int, regions: int | str, found: Played, paper: Played | None) -> list[str]:
    """One row of the table."""
    beside = found.beside(paper)
    row = (
        case.name,
        m,
        regions,
        found.signatures,
        *(f"{loss:.3f}" for loss in found.losses),
        *(f"{error:.1%}" for error in found.errors),
        *(("", "") if beside is None else (f"{part:+.0%}" for part in beside)),
        found.counterfeits,
        f"{found.counterfeits / found.rows:.1%}",
        f"{found.seconds:.1f}",
        f"{found.by_group:.1%}",
        *found.learned,
    )
    return [str(cell) for cell in row]


def frontier(rows: Sequence[Sequence[str]]) -> str:
    """The last release's loss, error, counterfeits and, where it was played, how often the learner
    is right, a line for a series and an m, a column for a number of regions.
    """
    at = [HEADER.index(name) for name in ("loss, last", "error, last", "of the rows")]
    at += [HEADER.index("by group"), HEADER.index("learned")]
    columns = list(dict.fromkeys(row[2] for row in rows))
    lines: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        text = ", ".join(row[i] for i in at if row[i])
        lines.setdefault((row[0], row[1]), {})[row[2]] = text
    return common.table_of(
        ("series", "m", *columns),
        [[*key, *(found.get(column, "") for column in columns)] for key, found in lines.items()],
    )


def reached(found: Played, paper: Played) -> bool:
    """Whether the goal is."""
    loss, error = found.beside(paper) or (0.0, 0.0)
    return loss <= LOSS and error <= ERROR and found.counterfeits <= COUNTERFEITS * found.rows


def learned_by_group(groups: Groups, microdata: Microdata, mapping: Any) -> float:
    """How often a learner who knows everyone's group in the last release names the right value.

    Each person may have the values of their group. It learns, of each value, the share with each
    value of each quasi-identifier (naive Bayes, one added to each count), believes that, makes the
    belief fit what the group has of each value, and does so again, ten times.
    """
    joined = pl.DataFrame({"person": microdata.persons}).join(
        mapping, on="person", how="left", maintain_order="left"
    )["group"]
    ids = groups.ids.to_numpy()
    order = np.argsort(ids)
    group = order[np.searchsorted(ids[order], joined.fill_null(-1).to_numpy()) % len(ids)]
    published = joined.is_not_null().to_numpy()
    values = microdata.sensitive.domain.values.to_list()
    code = {value: i for i, value in enumerate(values)}
    shown = [] if groups.values is None else groups.values.to_list()
    codes = np.array([code.get(value, -1) for value in shown])
    ends = np.searchsorted(groups.cell_group, np.arange(len(groups) + 1))
    rows = np.flatnonzero(published)
    lengths = np.diff(ends)[group[rows]]
    row = np.repeat(rows, lengths)
    first = np.repeat(np.cumsum(lengths) - lengths, lengths)
    cell = np.repeat(ends[group[rows]], lengths) + np.arange(len(row)) - first
    value, had = codes[groups.cell_value[cell]], groups.cell_count[cell]
    known = value >= 0
    row, cell, value, had = row[known], cell[known], value[known], had[known]
    belief = had / np.bincount(row, weights=had, minlength=microdata.rows)[row]
    for _ in range(10):
        fit = np.zeros(len(row))
        for column in microdata.quasi:
            size = len(column.domain)
            at = value * size + column.codes[row]
            counts = np.bincount(at, weights=belief, minlength=len(values) * size)
            sums = counts.reshape(len(values), size).sum(axis=1) + size
            fit += np.log((counts[at] + 1) / sums[value])
        highest = np.full(microdata.rows, -np.inf)
        np.maximum.at(highest, row, fit)
        belief = had * np.exp(fit - highest[row])
        for _ in range(5):
            belief /= np.bincount(row, weights=belief, minlength=microdata.rows)[row]
            of_cell = np.bincount(cell, weights=belief)[cell]
            belief *= np.minimum(had / np.maximum(of_cell, 1e-300), 1)
    best = np.lexsort((belief, row))
    last = np.append(row[best][1:] != row[best][:-1], True)
    named = best[last]
    return float(np.mean(value[named] == microdata.sensitive.codes[row[named]]))


def learned(published: Sequence[tuple[Form, Microdata, Any]]) -> tuple[str, str]:
    """How often the learner of the series is right, and how often the most frequent value is."""
    releases = [SimpleNamespace(number=i, form=form) for i, (form, _, _) in enumerate(published, 1)]
    evidence = Evidence(
        groups={i: mapping for i, (_, _, mapping) in enumerate(published, 1)},
        microdata={i: microdata for i, (_, microdata, _) in enumerate(published, 1)},
    )
    found = SeriesLearning().attack(releases, evidence)  # type: ignore[arg-type]
    return f"{found.success:.1%}", f"{found.baseline:.1%}"


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--series", choices=SERIES, action="append")
    arguments.add_argument("--sensitive", choices=acs.SENSITIVE, action="append")
    arguments.add_argument("--m", type=int, nargs="+", default=ALL_M)
    arguments.add_argument(
        "--regions", nargs="+", default=["paper", "1", "auto"], help='numbers, "auto", "paper"'
    )
    arguments.add_argument("--releases", type=int, default=20)
    arguments.add_argument("--first", type=int, default=150_000, help="|T(1)| of acs")
    arguments.add_argument("--replaced", type=int, default=5_000, help="r of acs")
    arguments.add_argument("--learn", action="store_true", help="play the learner of a series")
    given = arguments.parse_args()
    print(common.table_of(HEADER, []), flush=True)
    goals, rows = [], []
    for name in given.series or ["acs"]:
        for case in SERIES[name](given):
            for m in given.m:
                words = [word if word in WORDS else int(word) for word in given.regions]
                played: dict[int | str, Played] = {}
                for regions in sorted(words, key=lambda word: word != "paper"):
                    played[regions] = play(case, m, regions)
                    rows.append(cells(case, m, regions, played[regions], played.get("paper")))
                    print(common.table_of(rows[-1], []).splitlines()[0], flush=True)
                if paper := played.pop("paper", None):
                    those = [str(way) for way, found in played.items() if reached(found, paper)]
                    goals.append(f"{case.name}, m = {m}: {', '.join(those) or 'none'}")
    print(f"\n{frontier(rows)}")
    if goals:
        print(
            f"\nLoss {-LOSS:.0%} and error {-ERROR:.0%} below the paper's, counterfeits at most"
            f" {COUNTERFEITS:.0%} of the rows, is reached with these numbers of regions:"
            f" {'; '.join(goals)}."
        )


if __name__ == "__main__":
    main()
