"""Grouping against membership disclosure, which the slicing paper leaves open: buckets of few, equally frequent values, and swaps that hide what stands out.

Somebody who asks whether a tuple is in the table ranks the candidates, all combinations of column values that some bucket holds, by how many buckets they
match or by the matching degree f(t). Originals stand out: a value of the sensitive column that is frequent in a bucket is more often the true one, and a
combination of the other attributes that is frequent in the table has more originals among its candidates. Two steps take this away.

1. Parting cuts. Mondrian's cuts, but at each the values of the sensitive column part: those whose rows lie further left go left, as far as l allows. A
   bucket ends with about l of them for one combination of the attributes beside, none more frequent than 1/l, hence all about equally frequent: they say
   nothing about which candidate is true. Rows with equal other attributes meet different values in different buckets, so the more rows, the more candidates.
2. Swaps. Two rows with the same value of the sensitive column change places wherever that lowers a loss: the area under the ROC curve (AUC) of both
   adversaries, and the error of two-attribute counts across columns, as an analyst estimates them from the release. The AUC is a mean over pairs of
   candidates; what one swap does to it is seen through the ranks at the beginning of a round. No bucket's sensitive column changes, so neither does what any promise is about.

What no grouping changes: how frequent the values of every column are is published. Who knows which attributes go together ranks candidates by that.

Source: Li, Li, Zhang, Molloy, "Slicing", sections 5 and 7, name the problem; the method is ours.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from phalanx.kernels import membership as kernels
from phalanx.methods.m_invariance import largest_eligible
from phalanx.methods.tuples import Cells, Coded
from phalanx.randomness import Stream

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.integer]

_ROOM: Final = Fraction(9, 8)
"""Buckets are cut towards this multiple of the least size."""
_CANDIDATES: Final = 1 << 24
"""Pairs of values that one table of degrees may hold; larger tables are swapped block by block, each block of buckets by itself."""
_PROPOSALS: Final = 2
"""Swaps that are tried in a round, times the rows."""
_VALUES: Final = 16
"""Attributes with more values are counted in so many classes of about equally many rows."""
_WEIGHT: Final = 0.2
"""What the AUC of an adversary weighs beside the error of counts, which is 1 where buckets are random: more hides little more, and costs use."""


def group(coded: Coded, attributes: Integers, column_of: Sequence[int], *, bucket_size: int, l: Fraction, stream: Stream, rounds: int = 12) -> Ints:
    """Buckets 0 .. g-1 of ``bucket_size`` to about 1.5 times as many rows, shape (n,), in each of which no p(., s) is above 1/l.

    ``attributes`` (d, n): codes of the quasi-identifiers in the order of their domains; ``column_of`` (d,): which column each stands in. With more than two
    columns it stays with the first step: degrees are products over all columns then, and swaps that look at two raise them for originals. The
    whole table, as one bucket, keeps l (see :func:`eligible`).
    """
    bucket = parted(coded.cells, attributes, bucket_size=bucket_size, l=l, stream=stream)
    if len(coded.values) != 2:
        return bucket
    return swapped(bucket, coded, attributes, column_of, stream=stream, rounds=rounds)


def eligible(q: Integers, sensitive: Integers, l: int | Fraction, stream: Stream) -> Bools:
    """Which rows may stay so that no value has more than 1/l of the rows with its q, as many as possible, shape (n,); who is held back is drawn by lot."""
    cells = Cells.of(q.astype(np.int32), sensitive.astype(np.int32))
    counts = np.bincount(cells.of_row)
    cap = np.zeros(len(counts), dtype=np.int64)
    for start, end in zip(cells.first[:-1].tolist(), cells.first[1:].tolist(), strict=True):
        cap[start:end] = largest_eligible(counts[start:end], l)
    order = stream.permutation(len(q))
    order = order[np.argsort(cells.of_row[order], kind="stable")]
    stays = np.empty(len(q), dtype=bool)
    stays[order] = np.arange(len(q)) - (np.cumsum(counts) - counts)[cells.of_row[order]] < cap[cells.of_row[order]]
    return stays


def parted(cells: Cells, attributes: Integers, *, bucket_size: int, l: Fraction, stream: Stream) -> Ints:
    """The first step: buckets 0 .. g-1 by parting cuts, shape (n,), near ones with near numbers; ValueError where the whole table does not keep l."""
    of_q = np.bincount(cells.q[cells.of_row])
    if any(count * l > of_q[q] for count, q in zip(np.bincount(cells.of_row).tolist(), cells.q.tolist(), strict=True)):
        raise ValueError(f"some sensitive value has more than 1/{l} of the rows with its q in the whole table")
    positions = np.stack([_places(codes) for codes in attributes])
    wanted = max(1, math.floor(bucket_size * _ROOM))
    order, of_row = stream.permutation(len(cells.of_row)), cells.of_row.astype(np.int64)
    bucket: Ints = kernels.parting_cuts(positions, order, of_row, cells.q.astype(np.int64), bucket_size, wanted, l.numerator, l.denominator)
    return bucket


def swapped(bucket: Ints, coded: Coded, attributes: Integers, column_of: Sequence[int], *, stream: Stream, rounds: int = 12) -> Ints:
    """The second step, for two columns and any ``bucket`` (n,), 0 .. g-1: buckets of the same sizes, with the same sensitive column, value for value."""
    state = _State.of(bucket, coded.cells, attributes, column_of)
    blocks = list(_blocks(state, coded.values[0].astype(np.int64), coded.cells.of_row.astype(np.int64)))
    found = np.sum([kernels.histograms(*block.candidates(state)) for block in blocks], axis=0)
    for _ in range(rounds):
        costs = _costs(found[:2]), _costs(found[2:])
        found = np.sum([block.swap(state, costs, stream) for block in blocks], axis=0)
    return state.bucket


def _costs(histograms: Ints) -> Floats:
    """What one more candidate in each class, fake or original, adds to an adversary's AUC, ties counting half, times its weight; shape (2, classes).

    An original candidate adds the share of fake ones below it; a fake one the share of originals above it, less the mean of that share, which is the AUC.
    """
    fake, original = histograms.astype(np.float64)
    fakes, originals = max(fake.sum(), 1.0), max(original.sum(), 1.0)
    below = (np.cumsum(fake) - fake / 2) / fakes
    above = 1 - (np.cumsum(original) - original / 2) / originals
    area = float((original * below).sum() / originals)
    return _WEIGHT * np.stack([(above - area) / fakes, below / originals])


@dataclass(frozen=True, eq=False)
class _State:
    """The buckets, and what is kept of them while rows change places: arrays as the kernel describes them."""

    bucket: Ints
    member: Ints
    slot: Ints
    sizes: Ints
    weights: Ints
    codes: Ints
    counts: Floats
    errors: Floats
    prices: Floats

    @classmethod
    def of(cls, bucket: Ints, cells: Cells, attributes: Integers, column_of: Sequence[int]) -> "_State":
        n, sizes = len(bucket), np.bincount(bucket)
        order = np.argsort(bucket, kind="stable")
        slot = np.empty(n, dtype=np.int64)
        slot[order] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        member = np.zeros((len(sizes), int(sizes.max())), dtype=np.int64)
        member[bucket, slot] = np.arange(n)
        weights = np.maximum(1, np.rint(kernels.UNIT * sizes.mean() ** 2 / sizes**2)).astype(np.int64)
        codes, column = _numbered_through([*attributes, cells.s[cells.of_row]], [*column_of, max(column_of)])
        counts, together = np.zeros((len(sizes), len(column))), np.zeros((len(column), len(column)))
        for one in codes.T:
            np.add.at(counts, (bucket, one), 1)
            for other in codes.T:
                np.add.at(together, (one, other), 1)
        expected = np.outer(counts.sum(axis=0), counts.sum(axis=0)) / n
        prices = np.where(column[:, None] != column, 1 / np.maximum(expected, 5), 0.0)  # as chi^2 weighs them, where it may be used
        prices /= max(float((prices * (together - expected) ** 2).sum()) / 2, 1e-9)
        return cls(bucket.copy(), member, slot, sizes.astype(np.int64), weights, codes, counts, counts.T @ (counts / sizes[:, None]) - together, prices)


@dataclass(frozen=True, eq=False)
class _Block:
    """Buckets ``first .. last-1``, whose candidates fit into one table; values are numbered for this block."""

    first: int
    last: int
    rows: Ints
    others: Ints
    """Shape (n,), of the block's rows."""
    cells: Ints
    """Shape (n,), of the block's rows."""
    shape: tuple[int, int]
    """How many others and cells there are."""
    entries: tuple[Ints, Ints, Ints]
    """Which cells each bucket holds: where its entries begin (buckets of the table + 1,), their cells, their counts."""

    def candidates(self, state: _State) -> tuple[Ints, npt.NDArray[np.int32]]:
        part = slice(self.first, self.last)
        begins, cell_of, count_of = self.entries
        about = begins[self.first : self.last + 1], cell_of, count_of
        found: tuple[Ints, npt.NDArray[np.int32]] = kernels.candidates(
            state.member[part], state.sizes[part], state.weights[part], self.others, self.cells, *about, *self.shape
        )
        return found

    def swap(self, state: _State, costs: tuple[Floats, Floats], stream: Stream) -> Ints:
        """One round of swaps within the block; returns the histograms after it."""
        degrees, matches = self.candidates(state)
        kernels.swaps(
            *(*self._pairs(state, stream), state.bucket, state.member, state.slot, state.sizes, state.weights, self.others, *self.entries, self.shape[1]),
            *(degrees, matches, *costs, state.codes, state.counts, state.errors, state.prices),
        )
        found: Ints = kernels.histograms(degrees, matches)
        return found

    def _pairs(self, state: _State, stream: Stream) -> tuple[Ints, Ints]:
        """Rows, and partners of the same cell: so many steps away, in the order of buckets, that all orders of magnitude are alike."""
        m = _PROPOSALS * len(self.rows)
        at = stream.integers(len(self.rows), m)
        cell = self.cells[self.rows]
        order = np.lexsort((state.bucket[self.rows], cell))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        counts = np.bincount(cell)
        start, length = (np.cumsum(counts) - counts)[cell[at]], counts[cell[at]]
        steps = np.exp(stream.integers(1 << 53, m) / (1 << 53) * np.log(np.maximum(length / 2, 2))).astype(np.int64)
        steps = np.where(stream.integers(2, m) == 0, steps, -steps)
        return self.rows[at], self.rows[order[start + (place[at] - start + steps) % length]]


