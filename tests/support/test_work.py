# SPDX-License-Identifier: Apache-2.0
"""Work is counted alike each time, and a loop over rows is seen."""

import sys
from collections.abc import Callable

import numpy as np
import pytest

from support.work import Overworked, lines, memory


def over_rows(rows: int) -> int:
    """What a careful author would not write."""
    total = 0
    for value in range(rows):
        total += value
    return total


@pytest.mark.parametrize(
    "loop",
    [over_rows, lambda n: [v + 1 for v in range(n)], lambda n: all(v >= 0 for v in range(n))],
)
def test_a_loop_over_rows_is_seen(loop: Callable[[int], object]) -> None:
    """Ten times as many rows are ten times as many lines, in a loop, a comprehension and a
    generator.
    """
    assert lines(lambda: loop(1000)) > 9 * lines(lambda: loop(100)) > 500


def test_an_array_is_one_thing() -> None:
    """An array's sum is one line, however long it is."""
    assert lines(lambda: np.arange(10**6).sum()) == lines(lambda: np.arange(10).sum())


def test_what_has_no_end_is_ended() -> None:
    """A loop without an end is left where it has run the lines that it may, and nothing traces the
    lines after it.
    """
    before = sys.gettrace()

    def for_ever() -> None:
        while True:
            pass

    with pytest.raises(Overworked, match=r"more than 1000 lines, at .*test_work\.py"):
        lines(for_ever, most=1000)
    assert sys.gettrace() is before


def test_a_table_is_seen() -> None:
    """A table of a million cells of 8 bytes is so much memory, although it is gone afterwards."""
    assert 8 * 10**6 <= memory(lambda: np.zeros(10**6).sum()) < 9 * 10**6
