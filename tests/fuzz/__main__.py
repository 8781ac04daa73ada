# SPDX-License-Identifier: Apache-2.0
"""Hostile inputs at every door: `make fuzz`, or from tests/: python -m fuzz [N] [--seed S]
[--replay DOOR NUMBER] [--twins]. Ends with 1 where a promise is broken.

An input is made of the name of its door and a number, and is let into a folder of its own by a fork
of one process in which everything is loaded.
"""

import argparse
import gc
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path

import typer

from crash.forks import forked
from fuzz import (
    analysts,
    commands,
    explorers,
    ledgers,
    packages,
    plans,
    releases,
    scene,
    studios,
    tables,
)
from fuzz.trial import MEGABYTES, SECONDS, Door, Outcome, run
from fuzz.twins import TWINS
from phalanx.cli import app
from support.warm import begin_again, warm_up

DOORS: dict[str, Door] = {
    door.__name__: door
    for door in (
        plans.plan, plans.columns, tables.csv, tables.parquet, tables.arrow, tables.database, releases.release, ledgers.ledger, ledgers.key, ledgers.export, commands.command,
        commands.adversary, commands.budget, analysts.analyst, studios.studio, explorers.explore, packages.workbook,
        packages.coded,
    )
}  # fmt: skip
SLOW = {"explore", "studio", "coded"}
"""Doors behind which much is done; the others get four inputs where these get one."""
WORKERS = 2


@contextmanager
def places(count: int) -> Iterator[list[Path]]:
    """Folders with a scene each, in memory where there is room; all is loaded afterwards."""
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - files that are made and removed by the thousand
    with tempfile.TemporaryDirectory(dir=where) as folder:
        first, *others = made = [Path(folder) / str(number) for number in range(count)]
        warm_up(lambda: scene.rehearse(first), 1800)
        for other in others:
            forked(lambda other=other: scene.build(other), 600)
        typer.main.get_command = cache(
            typer.main.get_command
        )  # half of the time that a refusal takes
        typer.main.get_command(app)
        gc.freeze()
        yield made


def idle(base: Path) -> float:
    """The memory of a fork that does nothing, in megabytes."""
    return run("idle", lambda _: ["--version"], 0, base).megabytes


def share(
    work: list[tuple[str, int]], bases: list[Path], until: float, tell: Callable[[Outcome], None]
) -> None:
    """Let the inputs in, by as many forks as there are folders, until the time is over."""
    pipes = []
    for at, base in enumerate(bases):
        read, write = os.pipe()
        if os.fork() == 0:
            status = 1
            try:
                os.close(read)
                with os.fdopen(write, "w") as out:
                    resting = idle(base)
                    for name, number in work[at :: len(bases)]:
                        if time.monotonic() > until:
                            break
                        out.write(
                            json.dumps(asdict(run(name, DOORS[name], number, base, resting))) + "\n"
                        )
                        out.flush()
                status = 0
            except BaseException:  # noqa: BLE001 - the fork must never go on as if it were its parent
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(status)
        os.close(write)
        pipes.append(os.fdopen(read))
    open_ones = list(pipes)
    while open_ones:
        for pipe in list(open_ones):
            if line := pipe.readline():
                tell(Outcome(**json.loads(line)))
            else:
                open_ones.remove(pipe)
    if any(status for _, status in (os.wait() for _ in bases)):
        raise RuntimeError("a worker ended before its work was done")


def report(outcomes: list[Outcome], seconds: float) -> int:
    """Counts by door and outcome, and the inputs by which a promise was broken; how many these
    are.
    """
    counts = Counter((o.door, "BROKEN" if o.faults else o.ended) for o in outcomes)
    ends = ["done", "does not hold", "refused", "BROKEN"]
    say(
        f"{'door':12}{'inputs':>8}"
        + "".join(f"{end:>15}" for end in ends)
        + f"{'slowest':>10}{'by clock':>10}{'largest':>10}"
    )
    for door in dict.fromkeys(o.door for o in outcomes):
        of_door = [o for o in outcomes if o.door == door]
        row = "".join(f"{counts[door, end]:15}" for end in ends)
        say(
            f"{door:12}{len(of_door):8}{row}{max(o.seconds for o in of_door):8.1f}"
            f" s{max(o.by_clock for o in of_door):8.1f} s"
            f"{max(o.megabytes for o in of_door):7.0f} MB"
        )
    wrong = [o for o in outcomes if o.faults]
    say(
        f"{len(outcomes)} inputs in {seconds:.0f} s; {len(wrong)} by which a promise was broken (at"
        f" most {SECONDS} s of running or sleeping, {MEGABYTES} MB)"
    )
    for o in wrong:
        say(
            f"--replay {o.door} {o.number}: {'; '.join(o.faults)}\n    phalanx"
            f" {' '.join(o.words)[:300]}\n    {o.said.strip()[-400:]}"
        )
    return len(wrong)


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def main() -> int:
    """Let inputs in, and report."""
    asked = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    asked.add_argument("inputs", nargs="?", type=int, default=10_000)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument(
        "--minutes", type=float, default=float("inf"), help="end then, however many inputs are left"
    )
    asked.add_argument("--doors", nargs="+", choices=DOORS, default=list(DOORS))
    asked.add_argument("--replay", nargs=2, metavar=("DOOR", "NUMBER"))
    asked.add_argument(
        "--keep",
        type=Path,
        help="with --replay: a folder to make, which gets what the input was let into",
    )
    asked.add_argument(
        "--twins",
        action="store_true",
        help="let the defects in that are planted, which must be reported",
    )
    asked.add_argument("--log", type=Path, help="a file that gets every outcome as a line of JSON")
    said = asked.parse_args()
    begin_again("fuzz")
    with places(1 if said.replay or said.twins else WORKERS) as bases:
        if said.twins:
            resting = idle(bases[0])
            found = {
                twin.__name__: (run(twin.__name__, twin, 0, bases[0], resting).faults, words)
                for twin, words in TWINS.items()
            }
            for name, (faults, words) in found.items():
                say(
                    f"{name}: {'reported' if any(words in fault for fault in faults) else 'MISSED'}"
                    f" ({'; '.join(faults)})"
                )
            return not all(
                any(words in fault for fault in faults) for faults, words in found.values()
            )
        if said.replay:
            door, number = said.replay
            outcome = run(door, DOORS[door], int(number), bases[0], idle(bases[0]))
            if said.keep:
                shutil.copytree(bases[0], said.keep, symlinks=True)
            say(json.dumps(asdict(outcome), indent=1, ensure_ascii=False))
            return bool(outcome.faults)
        began, outcomes = time.monotonic(), []
        turns = [door for door in said.doors for _ in range(1 if door in SLOW else 4)]
        random.Random(said.seed).shuffle(turns)
        work = [(turns[i % len(turns)], said.seed * 1_000_000 + i) for i in range(said.inputs)]

        def tell(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if said.log:
                with said.log.open("a", encoding="utf-8") as log:
                    log.write(json.dumps(asdict(outcome)) + "\n")

        share(work, bases, began + 60 * said.minutes, tell)
        return bool(report(outcomes, time.monotonic() - began))


if __name__ == "__main__":
    sys.exit(main())
