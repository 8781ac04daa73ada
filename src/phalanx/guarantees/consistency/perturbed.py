# SPDX-License-Identifier: Apache-2.0
"""Perturbed releases: one table of single values, which belong to the attributes; and what is true
in it, each person's sensitive value.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.domain import Domain
from phalanx.data.microdata import Microdata
from phalanx.errors import ReleaseError
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.consistency.intervals import fits, set_faults
from phalanx.guarantees.views.hierarchies import hierarchy_of, leaves_of
from phalanx.release.forms.perturbed import Perturbed
from phalanx.release.manifest import PublishedAttribute


def row_faults(form: Perturbed) -> Sequence[str]:
    """What is wrong with the rows of a perturbed form."""
    return list(_faults(form))


def _faults(form: Perturbed) -> Iterator[str]:
    if not form.attribute("quasi"):
        yield "there is no quasi-identifier"
    if len(form.attribute("sensitive")) > 1:
        yield "there are several sensitive attributes"
    for attribute in form.attributes:
        if attribute.role == "keep":
            yield f"{attribute.name!r} is kept as it is, which this form has no place for"
        if attribute.columns != [attribute.name]:
            yield f"{attribute.name!r} does not stand in one column of its name"
            return
    if form.table.columns != [a.name for a in form.attributes]:
        yield "the columns of data are not those of the manifest"
        return
    for attribute in form.attributes:
        yield from _value_faults(form.table[attribute.name], attribute)


def _value_faults(column: pl.Series, attribute: PublishedAttribute) -> Iterator[str]:
    """Values of another type than is declared, numbers that are none, and places that the declared
    hierarchy does not have.
    """
    if not fits(column, attribute) or column.dtype.is_nested():
        yield f"column {column.name!r} holds {column.dtype} and is declared {attribute.type}"
        return
    if column.dtype.is_float() and not column.is_finite().all():
        yield (
            f"column {column.name!r} holds NaN or an infinite number, which no person has; a"
            " missing value is null"
        )
        return
    yield from set_faults(column, attribute)
    if attribute.hierarchy is not None:
        try:
            leaves_of(hierarchy_of(attribute.hierarchy, attribute.name), column.unique())
        except ReleaseError as error:
            yield str(error)


def codes_of(domain: Domain, column: pl.Series) -> Ints:
    """The code of every published value in a domain of the original table, -1 for a value that it
    does not have.
    """
    values = domain.values
    if column.null_count() == len(column):
        return np.full(len(column), 0 if domain.has_missing else -1, dtype=np.int64)
    typed = column.cast(values.dtype, strict=False)
    lookup = pl.DataFrame({"value": values, "code": np.arange(len(values), dtype=np.int64)})
    codes = (
        typed.to_frame("value")
        .join(lookup, on="value", how="left", nulls_equal=True, maintain_order="left")["code"]
        .fill_null(-1)
        .to_numpy()
    )
    if column.dtype == values.dtype:
        return codes
    same = typed.cast(column.dtype, strict=False).eq_missing(column) & (
        typed.is_null() == column.is_null()
    )
    return np.where(same.to_numpy(), codes, -1)


def check_truth(form: Perturbed, microdata: Microdata, rows: Ints, strangers: int = 0) -> Verdict:
    """Each row is one person's, and has this person's sensitive value; the worst figure is the
    number of rows and persons for whom it is not so.

    ``rows`` (n,): the number of the published row of each row of ``microdata``, from 1, 0 for one
    that was suppressed. ``strangers``: how many persons who are not in ``microdata`` are said to
    have a row.
    """
    if len(rows) != microdata.rows:
        note = (
            f"{len(rows)} row(s) are said to be those of {microdata.rows} person(s), so that some"
            " have none or several"
        )
        return Verdict(
            name="truth", bound=0, worst=abs(len(rows) - microdata.rows), holds=False, note=note
        )
    who = np.flatnonzero(rows)
    there = (rows[who] >= 1) & (rows[who] <= form.rows)
    whose = np.bincount(rows[who[there]] - 1, minlength=form.rows)
    wrong = strangers + int((~there).sum()) + int((whose != 1).sum())
    unlike, who = 0, who[there]
    if form.sensitive is not None:
        column = microdata.sensitive
        unlike = int(
            (
                codes_of(column.domain, form.table[form.sensitive])[rows[who] - 1]
                != column.codes[who]
            ).sum()
        )
    note = (
        f"{len(who)} row(s) have the sensitive value of their person"
        if form.sensitive is not None
        else f"{len(who)} row(s) are of a person each"
    )
    if wrong + unlike:
        note = (
            f"{wrong} row(s) or person(s) do not belong to each other one by one, and {unlike}"
            " row(s) have another sensitive value than their person"
        )
    return Verdict(
        name="truth", bound=0, worst=wrong + unlike, holds=wrong + unlike == 0, note=note
    )
