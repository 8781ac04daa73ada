# SPDX-License-Identifier: Apache-2.0
"""Buckets of slicing that no cut of Mondrian makes: dealt at random, or against membership
disclosure, which the slicing paper leaves open: buckets of few values, each equally often, that no
sensitive value has decided.

Who asks whether a tuple is in the table ranks the candidates, all combinations of column
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

Why this holds against an adversary who knows all of it. Let two values of a run change places among
its rows. The counts of values stay as they were, every order of the rows of a value is as likely as
any other, and cuts treat the rows of all values alike: so the same buckets are published from both
tables with the same probability. Hence each person in a run has each of its values with the same
probability, at most 1/l, for an adversary who knows the run; and less is published. Runs too small
for a bucket are put together in the order of the deal, which looks at nothing but their sizes.
"""

from collections.abc import Callable, Iterator

import numpy as np

from phalanx.arrays import Floats, Integers, Ints, in_order
from phalanx.methods.slicing.kernels.halves import Cells
from phalanx.methods.slicing.tuples import Coded


def at_random(order: Ints, size: int) -> Ints:
    """Buckets of ``size`` rows dealt out in a random ``order`` of all rows, the last ones one
    larger; shape (n,).
    """
    buckets = np.empty(len(order), dtype=np.int64)
    buckets[order] = np.arange(len(order)) % max(1, len(order) // size)
    return buckets


def merged(buckets: Ints, keeps: Callable[[Ints], bool]) -> Ints:
    """Buckets, 0 .. g-1, of which those that do not keep the promise are put together until all do;
    it is kept by all rows as one bucket.
    """
    order = in_order(buckets)
    good: list[Ints] = []
    waiting: list[Ints] = []
    for piece in np.split(order, np.flatnonzero(np.diff(buckets[order])) + 1):
        (good if keeps(piece) else waiting).append(piece)
    while waiting:
        piece = waiting.pop()
        if not waiting and not good:
            good.append(piece)
            break
        joined = np.concatenate([piece, good.pop(0) if good else waiting.pop()])
        (good if keeps(joined) else waiting).append(joined)
    bucket_of = np.empty(len(buckets), dtype=np.int64)
    for b, piece in enumerate(good):
        bucket_of[piece] = b
    return bucket_of


def group(coded: Coded, attributes: Integers, *, bucket_size: int, l: int, order: Ints) -> Ints:
    """Buckets 0 .. g-1 of ``bucket_size`` rows or more, shape (n,), in each of which no p(., s) is
    above 1/l, and none is for who knows how they were made.

    ``attributes`` (d, n): codes of the quasi-identifiers in the order of their domains. ``order``
    (n,): all rows, at random. The whole table, as one bucket, keeps l, and has ``bucket_size``
    rows; ValueError where it does not keep l.
    """
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
    order = order[in_order(cells.of_row[order])]  # cells stand in the order of q and then of values
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


def _places(codes: Integers) -> Floats:
    """The share of rows that stand before each, equal ones counting half: in [0, 1], shape (n,)."""
    counts = np.bincount(codes)
    return ((np.cumsum(counts) - counts / 2) / len(codes))[codes]
