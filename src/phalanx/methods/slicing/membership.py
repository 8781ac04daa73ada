# SPDX-License-Identifier: Apache-2.0
"""Grouping against membership disclosure, which the slicing paper leaves open: buckets of few
values, each equally often, that no sensitive value has decided.

Somebody who asks whether a tuple is in the table ranks the candidates, all combinations of column
values that some bucket holds, by how many buckets they match or by the matching degree f(t).
Originals stand out: a value of the sensitive column that is frequent in a bucket is more often the
true one. Where all values of a bucket are equally frequent, they say nothing about which candidate
is true.

1. Dealing. The rows with one combination q of the quasi-identifiers beside the sensitive attribute
   are put in order of their value, those of one value in random order, and dealt out to floor(n(q)
   / l) sets like cards: the first to the first set, and so on, round after round. No value stands
   in more rows than there are sets, so each set has l values or more, each once. Sets with the same
   values stand side by side: a *run* has as many rows of each of its values.
2. Cuts. A run is cut by the quasi-identifiers: the rows of each value are put in the order of one
   attribute, and all are cut at the same place.

Why this holds against somebody who knows all of it. Let two values of a run change places among its
rows. The counts of values stay as they were, every order of the rows of a value is as likely as any
other, and cuts treat the rows of all values alike: so the same buckets are published from both
tables with the same probability. Hence everybody in a run has each of its values with the same
probability, at most 1/l, whoever knows the run; and less is published. Runs too small for a bucket
are put together in the order of the deal, which looks at nothing but their sizes.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from phalanx.arrays import Bools, Floats, Integers, Ints
from phalanx.methods.m_invariance.method import largest_eligible
from phalanx.methods.slicing.kernels.halves import Cells
from phalanx.methods.slicing.tuples import Coded, cells_of
from phalanx.randomness import Stream


def group(coded: Coded, attributes: Integers, *, bucket_size: int, l: int, stream: Stream) -> Ints:
    """Buckets 0 .. g-1 of ``bucket_size`` rows or more, shape (n,), in each of which no p(., s) is
    above 1/l, and none is for who knows how they were made.

    ``attributes`` (d, n): codes of the quasi-identifiers in the order of their domains. The whole
    table, as one bucket, keeps l (see :func:`eligible`), and has ``bucket_size`` rows; ValueError
    where it does not keep l.
    """
    order = stream.permutation(coded.rows)
    positions = np.stack([_places(codes) for codes in attributes])
    buckets: list[Ints] = []
    small: list[Ints] = []
    for run in runs(coded.cells, order, l):
        if run.size >= bucket_size:
            buckets += cut(run, positions, bucket_size)
            continue
        small.append(run.ravel())
        if sum(map(len, small)) >= bucket_size:
            buckets.append(np.concatenate(small))
            small = []
    if small:
        buckets.append(
            np.concatenate([*small, buckets.pop()]) if buckets else np.concatenate(small)
        )
    bucket = np.empty(coded.rows, dtype=np.int64)
    for number, rows in enumerate(buckets):
        bucket[rows] = number
    return bucket


def runs(cells: Cells, order: Ints, l: int) -> Iterator[Ints]:
    """The rows of each run, shape (values, sets): those of one value beside each other, ``order``
    (n,) deciding which of its rows go where.

    ValueError where the rows with some q do not keep l.
    """
    order = order[
        np.argsort(cells.of_row[order], kind="stable")
    ]  # cells stand in the order of q and then of values
    counts = np.bincount(cells.of_row, minlength=len(cells.q))
    start = 0
    for first, end in zip(cells.first[:-1].tolist(), cells.first[1:].tolist(), strict=True):
        rows = int(counts[first:end].sum())
        sets = rows // l
        if counts[first:end].max() > sets:
            raise ValueError(
                f"some sensitive value has more than 1/{l} of the rows with its q in the whole"
                " table"
            )
        ends = np.unique(
            np.cumsum(counts[first:end]) % sets
        )  # where a value ends, the next sets have another one in its place
        dealt = order[start : start + rows]
        for left, right in zip(
            [0, *ends[ends > 0].tolist()], [*ends[ends > 0].tolist(), sets], strict=True
        ):
            yield np.stack([dealt[i + left : i + right] for i in range(0, rows - left, sets)])
        start += rows


def cut(run: Ints, positions: Floats, bucket_size: int) -> Iterator[Ints]:
    """Buckets of at least ``bucket_size`` rows of a run (values, sets), where it has so many:
    halved at the same place in the rows of every value.

    ``positions`` (d, n): where rows stand on each attribute; cuts are along the attribute of
    greatest variance. Who stands equal keeps the order of the deal.
    """
    waiting = [run]
    while waiting:
        part = waiting.pop()
        values, sets = part.shape
        pieces = part.size // bucket_size
        left = sets * (pieces // 2) // max(pieces, 1)
        if min(left, sets - left) * values < bucket_size:
            yield part.ravel()
            continue
        rows = np.sort(part.ravel())  # so that not even rounding depends on who has which value
        attribute = positions[int(np.argmax(positions[:, rows].var(axis=1)))]
        part = np.take_along_axis(part, np.argsort(attribute[part], axis=1, kind="stable"), axis=1)
        waiting += [part[:, left:], part[:, :left]]


def eligible(q: Integers, sensitive: Integers, l: int | Fraction, stream: Stream) -> Bools:
    """Which rows may stay so that no value has more than 1/l of the rows with its q, as many as
    possible, shape (n,); who is suppressed is drawn by lot.
    """
    cells = cells_of(q.astype(np.int32), sensitive.astype(np.int32))
    counts = np.bincount(cells.of_row)
    cap = np.zeros(len(counts), dtype=np.int64)
    for start, end in zip(cells.first[:-1].tolist(), cells.first[1:].tolist(), strict=True):
        cap[start:end] = largest_eligible(counts[start:end], l)
    order = stream.permutation(len(q))
    order = order[np.argsort(cells.of_row[order], kind="stable")]
    stays = np.empty(len(q), dtype=bool)
    stays[order] = (
        np.arange(len(q)) - (np.cumsum(counts) - counts)[cells.of_row[order]]
        < cap[cells.of_row[order]]
    )
    return stays


def _places(codes: Integers) -> Floats:
    """The share of rows that stand before each, equal ones counting half: in [0, 1], shape (n,)."""
    counts = np.bincount(codes)
    return ((np.cumsum(counts) - counts / 2) / len(codes))[codes]
