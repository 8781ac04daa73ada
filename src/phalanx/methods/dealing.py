"""Buckets of slicing that are not cut but dealt: at random, or against membership disclosure.

Somebody who asks whether a tuple is in the table looks at how many buckets it matches, and at its matching degree f(t): the buckets leave open many candidate
tuples that are in no table, and they help whoever is in it as far as they match no less. Boxes give a tuple away by its degree, since frequent values of the
sensitive column lend it to the candidates that are likely to be true; random buckets also by the number of matches. ``against_membership`` takes both away as far as
it can: values of the sensitive column stand in a bucket equally often, so that they say nothing about which candidate is true, and tuples that agree on everything
else come together, so that candidates match few buckets. What is left comes from combinations that are frequent in the table: more of
their candidates are true.

Ours; Li, Li, Zhang, Molloy leave it open (section 7). Equal counts of the currently most frequent values are the way of Xiao & Tao, VLDB 2006 (Anatomy).
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from phalanx.methods.tuples import Coded, Codes, Ints, numbered
from phalanx.randomness import Stream


def at_random(rows: int, size: int, stream: Stream) -> Ints:
    """Buckets of ``size`` rows dealt at random, the last ones one larger; shape (rows,)."""
    buckets = np.empty(rows, dtype=np.int64)
    buckets[stream.permutation(rows)] = np.arange(rows) % max(1, rows // size)
    return buckets


def against_membership(coded: Coded, size: int, l: Fraction, stream: Stream, *, shares: bool = True) -> Ints:
    """Buckets of at least ``size`` rows, shape (n,), in which the values of the sensitive column stand equally often, as far as the table allows.

    For each q, blocks are taken of equally many rows of each of the ceil(l) values s that are left most often, as many at once as leave the rest l-eligible
    (where ``shares`` says that l bounds shares). Rows of a value come in the order of their other columns. Large blocks are buckets; small ones, of
    rare q, are put together in that order. The few rows left join blocks of their q that have their value least.
    """
    order = _in_order(coded, stream)
    place = np.empty(coded.rows, dtype=np.int64)
    place[order] = np.arange(coded.rows)
    cells = coded.cells
    by_cell = order[np.argsort(cells.of_row[order], kind="stable")]
    ends = np.cumsum(np.bincount(cells.of_row, minlength=len(cells.q)))
    piles = [by_cell[a:b] for a, b in zip(np.concatenate([[0], ends[:-1]]), ends, strict=True)]
    large: list[Ints] = []
    small: list[Ints] = []
    left: list[Ints] = []
    for q in range(len(cells.first) - 1):
        of_q = piles[int(cells.first[q]) : int(cells.first[q + 1])]
        blocks, rest = _blocks(of_q, size, l, shares=shares)
        left.append(rest)
        for block in blocks:
            (large if len(block) >= size else small).append(block)
    small.sort(key=_middle(place))
    gathered: list[Ints] = []
    for block in small:
        gathered.append(block)
        if sum(map(len, gathered)) >= size:
            large.append(np.concatenate(gathered))
            gathered = []
    rest = np.concatenate([*gathered, *left])
    if not large:
        return np.zeros(coded.rows, dtype=np.int64)
    buckets = np.full(coded.rows, -1, dtype=np.int64)
    for b, block in enumerate(large):
        buckets[block] = b
    _join(buckets, rest[stream.permutation(len(rest))], coded, len(large))
    return buckets


def _in_order(coded: Coded, stream: Stream) -> Ints:
    """The rows in the order of their other columns, equal ones at random."""
    others = numbered(list(coded.values[:-1])) if len(coded.values) > 1 else np.zeros(coded.rows, dtype=np.int32)
    shuffled = stream.permutation(coded.rows)
    return shuffled[np.argsort(others[shuffled], kind="stable")]


def _middle(place: Ints) -> Callable[[Ints], float]:
    def middle(block: Ints) -> float:
        return float(place[block].mean())

    return middle


def _blocks(piles: list[Ints], size: int, l: Fraction, *, shares: bool) -> tuple[list[Ints], Ints]:
    """Blocks of equally many rows of the largest piles, and the rows that are left; every pile is taken from its beginning."""
    width = math.ceil(l)
    counts = np.array([len(pile) for pile in piles], dtype=np.int64)
    taken = np.zeros(len(piles), dtype=np.int64)
    blocks = []
    while (counts > 0).sum() >= width:
        largest = np.argsort(-counts, kind="stable")
        chosen, rest = largest[:width], largest[width:]
        times = min(-(-size // width), int(counts[chosen[-1]]))
        if shares and len(rest):  # the others can still be covered by what remains
            times = max(1, min(times, int(counts.sum()) // width - int(counts[rest[0]])))
        blocks.append(np.concatenate([piles[i][taken[i] : taken[i] + times] for i in chosen.tolist()]))
        counts[chosen] -= times
        taken[chosen] += times
    return blocks, np.concatenate([pile[begin:] for pile, begin in zip(piles, taken.tolist(), strict=True)]) if piles else np.zeros(0, dtype=np.int64)


def _join(buckets: Ints, rows: Ints, coded: Coded, number: int) -> None:
    """Put rows into the buckets of their q in which their value has the smallest share; where no bucket has their q, all of it into one."""
    cells = coded.cells
    if not len(rows):
        return
    placed = np.flatnonzero(buckets >= 0)
    wanted, cell_of = np.unique(cells.of_row[rows], return_inverse=True)
    qs, q_of = np.unique(coded.values[-1][rows], return_inverse=True)
    of_cell, of_q = (_tally(buckets[placed], codes[placed], which, number) for codes, which in ((cells.of_row, wanted), (coded.values[-1], qs)))
    for row, cell, q in zip(rows.tolist(), cell_of.tolist(), q_of.tolist(), strict=True):
        hosts = np.flatnonzero(of_q[:, q] > 0)
        b = int(hosts[np.argmin((of_cell[hosts, cell] + 1) / (of_q[hosts, q] + 1))]) if len(hosts) else int(qs[q]) % number
        buckets[row] = b
        of_cell[b, cell] += 1
        of_q[b, q] += 1


def _tally(buckets: Ints, codes: Codes, which: Codes, number: int) -> Ints:
    """How many rows of each bucket have each of some ascending codes, shape (number, which)."""
    at = np.minimum(np.searchsorted(which, codes), len(which) - 1)
    there = which[at] == codes
    found = np.zeros((number, len(which)), dtype=np.int64)
    np.add.at(found, (buckets[there], at[there]), 1)
    return found


def merged(buckets: Ints, keeps: Callable[[Ints], bool]) -> Ints:
    """Buckets, 0 .. g-1, of which those that do not keep the promise are put together until all do; it is kept by all rows as one bucket."""
    order = np.argsort(buckets, kind="stable")
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
    found = np.empty(len(buckets), dtype=np.int64)
    for b, piece in enumerate(good):
        found[piece] = b
    return found
