# SPDX-License-Identifier: Apache-2.0
"""Truth of sliced and bucketized releases: every bucket says of its persons what is so, in each
column.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Integers, Ints, different
from phalanx.data.microdata import Microdata
from phalanx.guarantees.base import Verdict
from phalanx.guarantees.views.sliced import own_values
from phalanx.release.forms.bucketized import Bucketized
from phalanx.release.forms.sliced import BUCKET, COUNT, Sliced
from phalanx.release.manifest import PublishedAttribute

_MOST: Final = 1 << 62
"""Keys stay below this."""


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
        _unlike(_compared(microdata, buckets, rows, attributes, table), times)
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
    return sum(
        _unlike(
            _compared(microdata, buckets, rows, [by_name[name] for name in column], part),
            _whole(part[COUNT]),
        )
        for column, part in zip(form.columns, form.parts, strict=True)
    )


def _compared(
    microdata: Microdata,
    buckets: Ints,
    rows: Ints,
    attributes: Sequence[PublishedAttribute],
    part: pl.DataFrame,
) -> Iterator[tuple[Integers, Integers]]:
    """What rows have, shape (r,), beside what is published of them, (p,): their buckets, and then
    each attribute's codes, or the numbers of boxes; one after the other, as each is long.
    """
    yield buckets[rows], _whole(part[BUCKET])
    for a in attributes:
        if len(a.columns) == 1:
            column = microdata.columns[a.name]
            yield column.codes[rows], _published(column.domain.values, part[a.columns[0]])
    if generalized := tuple(a for a in attributes if len(a.columns) > 1):
        names = [c for a in generalized for c in a.columns]
        boxes = part.select(names).unique().sort(names)
        own = own_values(generalized, boxes, microdata, rows) + 1  # from -1: in none
        numbered = boxes.with_row_index("\0box", offset=1)
        box = part.join(numbered, on=names, how="left", nulls_equal=True, maintain_order="left")
        yield own, _whole(box["\0box"].fill_null(boxes.height + 1))


def _published(domain: pl.Series, values: pl.Series) -> Ints:
    """The codes of published values in a domain of the microdata, shape (p,); the number behind the
    last code is that of all other values.
    """
    both = pl.concat([domain.to_frame("value"), values.to_frame("value")], how="vertical_relaxed")[
        "value"
    ]
    known, shown = both[: len(domain)], both[len(domain) :]
    numbered = pl.DataFrame({"value": known, "code": np.arange(len(known))})
    code = shown.to_frame().join(
        numbered, on="value", how="left", nulls_equal=True, maintain_order="left"
    )["code"]
    return _whole(code.fill_null(len(known)))


def _whole(numbers: pl.Series) -> Ints:
    """Whole numbers; 0 where there are none, which the check of consistency refuses."""
    return numbers.cast(pl.Int64, strict=False).fill_null(0).to_numpy()


def _renumbered(numbers: Sequence[Integers]) -> tuple[list[Ints], int]:
    """The same numbers from 0 on, equal ones alike, and how many are different."""
    some, places = different(np.concatenate(numbers))
    return np.split(places, [len(numbers[0])]), len(some)


def _unlike(compared: Iterable[tuple[Integers, Integers]], times: Ints | None) -> int:
    """How many tuples are lacking, or published more often than there are persons with them.

    ``compared``: of each attribute the numbers that persons have, (r,), and those in the files,
    (p,), each as often as ``times`` (p,) says, or once.
    """
    keys: Sequence[Ints] = ()
    below = 1
    for pair in compared:
        numbers: Sequence[Integers] = pair
        ends = [int(end) for each in pair for end in (each.min(initial=0), each.max(initial=0))]
        low, many = min(ends), max(ends) - min(ends) + 1
        if below * many > _MOST:
            numbers, many = _renumbered(pair)
            low = 0
        if keys and below * many > _MOST:
            keys, below = _renumbered(keys)
        keys = keys or [np.zeros(len(each), dtype=np.int64) for each in numbers]
        for key, each in zip(keys, numbers, strict=True):
            np.multiply(key, many, out=key)
            np.add(key, each, out=key)
            np.subtract(key, low, out=key)
        below *= many
    own, published = keys
    if _alike(own, published, times):
        return 0
    minus = np.ones(len(published), dtype=np.int64) if times is None else times
    counted = pl.DataFrame(
        {
            "key": np.concatenate([own, published]),
            "count": np.concatenate([np.ones(len(own), dtype=np.int64), -minus]),
        }
    )
    differences = counted.group_by("key").agg(pl.sum("count"))["count"]
    return max(
        int(differences.clip(lower_bound=0).sum()), -int(differences.clip(upper_bound=0).sum())
    )


def _alike(own: Ints, published: Ints, times: Ints | None) -> bool:
    """Whether both hold the same keys as often; ``times`` as in :func:`_unlike`."""
    if times is not None:
        if (times < 0).any() or int(times.sum()) != len(own):
            return False
        published = np.repeat(published, times)
    return len(own) == len(published) and np.array_equal(np.sort(own), np.sort(published))
