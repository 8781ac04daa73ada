# SPDX-License-Identifier: Apache-2.0
"""Which numbers of an array are different, by NumPy's own answer."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from phalanx import arrays

HIGHEST = 2**62


@given(
    st.integers(-HIGHEST, HIGHEST),
    st.sampled_from([1, 3, 50, 10_000, 2**40, HIGHEST]),
    st.lists(st.integers(0, HIGHEST), max_size=60),
)
@example(0, 1, [])
@example(-HIGHEST, HIGHEST, [0, HIGHEST - 1])
def test_different_numbers_are_those_of_numpy(low, width, drawn):
    """However far apart they are: in a table, packed with their places, or sorted as they are."""
    numbers = np.array([low + n % width for n in drawn], dtype=np.int64)
    some, places = arrays.different(numbers)
    expected, expected_places = np.unique(numbers, return_inverse=True)
    assert some.tolist() == expected.tolist() and places.tolist() == expected_places.tolist()
    assert some.dtype == places.dtype == np.int64
    first = [numbers.tolist().index(number) for number in expected.tolist()]
    assert arrays.firsts(places, len(some)).tolist() == first


@pytest.mark.parametrize("width", [2, 50_000, 10**6, 2**50])
def test_of_many_numbers_too(width):
    """Of more than fit into any cache of places."""
    numbers = np.random.default_rng(1).integers(-3, width, 100_000)
    some, places = arrays.different(numbers)
    expected, expected_places = np.unique(numbers, return_inverse=True)
    assert np.array_equal(some, expected) and np.array_equal(places, expected_places)
