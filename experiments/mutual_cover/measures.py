# SPDX-License-Identifier: Apache-2.0
"""What a release loses: distances, sums of salaries by queries, and how attributes go together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
import polars as pl
from census import QUASI, SENSITIVE, Floats, Ints, microdata, originals, salaries

from phalanx.methods.base import Draft
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.generalized import Generalized
from phalanx.release.forms.sliced import BUCKET, COUNT

NUMBERS = ("age", "uhrswork")
"""What the paper calls continuous; of all others a query asks for one value."""
COMPARISONS: tuple[Callable[[Ints, int], np.ndarray], ...] = (
    np.equal,
    np.not_equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
)


@dataclass(frozen=True)
class Query:
    """The sum of the salaries of the rows that meet a condition on each of some attributes."""

    attributes: tuple[int, ...]
    met: tuple[np.ndarray, ...]
    """By attribute, whether each whole number from 0 on meets the condition."""
    truth: float
    rows: int
    """How many rows of the table are asked about."""


@cache
def queries(conditions: int = 4, number: int = 1000, seed: int = 1) -> tuple[Query, ...]:
    """Random conditions on so many random attributes; a query for nobody is drawn again, as is one
    for salaries of 0 in all.
    """
    rng, values, salary = np.random.default_rng(seed), originals(), salaries()
    numbers = np.arange(int(values.max()) + 1)
    domains = [np.unique(values[:, a]) for a in range(len(QUASI))]
    found: list[Query] = []
    while len(found) < number:
        attributes = tuple(rng.choice(len(QUASI), conditions, replace=False).tolist())
        met = []
        for a in attributes:
            compare = (
                COMPARISONS[rng.integers(len(COMPARISONS))] if QUASI[a] in NUMBERS else np.equal
            )
            met.append(compare(numbers, int(rng.choice(domains[a]))))
        asked = _all_met(values, attributes, met)
        if truth := float(salary[asked].sum()):
            found.append(Query(attributes, tuple(met), truth, int(asked.sum())))
    return tuple(found)


def _all_met(values: Ints, attributes: Sequence[int], met: Sequence[np.ndarray]) -> np.ndarray:
    found = np.ones(len(values), dtype=bool)
    for a, one in zip(attributes, met, strict=True):
        found &= one[values[:, a]]
    return found


def errors_of_rows(rows: Ints, asked: Sequence[Query]) -> Floats:
    """The relative error of every query, of rows that were published beside the salaries of the
    table.
    """
    salary = salaries()
    return np.array(
        [abs(salary[_all_met(rows, q.attributes, q.met)].sum() - q.truth) / q.truth for q in asked]
    )


def errors_of_intervals(form: Generalized, asked: Sequence[Query]) -> Floats:
    """The same of intervals, in which values of the domain are spread evenly."""
    ends = {
        name: (form.table[f"{name}_low"].to_numpy(), form.table[f"{name}_high"].to_numpy())
        for name in QUASI
    }
    salary, values = form.table[SENSITIVE].to_numpy().astype(np.float64), originals()
    there = [np.isin(np.arange(int(values.max()) + 1), values[:, a]) for a in range(len(QUASI))]
    up_to = [np.concatenate([[0], np.cumsum(t)]) for t in there]
    found = []
    for q in asked:
        estimate = salary
        for a, met in zip(q.attributes, q.met, strict=True):
            low, high = ends[QUASI[a]]
            meeting = np.concatenate([[0], np.cumsum(met & there[a])])
            estimate = (
                estimate * (meeting[high + 1] - meeting[low]) / (up_to[a][high + 1] - up_to[a][low])
            )
        found.append(abs(estimate.sum() - q.truth) / q.truth)
    return np.array(found)


def errors_of_buckets(form: Bucketized, asked: Sequence[Query]) -> Floats:
    """The same of two tables: a row that meets the conditions stands for the mean salary of its
    bucket.
    """
    means = form.values.group_by(BUCKET).agg(
        (pl.col(SENSITIVE) * pl.col(COUNT)).sum() / pl.col(COUNT).sum()
    )
    salary = (
        form.table.select(BUCKET)
        .join(means, on=BUCKET, how="left", maintain_order="left")[SENSITIVE]
        .to_numpy()
    )
    rows = form.table.select(QUASI).to_numpy().astype(np.int64)
    return np.array(
        [abs(salary[_all_met(rows, q.attributes, q.met)].sum() - q.truth) / q.truth for q in asked]
    )


def cost(rows: Ints) -> float:
    """|v - v'| / (max - min + 1) of the attribute, summed over attributes; the mean over rows."""
    values = originals()
    return float(
        (np.abs(rows - values) / (values.max(axis=0) - values.min(axis=0) + 1)).sum(axis=1).mean()
    )


