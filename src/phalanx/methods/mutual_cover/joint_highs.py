# SPDX-License-Identifier: Apache-2.0
"""The tables of one group on all attributes by the general solver HiGHS: the oracle of the own
solver, and its stand-in where that finds nothing.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from phalanx.methods.mutual_cover.outputs import Floats, Ints

_LESS: Final = 1e-9
"""By so much less than they may the own values have, which leaves room for rounding; where that is
too much, by nothing.
"""


def together_by_highs(
    counts: Sequence[Ints], distances: Sequence[Floats], types: Ints, delta: float, changes: int
) -> list[Floats] | None:
    """The tables of least cost, one of shape (k, k) for each attribute, or None where there are
    none.

    The paper's program of each attribute with one row per class (``counts``, and ``distances`` of
    shape (k, k)), and one row for each of the ``types`` (classes on each attribute, shape (t, d)):
    its own values have at most d - ``changes`` together.
    """
    import highspy

    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in {
        "output_flag": False,
        "threads": 1,
        "primal_feasibility_tolerance": 1e-10,
        "dual_feasibility_tolerance": 1e-10,
    }.items():
        solver.setOptionValue(option, value)
    first = [0]
    for c, d in zip(counts, distances, strict=True):
        k, at = len(c), first[-1]
        for i in range(k):
            for j in range(k):
                solver.addVar(0.0, highspy.kHighsInf)
                solver.changeColCost(at + i * k + j, float(c[i] * d[i, j]))
        for i in range(k):
            solver.addRow(
                1.0, 1.0, k, np.arange(at + i * k, at + (i + 1) * k, dtype=np.int32), np.ones(k)
            )
        for j in range(k):
            column = np.arange(at + j, at + k * k, k, dtype=np.int32)
            for i in range(k):
                share = -delta * c.astype(np.float64)
                share[i] += 1.0
                solver.addRow(-highspy.kHighsInf, 0.0, k, column, share)
        first.append(at + k * k)
    sizes = [len(c) for c in counts]
    before = solver.getNumRow()
    for own in types:
        cells = np.array(
            [at + i * (k + 1) for at, i, k in zip(first, own.tolist(), sizes, strict=False)],
            dtype=np.int32,
        )
        solver.addRow(
            -highspy.kHighsInf, len(sizes) - changes - _LESS, len(cells), cells, np.ones(len(cells))
        )
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        for row in range(before, before + len(types)):
            solver.changeRowBounds(row, -highspy.kHighsInf, len(sizes) - changes)
        solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    found = np.maximum(np.array(solver.getSolution().col_value), 0.0)
    tables = [found[at : at + k * k].reshape(k, k) for at, k in zip(first, sizes, strict=False)]
    return [table / table.sum(axis=1, keepdims=True) for table in tables]
