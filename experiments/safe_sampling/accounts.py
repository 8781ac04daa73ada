# SPDX-License-Identifier: Apache-2.0
"""What tight accounting allows beside the paper's theorem, at the same (epsilon, delta): k, sample
rates, crowds, and rows of the two tables.

    python experiments/safe_sampling/accounts.py                      # no data: k, rates and cells
    by size PHALANX_DATA=folder python experiments/safe_sampling/accounts.py --tables

Nothing is drawn: how many rows of a cell are published is an expectation, n beta P(Bin(n - 1, beta)
>= k - 1) of a cell of n rows. *Crowd*: k / beta, the rows of a cell that comes through about every
second time. *default*: the sample rate 1 - e^-epsilon, the largest that the theorem allows.
"""

import argparse
from contextlib import suppress
from fractions import Fraction
from functools import cache

import numpy as np
from releases import all_rows, fixed, show
from scipy.stats import binom
from tables import Ints, tables

from phalanx.accounting import Accounting, Promise, best_beta, solve
from phalanx.errors import PlanError

EPSILONS = (Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(2))
DELTA = Fraction(1, 10**6)
GRID = tuple(Fraction(i, 200) for i in range(1, 200))
"""The sample rates among which the best for a whole table is looked for."""
KS = range(2, 61)
"""Among these is the k of the smallest crowd."""
ACCOUNTS: tuple[Accounting, ...] = ("theorem", "tight")


@cache
def default(accounting: Accounting, epsilon: Fraction, delta: Fraction) -> Promise:
    """The promise at the default sample rate."""
    return solve(epsilon=epsilon, delta=delta, accounting=accounting)


@cache
def least_k(
    accounting: Accounting, epsilon: Fraction, delta: Fraction, beta: Fraction
) -> Promise | None:
    """The promise with the smallest k at a sample rate; None where the accounting says nothing of
    that rate.
    """
    try:
        return solve(epsilon=epsilon, delta=delta, beta=beta, accounting=accounting)
    except PlanError:
        return None


def expected(promise: Promise, sizes: Ints) -> float:
    """How many rows of cells of these sizes are published, in expectation."""
    beta = float(promise.beta)
    return float((sizes * beta * binom.sf(promise.k - 2, sizes - 1, beta)).sum())


def rates(accounting: Accounting, epsilon: Fraction, delta: Fraction) -> list[Promise]:
    """The promises at all rates of the grid of which the accounting says something, and at the
    default.
    """
    return [
        p
        for beta in (*GRID, default(accounting, epsilon, delta).beta)
        if (p := least_k(accounting, epsilon, delta, beta)) is not None
    ]


def most_rows(accounting: Accounting, epsilon: Fraction, delta: Fraction, sizes: Ints) -> Promise:
    """At which rate most rows of such cells are published."""
    return max(rates(accounting, epsilon, delta), key=lambda p: expected(p, sizes))


@cache
def smallest_crowd(
    accounting: Accounting,
    epsilon: Fraction,
    delta: Fraction,
    epsilon_scheme: Fraction = Fraction(0),
) -> Promise:
    """With which k and the largest sample rate for it the smallest cells come through."""
    found = []
    for k in KS:
        with suppress(PlanError):  # too small a k keeps the promise at no rate
            found.append(
                solve(
                    epsilon=epsilon,
                    delta=delta,
                    k=k,
                    accounting=accounting,
                    epsilon_scheme=epsilon_scheme,
                )
            )
    return min(found, key=crowd)


def crowd(promise: Promise) -> Fraction:
    """About how many rows a cell needs to come through: k / beta."""
    return promise.k / promise.beta


