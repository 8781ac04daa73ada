# SPDX-License-Identifier: Apache-2.0
"""What a sample rate does, by theorem and by tight accounting: k, the crowd a cell needs, rows
published, errors of counts, accuracy.

    PHALANX_DATA=folder python experiments/safe_sampling/rates.py [--table adult|occsal] [--runs 3]
    [--queries 500] [--plots FOLDER]

At (epsilon, delta) = (1, 1e-6), for the middle of the three fixed schemes. The theorem says nothing
of rates above 1 - 1/e = 0.632.
"""

import argparse
import sys
from fractions import Fraction
from pathlib import Path

from accounts import crowd, least_k
from measures import workload
from releases import fixed, publish, show, unchanged, worth
from tables import Table, tables

from phalanx.accounting import Accounting
from utility import DELTA, MEASURES, SELECTIVITY, line

sys.path.append(str(Path(__file__).resolve().parents[1]))  # charts.py stands there

from charts import Panel, Point, draw

EPSILON = Fraction(1)
RATES = tuple(Fraction(i, 100) for i in (2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 63, 70, 80, 90, 95))
ACCOUNTS: tuple[Accounting, ...] = ("theorem", "tight")
DRAWN = (
    ("rows published, of all", "of_all"),
    ("median error of counts", "counts"),
    ("accuracy of the classifier", "right"),
)


def by_rate(table: Table, runs: int, queries: int) -> list[Panel]:
    """Print the table of rates, and return what is drawn of it."""
    asked = workload(table, unchanged(table), queries, SELECTIVITY, seed=1)
    scheme = fixed(table, table.fixed["middle"])
    rows = []
    series: dict[str, dict[str, list[Point]]] = {
        what: {a: [] for a in ACCOUNTS} for _, what in DRAWN
    }
    for beta in RATES:
        for accounting in ACCOUNTS:
            if (promise := least_k(accounting, EPSILON, DELTA, beta)) is None:
                continue
            found = []
            for run in range(runs):
                cells, of = publish(table, scheme, promise, run)
                found.append(worth(table, cells, float(beta), asked, run, of))
            rows.append(
                [
                    f"{float(beta):g}",
                    accounting,
                    promise.k,
                    f"{float(crowd(promise)):.0f}",
                    *line(found),
                ]
            )
            for _, what in DRAWN:
                if values := [v for w in found if (v := getattr(w, what)) is not None]:
                    series[what][accounting].append(
                        (float(beta), sum(values) / len(values), min(values), max(values))
                    )
    show(
        f"{table.name}: by sample rate, middle scheme, epsilon = 1, delta = 1e-6, {runs} runs",
        ["beta", "accounting", "k", "crowd", *MEASURES],
        rows,
    )
    tops = {"of_all": 1.0, "counts": None, "right": None}
    lows = {
        what: min(v for points in series[what].values() for *_, v, _ in points) for what in series
    }
    return [
        Panel(
            f"{table.name}: {title}" if i == 0 else title,
            "sample rate",
            series[what],
            top=tops[what],
            bottom=lows[what] - 0.01 if what == "right" else 0.0,
        )
        for i, (title, what) in enumerate(DRAWN)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", choices=tables())
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--plots", type=Path)
    given = parser.parse_args()
    panels = [
        panel
        for name, table in tables().items()
        if given.table in (None, name)
        for panel in by_rate(table, given.runs, given.queries)
    ]
    if given.plots is not None:
        draw(given.plots / "rates.svg", panels, 3)


if __name__ == "__main__":
    main()
