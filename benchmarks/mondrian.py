# SPDX-License-Identifier: Apache-2.0
"""Mondrian from file to file beside the floor: Polars reads the same file, sorts it by the
quasi-identifiers and writes it as Parquet.

    python benchmarks/mondrian.py [--rows 1000000] [--k 10] [--rounds 7]

Both run in this process, in turn, after one warm-up of each (which also loads the compiled kernel);
medians are printed.
"""

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import polars as pl
from beside import Seconds, floor, show, timed

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.base import Memory
from phalanx.methods.mondrian.method import Mondrian, partition
from phalanx.randomness import Randomness
from phalanx.release.folder import write_folder

CARDINALITIES = {
    "age": 80,
    "sex": 2,
    "education": 17,
    "birthplace": 57,
    "occupation": 50,
    "income": 1000,
}


def population(rows: int) -> pl.DataFrame:
    """A table with the cardinalities of the census extracts that the papers use."""
    rng = np.random.default_rng(2006)
    return pl.DataFrame(
        {name: rng.integers(0, distinct, rows) for name, distinct in CARDINALITIES.items()}
    )


def publish(source: Path, folder: Path, k: int, seconds: Seconds) -> int:
    method, schema = Mondrian(k=k), Schema(quasi=list(CARDINALITIES))
    with timed(seconds, "phalanx"):
        with timed(seconds, "  read"):
            frame = pl.read_parquet(source)
        with timed(seconds, "  encode"):
            microdata = Microdata.encode(frame, schema)
        with timed(seconds, "  cut and generalize"):
            draft = method.publish(microdata, Memory(), Randomness.secure())
        with timed(seconds, "  write"):
            manifest = write_folder(
                folder,
                draft.form,
                ["parquet"],
                series="benchmark",
                number=1,
                method=method.parameters(),
                guarantees=[],
                boxes="tight",
            )
    with timed(seconds, "kernel alone"):
        partition(method, microdata.quasi, None)
    return manifest.groups


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rows", type=int, default=1_000_000)
    arguments.add_argument("--k", type=int, default=10)
    arguments.add_argument("--rounds", type=int, default=7)
    asked = arguments.parse_args()
    seconds: Seconds = defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "source.parquet")
        population(asked.rows).write_parquet(source)
        for number in range(asked.rounds + 1):
            (folder := Path(place, f"release-{number}")).mkdir()
            if number == 1:
                seconds.clear()
            floor(source, Path(place), list(CARDINALITIES), seconds)
            groups = publish(source, folder, asked.k, seconds)
    show(
        f"{asked.rows} rows, {len(CARDINALITIES)} quasi-identifiers, k = {asked.k}: {groups}"
        f" groups; medians of {asked.rounds} rounds",
        seconds,
        ["phalanx"],
    )


if __name__ == "__main__":
    main()
