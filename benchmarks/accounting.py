# SPDX-License-Identifier: Apache-2.0
"""The calculator without data: the k that 28 pairs of epsilon and delta need, by the theorem and
exactly; one release's cost; and what a hundred cost together.

    python benchmarks/accounting.py [--rounds 5]

Each round begins with nothing remembered from the one before; medians are printed. The table of 28
is to take less than a second. Importing the library that composes privacy losses is timed by
itself.
"""

import argparse
import subprocess
import sys
from collections import defaultdict
from fractions import Fraction

from beside import Seconds, timed

from phalanx.accounting import Accounting, Promise, solve, together
from phalanx.accounting.binomials import rest_between

EPSILONS = ("0.01", "0.1", "0.5", "1", "1.5", "2", "3")
DELTAS = ("1e-3", "1e-5", "1e-6", "1e-8")


def table(accounting: Accounting) -> list[list[int]]:
    """The smallest k for each pair, at the default beta."""
    return [
        [solve(epsilon=epsilon, delta=delta, accounting=accounting).k for delta in DELTAS]
        for epsilon in EPSILONS
    ]


def hundred() -> Promise:
    """What a hundred releases are asked about."""
    return solve(epsilon=1, delta="1e-6", accounting="tight")


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--rounds", type=int, default=5)
    asked = arguments.parse_args()
    seconds: Seconds = defaultdict(list)
    tables: dict[str, list[list[int]]] = {}
    for _ in range(asked.rounds):
        rest_between.cache_clear()
        for accounting in ("theorem", "tight"):
            with timed(seconds, f"28 pairs, {accounting}"):
                tables[accounting] = table(accounting)
    for accounting, rows in tables.items():
        print(f"k by {accounting}, at beta = 1 - e^-epsilon; delta {', '.join(DELTAS)}")
        for epsilon, row in zip(EPSILONS, rows, strict=True):
            print(f"  epsilon {epsilon:<5}" + "".join(f"{k:6d}" for k in row))
    with timed(seconds, "importing dp-accounting"):
        subprocess.run([sys.executable, "-c", "import dp_accounting"], check=True)
    cost = together(hundred(), 1)  # imports it here too
    for releases in (2, 10, 100):
        with timed(seconds, f"{releases} releases together"):
            cost = together(hundred(), releases)
            epsilon = cost.epsilon_at(float(releases * Fraction("1e-6")))
        print(
            f"{releases} releases of epsilon 1 at delta 1e-6: epsilon {epsilon:.4g} at delta"
            f" {releases / 1e6:g}"
        )
    for what, each in seconds.items():
        print(f"{what:<28}{sorted(each)[len(each) // 2]:8.3f} s")


if __name__ == "__main__":
    main()
