# SPDX-License-Identifier: Apache-2.0
"""How often replaying the growth of the global guarantee's groups names a holder, on two real
series.

    PHALANX_DATA=folder python experiments/knowing_the_method/growth.py [--grouping balanced]
    [--series rwm5yr] [--releases 5] [--rows 3000] [--seed 1]

l = 2, half of the values protected (the less frequent ones). For every strategy: groups with a
protected value; how often the member whom the adversary names holds the value that it names; how
often the member does who was linked most to these values before, and how often any member; groups where the replay is
clear, and how often it and any member there is right. Shares in per cent with 95 % intervals; the
bound is 50.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

from phalanx.adversaries import Growth
from phalanx.adversaries.series.growth import Grown
from phalanx.data.schema import Schema
from phalanx.demo import QUASI, RELEASES, panel
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.series.series import Series
from phalanx.verification import gather_evidence

STRATEGIES = {"adaptive": {}, "geometric": {}, "constant-ratio": {"horizon": 10}}
HEADER = [
    "",
    "groups",
    "names a holder",
    "by the past alone",
    "any member",
    "clear",
    "right where clear",
    "any member there",
]


def rwm5yr() -> tuple[Schema, list[pl.DataFrame]]:
    """Five years of a health panel; years of schooling, of which the less frequent half is
    protected.
    """
    people = panel().unique(["id", "year"], keep="last", maintain_order=True)
    return Schema(identifier="id", quasi=QUASI, sensitive="educ"), [
        people.filter(pl.col("year") == year).drop("year") for year in RELEASES
    ]


def diabetes130() -> tuple[Schema, list[pl.DataFrame]]:
    """Ten releases of hospital encounters, the last one of each patient; the main diagnosis, of
    which the less frequent half is protected.
    """
    folder = os.environ.get("PHALANX_DATA")
    if not folder or not Path(folder, "diabetes130.parquet").is_file():
        sys.exit("Set PHALANX_DATA to the folder that holds diabetes130.parquet.")
    quasi = ["age", "gender", "race", "time_in_hospital", "num_lab_procedures"]
    schema = Schema(identifier="patient_nbr", quasi=quasi, sensitive="diag_1", missing="value")
    rows = pl.read_parquet(Path(folder, "diabetes130.parquet")).with_columns(
        pl.col("diag_1", "gender", "race", "age").cast(pl.String)
    )
    kept = rows.unique(["release", "patient_nbr"], keep="last", maintain_order=True).drop_nulls(
        "diag_1"
    )
    return schema, [
        kept.filter(pl.col("release") == r).select(schema.columns) for r in range(1, 11)
    ]


def attacked(
    method: GlobalGuarantee, schema: Schema, tables: list[pl.DataFrame], seed: int
) -> Grown:
    """Publish a series, seeded, and attack it."""
    with tempfile.TemporaryDirectory() as scratch:
        ledger = f"sqlite:///{scratch}/l.db"
        series = Series(
            "attacked",
            schema=schema,
            method=method,
            to=scratch,
            ledger=ledger,
            report=False,
            seed=seed,
        )
        releases = [series.publish(table) for table in tables]
        evidence, _ = gather_evidence(
            releases, ledger=ledger, originals=tables, identifier=schema.identifier
        )
        return Growth().attack(releases, evidence)


def share(mean: float | None, ends: tuple[float, float] | None) -> str:
    """In per cent."""
    return (
        ""
        if mean is None or ends is None
        else f"{100 * mean:.1f} ({100 * ends[0]:.1f} to {100 * ends[1]:.1f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grouping", default="bottom-up")
    parser.add_argument("--series", choices=["rwm5yr", "diabetes130"], action="append")
    parser.add_argument("--releases", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for name in asked.series or ["rwm5yr", "diabetes130"]:
        schema, tables = rwm5yr() if name == "rwm5yr" else diabetes130()
        tables = [table.head(asked.rows) for table in tables[: asked.releases]]
        print(
            f"### {name}, {asked.grouping}: {len(tables)} releases, {sum(t.height for t in tables)}"
            " rows\n"
        )
        print(f"| {' | '.join(HEADER)} |\n|{' --- |' * len(HEADER)}", flush=True)
        for strategy, more in STRATEGIES.items():
            began = time.perf_counter()
            method = GlobalGuarantee(
                l=2,
                strategy=strategy,
                protect={"least_frequent": 0.5},
                grouping=asked.grouping,
                **more,
            )
            found = attacked(method, schema, tables, asked.seed)
            cells = [
                strategy,
                found.groups,
                share(found.success, found.interval),
                share(found.by_past, found.by_past_interval),
                f"{100 * (found.baseline or 0):.1f}",
                found.clear,
            ]
            cells += [
                share(found.clear_success, found.clear_interval),
                "" if found.clear_baseline is None else f"{100 * found.clear_baseline:.1f}",
            ]
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
            print(f"{name}, {strategy}: {time.perf_counter() - began:.0f} s", file=sys.stderr)
        print()


if __name__ == "__main__":
    main()
