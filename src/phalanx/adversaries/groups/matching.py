# SPDX-License-Identifier: Apache-2.0
"""How well an adversary tells who is in a sliced table: candidate tuples ranked by the buckets that
they match (Li, Li, Zhang, Molloy, section 5).

A candidate takes a value of every column of one bucket. Originals are in the table, all other
candidates are fake. Ranked by a score, the area under the ROC curve is the chance that the tuple of
a person of the table stands before a fake one, ties counting half: 0.5 hides all persons, 1 none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
import numpy.typing as npt

from phalanx.adversaries.base import Z
from phalanx.arrays import Floats, Ints, in_order
from phalanx.randomness import Stream

MOST_PAIRS: Final = 60_000_000
"""So many pairs of candidate and matching bucket are listed; beyond, fake candidates are drawn."""
FEW_PAIRS: Final = 1 << 18
"""The same of other than two columns."""
DRAWN: Final = 200_000
"""How many candidates are drawn where they are too many to list."""
_PAIRS: Final = 1 << 22
_MOST_LOG: Final = 600.0
"""No bucket is told to leave more than exp of this open, so that sums stay within floating point."""


@dataclass(frozen=True, eq=False)
class Column:
    """What the buckets hold in one column, by value and bucket; values and buckets are numbered
    from 0.
    """

    bucket: Ints
    """Shape (cells,)."""
    value: Ints
    """Shape (cells,), ascending, and within a value ascending by bucket."""
    count: Ints
    """Shape (cells,): tuples of the bucket with the value."""

    @classmethod
    def of_rows(cls, bucket: Ints, value: Ints) -> "Column":
        """Count the rows of a table: their bucket and value, each of shape (n,)."""
        g = int(bucket.max()) + 1
        keys, count = np.unique(value.astype(np.int64) * g + bucket, return_counts=True)
        return cls(keys % g, keys // g, count.astype(np.int64))

    @property
    def first(self) -> Ints:
        """Where each value's cells begin, and the end."""
        return np.searchsorted(self.value, np.arange(int(self.value[-1]) + 2)).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Area:
    """The area under a ROC curve, with the 95 % interval of DeLong, DeLong, Clarke-Pearson
    (1988).
    """

    area: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking:
    """How candidates of a release match: the figures of both adversaries."""

    originals: int
    """Different tuples of the table."""
    fakes: float
    """Candidates that are in no table; an estimate where ``drawn``."""
    drawn: bool
    """Whether fake candidates were too many to list, so that some were drawn, each equally
    likely.
    """
    by_number: Area
    """Ranked by the number of matching buckets."""
    by_degree: Area
    """Ranked by the matching degree f(t)."""
    persons: Ints
    """Of how many persons each original is the tuple, shape (originals,): areas are by person."""
    numbers_of_originals: Ints
    """The number of matching buckets of every original, shape (originals,)."""
    numbers_of_fakes: Ints
    """The same of every fake candidate, or of those that were drawn."""
    weights_of_fakes: Floats
    """For how many fake candidates each of those stands."""


def rank(
    columns: Sequence[Column], sizes: Ints, originals: Ints, persons: Ints, stream: Stream
) -> Ranking:
    """Rank the candidates of a release with these ``columns`` and bucket ``sizes`` (g,).

    ``originals`` (t, c): the different tuples of the table, as the numbers of their column values;
    each matches its own bucket, and is that of so many ``persons`` (t,). ``stream`` draws
    candidates where they are too many: a bucket by how many candidates it leaves open, one of
    these, and each weighs 1 over the buckets that it matches.
    """
    drawn = _pairs(columns, len(sizes)) > (MOST_PAIRS if len(columns) == 2 else FEW_PAIRS)
    if drawn:
        values, open_to = _drawn(columns, len(sizes), stream)
        numbers, degrees = matched(columns, sizes, values)
    elif len(columns) != 2:
        values = _all(columns, len(sizes))
        numbers, degrees = matched(columns, sizes, values)
    else:
        values, numbers, degrees = _listed(columns, sizes)
    fake = ~_among(values, originals)
    number, degree = matched(columns, sizes, originals)
    numbers, degrees = numbers[fake], degrees[fake]
    weights = open_to / len(values) / numbers if drawn else np.ones(len(numbers))
    return Ranking(
        originals=len(originals),
        fakes=float(weights.sum()),
        drawn=drawn,
        by_number=area(number.astype(np.float64), numbers.astype(np.float64), persons, weights),
        by_degree=area(_equal(degree), _equal(degrees), persons, weights),
        persons=persons,
        numbers_of_originals=number,
        numbers_of_fakes=numbers,
        weights_of_fakes=weights,
    )


