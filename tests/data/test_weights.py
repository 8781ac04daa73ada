# SPDX-License-Identifier: Apache-2.0
"""Survey weights as they are read, and the means that are published of them."""

import datetime as dt
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import phalanx as px
from phalanx.data.microdata import Microdata
from phalanx.data.weights import DIGITS, encode_weights, group_means, half_units, rounded
from phalanx.errors import SchemaError, SourceError

WEIGHT = st.floats(1e-3, 1e9)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (-7.25, "the weight 'w' is negative in 2 of 4 rows"),
        (0.0, "the weight 'w' is zero in 2 of 4 rows"),
        (None, "the weight 'w' is missing in 2 of 4 rows"),
        (float("nan"), "the weight 'w' is missing in 2 of 4 rows"),
        (float("inf"), "the weight 'w' is infinite in 2 of 4 rows"),
        (-float("inf"), "the weight 'w' is infinite in 2 of 4 rows"),
        (7.25e20, "the weight 'w' is above 10^15 in 2 of 4 rows"),
    ],
)
def test_weights_that_no_row_may_have_are_refused(first, said):
    """In one sentence that names the column and how many rows, and neither a value nor a row; also
    where the schema takes missing values for values.
    """
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "w": [first, 1.5, 2.5, first]})
    with pytest.raises(SourceError) as error:
        Microdata.encode(frame, px.Schema(quasi=["age"], weight="w", missing="value"))
    assert str(error.value).startswith(said) and str(error.value).count(". ") == 0
    assert "7.25" not in str(error.value) and str(error.value).endswith("leave them out there.")


@pytest.mark.parametrize(
    "values",
    [["heavy", "light"], [True, False], [dt.date(2020, 1, 1)] * 2, [[1.0], [2.0]]],
    ids=["texts", "booleans", "dates", "lists"],
)
def test_what_is_no_number_is_no_weight(values):
    """One sentence that names the column, and no value."""
    frame = pl.DataFrame({"age": [1, 2], "w": values})
    with pytest.raises(SchemaError, match="'w'") as error:
        Microdata.encode(frame, px.Schema(quasi=["age"], weight="w"))
    assert "heavy" not in str(error.value) and str(error.value).count(". ") == 0


def test_numbers_written_as_texts_and_whole_numbers_are_weights():
    """As a CSV file or a database may have them."""
    assert encode_weights(pl.Series("w", ["1", "2.5"])).tolist() == [1.0, 2.5]
    assert encode_weights(pl.Series("w", [1, 3])).tolist() == [1.0, 3.0]
    assert encode_weights(pl.Series("w", ["1.50", "2"]).cast(pl.Decimal(10, 2))).tolist() == [
        1.5,
        2.0,
    ]


@pytest.mark.parametrize(
    "stated",
    [
        {"quasi": ["age", "w"]},
        {"sensitive": "w"},
        {"weight": ""},
        {"weight": ["w"]},
        {"types": {"w": "categorical"}},
        {"missing": {"w": "value"}},
        {"hierarchies": {"w": px.Bands([10])}},
    ],
    ids=str,
)
def test_a_weight_has_one_role_and_no_settings(stated):
    """One sentence, and what to do."""
    with pytest.raises(SchemaError, match=r"weight|'w'") as error:
        px.Schema(**({"quasi": ["age"], "weight": "w"} | stated))
    assert str(error.value).count(". ") == 0


def test_weights_follow_their_rows():
    """Rows that are taken in another order keep their weight."""
    frame = pl.DataFrame({"age": [1, 2, 3], "w": [1.0, 2.0, 4.0]})
    microdata = Microdata.encode(frame, px.Schema(quasi=["age"], weight="w"))
    assert microdata.take(np.array([2, 0])).weights.tolist() == [4.0, 1.0]


@given(st.lists(st.tuples(st.integers(0, 3), WEIGHT), min_size=1, max_size=30), st.randoms())
def test_means_are_those_of_the_groups_whatever_the_order(rows, random):
    """Beside exact fractions: a published mean is within half a unit of its last digit, has no more
    digits than are stated, and is the same in whatever order the rows stand.
    """
    group, weight = (np.array(side) for side in zip(*rows, strict=True))
    means = group_means(weight, group, 4)
    for g in range(4):
        own = [Fraction(w) for h, w in rows if h == g]
        if not own:
            assert np.isnan(means[g])
            continue
        exact = sum(own) / len(own)
        (published,), (half,) = rounded(means[g : g + 1]), half_units(rounded(means[g : g + 1]))
        assert abs(Fraction(float(published)) - exact) <= Fraction(float(half)) * (
            1 + Fraction(1, 10**9)
        )
        assert len(f"{published:.15g}".split("e")[0].replace(".", "").strip("0")) <= DIGITS
    order = list(range(len(rows)))
    random.shuffle(order)
    assert np.array_equal(group_means(weight[order], group[order], 4), means, equal_nan=True)


def test_half_a_unit_is_of_the_last_digit():
    """Wherever the decimal point stands, also at a power of ten."""
    assert half_units(np.array([1000.0, 9999.0, 1.0, 0.01])).tolist() == [0.5, 0.5, 0.0005, 5e-6]
