# SPDX-License-Identifier: Apache-2.0
"""What the values of an attribute are taken for, by how they are published."""

from decimal import Decimal

import polars as pl
import pytest

from phalanx.estimators.regions import Line
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
