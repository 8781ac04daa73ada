# SPDX-License-Identifier: Apache-2.0
"""Every job as a user starts it: `phalanx …` in a process of its own, with the check, the ledger and
the report, beside the floor of the same run, a process in which Polars reads the same Parquet file,
sorts it by the quasi-identifiers and writes it.

    python benchmarks/jobs.py [--rows 1000000] [--rounds 3] [--only TEXT] [--json FILE] [--profile]

Tables are made up, with the cardinalities of a census extract, so that a run means the same on every
machine. Some hurt: values that stay with their persons, permanent ones, thousands of values, equal
persons, a large tree, long series, wide tables. ``seconds`` are by
the clock, ``cpu`` is what all threads took, ``peak`` the most memory of the process; each is the
median of the rounds, after one that is not counted. What is timed as a ``first run`` is installed
anew in an environment of its own, as a user installs it, which takes some minutes. A series is made
before its last release is timed, and is put back before each round. ``peers`` are other tools at the same job, in an environment
of their own that is made once: from CSV to CSV, once, in the processor's seconds as a multiple of ours.
anonypyx and anjana make the same k; anjana by bands of numbers, suppressing up to one row in twenty.
pycanon looks at the k and the distinct l of the table that we verify, and at nothing else of it.
``--profile`` runs one job in this process and prints where its time goes.
"""

import argparse
import atexit
import cProfile
import json
import os
import pstats
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from phalanx.cli import app

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "experiments"))  # environments.py stands there
from environments import environment  # noqa: E402

PHALANX = str(Path(sys.executable).with_name("phalanx"))

QUASI = {"age": 79, "sex": 2, "education": 17, "birthplace": 57}
VALUES = 50
HURTS = {"income": 0, "postcode": 20_000}
"""Further quasi-identifiers, by how many values they have: 0 for as many as there are rows."""
TRAITS = {f"trait {number}": 30 for number in range(16)}
WIDE = {f"trait {number}": 30 for number in range(96)}
SERIES = 100_000
"""Rows of a table that is published again and again."""
RELEASES = 8
FIRST = {
    "mondrian": "k = 10",
    "anatomy": "l = 4",
    "m-invariance": "m = 4",
    "global-guarantee": "l = 4",
    "slicing": 'l = 4\ncolumns = [["age", "education", "birthplace"], ["sex", "occupation"]]',
    "mutual-cover": 'delta = "1/6"\nk = 10',
}
"""The parameters of a method where it is published once, before anything is compiled."""
FLOOR = (
    "import sys, polars as pl; source, to, *quasi = sys.argv[1:];"
    "pl.read_parquet(source).sort(quasi).write_parquet(to)"
)


def incomes(rng: np.random.Generator, rows: int) -> np.ndarray:
    """So many numbers, nearly all different."""
    return rng.lognormal(10, 1, rows).round(2)


def table(
    rows: int,
    wide: int = 0,
    first: int = 0,
    more: Mapping[str, int] | None = None,
    values: int = VALUES,
    alike: int = 0,
) -> pl.DataFrame:
    """Persons from number `first`; of 50 values the most frequent one stands in 1 of 18 rows, and
    with 0 nearly each row has its own, an income. Their quasi-identifiers are those of as many as are `alike`, unless
    it is 0.
    """
    rng = np.random.default_rng(2007 + first)
    columns = {"person": rng.permutation(rows) + first}
    for name, many in QUASI.items():
        columns[name] = rng.integers(0, many, rows)
    if alike:
        like = rng.integers(0, alike, rows)
        columns |= {name: columns[name][like] for name in QUASI}
    shares = 1 / (np.arange(values) + 10)
    columns["occupation"] = (
        rng.choice(values, rows, p=shares / shares.sum()) if values else incomes(rng, rows)
    )
    frame = pl.DataFrame(columns).with_columns(
        pl.format("{} {}", pl.lit(name), name).alias(name)
        for name in ("sex", "education", "birthplace", *(["occupation"] if values else []))
    )
    frame = frame.with_columns(
        pl.Series(f"kept {number}", rng.integers(0, 20, rows)) for number in range(wide)
    )
    return frame.with_columns(
        pl.format("{}", pl.Series(name, rng.integers(0, many, rows))).alias(name)
        if many
        else pl.Series(name, incomes(rng, rows))
        for name, many in (more or {}).items()
    )


def tree(leaves: int) -> str:
    """One line for each place: itself, and what it lies in, of 10, 100 and 1,000 places."""
    lines = (
        f"place {i};district {i // 10};county {i // 100};land {i // 1000};*" for i in range(leaves)
    )
    return "\n".join(lines) + "\n"


