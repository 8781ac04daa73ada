# SPDX-License-Identifier: Apache-2.0
"""Survey weights, which others may know: their mean says of a group who is in it, where that is not
known already, for few sets of persons have one mean.

So weights are for methods whose guarantee holds against an adversary who knows of every group who
is in it. It then holds whatever is told that follows from groups and weights alone.
"""

from phalanx.data.schema import Schema
from phalanx.errors import SchemaError
from phalanx.methods.base import Method


def check_takes_weight(method: Method, schema: Schema) -> None:
    """SchemaError where a weight is declared, and the method is not for weights
    (``takes_weight``).
    """
    if schema.weight is not None and not getattr(method, "takes_weight", False):
        raise SchemaError(
            f"column {schema.weight!r} is declared weight, and {method.name} does not weigh rows;"
            " use mondrian, or drop the column and say that answers are of the sample."
        )
