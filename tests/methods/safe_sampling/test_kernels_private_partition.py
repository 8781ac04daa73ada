# SPDX-License-Identifier: Apache-2.0
"""The kernels of the private partition against what they say, counted row by row."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.methods.safe_sampling.kernels.private_partition import child_excess, cut_excess

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(3, 8)), max_size=40).map(sorted)
CROWDS = st.integers(0, 5)


def arrays(rows):
    """The fixed cells, ascending, and the cells of the attribute."""
    return np.array([f for f, _ in rows], dtype=np.int64), np.array(
        [c for _, c in rows], dtype=np.int32
    )


def excess(fixed, crowd):
    """Rows beyond a crowd, in each fixed cell, added up."""
    return sum(max(0, n - crowd) for n in Counter(fixed).values())


@settings(max_examples=200, deadline=None)
@given(ROWS, CROWDS)
def test_both_sides_of_every_cut_are_counted(rows, crowd):
    """Below and above each inner edge, per fixed cell."""
    below, above = cut_excess(*arrays(rows), 3, 9, crowd)
    assert below.tolist() == [
        excess([f for f, c in rows if c < edge], crowd) for edge in range(4, 9)
    ]
    assert above.tolist() == [
        excess([f for f, c in rows if c >= edge], crowd) for edge in range(4, 9)
    ]


@settings(max_examples=200, deadline=None)
@given(ROWS, CROWDS)
def test_every_child_is_counted(rows, crowd):
    """Per fixed cell; a child without rows has none."""
    assert child_excess(*arrays(rows), 10, crowd).tolist() == [
        excess([f for f, c in rows if c == child], crowd) for child in range(10)
    ]


def test_a_span_of_one_cell_has_no_cut():
    """No inner edge, no figure."""
    assert [
        len(side)
        for side in cut_excess(np.zeros(2, dtype=np.int64), np.full(2, 5, dtype=np.int32), 5, 6, 0)
    ] == [0, 0]
