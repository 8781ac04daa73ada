# SPDX-License-Identifier: Apache-2.0
"""Columns that are chosen for what will be asked, beside those that correlations alone choose.

    PHALANX_DATA=folder python experiments/slicing/workload.py

Each workload is three pairs of quasi-identifiers, drawn at random; twenty workloads a table. The
sensitive attribute stands alone, the others in two columns, cuts are balanced, l = 3. *Misplaced*: the mean
share of rows that stand in another cell of the table of two attributes than they should, over the
pairs that are asked for, and over all pairs.
"""

from itertools import combinations

import numpy as np
from adult import Ints, codes_of, publish, show
from cut_rules import SHOWN_ON

from phalanx.data.microdata import Microdata
from phalanx.methods.slicing.columns import Columns
from phalanx.methods.slicing.method import Slicing

WORKLOADS, PAIRS = 20, 3
GIVEN = {"l": 3, "columns": 3, "sensitive_column_size": 1}


def misplaced(table: Microdata, columns: Columns, buckets: Ints, pair: tuple[str, str]) -> float:
    """0 where both stand in one column."""
    if any(set(pair) <= set(column) for column in columns):
        return 0.0
    one, other = (codes_of(table, [name]) for name in pair)
    of_row = np.unique(buckets, return_inverse=True)[1].ravel()
    sizes = np.bincount(of_row)
    held = [np.zeros((len(sizes), int(codes.max()) + 1), np.float32) for codes in (one, other)]
    for counts, codes in zip(held, (one, other), strict=True):
        np.add.at(counts, (of_row, codes), 1)
    true = np.zeros((held[0].shape[1], held[1].shape[1]))
    np.add.at(true, (one, other), 1)
    told = (held[0] / sizes[:, None]).T @ held[1]
    return float(np.abs(told - true).sum() / 2 / table.rows)


def main() -> None:
    rows = []
    for title, load in SHOWN_ON.items():
        table = load()
        every = list(combinations(table.schema.quasi, 2))
        rng, plain = np.random.default_rng(5), Slicing(**GIVEN)
        columns = plain.partition(table)
        buckets = publish(plain, table, 1).groups
        before = {pair: misplaced(table, columns, buckets, pair) for pair in every}
        figures = []
        for _ in range(WORKLOADS):
            drawn = [
                every[i] for i in rng.choice(len(every), min(PAIRS, len(every)), replace=False)
            ]
            chosen = Slicing(**GIVEN, workload=drawn).partition(table)
            after = {pair: misplaced(table, chosen, buckets, pair) for pair in every}
            figures.append(
                [
                    np.mean([of[pair] for pair in some])
                    for some in (drawn, every)
                    for of in (before, after)
                ]
            )
        rows.append([title, *(f"{100 * mean:.1f} %" for mean in np.mean(figures, axis=0))])
    show(
        "Misplaced, over twenty workloads of three pairs",
        ["table", "asked: by correlation", "asked: for the workload", "all pairs: by correlation", "all pairs: for the workload"],
        rows,
    )  # fmt: skip


if __name__ == "__main__":
    main()
