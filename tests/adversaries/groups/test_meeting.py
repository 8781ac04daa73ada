# SPDX-License-Identifier: Apache-2.0
"""Pairs of boxes that meet, by halving."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.adversaries.groups import meeting


def pairs_of(found):
    """All pairs, in order."""
    return sorted(
        pair for some, boxes in found for pair in zip(some.tolist(), boxes.tolist(), strict=True)
    )


def boxes(rng, n):
    """Their ends, of codes below 9 on three attributes."""
    ends = np.sort(rng.integers(0, 9, (n, 3, 2)))
    return ends[..., 0], ends[..., 1]


@pytest.mark.parametrize("few", [1 << 16, 1])
@given(seed=st.integers(0, 2**32 - 1))
def test_halving_gives_what_comparing_all_does(few, seed):
    """Boxes that meet, and tuples within boxes, are those that a loop over all pairs finds."""
    rng = np.random.default_rng(seed)
    ours, (begin, end) = boxes(rng, int(rng.integers(0, 40))), boxes(rng, 30)
    codes = rng.integers(0, 9, (40, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meeting, "_FEW", few)
        met = pairs_of(meeting.meeting(ours, (begin, end)))
        held = pairs_of(meeting.containing(codes, begin, end))

    assert met == [
        (i, j)
        for i in range(len(ours[0]))
        for j in range(30)
        if all(max(ours[0][i, a], begin[j, a]) <= min(ours[1][i, a], end[j, a]) for a in range(3))
    ]
    assert held == [
        (i, j)
        for i in range(40)
        for j in range(30)
        if all(begin[j, a] <= codes[i, a] <= end[j, a] for a in range(3))
    ]


def test_many_pairs_are_compared_some_at_a_time(monkeypatch):
    """Boxes that all meet are not divided, and are given in pieces."""
    monkeypatch.setattr(meeting, "_FEW", 1)
    monkeypatch.setattr(meeting, "_AT_ONCE", 50)
    low, high = np.zeros((20, 2), dtype=np.int64), np.ones((20, 2), dtype=np.int64)

    found = list(meeting.meeting((low, high), (low, high)))

    assert [len(some) for some, _ in found] == [40] * 10
    assert pairs_of(found) == [(i, j) for i in range(20) for j in range(20)]
