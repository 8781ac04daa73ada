# SPDX-License-Identifier: Apache-2.0
"""Where runs of equal values begin."""

from datetime import date, timedelta

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from phalanx.guarantees.consistency.runs import begins

KINDS = [
    (pl.Int64, lambda n: n),
    (pl.UInt8, lambda n: n),
    (pl.Float64, lambda n: n / 4),
    (pl.String, str),
    (pl.Boolean, lambda n: n % 2 == 1),
    (pl.Date, lambda n: date(2026, 1, 1) + timedelta(n)),
]


@given(st.sampled_from(KINDS), st.lists(st.none() | st.integers(0, 3), max_size=30))
def test_a_run_begins_where_the_value_before_is_another(kind, numbers):
    """Of whole numbers, dates and all else; a missing value is one of its own, also in front."""
    dtype, of = kind
    values = [None if n is None else of(n) for n in numbers]
    expected = [i == 0 or values[i] != values[i - 1] for i in range(len(values))]
    assert begins(pl.Series(values, dtype=dtype)).tolist() == expected
