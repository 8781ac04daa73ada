# SPDX-License-Identifier: Apache-2.0
"""Sliced and bucketized releases: every bucket says the same number of tuples in all its columns,
and nothing is published twice or out of place.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import polars as pl

from phalanx.data.join_tree import join_tree
from phalanx.guarantees.consistency.intervals import both_ends, fits, in_order, interval_faults
from phalanx.guarantees.views.box_search import any_meet
from phalanx.guarantees.views.groups import places
from phalanx.release.form import Form
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.sliced import BUCKET, COUNT, Sliced
from phalanx.release.manifest import PublishedAttribute

_AT_ONCE: Final = 1 << 20
"""The buckets of so many rows are looked at together."""
_MOST: Final = 2**53
"""More tuples than this are in no table; up to it, sums of counts are exact in whichever way they
are added.
"""


def sliced_faults(form: Sliced, *, numbered: bool = True) -> Sequence[str]:
    """What is wrong with the buckets of a sliced form; ``numbered``: whether they must be numbered
    one after the other.
    """
    return list(_attribute_faults(form)) or list(_sliced_faults(form, numbered=numbered))


def bucketized_faults(form: Bucketized, *, numbered: bool = True) -> Sequence[str]:
    """The same of a bucketized form."""
    faults = list(_attribute_faults(form, boxes=False))
    return faults or list(_bucketized_faults(form, numbered=numbered))


def _attribute_faults(form: Form, *, boxes: bool = True) -> Iterator[str]:
    if unfit := next((a for a in form.attributes if a.role in ("keep", "weight")), None):
        kept = "kept as it is" if unfit.role == "keep" else "a weight"
        yield f"{unfit.name!r} is {kept}, which this form has no place for"
    if len(form.attribute("sensitive")) > 1:
        yield "there are several sensitive attributes"
    for attribute in form.attributes:
        most = (
            1 if attribute.role != "quasi" or not boxes else 2 if attribute.hierarchy is None else 3
        )
        least = 3 if most == 3 and len(attribute.columns) > 1 else 1
        if not least <= len(attribute.columns) <= most:
            yield (
                f"{attribute.name!r} stands in {len(attribute.columns)} column(s), which are too"
                " many or too few"
            )
        if attribute.type == "set" and attribute.role != "sensitive":
            yield f"{attribute.name!r} is declared a set, which only a sensitive attribute may be"


def _table_faults(
    name: str,
    table: pl.DataFrame,
    placed: Sequence[tuple[PublishedAttribute, Sequence[str]]],
    *,
    counted: bool,
) -> Iterator[str]:
    """Faults of a table of a bucket column, attributes with the columns that they stand in, and,
    where it is ``counted``, counts.
    """
    for column in [BUCKET, COUNT] if counted else [BUCKET]:
        if not table[column].dtype.is_integer() or table[column].null_count():
            yield f"the {column} column of {name} does not hold whole numbers"
            return
    if counted and (table[COUNT] < 1).any():
        yield f"{int((table[COUNT] < 1).sum())} count(s) of {name} are not positive"
    if counted and table[COUNT].cast(pl.Float64).sum() > _MOST:
        yield f"the counts of {name} add up to more tuples than any table has"
    sound = True
    for attribute, columns in placed:
        for column in columns:
            of_nodes = len(columns) == 3 and column == columns[0]
            if not (
                table[column].dtype == pl.String if of_nodes else fits(table[column], attribute)
            ):
                yield (
                    f"column {column!r} holds {table[column].dtype} and is declared"
                    f" {'nodes' if of_nodes else attribute.type}"
                )
                sound = False
            elif table[column].dtype.is_float() and not table[column].is_finite().all():
                yield (
                    f"column {column!r} holds NaN or an infinite number, which no person has; a"
                    " missing value is null"
                )
                sound = False
    if sound and counted and (twice := _again(table)):
        yield f"{twice} row(s) of {name} count the same values of the same bucket again"


def _again(table: pl.DataFrame) -> int:
    """How many rows say of the same bucket what another one does; some buckets after the other,
    where rows are in their order.
    """
    bucket, values, cuts = table[BUCKET], table.drop(COUNT), []
    if bucket.is_sorted():
        ids = bucket.to_numpy()
        cuts = np.searchsorted(ids, ids[_AT_ONCE::_AT_ONCE]).tolist()
    return sum(
        end - at - values[at:end].n_unique() for at, end in pairwise([0, *cuts, table.height])
    )


def _sliced_faults(form: Sliced, *, numbered: bool) -> Iterator[str]:
    by_name = {a.name: a for a in form.attributes}
    if form.attribute("sensitive") and any(
        (form.attribute("sensitive")[0].name in column) != (i == len(form.columns) - 1)
        for i, column in enumerate(form.columns)
    ):
        yield "the sensitive attribute does not stand in the last column alone"
    if join_tree(form.columns) is None:
        yield (
            "the columns share attributes in a circle, so that what they say together cannot be"
            " checked"
        )
    placed = [
        _placed([by_name[name] for name in column], form.written(i))
        for i, column in enumerate(form.columns)
    ]
    if form.compact:
        faults = [
            fault
            for i, part in enumerate(form.given)
            for fault in _table_faults(f"column {i + 1}", part, placed[i], counted=True)
        ]
    else:
        faults = list(
            _table_faults(
                "data", form.given[0], [one for column in placed for one in column], counted=False
            )
        )
    yield from faults
    if faults:
        return
    for i, part in enumerate(form.parts):
        yield from _box_faults(
            part, [by_name[name] for name in form.columns[i] if len(by_name[name].columns) > 1]
        )
    if numbered:
        yield from _numbering_faults(form.sizes[BUCKET])
    for i, part in enumerate(form.parts[1:], start=2):
        if not _same(_counts(part, [BUCKET]), _counts(form.parts[0], [BUCKET])):
            yield f"the buckets of column {i} have other sizes than those of column 1"
            return
    for i, column in enumerate(form.columns):
        for j in range(i + 1, len(form.columns)):
            shared = [
                p for name in column if name in form.columns[j] for p in by_name[name].columns
            ]
            if shared and not _same(*(_counts(form.parts[k], [BUCKET, *shared]) for k in (i, j))):
                yield (
                    f"columns {i + 1} and {j + 1} share {', '.join(shared)} and do not say the same"
                    " of it"
                )


def _placed(
    attributes: Sequence[PublishedAttribute], columns: Sequence[str]
) -> list[tuple[PublishedAttribute, Sequence[str]]]:
    """Attributes with the columns of a table that they stand in, which are theirs in order."""
    ends = np.cumsum([len(a.columns) for a in attributes]).tolist()
    return [
        (a, columns[end - len(a.columns) : end]) for a, end in zip(attributes, ends, strict=True)
    ]


def _counts(part: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """How many tuples have each combination of values of some columns, ascending; whole numbers in
    64 bits.
    """
    return (
        part.group_by(names)
        .agg(pl.col(COUNT).cast(pl.Int64).sum())
        .sort(names)
        .with_columns(pl.col(BUCKET).cast(pl.Int64, strict=False))
    )


def _same(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Whether two tables hold the same values, be they of the same width or not."""
    typed = pl.concat([one.head(0), other.head(0)], how="vertical_relaxed").schema
    return one.cast(typed).equals(other.cast(typed))


