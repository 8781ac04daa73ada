# SPDX-License-Identifier: Apache-2.0
"""What published columns hold, by what the manifest declares: their types, and intervals whose ends
and nodes fit together.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from phalanx.data import sets
from phalanx.data.hierarchies.hierarchy import Hierarchy, Tree
from phalanx.errors import ReleaseError, SchemaError
from phalanx.guarantees.views.hierarchies import hierarchy_of, leaves_of
from phalanx.release.manifest import PublishedAttribute


def fits(column: pl.Series, attribute: PublishedAttribute) -> bool:
    """Whether a published column holds what its attribute is declared to be."""
    dtype = column.dtype
    if column.null_count() == len(column):
        return True
    if attribute.role == "keep":
        return dtype not in (pl.Categorical, pl.Enum) and not dtype.is_nested()
    if attribute.type == "numeric":
        return dtype.is_numeric()
    if attribute.type == "date":
        return dtype == pl.Date
    return dtype == pl.String or (
        attribute.role == "sensitive" and attribute.type != "set" and dtype.is_integer()
    )


def set_faults(column: pl.Series, attribute: PublishedAttribute) -> Iterator[str]:
    """Sets that are no sensitive values, or not written as Phalanx writes them; nothing where the
    attribute holds none.
    """
    if attribute.type != "set":
        return
    if attribute.role != "sensitive" or attribute.hierarchy is not None:
        yield (
            f"{attribute.name!r} is declared a set, which only a sensitive attribute without a"
            " hierarchy may be"
        )
    elif column.dtype == pl.String:
        different = column.unique()
        if loose := int((sets.canonical(different) != different).sum()):
            yield (
                f"{loose} set(s) of {attribute.name!r} are not written as different values in order"
                f" with {sets.SEPARATOR!r} between them"
            )


def interval_faults(
    attributes: Sequence[PublishedAttribute], all_boxes: pl.DataFrame
) -> Iterator[str]:
    """Ends that are missing or crossed, and nodes that do not cover their interval; ``all_boxes``
    holds the columns of generalized attributes.
    """
    for attribute in attributes:
        boxes = all_boxes.select(attribute.columns).unique()
        low, high = boxes[attribute.columns[-2]], boxes[attribute.columns[-1]]
        if any(end.dtype.is_float() and end.is_infinite().any() for end in (low, high)):
            yield f"an interval of {attribute.name!r} is infinite"
            continue
        if half := int((high.is_null() & low.is_not_null()).sum()):
            yield f"{half} interval(s) of {attribute.name!r} have a low end and no high end"
        try:
            ends = in_order(attribute, both_ends(low, high))
            if crossed := int((ends[: len(low)] > ends[len(low) :]).sum()):
                yield f"{crossed} interval(s) of {attribute.name!r} end before they begin"
            if attribute.hierarchy is not None and (
                outside := _uncovered(
                    attribute, hierarchy_of(attribute.hierarchy, attribute.name), boxes
                )
            ):
                yield f"{outside} node(s) of {attribute.name!r} do not cover their interval"
        except ReleaseError as error:
            yield str(error)


def both_ends(low: pl.Series, high: pl.Series) -> pl.Series:
    """The low ends and then the high ends, in one type; text where one side is missing in every row
    of a CSV file, which then has no type of its own.
    """
    return pl.concat([low.to_frame("end"), high.to_frame("end")], how="vertical_relaxed")[
        "end"
    ].alias(low.name)


def in_order(attribute: PublishedAttribute, ends: pl.Series) -> pl.Series:
    """The ends as something that sorts in the attribute's order; missing stays missing."""
    if attribute.hierarchy is None:
        return ends
    hierarchy = hierarchy_of(attribute.hierarchy, attribute.name)
    if not isinstance(hierarchy, Tree):
        return ends
    leaves = leaves_of(hierarchy, ends.alias(attribute.name)).to_list()
    return ends.replace_strict(leaves, range(len(leaves)), default=None, return_dtype=pl.Int64)


def _uncovered(attribute: PublishedAttribute, hierarchy: Hierarchy, boxes: pl.DataFrame) -> int:
    """How many published nodes are no common ancestor of both ends; a missing end stands under the
    root alone.
    """
    node, low, high = (boxes[c] for c in attribute.columns)
    ends = both_ends(low, high).drop_nulls().unique().sort()
    leaves = leaves_of(hierarchy, ends.alias(attribute.name))
    try:
        above = hierarchy.ancestors(leaves).rows()
    except (ValueError, SchemaError, pl.exceptions.PolarsError):
        raise ReleaseError(
            f"the hierarchy of {attribute.name!r} in the manifest is not one of its values; ask the"
            " publisher for the folder again."
        ) from None
    paths: dict[Any, tuple[str, ...]] = dict(zip(leaves.to_list(), above, strict=True))

    def covers(name: str | None, a: Any, b: Any) -> bool:
        if a is None or b is None:
            return name == "*"
        return any(x == name == y for x, y in zip(paths[a], paths[b], strict=True))

    return sum(
        not covers(*row) for row in zip(node.to_list(), low.to_list(), high.to_list(), strict=True)
    )
