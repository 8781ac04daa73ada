# SPDX-License-Identifier: Apache-2.0
"""Truth of sliced and bucketized releases: every bucket says of its persons what is so, in each
column.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from phalanx.arrays import Ints
from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.views.sliced import own_values
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.sliced import BUCKET, COUNT, Sliced
from phalanx.release.manifest import PublishedAttribute


def check_sliced(form: Sliced, microdata: Microdata, buckets: Ints, _: int = 0) -> Verdict:
    """In every bucket each column holds the values of its persons, no more and no fewer.

    ``buckets`` (n,): the bucket id in which each row was published, 0 for a row that was
    suppressed. The worst figure is the number of values that are not so. Where values are
    generalized, each person must have one interval that holds their value.
    """
    rows = np.flatnonzero(buckets > 0)
    return _verdict(_of_sliced(form, microdata, buckets, rows), len(rows))


def check_bucketized(form: Bucketized, microdata: Microdata, buckets: Ints, _: int = 0) -> Verdict:
    """The same of quasi-identifiers, row by row, and of sensitive values by count."""
    rows = np.flatnonzero(buckets > 0)
    quasi, sensitive = form.attribute("quasi"), form.attribute("sensitive")
    published = form.table.group_by(form.table.columns).agg(pl.len().cast(pl.Int64).alias(COUNT))
    wrong = _unlike(_own(microdata, quasi, rows, buckets), published) + _unlike(
        _own(microdata, sensitive, rows, buckets), form.values
    )
    return _verdict(wrong, len(rows))


def _verdict(wrong: int, rows: int) -> Verdict:
    note = f"the buckets of {rows} row(s) hold their values in each column"
    if wrong:
        note = f"{wrong} value(s) of persons are not in their bucket, or are there too often"
    return Verdict(name="truth", bound=0, worst=wrong, holds=wrong == 0, note=note)


def _of_sliced(form: Sliced, microdata: Microdata, buckets: Ints, rows: Ints) -> int:
    by_name = {a.name: a for a in form.attributes}
    wrong = 0
    for i, column in enumerate(form.columns):
        attributes = [by_name[name] for name in column]
        exact = [a for a in attributes if len(a.columns) == 1]
        generalized = tuple(a for a in attributes if len(a.columns) > 1)
        own, part = _own(microdata, exact, rows, buckets), form.parts[i]
        if generalized:
            names = [c for a in generalized for c in a.columns]
            boxes = part.select(names).unique().sort(names)
            own = own.with_columns(
                pl.Series("\0box", own_values(generalized, boxes, microdata, rows))
            )
            numbered = boxes.with_columns(
                pl.Series("\0box", np.arange(boxes.height, dtype=np.int64))
            )
            part = part.join(numbered, on=names, how="left", nulls_equal=True).drop(names)
        wrong += _unlike(own, part)
    return wrong


def _own(
    microdata: Microdata, attributes: Sequence[PublishedAttribute], rows: Ints, buckets: Ints
) -> pl.DataFrame:
    """The rows' bucket and own values, under the names of the release."""
    columns = {
        a.columns[0]: microdata.columns[a.name].domain.values.gather(
            microdata.columns[a.name].codes[rows]
        )
        for a in attributes
    }
    return pl.DataFrame({BUCKET: buckets[rows]} | columns)


def _unlike(own: pl.DataFrame, published: pl.DataFrame) -> int:
    """How many values are lacking, or published more often than there are persons with them."""
    names = own.columns
    counted = own.group_by(names).agg(pl.len().cast(pl.Int64).alias(COUNT))
    both = pl.concat(
        [counted, published.select(*names, -pl.col(COUNT).cast(pl.Int64))], how="vertical_relaxed"
    )
    differences = both.group_by(names).agg(pl.col(COUNT).sum())[COUNT]
    return max(
        int(differences.clip(lower_bound=0).sum()), -int(differences.clip(upper_bound=0).sum())
    )