def ks() -> None:
    rows = []
    for delta in (DELTA, Fraction(1, 10**8)):
        for epsilon in EPSILONS:
            usual = default("tight", epsilon, delta).beta
            for beta in sorted([*(Fraction(i, 100) for i in (5, 10, 25, 50, 75, 90)), usual]):
                theorem, tight = (
                    least_k(accounting, epsilon, delta, beta) for accounting in ACCOUNTS
                )
                ks_and_crowds = [
                    ["-", "-"] if p is None else [p.k, f"{float(crowd(p)):.0f}"]
                    for p in (theorem, tight)
                ]
                fewer = (
                    f"{tight.k / theorem.k - 1:+.0%}"
                    if theorem is not None and tight is not None
                    else ""
                )
                (k_theorem, crowd_theorem), (k_tight, crowd_tight) = ks_and_crowds
                name = f"{float(beta):.3f}" + (" (default)" if beta == usual else "")
                rows.append(
                    [
                        f"{float(delta):g}",
                        f"{float(epsilon):g}",
                        name,
                        k_theorem,
                        k_tight,
                        fewer,
                        crowd_theorem,
                        crowd_tight,
                    ]
                )
    show(
        "Smallest k",
        ["delta", "epsilon", "beta", "theorem", "tight", "", "crowd, theorem", "crowd, tight"],
        rows,
    )


def largest_rates() -> None:
    rows = []
    for epsilon in EPSILONS:
        for k in (5, 10, 20, 50, 100, 200):
            theorem, tight = (
                solve(epsilon=epsilon, delta=DELTA, k=k, accounting=accounting).beta
                for accounting in ACCOUNTS
            )
            rows.append(
                [
                    f"{float(epsilon):g}",
                    k,
                    f"{float(theorem):.4f}",
                    f"{float(tight):.4f}",
                    f"{float(tight / theorem) - 1:+.1%}",
                ]
            )
    show(
        f"Largest sample rate, delta = {float(DELTA):g}",
        ["epsilon", "k", "theorem", "tight", ""],
        rows,
    )


def by_size() -> None:
    rows = []
    for epsilon in EPSILONS:
        for size in (25, 50, 100, 200, 500, 1000):
            sizes = np.array([size])
            cells = []
            for accounting in ACCOUNTS:
                best = best_beta(epsilon, DELTA, size, accounting)
                cells += [
                    f"{expected(default(accounting, epsilon, DELTA), sizes):.1f}",
                    f"{expected(best, sizes):.1f}",
                    f"{float(best.beta):.3f}, {best.k}",
                ]
            rows.append([f"{float(epsilon):g}", size, *cells])
    header = [
        f"{accounting}, {what}"
        for accounting in ACCOUNTS
        for what in ("default", "best rate", "its beta, k")
    ]
    show(
        f"Published rows of a cell in expectation, delta = {float(DELTA):g}",
        ["epsilon", "rows", *header],
        rows,
    )


def of_tables() -> None:
    for table in tables().values():
        rows = []
        for name, levels in table.fixed.items():
            sizes = all_rows(table, fixed(table, levels))[1]
            for epsilon in EPSILONS:
                shares = []
                for accounting in ACCOUNTS:
                    usual = default(accounting, epsilon, DELTA)
                    best, least = (
                        most_rows(accounting, epsilon, DELTA, sizes),
                        smallest_crowd(accounting, epsilon, DELTA),
                    )
                    shares += [
                        share(usual, sizes),
                        f"{share(best, sizes)} at {float(best.beta):.3f}, {best.k}",
                        f"{covered(least, sizes)} at {float(least.beta):.3f}, {least.k}",
                    ]
                rows.append([name, f"{float(epsilon):g}", *shares])
        header = [
            f"{accounting}, {what}"
            for accounting in ACCOUNTS
            for what in ("default", "most rows", "most covered")
        ]
        show(
            f"{table.name}: rows published in expectation, of all; covered: published, of sampled,"
            " at the rate of the smallest crowd",
            ["scheme", "epsilon", *header],
            rows,
        )


def share(promise: Promise, sizes: Ints) -> str:
    """Published rows, of all."""
    return f"{expected(promise, sizes) / sizes.sum():.1%}"


def covered(promise: Promise, sizes: Ints) -> str:
    """Published rows, of those sampled: the share of the table that an analyst sees something
    of.
    """
    return f"{expected(promise, sizes) / sizes.sum() / float(promise.beta):.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", action="store_true", help="also rows of the two tables")
    given = parser.parse_args()
    ks()
    largest_rates()
    by_size()
    if given.tables:
        of_tables()


if __name__ == "__main__":
    main()
