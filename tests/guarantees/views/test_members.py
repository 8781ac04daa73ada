# SPDX-License-Identifier: Apache-2.0
"""Which group of a release a person of a mapping is in."""

import polars as pl
import pytest

from naive.global_guarantee import Shown
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.members import place
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
