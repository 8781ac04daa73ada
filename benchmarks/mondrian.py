"""Mondrian from file to file beside the floor: Polars reads the same file, sorts it by the quasi-identifiers and writes it as Parquet.

    python benchmarks/mondrian.py [--rows 1000000] [--k 10] [--rounds 7]

Both run in this process, in turn, after one warm-up of each (which also loads the compiled kernel); medians are printed.
"""

import argparse
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.methods.base import Memory
from phalanx.methods.mondrian import Mondrian, partition
from phalanx.randomness import Randomness
from phalanx.release.folder import write_folder

CARDINALITIES = {"age": 80, "sex": 2, "education": 17, "birthplace": 57, "occupation": 50, "income": 1000}

Seconds = dict[str, list[float]]


@contextmanager
def timed(seconds: Seconds, what: str) -> Iterator[None]:
    """Note how long the block took."""
    begun = time.perf_counter()
    yield
    seconds[what].append(time.perf_counter() - begun)


def population(rows: int) -> pl.DataFrame:
    """A table with the cardinalities of the census extracts that the papers use."""
    rng = np.random.default_rng(2006)
    return pl.DataFrame({name: rng.integers(0, distinct, rows) for name, distinct in CARDINALITIES.items()})


def floor(source: Path, folder: Path, seconds: Seconds) -> None:
    with timed(seconds, "floor"):
        pl.read_parquet(source).sort(list(CARDINALITIES)).write_parquet(folder / "sorted.parquet")


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
            manifest = write_folder(folder, draft.form, ["parquet"], series="benchmark", number=1, method=method.public(), guarantees=[], boxes="tight")
    with timed(seconds, "kernel alone"):
        partition(method, microdata.quasi, None)
    return manifest.groups


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
            floor(source, Path(place), seconds)
            groups = publish(source, folder, asked.k, seconds)
    print(f"{asked.rows} rows, {len(CARDINALITIES)} quasi-identifiers, k = {asked.k}: {groups} groups; medians of {asked.rounds} rounds")
    for what, each in seconds.items():
        print(f"{what:<22}{statistics.median(each):8.3f} s   ({min(each):.3f} to {max(each):.3f})")
    print(f"{'phalanx / floor':<22}{statistics.median(seconds['phalanx']) / statistics.median(seconds['floor']):8.2f}")
    print(f"{'peak memory':<22}{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:8.0f} MB (whole process, both)")


if __name__ == "__main__":
    main()
