# SPDX-License-Identifier: Apache-2.0
"""The authors' own program, rebuilt from what it does, so that its releases can be asked what its
authors did not ask them.

Groups: Mondrian on codes as they are, cut at the median of the attribute of the greatest sum of
squares, or else the next one, as long as no salary has more than 1/l of a side; each leaf is then
dealt out into groups of at least l different salaries, without a look at quasi-identifiers. Tables:
of least cost by |v - v'|; that outputs may be any whole number between a group's least and greatest
value makes none of them cheaper, and ours have the values of the group. What is drawn is drawn for
every attribute by itself. A row that came out unchanged gets another value of the range of its
group, whole numbers that nobody has among them, on one attribute.
"""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from census import QUASI, Floats, Ints, census, microdata, originals
from scipy import sparse
from scipy.optimize import linprog

from phalanx.release.forms.perturbed import Perturbed
from phalanx.release.manifest import PublishedAttribute


def diverse(salary: Ints, l: int) -> bool:
    return len(salary) > 0 and l * int(np.unique(salary, return_counts=True)[1].max()) <= len(
        salary
    )


def leaves(l: int) -> list[Ints]:
    """The rows of every leaf of their Mondrian."""
    values, salary = originals(), microdata().sensitive.codes
    waiting, found = [np.arange(len(values))], []
    while waiting:
        rows = waiting.pop()
        mine = values[rows]
        for a in np.argsort(-mine.var(axis=0)):
            left = mine[:, a] <= np.sort(mine[:, a])[(len(rows) + 1) // 2 - 1]
            if diverse(salary[rows[left]], l) and diverse(salary[rows[~left]], l):
                waiting += [rows[left], rows[~left]]
                break
        else:
            found.append(rows)
    return found


def dealt(rows: Ints, salary: Ints, l: int) -> list[list[int]]:
    """A leaf in groups of different salaries: as many groups as can be of the beta most frequent
    ones, for the least beta that leaves the rest diverse.
    """
    held = [rows[salary[rows] == value].tolist() for value in np.unique(salary[rows])]
    found = []
    while held:
        held.sort(key=len, reverse=True)
        counts, left = [len(h) for h in held], sum(map(len, held))
        for beta in range(l, len(held) + 1):
            after = counts[beta] if beta < len(held) else 0
            most = counts[beta - 1] if beta < len(held) else 1
            alpha = next(
                (
                    a
                    for a in range(most, 0, -1)
                    if l * max(counts[0] - a, after) <= left - a * beta or beta == len(held)
                ),
                0,
            )
            if alpha:
                break
        found += [[held[i].pop() for i in range(beta)] for _ in range(alpha)]
        held = [h for h in held if h]
    return found


def groups(l: int) -> Ints:
    """The group of every row, 0 .. g-1."""
    salary = microdata().sensitive.codes.astype(np.int64)
    of = np.empty(microdata().rows, dtype=np.int64)
    for number, rows in enumerate(group for leaf in leaves(l) for group in dealt(leaf, salary, l)):
        of[rows] = number
    return of


def output_table(steps: tuple[int, ...], most: int) -> Floats:
    """The least dear table of tuples with values so many whole numbers above the least, ascending,
    to all whole numbers between; 1/delta = ``most``.
    """
    m, n = len(steps), steps[-1] + 1
    if n == 1:
        return np.ones((m, 1))
    apart = np.abs(np.array(steps)[:, None] - np.arange(n))
    to_one = sparse.kron(sparse.eye(m), np.ones((1, n)), format="csr")
    no_more = most * sparse.eye(m * n, format="csr") - sparse.kron(
        np.ones((m, m)), sparse.eye(n), format="csr"
    )
    found = linprog(apart.ravel(), A_ub=no_more, b_ub=np.zeros(m * n), A_eq=to_one, b_eq=np.ones(m))
    table = np.maximum(found.x.reshape(m, n), 0)
    return np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)


def drawn(group: Ints, most: int, seeds: Sequence[int]) -> Iterator[tuple[Ints, float]]:
    """For each seed what every row published, shape (n, d), and the share of rows that came out
    unchanged.
    """
    values, solve = originals(), cache(output_table)
    tables: list[tuple[Ints, int, int, Floats]] = []
    order = np.argsort(group, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        for a in range(len(QUASI)):
            mine = rows[np.argsort(values[rows, a], kind="stable")]
            low = int(values[mine[0], a])
            tables.append((mine, a, low, solve(tuple((values[mine, a] - low).tolist()), most)))
    for seed in seeds:
        rng, out = np.random.default_rng([7, seed]), values.copy()
        for rows, a, low, table in tables:
            column = (rng.random(len(rows))[:, None] > table).sum(axis=1)
            out[rows, a] = low + np.minimum(column, table.shape[1] - 1)
        unchanged = np.flatnonzero((out == values).all(axis=1))
        repair(out, unchanged, group, rng)
        yield out, len(unchanged) / len(values)


def repair(out: Ints, unchanged: Ints, group: Ints, rng: np.random.Generator) -> None:
    """Change one value of each unchanged row, on an attribute chosen by how wide it is in the
    group.
    """
    values = originals()
    low = np.full((int(group.max()) + 1, values.shape[1]), values.max())
    high = np.zeros_like(low)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    weight: Floats = (high - low) / (values.max(axis=0) - values.min(axis=0) + 1)
    for row in unchanged:
        g = group[row]
        while (out[row] == values[row]).all():
            a = rng.choice(len(QUASI), p=weight[g] / weight[g].sum())
            out[row, a] = rng.integers(low[g, a], high[g, a] + 1)


def form_of(rows: Ints) -> Perturbed:
    """The release that these rows make, in the order of the table."""
    frame = census().with_columns(**{name: rows[:, a] for a, name in enumerate(QUASI)})
    attributes = [
        PublishedAttribute(
            name=n, role="quasi" if n in QUASI else "sensitive", type="numeric", columns=[n]
        )
        for n in frame.columns
    ]
    return Perturbed(frame, tuple(attributes))
