# SPDX-License-Identifier: Apache-2.0
"""A table larger than the memory: `phalanx publish plan.toml` as a process of its own that may take
no more than a hard limit (RLIMIT_DATA), with the check and the ledger; `phalanx init` before it, and
`phalanx verify`, by itself and with the original table, a question to `phalanx estimate`, a table of
`phalanx draw` and the figures of `phalanx measure` after it, under the same limit. Where persons are
followed, a second table is published in the end, in which one person in twenty is another one, and
both releases are checked with the ledger.

    python benchmarks/larger.py [--rows 1000000] [--limit "4 GiB"] [--method WORD] [--birthplaces 57]
        [--source parquet]

The table is made up in batches, N rows x 6 columns: a person, four quasi-identifiers, an occupation.
``seconds`` are by the clock, ``cpu`` is what all threads took, ``peak`` the most memory that was
resident. The disk needs room for the table three times. The ``source`` is a file of Parquet or CSV, a
folder of Parquet files, or a query of SQLite. With fewer ``birthplaces`` more persons share
their quasi-identifiers.
"""

import argparse
import itertools
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from phalanx.engines.choosing import bytes_of

PHALANX = str(Path(sys.executable).with_name("phalanx"))
BATCH = 1_000_000
SAMPLING = """name = "safe-sampling"
epsilon = 2
delta = 1e-6
expected_rows = 1_000_000
scheme = { %s age = { low = 0, high = 80, widths = [5, 10, 20, 40] } }
"""
METHODS = {
    "mondrian": 'name = "mondrian"\nk = 10',
    "diverse": 'name = "mondrian"\nk = 10\nl = 4',
    "anatomy": 'name = "anatomy"\nl = 4',
    "slicing": 'name = "slicing"\nl = 4\ncolumns = 2\nsensitive_column_size = 1',
    "sampling": SAMPLING % "education = 1, birthplace = 1,",
    "m-invariance": 'name = "m-invariance"\nm = 4',
    "global-guarantee": 'name = "global-guarantee"\nl = 3',
    "levels": SAMPLING % "" + "epsilon_scheme = 0.5\n",
}
SOURCES = {
    "parquet": 'path = "table.parquet"',
    "csv": 'path = "table.csv"',
    "folder": 'path = "table"',
    "sqlite": 'url = "sqlite:///table.db"\nquery = "select * from people"',
}
BESIDE = ("parquet", "csv", "folder")
"""The sources that are read some rows at a time beside a release."""
ASKED = ("estimate", "draw", "measure")
FOLLOWED = ("m-invariance", "global-guarantee")
PLAN = """
[series]
name = "larger"
[source]
{source}
[schema]
identifier = "person"
quasi = ["age", "sex", "education", "birthplace"]
sensitive = "occupation"
[method]
{method}
[publish]
to = "releases"
engine = "out-of-core"
memory_limit = "{limit}"
"""


def batch(first: int, rows: int, birthplaces: int = 57) -> pl.DataFrame:
    """Persons from number ``first``; the most frequent occupation stands in 1 of 18 rows."""
    rng = np.random.default_rng(2019 + first)
    shares = 1 / (np.arange(50) + 10)
    frame = pl.DataFrame(
        {
            "person": rng.permutation(rows) + first,
            "age": rng.integers(0, 79, rows),
            "sex": rng.integers(0, 2, rows),
            "education": rng.integers(0, 17, rows),
            "birthplace": rng.integers(0, birthplaces, rows),
            "occupation": rng.choice(50, rows, p=shares / shares.sum()),
        }
    )
    return frame.with_columns(
        pl.format("{} {}", pl.lit(name), name).alias(name)
        for name in ("sex", "education", "birthplace", "occupation")
    )


def make(path: Path, rows: int, birthplaces: int = 57, *, again: bool = False) -> None:
    """The table, a batch at a time; ``again``: with another person in the place of one in twenty."""
    with ExitStack() as opened:
        write = writer(path, opened)
        for frame in batches(rows, birthplaces, again=again):
            write(frame)


