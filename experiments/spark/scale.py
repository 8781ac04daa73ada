# SPDX-License-Identifier: Apache-2.0
"""How long a table of 10^9 or 10^10 rows would take on 1 to 1,000 executors of Spark, by a model of the
stages that benchmarks/spark.py measured, and what would be short first.

    python experiments/spark/scale.py [FILE …] [--write]

FILE is what ``benchmarks/spark.py --json FILE`` wrote, by default each ``measured-*.json`` beside this
script; the run with most rows counts. ``--write`` puts the tables into docs/explanation/spark-scale.md,
where the model is explained. Nothing here was run at that size.
"""

import argparse
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "explanation" / "spark-scale.md"
BEGIN, END = "<!-- experiments/spark/scale.py -->", "<!-- end -->"
ROWS = (10**9, 10**10)
EXECUTORS = (1, 10, 100, 1000)

# assumed of a cluster, and not measured
CORES = 2
"""Of an executor, which is what was measured."""
NETWORK = 125e6
"""Bytes in a second that an executor sends or takes: 1 Gbit/s."""
STORE = 1e9
"""Bytes in a second of the folder that all of them share, all together."""

SPLIT = 128 << 20
"""So many bytes of a file are a task of Spark, as its settings have it."""
LEAST, MOST, EACH = 500_000, 1_000_000, 2
"""How src/phalanx/engines/spark/running.py chooses the rows of a cell."""
SAMPLE, SAMPLED = 200_000, 100
"""How many rows it draws to see where cells end."""
DEALT = "meet known persons"
"""What a stage is called here in which rows and those who are known meet by keyed hashes."""
BY_CELL = (DEALT, "solve", "number", "check", "compare")
"""Stages that have a task for each cell."""
READ_AGAIN, WRITTEN = 5, 2
"""How often a release is read and written until it is checked: as a draft, numbered, compared."""


@dataclass(frozen=True)
class Measured:
    """One run, and what was measured beside it."""

    found: dict[str, Any]

    @property
    def run(self) -> dict[str, Any]:
        """The one on Spark with most rows."""
        return max(
            (run for run in self.found["runs"] if run["stages"]), key=lambda run: run["rows"]
        )

    @property
    def dealt(self) -> bool:
        """Whether rows are dealt by persons before they are by cells."""
        return any(name == DEALT for name, *_ in of_name(self.run))

    @property
    def alone(self) -> tuple[float, float]:
        """In which no stage runs: the seconds of every run, and those more for each row, in which the
        process that publishes records persons; by the runs with most and with fewest rows.
        """
        runs = [run for run in self.found["runs"] if run["stages"]]
        few, most = min(runs, key=lambda run: run["rows"]), self.run
        idle = {run["rows"]: run["start"] + run["between"] for run in (few, most)}
        rows = most["rows"] - few["rows"]
        each = max(0.0, (idle[most["rows"]] - idle[few["rows"]]) / rows) if rows else 0.0
        return idle[most["rows"]] - each * most["rows"], each

    def per_row(self, key: str) -> float:
        """Bytes, or what else a run counts, of a row."""
        return float(self.run[key]) / self.run["rows"]


@dataclass(frozen=True)
class Size:
    """A table on a cluster."""

    measured: Measured
    rows: int
    executors: int

    @property
    def workers(self) -> int:
        return CORES * self.executors

    @property
    def wanted(self) -> int:
        """Rows of a cell, as the engine would choose."""
        memory = int(self.measured.found["limit"] * 0.4) // (6 * 170)
        return min(memory, MOST, max(LEAST, -(-self.rows // (EACH * self.workers))))

    @property
    def cells(self) -> int:
        """As many more than the least as were measured, since regions are halved until they fit."""
        small = Size(self.measured, self.measured.run["rows"], 1)
        more = self.measured.run["parts"] / (small.rows / small.wanted)
        return max(1, math.ceil(more * self.rows / self.wanted))

    @property
    def partitions(self) -> int:
        return max(1, math.ceil(self.rows * self.measured.per_row("source") / SPLIT))

    @property
    def pieces(self) -> float:
        """How often rows of a cell are packed: once for each cell and each time that a worker has
        enough rows, or once for each partition. Where persons are followed, rows are packed by
        persons so, and then by cells once for each way in which persons are dealt.
        """
        rounds = max(self.partitions, self.rows / self.measured.found["packed_at_once"])
        by_cell = min(self.rows, rounds * self.cells)
        if not self.measured.dealt:
            return by_cell
        ways = self.rows / self.wanted
        return min(self.rows, rounds * ways) + min(self.rows, ways * self.cells)

    @property
    def shuffled(self) -> float:
        """Bytes that go from one worker to another."""
        written = sum(stage["written"] for stage in self.measured.run["stages"])
        return (
            written / self.measured.run["rows"] * self.rows
            + self.pieces * self.measured.found["probes"]["piece"]
        )

    @property
    def sampled(self) -> float:
        """Rows of the sample of each cell, by which it is cut."""
        return max(SAMPLE, SAMPLED * self.rows / self.wanted) / self.cells

    def stages(self) -> Iterator[tuple[float, float, float]]:
        """Of each stage the seconds of it that all workers share, those more that it takes as there
        are fewer tasks than workers, and those in which workers wait for the longest task.
        """
        for _, mine, skew, by_cell in of_name(self.measured.run):
            of_all = busy(mine) / self.measured.run["rows"] * self.rows
            tasks = self.cells if by_cell else self.partitions
            shared, even = of_all / self.workers, of_all / min(self.workers, tasks)
            longest = skew * of_all / tasks
            # no order of tasks takes longer than this (Graham 1969)
            seconds = max(longest, shared + (1 - 1 / self.workers) * longest)
            yield shared, even - shared, max(0.0, seconds - even)

    def shorts(self) -> dict[str, float]:
        """Seconds of what may be short first; they overlap in a run, so the sum is the worst."""
        probes, (start, recording) = self.measured.found["probes"], self.measured.alone
        shared, few, waited = (sum(each) for each in zip(*self.stages(), strict=True))
        tasks = 2 * self.partitions + (9 if self.measured.dealt else 5) * self.cells
        release = self.measured.per_row("release") * self.rows
        source = self.measured.per_row("source") * self.rows
        packing = self.pieces * (probes["pack"] + probes["unpack"]) / self.workers
        return {
            "start of Spark": start,
            "processors": shared,
            "packing small pieces": packing,
            "tasks that begin": tasks * CORES * probes["python"] / self.workers,
            "fewer tasks than processors": few,
            "the longest task": waited,
            "one process starts all tasks": tasks * probes["task"],
            "one process records persons": recording * self.rows,
            "network": 0.0 if self.executors == 1 else self.shuffled / (self.executors * NETWORK),
            "shared folder": (2 * source + (READ_AGAIN + WRITTEN) * release) / STORE,
        }


def named(stage: dict[str, Any], rows: int) -> str:
    """What a stage is called here; one that takes more than a byte of each row from others, before
    cells are solved, looks at persons.
    """
    return DEALT if stage["name"] == "tag" and stage["read"] > rows else str(stage["name"])


def of_name(run: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]], float, bool]]:
    """Stages of one name together: name, the stages, skew of the one that takes most, and whether
    its tasks are cells.
    """
    by_name: dict[str, list[dict[str, Any]]] = {}
    for stage in run["stages"]:
        by_name.setdefault(named(stage, run["rows"]), []).append(stage)
    for name, mine in by_name.items():
        most = max(mine, key=lambda stage: sum(stage["tasks"]))
        # tasks that have nothing to do are no measure of the others
        busiest = [task for task in most["tasks"] if task > max(most["tasks"]) / 10]
        skew = max(busiest) / statistics.fmean(busiest)
        yield name, mine, skew, name in BY_CELL