def matched(columns: Sequence[Column], sizes: Ints, tuples: Ints) -> tuple[Ints, Floats]:
    """How many buckets every tuple matches, and the logarithm of its matching degree ``sum over B
    of prod_i n_i / |B|``, which many columns leave no room for, each of shape (t,); ``tuples`` (t,
    c).
    """
    g = len(sizes)
    number, degree = np.zeros(len(tuples), dtype=np.int64), np.full(len(tuples), -np.inf)
    keys = [column.value * g + column.bucket for column in columns]
    firsts = [column.first for column in columns]
    lengths = np.stack([np.diff(first)[tuples[:, i]] for i, first in enumerate(firsts)], axis=1)
    rarest = np.argmin(lengths, axis=1)
    for i, (column, first) in enumerate(zip(columns, firsts, strict=True)):
        which = np.flatnonzero(rarest == i)
        work = np.cumsum(lengths[which, i])
        for start, stop in _parts(work):
            part = which[start:stop]
            times = lengths[part, i]
            owner = np.repeat(part, times)
            cell = (
                np.repeat(first[tuples[part, i]], times)
                + np.arange(len(owner))
                - np.repeat(np.cumsum(times) - times, times)
            )
            bucket = column.bucket[cell]
            share = np.log(column.count[cell] / sizes[bucket])
            for j, other in enumerate(columns):
                if j != i and len(owner):
                    wanted = tuples[owner, j] * g + bucket
                    at = np.minimum(np.searchsorted(keys[j], wanted), len(keys[j]) - 1)
                    is_match = keys[j][at] == wanted
                    owner, bucket = owner[is_match], bucket[is_match]
                    share = share[is_match] + np.log(other.count[at[is_match]] / sizes[bucket])
            number += np.bincount(owner, minlength=len(tuples))
            if len(owner):  # ascending, and all pairs of a tuple are here
                starts = np.flatnonzero(np.diff(owner, prepend=-1))
                most = np.maximum.reduceat(share, starts)
                above = np.exp(share - np.repeat(most, np.diff(starts, append=len(owner))))
                degree[owner[starts]] = most + np.log(np.add.reduceat(above, starts))
    return number, degree


def _parts(work: Ints) -> list[tuple[int, int]]:
    """Ranges of tuples whose pairs fit into memory; ``work`` is the running sum of theirs."""
    parts, start = [], 0
    while start < len(work):
        stop = max(
            start + 1,
            int(np.searchsorted(work, (work[start - 1] if start else 0) + _PAIRS, side="right")),
        )
        parts.append((start, stop))
        start = stop
    return parts


def _different(columns: Sequence[Column], g: int) -> Floats:
    """How many different values each bucket holds in each column, shape (c, g)."""
    return np.stack([np.bincount(column.bucket, minlength=g) for column in columns]).astype(
        np.float64
    )


def _pairs(columns: Sequence[Column], g: int) -> float:
    """How many pairs of bucket and candidate there are, or as many as can be told."""
    return float(np.exp(np.minimum(_open(_different(columns, g)), _MOST_LOG)).sum())


def _open(different: Floats) -> Floats:
    """The logarithm of how many candidates each bucket leaves open, shape (g,)."""
    return np.asarray(np.log(different).sum(axis=0))