def changed(rows: Ints) -> float:
    """How many quasi-identifiers of a row are others' values, in the mean."""
    return float((rows != originals()).sum(axis=1).mean())


def loss_of_rows(rows: Ints) -> float:
    """ILoss of a value that was replaced: how many values of the domain the new one is away, over
    the size of the domain; summed, the mean over rows.
    """
    total = np.zeros(len(rows))
    for a in range(len(QUASI)):
        domain = np.unique(originals()[:, a])
        total += np.abs(
            np.searchsorted(domain, rows[:, a]) - np.searchsorted(domain, originals()[:, a])
        ) / len(domain)
    return float(total.mean())


def loss_of_tables(draft: Draft) -> float:
    """The ILoss that rows have in the mean as their random output tables say, before any is changed
    afterwards.
    """
    outputs, total = draft.evidence, 0.0
    classes = outputs.classes(microdata(), draft.groups)
    for a, name in enumerate(QUASI):
        for g, which in enumerate(outputs.of[:, a].tolist()):
            inside = slice(classes.first[a][g], classes.first[a][g + 1])
            codes = classes.codes[a][inside]
            away = np.abs(codes[:, None] - codes[None, :])
            total += (
                float((classes.counts[a][inside, None] * outputs.table(which) * away).sum())
                / outputs.denominator
                / len(microdata().columns[name].domain)
            )
    return total / microdata().rows


def loss_of_intervals(form: Generalized) -> tuple[float, float]:
    """ILoss of intervals, (values of the domain in it - 1) / size of the domain, summed, the mean
    over rows.

    Beside it how far a row's own value is in the mean from one of the interval's that is drawn at
    random.
    """
    whole, drawn = np.zeros(form.rows), np.zeros(form.rows)
    for name in QUASI:
        domain = np.asarray(microdata().columns[name].domain.values)
        low, high = (
            np.searchsorted(domain, form.table[f"{name}_{end}"].to_numpy())
            for end in ("low", "high")
        )
        width = high - low + 1
        whole += (width - 1) / len(domain)
        drawn += (
            (width**2 - 1) / (3 * width) / len(domain)
        )  # the mean distance of two of them, were own values spread evenly
    return float(whole.mean()), float(drawn.mean())


def together(rows: Ints) -> tuple[Floats, list[np.ndarray]]:
    """Of every pair of attributes phi^2, and how often each two of their values stand together."""
    size, phi, pairs = int(max(rows.max(), originals().max())) + 1, [], []
    for a, b in combinations(range(rows.shape[1]), 2):
        counts = np.zeros((size, size))
        np.add.at(counts, (rows[:, a], rows[:, b]), 1 / len(rows))
        one, other = counts.sum(axis=1), counts.sum(axis=0)
        expected = np.outer(one, other)
        free = min((one > 0).sum(), (other > 0).sum()) - 1
        phi.append(
            ((counts - expected) ** 2 / np.where(expected > 0, expected, 1)).sum() / max(free, 1)
        )
        pairs.append(counts)
    return np.array(phi), pairs


def alone(rows: Ints) -> Floats:
    """By attribute how far the shares of its values are from those of the original (total
    variation).
    """
    size = int(max(rows.max(), originals().max())) + 1
    shares = [
        [np.bincount(of[:, a], minlength=size) / len(of) for a in range(of.shape[1])]
        for of in (rows, originals())
    ]
    return np.abs(np.subtract(*shares)).sum(axis=1) / 2


@cache
def together_before() -> tuple[Floats, list[np.ndarray]]:
    return together(originals())


def apart(rows: Ints) -> tuple[float, float]:
    """How far phi^2 of pairs and their tables (total variation) are from those of the original, in
    the mean over pairs.
    """
    (phi, pairs), (phi_before, before) = together(rows), together_before()
    size = min(len(pairs[0]), len(before[0]))
    moved = [
        np.abs(p[:size, :size] - b[:size, :size]).sum() + p[size:].sum() + p[:size, size:].sum()
        for p, b in zip(pairs, before, strict=True)
    ]
    return float(np.abs(phi - phi_before).mean()), float(np.mean(moved)) / 2
