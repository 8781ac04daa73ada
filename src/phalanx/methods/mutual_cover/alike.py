# SPDX-License-Identifier: Apache-2.0
"""Random output tables in which the tuples of a group are alike, for layouts of groups."""

import math
from fractions import Fraction
from functools import partial

import numpy as np

from phalanx.arrays import Bools, Floats
from phalanx.methods.mutual_cover.kernels import alike as kernel
from phalanx.methods.mutual_cover.problems import Layout
from phalanx.methods.mutual_cover.program import check_delta, in_threads


def alike(layout: Layout, delta: Fraction, changes: int) -> tuple[Floats, Bools]:
    """The tables in which the tuples of each group are as alike as it is possible where each
    changes on at least ``changes`` attributes, in the places of the problems' distances; and which
    groups have none.

    They keep delta-probability, and values are published as often as they occur in their group.

    Raises MethodError where delta is above 1, or below 1/m for a group of m rows.

    >>> import numpy as np
    >>> from phalanx.data.distances import Line
    >>> ages, codes = Line(np.arange(3.0)), np.arange(3, dtype=np.int32)
    >>> three = Layout.of([codes, codes], [ages, ages], np.zeros(3, np.int64))
    >>> alike(three, Fraction(1, 2), 1)[0].reshape(2, 3, 3).round(3).tolist()[0]
    [[0.333, 0.333, 0.333], [0.333, 0.333, 0.333], [0.333, 0.333, 0.333]]
    >>> alike(three, Fraction(1, 2), 2)[0].reshape(2, 3, 3).tolist()[0]
    [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]]
    """
    problems = layout.problems
    check_delta(problems, delta)
    table, bad = np.zeros(problems.cells[-1]), np.zeros(layout.groups, np.bool_)
    asked = problems.grid, *layout.types, math.ceil(1 / delta), changes, table, bad
    in_threads(partial(kernel.alike, *asked), np.arange(layout.groups))
    return table, bad
