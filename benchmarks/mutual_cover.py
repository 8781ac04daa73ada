# SPDX-License-Identifier: Apache-2.0
"""One release by mutual cover, from file to handed-out folder, beside the floor: Polars reads the
same file, sorts it by the QI and writes it as Parquet.

    python benchmarks/mutual_cover.py [--rounds 3] [--only census|million]

``census``: the paper's table, 40,152 rows, seven quasi-identifiers, groups of at least 10, with the
defaults and other deltas. ``million``: 1,000,000 rows resampled from it with
jitter: age and hours a few years and hours up or down, 3 % of education replaced by the next class.

The table is that of PHALANX_DATA where it names the data folder, else made up with like
cardinalities. ``publish`` is everything: reading, groups, random output tables, drawing, writing,
the check of the written files, of the tables and of the original, the ledger's transaction; without
the report, but for the lines that say so (in which three adversaries attack). All run in this
process, in turn, after one warm-up of each (which also loads the compiled kernels); medians are
printed, and the most memory that the process held. A million rows are published once, without a
warm-up of their own.
"""

import argparse
import os
import resource
import statistics
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from beside import Seconds, floor, timed

from phalanx.data.schema import Schema
from phalanx.methods.mutual_cover.method import MutualCover
from phalanx.series.series import Series

QUASI = ["sex", "age", "relate", "marst", "race", "educ", "uhrswork"]
SALARY = "incwage"
LIKE = {
    "sex": 2,
    "age": 55,
    "relate": 13,
    "marst": 6,
    "race": 9,
    "educ": 10,
    "uhrswork": 95,
    SALARY: 851,
}
DEFAULTS: dict[str, Any] = {"delta": "1/6", "k": 10}
WAYS: dict[str, dict[str, Any]] = {
    "delta = 1/6": DEFAULTS,
    "delta = 1/6, with the report": DEFAULTS | {"report": True},
    "delta = 1/6, tables kept": DEFAULTS | {"keep_tables": True},
    "delta = 1/10": DEFAULTS | {"delta": "1/10"},
    "delta = 1/40": DEFAULTS | {"delta": "1/40"},
}


def census() -> pl.DataFrame:
    """The paper's table, or a made-up one with like cardinalities whose values have uneven
    shares.
    """
    if folder := os.environ.get("PHALANX_DATA"):
        return pl.read_parquet(Path(folder, "mutual_cover_census.parquet")).select(
            "row_id", *QUASI, SALARY
        )
    rng = np.random.default_rng(2022)
    made: dict[str, Any] = {"row_id": np.arange(40_152)}
    for name, size in LIKE.items():
        shares = 1 / (np.arange(size) + 3)
        made[name] = rng.permutation(size)[rng.choice(size, 40_152, p=shares / shares.sum())]
    return pl.DataFrame(made)


def jittered(frame: pl.DataFrame, rows: int) -> pl.DataFrame:
    """Rows drawn from the table with replacement, a little moved."""
    rng = np.random.default_rng(7)
    drawn = frame[rng.integers(0, frame.height, rows)].with_columns(
        pl.Series("row_id", np.arange(rows))
    )
    moved = {
        name: np.clip(
            drawn[name].to_numpy() + rng.integers(-by, by + 1, rows),
            int(frame[name].min()),
            int(frame[name].max()),
        )  # type: ignore[arg-type]
        for name, by in (("age", 3), ("uhrswork", 2))
    }
    educ = drawn["educ"].to_numpy() + (rng.random(rows) < 0.03)
    return drawn.with_columns(
        *(pl.Series(name, values) for name, values in moved.items()),
        pl.Series("educ", np.minimum(educ, int(frame["educ"].max()))),  # type: ignore[arg-type]
    )


def publish(
    source: Path, to: Path, parameters: dict[str, Any], seconds: Seconds, what: str
) -> None:
    """The first release of a series of its own."""
    asked = dict(parameters)
    report = asked.pop("report", False)
    with timed(seconds, what):
        frame = pl.read_parquet(source)
        schema = Schema(identifier="row_id", quasi=QUASI, sensitive=SALARY)
        Series(
            "benchmark",
            schema=schema,
            method=MutualCover(**asked),
            to=to / "releases",
            report=report,
        ).publish(frame)


def measure(
    title: str,
    frame: pl.DataFrame,
    ways: dict[str, dict[str, Any]],
    rounds: int,
    *,
    warm_up: bool = True,
) -> None:
    """Time every way of publishing one table, and the floor, and print them."""
    seconds: Seconds = defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "source.parquet")
        frame.write_parquet(source)
        for number in range(rounds + warm_up):
            if number == 1 and warm_up:
                seconds.clear()
            floor(source, Path(place), QUASI, seconds)
            for i, (what, parameters) in enumerate(ways.items()):
                publish(source, Path(place, f"{number}-{i}"), parameters, seconds, what)
    medians = {what: statistics.median(times) for what, times in seconds.items()}
    base = medians.pop("floor")
    print(
        f"{title}: {frame.height} rows, medians of {rounds} round(s); the floor takes {base:.3f} s"
    )
    for what, median in medians.items():
        print(f"  {what:<32} {median:7.3f} s  {median / base:6.1f} times the floor")


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--only", choices=["census", "million"])
    asked = arguments.parse_args()
    frame = census()
    if asked.only in (None, "census"):
        measure("census", frame, WAYS, asked.rounds)
        print(
            f"peak memory so far: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB"
        )
    if asked.only in (None, "million"):
        measure(
            "a million", jittered(frame, 1_000_000), {"delta = 1/6": DEFAULTS}, 1, warm_up=False
        )
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