def _bucketized_faults(form: Bucketized, *, numbered: bool) -> Iterator[str]:
    quasi, sensitive = form.attribute("quasi"), form.attribute("sensitive")
    tables = [("data", form.table, quasi), ("sensitive", form.values, sensitive)]
    faults = [
        fault
        for name, table, placed in tables
        for fault in _table_faults(
            name, table, [(a, a.columns) for a in placed], counted=name != "data"
        )
    ]
    yield from faults
    if faults:
        return
    sizes = _counts(form.table.select(BUCKET, pl.lit(1).alias(COUNT)), [BUCKET])
    if numbered:
        yield from _numbering_faults(sizes[BUCKET])
    if not _same(sizes, _counts(form.values, [BUCKET])):
        yield "the buckets of sensitive have other sizes than those of data"


def _numbering_faults(ids: pl.Series) -> Iterator[str]:
    if not np.array_equal(ids.cast(pl.Int64, strict=False).to_numpy(), np.arange(1, len(ids) + 1)):
        yield f"the buckets are not numbered 1 to {len(ids)}"


def _box_faults(part: pl.DataFrame, attributes: Sequence[PublishedAttribute]) -> Iterator[str]:
    """Generalized values of one column: sound intervals, and boxes that do not overlap, so that
    each person has one value.
    """
    if not attributes:
        return
    boxes = part.select(c for a in attributes for c in a.columns).unique()
    faults = list(interval_faults(attributes, boxes))
    yield from faults
    if faults:
        return
    ranks = [_ranks(boxes[a.columns[-2]], boxes[a.columns[-1]], a) for a in attributes]
    if any_meet(*(np.stack(ends, axis=1) for ends in zip(*ranks, strict=True))):
        yield (
            f"some intervals of {attributes[0].name!r} and what stands with it overlap, so that a"
            " person has two values"
        )


def _ranks(
    low: pl.Series, high: pl.Series, attribute: PublishedAttribute
) -> tuple[np.ndarray, np.ndarray]:
    """Ends as places in the order of the attribute; a missing low end is the lowest of all."""
    _, rank = places(in_order(attribute, both_ends(low, high)))
    return rank[: len(low)], rank[len(low) :]
