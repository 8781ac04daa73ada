# SPDX-License-Identifier: Apache-2.0
"""One sliced release, from file to handed-out folder, beside the floor: Polars reads the same file,
sorts it by the QI and writes it as Parquet.

    python benchmarks/slicing.py [--rounds 5] [--only adult|acs|growth]

``adult``: OCC-7 of the paper, 45,222 complete rows, two columns, two attributes in the sensitive
one. Of women 25.4 % are in one occupation, so that l = 5 as a bound on p(t, s) cannot be kept with
sex beside occupation. What is timed is l = 3.9, the largest that can, l = 5 with the fewest rows
suppressed that make it possible (989), l = 5 as a number of distinct values, and l = 5 with
occupation alone. ``acs``: 295,243 rows of a census extract. ``growth``: from 50,000 to 250,000 rows
with the local check, which should take 5 times as long.

The tables are those of PHALANX_DATA where it names the data folder, else made up with like
cardinalities. ``publish`` is everything: reading, correlations, columns, buckets, writing, the
check of the written files and of the original, the ledger's transaction; without the report. All
run in this process, in turn, after one warm-up of each (which also loads the compiled kernels);
medians are printed, and the most memory that the process held.
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
from phalanx.methods.slicing.method import Slicing
from phalanx.series.series import Series

OCC_7 = ["age", "workclass", "education", "marital_status", "race", "sex"]
CENSUS = ["age", "sex", "education17", "birthplace57"]
ADULT_LIKE = {
    "age": 74,
    "workclass": 7,
    "education": 16,
    "marital_status": 7,
    "race": 5,
    "sex": 2,
    "occupation": 14,
}
CENSUS_LIKE = {"age": 79, "sex": 2, "education17": 17, "birthplace57": 57, "occupation50": 50}
ADULT: dict[str, dict[str, Any]] = {
    "l = 3.9, exact, strict": {"l": 3.9, "sensitive_column_size": 2},
    "l = 3.9, exact, relaxed": {"l": 3.9, "sensitive_column_size": 2, "cuts": "relaxed"},
    "l = 5, exact, strict, 2.2 % suppressed": {
        "l": 5,
        "sensitive_column_size": 2,
        "not_eligible": "suppress",
    },
    "l = 5, exact, relaxed, 2.2 % suppressed": {
        "l": 5,
        "sensitive_column_size": 2,
        "cuts": "relaxed",
        "not_eligible": "suppress",
    },
    "l = 5 distinct, exact, strict": {"l": 5, "diversity": "distinct", "sensitive_column_size": 2},
    "l = 5, occupation alone, exact, relaxed": {
        "l": 5,
        "sensitive_column_size": 1,
        "cuts": "relaxed",
    },
    "l = 3, against membership": {
        "l": 3,
        "sensitive_column_size": 2,
        "grouping": "membership",
        "bucket_size": 100,
    },
}
ACS: dict[str, dict[str, Any]] = {
    "l = 5, local, strict": {"l": 5, "sensitive_column_size": 2, "check": "local"},
    "l = 5, local, relaxed": {
        "l": 5,
        "sensitive_column_size": 2,
        "check": "local",
        "cuts": "relaxed",
    },
    "l = 5, exact, relaxed": {"l": 5, "sensitive_column_size": 2, "cuts": "relaxed"},
    "l = 3, exact, relaxed, 5 columns": {"l": 3, "columns": 5, "cuts": "relaxed"},
}


def table(name: str, like: dict[str, int], rows: int) -> pl.DataFrame:
    """The named table, or a made-up one with like cardinalities whose sensitive values have uneven
    shares.
    """
    if folder := os.environ.get("PHALANX_DATA"):
        found = pl.read_parquet(Path(folder, name))
        found = found.filter("complete") if "complete" in found.columns else found
        return found.select("row_id", *like)
    rng = np.random.default_rng(2012)
    *quasi, sensitive = like
    made: dict[str, Any] = {
        "row_id": rng.permutation(rows),
        "age": 17 + rng.integers(0, like["age"], rows),
    }
    for column in quasi[1:]:
        made[column] = np.char.add(f"{column} ", rng.integers(0, like[column], rows).astype(str))
    shares = 1 / (np.arange(like[sensitive]) + 5)
    made[sensitive] = np.char.add(
        "occupation ", rng.choice(like[sensitive], rows, p=shares / shares.sum()).astype(str)
    )
    return pl.DataFrame(made)


def publish(
    source: Path,
    to: Path,
    quasi: list[str],
    sensitive: str,
    parameters: dict[str, Any],
    seconds: Seconds,
    what: str,
) -> int:
    """The first release of a series of its own; returns how many buckets it has."""
    with timed(seconds, what):
        frame = pl.read_parquet(source)
        schema = Schema(identifier="row_id", quasi=quasi, sensitive=sensitive)
        return (
            Series(
                "benchmark",
                schema=schema,
                method=Slicing(**parameters),
                to=to / "releases",
                report=False,
            )
            .publish(frame)
            .groups
        )


def measure(
    title: str,
    frame: pl.DataFrame,
    quasi: list[str],
    sensitive: str,
    ways: dict[str, dict[str, Any]],
    rounds: int,
) -> dict[str, float]:
    """Time every way of slicing one table, and the floor; prints them and returns the medians."""
    seconds: Seconds = defaultdict(list)
    buckets = {}
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "source.parquet")
        frame.write_parquet(source)
        for number in range(rounds + 1):
            if number == 1:
                seconds.clear()
            floor(source, Path(place), quasi, seconds)
            for i, (what, parameters) in enumerate(ways.items()):
                buckets[what] = publish(
                    source,
                    Path(place, f"{number}-{i}"),
                    quasi,
                    sensitive,
                    parameters,
                    seconds,
                    what,
                )
    medians = {what: statistics.median(times) for what, times in seconds.items()}
    base = medians.pop("floor")
    print(f"{title}: {frame.height} rows, medians of {rounds} rounds; the floor takes {base:.3f} s")
    for what, median in medians.items():
        print(
            f"  {what:<42} {median:7.3f} s  {median / base:6.1f} times the floor "
            f" {buckets[what]:>7} buckets"
        )
    return medians


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--only", choices=["adult", "acs", "growth"])
    asked = arguments.parse_args()
    if asked.only in (None, "adult"):
        measure(
            "Adult, OCC-7",
            table("adult.parquet", ADULT_LIKE, 45_222),
            OCC_7,
            "occupation",
            ADULT,
            asked.rounds,
        )
    census = table("acs2018_occsal.parquet", CENSUS_LIKE, 295_243)
    if asked.only in (None, "acs"):
        measure("census", census, CENSUS, "occupation50", ACS, asked.rounds)
    if asked.only in (None, "growth"):
        local = {"l = 5, local, strict": ACS["l = 5, local, strict"]}
        few, many = (
            next(
                iter(
                    measure(
                        "growth",
                        census.sample(rows, seed=5),
                        CENSUS,
                        "occupation50",
                        local,
                        asked.rounds,
                    ).values()
                )
            )
            for rows in (50_000, 250_000)
        )
        print(
            f"five times the rows take {many / few:.2f} times as long, {many / few / 5:.2f} times"
            " linear"
        )
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
