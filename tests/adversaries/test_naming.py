# SPDX-License-Identifier: Apache-2.0
"""Who names the most probable of what is possible is right as often as counting by hand says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.adversaries.naming import ROUNDING, named_rightly

POSSIBLE = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(1, 3)),
    max_size=12,
)


def by_hand(entries, own, kind):
    """Among all that are as probable as the most probable one, if anything is."""
    p = [p for of, p, many in entries for _ in range(many) if of == kind]
    most = max(p, default=0)
    if own < 0 or not most or entries[own][1] < most:
        return 0
    return 1 / p.count(most)


@given(POSSIBLE, st.data())
def test_it_is_as_by_hand(entries, data):
    """Whether several are equally probable, none is, or the own one is not possible."""
    own = [
        data.draw(st.sampled_from([-1, *(i for i, e in enumerate(entries) if e[0] == k)]))
        for k in range(5)
    ]
    kind, p, many = (
        np.array(side, dtype=t)
        for side, t in zip(
            zip(*entries, strict=True) if entries else [[]] * 3,
            (np.int64, float, np.int64),
            strict=True,
        )
    )
    found = named_rightly(kind, p, np.array(own), np.arange(5), many)
    assert found.tolist() == pytest.approx([by_hand(entries, own[k], k) for k in range(5)])


def test_what_rounding_tells_apart_is_equal():
    """Two whose probabilities differ by less than rounding costs are named alike."""
    p = np.array([0.5, 0.5 * (1 - ROUNDING / 2), 0.5 * (1 - 2 * ROUNDING)])
    who, kinds = np.zeros(3, dtype=np.int64), np.zeros(1, dtype=np.int64)
    assert [named_rightly(who, p, np.array([i]), kinds)[0] for i in range(3)] == [0.5, 0.5, 0]
