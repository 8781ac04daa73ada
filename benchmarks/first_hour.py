# SPDX-License-Identifier: Apache-2.0
"""The first hour of somebody with a table of their own: the commands of the tutorial as they are
typed, each a process of its own, from a file that nobody prepared to a release that is published,
checked, explained and asked.

    PHALANX_DATA=folder python benchmarks/first_hour.py [--only TEXT] [--show]

The tables are a survey, reports and stays of a hospital; of the stays the first of each patient is
kept, as the tutorial does. ``seconds`` are by the clock; reading the plan is not among them, and
publishes what it proposes. ``--show`` prints what each command says.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

PHALANX = str(Path(sys.executable).with_name("phalanx"))
TABLES = {
    "nist_ma2019.csv": ("no", "SEX = 1 and AGEP between 30 and 40"),
    "vaers_reports.parquet": ("no", "sex = 'F' and age_yrs between 30 and 40"),
    "diabetes130.parquet": ("persons", "gender = 'Female' and diag_1 = '428'"),
}
"""Of each file whether it changes, and what is counted in the end."""
STEPS = (
    "init {table} --to plan.toml --name people --changes {changes} --intervals --for partner",
    "check plan.toml",
    "publish plan.toml",
    "verify releases/people-1",
    "report releases/people-1 --for external --to people.html",
    'estimate releases/people-1 "count(*) where {where}"',
)
PERSON = "patient_nbr"


def brought(data: Path, name: str, place: Path) -> str:
    """The table as it lies there; of persons who come again, what was first."""
    if name.endswith(".csv"):
        return str((data / name).resolve())
    rows = pl.read_parquet(data / name)
    if PERSON not in rows.columns:
        return str((data / name).resolve())
    rows.unique(PERSON, keep="first", maintain_order=True).write_parquet(place / name)
    return name


def timed(command: str, place: Path, *, show: bool) -> float:
    """The seconds of a command, which must end well."""
    began = time.perf_counter()
    done = subprocess.run(
        [PHALANX, *shlex.split(command)], cwd=place, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - began
    if show or done.returncode:
        print(f"$ phalanx {command}\n{done.stdout}{done.stderr}")
    if done.returncode:
        sys.exit(f"phalanx {command} ended with {done.returncode}")
    return seconds


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--only", default="", help="tables whose name has this text")
    asked.add_argument("--show", action="store_true", help="print what each command says")
    options = asked.parse_args()
    folder = os.environ.get("PHALANX_DATA")
    if not folder:
        print("nothing is timed: set PHALANX_DATA to the folder that holds " + ", ".join(TABLES))
        return
    words = [step.split()[0] for step in STEPS]
    print(f"{'table':<24}" + "".join(f"{word:>10}" for word in [*words, "total"]) + "  seconds")
    for name, (changes, where) in TABLES.items():
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="phalanx-") as made:
            place = Path(made)
            table = brought(Path(folder), name, place)
            seconds = [
                timed(
                    step.format(table=table, changes=changes, where=where),
                    place,
                    show=options.show,
                )
                for step in STEPS
            ]
        print(f"{name:<24}" + "".join(f"{each:>10.1f}" for each in [*seconds, sum(seconds)]))


if __name__ == "__main__":
    main()
