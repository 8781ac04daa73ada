# SPDX-License-Identifier: Apache-2.0
"""Orders of categories by frequency: counted once, and written down."""

import polars as pl
import pytest

from phalanx import ByFrequency, Schema, Tree
from phalanx.data.ordering import by_frequency, written_down
from phalanx.errors import SchemaError

SCHEMA = Schema(quasi=["town", "age"], sensitive="ill", hierarchies={"town": ByFrequency()})
TOWNS = ["York", "Bath", "York", "Ely", "Bath", "York", "Ayr"]


def frame(towns):
    return pl.DataFrame({"town": towns, "age": range(len(towns)), "ill": ["flu"] * len(towns)})


def test_the_most_frequent_comes_first_and_equal_ones_by_the_alphabet():
    """Whatever the order of the rows; a missing value is no category."""
    for towns in (TOWNS, TOWNS[::-1], [*TOWNS, None]):
        order = written_down(SCHEMA, frame(towns), {}).hierarchies["town"]
        assert order.leaves(pl.Series("town", ["York"])).to_list() == ["York", "Bath", "Ayr", "Ely"]
    assert by_frequency(SCHEMA) == ["town"]
    assert by_frequency(written_down(SCHEMA, frame(TOWNS), {})) == []


def test_sensitive_values_and_other_columns_have_no_part_in_it():
    """The same order, whatever stands beside it."""
    other = frame(TOWNS).with_columns(ill=pl.Series([f"v{i}" for i in range(7)]), age=7)
    assert written_down(SCHEMA, other, {}) == written_down(SCHEMA, frame(TOWNS), {})


def test_whole_numbers_are_categories_by_their_digits():
    """As everywhere where a column has a tree."""
    schema = Schema(quasi=["code"], hierarchies={"code": ByFrequency()})
    order = written_down(schema, pl.DataFrame({"code": [10, 9, 9]}), {}).hierarchies["code"]
    assert order.leaves(pl.Series("code", ["9"])).to_list() == ["9", "10"]


def test_a_later_release_keeps_the_order_that_was_published():
    """However frequent values are by then; a value that it does not name is refused, and not
    named.
    """
    before = {"town": Tree.of_paths([["Ely", "*"], ["York", "*"], ["Bath", "*"], ["Ayr", "*"]])}
    assert written_down(SCHEMA, frame(TOWNS), before).hierarchies["town"] == before["town"]
    with pytest.raises(SchemaError, match="'town' holds values that its order") as refusal:
        written_down(SCHEMA, frame([*TOWNS, "Rye"]), before)
    assert "Rye" not in str(refusal.value)


def test_only_quasi_identifiers_are_ordered_so():
    """An order by the sensitive values would tell of them."""
    schema = Schema(quasi=["town"], sensitive="ill", hierarchies={"ill": ByFrequency()})
    with pytest.raises(SchemaError, match="'ill' is no quasi-identifier"):
        written_down(schema, frame(TOWNS).drop("age"), {})


def test_an_order_that_was_not_counted_orders_nothing():
    """So that nothing is published by an order that readers are not told."""
    for ask in (ByFrequency().leaves, ByFrequency().ancestors):
        with pytest.raises(SchemaError, match="counted in a table in memory"):
            ask(pl.Series("town", TOWNS))
