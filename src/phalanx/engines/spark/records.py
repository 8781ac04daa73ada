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

    types = {"long": pa.int64(), "int": pa.int32(), "binary": pa.binary(), "string": pa.string()}
    fields = [field.split() for field in schema.split(", ")]
    made = [
        pa.array(column, types[kind]) for (_, kind), column in zip(fields, columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(made, names=[name for name, _ in fields])