def writer(path: Path, opened: ExitStack) -> Callable[[pl.DataFrame], object]:
    """What writes some rows behind the others, in the form that the name of the path says."""
    if path.suffix == ".csv":
        file = opened.enter_context(path.open("wb"))
        return lambda frame: frame.write_csv(file, include_header=not file.tell())
    if path.suffix == ".db":
        path.unlink(missing_ok=True)
        database = opened.enter_context(closing(sqlite3.connect(path, isolation_level=None)))
        columns = list(batch(0, 1).columns)
        database.execute(f"create table people ({', '.join(columns)})")

        def insert(frame: pl.DataFrame) -> None:
            database.execute("begin")
            marks = ", ".join("?" * len(columns))
            database.executemany(f"insert into people values ({marks})", frame.iter_rows())  # noqa: S608 - marks alone
            database.execute("commit")

        return insert
    if path.suffix == ".parquet":
        schema = batch(0, 1).to_arrow().schema
        plain = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
        whole = opened.enter_context(pq.ParquetWriter(path, schema, **plain))
        return lambda frame: whole.write_table(frame.to_arrow())
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    numbers = itertools.count()
    return lambda frame: frame.write_parquet(path / f"part-{next(numbers):05}.parquet")


def batches(rows: int, birthplaces: int, *, again: bool) -> Iterator[pl.DataFrame]:
    """The rows of the table."""
    for first in range(0, rows, BATCH):
        frame = batch(first, min(BATCH, rows - first), birthplaces)
        if again:
            new = batch(rows + first, frame.height, birthplaces)
            frame = pl.concat([frame[frame.height // 20 :], new[: frame.height // 20]])
        yield frame


def timed(words: list[str], folder: Path, limit: int) -> str:
    """One process under the limit, to its end; what a reader asks of a release may be refused for
    want of memory.
    """
    began = time.perf_counter()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [PHALANX, *words],
            cwd=folder,
            stdout=log,
            stderr=log,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),  # noqa: PLW1509 - one thread here
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    last = (folder / "log").read_text()[-800:]
    refused = process.returncode == 2 and words[0] in ASKED and "of memory" in last
    if process.returncode and not refused:
        sys.exit(f"{words[0]} ends with {process.returncode}\n{last}")
    seconds, cpu = time.perf_counter() - began, used.ru_utime + used.ru_stime
    clock = "refused" if refused else f"{seconds:.1f}"
    return f"{clock:>9}{cpu:>9.1f}{used.ru_maxrss / 1024:>9.0f}"


def run() -> None:
    """Make the table, publish it, check it, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--limit", default="4 GiB")
    parser.add_argument("--method", choices=METHODS, default="mondrian")
    parser.add_argument("--birthplaces", type=int, default=57)
    parser.add_argument("--source", choices=SOURCES, default="parquet")
    parser.add_argument("--folder", type=Path, help="where the table and releases lie meanwhile")
    options = parser.parse_args()
    limit = bytes_of(options.limit)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder, source = Path(name), SOURCES[options.source]
        table = {"sqlite": "table.db", "folder": "table"}.get(
            options.source, f"table.{options.source}"
        )
        make(folder / table, options.rows, options.birthplaces)
        (folder / "plan.toml").write_text(
            PLAN.format(method=METHODS[options.method], limit=options.limit, source=source)
        )
        asked = ["sqlite:///table.db", "--query", "select * from people"]
        print(
            f"{'job':<36}{'rows':>12}{'limit':>10}{'seconds':>9}{'cpu':>9}{'peak MB':>9}{'parts':>7}"
        )
        first, publish = "releases/larger-1", ["publish", "plan.toml"]
        jobs = [
            ["init", *(asked if table == "table.db" else [table]), "--to", "proposed.toml"],
            publish,
            ["verify", first],
            *([["verify", first, "--original", table]] if options.source in BESIDE else []),
            ["estimate", first, "count(*) where age >= 60 and sex = 'sex 1'"],
            ["draw", first, "--to", "drawn", "--times", "1", "--format", "parquet"],
            *([["measure", first, "--original", table]] if options.source in BESIDE else []),
        ]
        if options.method in FOLLOWED:
            both = [first, "releases/larger-2"]
            jobs += [publish, ["verify", *both, "--ledger", "sqlite:///larger.db"]]
        for at, words in enumerate(jobs):
            if words == publish and publish in jobs[:at]:
                make(folder / table, options.rows, options.birthplaces, again=True)
            figures = timed(words, folder, limit)
            parts = len(list((folder / "releases" / "larger-1").glob("data*.parquet")))
            with_original = words[0] == "verify" and "--original" in words
            asked = f"{words[0]}, {options.method}{', original' if with_original else ''}"
            print(
                f"{asked:<36}{options.rows:>12}{options.limit:>10}{figures}{parts:>7}",
                flush=True,
            )


if __name__ == "__main__":
    run()
