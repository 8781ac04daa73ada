# SPDX-License-Identifier: Apache-2.0
"""p(t, s): how probable a sliced release makes each sensitive value of a tuple, exactly (Li, Li,
Zhang, Molloy, section 3.2; ours for shared attributes).

Matching buckets are weighed in two ways. By *shares* f(t, B), as the paper has it, every bucket is
as likely as any other to be t's before anything is known of it. By *rows*, |B| f(t, B), every
published row is. Where the sensitive attribute stands alone beside one other column, the latter
counts all worlds in which each person has some row: the tests list them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from operator import attrgetter
from typing import Final, Literal

import numpy as np
import polars as pl

from phalanx.arrays import Floats, Ints, in_order
from phalanx.guarantees.views.groups import Groups
from phalanx.guarantees.views.sliced import View

Weighing = Literal["shares", "rows"]
WEIGHINGS: Final[tuple[Weighing, ...]] = ("shares", "rows")
Figure = Fraction | float
"""A figure of some p(t, .): a fraction, or infinity."""

MOST_CANDIDATES: Final = 2_000_000
"""So many candidate tuples are looked at one by one; a release that leaves more of them open has
not shown what it promises.
"""
_PAIRS: Final = 1 << 21
"""Pairs of tuple and matching bucket that are held at once."""
_SMALL: Final = 2.0**-900
"""Shares below this come near to what floating point cannot tell from 0."""
_ROUNDING: Final = 1e-9
"""More than rounding costs a figure: the sums are of positive numbers, 2**22 of them at most."""


@dataclass(frozen=True, eq=False)
class Matches:
    """The matching buckets of some tuples, as pairs: ``tuple`` (a row of what was asked),
    ``bucket`` and ``share``.
    """

    tuple: Ints
    bucket: Ints
    above: Ints
    below: Ints
    """f(t, B) = above / below, the share of the bucket's tuples that equal t if its columns are
    joined at random, each of shape (p,).
    """

    def weighed(self, view: View, by: Weighing) -> "Matches":
        """The same with |B| f(t, B), how many tuples of the bucket equal t, in the place of f(t,
        B), where buckets are weighed by rows.
        """
        return (
            replace(self, above=self.above * view.sizes[self.bucket].astype(object))
            if by == "rows"
            else self
        )


def matches(view: View, tuples: Ints) -> Iterator[Matches]:
    """All matching buckets of tuples, shape (n, c), some tuples at a time: the buckets that hold
    each of a tuple's column values.

    A column that shares attributes with its parent in the join tree is joined with it at random
    among the tuples that agree on these; where nothing is shared, among all tuples of the bucket,
    which is the paper's f(t, B). A tuple with -1, a value that is nowhere in the release, matches
    no bucket.
    """
    possible = np.flatnonzero((tuples >= 0).all(axis=1))
    if not len(possible):
        return
    lengths = np.stack(
        [np.diff(side.first)[tuples[possible, i]] for i, side in enumerate(view.sides)], axis=1
    )
    rarest = np.argmin(lengths, axis=1)
    work = np.cumsum(lengths.min(axis=1))
    start = 0
    while start < len(possible):
        stop = max(
            start + 1,
            int(np.searchsorted(work, (work[start - 1] if start else 0) + _PAIRS, side="right")),
        )
        some, rare = possible[start:stop], rarest[start:stop]
        parts = [_matches(view, tuples, some[rare == i], i) for i in range(len(view.sides))]
        yield Matches(
            *(
                np.concatenate([getattr(p, name) for p in parts])
                for name in ("tuple", "bucket", "above", "below")
            )
        )
        start = stop


def _matches(view: View, tuples: Ints, which: Ints, rarest: int) -> Matches:
    """Of the tuples whose rarest value is in one column: every bucket with that value that has the
    other ones, too.
    """
    first = view.sides[rarest].first
    length = (first[1:] - first[:-1])[tuples[which, rarest]]
    owner = np.repeat(which, length)
    cell = (
        np.repeat(first[tuples[which, rarest]], length)
        + np.arange(int(length.sum()))
        - np.repeat(np.cumsum(length) - length, length)
    )
    bucket = view.sides[rarest].bucket[cell]
    above, below = np.ones(len(owner), dtype=object), np.ones(len(owner), dtype=object)
    for i, side in enumerate(view.sides):
        at, there = side.find(bucket, tuples[owner, i])
        owner, bucket, above, below, at = (
            owner[there],
            bucket[there],
            above[there],
            below[there],
            at[there],
        )
        above, below = (
            above * side.count[at],
            below * side.within[at],
        )  # Python's integers: products of many columns pass 64 bits
    return Matches(owner, bucket, above, below)


@dataclass(frozen=True, eq=False)
class Distribution:
    """p(t, .) of one tuple, exactly: ``values`` are places among the sensitive values."""

    values: list[int]
    shares: list[Fraction]


def distributions(view: View, tuples: Ints, by: Weighing) -> Iterator[tuple[int, Distribution]]:
    """p(t, .) of every tuple that matches some bucket, with its row in ``tuples``."""
    groups, of_pair = _groups_of_pairs(view, tuples)
    starts, ends = (
        groups.starts.tolist(),
        np.append(groups.starts[1:], len(groups.cell_group)).tolist(),
    )
    sizes, values, counts = (
        groups.sizes.tolist(),
        groups.cell_value.tolist(),
        groups.cell_count.tolist(),
    )
    for matching in matches(view, tuples):
        weighed, group = matching.weighed(view, by), of_pair(matching)
        order = in_order(weighed.tuple)
        owners, begins = np.unique(weighed.tuple[order], return_index=True)
        for owner, pairs in zip(owners.tolist(), np.split(order, begins[1:]), strict=True):
            among = group[pairs].tolist()
            below = [b * sizes[g] for b, g in zip(weighed.below[pairs], among, strict=True)]
            whole = lcm(*below)
            sums: dict[int, int] = {}
            for g, a, b in zip(among, weighed.above[pairs], below, strict=True):
                weight = a * (whole // b)
                for cell in range(starts[g], ends[g]):
                    sums[values[cell]] = sums.get(values[cell], 0) + weight * counts[cell]
            total = sum(sums.values())
            yield owner, Distribution(list(sums), [Fraction(x, total) for x in sums.values()])


@dataclass(frozen=True, eq=False)
class Rough:
    """p(t, .) of some tuples that match a bucket, in floating point, as entries by tuple and value;
    only values with p(t, s) above 0 have one.

    Every entry is within a relative 2**-52 times the number of matching buckets of p(t, s).
    """

    tuples: Ints
    """Rows of what was asked, ascending, shape (u,)."""
    owner: Ints
    """A place in ``tuples``, ascending, shape (e,)."""
    value: Ints
    """A place among the sensitive values, ascending for each owner, shape (e,)."""
    p: Floats
    """Shape (e,)."""

    @cached_property
    def largest(self) -> Floats:
        """The largest p(t, s) of each tuple, shape (u,)."""
        first = np.searchsorted(self.owner, np.arange(len(self.tuples)))
        largest: Floats = np.maximum.reduceat(self.p, first)
        return largest

    def summed(self, entries: Floats) -> Floats:
        """The sum of entries over each tuple, shape (u,)."""
        return np.bincount(self.owner, weights=entries, minlength=len(self.tuples)).astype(
            np.float64
        )


def roughly(view: View, tuples: Ints, by: Weighing) -> Iterator[Rough]:
    """p(t, .) of all tuples that match a bucket, some of them at a time."""
    groups, of_pair = _groups_of_pairs(view, tuples)
    lengths = np.diff(np.append(groups.starts, len(groups.cell_group)))
    values = int(groups.cell_value.max(initial=0)) + 1
    for matching in matches(view, tuples):
        weighed, group = matching.weighed(view, by), of_pair(matching)
        owners, local = np.unique(weighed.tuple, return_inverse=True)
        share = _shares(weighed, local, len(owners))
        total = np.bincount(local, weights=share)
        times = lengths[group]
        cell = (
            np.repeat(groups.starts[group], times)
            + np.arange(int(times.sum()))
            - np.repeat(np.cumsum(times) - times, times)
        )
        weight = np.repeat(share / groups.sizes[group], times) * groups.cell_count[cell]
        where, place = np.unique(
            np.repeat(local, times) * values + groups.cell_value[cell], return_inverse=True
        )
        yield Rough(
            owners,
            where // values,
            where % values,
            np.bincount(place, weights=weight) / total[where // values],
        )


def _shares(matching: Matches, local: Ints, owners: int) -> Floats:
    """f(t, B), or |B| f(t, B), in floating point, where it would be too small for that times a
    power of two, the same for all buckets of a tuple.
    """
    share = (matching.above / matching.below).astype(np.float64)
    if share.min(initial=1) > _SMALL:
        return share
    bits = np.array(
        [
            b.bit_length() - a.bit_length()
            for a, b in zip(matching.above.tolist(), matching.below.tolist(), strict=True)
        ],
        dtype=np.int64,
    )
    least = np.full(owners, np.iinfo(np.int64).max)
    np.minimum.at(least, local, np.maximum(bits, 0))
    return np.array(
        [
            (a << k) / b
            for a, b, k in zip(
                matching.above.tolist(), matching.below.tolist(), least[local].tolist(), strict=True
            )
        ]
    )


def worst(
    view: View,
    tuples: Ints,
    rough: Callable[[Rough], Floats],
    exact: Callable[[Distribution], Figure],
) -> tuple[Figure, int, Distribution | None]:
    """The largest figure of p(t, .) over all tuples and both ways to weigh buckets, the tuple's row
    and its p(t, .); (0, -1, None) where none matches a bucket.

    Floating point only chooses the candidates: tuples whose ``rough`` figure is as large as any, up
    to what rounding may have cost. These are computed as fractions.
    """
    worst_figure: tuple[Figure, int, Distribution | None] = (Fraction(0), -1, None)
    for by in WEIGHINGS:
        best, rows, figures = -np.inf, np.zeros(0, dtype=np.int64), np.zeros(0)
        for some in roughly(view, tuples, by):
            rows, figures = (
                np.concatenate([rows, some.tuples]),
                np.concatenate([figures, rough(some)]),
            )
            best = figures.max(initial=best)
            near = figures >= (best if np.isinf(best) else best - _ROUNDING * (1 + abs(best)))
            rows, figures = rows[near], figures[near]
        for row, p_t in distributions(view, tuples[rows], by):
            figure = exact(p_t)
            if worst_figure[2] is None or figure > worst_figure[0]:
                worst_figure = figure, int(rows[row]), p_t
    return worst_figure


def largest(view: View, tuples: Ints) -> tuple[Fraction, int, int]:
    """The largest p(t, s) by shares or by rows, with the tuple's row and the value; (0, -1, -1)
    where no tuple matches a bucket.
    """
    figure, row, p_t = worst(view, tuples, attrgetter("largest"), largest_share)
    if p_t is None:
        return Fraction(0), -1, -1
    return Fraction(figure), row, p_t.values[p_t.shares.index(Fraction(figure))]


def largest_share(p_t: Distribution) -> Fraction:
    """The largest p(t, s) of one tuple."""
    return max(p_t.shares)


def _groups_of_pairs(view: View, tuples: Ints) -> tuple[Groups, Callable[[Matches], Ints]]:
    """The counts of sensitive values, and which group of them each pair of a tuple and a bucket is
    about.
    """
    if view.sensitive is None:
        raise ValueError("p(t, s) is about a sensitive attribute")
    q = len(view.sides[-1].values)
    key = view.cell_bucket * q + view.cell_value
    return view.sensitive, lambda pairs: np.searchsorted(
        key, pairs.bucket * q + tuples[pairs.tuple, -1]
    ).astype(np.int64)


def candidates(view: View, bucket: Ints, value: Ints) -> Ints | None:
    """All tuples that a person may be, by the files alone, who match one of the buckets with that
    value in the sensitive column; None for too many.

    ``bucket`` and ``value`` (b,): the pairs. A candidate takes a value from every column of the
    bucket, with equal values of attributes that columns share.
    """
    of_pair = pl.DataFrame({"\0bucket": bucket, f"\0{len(view.sides) - 1}": value})
    if not of_pair.height:
        return np.zeros((0, len(view.sides)), dtype=np.int64)
    pairs = _with_attributes(of_pair, view, len(view.sides) - 1)
    for i in range(len(view.sides) - 2, -1, -1):
        side = view.sides[i]
        cells = _with_attributes(
            pl.DataFrame({"\0bucket": side.bucket, f"\0{i}": side.value}), view, i
        )
        shared = [c for c in cells.columns if c in pairs.columns]
        expected = pairs.join(
            cells.group_by(shared).agg(pl.len().alias("\0n")),
            on=shared,
            how="inner",
            nulls_equal=True,
        )["\0n"].sum()
        if int(expected or 0) > MOST_CANDIDATES:
            return None
        pairs = pairs.join(cells, on=shared, how="inner", nulls_equal=True)
    return (
        pairs.select(f"\0{i}" for i in range(len(view.sides))).unique().to_numpy().astype(np.int64)
    )


def _with_attributes(cells: pl.DataFrame, view: View, i: int) -> pl.DataFrame:
    """Cells of one column beside their attributes' values, so that columns are joined on what they
    share.
    """
    side = view.sides[i]
    if not side.attributes:
        return cells
    return pl.concat([cells, side.values[cells[f"\0{i}"].to_numpy()]], how="horizontal")
