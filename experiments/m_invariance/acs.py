# SPDX-License-Identifier: Apache-2.0
"""The m-invariance paper's own series (Section 5) on the census extract ``acs2018_occsal``: Figures
4 to 9, beside the paper's figures.

Places are filled as in the paper (``balancing = "paper"``); what the default costs instead, and
what it is for, is printed by ``balancing.py``.

    PHALANX_DATA=FOLDER python experiments/m_invariance/acs.py [--releases 20] [--first 150000]
    [--replaced 5000] [--quick]

Prints Markdown tables; progress goes to the standard error. ``--quick``: fewer values of m and l,
no workload, no other r.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import series as common
from phalanx.data.schema import Schema
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.methods.mondrian.method import Mondrian

QUASI = ("age", "sex", "education17", "birthplace57")
SENSITIVE = ("occupation50", "income50")
PAPER = {"occupation50": "OCC", "income50": "SAL"}
THETA, THETAS = 0.1, (0.01, 0.05, 0.1, 0.2, 0.4)
QUERIES, FEWER_QUERIES = 500, 200
CHECKED_BY_BOX = 1000
QUANTILES = 50

Made = list[tuple[int, float]]
"""Counterfeits and seconds of every release."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What to run."""

    first: int
    replaced: int
    releases: int
    m: int
    other_m: Sequence[int]
    l: Sequence[int]
    everything: bool


def schema_of(sensitive: str) -> Schema:
    return Schema(identifier="row_id", quasi=QUASI, sensitive=sensitive)


def series_of(pool: pl.DataFrame, sensitive: str, asked: Asked) -> list[pl.DataFrame]:
    return list(
        common.replaced(
            pool.select("row_id", *QUASI, sensitive),
            asked.first,
            asked.replaced,
            asked.releases,
            seed=2007,
        )
    )


def experiment(pool: pl.DataFrame, sensitive: str, asked: Asked, to: Path) -> Made:
    """All tables for one sensitive attribute; returns what the series with the m asked for made."""
    began = time.perf_counter()
    schema = schema_of(sensitive)
    tables = series_of(pool, sensitive, asked)
    print(f"\n## {sensitive} (the paper's {PAPER[sensitive]})")
    run = common.publish(
        tables,
        name=f"m{asked.m}",
        schema=schema,
        method=MInvariance(m=asked.m, balancing="paper"),
        to=to,
    )
    print(f"\n|T(1)| = {asked.first}, r = {asked.replaced}, m = {asked.m}; figures 5, 7 and 9\n")
    print(per_release(run, tables, schema, asked))
    print("\n" + summary(run))
    print("\n### Counterfeits per release, by m (figure 6)\n")
    runs = {asked.m: run} | {
        m: common.publish(
            tables, name=f"m{m}", schema=schema, method=MInvariance(m=m, balancing="paper"), to=to
        )
        for m in asked.other_m
    }
    print(counterfeits_by(("m",), {(m,): made(run) for m, run in sorted(runs.items())}))
    print("\n### Vulnerable tuples (figure 4)\n")
    print(vulnerable_tuples(runs, tables, schema, asked, to))
    if asked.everything:
        print("\n### Workload error (figure 8)\n")
        print(workload_errors(runs, tables, schema, asked, to))
        print(
            "\n### Workload error of release 1, one quasi-identifier asked for at a time (theta ="
            f" {THETA:.0%})\n"
        )
        print(error_by_attribute(run, tables, schema))
    common.tell(f"{sensitive}: {time.perf_counter() - began:.0f} s")
    return made(run)


def per_release(
    run: common.Run, tables: Sequence[pl.DataFrame], schema: Schema, asked: Asked
) -> str:
    """Figures 5, 7 and 9 as a table."""
    rows = []
    for p, table in zip(run.published, tables, strict=True):
        error = "-"
        if asked.everything and (p.number == 1 or p.number % 5 == 0):
            error = f"{common.workload_error(p, run.microdata(table, schema), theta=THETA, queries=QUERIES, seed=p.number):.1%}"
        rows.append(
            (
                p.number,
                p.rows,
                p.groups,
                common.signatures(p),
                p.counterfeits,
                sum(p.suppressed_rows.values()),
                f"{p.seconds:.2f}",
                error,
            )
        )
    return common.table_of(
        (
            "release",
            "rows",
            "groups",
            "signatures",
            "counterfeits",
            "suppressed",
            "seconds",
            "workload error",
        ),
        rows,
    )


def workload_errors(
    runs: dict[int, common.Run],
    tables: Sequence[pl.DataFrame],
    schema: Schema,
    asked: Asked,
    to: Path,
) -> str:
    """Figure 8: by selectivity and by m, in the last release; Mondrian beside it."""
    ways = {f"m-invariance, m = {m}": run for m, run in sorted(runs.items())}
    for name, way, method in (
        ("mondrian-l", f"Mondrian, l = {asked.m}", Mondrian(k=asked.m, l=asked.m, cuts="strict")),
        ("mondrian-k", f"Mondrian, k = {asked.m}", Mondrian(k=asked.m)),
    ):
        ways[way] = common.publish(tables[-1:], name=name, schema=schema, method=method, to=to)
    rows = []
    for way, run in ways.items():
        microdata, last = run.microdata(tables[-1], schema), run.releases[-1]
        errors = [
            common.workload_error(last, microdata, theta=theta, queries=FEWER_QUERIES, seed=8)
            for theta in THETAS
        ]
        rows.append((way, *(f"{e:.1%}" for e in errors)))
    return common.table_of(("published by", *(f"theta = {theta:.0%}" for theta in THETAS)), rows)