def churned(frame: pl.DataFrame, release: int, **shape: Any) -> pl.DataFrame:
    """The table of the next release: one person in twenty leaves for a newcomer, and all others keep
    their values; ``shape`` as of the table.
    """
    gone = max(1, frame.height // 20)
    return pl.concat([frame.slice(gone), table(gone, first=release * 10_000_000, **shape)])


@dataclass
class Job:
    """What is published, and how."""

    name: str
    method: str
    rows: int
    wide: int = 0
    more: Mapping[str, int] = field(default_factory=dict)
    """Further quasi-identifiers."""
    values: int = VALUES
    """How many sensitive values there are; 0 for as many as there are rows."""
    alike: int = 0
    """How many different quasi-identifiers; 0 for as many as there are."""
    leaves: int = 0
    """How many leaves the tree over a further quasi-identifier, a place, has; 0 for no such tree."""
    releases: int = 1
    """The release that is timed; those before it are made first."""
    command: str = "publish"
    peers: Sequence[str] = ()
    cold: bool = False
    """Whether nothing is compiled yet, as in a source that is worked on."""
    installed: bool = False
    """Whether it is the first one after an installation; there is one round of it."""
    figures: dict[str, list[float]] = field(default_factory=dict)

    @property
    def quasi(self) -> list[str]:
        """The names of its quasi-identifiers."""
        return [*QUASI, *self.more, *(["place"] if self.leaves else [])]


def jobs(rows: int) -> list[Job]:
    """From the shortest to the longest."""
    sliced = 'name = "slicing"\nl = 4\ncolumns = [["age", "education", "birthplace"], ["sex", "occupation"]]'
    sampled = (
        'name = "safe-sampling"\nepsilon = 1\ndelta = 1e-8\nallow_empty = true\n'
        "scheme = { age = { low = 0, high = 80, width = 10 } }"
    )
    cover = 'name = "mutual-cover"\ndelta = "1/6"\nk = 10'
    stays = 'name = "global-guarantee"\nl = 2\nprotect = ["occupation 0", "occupation 10", "occupation 20", "occupation 30", "occupation 40"]'
    lasts = f'name = "global-guarantee"\nl = 4\npermanent = {json.dumps([f"occupation {v}" for v in range(0, VALUES, 3)])}'
    return [
        Job("start: mondrian", 'name = "mondrian"\nk = 10', 30_000, peers=("anonypyx", "anjana")),
        Job("mondrian, k", 'name = "mondrian"\nk = 10', rows),
        Job("mondrian, l", 'name = "mondrian"\nl = 4', rows),
        Job("mondrian, 40 kept columns", 'name = "mondrian"\nk = 10', rows // 10, wide=40),
        Job("mondrian, 100 quasi-identifiers", 'name = "mondrian"\nk = 10', SERIES // 4, more=WIDE),
        Job("mondrian, a tree of 5,000 leaves", 'name = "mondrian"\nk = 10', SERIES // 4, leaves=5_000),
        Job("mondrian, t by order, values nearly all different", 'name = "mondrian"\nk = 10\nt = "1/5"\ndistance = "ordered"', 2 * SERIES, values=0),
        Job("slicing, t by order, values nearly all different", f'{sliced}\nt = "1/5"\ndistance = "ordered"', 2 * SERIES, values=0),
        Job("m-invariance, values nearly all different", 'name = "m-invariance"\nm = 4', 2 * SERIES, values=0),
        Job("anatomy", 'name = "anatomy"\nl = 4', rows),
        Job("m-invariance", 'name = "m-invariance"\nm = 4', rows),
        Job(f"m-invariance, release {RELEASES}", 'name = "m-invariance"\nm = 4', SERIES, releases=RELEASES),
        Job("global guarantee", 'name = "global-guarantee"\nl = 4', rows),
        Job(f"global guarantee, values that stay, release {RELEASES}", stays, SERIES, releases=RELEASES),
        Job(f"global guarantee, permanent values, release {RELEASES}", lasts, SERIES // 4, releases=RELEASES),
        Job("slicing", sliced, rows),
        Job("safe sampling", sampled, rows),
        Job("mutual cover", cover, 30_000),
        Job("mutual cover", cover, rows),
        Job("mutual cover, 20 quasi-identifiers", cover, 30_000, more=TRAITS),
        Job("mutual cover, an income and a postcode", cover, 30_000, more=HURTS),
        Job("mutual cover, 10 different quasi-identifiers", cover, 50_000, alike=10),
        Job("verify, mondrian", 'name = "mondrian"\nk = 10', SERIES, command="verify-files", peers=("pycanon",)),
        Job("verify, release 1, its ledger", 'name = "m-invariance"\nm = 4', SERIES, releases=1, command="verify"),
        Job(f"verify, releases 1 to {RELEASES}, their ledger", 'name = "m-invariance"\nm = 4', SERIES, releases=RELEASES, command="verify"),
        Job("verify, mondrian, its original, no ledger", 'name = "mondrian"\nk = 10', rows, command="verify-public"),
        Job("verify, release 1, its original", 'name = "m-invariance"\nm = 4', SERIES, command="verify-original"),
        Job("verify, 5,000 values, its original", 'name = "m-invariance"\nm = 4', SERIES, command="verify-original", values=5_000),
        Job("verify, 20,000 values, its original", 'name = "m-invariance"\nm = 4', SERIES // 4, command="verify-original", values=20_000),
        Job("verify, values nearly all different, its original", 'name = "m-invariance"\nm = 4', SERIES, command="verify-original", values=0),
        Job("measure, an income and a postcode", 'name = "mondrian"\nk = 10', SERIES, command="measure", more=HURTS),
        *(Job(f"first run: {name}", f'name = "{name}"\n{promise}', 30_000, installed=True) for name, promise in FIRST.items()),
        *(Job(f"first run, compiled in it: {name}", f'name = "{name}"\n{promise}', 30_000, cold=True) for name, promise in FIRST.items()),
    ]  # fmt: skip


def plan(job: Job) -> str:
    """The plan of a job, as a person would write it."""
    kept = [f"kept {number}" for number in range(job.wide)]
    trees = '[schema.hierarchies]\nplace = "tree.csv"' if job.leaves else ""
    return f"""
[series]
name = "job"
[source]
path = "table.parquet"
[schema]
identifier = "person"
quasi = {json.dumps(job.quasi)}
sensitive = "occupation"
keep = {json.dumps(kept)}
{trees}
[method]
{job.method}
[publish]
to = "releases"
"""


def words(job: Job) -> list[str]:
    """What is said to `phalanx`."""
    if job.command == "publish":
        return ["publish", "plan.toml"]
    folders = [f"releases/job-{number + 1}" for number in range(job.releases)]
    original = ["--original", "table.parquet"]
    if job.command == "measure":
        return ["measure", *folders, *original]
    if job.command == "verify-public":
        return ["verify", *folders, *original]
    if job.command == "verify-original":
        return ["verify", *folders, *original, "--identifier", "person", "--ledger", "job.db"]
    return ["verify", *folders, *(["--ledger", "job.db"] if job.command == "verify" else [])]


def timed(
    argv: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None
) -> dict[str, float]:
    """One process, to its end; modules that were compiled once are read, as by anyone."""
    began = time.perf_counter()
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            argv, cwd=folder, stdout=log, stderr=log, env={**kept, **(environment or {})}
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(
            f"{' '.join(argv[-4:])}: ends with {process.returncode}\n{(folder / 'log').read_text()[-800:]}"
        )
    return {
        "seconds": time.perf_counter() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss / 1024,
    }


def prepare(job: Job, folder: Path) -> None:
    """The folder as it is before what is timed."""
    folder.mkdir()
    (folder / "plan.toml").write_text(plan(job))
    frame = table(job.rows, job.wide, more=job.more, values=job.values, alike=job.alike)
    if job.leaves:
        frame = frame.with_columns(place=pl.format("place {}", frame["person"] % job.leaves))
        (folder / "tree.csv").write_text(tree(job.leaves))
    before = job.releases - (job.command == "publish")
    for release in range(job.releases):
        if release:
            frame = churned(frame, release)
        frame.write_parquet(folder / "table.parquet")
        if release < before:
            timed([PHALANX, "publish", "plan.toml"], folder)


def measure(job: Job, rounds: int, folder: Path) -> None:
    """Each round from the same folder; the first is not counted, unless it is what is meant."""
    prepared, work = folder / "prepared", folder / "work"
    # Linux counts the most memory of whoever starts a process as the process's own
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as apart:
        apart.submit(prepare, job, prepared).result()
    for number in range(0 if job.installed else -1, 1 if job.installed else rounds):
        shutil.copytree(prepared, work)
        beside = timed(
            [sys.executable, "-c", FLOOR, "table.parquet", "sorted.parquet", *job.quasi],
            work,
        )
        kept = {"NUMBA_CACHE_DIR": str(work / "compiled")} if job.cold else {}
        figures = timed([installed() if job.installed else PHALANX, *words(job)], work, kept)
        shutil.rmtree(work)
        if number >= 0:
            for name, figure in figures.items():
                job.figures.setdefault(name, []).append(figure)
                job.figures.setdefault(f"floor {name}", []).append(beside[name])
    shutil.copytree(prepared, work)
    for peer, python in ((peer, peers()) for peer in job.peers):
        if python is not None:
            ask(job, work)
            figures = timed([str(python), str(HERE / "beside" / "theirs.py"), peer], work)
            job.figures |= {f"{peer} {name}": [figure] for name, figure in figures.items()}
    shutil.rmtree(work)
    shutil.rmtree(prepared)


@cache
def installed() -> str:
    """The command of an installation from the source, in which nothing has run."""
    place = Path(tempfile.mkdtemp(prefix="phalanx-installed-"))
    atexit.register(shutil.rmtree, place)
    python = str(place / "bin" / "python")
    for argv in (
        [sys.executable, "-m", "venv", str(place)],
        [python, "-m", "pip", "install", "--quiet", f"{HERE.parent}[mutual-cover]"],
    ):
        subprocess.run(argv, check=True, stderr=subprocess.DEVNULL)
    return str(place / "bin" / "phalanx")


def ask(job: Job, folder: Path) -> None:
    """What a peer is given: the table that we publish, or the one that we verify."""
    if job.command == "publish":
        frame, quasi = pl.read_parquet(folder / "table.parquet").drop("person"), list(QUASI)
    else:
        frame = pl.read_parquet(folder / "releases" / "job-1" / "data.parquet").drop("group")
        quasi = [name for name in frame.columns if name != "occupation"]
    frame.write_csv(folder / "theirs.csv")
    asked = {"k": 10, "quasi": quasi, "sensitive": "occupation"}
    (folder / "asked.json").write_text(json.dumps(asked))


@cache
def peers() -> Path | None:
    """The Python of the other tools; None where they cannot be installed, which is said."""
    place = HERE.parent / "experiments" / "head_to_head"
    try:
        return environment(
            place / ".venv-peers",
            place / "requirements.txt",
            "no peers, as they cannot be installed",
        )
    except SystemExit as refusal:
        print(refusal, file=sys.stderr)
        return None


def line(job: Job) -> str:
    """A row of the table."""
    middle = {name: statistics.median(each) for name, each in job.figures.items()}
    return (
        f"{job.name:<50}{job.rows:>10}{middle['seconds']:>9.2f}{middle['cpu']:>8.2f}"
        f"{middle['cpu'] / middle['floor cpu']:>8.1f}{middle['peak']:>8.0f}"
        f"{middle['peak'] / middle['floor peak']:>8.1f}  "
        + ", ".join(
            f"{peer} {middle[f'{peer} cpu'] / middle['cpu']:.1f}"
            for peer in job.peers
            if f"{peer} cpu" in middle
        )
    ).rstrip()


def profiled(job: Job, folder: Path) -> None:
    """Where the processor's time (of all threads) goes in one job, in this process, after one that
    loads the kernels.
    """
    prepare(job, folder / "prepared")
    for number in range(2):
        shutil.copytree(folder / "prepared", folder / str(number))
        os.chdir(folder / str(number))
        profile = cProfile.Profile(time.process_time)
        profile.enable()
        app(words(job), standalone_mode=False)
        profile.disable()
    pstats.Stats(profile).sort_stats("cumulative").print_stats("phalanx|polars|pyarrow", 60)
    pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def run() -> None:
    """Choose, time, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="jobs whose name holds this text")
    parser.add_argument("--json", type=Path, help="also write every round's figures here")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    chosen = [job for job in jobs(options.rows) if options.only in job.name]
    if not chosen:
        sys.exit(f"No job's name holds '{options.only}'.")
    print(
        f"{'job':<50}{'rows':>10}{'seconds':>9}{'cpu':>8}{'floors':>8}{'peak MB':>8}{'floors':>8}  peers"
    )
    for job in chosen:
        with tempfile.TemporaryDirectory() as folder:
            if options.profile:
                profiled(job, Path(folder))
            else:
                measure(job, options.rounds, Path(folder))
                print(line(job), flush=True)
    if options.json:
        options.json.write_text(json.dumps([asdict(job) for job in chosen], indent=1))


if __name__ == "__main__":
    run()
