# SPDX-License-Identifier: Apache-2.0
"""The ordered distance of groups that have few of a table's values: by the kernel, and by what it
means.
"""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive.mondrian import apart
from phalanx.kernels.rule import ORDERED, close, of_size, scratch_of, sums_of


def is_close(group, listed, table, m, t):
    """By the kernel, whether a group is within ``t`` of a table with ``m`` values; ``listed``: those
    of the group, and others.
    """
    totals = np.bincount(table, minlength=m).astype(np.int64)
    rule = of_size(1)._replace(
        distance=ORDERED,
        t_num=t.numerator,
        t_den=t.denominator,
        rows=len(table),
        totals=totals,
        sums=sums_of(totals),
    )
    counts = np.bincount(group, minlength=m).astype(np.int64)
    values = np.array(listed, dtype=np.int32)
    return bool(close(counts, values, len(listed), len(group), rule, scratch_of(m)))


@given(st.data(), st.integers(64, 160))
def test_few_values_are_as_far_as_the_distance_says(data, m):
    """Passing over the values between a group's own, in whatever order these are listed: the bound
    is met at the distance, and not one unit below; of values that no row has, too, as of leaves that
    are declared.
    """
    table = data.draw(st.lists(st.integers(0, m - 1), min_size=8, max_size=60))
    group = data.draw(st.lists(st.sampled_from(table[:3]), min_size=1, max_size=7))
    listed = data.draw(st.permutations(sorted(set(table[:3]))))
    distance = apart(group, table, "ordered", [()] * m)
    one = Fraction(1, (m - 1) * len(group) * len(table))
    assert is_close(group, listed, table, m, distance)
    assert distance == 0 or not is_close(group, listed, table, m, distance - one)


@given(st.data())
def test_many_values_are_as_far(data):
    """The same where a group has as many as stand between them."""
    table = data.draw(st.lists(st.integers(0, 9), min_size=2, max_size=30))
    group = data.draw(st.lists(st.sampled_from(table), min_size=1, max_size=9))
    m = max(table) + 1
    distance = apart(group, table, "ordered", [()] * m)
    one = Fraction(1, max(m - 1, 1) * len(group) * len(table))
    assert is_close(group, sorted(set(group)), table, m, distance)
    assert distance == 0 or not is_close(group, sorted(set(group)), table, m, distance - one)
