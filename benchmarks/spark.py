# SPDX-License-Identifier: Apache-2.0
"""The same table published by the local engine and on Spark, each as a user starts it: `phalanx publish
plan.toml` as a process of its own, with the check and the ledger. And each stage of Spark by itself.

    python benchmarks/spark.py [--rows 1000000 …] [--only local|spark] [--method …] [--json FILE]

The table is that of benchmarks/larger.py. ``seconds`` are by the clock; ``cpu`` is what the process
took with all that it started, the Java of Spark and its workers among them; ``ratio`` is beside the
local engine; ``start`` are the seconds until Spark's first stage begins, and after its last one ends,
which are the same for every table. Of a stage: ``busy`` are the seconds of all its tasks, ``records``
what it reads, which are rows of the table or packed rows of a cell, ``skew`` the longest task beside
the median one. They come from Spark's own record of events, in a private folder that is removed; it
holds no value of a row.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from larger import METHODS, PHALANX, batch, make

from phalanx.engines.choosing import bytes_of
from phalanx.engines.spark.checking import workers
from phalanx.engines.spark.session import session
from phalanx.engines.spark.tasks import AT_ONCE, packed, unpacked

PLAN = """
[series]
name = "{engine}"
[source]
path = "table.parquet"
[schema]
identifier = "person"
quasi = ["age", "sex", "education", "birthplace"]
sensitive = "occupation"
[method]
{method}
[publish]
to = "releases"
engine = "{engine}"
"""
MASTER = 'spark_master = "{master}"\nmemory_limit = "{limit}"\n'
SETTINGS = """\
spark.eventLog.enabled true
spark.eventLog.dir file:{events}
spark.eventLog.rolling.enabled false
spark.eventLog.compress false
spark.log.level ERROR
"""
BETWEEN = "(between stages)"
PIECES = 500
TASKS = 1000
"""So many are measured."""


@dataclass
class Stage:
    """What one stage of Spark took."""

    name: str
    began: float
    """Seconds since the epoch, as is ``ended``."""
    ended: float
    tasks: list[float] = field(default_factory=list)
    """Seconds of each."""
    records: int = 0
    bytes_read: int = 0
    written: int = 0
    """Bytes of its shuffle, as are ``read``."""
    read: int = 0
    results: int = 0
    """Bytes that came to the process that publishes."""

    @property
    def seconds(self) -> float:
        """By the clock."""
        return self.ended - self.began

    @property
    def skew(self) -> float:
        """The longest task beside the median one."""
        return max(self.tasks) / max(statistics.median(self.tasks), 1e-3)


@dataclass
class Run:
    """One process, to its end."""

    engine: str
    rows: int
    method: str
    seconds: float
    cpu: float
    parts: int
    source: int
    """Bytes of the table's file, as is ``release`` of what is handed out."""
    release: int
    start: float = 0.0
    between: float = 0.0
    """Seconds in which no stage ran, after the first one began."""
    stages: list[Stage] = field(default_factory=list)

    @property
    def work(self) -> float:
        """Seconds without the start of Spark."""
        return self.seconds - self.start


def stages_of(log: Path) -> list[Stage]:
    """Each stage that ran, in their order, as Spark recorded it."""
    stages: dict[int, Stage] = {}
    descriptions: dict[int, str] = {}
    with log.open() as events:
        for line in events:
            event = json.loads(line)
            match event["Event"]:
                case "SparkListenerJobStart":
                    words = event.get("Properties") or {}
                    for number in event["Stage IDs"]:
                        descriptions[number] = words.get("spark.job.description", "")
                case "SparkListenerTaskEnd" if event.get("Task Metrics"):
                    stage = stages.setdefault(event["Stage ID"], Stage("", 0.0, 0.0))
                    _count(stage, event["Task Info"], event["Task Metrics"])
                case "SparkListenerStageCompleted":
                    info = event["Stage Info"]
                    stage = stages.setdefault(info["Stage ID"], Stage("", 0.0, 0.0))
                    stage.name = descriptions[info["Stage ID"]].removeprefix("phalanx: ")
                    stage.began = info["Submission Time"] / 1000
                    stage.ended = info["Completion Time"] / 1000
    return sorted((stage for stage in stages.values() if stage.tasks), key=lambda s: s.began)


