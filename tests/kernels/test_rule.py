# SPDX-License-Identifier: Apache-2.0
"""The ordered distance of groups that have few of a table's values: by the kernel, and by what it
means.
"""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive.mondrian import apart
from phalanx.kernels.rule import ORDERED, TREE, close, of_size, scratch_of, sums_of

MOST = 2**31 - 1
"""As many rows as a table within t may have, and the largest part of a kernel's fraction."""


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


def nearest(distance):
    """Fractions that fit the kernel, below ``distance`` and not below it, all as near as can be."""
    near = distance.limit_denominator(MOST)
    return {
        near,
        Fraction(max(near.numerator - 1, 0), near.denominator),
        min(near + Fraction(1, MOST), Fraction(1)).limit_denominator(MOST),
    }


@given(st.data(), st.sampled_from(("few listed", "many listed", "tree")))
def test_two_thousand_million_rows_are_decided_exactly(data, way):
    """Where rows times rows times values pass 64 bits, the nearest fractions on both sides of the
    distance are still told apart.
    """
    m = data.draw(st.integers(2, 40))
    many = st.one_of(st.integers(1, MOST // m), st.just(MOST // m), st.just(1))
    totals = data.draw(st.lists(many, min_size=m, max_size=m))
    own = data.draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=3, unique=True))
    counts = [0] * m
    for value in own:
        counts[value] = data.draw(st.one_of(st.integers(1, totals[value]), st.just(totals[value])))
    rows, size = sum(totals), sum(counts)
    surplus = [Fraction(a, size) - Fraction(b, rows) for a, b in zip(counts, totals, strict=True)]
    if way == "tree":
        distance = sum(map(abs, surplus)) / 2
    else:
        distance = sum(abs(sum(surplus[: i + 1])) for i in range(m)) / (m - 1)
    unused = 20 * m if way == "few listed" else 0  # of the same distance, after all others
    distance *= Fraction(m - 1, m + unused - 1) if unused else 1
    totals, counts = (np.array(x + [0] * unused, dtype=np.int64) for x in (totals, counts))
    listed = np.array(own if way != "many listed" else range(m), dtype=np.int32)
    nodes = np.arange(len(totals), dtype=np.int32)[None, :]
    for t in nearest(distance):
        rule = of_size(1)._replace(
            distance=TREE if way == "tree" else ORDERED,
            t_num=t.numerator,
            t_den=t.denominator,
            rows=rows,
            totals=totals,
            nodes=nodes,
            node_totals=totals[None, :],
            sums=sums_of(totals),
        )
        holds = close(counts, listed, len(listed), size, rule, scratch_of(len(totals)))
        assert bool(holds) == (distance <= t)
