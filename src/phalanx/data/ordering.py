# SPDX-License-Identifier: Apache-2.0
"""Orders of categories by how frequent they are, counted once and then written down as trees."""

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from phalanx.data.column import typed
from phalanx.data.hierarchies.hierarchy import ByFrequency, Hierarchy, Tree
from phalanx.data.schema import Schema
from phalanx.errors import SchemaError


def by_frequency(schema: Schema) -> list[str]:
    """The columns whose categories are to be ordered by frequency.

    Parameters
    ----------
    schema : Schema
        The roles, and hierarchies of some columns.

    Returns
    -------
    list[str]
        Their names.
    """
    return [name for name, h in schema.hierarchies.items() if isinstance(h, ByFrequency)]


def written_down(schema: Schema, frame: pl.DataFrame, before: Mapping[str, Hierarchy]) -> Schema:
    """The schema with each order by frequency written down.

    Parameters
    ----------
    schema : Schema
        The roles, and hierarchies of some columns.
    frame : pl.DataFrame
        The table, shape (n, …).
    before : Mapping[str, Hierarchy]
        What the release before published, by column; empty before the first.

    Returns
    -------
    Schema
        The same with a tree in the place of each order: in a later release that of the one before.

    Raises
    ------
    SchemaError
        Where such a column is no quasi-identifier, holds a value that the order does not name, or
        one that is called ``*``, as the root is.

    >>> schema = Schema(quasi=["town"], hierarchies={"town": ByFrequency()})
    >>> towns = pl.DataFrame({"town": ["a", "b", "b", "c"]})
    >>> written_down(schema, towns, {}).hierarchies["town"].leaves(towns["town"]).to_list()
    ['b', 'a', 'c']
    """
    trees: dict[str, Hierarchy] = {}
    for name in by_frequency(schema):
        if schema.role(name) != "quasi":
            raise SchemaError(
                f"column {name!r} is no quasi-identifier and is to be ordered by frequency; remove"
                " its order."
            )
        if name in frame.columns:  # else it is told where the table is encoded
            trees[name] = before[name] if name in before else counted(frame[name])
            _check_known(frame[name], trees[name])
    return replace(schema, hierarchies={**schema.hierarchies, **trees}) if trees else schema


def counted(values: pl.Series) -> Tree:
    """All categories of a column under one root, the most frequent first.

    Parameters
    ----------
    values : pl.Series
        Of all rows, shape (n,).

    Returns
    -------
    Tree
        The order.

    Raises
    ------
    SchemaError
        Where a category is called ``*``, as the root is, or there is none.
    """
    counts = _texts(values).alias("value").value_counts()
    counts = counts.sort(["count", "value"], descending=[True, False])
    return Tree.of_paths([[leaf, "*"] for leaf in counts["value"].to_list()])


def _texts(values: pl.Series) -> pl.Series:
    return typed(values, "categorical").cast(pl.String).drop_nulls()


def _check_known(values: pl.Series, order: Hierarchy) -> None:
    try:
        order.leaves(_texts(values).unique())
    except SchemaError:
        raise SchemaError(
            f"column {values.name!r} holds values that its order, counted in the first release, does"
            " not name; give the plan another series name, or map them."
        ) from None
