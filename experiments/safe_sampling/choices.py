# SPDX-License-Identifier: Apache-2.0
"""What a choice is worth: the part of epsilon that pays for it, and how often a partition may
divide.

    PHALANX_DATA=folder python experiments/safe_sampling/choices.py [--table adult|occsal] [--runs
    3] [--queries 500]

At (epsilon, delta) = (1, 1e-6), tight accounting, the sample rate of the smallest crowds, beside
the three fixed schemes. *Cells*: how many different cells are published.
"""

import argparse
from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

from accounts import smallest_crowd
from measures import Cells, Workload, workload
from releases import Way, Worth, chosen, fixed, publish, show, unchanged, worth
from tables import Table, tables

from phalanx.accounting import Promise
from utility import DELTA, MEASURES, SELECTIVITY, line, said

EPSILON = Fraction(1)
PARTS = (Fraction(1, 50), Fraction(1, 10), Fraction(3, 10), Fraction(1, 2))
DEPTHS = (6, 10, 20)


def choices(table: Table, runs: int, queries: int) -> None:
    asked = workload(table, unchanged(table), queries, SELECTIVITY, seed=1)
    rows = []
    for name, levels in table.fixed.items():
        promise, scheme = smallest_crowd("tight", EPSILON, DELTA), fixed(table, levels)
        rows.append(
            [
                f"fixed, {name}",
                "",
                "",
                promise.k,
                *measured(
                    table,
                    promise,
                    [publish(table, scheme, promise, run) for run in range(runs)],
                    asked,
                ),
            ]
        )
    for way in get_args(Way):
        for part in PARTS:
            for depth in DEPTHS if way == "partition" else (None,):
                promise = smallest_crowd("tight", EPSILON, DELTA, part)
                found = [
                    publish(table, chosen(table, way, promise, depth or 10), promise, run)
                    for run in range(runs)
                ]
                rows.append(
                    [
                        way,
                        f"{float(part):g}",
                        depth or "",
                        promise.k,
                        *measured(table, promise, found, asked),
                    ]
                )
    show(
        f"{table.name}: what pays for the choice, epsilon = 1, {runs} runs",
        ["scheme", "epsilon_scheme", "depth", "k", "cells", *MEASURES],
        rows,
    )


def measured(
    table: Table, promise: Promise, found: Sequence[tuple[Cells, int]], asked: Workload
) -> list[str]:
    worths: list[Worth] = [
        worth(table, cells, float(promise.beta), asked, run, of)
        for run, (cells, of) in enumerate(found)
    ]
    return [said([len(cells.counts) for cells, _ in found], ".0f"), *line(worths)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", choices=tables())
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--queries", type=int, default=500)
    given = parser.parse_args()
    for name, table in tables().items():
        if given.table in (None, name):
            choices(table, given.runs, given.queries)


if __name__ == "__main__":
    main()
