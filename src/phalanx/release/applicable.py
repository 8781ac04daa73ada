# SPDX-License-Identifier: Apache-2.0
"""The part of a release that promises about sensitive values are about: without the groups of
persons whose value is not applicable.

Who these are is public, so that the rest stands as if they were in no table.
"""

from collections.abc import Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from phalanx.arrays import Bools
from phalanx.data.microdata import Microdata
from phalanx.data.not_applicable import is_listed
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.form import Form

Listed = Sequence[str | int | float]


def not_applicable(form: Form) -> Listed:
    """The values that the manifest says are not applicable; none of a form without groups."""
    sensitive = form.attribute("sensitive")
    return sensitive[0].not_applicable if sensitive and form.id_column else ()


def rows_by_group(form: Form) -> pl.DataFrame:
    """How many rows of every group are not applicable, and how many are: (group, without, with)."""
    groups, values, times = form.sensitive_counts()
    rows = pl.DataFrame({"group": groups}).with_columns(listed=pl.lit(value=False), count=pl.lit(1))
    if values is not None:
        distinct = values.unique()
        named = distinct.filter(pl.Series(is_listed(distinct, not_applicable(form))))
        rows = rows.with_columns(
            listed=values.is_in(named.implode()).fill_null(value=False).rename("listed")
        )
    if times is not None:
        rows = rows.with_columns(count=times.cast(pl.Int64, strict=False))
    return (
        rows.group_by("group")
        .agg(
            pl.col("count").filter("listed").sum().cast(pl.Int64).alias("without"),
            pl.col("count").filter(~pl.col("listed")).sum().cast(pl.Int64).alias("with"),
        )
        .sort("group")
    )


def applicable(release: Release) -> Release:
    """The release without the groups in which every value is not applicable; itself where no value
    is.

    A group that holds both kinds stays, whole; that there is none is for the check of consistency.
    """
    form = release.form
    if not not_applicable(form):
        return release
    if form not in _seen:
        by_group = rows_by_group(form)
        others = by_group.filter(pl.col("with") > 0)["group"].implode()
        tables = {
            name: table.filter(pl.col(form.id_column).is_in(others))
            for name, table in form.tables().items()
        }
        _seen[form] = type(form).of_folder(release.manifest, tables)
    return Release(
        manifest=release.manifest,
        form=_seen[form],
        path=release.path,
        evidence=_without(release.evidence, [release]),
    )


def applicable_parts(
    releases: Sequence[Release], evidence: Evidence
) -> tuple[list[Release], Evidence]:
    """The same of several releases, and of what lies beside them."""
    return [applicable(release) for release in releases], _without(evidence, releases)


def _without(evidence: Evidence, releases: Sequence[Release]) -> Evidence:
    """What lies beside releases, without the persons whose value is not applicable."""
    microdata, groups, rows = (
        dict(evidence.microdata),
        dict(evidence.groups),
        dict(evidence.rows),
    )
    for release in releases:
        listed, number = not_applicable(release.form), release.number
        if not listed:
            continue
        if number in microdata:
            kept = np.flatnonzero(~lacks_value(microdata[number], listed))
            if number in rows:
                rows[number] = rows[number][kept]
            microdata[number] = microdata[number].take(kept)
        if number in groups:
            stays = rows_by_group(release.form).filter(pl.col("with") > 0)["group"].implode()
            groups[number] = groups[number].filter(pl.col("group").is_in(stays))
    return replace(evidence, microdata=microdata, groups=groups, rows=rows)


def lacks_value(microdata: Microdata, listed: Listed) -> Bools:
    """Which rows have a value that is listed, shape (n,)."""
    column = microdata.sensitive
    of_code = is_listed(column.domain.values, listed)
    return np.asarray(of_code[column.codes], dtype=np.bool_)


_seen: WeakKeyDictionary[Form, Form] = WeakKeyDictionary()
