# SPDX-License-Identifier: Apache-2.0
"""Numbers of households: who is together, and nothing else of them."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.data.households import households_of
from phalanx.data.microdata import Microdata
from phalanx.data.schema import Schema
from phalanx.errors import SchemaError, SourceError

SCHEMA = Schema(cluster="home", quasi=["age"])


@given(st.lists(st.integers(-5, 5) | st.integers(2**40, 2**40 + 2), min_size=1))
def test_rows_are_together_that_have_one_number(numbers):
    """As numbers, as texts, and as texts with blanks around them."""
    for column in (
        pl.Series("home", numbers),
        pl.Series("home", [f"h{n}" for n in numbers]),
        pl.Series("home", [f"{' ' * (i % 3)}h{n} " for i, n in enumerate(numbers)]),
    ):
        found = households_of(column).tolist()
        assert sorted(set(found)) == list(range(len(set(numbers))))
        for i, n in enumerate(numbers):
            assert [f == found[i] for f in found] == [m == n for m in numbers]


@pytest.mark.parametrize("gap", [[1, None], ["a", ""], ["a", "  "], [1.0, float("nan")]])
def test_a_row_without_a_household_is_refused(gap):
    """One sentence, with what to do; also where missing values count elsewhere."""
    frame = pl.DataFrame({"home": gap, "age": [1, 2]}, strict=False)
    with pytest.raises(SourceError, match=r"cluster column 'home' is missing in 1 of 2 rows; give"):
        Microdata.encode(frame, Schema(cluster="home", quasi=["age"], missing="value"))


def test_rows_that_are_taken_keep_their_household():
    """And the number itself stays outside."""
    frame = pl.DataFrame({"home": ["x", "y", "x"], "age": [1, 2, 3]})
    microdata = Microdata.encode(frame, SCHEMA)
    assert microdata.households.tolist() == [0, 1, 0]
    assert microdata.take([2, 1]).households.tolist() == [0, 1]
    assert set(microdata.columns) == {"age"} and microdata.kept.width == 0
    assert Microdata.encode(frame.drop("home"), Schema(quasi=["age"])).households is None


def test_a_cluster_is_one_column():
    """A list, a second role and a column that is not there are refused."""
    for wrong in (["home"], 7, ""):
        with pytest.raises(SchemaError, match=r"'cluster' is .* must be the name of one column"):
            Schema(cluster=wrong, quasi=["age"])
    with pytest.raises(SchemaError, match="both cluster and quasi"):
        Schema(cluster="age", quasi=["age"])
    with pytest.raises(SchemaError, match="the cluster column 'home' is not in the table"):
        Microdata.encode(pl.DataFrame({"age": [1]}), SCHEMA)