def _count(stage: Stage, task: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
    read, written = metrics["Shuffle Read Metrics"], metrics["Shuffle Write Metrics"]
    stage.tasks.append((task["Finish Time"] - task["Launch Time"]) / 1000)
    stage.records += metrics["Input Metrics"]["Records Read"] + read["Total Records Read"]
    stage.bytes_read += metrics["Input Metrics"]["Bytes Read"]
    stage.written += written["Shuffle Bytes Written"]
    stage.read += read["Remote Bytes Read"] + read["Local Bytes Read"]
    stage.results += metrics["Result Size"]


def timed(
    folder: Path, environment: Mapping[str, str], words: Sequence[str]
) -> tuple[float, float]:
    """One process to its end: seconds by the clock, and what it took with all that it started."""
    ended, taken = threading.Event(), dict[tuple[int, int], int]()
    with (folder / "log").open("w") as log:
        began = time.perf_counter()
        process = subprocess.Popen(
            [PHALANX, *words], cwd=folder, stdout=log, stderr=log, env=os.environ | environment
        )
        watching = threading.Thread(target=_watch, args=(process.pid, taken, ended))
        watching.start()
        process.wait()
        seconds = time.perf_counter() - began
    ended.set()
    watching.join()
    if process.returncode:
        said = (folder / "log").read_text()[-800:]
        sys.exit(f"{' '.join(words)} ends with {process.returncode}\n{said}")
    return seconds, sum(taken.values()) / os.sysconf("SC_CLK_TCK")


def _watch(first: int, taken: dict[tuple[int, int], int], ended: threading.Event) -> None:
    """What every process below the first took so far, ten times a second: the daemon of PySpark lets
    its workers end without a count of what they took.
    """
    below = {first}
    while not ended.wait(0.1):
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                words = stat.read_bytes().rpartition(b")")[2].split()
                number = int(stat.parent.name)
                if int(words[1]) in below or number in below:
                    below.add(number)
                    taken[number, int(words[19])] = int(words[11]) + int(words[12])


def publish(folder: Path, engine: str, options: argparse.Namespace, rows: int) -> Run:
    """One release, by one engine."""
    plan = PLAN.format(engine=engine, method=METHODS[options.method])
    if engine == "spark":
        plan += MASTER.format(master=options.master, limit=options.limit)
    (folder / f"{engine}.toml").write_text(plan)
    conf, events = folder / "conf", folder / "events"
    for made in (conf, events):
        made.mkdir(mode=0o700, exist_ok=True)
    (conf / "spark-defaults.conf").write_text(SETTINGS.format(events=events))
    began = time.time()
    seconds, cpu = timed(
        folder, {"SPARK_CONF_DIR": str(conf)}, ["publish", "--quiet", f"{engine}.toml"]
    )
    release = folder / "releases" / f"{engine}-1"
    published = [path.stat().st_size for path in release.glob("*.parquet")]
    parts = len(list(release.glob("data*.parquet")))
    source = (folder / "table.parquet").stat().st_size
    run = Run(engine, rows, options.method, seconds, cpu, parts, source, sum(published))
    if engine == "spark":
        (log,) = events.iterdir()
        run.stages = stages_of(log)
        log.unlink()
        first, last = run.stages[0].began, max(stage.ended for stage in run.stages)
        run.start = first - began + (began + seconds - last)
        run.between = last - first - _covered(run.stages)
    return run


def _covered(stages: Sequence[Stage]) -> float:
    """Seconds in which one stage at least ran."""
    covered, reached = 0.0, 0.0
    for stage in stages:
        covered += max(0.0, stage.ended - max(stage.began, reached))
        reached = max(reached, stage.ended)
    return covered


def probes(master: str) -> dict[str, float]:
    """What does not grow with the rows of a cell: a piece of it that is packed, in processor seconds
    and bytes; and a task of Spark that does nothing, in Python and without it, in seconds by the clock.
    """
    piece, began = batch(0, 1000).drop("person")[:1], time.process_time()
    for _ in range(PIECES):
        content = packed(piece)
    packing = time.process_time()
    for _ in range(PIECES):
        unpacked(content)
    ended = time.process_time()
    with workers(master) as there:
        list(there.each(abs, range(TASKS)))  # the first loads all that it needs
        started = time.perf_counter()
        list(there.each(abs, range(TASKS)))
        python = (time.perf_counter() - started) / TASKS
    with tempfile.TemporaryDirectory() as place, session(Path(place), master) as spark:
        spark.range(0, TASKS, 1, TASKS).count()
        started = time.perf_counter()
        spark.range(0, TASKS, 1, TASKS).count()
        task = (time.perf_counter() - started) / TASKS
    return {
        "pack": (packing - began) / PIECES,
        "unpack": (ended - packing) / PIECES,
        "piece": len(content),
        "python": python,
        "task": task,
    }


def show(run: Run, beside: Run | None) -> None:
    """A line of the run, and one of each of its stages."""
    ratio = (
        f"{run.seconds / beside.seconds:>7.1f}{run.work / beside.seconds:>9.1f}" if beside else ""
    )
    print(
        f"{run.engine + ', ' + run.method:<22}{run.rows:>12,}{run.parts:>7}{run.seconds:>9.1f}{run.cpu:>9.1f}"
        f"{run.start:>8.1f}{ratio}",
        flush=True,
    )


def show_stages(run: Run) -> None:
    """A table of the stages of a run."""
    print(
        f"\n{'stage':<22}{'tasks':>7}{'seconds':>9}{'busy':>9}{'records':>12}{'MB read':>9}{'written':>9}"
        f"{'result kB':>11}{'skew':>6}"
    )
    for stage in run.stages:
        print(
            f"{stage.name:<22}{len(stage.tasks):>7}{stage.seconds:>9.1f}{sum(stage.tasks):>9.1f}{stage.records:>12,}"
            f"{stage.read / 1e6:>9.1f}{stage.written / 1e6:>9.1f}{stage.results / 1e3:>11.1f}{stage.skew:>6.1f}"
        )
    print(f"{BETWEEN:<22}{'':>7}{run.between:>9.1f}\n", flush=True)


def run() -> None:
    """Make the table, publish it by each engine, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--only", choices=("local", "spark"))
    parser.add_argument("--method", choices=METHODS, default="mondrian")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--limit", default="2 GiB", help="of the memory of each worker of Spark")
    parser.add_argument(
        "--json",
        type=Path,
        help="also write all figures here, with what a piece of a cell and a task take;\nexperiments/spark/scale.py reads it",
    )
    parser.add_argument("--folder", type=Path, help="where the table and releases lie meanwhile")
    options = parser.parse_args()
    runs = []
    print(
        f"{'engine':<22}{'rows':>12}{'parts':>7}{'seconds':>9}{'cpu':>9}{'start':>8}{'ratio':>7}{'without':>9}"
    )
    for rows in options.rows:
        beside = None
        for engine in ("local", "spark"):
            if options.only in (None, engine):
                with tempfile.TemporaryDirectory(dir=options.folder) as name:
                    folder = Path(name)
                    make(folder / "table.parquet", rows)
                    made = publish(folder, engine, options, rows)
                runs.append(made)
                show(made, beside)
                beside = beside or made
    for made in runs:
        if made.stages:
            show_stages(made)
    if options.json:
        found = {
            "master": options.master,
            "limit": bytes_of(options.limit),
            "packed_at_once": AT_ONCE,
            "probes": probes(options.master),
            "runs": [asdict(made) for made in runs],
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    run()