def _blocks(state: _State, others: Ints, cells: Ints) -> Iterator[_Block]:
    """Runs of buckets, each as long as its table of candidates has place for; a single bucket is not parted."""
    order, ends = np.argsort(state.bucket, kind="stable"), np.cumsum(state.sizes)
    pending = [(0, len(ends))]
    while pending:
        first, last = pending.pop()
        rows = order[(ends[first - 1] if first else 0) : ends[last - 1]]
        (values, other_of), (kinds, cell_of) = (np.unique(codes[rows], return_inverse=True) for codes in (others, cells))
        if len(values) * len(kinds) > _CANDIDATES and last - first > 1:
            middle = (first + last) // 2
            pending += [(middle, last), (first, middle)]
            continue
        block_others, block_cells = np.zeros(len(order), dtype=np.int64), np.zeros(len(order), dtype=np.int64)
        block_others[rows], block_cells[rows] = other_of, cell_of
        keys, count_of = np.unique(state.bucket[rows] * len(kinds) + cell_of, return_counts=True)
        begins = np.searchsorted(keys // len(kinds), np.arange(len(ends) + 1)).astype(np.int64)
        yield _Block(first, last, rows, block_others, block_cells, (len(values), len(kinds)), (begins, keys % len(kinds), count_of.astype(np.int64)))


def _places(codes: Integers) -> Floats:
    """The share of rows that stand before each, equal ones counting half: in [0, 1], shape (n,)."""
    counts = np.bincount(codes)
    return ((np.cumsum(counts) - counts / 2) / len(codes))[codes]


def _numbered_through(attributes: Sequence[Integers], column_of: Sequence[int]) -> tuple[Ints, Ints]:
    """Codes of attributes in at most so many classes each, numbered from one attribute to the next (n, a); and the column of each number."""
    coded, columns = [], list[int]()
    for codes, column in zip(attributes, column_of, strict=True):
        _, dense, counts = np.unique(codes, return_inverse=True, return_counts=True)
        if len(counts) > _VALUES:
            classes = ((np.cumsum(counts) - counts / 2) * _VALUES / len(codes)).astype(np.int64)
            dense = np.unique(classes[dense], return_inverse=True)[1]
        coded.append(dense + len(columns))
        columns += [column] * (int(dense.max()) + 1)
    return np.ascontiguousarray(np.stack(coded, axis=1).astype(np.int64)), np.array(columns, dtype=np.int64)