def _listed(columns: Sequence[Column], sizes: Ints) -> tuple[Ints, Ints, Floats]:
    """All candidates of two columns, as (n, 2), with their number of matching buckets and
    degree.
    """
    one, other = columns
    order = in_order(other.bucket)
    ends = np.cumsum(np.bincount(other.bucket, minlength=len(sizes)))
    starts = np.concatenate([[0], ends[:-1]])
    times = (ends - starts)[one.bucket]
    cell = np.repeat(np.arange(len(one.bucket)), times)
    beside = order[
        np.repeat(starts[one.bucket], times)
        + np.arange(int(times.sum()))
        - np.repeat(np.cumsum(times) - times, times)
    ]
    width = int(other.value[-1]) + 1
    share = one.count[cell] * other.count[beside] / sizes[one.bucket[cell]].astype(np.float64) ** 2
    keys, place = np.unique(one.value[cell] * width + other.value[beside], return_inverse=True)
    return (
        np.stack([keys // width, keys % width], axis=1),
        np.bincount(place).astype(np.int64),
        np.log(np.bincount(place, weights=share)).astype(np.float64),
    )


def _all(columns: Sequence[Column], g: int) -> Ints:
    """All candidates of however many columns, as (n, columns)."""
    bucket, values = np.arange(g), np.empty((g, 0), dtype=np.int64)
    for column in columns:
        order = in_order(column.bucket)
        many = np.bincount(column.bucket, minlength=g)
        times = many[bucket]
        begins = (np.cumsum(many) - many)[bucket] - (np.cumsum(times) - times)
        before = np.repeat(np.arange(len(bucket)), times)
        cell = order[begins[before] + np.arange(len(before))]
        bucket = bucket[before]
        values = np.column_stack([values[before], column.value[cell]])
    return np.unique(values, axis=0)


def _drawn(columns: Sequence[Column], g: int, stream: Stream) -> tuple[Ints, float]:
    """Candidates drawn bucket by bucket, shape (m, c), and how many pairs of bucket and candidate
    there are.
    """
    different = _different(columns, g)
    logs = _open(different)
    open_to = np.exp(logs - logs.max())
    bucket = np.searchsorted(
        np.cumsum(open_to), _uniform(stream, DRAWN) * open_to.sum(), side="right"
    )
    values = np.empty((DRAWN, len(columns)), dtype=np.int64)
    for i, column in enumerate(columns):
        order = in_order(column.bucket)
        starts = np.concatenate([[0], np.cumsum(different[i])[:-1]]).astype(np.int64)
        within = (_uniform(stream, DRAWN) * different[i][bucket]).astype(np.int64)
        values[:, i] = column.value[order[starts[bucket] + within]]
    return values, _pairs(columns, g)


def _uniform(stream: Stream, n: int) -> Floats:
    """Numbers in [0, 1), shape (n,)."""
    return (stream.words(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _among(values: Ints, originals: Ints) -> npt.NDArray[np.bool_]:
    """Which tuples are originals, shape (n,)."""
    widths = np.maximum(values.max(axis=0, initial=0), originals.max(axis=0, initial=0)) + 1
    mine, theirs = values[:, 0], originals[:, 0]
    for i in range(
        1, values.shape[1]
    ):  # numbered anew after every column, so that no product overflows
        both = np.unique(
            np.concatenate([mine * widths[i] + values[:, i], theirs * widths[i] + originals[:, i]]),
            return_inverse=True,
        )[1]
        mine, theirs = both[: len(mine)].astype(np.int64), both[len(mine) :].astype(np.int64)
    return np.isin(mine, theirs)


def area(
    true: Floats, fake: Floats, persons: Ints | None = None, weights: Floats | None = None
) -> Area:
    """The chance that a score of ``true`` is above one of ``fake``, ties counting half; (0.5, 0, 1)
    where one of them is empty.

    ``persons`` (t,) and ``weights`` (n,): for how many each true one and each fake one stands. The
    interval adds the variances of what each true and each fake one contributes, persons with one
    score being one.
    """
    if not len(true) or not len(fake):
        return Area(area=0.5, low=0.0, high=1.0)
    v, w = (
        np.full(len(x), 1 / len(x)) if given is None else given / given.sum()
        for x, given in ((true, persons), (fake, weights))
    )
    of_true, of_fake = _share_below(true, fake, w), 1 - _share_below(fake, true, v)
    area = min(1.0, float(v @ of_true))  # sums of weights may pass 1 by rounding
    spread = sqrt(
        float((v**2 * (of_true - area) ** 2).sum()) + float((w**2 * (of_fake - area) ** 2).sum())
    )
    return Area(area=area, low=max(0.0, area - Z * spread), high=min(1.0, area + Z * spread))


def _equal(degrees: Floats) -> Floats:
    """Logarithms of degrees that differ by rounding only made equal, so that ties stay ties."""
    return np.asarray(np.round(degrees, 10))


def _share_below(scores: Floats, others: Floats, weights: Floats) -> Floats:
    """For every score, the weight of the others below it, and half of that of its equals."""
    order = np.argsort(others, kind="stable")
    ranked, summed = others[order], np.concatenate([[0.0], np.cumsum(weights[order])])
    below, upto = (summed[np.searchsorted(ranked, scores, side=side)] for side in ("left", "right"))
    return np.asarray((below + upto) / 2)
