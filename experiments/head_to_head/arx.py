# SPDX-License-Identifier: Apache-2.0
"""Two of ARX's own solutions of Adult, from the levels and the losses that its authors publish as
what its tests must find: the tables are rebuilt from the levels, and the losses are counted again.

ARX recodes each attribute to one level of its hierarchy in all rows, and suppresses the rows of
groups that do not keep what is asked. Both solutions lose least by ARX's measure ``Loss``, with as
many suppressed rows as it takes (``src/test/java/org/deidentifier/arx/test/TestUtilityMetricsLoss``
of github.com/arx-deidentifier/arx, cases 1 and 3). The same rows, hierarchies and attributes as
here: ARX's ``adult.csv`` is the 30,162 complete rows.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

QUASI = (
    "sex", "age", "race", "marital_status", "education", "native_country", "workclass", "income",
)  # fmt: skip
"""In the order of ARX's levels."""
SENSITIVE = "occupation"


@dataclass(frozen=True)
class Solution:
    """A level for each attribute, which groups are published, and the published loss of each
    attribute, the greatest first.
    """

    levels: tuple[int, ...]
    kept: Callable[[Sequence[int]], bool]
    """Of the counts of the values of occupation in a group, the most frequent first."""
    loss: tuple[float, ...]


def recursive(counts: Sequence[int], c: int = 4, l: int = 5) -> bool:
    """Whether a group is recursively (c, l)-diverse."""
    return len(counts) >= l and counts[0] < c * sum(counts[l - 1 :])


SOLUTIONS = {
    "ARX, k = 5": Solution(
        (0, 3, 0, 0, 1, 0, 0, 0),
        lambda counts: sum(counts) >= 5,
        (0.297248193, 0.29678055, *[0.1297659306] * 6),
    ),
    "ARX, recursive (4, 5)-diversity": Solution(
        (0, 3, 0, 0, 1, 1, 1, 0),
        recursive,
        (0.4133583411, 0.4042130826, 0.3444444444, 0.3363245879, *[0.1787016776] * 4),
    ),
}


def paths(hierarchy: Path) -> list[list[str]]:
    """The lines of a hierarchy, each from a leaf to the root."""
    return [line.split(";") for line in hierarchy.read_text(encoding="utf-8").splitlines()]


def rebuilt(
    table: pl.DataFrame, solution: Solution, hierarchies: Mapping[str, Path]
) -> tuple[pl.DataFrame, list[float]]:
    """The rows that are published, at their levels, and the loss of each attribute, the greatest
    first: the mean share of the leaves that a row's label covers, all of them where the row is
    suppressed, from 0 (one leaf) to 1 (all).
    """
    trees = {name: paths(hierarchies[name]) for name in QUASI}
    at = dict(zip(QUASI, solution.levels, strict=True))
    label = {name: {path[0]: path[at[name]] for path in tree} for name, tree in trees.items()}
    made = table.with_columns(
        pl.col(name).cast(pl.String).replace_strict(label[name]) for name in QUASI
    )
    counts = made.group_by(*QUASI, SENSITIVE).len().group_by(*QUASI).agg(pl.col("len"))
    good = [solution.kept(sorted(held, reverse=True)) for held in counts["len"]]
    keeps = made.join(
        counts.drop("len").with_columns(keeps=pl.Series(good)),
        on=QUASI,
        how="left",
        maintain_order="left",
    )["keeps"]
    losses = []
    for name, tree in trees.items():
        covers = pl.Series([path[at[name]] for path in tree]).value_counts(name="leaves")
        share = dict(zip(covers.to_series(0), covers["leaves"] / len(tree), strict=True))
        mean = float(made[name].replace_strict(share).set(~keeps, 1.0).mean())
        losses.append((mean - 1 / len(tree)) / (1 - 1 / len(tree)))
    return made.filter(keeps), sorted(losses, reverse=True)