def busy(stages: Sequence[dict[str, Any]]) -> float:
    """The seconds of all tasks."""
    return sum(sum(stage["tasks"]) for stage in stages)


def _stays(short: dict[str, float]) -> str:
    """What is short first of all that is the same on twice as many executors."""
    shared = ("processors", "packing small pieces", "tasks that begin", "network")
    return max((name for name in short if name not in shared), key=lambda name: short[name])


def hours(seconds: float) -> str:
    """Seconds as they are said."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def table(header: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *lines))


def tables(measured: Measured) -> str:
    """All that the page shows."""
    run = measured.run
    found = [
        [
            name,
            f"{busy(mine) / run['rows'] * 1e6:.2f}",
            f"{sum(stage['written'] for stage in mine) / run['rows']:.1f}",
            f"{skew:.1f}",
        ]
        for name, mine, skew, _ in of_name(run)
    ]
    probes = measured.found["probes"]
    measures = (
        f"### {run['method']}\n\n"
        f"Measured: {run['rows']:,} rows in {run['parts']} cells, on"
        f" `{measured.found['master']}`, {run['seconds']:.0f} s, of which {run['start']:.0f} s for Spark to"
        f" start and end. A piece of a cell takes {(probes['pack'] + probes['unpack']) * 1e6:.0f} µs and"
        f" {probes['piece']:,} bytes however small it is. A task that does nothing takes the process that"
        f" publishes {probes['task'] * 1e3:.1f} ms, and a processor {CORES * probes['python'] * 1e3:.0f} ms in"
        " Python."
    )
    parts = [
        measures,
        table(["stage", "busy µs a row", "bytes shuffled a row", "longest / mean task"], found),
    ]
    for rows in ROWS:
        sizes = [Size(measured, rows, executors) for executors in EXECUTORS]
        shorts = [size.shorts() for size in sizes]
        lines = [[name, *(hours(short[name]) for short in shorts)] for name in shorts[0]]
        lines += [
            ["**together**", *(f"**{hours(sum(short.values()))}**" for short in shorts)],
            ["most of it", *(max(short, key=lambda name: short[name]) for short in shorts)],
            ["most of what more executors do not mend", *(_stays(short) for short in shorts)],
            ["cells", *(f"{size.cells:,}" for size in sizes)],
            ["rows of a cell in a piece", *(f"{size.rows / size.pieces:,.0f}" for size in sizes)],
            ["sampled rows of a cell", *(f"{size.sampled:,.0f}" for size in sizes)],
            ["GB shuffled", *(f"{size.shuffled / 1e9:,.0f}" for size in sizes)],
        ]
        parts.append(f"**{rows:,} rows, {run['method']}:**")
        parts.append(table(["executors", *(f"{n:,}" for n in EXECUTORS)], lines))
    return "\n\n".join(parts)


def written(page: Path, text: str) -> None:
    """The page with these tables between its marks."""
    before, mark, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    if not mark:
        raise SystemExit(f"{page} has no line {BEGIN}")
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="*", default=sorted(HERE.glob("measured-*.json")))
    parser.add_argument("--write", action="store_true", help="put the tables into the page")
    given = parser.parse_args()
    measured = [Measured(json.loads(file.read_text(encoding="utf-8"))) for file in given.file]
    text = "\n\n".join(tables(each) for each in measured)
    print(text)
    if given.write:
        written(PAGE, text)


if __name__ == "__main__":
    main()
