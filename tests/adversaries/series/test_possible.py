# SPDX-License-Identifier: Apache-2.0
"""The values that persons may have, as entries: what a full table of them says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.adversaries.series.possible import Possible

VALUES = 4


@st.composite
def tables(draw):
    """Up to five persons and four values, with shares of few kinds, many of them 0."""
    n = draw(st.integers(1, 5))
    share = st.sampled_from([0.0, 0.0, 0.25, 0.25 * (1 + 1e-12), 0.5])
    rows = draw(st.lists(st.lists(share, min_size=VALUES, max_size=VALUES), min_size=n, max_size=n))
    return np.array(rows)


def entries(table):
    """The table as entries, each of them in two halves that are far from each other."""
    person, value = np.indices(table.shape).reshape(2, -1)
    key, half = person * VALUES + value, table.ravel() / 2
    return Possible.of(
        len(table), VALUES, np.concatenate([key, key[::-1]]), np.concatenate([half, half[::-1]])
    )


@given(tables(), st.data())
def test_entries_say_what_the_table_says(table, data):
    """How many values are possible, whether one of them is the person's, how often the most
    probable one is, and what adds up to 1.
    """
    n, own = len(table), st.integers(-1, VALUES - 1)
    true = np.array(data.draw(st.lists(own, min_size=n, max_size=n)))
    row = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
    possible = entries(table)

    def right(p, value):
        first = [v for v in range(VALUES) if p[v] and p[v] >= p.max() * (1 - 1e-9)]
        return (value in first) / max(len(first), 1)

    assert possible.candidates.tolist() == (table > 0).sum(axis=1).tolist()
    assert possible.holds(true).tolist() == [
        v >= 0 and p[v] > 0 for p, v in zip(table, true, strict=True)
    ]
    assert possible.named(true).tolist() == [right(p, v) for p, v in zip(table, true, strict=True)]
    assert possible.named(true, row).tolist() == [
        right(table[i], v) for i, v in zip(row, true, strict=True)
    ]
    scaled = possible.scaled()
    assert scaled.of_persons(scaled.p) == pytest.approx((table.sum(axis=1) > 0).astype(float))
