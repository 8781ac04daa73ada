# SPDX-License-Identifier: Apache-2.0
"""The same table published on this machine and on Spark, once in local mode and once on a standalone
cluster of two workers; every release is checked as `phalanx verify` does.

    python experiments/spark/demo.py [--rows 200000] [--only local|cluster]

``seconds`` are by the clock, of a whole process with check and ledger; ``width`` is the mean width of
the published intervals, of the whole range, and ``worst`` the smallest group.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from cluster import standalone

from phalanx import verify
from phalanx.release.folder import Release

PHALANX = str(Path(sys.executable).with_name("phalanx"))
PLAN = """
[series]
name = "{name}"
[source]
path = "table.parquet"
[schema]
identifier = "person"
quasi = ["age", "sex", "education", "birthplace"]
sensitive = "occupation"
[method]
name = "mondrian"
k = 10
[publish]
to = "releases"
engine = "{engine}"
"""


def table(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(2019)
    return pl.DataFrame(
        {
            "person": rng.permutation(rows),
            "age": rng.integers(0, 79, rows),
            "sex": pl.Series(rng.choice(["f", "m"], rows)),
            "education": rng.integers(0, 17, rows),
            "birthplace": rng.integers(0, 57, rows),
            "occupation": pl.Series([f"occupation {n}" for n in rng.integers(0, 50, rows)]),
        }
    )


def width(release: Path) -> float:
    read = Release.read(release).form.table
    return float(
        np.mean(
            [
                (read[f"{name}_high"] - read[f"{name}_low"]).mean() / reach
                for name, reach in (("age", 78), ("education", 16), ("birthplace", 56))
            ]
        )
    )


def publish(folder: Path, name: str, engine: str, master: str = "", **environment: str) -> None:
    where = f'spark_master = "{master}"\n' if master else ""
    (folder / f"{name}.toml").write_text(PLAN.format(name=name, engine=engine) + where)
    began = time.perf_counter()
    made = subprocess.run(
        [PHALANX, "publish", "--quiet", f"{name}.toml"],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    if made.returncode:
        sys.exit(f"{name}: {made.stderr[-800:]}")
    release = folder / "releases" / f"{name}-1"
    checked = verify(release)
    worst = next(v.worst for v in checked.checks if v.name.endswith("k-anonymity"))
    manifest = Release.read(release).manifest
    print(
        f"{name:<10}{manifest.rows:>12,}{len(manifest.parts) or 1:>7}{seconds:>9.1f}{width(release):>9.4f}{worst:>7}"
        f"  {'holds' if checked.holds else 'FAILS'}",
        flush=True,
    )
    if not checked.holds:
        sys.exit(1)


def run() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--only", choices=("local", "cluster"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table(options.rows).write_parquet(folder / "table.parquet")
        print(f"{'where':<10}{'rows':>12}{'parts':>7}{'seconds':>9}{'width':>9}{'worst':>7}  check")
        publish(folder, "machine", "local")
        if options.only != "cluster":
            publish(folder, "local", "spark", "local[2]")
        if options.only != "local":
            with standalone(folder / "cluster") as (master, environment):
                publish(folder, "cluster", "spark", master, **environment)


if __name__ == "__main__":
    run()
