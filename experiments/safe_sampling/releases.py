# SPDX-License-Identifier: Apache-2.0
"""One release of a table and what it is worth, for the scripts beside this one; and the same for
what it is compared with.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import polars as pl
from measures import Cells, Workload, accuracy, cells_of, errors, originals, positions, spans
from tables import Ints, Table

from phalanx.accounting import Promise
from phalanx.methods.safe_sampling.method import publish_sample
from phalanx.methods.safe_sampling.schemes import Axes, FixedScheme, Scheme
from phalanx.randomness import Randomness

Way = Literal["levels", "partition"]


@dataclass(frozen=True, kw_only=True)
class Worth:
    """What one release is worth."""

    of_all: float
    """Published rows, as a share of all."""
    of_sampled: float
    """The same of those that were sampled."""
    counts: float
    """The median relative error of counts."""
    signed: float
    """The median of the same errors with their signs: below 0 where estimates are too low."""
    shares: float
    """The same of shares of the published rows, taken for shares of the table."""
    right: float | None
    """How often the classifier is right; None where nothing was published."""


def fixed(table: Table, levels: Mapping[str, int]) -> FixedScheme:
    return FixedScheme.of(table.scheme(levels), table.schema)


def chosen(table: Table, way: Way, promise: Promise, depth: int = 10) -> Scheme:
    """A scheme chosen from the table under the promise's epsilon_scheme; the draws are the
    operating system's, so that no two runs are the same.
    """
    axes = Axes.of(table.scheme(table.must), table.schema, choose=True)
    crowd = math.ceil(promise.k / promise.beta)
    if way == "levels":
        from phalanx.methods.safe_sampling.private_levels import choose_levels

        return choose_levels(axes, table.published, promise.epsilon_scheme, crowd)
    from phalanx.methods.safe_sampling.private_partition import choose_partition

    return choose_partition(axes, table.published, promise.epsilon_scheme, crowd, depth, promise.k)


def sampled(table: Table, beta: Fraction, seed: int) -> Ints:
    """A Bernoulli sample; the seed makes runs repeatable, and would be no protection."""
    return Randomness.seeded(seed).stream("sample").bernoulli(beta, table.published.rows)


def publish(table: Table, scheme: Scheme, promise: Promise, seed: int) -> tuple[Cells, int]:
    """The cells of one release, and how many rows were sampled."""
    sample = sampled(table, promise.beta, seed)
    form, _ = publish_sample(table.published, sample, scheme, promise.k)
    return cells_of(table, form.table), len(sample)


def worth(
    table: Table, cells: Cells, beta: float, asked: Workload, seed: int, of: int | None = None
) -> Worth:
    """What cells are worth of which each row stands for 1/beta rows; ``of``: how many were
    sampled.
    """
    rows = table.published.rows
    counts, shares = errors(cells, asked, beta), errors(cells, asked, cells.rows / rows or 1)
    return Worth(
        of_all=cells.rows / rows,
        of_sampled=cells.rows / (of or rows),
        counts=float(np.median(np.abs(counts))),
        signed=float(np.median(counts)),
        shares=float(np.median(np.abs(shares))),
        right=accuracy(table, cells, seed),
    )


def all_rows(table: Table, scheme: Scheme) -> tuple[pl.DataFrame, Ints]:
    """The images of all rows and how many rows each has."""
    image, images = scheme.images(table.published, np.arange(table.published.rows))
    return images, np.bincount(image, minlength=images.height)


def recoded(table: Table, scheme: Scheme) -> Cells:
    """All rows recoded, without a sample and a threshold: what the scheme alone loses."""
    images, counts = all_rows(table, scheme)
    return spans(table, images.with_columns(len=pl.Series(counts)))


def plain_sample(table: Table, beta: Fraction, seed: int) -> Cells:
    """Sampled rows as they are: what the sample alone loses."""
    at = positions(table, table.published.take(sampled(table, beta, seed)))
    different, counts = np.unique(at, axis=0, return_counts=True)
    return Cells(different, different, counts.astype(np.float64))


def noisy_counts(table: Table, scheme: Scheme, epsilon: float, delta: float, seed: int) -> Cells:
    """The usual way with the same cells and the same promise: counts with Laplace noise, of cells
    that have rows, where they come out above a threshold.

    A row more or less changes one count by 1, which 1/epsilon of noise hides; a cell with a single
    row comes out above 1 + ln(1 / (2 delta)) / epsilon with probability delta. (Noise as floats:
    good for a comparison, not for publication.)
    """
    images, counts = all_rows(table, scheme)
    noisy = counts + np.random.default_rng(seed).laplace(scale=1 / epsilon, size=len(counts))
    kept = noisy >= 1 + math.log(1 / (2 * delta)) / epsilon
    return spans(table, images.filter(pl.Series(kept)).with_columns(len=pl.Series(noisy[kept])))


def unchanged(table: Table) -> Cells:
    return originals(table, table.published)


def show(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A Markdown table under a heading."""
    print(f"### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print(flush=True)
