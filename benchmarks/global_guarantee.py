# SPDX-License-Identifier: Apache-2.0
"""A long series under the global guarantee: the same persons with ten protected values, release
after release, from file to handed-out folder.

    python benchmarks/global_guarantee.py [--persons 1000000] [--releases 20] [--share 0.01] [--l 2]

Four fifths of the persons are in each release; a share of the rows holds one of ten protected
values, drawn anew for every row of every release. Prints the time of every release (reading,
grouping, writing, the check of the written files, the ledger's transaction), how flat it is over
the rounds, the floor (Polars reads the same file, sorts it by the QI and writes it as Parquet), the
most memory this process had, and what the ledger takes on the disk.
"""

import argparse
import resource
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from beside import Seconds, floor

from phalanx.data.schema import Schema
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.series.series import Series

QUASI = {"age": 80, "sex": 2, "region": 50, "education": 16}
PROTECTED = 10


def release(persons: int, share: float, number: int) -> pl.DataFrame:
    """The table of one release: the quasi-identifiers of a person stay, who is there and who holds
    what do not.
    """
    rng = np.random.default_rng([persons, number])
    lasting = np.random.default_rng(persons)
    columns = {name: lasting.integers(0, size, persons) for name, size in QUASI.items()}
    here = np.flatnonzero(rng.random(persons) < 0.8)
    value = np.where(
        rng.random(len(here)) < share,
        rng.integers(0, PROTECTED, len(here)),
        PROTECTED + rng.integers(0, 40, len(here)),
    )
    return pl.DataFrame(
        {"who": here, **{name: column[here] for name, column in columns.items()}, "ill": value}
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--l", type=float, default=2)
    parser.add_argument("--strategy", default="geometric")
    asked = parser.parse_args()
    schema = Schema(identifier="who", quasi=list(QUASI), sensitive="ill")
    floors: Seconds = {"floor": []}
    spent, steps_of = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder, source = Path(scratch), Path(scratch, "table.parquet")
        method = GlobalGuarantee(
            l=asked.l,
            strategy=asked.strategy,
            protect=list(range(PROTECTED)),
            expected_later=list(range(PROTECTED)),
        )
        warm = Series("warm-up", schema=schema, method=method, to=folder / "warm", report=False)
        for number in range(2):
            warm.publish(release(5000, asked.share, number))
        series = Series(
            "benchmark", schema=schema, method=method, to=folder / "releases", report=False
        )
        print(
            f"{'release':>8}{'seconds':>10}{'floor':>8}{'groups':>10}{'suppressed':>12}{'ledger MB':>11}{'RSS MB':>9}"
        )
        for number in range(asked.releases):
            release(asked.persons, asked.share, number).write_parquet(source)
            floor(source, folder, list(QUASI), floors)
            steps = [("read", time.perf_counter())]
            frame = pl.read_parquet(source)
            published = series.publish(
                frame, progress=lambda step, steps=steps: steps.append((step, time.perf_counter()))
            )
            steps.append(("", time.perf_counter()))
            spent.append(steps[-1][1] - steps[0][1])
            steps_of.append({name: end - start for (name, start), (_, end) in pairwise(steps)})
            ledger = sum(path.stat().st_size for path in folder.glob("benchmark.db*")) / 2**20
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
            print(
                f"{number + 1:>8}{spent[-1]:>10.2f}{floors['floor'][-1]:>8.2f}{published.groups:>10}{sum(published.suppressed_values.values()):>12}{ledger:>11.0f}{most:>9.0f}",
                flush=True,
            )
    for name in steps_of[0]:
        print(
            f"{name:>12}: {np.mean([s[name] for s in steps_of[:5]]):.2f} s in the first five"
            f" releases, {np.mean([s[name] for s in steps_of[-5:]]):.2f} s in the last five"
        )
    flat = np.mean(spent[-5:]) / np.mean(spent[:5])
    print(
        f"flatness: the last five releases take {flat:.2f} times the first five; the slowest"
        f" {max(spent) / min(spent):.2f} times the quickest"
    )
    print(f"times the floor: {np.median(spent) / np.median(floors['floor']):.1f}")


if __name__ == "__main__":
    main()
