# SPDX-License-Identifier: Apache-2.0
"""One release under m-invariance, from file to handed-out folder, beside the floor: Polars reads
the same file, sorts it by the QI and writes it as Parquet.

    python benchmarks/publish.py [--rows 200000] [--m 10] [--rounds 7]

The table is drawn from the census extract where PHALANX_DATA names the data folder, else made up
with the same cardinalities. All run in this process, in turn, after one warm-up of each (which also
loads the compiled kernels); medians are printed. ``phalanx`` is everything that ``publish`` does:
reading, hashing of persons, the four phases, writing, the check of the written files, the ledger's
transaction; with the report and without.
"""

import argparse
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from beside import Seconds, floor, show, timed

from phalanx.data.schema import Schema
from phalanx.methods.m_invariance import kernels
from phalanx.methods.m_invariance.method import MInvariance
from phalanx.series.series import Series

CARDINALITIES = {"age": 79, "sex": 2, "education17": 17, "birthplace57": 57}
KERNELS = ("counted_order", "sorted_lists", "balancing", "assignment", "split")


def population(rows: int) -> pl.DataFrame:
    """Rows of the census extract, or made-up ones: numbers and texts of the same cardinalities, 50
    sensitive values of uneven frequency.
    """
    if folder := os.environ.get("PHALANX_DATA"):
        extract = pl.read_parquet(
            Path(folder, "acs2018_occsal.parquet"),
            columns=["row_id", *CARDINALITIES, "occupation50"],
        )
        return extract.sample(min(rows, extract.height), seed=2007)
    rng = np.random.default_rng(2007)
    table: dict[str, Any] = {
        "row_id": rng.permutation(rows),
        "age": rng.integers(17, 17 + CARDINALITIES["age"], rows),
    }
    for name in ("sex", "education17", "birthplace57"):
        table[name] = np.char.add(
            f"{name} ", rng.integers(0, CARDINALITIES[name], rows).astype(str)
        )
    shares = 1 / (
        np.arange(50) + 10
    )  # a Zipf tail: the most frequent value stands in 1 of 18 rows, so m = 10 can be kept
    table["occupation50"] = np.char.add(
        "occupation ", rng.choice(50, rows, p=shares / shares.sum()).astype(str)
    )
    return pl.DataFrame(table)


def publish(source: Path, folder: Path, m: int, seconds: Seconds, *, report: bool) -> str:
    """The first release of a series of its own; says what it holds."""
    what = "phalanx with report" if report else "phalanx"
    steps: list[tuple[str, float]] = []
    with timed(seconds, what):
        began = time.perf_counter()
        frame = pl.read_parquet(source)
        steps.append(("read and open", began))
        schema = Schema(identifier="row_id", quasi=list(CARDINALITIES), sensitive="occupation50")
        series = Series(
            "benchmark",
            schema=schema,
            method=MInvariance(m=m),
            to=folder / "releases",
            report=report,
        )
        published = series.publish(
            frame, progress=lambda step: steps.append((step, time.perf_counter()))
        )
        steps.append(("", time.perf_counter()))
    if not report:
        for (step, start), (_, end) in pairwise(steps):
            seconds[f"  {step}"].append(end - start)
    return f"{published.groups} groups, {published.counterfeits} counterfeits"


@contextmanager
def watched(seconds: Seconds) -> Iterator[None]:
    """Note the processor time of each kernel, summed over threads: what it would take on one
    core.
    """
    originals = {name: getattr(kernels, name) for name in KERNELS}
    spent: dict[str, list[float]] = defaultdict(list)

    def wrapped(name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            begun = time.thread_time()
            try:
                return originals[name](*arguments)
            finally:
                spent[name].append(time.thread_time() - begun)

        return call

    for name in KERNELS:
        setattr(kernels, name, wrapped(name))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(kernels, name, original)
            seconds[f"kernel {name}"].append(sum(spent[name]))


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rows", type=int, default=200_000)
    arguments.add_argument("--m", type=int, default=10)
    arguments.add_argument("--rounds", type=int, default=7)
    asked = arguments.parse_args()
    seconds: Seconds = defaultdict(list)
    with tempfile.TemporaryDirectory() as place:
        source = Path(place, "source.parquet")
        table = population(asked.rows)
        table.write_parquet(source)
        for number in range(asked.rounds + 1):
            if number == 1:
                seconds.clear()
            floor(source, Path(place), list(CARDINALITIES), seconds)
            said = publish(source, Path(place, f"plain-{number}"), asked.m, seconds, report=False)
            publish(source, Path(place, f"report-{number}"), asked.m, seconds, report=True)
            with watched(seconds):
                publish(
                    source,
                    Path(place, f"watched-{number}"),
                    asked.m,
                    defaultdict(list),
                    report=False,
                )
    show(
        f"{table.height} rows, {len(CARDINALITIES)} quasi-identifiers, m = {asked.m}: {said};"
        f" medians of {asked.rounds} rounds",
        seconds,
        ["phalanx", "phalanx with report"],
    )


if __name__ == "__main__":
    main()
