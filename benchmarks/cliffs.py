# SPDX-License-Identifier: Apache-2.0
"""Every command on a table and on one of twice as many rows, for each method and each kind of input
that hurts: where the processor's seconds or the memory grow much faster than the rows, there is a
cliff, and the line is marked.

    python benchmarks/cliffs.py [--rows 40000] [--only TEXT] [--most 120] [--series 3]

A process that takes longer than ``--most`` seconds is ended, and its line says so. What takes less
than a second more for the larger table is not marked, nor are 100 MB: a start is no growth. The last
releases are of a series in which one row in twenty leaves for a newcomer.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

from jobs import HURTS, PHALANX, TRAITS, Job, churned, plan, table

STEEP = 2.6
"""From so many times the processor's seconds, or the memory, on a line is marked."""
MORE_SECONDS, MORE_MB = 1.0, 100.0
METHODS = {
    "mondrian": 'name = "mondrian"\nk = 10',
    "mondrian, t": 'name = "mondrian"\nk = 10\nt = "1/5"',
    "anatomy": 'name = "anatomy"\nl = 4',
    "slicing": 'name = "slicing"\nl = 4\ncolumns = {columns}',
    "m-invariance": 'name = "m-invariance"\nm = 4',
    "global guarantee": 'name = "global-guarantee"\nl = 4',
    "mutual cover": 'name = "mutual-cover"\ndelta = "1/6"\nk = 10',
    "safe sampling": (
        'name = "safe-sampling"\nepsilon = 1\ndelta = 1e-8\nallow_empty = true\n'
        "scheme = { age = { low = 0, high = 80, width = 10 } }"
    ),
}
INPUTS: Mapping[str, Mapping[str, object]] = {
    "50 values": {},
    "values nearly all different": {"values": 0},
    "an income and a postcode": {"more": HURTS},
    "20 quasi-identifiers": {"more": TRAITS},
    "10 different quasi-identifiers": {"alike": 10},
}
BESIDE = ["sex", "occupation"]
"""The sensitive column of a sliced release; all others are one."""
SERIAL = ("m-invariance", "global guarantee")


@dataclass
class Figures:
    """What one process took; ``said`` is why there are none, or what it said when it refused."""

    cpu: float = 0.0
    peak: float = 0.0
    said: str = ""


def ran(argv: Sequence[str], folder: Path, most: float) -> Figures:
    """One process to its end, or to ``most`` seconds."""
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([PHALANX, *argv], cwd=folder, stdout=log, stderr=log)
        timer = Timer(most, process.terminate)
        timer.start()
        began = time.monotonic()
        _, status, used = os.wait4(process.pid, 0)
        timer.cancel()
    process.returncode = code = os.waitstatus_to_exitcode(status)
    figures = Figures(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
    if code and time.monotonic() - began >= most:
        figures.said = f"more than {most:.0f} s"
    elif code:
        figures.said = f"exit {code}: " + (folder / "log").read_text().strip()[-150:]
    return figures


def commands(releases: int) -> dict[str, list[str]]:
    """What is asked of a folder, in its order; a later release is published from another table."""
    last, source = f"releases/job-{releases}", f"table-{releases}.parquet"
    knows = ["--identifier", "person", "--ledger", "job.db"]
    folders = [f"releases/job-{number}" for number in range(1, releases + 1)]
    originals = [w for n in range(1, releases + 1) for w in ("--original", f"table-{n}.parquet")]
    publish = {
        f"publish {number}": ["publish", "plan.toml", "--source", f"table-{number}.parquet"]
        for number in range(1, releases + 1)
    }
    where = "sex = 'sex 1' and age between 30 and 40"
    return {
        **publish,
        "verify": ["verify", *folders, "--ledger", "job.db"],
        "verify, its original": ["verify", last, "--original", source, *knows],
        "attack all": ["attack", "all", *folders, *originals, *knows],
        "measure": ["measure", last, "--original", source],
        "estimate": ["estimate", last, f"count(*) where {where}"],
        "draw": ["draw", last, "--to", "drawn", "--times", "1"],
        "report": [
            "report",
            last,
            "--for",
            "internal",
            "--original",
            source,
            *knows,
            "--to",
            "page.html",
        ],
    }


def look(name: str, job: Job, releases: int, most: float, folder: Path) -> tuple[int, int]:
    """Print a line for each command; how many of them are marked, and how many were refused."""
    places = []
    for times in (1, 2):
        place = folder / str(times)
        place.mkdir()
        shape = {"more": job.more, "values": job.values, "alike": job.alike}
        frame = table(job.rows * times, **shape)
        for number in range(1, releases + 1):
            frame = frame if number == 1 else churned(frame, number, **shape)
            frame.write_parquet(place / f"table-{number}.parquet")
        (place / "plan.toml").write_text(plan(job))
        places.append(place)
    marked = refused = 0
    for command, argv in commands(releases).items():
        one, two = (ran(argv, place, most) for place in places)
        cpu, peak = two.cpu / max(one.cpu, 1e-9), two.peak / max(one.peak, 1e-9)
        steep = (cpu > STEEP and two.cpu - one.cpu > MORE_SECONDS) or (
            peak > STEEP and two.peak - one.peak > MORE_MB
        )
        said = one.said or two.said
        steep = steep or said.startswith("more than")
        marked, refused = marked + steep, refused + said.startswith("exit")
        print(
            f"{'<<' if steep else '  '} {name:<48}{command:<22}{one.cpu:>8.2f}{two.cpu:>8.2f}"
            f"{one.peak:>8.0f}{two.peak:>8.0f}  {said}",
            flush=True,
        )
        if said and command == "publish 1":
            break
    return marked, refused


def main() -> None:
    """Ask, run, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--only", default="", help="a part of the names of a method and an input")
    parser.add_argument("--most", type=float, default=120)
    parser.add_argument(
        "--series", type=int, default=3, help="releases where a method has a memory"
    )
    asked = parser.parse_args()
    print(f"   {asked.rows:,} rows, and twice as many{'cpu s':>56}{'peak MB':>16}")
    marked = unlooked = 0
    for method, promise in METHODS.items():
        for kind, shape in INPUTS.items():
            name = f"{method}: {kind}"
            if asked.only in name:
                releases = asked.series if method in SERIAL else 1
                job = Job(name, promise, asked.rows, **shape)  # type: ignore[arg-type]
                apart = [[column for column in job.quasi if column not in BESIDE], BESIDE]
                job.method = promise.replace("{columns}", json.dumps(apart))
                with tempfile.TemporaryDirectory() as folder:
                    steep, refused = look(name, job, releases, asked.most, Path(folder))
                marked, unlooked = marked + steep, unlooked + refused
    print(f"{marked} lines are marked, and {unlooked} are of what was refused")


if __name__ == "__main__":
    main()
