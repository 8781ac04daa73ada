"""p(t, s): how probable a sliced release makes each sensitive value of a tuple, exactly (Li, Li, Zhang, Molloy, section 4.1; ours for shared attributes)."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from phalanx.guarantees.exact import Ints
from phalanx.guarantees.sliced_view import View

MOST_CANDIDATES = 2_000_000
"""So many candidate tuples are looked at one by one; a release that leaves more of them open has not shown what it promises."""
_PAIRS = 1 << 21
"""Pairs of tuple and matching bucket that are held at once."""


@dataclass(frozen=True, eq=False)
class Matches:
    """The matching buckets of some tuples, as pairs: ``tuple`` (a row of what was asked), ``bucket`` and ``share``."""

    tuple: Ints
    bucket: Ints
    above: Ints
    below: Ints
    """f(t, B) = above / below, the share of the bucket's tuples that equal t if its columns are joined at random, each of shape (p,)."""


def matches(view: View, tuples: Ints) -> Iterator[Matches]:
    """All matching buckets of tuples, shape (n, c), some tuples at a time: the buckets that hold each of a tuple's column values.

    A column that shares attributes with its parent in the join tree is joined with it at random among the tuples that agree on these; where nothing is
    shared, among all tuples of the bucket, which is the paper's f(t, B).
    """
    lengths = np.stack([np.diff(side.first)[tuples[:, i]] for i, side in enumerate(view.sides)], axis=1) if len(tuples) else np.zeros((0, 1), np.int64)
    rarest = np.argmin(lengths, axis=1)
    work = np.cumsum(lengths.min(axis=1, initial=np.iinfo(np.int64).max)) if len(tuples) else np.zeros(0, np.int64)
    start = 0
    while start < len(tuples):
        stop = max(start + 1, int(np.searchsorted(work, (work[start - 1] if start else 0) + _PAIRS, side="right")))
        parts = [_matches(view, tuples, np.flatnonzero(rarest[start:stop] == i) + start, i) for i in range(len(view.sides))]
        yield Matches(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("tuple", "bucket", "above", "below")))
        start = stop


def _matches(view: View, tuples: Ints, which: Ints, rarest: int) -> Matches:
    """Of the tuples whose rarest value is in one column: every bucket with that value that has the other ones, too."""
    first = view.sides[rarest].first
    length = (first[1:] - first[:-1])[tuples[which, rarest]]
    owner = np.repeat(which, length)
    cell = np.repeat(first[tuples[which, rarest]], length) + np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    bucket = view.sides[rarest].bucket[cell]
    above, below = np.ones(len(owner), dtype=object), np.ones(len(owner), dtype=object)
    for i, side in enumerate(view.sides):
        at, there = side.find(bucket, tuples[owner, i])
        owner, bucket, above, below, at = owner[there], bucket[there], above[there], below[there], at[there]
        above, below = above * side.count[at], below * side.within[at]  # Python's integers: products of many columns pass 64 bits
    return Matches(owner, bucket, above, below)


@dataclass(frozen=True, eq=False)
class Distribution:
    """p(t, .) of one tuple, exactly: ``values`` are places among the sensitive values."""

    values: list[int]
    shares: list[Fraction]


def distributions(view: View, tuples: Ints) -> Iterator[tuple[int, Distribution]]:
    """p(t, .) of every tuple that matches some bucket, with its row in ``tuples``."""
    if view.sensitive is None:
        raise ValueError("p(t, s) is about a sensitive attribute")
    groups, q = view.sensitive, len(view.sides[-1].values)
    key = view.cell_bucket * q + view.cell_value
    ends = np.append(groups.starts[1:], len(groups.cell_group))
    for found in matches(view, tuples):
        of_pair = np.searchsorted(key, found.bucket * q + tuples[found.tuple, -1])
        order = np.argsort(found.tuple, kind="stable")
        owners, begins = np.unique(found.tuple[order], return_index=True)
        for owner, pairs in zip(owners.tolist(), np.split(order, begins[1:]), strict=True):
            sums: dict[int, Fraction] = {}
            for pair in pairs.tolist():
                g = int(of_pair[pair])
                share = Fraction(found.above[pair], found.below[pair] * int(groups.sizes[g]))
                for cell in range(int(groups.starts[g]), int(ends[g])):
                    value = int(groups.cell_value[cell])
                    sums[value] = sums.get(value, Fraction(0)) + share * int(groups.cell_count[cell])
            total = sum(sums.values(), Fraction(0))
            yield owner, Distribution(list(sums), [x / total for x in sums.values()])


