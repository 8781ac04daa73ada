# SPDX-License-Identifier: Apache-2.0
"""What is looked at in a part of a release by itself."""

from types import SimpleNamespace

import polars as pl
import pytest

from phalanx.guarantees.parts import _strangers


def part(groups):
    """The second part of a release, of three groups, with these groups in its rows."""
    tables = {"data": pl.DataFrame({"group": groups}), "other": pl.DataFrame({"x": [7]})}
    form = SimpleNamespace(id_column="group", group_word="group", tables=lambda: tables)
    return SimpleNamespace(form=form, at=1, manifest=SimpleNamespace(groups=3))


@pytest.mark.parametrize(("groups", "rows"), [([1, 2, 3], 0), ([0, 1, 4, 4], 3), ([-1], 1)])
def test_rows_of_groups_of_another_part_are_counted(groups, rows):
    """A group stands in one part alone, and is numbered within it from 1."""
    said = list(_strangers(part(groups)))
    assert [f"part 2 has {rows} row(s)" in each for each in said] == [True] * bool(rows)


def test_what_is_no_number_is_another_checks_matter():
    """Groups that are no whole numbers are not compared with any."""
    assert list(_strangers(part(["a", "b"]))) == []
