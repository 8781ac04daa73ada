# SPDX-License-Identifier: Apache-2.0
"""Long series under the global guarantee, from file to handed-out folder.

    python benchmarks/global_guarantee.py [--persons 1000000] [--releases 20] [--share 0.01] [--l 2]
        [--rows 100000] [--stay-releases 8] [--stay-share 0.05] [--grouping balanced]

- Values drawn anew: four fifths of the persons are in each release; a share of the rows holds one
  of ten protected values, drawn anew for every row of every release.
- Values that stay: so many rows in each release, of which one in twenty leaves for a newcomer; a
  share of the persons holds one of five protected values for good. Budgets are spent after a few
  releases, so that nobody's demands are met any more.

Prints the time of every release (reading, grouping, writing, the check of the written files, the
ledger's transaction), how flat it is over the rounds, the floor (Polars reads the same file, sorts
it by the QI and writes it as Parquet), the most memory this process had, and what the ledger takes
on the disk. Either input is left out where it has no releases.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
from beside import Seconds, floor

from phalanx.data.schema import Schema
from phalanx.methods.global_guarantee.method import GlobalGuarantee
from phalanx.series.series import Series

QUASI = {"age": 80, "sex": 2, "region": 50, "education": 16}
DRAWN, STAYING = 10, 5
"""How many values are protected in either input."""
UNPROTECTED = 40


def drawn_anew(persons: int, share: float, number: int) -> pl.DataFrame:
    """The table of one release: the quasi-identifiers of a person stay, who is there and who holds
    what do not.
    """
    rng = np.random.default_rng([persons, number])
    lasting = np.random.default_rng(persons)
    columns = {name: lasting.integers(0, size, persons) for name, size in QUASI.items()}
    here = np.flatnonzero(rng.random(persons) < 0.8)
    return _table(here, columns, _ill(rng, len(here), share, DRAWN))


def that_stay(rows: int, share: float, number: int, releases: int) -> pl.DataFrame:
    """The table of one release: everything about a person stays, and 5 % of the persons change."""
    lasting = np.random.default_rng(rows)
    newcomers = rows // 20
    persons = rows + releases * newcomers
    columns = {name: lasting.integers(0, size, persons) for name, size in QUASI.items()}
    here = np.arange(number * newcomers, number * newcomers + rows)
    return _table(here, columns, _ill(lasting, persons, share, STAYING)[here])


def _ill(rng: np.random.Generator, n: int, share: float, protected: int) -> np.ndarray:
    holds = rng.random(n) < share
    values = rng.integers(0, protected, n), protected + rng.integers(0, UNPROTECTED, n)
    return np.where(holds, *values)


def _table(here: np.ndarray, columns: dict[str, np.ndarray], ill: np.ndarray) -> pl.DataFrame:
    qi = {name: column[here] for name, column in columns.items()}
    return pl.DataFrame({"who": here, **qi, "ill": ill})


def run(
    name: str, release: Callable[[int], pl.DataFrame], releases: int, method: GlobalGuarantee
) -> None:
    """Publish one input, and print what each release took."""
    schema = Schema(identifier="who", quasi=list(QUASI), sensitive="ill")
    floors: Seconds = {"floor": []}
    spent, steps_of = [], []
    print(f"{name}: {release(0).height} rows in the first release")
    with tempfile.TemporaryDirectory() as scratch:
        folder, source = Path(scratch), Path(scratch, "table.parquet")
        series = Series(
            "benchmark", schema=schema, method=method, to=folder / "releases", report=False
        )
        print(
            f"{'release':>8}{'seconds':>10}{'floor':>8}{'groups':>10}{'suppressed':>12}"
            f"{'ledger MB':>11}{'RSS MB':>9}"
        )
        for number in range(releases):
            release(number).write_parquet(source)
            floor(source, folder, list(QUASI), floors)
            steps = [("read", time.perf_counter())]
            frame = pl.read_parquet(source)
            published = series.publish(
                frame,
                progress=lambda step, *_, steps=steps: steps.append((step, time.perf_counter())),
            )
            steps.append(("", time.perf_counter()))
            spent.append(steps[-1][1] - steps[0][1])
            steps_of.append({name: end - start for (name, start), (_, end) in pairwise(steps)})
            ledger = sum(path.stat().st_size for path in folder.glob("benchmark.db*")) / 2**20
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
            suppressed = sum(published.suppressed_values.values())
            print(
                f"{number + 1:>8}{spent[-1]:>10.2f}{floors['floor'][-1]:>8.2f}"
                f"{published.groups:>10}{suppressed:>12}{ledger:>11.0f}{most:>9.0f}",
                flush=True,
            )
    few = min(5, (releases + 1) // 2)
    for step in steps_of[0]:
        first, last = ([s[step] for s in part] for part in (steps_of[:few], steps_of[-few:]))
        print(
            f"{step:>12}: {np.mean(first):.2f} s in the first {few} releases,"
            f" {np.mean(last):.2f} s in the last {few}"
        )
    flat = np.mean(spent[-few:]) / np.mean(spent[:few])
    print(
        f"flatness: the last {few} releases take {flat:.2f} times the first {few}; the slowest"
        f" {max(spent) / min(spent):.2f} times the quickest"
    )
    print(f"times the floor: {np.median(spent) / np.median(floors['floor']):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--persons", type=int, default=1_000_000)
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--stay-releases", type=int, default=8)
    parser.add_argument("--stay-share", type=float, default=0.05)
    parser.add_argument("--l", type=float, default=2)
    parser.add_argument("--strategy", default="geometric")
    parser.add_argument("--grouping", default="balanced")
    asked = parser.parse_args()

    def method(protected: int) -> GlobalGuarantee:
        values = list(range(protected))
        return GlobalGuarantee(
            l=asked.l,
            strategy=asked.strategy,
            grouping=asked.grouping,
            protect=values,
            expected_later=values,
        )

    with tempfile.TemporaryDirectory() as warm:
        schema = Schema(identifier="who", quasi=list(QUASI), sensitive="ill")
        to = Path(warm, "releases")
        series = Series("warm-up", schema=schema, method=method(DRAWN), to=to, report=False)
        for number in range(2):
            series.publish(drawn_anew(5000, asked.share, number))
    if asked.releases:
        run(
            "values drawn anew",
            lambda number: drawn_anew(asked.persons, asked.share, number),
            asked.releases,
            method(DRAWN),
        )
    if asked.stay_releases:
        run(
            "values that stay",
            lambda number: that_stay(asked.rows, asked.stay_share, number, asked.stay_releases),
            asked.stay_releases,
            method(STAYING),
        )


if __name__ == "__main__":
    main()
