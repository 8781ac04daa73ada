# SPDX-License-Identifier: Apache-2.0
"""From how many pairs on an order is refused."""

from datetime import date
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from phalanx.guarantees.consistency.order import _rank, order_faults


def rows(n: int) -> SimpleNamespace:
    """A form of so many rows that promises no order, and of which nothing is published."""
    return SimpleNamespace(
        rows=n, id_column=None, in_sorted_order=lambda: (), in_random_order=lambda: ()
    )


@pytest.mark.parametrize("turned", [1, -1])
def test_as_seldom_as_is_said(turned: int) -> None:
    """A fair coin shows 30 times the same with probability 2^-29, which is more than once in 1e9,
    and 31 times with 2^-30, which is less: so many pairs make an order that follows the original
    table one that is refused, whichever way it runs.
    """
    for pairs, refused in ((30, False), (31, True)):
        original = np.arange(1, 2 * pairs + 1)[::turned]
        assert bool(order_faults(rows(2 * pairs), original)) is refused
        assert bool(order_faults(rows(2 * pairs + 1), np.append(original, 0))) is refused
    (told,) = order_faults(rows(62), np.arange(1, 63))
    assert told == (
        "the order is that of the original table: 31 of 31 pairs stand in one direction, which"
        " chance does less than once in 1,000,000,000 releases"
    )


@pytest.mark.parametrize(
    "values",
    [
        pl.Series(["b", None, "a", "b", ""]),
        pl.Series([None, None], dtype=pl.String),
        pl.Series([3, None, 5, -2]),
        pl.Series([10**18, -(10**18), None]),
        pl.Series([2**63 + 1, 2**63], dtype=pl.UInt64),
        pl.Series([-(2**63), None, 1 - 2**63]),
        pl.Series([date(2026, 1, 3), date(2025, 12, 31), None]),
        pl.Series([1.5, None, 0.2]),
        pl.Series([True, False, None]),
    ],
)
def test_ranks_ascend_as_values_do(values: pl.Series) -> None:
    """Whichever way they are found, ranks are in the order of values, and the missing one is 0."""
    ranks, slow = _rank(values), values.rank("dense").fill_null(0).to_list()
    assert sorted(set(zip(slow, ranks.tolist(), strict=True))) == list(
        zip(sorted(set(slow)), sorted(set(ranks.tolist())), strict=True)
    )
    assert set(ranks[values.is_null().to_numpy()].tolist()) <= {0} and ranks.min() >= 0
