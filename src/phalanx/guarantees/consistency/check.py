# SPDX-License-Identifier: Apache-2.0
"""Consistency: a release says one thing, in all its files, and follows on the one before it. Always
checked.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import numpy as np
import polars as pl

from phalanx.errors import PlanError, ReleaseError
from phalanx.exact import exact
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.consistency.files import file_faults, hidden
from phalanx.guarantees.consistency.forms import form_faults
from phalanx.guarantees.consistency.intervals import fits, interval_faults, set_faults
from phalanx.guarantees.consistency.kept import kept_faults
from phalanx.guarantees.consistency.method import method_faults
from phalanx.guarantees.consistency.order import order_faults
from phalanx.guarantees.consistency.runs import begins
from phalanx.guarantees.consistency.weights import weight_faults
from phalanx.guarantees.consistency.widths import boxes_faults, width_faults
from phalanx.guarantees.consistency.zeros import zero_faults
from phalanx.guarantees.registry import from_parameters
from phalanx.guarantees.strength import weakened
from phalanx.guarantees.views.members import counted_faults
from phalanx.guarantees.views.widening import follow_persons, has_widths
from phalanx.release.applicable import not_applicable, rows_by_group
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.form import Form
from phalanx.release.forms.generalized import GROUP, Generalized
from phalanx.release.part import Part

NAME: Final = "consistency"
_UNITS: Final = ("record", "person", "household")
"""Whom a promise may cover, from less to more."""
_SHARED: Final = frozenset(
    {"k", "l", "c", "t", "m", "epsilon", "delta", "beta"}
    | {"changes", "balancing", "accounting", "distance"}
)
"""Parameters that mean the same of a method and of its promise."""
_LOOKED_AT: Final = {
    "generalized": "groups, intervals, ",
    "sliced": "buckets, ",
    "bucketized": "buckets, ",
    "perturbed": "values, ",
    "recoded": "cells, ",
}


def check(
    release: Release,
    earlier: Sequence[Release] = (),
    *,
    evidence: Evidence | None = None,
    allow_seeded: bool = False,
    beside_original: bool = False,
) -> list[Verdict]:
    """Faults in columns, groups, intervals, nodes, order, files, chain and promises; and whether
    the release may be published at all. ``beside_original``: whether it is laid beside its original
    by another check, if not by this one.
    """
    faults = (
        _group_and_box_faults(release)
        if release.form.kind == Generalized.kind
        else list(form_faults(release.form))
    )
    faults = (
        faults
        or list(zero_faults(release.form))
        or order_faults(
            release.form, None if evidence is None else evidence.published_rows(release.number)
        )
    )
    in_bytes, unsettled = hidden(release)
    faults += [
        *file_faults(release),
        *in_bytes,
        *_mixed_faults(release.form, faults),
        *boxes_faults(release.manifest, release.form),
        *_chain_faults(release, earlier),
        *_promise_faults(release),
        *method_faults(release.manifest),
    ]
    note = (
        "; ".join(faults)
        or f"columns, {_LOOKED_AT.get(release.form.kind, 'what the form says of itself, ')}order, files, chain"
    )
    if release.number > 1 and not earlier:
        note += (
            f"; not checked: whether it follows on release {release.number - 1}, which was not"
            " given"
        )
    if (
        release.form.has_intervals
        and follow_persons(release.manifest)
        and not beside_original
        and (evidence is None or release.number not in evidence.microdata)
    ):
        note += (
            "; not checked: whether intervals end at values of persons, which the original table"
            " shows"
        )
    if (
        release.form.has_intervals
        and release.manifest.boxes == "widened"
        and not has_widths(release.manifest)
    ):
        note += "; not checked: how a method of another package widened intervals"
    if unsettled:
        note += (
            "; not checked: whether anything is hidden within the values of"
            f" {', '.join(unsettled)}, which another version of the writer made"
        )
    seeded = release.manifest.not_for_publication
    return [
        Verdict(
            name=NAME,
            bound=0,
            worst=len(faults),
            holds=not faults,
            note=note,
            worst_cases=pl.DataFrame({"fault": pl.Series(faults, dtype=pl.String)}),
        ),
        Verdict(
            name="for publication",
            bound="no seed",
            worst="a seed" if seeded else "no seed",
            holds=allow_seeded or not seeded,
            note=(
                "it was made with a seed, and an adversary who guesses the seed undoes its random"
                " choices"
                if seeded
                else "random choices cannot be repeated"
            ),
        ),
    ]


def _group_and_box_faults(release: Release) -> list[str]:
    return list(_column_faults(release)) or [
        *_box_faults(release),
        *weight_faults(release.form),
        *counted_faults(release),
        *([] if isinstance(release, Part) else kept_faults(release.form)),  # few rows tell nothing
    ]


def _column_faults(release: Release) -> Iterator[str]:
    table = release.form.table
    names = [attribute.name for attribute in release.form.attributes]
    expected = [GROUP, *(c for a in release.form.attributes for c in a.columns)]
    if table.columns != expected:
        yield "the columns of data are not those of the manifest"
        return
    if twice := sorted({name for name in names if names.count(name) > 1}):
        yield f"the manifest names the attribute {twice[0]!r} more than once"
    if len(release.form.attribute("sensitive")) > 1:
        yield "there are several sensitive attributes"
    if not table[GROUP].dtype.is_integer():
        yield "the group column does not hold whole numbers"
    for attribute in release.form.attributes:
        wanted = 1 if attribute.role != "quasi" else 2 if attribute.hierarchy is None else 3
        if len(attribute.columns) != wanted:
            yield (
                f"{attribute.name!r} stands in {len(attribute.columns)} column(s) instead of"
                f" {wanted}"
            )
            continue
        for column in attribute.columns[-2:]:
            if not fits(table[column], attribute):
                yield (
                    f"column {column!r} holds {table[column].dtype} and is declared"
                    f" {attribute.type}"
                )
            elif table[column].dtype.is_float() and table[column].is_nan().any():
                yield (
                    f"column {column!r} holds NaN, which is no published value; a missing value is"
                    " null"
                )
        yield from set_faults(table[attribute.columns[0]], attribute)


def _box_faults(release: Release) -> Iterator[str]:
    """Faults of groups, and of the boxes that they have."""
    quasi = [c for a in release.form.attribute("quasi") for c in a.columns]
    rows = release.form.table.select(GROUP, *quasi)
    boxes = rows.filter(pl.Series(np.logical_or.reduce([begins(c) for c in rows])))  # runs once
    if boxes[GROUP].n_unique() < boxes.height:
        boxes = boxes.unique()
    attributes = release.form.attribute("quasi")
    yield from _group_faults(release, boxes)
    faults = list(interval_faults(attributes, boxes))
    yield from faults or width_faults(release.manifest, attributes, boxes)


def _group_faults(release: Release, boxes: pl.DataFrame) -> Iterator[str]:
    table = release.form.table
    if missing := table[GROUP].null_count():
        yield f"{missing} row(s) have no group"
        return
    ids = table[GROUP].unique().sort().cast(pl.Int64, strict=False).to_numpy()
    if not np.array_equal(ids, np.arange(1, len(ids) + 1)):
        yield f"the groups are not numbered 1 to {len(ids)}"
    if boxes.height != len(ids):
        quasi = boxes.columns[1:]
        uneven = (
            boxes.group_by(GROUP)
            .agg(pl.len().alias("boxes"), pl.col(quasi).n_unique())
            .filter(pl.col("boxes") > 1)
        )
        where = [c for c in quasi if (uneven[c] > 1).any()]
        yield (
            f"{uneven.height} group(s) differ in quasi-identifiers from row to row (column"
            f" {where[0]!r})"
        )


def _mixed_faults(form: Form, faults: Sequence[str]) -> Iterator[str]:
    """Groups that hold rows whose value is not applicable beside others; of a form without other
    ``faults``, whose groups can be read.
    """
    if faults or not not_applicable(form):
        return
    mixed = rows_by_group(form).filter((pl.col("without") > 0) & (pl.col("with") > 0)).height
    if mixed:
        yield f"{mixed} {form.group_word}(s) hold values that are not applicable beside others"


def _chain_faults(release: Release, earlier: Sequence[Release]) -> Iterator[str]:
    manifest = release.manifest
    if release.number == 1 and manifest.previous is not None:
        yield "the first release names a release before it"
    if release.number > 1 and manifest.previous is None:
        yield f"release {release.number} does not name the release before it"
    if not earlier:
        return
    before = earlier[-1]
    if manifest.series != before.manifest.series:
        yield (
            f"it belongs to series {manifest.series!r} and the one before it to"
            f" {before.manifest.series!r}"
        )
    if manifest.number != before.number + 1:
        yield (
            f"release {manifest.number} follows on release {before.number}; the releases between"
            " them are missing, or a number is taken twice"
        )
    elif manifest.previous != before.digest:
        yield (
            f"release {before.number} is not the one that release {manifest.number} was published"
            " after (its digest differs)"
        )
    if list(manifest.attributes) != list(before.manifest.attributes):
        yield "its attributes are not those of the release before it"
    unit, unit_before = manifest.privacy_unit, before.manifest.privacy_unit
    if _UNITS.index(unit) < _UNITS.index(unit_before):
        yield f"it covers each {unit} and no longer each {unit_before}, as the release before it does"
    yield from weakened(manifest.guarantees, before.manifest.guarantees)
    lasting = [p for p in manifest.guarantees if getattr(from_parameters(p), "over_series", False)]
    if lasting and manifest.holds_if_method_known and not before.manifest.holds_if_method_known:
        yield (
            "it says that its promises hold also against an adversary who knows the method, those of"
            f" {lasting[0]['name']} are about all releases, and the release before it does not say so"
        )


def _promise_faults(release: Release) -> Iterator[str]:
    """A promise that says another number or word than the method's own parameter of that name, one
    that stands twice, and a release that says that it covers households and promises nothing of
    them.
    """
    method, promises = release.manifest.method, release.manifest.guarantees
    if release.manifest.privacy_unit == "household" and not any(map(_is_of_households, promises)):
        yield "it says that it covers each household, and promises nothing of one"
    for place, promise in enumerate(promises):
        if promise in promises[:place]:
            yield f"the promise {promise.get('name')} stands twice"
        for parameter in sorted(_SHARED & promise.keys() & method.keys()):
            if method[parameter] is None:
                continue
            if not _are_one(promise[parameter], method[parameter]):
                yield (
                    f"the method says {parameter} = {method[parameter]} and the promise"
                    f" {promise.get('name')} says {promise[parameter]}"
                )


def _are_one(promised: Any, made: Any) -> bool:
    """Whether two parameters are one number, or one word."""
    try:
        return exact(promised, "a promise") == exact(made, "a method")
    except PlanError:
        return bool(promised == made)


def _is_of_households(public: Mapping[str, Any]) -> bool:
    with suppress(ReleaseError):  # which is told elsewhere
        return bool(getattr(from_parameters(public), "of_households", False))
    return False
