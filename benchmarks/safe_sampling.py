# SPDX-License-Identifier: Apache-2.0
"""Ten million rows by safe sampling, from file to handed-out folder, beside the floor: Polars reads
the same file, sorts it by the QI and writes it as Parquet.

    python benchmarks/safe_sampling.py [--rows 10000000] [--rounds 3] [--chosen]

The table is drawn with replacement from the census extract where PHALANX_DATA names the data
folder, else made up with the same cardinalities. ``publish`` is everything: reading, encoding, the
sample, images and their counts, writing, the check of the written files and of what they say of
each row, the ledger's transaction; ``with the report`` writes the page too, ``with persons`` hashes
an identifier of every row to see that nobody is in the table twice. ``--chosen`` adds schemes that
are chosen by the exponential mechanism: levels, and a partition. All run in this process, in turn,
after one warm-up of each (which also loads the compiled kernels); medians are printed, and the most
memory that the process held.
"""

import argparse
import os
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from beside import Seconds, floor, show, timed

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.schema import Schema
from phalanx.methods.safe_sampling.method import SafeSampling
from phalanx.series.series import Series

QUASI = ["age", "sex", "education17", "birthplace57"]
SENSITIVE = "occupation50"
LIKE = {"sex": 2, "education17": 17, "birthplace57": 57, SENSITIVE: 50}
AGES = {"low": 15, "high": 95, "width": 10}
PLAIN: dict[str, Any] = {"epsilon": 1, "delta": "1e-8", "scheme": {"age": AGES}}
OPEN: dict[str, Any] = {
    "epsilon": 1,
    "delta": "1e-8",
    "epsilon_scheme": "0.1",
    "scheme": {"age": {"low": 15, "high": 95, "widths": [5, 10, 20, 40]}},
}
WAYS: dict[str, dict[str, Any]] = {
    "publish": PLAIN,
    "with the report": PLAIN,
    "with persons": PLAIN,
}
CHOSEN: dict[str, dict[str, Any]] = {
    "levels chosen": OPEN | {"choose": "levels"},
    "partition chosen": OPEN | {"choose": "partition"},
}


def population(rows: int) -> pl.DataFrame:
    """Rows of the census extract drawn with replacement, or made-up ones whose values have uneven
    shares; a number for every row.
    """
    rng = np.random.default_rng(2011)
    if folder := os.environ.get("PHALANX_DATA"):
        extract = pl.read_parquet(
            Path(folder, "acs2018_occsal.parquet"), columns=[*QUASI, SENSITIVE]
        )
        drawn = extract[rng.integers(0, extract.height, rows)].with_columns(
            pl.col(pl.Categorical).cast(pl.String)
        )
    else:
        made: dict[str, Any] = {"age": rng.integers(17, 95, rows)}
        for name, size in LIKE.items():
            shares = 1 / (np.arange(size) + 3)
            made[name] = np.array([f"{name} {i}" for i in range(size)])[
                rng.choice(size, rows, p=shares / shares.sum())
            ]
        drawn = pl.DataFrame(made)
    return drawn.with_columns(pl.Series("row_id", rng.permutation(rows)))


def two_halves(values: pl.Series) -> Tree:
    """A hierarchy over the values of a made-up or drawn column, so that a choice has a level
    between each value and all of them.
    """
    return Tree.of_paths(
        [[leaf, f"group {i // 8}", "*"] for i, leaf in enumerate(values.unique().sort().to_list())]
    )


def publish(
    source: Path,
    folder: Path,
    what: str,
    parameters: dict[str, Any],
    hierarchies: dict[str, Tree],
    seconds: Seconds,
) -> str:
    """The first release of a series of its own; says what it holds."""
    persons = what == "with persons"
    with timed(seconds, what):
        frame = pl.read_parquet(source, columns=None if persons else [*QUASI, SENSITIVE])
        trees = hierarchies if "epsilon_scheme" in parameters else {}
        schema = Schema(
            identifier="row_id" if persons else None,
            quasi=QUASI,
            sensitive=SENSITIVE,
            hierarchies=trees,
        )
        series = Series(
            "benchmark",
            schema=schema,
            method=SafeSampling(**parameters, allow_empty=True),
            to=folder / "releases",
            report=what == "with the report",
        )
        published = series.publish(frame)
    return (
        f"{what}: {published.rows} rows in {published.groups} images, k ="
        f" {published.manifest.method['k']}"
    )


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--chosen", action="store_true")
    asked = arguments.parse_args()
    ways = WAYS | (CHOSEN if asked.chosen else {})
    seconds: Seconds = defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "source.parquet")
        frame = population(asked.rows)
        hierarchies = {
            name: two_halves(frame[name]) for name in ("education17", "birthplace57", SENSITIVE)
        }
        frame.write_parquet(source)
        del frame
        said: dict[str, str] = {}
        for number in range(asked.rounds + 1):
            if number == 1:
                seconds.clear()
            floor(source, Path(place), QUASI, seconds)
            for what, parameters in ways.items():
                with tempfile.TemporaryDirectory(dir=place) as folder:
                    said[what] = publish(
                        source, Path(folder), what, parameters, hierarchies, seconds
                    )
    print("\n".join(said.values()))
    show(f"{asked.rows} rows, medians of {asked.rounds} rounds", seconds, list(ways))


if __name__ == "__main__":
    main()
