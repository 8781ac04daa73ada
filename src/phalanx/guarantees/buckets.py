"""Sliced and bucketized releases: every bucket says the same number of tuples in all its columns, and nothing is published twice or out of place."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from phalanx.data.join_tree import join_tree
from phalanx.guarantees.groups import places
from phalanx.guarantees.intervals import fits, interval_faults
from phalanx.release.bucketized import Bucketized
from phalanx.release.form import Form
from phalanx.release.manifest import PublishedAttribute
from phalanx.release.sliced import BUCKET, COUNT, Sliced

_CELLS: Final = 1 << 22
"""Pairs of boxes that are compared at once."""


def bucket_faults(form: Form) -> Iterator[str]:
    """What is wrong with the buckets of a form without groups of intervals."""
    yield from _attribute_faults(form)
    if isinstance(form, Sliced):
        yield from _sliced_faults(form)
    elif isinstance(form, Bucketized):
        yield from _bucketized_faults(form)


def _attribute_faults(form: Form) -> Iterator[str]:
    if unfit := next((a.name for a in form.attributes if a.role == "keep"), None):
        yield f"{unfit!r} is kept as it is, which this form has no place for"
    if len(form.attribute("sensitive")) > 1:
        yield "there are several sensitive attributes"
    for attribute in form.attributes:
        most = 1 if attribute.role != "quasi" or isinstance(form, Bucketized) else 2 if attribute.hierarchy is None else 3
        least = 3 if most == 3 and len(attribute.columns) > 1 else 1
        if not least <= len(attribute.columns) <= most:
            yield f"{attribute.name!r} stands in {len(attribute.columns)} column(s), which are too many or too few"


def _table_faults(name: str, table: pl.DataFrame, attributes: Sequence[PublishedAttribute], *, counted: bool) -> Iterator[str]:
    """Faults of a table of a bucket column, attributes and, where it is ``counted``, counts."""
    for column in [BUCKET, COUNT] if counted else [BUCKET]:
        if not table[column].dtype.is_integer() or table[column].null_count():
            yield f"the {column} column of {name} does not hold whole numbers"
            return
    if counted and (table[COUNT] < 1).any():
        yield f"{int((table[COUNT] < 1).sum())} count(s) of {name} are not positive"
    if counted and (twice := table.height - table.drop(COUNT).n_unique()):
        yield f"{twice} row(s) of {name} count the same values of the same bucket again"
    for attribute in attributes:
        for column in attribute.columns[-2:]:
            if not fits(table[column], attribute):
                yield f"column {column!r} holds {table[column].dtype} and is declared {attribute.type}"
            elif table[column].dtype.is_float() and table[column].is_nan().any():
                yield f"column {column!r} holds NaN, which is no published value; a missing value is null"


def _sliced_faults(form: Sliced) -> Iterator[str]:
    by_name = {a.name: a for a in form.attributes}
    if form.attribute("sensitive") and any(
        (form.attribute("sensitive")[0].name in column) != (i == len(form.columns) - 1) for i, column in enumerate(form.columns)
    ):
        yield "the sensitive attribute does not stand in the last column alone"
    if join_tree(form.columns) is None:
        yield "the columns share attributes in a circle, so that what they say together cannot be checked"
    unfit = False
    for i, part in enumerate(form.given if form.compact else form.parts):
        held = [by_name[name] for name in form.columns[i]]
        faults = list(_table_faults(f"column {i + 1}", part, held, counted=True))
        unfit = unfit or bool(faults)
        yield from faults
        if not faults:
            yield from _box_faults(part, [a for a in held if len(a.columns) > 1])
    if unfit:
        return
    yield from _numbering_faults(form.sizes[BUCKET])
    for i, part in enumerate(form.parts[1:], start=2):
        sizes = part.group_by(BUCKET).agg(pl.col(COUNT).sum()).sort(BUCKET)
        if not sizes.equals(form.sizes):
            yield f"the buckets of column {i} have other sizes than those of column 1"
            return
    for i, column in enumerate(form.columns):
        for j in range(i + 1, len(form.columns)):
            if shared := [p for name in column if name in form.columns[j] for p in by_name[name].columns]:
                one, other = (form.parts[k].group_by(BUCKET, *shared).agg(pl.col(COUNT).sum()).sort(BUCKET, *shared) for k in (i, j))
                if not one.equals(other):
                    yield f"columns {i + 1} and {j + 1} share {', '.join(shared)} and do not say the same of it"


def _bucketized_faults(form: Bucketized) -> Iterator[str]:
    quasi, sensitive = form.attribute("quasi"), form.attribute("sensitive")
    faults = [*_table_faults("data", form.table, quasi, counted=False), *_table_faults("sensitive", form.values, sensitive, counted=True)]
    yield from faults
    if faults:
        return
    sizes = form.table.group_by(BUCKET).agg(pl.len().cast(pl.Int64).alias(COUNT)).sort(BUCKET)
    yield from _numbering_faults(sizes[BUCKET])
    beside = form.values.group_by(BUCKET).agg(pl.col(COUNT).cast(pl.Int64).sum()).sort(BUCKET)
    if not sizes.equals(beside):
        yield "the buckets of sensitive have other sizes than those of data"


def _numbering_faults(ids: pl.Series) -> Iterator[str]:
    if not np.array_equal(ids.cast(pl.Int64, strict=False).to_numpy(), np.arange(1, len(ids) + 1)):
        yield f"the buckets are not numbered 1 to {len(ids)}"


def _box_faults(part: pl.DataFrame, attributes: Sequence[PublishedAttribute]) -> Iterator[str]:
    """Generalized values of one column: sound intervals, and boxes that do not overlap, so that everybody has one value."""
    if not attributes:
        return
    boxes = part.select(c for a in attributes for c in a.columns).unique()
    faults = list(interval_faults(attributes, boxes))
    yield from faults
    if faults:
        return
    ends = [_ranks(boxes[a.columns[-2]], boxes[a.columns[-1]], a) for a in attributes]
    step = max(1, _CELLS // max(boxes.height, 1))
    overlapping = 0
    for start in range(0, boxes.height, step):
        together = np.ones((min(step, boxes.height - start), boxes.height), dtype=bool)
        for low, high in ends:
            together &= (low[start : start + step, None] <= high) & (low <= high[start : start + step, None])
        overlapping += int(together.sum()) - len(together)
    if overlapping:
        yield f"{overlapping // 2} pair(s) of intervals of {attributes[0].name!r} and what stands with it overlap, so that a person has two values"


def _ranks(low: pl.Series, high: pl.Series, attribute: PublishedAttribute) -> tuple[np.ndarray, np.ndarray]:
    """Ends as places in the order of the attribute; a missing low end is the lowest of all."""
    from phalanx.guarantees.intervals import in_order

    both = in_order(attribute, pl.concat([low.alias("end"), high.alias("end")]))
    _, rank = places(both)
    half = len(low)
    return rank[:half], rank[half:]
