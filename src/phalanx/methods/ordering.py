# SPDX-License-Identifier: Apache-2.0
"""Orders of categories by frequency, for methods whose promise does not cover how frequent they are."""

from phalanx.data.ordering import by_frequency
from phalanx.data.schema import Schema
from phalanx.errors import SchemaError
from phalanx.methods.base import Method


def check_takes(method: Method, schema: Schema, *, in_memory: bool = True) -> None:
    """SchemaError where an order by frequency is declared, and the method does not publish
    intervals whose order may follow from the table (``takes_order_by_frequency``), or may suppress
    rows, whose values would be named and counted, or nothing of the table is counted before it is
    published.
    """
    columns = by_frequency(schema)
    if columns and not getattr(method, "takes_order_by_frequency", False):
        raise SchemaError(
            f"column {columns[0]!r} is to be ordered by frequency, which {method.name} does not take;"
            " remove its order, or write its values into a tree."
        )
    if wide := [name for name in columns if name in getattr(method, "min_width", {})]:
        raise SchemaError(
            f"column {wide[0]!r} is to be ordered by frequency and has a least width, whose grid must"
            " not depend on the table; remove one of the two."
        )
    if columns and method.may_suppress:
        raise SchemaError(
            f"column {columns[0]!r} is to be ordered by frequency, which would name values of suppressed"
            " rows; write its values into a tree, or suppress none."
        )
    if columns and not in_memory:
        raise SchemaError(
            f"column {columns[0]!r} is to be ordered by frequency, which is counted in memory; write its"
            " values into a tree."
        )
