# SPDX-License-Identifier: Apache-2.0
"""Rows kept, errors of counts and accuracy of classifiers at the same (epsilon, delta), for fixed
and for chosen schemes, by theorem and by tight accounting.

    PHALANX_DATA=folder python experiments/safe_sampling/utility.py [--table adult|occsal] [--runs
    5] [--queries 500] [--plots FOLDER]

Each run draws a fresh sample, and where the scheme is chosen a fresh scheme. Of a chosen scheme's
epsilon a tenth pays for the choice. Figures are means of the runs and, in brackets, the least and
the greatest. Four ways to account:

theorem             k by the paper's bound, at the default sample rate 1 - e^-epsilon
tight               k by the exact delta, at the same rate
tight, small crowds at the rate at which k / beta is least
tight, most rows    at the rate at which most rows are published of a cell that has 200
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from accounts import smallest_crowd
from measures import LEAST, Workload, errors, majority, workload
from releases import (
    Way,
    Worth,
    chosen,
    fixed,
    noisy_counts,
    plain_sample,
    publish,
    recoded,
    show,
    unchanged,
    worth,
)
from tables import Table, tables

from phalanx.accounting import Accounting, Promise, best_beta, solve
from phalanx.methods.safe_sampling.schemes import FixedScheme

sys.path.append(str(Path(__file__).resolve().parents[1]))  # charts.py stands there

from charts import Panel, Point, draw

EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(2))
DELTA = Fraction(1, 10**6)
PART = Fraction(1, 10)
"""What of epsilon pays for the choice of a scheme."""
TYPICAL = 200
"""A cell that the best sample rate is for; a guess, as who knows the cells has seen the table."""
SELECTIVITY = 0.1
SIZES = (LEAST, 0.01, 0.05, 0.2, 1.0)

Account = Literal["theorem", "tight", "tight, small crowds", "tight, most rows"]


@dataclass(frozen=True)
class Setting:
    epsilon: Fraction
    scheme: str
    account: Account
    delta: Fraction = DELTA

    @property
    def is_chosen(self) -> bool:
        return self.scheme in get_args(Way)


@cache
def promise(epsilon: Fraction, delta: Fraction, account: Account, *, is_chosen: bool) -> Promise:
    """What a setting promises: its k and its sample rate are solved for."""
    part = PART * epsilon if is_chosen else Fraction(0)
    accounting: Accounting = "theorem" if account == "theorem" else "tight"
    if account == "tight, most rows":
        return best_beta(epsilon, delta, TYPICAL, accounting, epsilon_scheme=part)
    if account == "tight, small crowds":
        return smallest_crowd(accounting, epsilon, delta, part)
    return solve(epsilon=epsilon, delta=delta, accounting=accounting, epsilon_scheme=part)


def settings() -> Iterator[Setting]:
    for epsilon in EPSILONS:
        for scheme in ("fine", "middle", "coarse", *get_args(Way)):
            for account in get_args(Account):
                yield Setting(epsilon, scheme, account)
    for account in get_args(Account):
        yield Setting(Fraction(1), "middle", account, Fraction(1, 10**8))


def measure(
    table: Table, setting: Setting, asked: Workload, runs: int
) -> tuple[list[Worth], Counter[str]]:
    """What every run is worth, and the levels that were chosen, where any were."""
    p = promise(setting.epsilon, setting.delta, setting.account, is_chosen=setting.is_chosen)
    found, schemes = [], Counter[str]()
    for run in range(runs):
        scheme = (
            chosen(table, setting.scheme, p)
            if setting.is_chosen
            else fixed(table, table.fixed[setting.scheme])
        )  # type: ignore[arg-type]
        if setting.scheme == "levels" and isinstance(scheme, FixedScheme):
            schemes[
                ", ".join(
                    f"{axis.name} {level}"
                    for axis, level in zip(scheme.axes, scheme.levels, strict=True)
                )
            ] += 1
        cells, of = publish(table, scheme, p, run)
        found.append(worth(table, cells, float(p.beta), asked, run, of))
    return found, schemes


def said(values: Sequence[float | None], form: str, to: str = "-") -> str:
    """The mean and the range; a dash where nothing was published."""
    known = [v for v in values if v is not None]
    if not known:
        return "-"
    mean, low, high = sum(known) / len(known), min(known), max(known)
    spread = "" if f"{low:{form}}" == f"{high:{form}}" else f" ({low:{form}}{to}{high:{form}})"
    return f"{mean:{form}}{spread}" + (
        "" if len(known) == len(values) else f", {len(values) - len(known)} of {len(values)} empty"
    )


def line(found: Sequence[Worth]) -> list[str]:
    return [
        said([w.of_all for w in found], ".1%"),
        said([w.of_sampled for w in found], ".1%"),
        said([w.counts for w in found], ".3f"),
        said([w.signed for w in found], "+.3f", " to "),
        said([w.shares for w in found], ".3f"),
        said([w.right for w in found], ".1%"),
    ]


MEASURES = [
    "published of all",
    "of sampled",
    "error of counts",
    "signed",
    "error of shares",
    "accuracy",
]


def compared(table: Table, asked: Workload, runs: int) -> None:
    """What every step loses by itself, and the usual way with the same cells."""
    rows = [["nothing is done", *line([worth(table, unchanged(table), 1, asked, 0)])]]
    rows.append(["always the commoner class", *[""] * 5, f"{majority(table):.1%}"])
    for beta in (Fraction(1, 4), Fraction(3, 4)):
        found = [
            worth(table, plain_sample(table, beta, run), float(beta), asked, run)
            for run in range(runs)
        ]
        rows.append([f"a plain sample, beta = {float(beta)}", *line(found)])
    for name, levels in table.fixed.items():
        found = [
            worth(table, recoded(table, fixed(table, levels)), 1, asked, run) for run in range(runs)
        ]
        rows.append([f"recoded, {name}", *line(found)])
    for epsilon in EPSILONS:
        for name, levels in table.fixed.items():
            found = [
                worth(
                    table,
                    noisy_counts(table, fixed(table, levels), float(epsilon), float(DELTA), run),
                    1,
                    asked,
                    run,
                )
                for run in range(runs)
            ]
            rows.append([f"noisy counts, {name}, epsilon = {float(epsilon):g}", *line(found)])
    show(f"{table.name}: for comparison", ["what is done", *MEASURES], rows)


def utility(table: Table, runs: int, queries: int) -> list[Panel]:
    """Print all figures of a table, and return what is drawn of them."""
    asked = workload(table, unchanged(table), queries, SELECTIVITY, seed=1)
    rows, levels, worths = [], [], {}
    for setting in settings():
        p = promise(setting.epsilon, setting.delta, setting.account, is_chosen=setting.is_chosen)
        worths[setting], schemes = measure(table, setting, asked, runs)
        rows.append(
            [
                f"{float(setting.epsilon):g}",
                f"{float(setting.delta):g}",
                setting.scheme,
                setting.account,
                f"{float(p.beta):.3f}",
                p.k,
                *line(worths[setting]),
            ]
        )
        levels += [
            [f"{float(setting.epsilon):g}", setting.account, what, times]
            for what, times in schemes.most_common()
        ]
    show(
        f"{table.name}: {table.published.rows:,} rows, {runs} runs",
        ["epsilon", "delta", "scheme", "accounting", "beta", "k", *MEASURES],
        rows,
    )
    show(
        f"{table.name}: levels that were chosen",
        ["epsilon", "accounting", "levels", "times"],
        levels,
    )
    by_size(table, asked, runs)
    compared(table, asked, runs)
    return panels(table, worths, "tight, small crowds")


def by_size(table: Table, asked: Workload, runs: int) -> None:
    """Errors of small and of large queries apart, for the middle scheme at epsilon = 1."""
    size = asked.truth / table.published.rows
    rows = []
    for account in get_args(Account):
        p = promise(Fraction(1), DELTA, account, is_chosen=False)
        found = np.concatenate(
            [
                errors(
                    publish(table, fixed(table, table.fixed["middle"]), p, run)[0],
                    asked,
                    float(p.beta),
                )[None]
                for run in range(runs)
            ]
        )
        for low, high in pairwise(SIZES):
            among = (size >= low) & (size < high)
            medians = (
                [f"{np.median(found[:, among]):+.3f}", f"{np.median(np.abs(found[:, among])):.3f}"]
                if among.any()
                else ["", ""]
            )
            rows.append([account, f"{low:.1%} to {high:.1%}", int(among.sum()), *medians])
    show(
        f"{table.name}: errors of counts by how many rows are asked for, middle scheme,"
        " epsilon = 1",
        ["accounting", "of the rows", "queries", "signed", "error"],
        rows,
    )


def panels(table: Table, worths: dict[Setting, list[Worth]], account: Account) -> list[Panel]:
    """By epsilon what is published, the error of counts and the accuracy."""
    found = []
    for title, what in (
        (f"{table.name}: published, of sampled", "of_sampled"),
        ("median error of counts", "counts"),
        ("accuracy of the classifier", "right"),
    ):
        series: dict[str, list[Point]] = {}
        for setting, of_runs in worths.items():
            values = [v for w in of_runs if (v := getattr(w, what)) is not None]
            if setting.account == account and setting.delta == DELTA and values:
                series.setdefault(setting.scheme, []).append(
                    (float(setting.epsilon), sum(values) / len(values), min(values), max(values))
                )
        low = min((v for points in series.values() for *_, v, _ in points), default=0.0)
        found.append(
            Panel(
                title,
                "epsilon",
                series,
                log=True,
                bottom=low - 0.02 if what == "right" else 0.0,
                top=1.0 if what == "of_sampled" else None,
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", choices=tables())
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--plots", type=Path)
    given = parser.parse_args()
    drawn = [
        panel
        for name, table in tables().items()
        if given.table in (None, name)
        for panel in utility(table, given.runs, given.queries)
    ]
    if given.plots is not None:
        draw(given.plots / "choices.svg", drawn, 3)


if __name__ == "__main__":
    main()
