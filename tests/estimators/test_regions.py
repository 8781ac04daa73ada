# SPDX-License-Identifier: Apache-2.0
"""What the values of an attribute are taken for, by how they are published."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from phalanx.estimators.models import maximized
from phalanx.estimators.regions import Line
from phalanx.estimators.view import Box
from phalanx.release.manifest import PublishedAttribute

PRICE = PublishedAttribute(name="price", role="quasi", type="numeric", columns=["price"])


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [(pl.Int64, "whole"), (pl.Float64, "number"), (pl.Decimal(38, 2), "number")],
    ids=str,
)
def test_a_number_is_taken_for_what_it_is(dtype, kind):
    """A decimal is no whole number: 2.50 is above 2, and one of 30 digits is no fault."""
    values = pl.Series([Decimal(2), Decimal(10) ** 18]).cast(dtype)
    line = Line(PRICE, [values])
    assert line.kind == kind
    assert list(line.keys(values)) == [2, 10**18]


def test_the_fraction_of_a_decimal_counts():
    """Cut off, 2.50 and 2.00 would be one value."""
    values = pl.Series([Decimal("2.50"), Decimal("2.00"), Decimal("1e30")], dtype=pl.Decimal(38, 2))
    assert list(Line(PRICE, [values]).keys(values)) == [2.5, 2.0, 1e30]


def test_a_value_beyond_all_others_leaves_figures_to_them() -> None:
    """Beside a region of 1e300, those of a narrow measure still have the rows that are theirs
    alone: each figure is a number, and boxes keep their rows.
    """
    none = np.zeros(3, dtype=bool)
    box = Box(np.array([0, 1, 3]), np.array([0, 2, 3]), none, none, np.arange(3))
    with np.errstate(all="raise", under="ignore"):
        share = maximized(
            box, np.array([4, 4, 4]), np.array([1.0, 0.0, 2.0, 1e300, 0.0]), ends=False
        )
    assert np.isfinite(share).all()
    assert [share[0], share[1:3].sum(), share[3]] == pytest.approx([1 / 3] * 3, rel=1e-3)
