# SPDX-License-Identifier: Apache-2.0
"""What is left of a table: a published table as cells with counts, counts of queries from it, and
what a classifier learns from it.

**Cells.** A published value is a span of positions of its attribute: whole numbers of its declared
range, or leaves of its tree in their order. An original row is a cell of single positions, and a
sample a table of such cells, so that all are measured by the same code.

**Queries.** Each puts a condition on two attributes, drawn at random: a span of positions that is
about a share of sqrt(selectivity) of the attribute's range, or one value where the attribute has
two. Queries that fewer than 1 in 1,000 rows meet are drawn again. A published row counts 1/beta
times the shares of its cell's spans that meet the conditions, as if values were spread evenly
within a cell. What was dropped counts as nothing: estimates are too low by what is missing, and no
honest correction is known, since how many rows there are is not published either.

**Classifiers.** Every published row is put at a random position of its cell, the class too, as if
values were spread evenly; gradient boosting (scikit-learn's histograms, 50 trees) learns the class
of the target from these rows, and is tested on held-out original ones.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from tables import Ints, Table
from threadpoolctl import threadpool_limits

from phalanx.data.hierarchies.hierarchy import Tree
from phalanx.data.microdata import Microdata

Floats = npt.NDArray[np.float64]
LEAST = 0.001
"""A query is about this share of the rows at least."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Different cells (g, attributes), the first and the last position of each span, and how many
    rows stand in each.
    """

    low: Ints
    high: Ints
    counts: Floats

    @property
    def rows(self) -> float:
        return float(self.counts.sum())


def size(table: Table, name: str) -> int:
    """How many positions an attribute has."""
    if name in table.declared:
        return int(table.declared[name]["high"] - table.declared[name]["low"])
    return len(table.tree(name).paths)


def originals(table: Table, microdata: Microdata) -> Cells:
    """Rows as they are; numbers beyond the declared range stand at its ends."""
    at = positions(table, microdata)
    different, counts = np.unique(at, axis=0, return_counts=True)
    return Cells(different, different, counts.astype(np.float64))


def positions(table: Table, microdata: Microdata) -> Ints:
    """The position of every row in every attribute, shape (n, attributes)."""
    found = []
    for name in table.names:
        column = microdata.columns[name]
        if name in table.declared:
            numbers = column.domain.values.to_numpy().astype(np.int64) - table.declared[name]["low"]
            found.append(np.clip(numbers, 0, size(table, name) - 1)[column.codes])
        else:
            found.append(column.codes.astype(np.int64))
    return np.stack(found, axis=1)


def cells_of(table: Table, published: pl.DataFrame) -> Cells:
    """The cells of a published table."""
    columns = published.columns
    return spans(table, published.group_by(columns, maintain_order=True).len())


def spans(table: Table, images: pl.DataFrame) -> Cells:
    """Images, a row each in the columns in which they are published, with their counts in ``len``,
    as cells.
    """
    low, high = [], []
    for name in table.names:
        if name in table.declared:
            first = table.declared[name]["low"]
            low.append(images[f"{name}_low"].to_numpy().astype(np.int64) - first)
            high.append(images[f"{name}_high"].to_numpy().astype(np.int64) - first - 1)
        else:
            of_node = leaves_of_nodes(table.tree(name))
            ends = np.array(
                [of_node[node] for node in images[name].to_list()], dtype=np.int64
            ).reshape(-1, 2)
            low.append(ends[:, 0])
            high.append(ends[:, 1])
    return Cells(
        np.stack(low, axis=1), np.stack(high, axis=1), images["len"].to_numpy().astype(np.float64)
    )


def leaves_of_nodes(tree: Tree) -> dict[str, tuple[int, int]]:
    """The first and the last leaf of every node."""
    found: dict[str, tuple[int, int]] = {}
    for i, path in enumerate(tree.paths):
        for node in path:
            found[node] = (found.get(node, (i, i))[0], i)
    return found


# ---- queries


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries, two conditions each: the attributes (q, 2), first and last positions (q, 2), and how
    many rows of the table meet them (q,).
    """

    attributes: Ints
    low: Ints
    high: Ints
    truth: Floats


def workload(table: Table, cells: Cells, number: int, selectivity: float, seed: int) -> Workload:
    """Random queries about these rows."""
    rng = np.random.default_rng(seed)
    attributes, low, high = [], [], []
    sizes = [size(table, name) for name in table.names]
    while len(attributes) < number:
        pair = rng.choice(len(sizes), 2, replace=False)
        length = [max(1, round(selectivity**0.5 * sizes[a])) for a in pair]
        first = [int(rng.integers(sizes[a] - n + 1)) for a, n in zip(pair, length, strict=True)]
        last = [f + n - 1 for f, n in zip(first, length, strict=True)]
        asked = Workload(np.array([pair]), np.array([first]), np.array([last]), np.zeros(1))
        if counted(cells, asked)[0] >= LEAST * cells.rows:
            attributes.append(pair)
            low.append(first)
            high.append(last)
    asked = Workload(np.array(attributes), np.array(low), np.array(high), np.zeros(number))
    return Workload(asked.attributes, asked.low, asked.high, counted(cells, asked))


def counted(cells: Cells, asked: Workload) -> Floats:
    """How many rows of the cells meet each query, shape (q,), values being spread evenly within a
    cell.
    """
    found = np.empty(len(asked.attributes))
    for i, (pair, first, last) in enumerate(
        zip(asked.attributes, asked.low, asked.high, strict=True)
    ):
        share = cells.counts
        for a, f, l in zip(pair, first, last, strict=True):
            low, high = cells.low[:, a], cells.high[:, a]
            share = (
                share
                * np.maximum(0, np.minimum(high, l) - np.maximum(low, f) + 1)
                / (high - low + 1)
            )
        found[i] = share.sum()
    return found


def errors(cells: Cells, asked: Workload, beta: float) -> Floats:
    """Signed relative errors of the queries, shape (q,)."""
    return (counted(cells, asked) / beta - asked.truth) / asked.truth


# ---- classifiers


def accuracy(table: Table, cells: Cells, seed: int) -> float | None:
    """The share of held-out rows whose class is foretold by what the cells teach; None where there
    are no rows, from which nothing is learned.
    """
    times = np.rint(cells.counts).astype(np.int64)
    if not times.sum():
        return None
    low, high = np.repeat(cells.low, times, axis=0), np.repeat(cells.high, times, axis=0)
    features, upper = _classes(table, np.random.default_rng(seed).integers(low, high + 1))
    tested, truth = _classes(table, positions(table, table.held))
    if len(np.unique(upper)) == 1:
        return float((truth == upper[0]).mean())
    with threadpool_limits(1):  # threads that wait for a shared core take longer than one
        learned = HistGradientBoostingClassifier(
            max_iter=50, learning_rate=0.2, early_stopping=False, random_state=0
        ).fit(features, upper)
        return float((learned.predict(tested) == truth).mean())


def majority(table: Table) -> float:
    """The share of held-out rows in the class that is commoner among those that are published."""
    _, upper = _classes(table, positions(table, table.published))
    _, truth = _classes(table, positions(table, table.held))
    return float((truth == (upper.mean() > 0.5)).mean())


def _classes(table: Table, at: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Rows of positions as features and classes."""
    target = table.names.index(table.target)
    return np.delete(at, target, axis=1), at[:, target] >= table.classes