def largest(view: View, tuples: Ints) -> tuple[Fraction, int, int]:
    """The largest p(t, s), with the tuple's row and the value; (0, -1, -1) where no tuple matches a bucket.

    Floating point only chooses the candidates, each within a few parts in 2**40 of its true value; these are computed as fractions.
    """
    if view.sensitive is None:
        raise ValueError("p(t, s) is about a sensitive attribute")
    groups, q = view.sensitive, len(view.sides[-1].values)
    key = view.cell_bucket * q + view.cell_value
    lengths = np.diff(np.append(groups.starts, len(groups.cell_group)))
    values = int(groups.cell_value.max(initial=0)) + 1
    best, chosen = -1.0, np.zeros(0, dtype=np.int64)
    for found in matches(view, tuples):
        if not len(found.tuple):
            continue
        g = np.searchsorted(key, found.bucket * q + tuples[found.tuple, -1])
        share = (found.above / found.below).astype(np.float64)
        owners, local = np.unique(found.tuple, return_inverse=True)
        total = np.bincount(local, weights=share)
        times = lengths[g]
        cell = np.repeat(groups.starts[g], times) + np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)
        weight = np.repeat(share / groups.sizes[g], times) * groups.cell_count[cell]
        where, place = np.unique(np.repeat(local, times) * values + groups.cell_value[cell], return_inverse=True)
        p = np.bincount(place, weights=weight) / total[where // values]
        most = np.zeros(len(owners))
        np.maximum.at(most, where // values, p)
        near = most >= max(best, most.max()) * (1 - 1e-12)
        if most.max() > best * (1 + 1e-12):
            chosen = owners[near]
        else:
            chosen = np.concatenate([chosen, owners[near]])
        best = max(best, float(most.max()))
    worst = (Fraction(0), -1, -1)
    for row, p_t in distributions(view, tuples[chosen]):
        i = max(range(len(p_t.shares)), key=p_t.shares.__getitem__)
        if p_t.shares[i] > worst[0]:
            worst = (p_t.shares[i], int(chosen[row]), p_t.values[i])
    return worst


def candidates(view: View, bucket: Ints, value: Ints) -> Ints | None:
    """All tuples that somebody may be, by the files alone, who match one of the buckets with that value in the sensitive column; None for too many.

    ``bucket`` and ``value`` (b,): the pairs. A candidate takes a value from every column of the bucket, with equal values of attributes that columns share.
    """
    of_pair = pl.DataFrame({"\0bucket": bucket, f"\0{len(view.sides) - 1}": value})
    if not of_pair.height:
        return np.zeros((0, len(view.sides)), dtype=np.int64)
    found = _with_attributes(of_pair, view, len(view.sides) - 1)
    for i in range(len(view.sides) - 2, -1, -1):
        side = view.sides[i]
        cells = _with_attributes(pl.DataFrame({"\0bucket": side.bucket, f"\0{i}": side.value}), view, i)
        shared = [c for c in cells.columns if c in found.columns]
        expected = found.join(cells.group_by(shared).agg(pl.len().alias("\0n")), on=shared, how="inner", nulls_equal=True)["\0n"].sum()
        if int(expected or 0) > MOST_CANDIDATES:
            return None
        found = found.join(cells, on=shared, how="inner", nulls_equal=True)
    return found.select(f"\0{i}" for i in range(len(view.sides))).unique().to_numpy().astype(np.int64)


def _with_attributes(cells: pl.DataFrame, view: View, i: int) -> pl.DataFrame:
    """Cells of one column beside their attributes' values, so that columns are joined on what they share."""
    side = view.sides[i]
    if not side.attributes:
        return cells
    return pl.concat([cells, side.values[cells[f"\0{i}"].to_numpy()]], how="horizontal")
