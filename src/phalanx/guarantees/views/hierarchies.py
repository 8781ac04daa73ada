# SPDX-License-Identifier: Apache-2.0
"""Hierarchies as a manifest publishes them, read back: the order of the leaves and the nodes above
them.
"""

from typing import Any

import polars as pl

from phalanx.data.hierarchies.hierarchy import Bands, Hierarchy, Prefix, Tree
from phalanx.errors import ReleaseError, SchemaError


def hierarchy_of(public: dict[str, Any], name: str) -> Hierarchy:
    """The hierarchy that an attribute's manifest entry describes; ReleaseError where it describes
    none.
    """
    try:
        kind = public["kind"]
        if kind == "tree":
            return Tree.of_paths([[str(node) for node in path] for path in public["paths"]])
        if kind == "prefix":
            return Prefix(tuple(int(n) for n in public["lengths"]))
        if kind == "bands":
            return Bands(tuple(float(w) for w in public["widths"]))
    except (KeyError, TypeError, ValueError, ArithmeticError, SchemaError):
        pass
    raise ReleaseError(
        f"the hierarchy of {name!r} in the manifest is none that Phalanx knows; ask the publisher"
        " for the folder again."
    )


def leaves_of(hierarchy: Hierarchy, values: pl.Series) -> pl.Series:
    """The leaves in order, left to right, without the missing value; ReleaseError where a published
    value has no place among them.
    """
    try:
        return hierarchy.leaves(values.drop_nulls()).cast(values.dtype).alias(values.name)
    except (SchemaError, pl.exceptions.PolarsError):
        name = values.name
        raise ReleaseError(
            f"column {name!r} holds a value that the hierarchy in the manifest does not name; ask"
            " the publisher for the folder again."
        ) from None


def nodes_of(hierarchy: Hierarchy, leaves: pl.Series) -> pl.DataFrame:
    """One text column per level (the leaf first, the root last), one row per leaf; a missing value,
    if it is the first, stands under the root alone.
    """
    missing = len(leaves) > 0 and leaves[0] is None
    table = hierarchy.ancestors(leaves.drop_nulls())
    if not missing:
        return table
    alone = pl.DataFrame(
        {level: ["*" if level == table.columns[-1] else None] for level in table.columns},
        schema=table.schema,
    )
    return pl.concat([alone, table])
