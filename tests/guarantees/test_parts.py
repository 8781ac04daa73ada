# SPDX-License-Identifier: Apache-2.0
"""What is looked at in a part of a release by itself."""

from types import SimpleNamespace

import polars as pl
import pytest

from phalanx.guarantees.parts import _strangers


def part(groups, many=3):
    """The second part of a release, of so many groups, with these groups in its rows."""
    tables = {"data": pl.DataFrame({"group": groups}), "other": pl.DataFrame({"x": [7]})}
    form = SimpleNamespace(id_column="group", group_word="group", tables=lambda: tables)
    return SimpleNamespace(form=form, at=1, manifest=SimpleNamespace(groups=many))


@pytest.mark.parametrize(("groups", "rows"), [([1, 2, 3], 0), ([0, 1, 4, 4], 3), ([-1], 1)])
def test_rows_of_groups_of_another_part_are_counted(groups, rows):
    """A group stands in one part alone, and is numbered within it from 1."""
    said = list(_strangers(part(groups)))
    assert [f"part 2 has {rows} row(s)" in each for each in said] == [True] * bool(rows)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.Int16, pl.Int64, pl.UInt64])
def test_numbers_of_few_bits_are_compared(dtype):
    """Also where a part has more groups than they reach."""
    assert list(_strangers(part(pl.Series([1, 100], dtype=dtype), many=100_000))) == []
    (said,) = _strangers(part(pl.Series([0, 100], dtype=dtype), many=100_000))
    assert "has 1 row(s)" in said


def test_what_is_no_number_is_another_checks_matter():
    """Groups that are no whole numbers are not compared with any."""
    assert list(_strangers(part(["a", "b"]))) == []
