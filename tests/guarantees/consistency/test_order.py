# SPDX-License-Identifier: Apache-2.0
"""From how many pairs on an order is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from phalanx.guarantees.consistency.order import order_faults


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
