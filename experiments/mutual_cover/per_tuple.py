# SPDX-License-Identifier: Apache-2.0
"""What it would save if each tuple had its own row in the tables of least cost, as in the
paper, where ours give each value of a group one.

    PHALANX_DATA=FOLDER python experiments/mutual_cover/per_tuple.py [--groups 400] [--delta 1/6]

Some groups of the paper's table, drawn at random, are solved both ways: with shared rows by the
kernels of the method, and with a row per tuple by the solver HiGHS, on all attributes at once, so
that every tuple changes. On one attribute both cost the same: tuples with one value may all have
the mean of their rows. Where all attributes are solved at once they do not, as tuples with one value
on an attribute have others elsewhere, and may stay there more or less often. *Of which the joint
program*: groups in which attributes solved by themselves would let some tuple stay. ``seconds`` are
the processor's.
"""

import argparse
import time

import highspy
import numpy as np
from census import QUASI, Floats, Ints, Ours, microdata, show

from phalanx.exact import exact
from phalanx.methods.mutual_cover.output_tables import units_of
from phalanx.methods.mutual_cover.problems import Layout
from phalanx.methods.mutual_cover.program import solve


def alone(layout: Layout, delta: float, g: int, changes: int) -> tuple[float, float]:
    """What the tables of group ``g`` cost at least with a row per tuple, and seconds.

    Variables are the cells (tuple, attribute, value), and how much of each value the group gives.
    """
    began = time.process_time()
    types, first = layout.types
    own = types[first[g] : first[g + 1]]
    times = _times(layout, g, own)
    t, d = own.shape
    asked = [layout.problems.of(p) for p in layout.tables[g].tolist()]
    sizes = [len(counts) for counts, _ in asked]
    cells = np.cumsum([0, *(t * k for k in sizes)])
    mass = cells[-1] + np.cumsum([0, *sizes])
    cost, rows = np.zeros(mass[-1]), _Rows()
    for a, (_, distances) in enumerate(asked):
        k = sizes[a]
        at = cells[a] + np.arange(t * k).reshape(t, k)
        cost[at] = times[:, None] * distances[own[:, a]]
        for i in range(t):
            rows.add(at[i], np.ones(k), 1.0, 1.0)
        for j in range(k):
            given = np.append(at[:, j], mass[a] + j)
            rows.add(given, np.append(times, -1.0), 0.0, 0.0)
            for i in range(t):
                rows.add(np.array([at[i, j], mass[a] + j]), np.array([1.0, -delta]), -np.inf, 0.0)
    for i in range(t):
        stays = np.array([cells[a] + i * sizes[a] + own[i, a] for a in range(d)])
        rows.add(stays, np.ones(d), -np.inf, float(d - changes))
    return rows.least(cost), time.process_time() - began


def _times(layout: Layout, g: int, own: Ints) -> Floats:
    """How many tuples of the group are of each type."""
    of_group = layout.own[layout.group == g]
    return (of_group[:, None, :] == own[None]).all(axis=2).sum(axis=0).astype(np.float64)


class _Rows:
    """A linear program, row by row."""

    def __init__(self) -> None:
        self._places: list[Ints] = []
        self._factors: list[Floats] = []
        self._low: list[float] = []
        self._high: list[float] = []

    def add(self, places: Ints, factors: Floats, low: float, high: float) -> None:
        """The sum of these variables, by these factors, lies between two numbers."""
        self._places.append(places)
        self._factors.append(factors)
        self._low.append(low)
        self._high.append(high)

    def least(self, cost: Floats) -> float:
        """The least cost of variables of 0 or more."""
        program, n = highspy.HighsLp(), len(cost)
        program.num_col_, program.num_row_ = n, len(self._low)
        program.col_cost_, program.col_lower_ = cost, np.zeros(n)
        program.col_upper_ = np.full(n, highspy.kHighsInf)
        program.row_lower_, program.row_upper_ = np.array(self._low), np.array(self._high)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.cumsum([0, *(len(p) for p in self._places)])
        program.a_matrix_.index_ = np.concatenate(self._places)
        program.a_matrix_.value_ = np.concatenate(self._factors)
        solver = highspy.Highs()
        for option, setting in (("output_flag", False), ("threads", 1)):
            solver.setOptionValue(option, setting)
        solver.passModel(program)
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return float("nan")
        return float(solver.getInfo().objective_function_value)


def run(groups: int, delta: str) -> None:
    """Both ways on the same groups."""
    method = Ours(delta=delta, outputs="least-cost")
    table = microdata()
    distances = method._distances(table)  # noqa: SLF001 - the very groups of the method
    group = method._groups(table, distances)  # noqa: SLF001
    chosen = np.random.default_rng(1).permutation(int(group.max()) + 1)[:groups]
    rows = np.flatnonzero(np.isin(group, chosen))
    layout = Layout.of(
        [table.columns[name].codes[rows] for name in QUASI],
        distances,
        np.searchsorted(np.sort(chosen), group[rows]),
    )
    share, changes = exact(delta, "delta"), method.changes
    began = time.process_time()
    _, shared, _, bad = units_of(layout, share, changes, 720_720 << 20)
    of_shared = time.process_time() - began
    found = [alone(layout, float(share), g, changes) for g in range(layout.groups)]
    least, seconds = (np.array(each) for each in zip(*found, strict=True))
    good = ~bad & np.isfinite(least)
    by_itself = solve(layout.problems, share)
    before = by_itself.cost[by_itself.of].reshape(layout.attributes, -1).sum(axis=0)
    joint = good & (shared > before * (1 + 1e-6) + 1e-9)
    saved = 1 - least[good] / np.maximum(shared[good], 1e-12)
    show(
        f"delta = {delta}",
        ["groups", "tuples", "of which the joint program", "cost, shared rows", "cost, a row per tuple",
         "saved", "most in a group", "groups with a saving", "seconds, shared", "seconds, per tuple"],
        [[
            f"{int(good.sum()):,}", f"{len(rows):,}", f"{int(joint.sum()):,}",
            f"{shared[good].sum():.2f}", f"{least[good].sum():.2f}",
            f"{1 - least[good].sum() / shared[good].sum():.1%}", f"{saved.max():.1%}",
            f"{int((saved > 1e-6).sum()):,}", f"{of_shared:.1f}", f"{seconds.sum():.1f}",
        ]],
    )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--groups", type=int, default=400)
    parser.add_argument("--delta", default="1/6")
    options = parser.parse_args()
    run(options.groups, options.delta)
