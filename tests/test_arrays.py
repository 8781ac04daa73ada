# SPDX-License-Identifier: Apache-2.0
"""Which numbers of an array are different, and their order, by NumPy's own answer."""

from itertools import groupby, pairwise

import numpy as np
import polars as pl
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
    assert arrays.firsts(places).tolist() == first
    asked = np.array([*drawn, *numbers.tolist(), low - 1, low + 1], dtype=np.int64)
    expected_places = [some.tolist().index(n) if n in some else -1 for n in asked.tolist()]
    assert arrays.places_in(asked, some).tolist() == expected_places
    in_order, order = arrays.ordered(numbers)
    assert order.tolist() == np.argsort(numbers, kind="stable").tolist()
    assert in_order.tolist() == sorted(numbers.tolist())
    assert in_order.dtype == order.dtype == np.int64


@pytest.mark.parametrize("width", [2, 50_000, 10**6, 2**50])
def test_of_many_numbers_too(width):
    """Of more than fit into any cache of places."""
    numbers = np.random.default_rng(1).integers(-3, width, 100_000)
    some, places = arrays.different(numbers)
    expected, expected_places = np.unique(numbers, return_inverse=True)
    assert np.array_equal(some, expected) and np.array_equal(places, expected_places)
    order = np.argsort(numbers, kind="stable")
    assert np.array_equal(arrays.in_order(numbers), order)
    if width < 2**31:
        assert np.array_equal(arrays.in_order(numbers.astype(np.int32)), order)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint32])
def test_numbers_of_any_width(dtype):
    """As if they had 64 bits: a file that others wrote may hold narrow ones."""
    numbers = np.random.default_rng(1).integers(0, 128, 500).astype(dtype)
    some, places = arrays.different(numbers)
    assert some.tolist() == sorted({*numbers.tolist()}) and (some[places] == numbers).all()
    assert (arrays.places_in(numbers, some) == places).all()
    assert (arrays.in_order(numbers) == np.argsort(numbers, kind="stable")).all()


@given(st.lists(st.none() | st.text("aé\0😀", max_size=2)))
def test_texts_stand_where_they_are_found(texts):
    """Each at the place of the one that it is, and one that is not there, or missing, behind all."""
    others = ["a", "", "😀", "é\0"]
    places = arrays.places_among(
        pl.Series(texts, dtype=pl.String), pl.Series(others, dtype=pl.String)
    )
    assert places.dtype == np.int64
    assert places.tolist() == [others.index(t) if t in others else 4 for t in texts]


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 40), max_size=60))
def test_the_order_by_highest_bits(numbers):
    """Stable among those that are alike, which are told, and the runs that they stand in."""
    kept = ~((1 << len(numbers).bit_length()) - 1)
    highest = [number & kept for number in numbers]
    order, alike = arrays.by_highest_bits(np.array(numbers, dtype=np.uint64))
    expected = sorted(range(len(numbers)), key=lambda place: highest[place])
    assert order.tolist() == expected
    pairs = pairwise([None, *(highest[place] for place in expected)])
    assert alike.tolist() == [one == other for one, other in pairs]
    places, run = arrays.in_runs(alike)
    runs = [list(of) for _, of in groupby(range(len(order)), key=lambda at: highest[order[at]])]
    assert places.tolist() == [at for some in runs if len(some) > 1 for at in some]
    assert [len(list(some)) for _, some in groupby(run.tolist())] == [
        len(some) for some in runs if len(some) > 1
    ]


@given(st.lists(st.floats(0, 1e38) | st.just(float("inf"))))
def test_numbers_in_half_the_room_are_never_below(numbers):
    """The next above, or the number itself."""
    numbers = np.array(numbers)
    near = arrays.rounded_up(numbers)
    assert near.dtype == np.float32 and (near >= numbers).all()
    below = np.nextafter(near, np.float32(-1)).astype(np.float64)
    assert ((near == numbers) | (below < numbers)).all()
    assert len(numbers) == len(near)


def test_a_number_that_is_rounded_to_the_nearest_is_below():
    """The broken twin: why the cast alone would not do."""
    assert float(np.float32(0.7)) < 0.7 <= float(arrays.rounded_up(np.array([0.7]))[0])


@given(
    st.lists(
        st.tuples(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2), st.integers(0, 2**31 - 1)),
        max_size=40,
    ),
    st.integers(0, 3),
)
@example([(-(2**31), 0, 0), (2**31 - 1, 2, 2**31 - 1)], 3)
@example([], 2)
def test_rows_are_numbered_in_their_order(rows, columns):
    """As NumPy numbers rows, also where all combinations are more than whole numbers hold; rows of
    no columns are all alike.
    """
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)[:, :columns]
    found = arrays.row_numbers(table.T, len(table))
    different = sorted({tuple(row) for row in table.tolist()})
    assert found.tolist() == [different.index(tuple(row)) for row in table.tolist()]
    assert arrays.row_numbers(table.T.astype(np.int32), len(table)).tolist() == found.tolist()
