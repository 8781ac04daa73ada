# SPDX-License-Identifier: Apache-2.0
"""What workers and this process tell each other: records of a few columns, as Spark declares them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


def record(schema: str, *values: Any) -> "pa.RecordBatch":
    """One record, as a schema says, of which the columns are in turn.

    >>> record("at int, fault string", 3, None).to_pylist()
    [{'at': 3, 'fault': None}]
    """
    return records(schema, *([value] for value in values))


def records(schema: str, *columns: Sequence[Any]) -> "pa.RecordBatch":
    """Some records, by their columns."""
    import pyarrow as pa

    fields = schema_of(schema)
    made = [pa.array(column, field.type) for field, column in zip(fields, columns, strict=True)]
    return pa.RecordBatch.from_arrays(made, schema=fields)


def schema_of(schema: str) -> "pa.Schema":
    """The types of Arrow that a schema of Spark names."""
    import pyarrow as pa

    types = {"long": pa.int64(), "int": pa.int32(), "binary": pa.binary(), "string": pa.string()}
    fields = [field.split() for field in schema.split(", ")]
    return pa.schema([(name, types[kind]) for name, kind in fields])
