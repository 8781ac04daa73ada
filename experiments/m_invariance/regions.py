# SPDX-License-Identifier: Apache-2.0
"""What regions gain and cost: series published with new persons cut into 1 to 1,000 regions, and
into as many as "auto" makes.

    PHALANX_DATA=FOLDER python experiments/m_invariance/regions.py [--series acs] [--sensitive
    income50]
        [--m 4] [--regions 1 auto 16 1000] [--releases 20]
    PHALANX_DATA=FOLDER python experiments/m_invariance/regions.py --series adult --m 5 --releases 3

Series: ``acs`` (the paper's own on ``acs2018_occsal``), ``panel`` (``rwm5yr``), ``made-up`` (values
depend on quasi-identifiers), and ``adult`` (6,000 rows, 500 replaced, occupation), for which alone
the learner of a series is played, as it needs every group that may host a person. Loss and the
median error of 500 COUNT queries (theta = 10 %) are those of the first and of the last release,
counterfeits counted as an analyst would; *learned*: how often the learner names the value of a
person rightly. Releases are made by the method itself and not checked from files. Prints a Markdown
table; progress goes to the standard error.
"""

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    "counterfeits",
    "of the rows",
    "seconds",
    "learned",
    "base rate",
)
ALL_M = (2, 4, 6, 8, 10)
THETA, QUERIES = 0.1, 500


@dataclass(frozen=True, kw_only=True)
class Case:
    """A series of tables."""

    name: str
    tables: Sequence[pl.DataFrame]
    schema: Schema
    more: dict[str, Any]
    """Parameters of the method beside m and regions."""
    learn: bool = False


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
        yield Case(name=name, tables=tables, schema=acs.schema_of(name), more={})


def of_panel(given: argparse.Namespace) -> Iterator[Case]:
    people = panel()
    years = RELEASES[: given.releases]
    tables = [people.filter(pl.col("year") == year).drop("year") for year in years]
    schema = Schema(identifier="id", quasi=QUASI, sensitive="educ")
    more = {"changed": "suppress", "not_eligible": "suppress"}
    yield Case(name="panel, educ", tables=tables, schema=schema, more=more)


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
    yield Case(name="made-up", tables=tables, schema=schema, more={})


def of_adult(given: argparse.Namespace) -> Iterator[Case]:
    columns = ["age", "education", "sex", "race", "occupation"]
    pool = pl.read_parquet(common.data_file("adult.parquet")).select(columns).drop_nulls()
    pool = pool.with_row_index("row_id")
    tables = list(common.replaced(pool, 6_000, 500, given.releases, seed=5))
    schema = Schema(identifier="row_id", quasi=columns[:-1], sensitive="occupation")
    yield Case(name="adult", tables=tables, schema=schema, more={}, learn=True)


SERIES = {"acs": of_census, "panel": of_panel, "made-up": of_made_up, "adult": of_adult}


def line(case: Case, m: int, regions: int | str) -> tuple[Any, ...]:
    """One row of the table."""
    method = MInvariance(m=m, regions=regions, **case.more)  # type: ignore[arg-type]
    key, memory = PersonKey(bytes(32)), Memory()
    losses, errors, seconds = [], [], []
    published: list[tuple[Form, Microdata, Any]] = []
    for number, table in enumerate(case.tables, 1):
        microdata = Microdata.encode(table, case.schema, key)
        began = time.perf_counter()
        draft = method.publish(microdata, memory, Randomness.secure())
        seconds.append(time.perf_counter() - began)
        common.tell(f"{case.name}, m = {m}, regions = {regions}: release {number}")
        mapping = draft.mapping(microdata)
        memory = memory.after(draft, mapping)
        if case.learn:
            published.append((draft.form, microdata, mapping))
        if number in (1, len(case.tables)):
            losses.append(common.loss(draft.form, microdata))
            asked = {"theta": THETA, "queries": QUERIES, "seed": 8}
            errors.append(common.workload_error(draft.form, microdata, **asked))
    groups = Groups.of(draft.form)
    counterfeits, rows = int(groups.counterfeits.sum()), int(groups.sizes.sum())
    return (
        case.name,
        m,
        regions,
        memory.tables["signatures"]["signature"].n_unique(),
        *(f"{loss:.3f}" for loss in losses),
        *(f"{error:.1%}" for error in errors),
        counterfeits,
        f"{counterfeits / rows:.1%}",
        f"{statistics.mean(seconds):.1f}",
        *(learned(published) if case.learn else ("", "")),
    )


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
    arguments.add_argument("--regions", nargs="+", default=["1", "auto"])
    arguments.add_argument("--releases", type=int, default=20)
    arguments.add_argument("--first", type=int, default=150_000, help="|T(1)| of acs")
    arguments.add_argument("--replaced", type=int, default=5_000, help="r of acs")
    given = arguments.parse_args()
    print(common.table_of(HEADER, []), flush=True)
    for name in given.series or ["acs"]:
        for case in SERIES[name](given):
            for m in given.m:
                for regions in given.regions:
                    number = regions if regions == "auto" else int(regions)
                    row = line(case, m, number)
                    print(common.table_of(row, []).splitlines()[0], flush=True)


if __name__ == "__main__":
    main()
