# SPDX-License-Identifier: Apache-2.0
"""Which group of a release a person of a mapping is in."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.global_guarantee import Shown
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.members import group_by_group, place
from support.shown import releases_of

NONE = frozenset()


@pytest.mark.parametrize("ids", [(0, 1, 2), (0, 4, 9)])
def test_group_0_is_nobodys_even_where_it_is_published(ids: tuple[int, ...]) -> None:
    """Whoever a mapping puts into group 0 is in no group, also beside rows with that number."""
    (release,) = releases_of([Shown({g: [NONE, NONE] for g in ids}, {})])
    named = pl.Series([0, ids[1], ids[2], 3, None], dtype=pl.Int64)
    where, there = place(Groups.of(release), named)
    assert there.tolist() == [False, True, True, False, False]
    assert where[there].tolist() == [1, 2]


@given(st.lists(st.integers(0, 5), max_size=30))
def test_rows_stand_group_by_group(at: list[int]) -> None:
    """Those of a group as they stood."""
    rows = np.arange(len(at)) * 7
    ordered, of = group_by_group(rows, np.array(at, dtype=np.int64))
    assert ordered.tolist() == sorted(rows.tolist(), key=lambda row: at[row // 7])
    assert of.tolist() == sorted(at)