def error_by_attribute(run: common.Run, tables: Sequence[pl.DataFrame], schema: Schema) -> str:
    """Which quasi-identifier an estimate suffers from."""
    first, microdata = run.releases[0], run.microdata(tables[0], schema)
    errors = [
        common.workload_error(
            first, microdata, theta=THETA, queries=FEWER_QUERIES, seed=8, about=name
        )
        for name in QUASI
    ]
    return common.table_of(QUASI, [[f"{e:.1%}" for e in errors]])


def rare_values(
    pool: pl.DataFrame, asked: Asked, known: Mapping[tuple[str, int], Made], to: Path
) -> str:
    """Counterfeits beside how many tuples with the rarest value arrive in a release; income is also
    cut at its quantiles, so that no value is rare.
    """
    cuts = sorted({pool["income"].quantile(i / QUANTILES, "lower") for i in range(1, QUANTILES)})
    pool = pool.with_columns(
        quantile=pl.Series(np.searchsorted(np.array(cuts), pool["income"].to_numpy(), side="right"))
    )
    found: dict[tuple[Any, ...], Made] = {}
    for sensitive, r in dict.fromkeys(
        [*known, ("income50", 10_000), ("income50", 20_000), ("quantile", 5000)]
    ):
        rarest = int(pool[sensitive].value_counts()["count"].min()) / pool.height * r  # type: ignore[arg-type]
        key = (sensitive, r, f"{rarest:.1f}")
        if (sensitive, r) in known:
            found[key] = known[sensitive, r]
            continue
        releases = min(asked.releases, 1 + (pool.height - asked.first) // r)
        tables = series_of(pool, sensitive, replace(asked, replaced=r, releases=releases))
        found[key] = made(
            common.publish(
                tables,
                name=f"{sensitive}-{r}",
                schema=schema_of(sensitive),
                method=MInvariance(m=asked.m, balancing="paper"),
                to=to,
            )
        )
    return counterfeits_by(("sensitive", "r", "arrivals of the rarest value"), found)


def summary(run: common.Run) -> str:
    """The averages in one paragraph."""
    counts, seconds = zip(*made(run), strict=True)
    return (
        f"Counterfeits: {statistics.mean(counts):.2f} per release on average (the paper: at most"
        f" 2.5), at most {max(counts)}, none in {counts.count(0)} of {len(counts)} releases."
        f" Seconds per release: {statistics.mean(seconds):.2f} on average, at most"
        f" {max(seconds):.2f} (the paper: at most 12). Vulnerable tuples: {common.vulnerable(run)}."
    )


def made(run: common.Run) -> Made:
    return [(p.counterfeits, p.seconds) for p in run.published]


def counterfeits_by(what: Sequence[str], runs: Mapping[tuple[Any, ...], Made]) -> str:
    rows = []
    for key, each in runs.items():
        counts, seconds = zip(*each, strict=True)
        rows.append(
            (
                *key,
                f"{statistics.mean(counts):.2f}",
                max(counts),
                f"{counts.count(0)} of {len(counts)}",
                f"{statistics.mean(seconds):.2f}",
            )
        )
    return common.table_of(
        (*what, "counterfeits on average", "at most", "releases without", "seconds on average"),
        rows,
    )


def vulnerable_tuples(
    runs: dict[int, common.Run],
    tables: Sequence[pl.DataFrame],
    schema: Schema,
    asked: Asked,
    to: Path,
) -> str:
    """Lemma 1 over series of l-diverse Mondrian releases, and over the m-invariant ones."""
    persons = len({person for table in tables for person in table["row_id"].to_list()})
    rows: list[tuple[str, int, int, str]] = []
    for l in asked.l:
        run = common.publish(
            tables, name=f"l{l}", schema=schema, method=Mondrian(k=l, l=l, cuts="strict"), to=to
        )
        boxed, of = common.vulnerable_by_box(run, tables, schema, at_most=CHECKED_BY_BOX)
        rows.append(
            (f"Mondrian, l = {l}", persons, common.vulnerable(run), f"{boxed} of {of} looked at")
        )
    for m, run in sorted(runs.items()):
        rows.append(
            (
                f"m-invariance, m = {m}",
                persons,
                common.vulnerable(run),
                "0 (those by group are no fewer)",
            )
        )
    return common.table_of(
        ("published by", "persons", "vulnerable by group", "of these, by box"), rows
    )


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--releases", type=int, default=20)
    arguments.add_argument("--first", type=int, default=150_000, help="|T(1)|")
    arguments.add_argument("--replaced", type=int, default=5_000, help="r")
    arguments.add_argument("--m", type=int, default=10)
    arguments.add_argument("--sensitive", choices=SENSITIVE, action="append")
    arguments.add_argument("--quick", action="store_true")
    given = arguments.parse_args()
    asked = Asked(
        first=given.first,
        replaced=given.replaced,
        releases=given.releases,
        m=given.m,
        other_m=[m for m in ((2,) if given.quick else (2, 4, 6, 8)) if m != given.m],
        l=(2,) if given.quick else (2, 5, 10),
        everything=not given.quick,
    )
    pool = pl.read_parquet(common.data_file("acs2018_occsal.parquet"))
    known: dict[tuple[str, int], Made] = {}
    for sensitive in given.sensitive or SENSITIVE:
        with tempfile.TemporaryDirectory() as place:
            known[sensitive, asked.replaced] = experiment(pool, sensitive, asked, Path(place))
    if not given.quick:
        with tempfile.TemporaryDirectory() as place:
            print(
                "\n## Counterfeits and rare values (m ="
                f" {asked.m})\n\n{rare_values(pool, asked, known, Path(place))}"
            )


if __name__ == "__main__":
    main()
