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
    wrong = sum(
        _unlike(
            [buckets[rows], *_own(microdata, attributes, rows)],
            [_whole(table[BUCKET]), *_published(microdata, attributes, table)],
            times,
        )
        for attributes, table, times in (
            (form.attribute("quasi"), form.table, None),
            (form.attribute("sensitive"), form.values, _whole(form.values[COUNT])),
        )
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
        part = form.parts[i]
        own = [buckets[rows], *_own(microdata, exact, rows)]
        published = [_whole(part[BUCKET]), *_published(microdata, exact, part)]
        if generalized:
            names = [c for a in generalized for c in a.columns]
            boxes = part.select(names).unique().sort(names)
            own.append(own_values(generalized, boxes, microdata, rows) + 1)  # from -1: in none
            numbered = boxes.with_row_index("\0box", offset=1)
            box = part.join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
            published.append(_whole(box["\0box"].fill_null(boxes.height + 1)))
        wrong += _unlike(own, published, _whole(part[COUNT]))
    return wrong


def _own(microdata: Microdata, attributes: Sequence[PublishedAttribute], rows: Ints) -> list[Ints]:
    """The codes of the rows' own values, each of shape (r,)."""
    return [microdata.columns[a.name].codes[rows].astype(np.int64) for a in attributes]


def _published(
    microdata: Microdata, attributes: Sequence[PublishedAttribute], table: pl.DataFrame
) -> list[Ints]:
    """The codes of published values in the domains of the microdata, each of shape (p,); the number
    behind the last code is that of all other values.
    """
    codes = []
    for a in attributes:
        domain, values = microdata.columns[a.name].domain.values, table[a.columns[0]]
        both = pl.concat(
            [domain.to_frame("value"), values.to_frame("value")], how="vertical_relaxed"
        )["value"]
        known, shown = both[: len(domain)], both[len(domain) :]
        numbered = pl.DataFrame({"value": known, "code": np.arange(len(known))})
        code = shown.to_frame().join(
            numbered, on="value", how="left", nulls_equal=True, maintain_order="left"
        )["code"]
        codes.append(_whole(code.fill_null(len(known))))
    return codes


def _whole(numbers: pl.Series) -> Ints:
    """Whole numbers; 0 where there are none, which the check of consistency refuses."""
    return numbers.cast(pl.Int64, strict=False).fill_null(0).to_numpy()


def _renumbered(numbers: Ints) -> Ints:
    """The same numbers from 0 on, equal ones alike."""
    return np.unique(numbers, return_inverse=True)[1].astype(np.int64)


def _unlike(own: Sequence[Ints], published: Sequence[Ints], times: Ints | None) -> int:
    """How many tuples are lacking, or published more often than there are persons with them.

    ``own``: of each attribute the numbers that persons have, (r,); ``published``: those in the
    files, (p,), each as often as ``times`` (p,) says, or once.
    """
    keys = np.zeros(len(own[0]) + len(published[0]), dtype=np.int64)
    for one, other in zip(own, published, strict=True):
        numbers = np.concatenate([one, other])
        low, high = int(numbers.min(initial=0)), int(numbers.max(initial=0))
        if high - low >= 1 << 31:
            low, high, numbers = 0, len(numbers), _renumbered(numbers)
        if int(keys.max(initial=0)) >= 1 << 31:
            keys = _renumbered(keys)
        keys = keys * (high - low + 1) + (numbers - low)
    persons = len(own[0])
    minus = np.ones(len(published[0]), dtype=np.int64) if times is None else times
    if (
        bool((minus >= 0).all())
        and int(minus.sum()) == persons
        and np.array_equal(np.sort(keys[:persons]), np.sort(np.repeat(keys[persons:], minus)))
    ):
        return 0
    counts = np.concatenate([np.ones(persons, dtype=np.int64), -minus])
    of_each = pl.DataFrame({"key": keys, "count": counts}).group_by("key").agg(pl.sum("count"))
    differences = of_each["count"]
    return max(
        int(differences.clip(lower_bound=0).sum()), -int(differences.clip(upper_bound=0).sum())
    )
