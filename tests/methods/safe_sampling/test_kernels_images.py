# SPDX-License-Identifier: Apache-2.0
"""The kernels of safe sampling number images as a dictionary would, and count them as a Counter
would, whatever the keys.
"""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.methods.safe_sampling.kernels import images as kernel

KEYS = st.lists(
    st.one_of(
        st.integers(0, 5), st.integers(0, 2**62), st.sampled_from([0, 1 << 20, 1 << 40, 1 << 61])
    ),
    max_size=60,
)


def numbered(keys: list[int]) -> tuple[list[int], list[int]]:
    """The naive twin of ``number``: a dictionary in the order of its first entries."""
    first: dict[int, int] = {}
    for i, key in enumerate(keys):
        first.setdefault(key, i)
    place = {key: j for j, key in enumerate(first)}
    return [place[key] for key in keys], list(first.values())


@settings(max_examples=200, deadline=None)
@given(KEYS)
def test_different_keys_are_numbered_in_the_order_of_their_first_row(keys: list[int]) -> None:
    """Equal keys share a number, different keys never do, also where they fall on one slot."""
    image, first = kernel.number(np.array(keys, dtype=np.int64))
    assert (image.tolist(), first.tolist()) == numbered(keys)


@pytest.mark.parametrize(
    "keys", [[15, 0], [16, 0], [23, 0, 23], [24, 1, 24], [-1, 3], [2**63 - 1, 0]]
)
def test_keys_with_a_table_of_their_own_and_without(keys: list[int]) -> None:
    """Up to so many for each row, and no more; no key is outside of the table."""
    image, first = kernel.number(np.array(keys, dtype=np.int64))
    assert (image.tolist(), first.tolist()) == numbered(keys)


def test_the_table_of_slots_grows() -> None:
    """Far more different keys than slots at the start, each of them twice, keep their numbers when
    the table doubles.
    """
    rng = np.random.default_rng(1)
    keys = np.concatenate([rng.permutation(200_000), rng.permutation(200_000)]) * 1_000_003
    image, first = kernel.number(keys)
    assert len(first) == 200_000
    assert (keys[first[image]] == keys).all()
    assert (np.diff(first) > 0).all()


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_digits_make_one_key_of_all_attributes(data: st.DataObject) -> None:
    """Rows have one key if and only if they have the same cell on every attribute."""
    n = data.draw(st.integers(1, 12))
    rows = np.array(data.draw(st.lists(st.integers(0, n - 1), unique=True)), dtype=np.int64)
    key, cells = np.zeros(len(rows), dtype=np.int64), []
    for _ in range(data.draw(st.integers(1, 3))):
        codes = np.array(
            data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), dtype=np.int32
        )
        of_code = np.array(
            data.draw(st.lists(st.integers(0, 2), min_size=5, max_size=5)), dtype=np.int32
        )
        kernel.add_digit(key, of_code, codes, rows, 3)
        cells.append([int(of_code[codes[r]]) for r in rows])
    tuples = list(zip(*cells, strict=True))
    assert [numbered(key.tolist())[0]] == [
        numbered([9 * 9 * a + 9 * b + c for a, b, c in ((*t, 0, 0)[:3] for t in tuples)])[0]
    ]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 6), max_size=40), st.integers(1, 8))
def test_images_that_occur_too_seldom_are_dropped_whole(images: list[int], k: int) -> None:
    """An image is kept with all of its rows or with none, and kept if and only if it occurs k times
    or more.
    """
    counts, kept = kernel.crowded(np.array(images, dtype=np.int64), np.zeros(7, dtype=np.int64), k)
    often = Counter(images)
    assert counts.tolist() == [often[i] if often[i] >= k else 0 for i in range(7)]
    assert kept.tolist() == [i if often[i] >= k else -1 for i in images]
