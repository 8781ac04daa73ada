# SPDX-License-Identifier: Apache-2.0
"""What parts lose: a series of two releases whose tables are published in parts as if they were
larger than the memory, beside the same tables published whole.

    python benchmarks/parts.py [--rows 1500000] [--part 400000] [--method m-invariance] [--spark]
        [--tail]

The tables are those of benchmarks/larger.py; in the second one person in twenty is another one. With
``--tail`` they have an income, too: most are near each other, and some far away.
``loss`` is the mean width of a row's intervals, as a share of the attribute's range, over all
quasi-identifiers.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from larger import make

from phalanx import GlobalGuarantee, MInvariance, Mondrian, Schema, Series
from phalanx.engines import choosing
from phalanx.engines.out_of_core import Divided
from phalanx.methods.base import Method

METHODS: dict[str, Method] = {
    "m-invariance": MInvariance(m=4),
    "global-guarantee": GlobalGuarantee(l=3),
    "mondrian": Mondrian(k=5, l=3),
}
QUASI = ["age", "sex", "education", "birthplace"]
TAIL = "income"


def loss(table: pl.DataFrame, quasi: list[str]) -> float:
    """The mean width of intervals; values of text lie in the order of code points."""
    widths = []
    for name in quasi:
        low, high = table[f"{name}_low"], table[f"{name}_high"]
        both = pl.concat([low, high])
        ranks = (both if name == TAIL else both.rank("dense")).cast(pl.Float64)
        low, high = ranks[: len(low)], ranks[len(low) :]
        widths.append(((high - low) / (ranks.max() - ranks.min())).mean())  # type: ignore[operator]
    return sum(widths) / len(widths)


def with_incomes(path: Path) -> None:
    """Add an income to every row of a table."""
    table = pl.read_parquet(path)
    incomes = np.round(np.random.default_rng(1).lognormal(8, 1.2, table.height), -1)
    table.with_columns(pl.Series(TAIL, incomes.astype(np.int64))).write_parquet(path)


def run() -> None:
    """Publish both ways, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_500_000)
    parser.add_argument("--part", type=int, default=400_000, help="rows wanted in a part")
    parser.add_argument("--method", choices=METHODS, default="m-invariance")
    parser.add_argument("--spark", action="store_true", help="also on Spark, which cuts as it does")
    parser.add_argument("--tail", action="store_true", help="with an attribute of a long tail")
    parser.add_argument("--folder", type=Path, help="where tables and releases lie meanwhile")
    options = parser.parse_args()
    method = METHODS[options.method]
    quasi = [*QUASI, TAIL] if options.tail else QUASI
    schema = Schema(identifier="person", quasi=quasi, sensitive="occupation")
    room = int(options.part * 6 * method.bytes_per_value / Divided.share) + 1  # type: ignore[attr-defined]
    left = choosing.memory_left
    print(f"{'release':<32}{'parts':>6}{'loss':>8}{'counterfeits':>14}{'groups':>9}")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        for way in ("whole", "in parts", *(["spark"] if options.spark else [])):
            choosing.memory_left = (lambda: room) if way == "in parts" else left
            engine, master = ("spark", "local[2]") if way == "spark" else (None, None)
            for number in (1, 2):
                make(folder / "table.parquet", options.rows, again=number == 2)
                if options.tail:
                    with_incomes(folder / "table.parquet")
                series = Series(
                    way,
                    schema,
                    method,
                    to=folder / way,
                    report=False,
                    engine=engine,  # type: ignore[arg-type]
                    spark_master=master,
                )
                made = series.publish(folder / "table.parquet")
                said = f"{options.method} {number}, {way}"
                share = (made.manifest.counterfeits or 0) / made.rows
                print(
                    f"{said:<32}{len(made.manifest.parts):>6}{loss(made.form.table, quasi):>8.4f}"
                    f"{share:>14.2%}{made.groups:>9}",
                    flush=True,
                )


if __name__ == "__main__":
    run()
