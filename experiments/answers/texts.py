# SPDX-License-Identifier: Apache-2.0
"""What is answered of single texts that are published in intervals: whether the estimates of all
values add up to all rows, and how often the truth is in the interval.

    PHALANX_DATA=folder python experiments/answers/texts.py [--rows 2000] [--samples 4]
"""

import argparse
import os
import sys
from pathlib import Path

import numpy as np
import polars as pl

import phalanx as px

ASKED = [
    ("adult", "race", ["age", "sex", "hours_per_week"]),
    ("adult", "native_country", ["age", "sex"]),
    ("adult", "occupation", ["age", "sex", "race"]),
    ("adult", "education", ["age", "sex"]),
    ("diabetes130", "race", ["age", "gender"]),
    ("diabetes130", "medical_specialty", ["age", "gender"]),
    ("diabetes130", "diag_1", ["age"]),
]


def line(table: pl.DataFrame, name: str, quasi: list[str], k: int, seed: int) -> list[float]:
    """The sum of the estimates of all values as a share of the rows, the share of values whose
    interval holds the truth, and the mean error and width as shares of the rows.
    """
    release = px.publish(table, px.Schema(quasi=[name, *quasi]), px.Mondrian(k=k), seed=seed)
    found = []
    for value, truth in table[name].value_counts().iter_rows():
        said = release.estimate(pl.col(name) == value)
        low, high = said.interval
        found.append((said.estimate, low <= truth <= high, abs(said.estimate - truth), high - low))
    total, held, error, width = zip(*found, strict=True)
    rows = table.height
    return [sum(total) / rows, np.mean(held), np.mean(error) / rows, np.mean(width) / rows]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--samples", type=int, default=4)
    given = parser.parse_args()
    folder = os.environ.get("PHALANX_DATA")
    if not folder:
        sys.exit(
            "this experiment needs Adult and Diabetes: set PHALANX_DATA to the folder that holds them."
        )
    print("| table | attribute | k | sum of all values | held, % | error, % | width, % |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for source, name, quasi in ASKED:
        table = pl.read_parquet(Path(folder) / f"{source}.parquet")
        table = table.select(name, *quasi).drop_nulls()
        table = table.with_columns(pl.col(pl.Categorical).cast(pl.String))
        for k in (25, 100):
            samples = [table.sample(given.rows, seed=seed) for seed in range(given.samples)]
            total, held, error, width = np.mean(
                [line(sample, name, quasi, k, 1) for sample in samples], axis=0
            )
            print(
                f"| {source} | {name} | {k} | {total:.2f} | {100 * held:.0f} | {100 * error:.1f} |"
                f" {100 * width:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
