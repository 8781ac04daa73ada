# SPDX-License-Identifier: Apache-2.0
"""Short runs in order: as Python's own sort has them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.kernels.sorting import from_most, sort


@given(st.lists(st.integers(-(2**62), 2**62), max_size=300))
def test_keys_come_into_order(keys):
    """In place, whatever they are."""
    found = np.array(keys, dtype=np.int64)
    sort(found)
    assert found.tolist() == sorted(keys)


@pytest.mark.parametrize("n", [2, 3, 4, 6, 15, 16, 37, 1000])
def test_descending_keys_do(n):
    """Power: the last gap is 1 whatever the length is, else two neighbours stay as they are."""
    found = np.arange(n, 0, -1)
    sort(found)
    assert found.tolist() == list(range(1, n + 1))


@given(st.lists(st.integers(0, 5) | st.integers(0, 2**40), max_size=60))
def test_equal_counts_stand_as_they_are(counts):
    """From the largest to the smallest."""
    found = from_most(np.array(counts, dtype=np.int64))
    assert found.tolist() == sorted(range(len(counts)), key=lambda i: -counts[i])
