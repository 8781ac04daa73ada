# SPDX-License-Identifier: Apache-2.0
"""How far a table is from its original: shares of values, of pairs and of triples, how attributes
go together, and whether the two can be told apart.
"""

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from phalanx.arrays import Bools, Floats, Ints, different, firsts, row_numbers
from phalanx.data.correlation import contingency_of
from phalanx.utility.bins import Bins, Coded

_AT_ONCE: Final = 1 << 20
"""So many rows are counted at a time, at least."""
_DENSE: Final = 4
"""Of so many combinations for each row there is a table, as it is faster than sorting."""
_MOST_DENSE: Final = 1 << 24
_MOST_TRIPLES: Final = 60
_MOST_PAIRS: Final = 10_000
"""Those of 141 attributes; of more attributes, some are looked at."""
_MOST_COUNTED: Final = 100
"""Of more attributes a product of matrices is faster than to count each pair of them."""
_BLOCK: Final = 2048
"""So many rows are multiplied at a time."""
_ROUNDS: Final = 100
_SLOW: Final = 1 / 4
"""Where a step is more than this part of the one before it, curvature is measured anew."""
_ROUNDING: Final = 1e-4
"""Smaller steps that shrink no more are rounding, which of many rows comes to more than 1e-8."""
_NOISE: Final = 1e-12
"""What is less likely by this part may be rounding."""
_RIDGE: Final = 1e-3
_MOST_VALUES: Final = 1000
"""Rows are told apart by so many values: a regression takes the cube of their number."""


def total_variation(one: Coded, other: Coded, bins: Bins, k: int) -> float | None:
    """Half the sum of differences of shares, over all combinations of k attributes (of many, some
    in a fixed order), on average; None for fewer than k.
    """
    sets = _sets(list(one), k, _MOST_TRIPLES)
    if not sets:
        return None
    return float(np.mean([_distance(one, other, bins, chosen) for chosen in sets]))


def pairs(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Every two attributes, in order; of many, some in a fixed order, 10,000 at most."""
    return _sets(names, 2, _MOST_PAIRS)


def _sets(names: Sequence[str], k: int, most: int) -> list[tuple[str, ...]]:
    """The sets of k names, in order; where there are more than ``most``, each of as many after the
    one before, without a list of all, of which a thousand names have 166 million of three.
    """
    there_are = math.comb(len(names), k)
    if there_are <= most:
        return list(itertools.combinations(names, k))
    step = math.ceil(there_are / most)
    return [_set(names, k, place) for place in range(0, there_are, step)]


def _set(names: Sequence[str], k: int, place: int) -> tuple[str, ...]:
    """The set at a place among those of k names, in their order; each name is looked for by halves,
    as so many sets begin with one of those before it.
    """
    chosen, at, n = [], 0, len(names)
    for more in range(k, 0, -1):
        last = math.comb(n - at, more) - place  # so many sets are left, this one among them
        first = bisect_right(range(at + 1, n), -last, key=lambda x: -math.comb(n - x, more)) + at
        place -= math.comb(n - at, more) - math.comb(n - first, more)
        chosen.append(names[first])
        at = first + 1
    return tuple(chosen)


def _distance(one: Coded, other: Coded, bins: Bins, names: Sequence[str]) -> float:
    sizes = [bins.size(name) for name in names]
    (first, of_first), (second, of_second) = (counted(t, names, sizes) for t in (one, other))
    cells, at = different(np.concatenate([first, second]))
    shares = np.zeros((2, len(cells)))
    shares[0, at[: len(first)]] = of_first / max(int(of_first.sum()), 1)
    shares[1, at[len(first) :]] = of_second / max(int(of_second.sum()), 1)
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def counted(table: Coded, names: Sequence[str], sizes: Sequence[int]) -> tuple[Ints, Ints]:
    """The combinations of values that rows have, ascending as numbers whose digits are the values,
    and how many rows have each, shape (c,); some rows at a time, as a table of all is large.

    >>> bits = {"a": np.array([1, 0, 1]), "b": np.array([1, 0, 1])}
    >>> counted(bits, ["a", "b"], [2, 2])
    (array([0, 3]), array([1, 2]))
    """
    n, all_there_are = len(table[names[0]]), math.prod(sizes)
    if all_there_are <= min(_DENSE * n, _MOST_DENSE):
        times = np.zeros(all_there_are, dtype=np.int64)
        for rows in _blocks(n, all_there_are):
            times += np.bincount(_keys(table, names, sizes, rows), minlength=all_there_are)
        cells = np.flatnonzero(times)
        return cells, times[cells]
    cells = times = np.zeros(0, dtype=np.int64)
    for rows in _blocks(n, n // 8):
        cells, at = different(np.concatenate([cells, _keys(table, names, sizes, rows)]))
        weight = np.ones(len(at))
        weight[: len(times)] = times
        times = np.bincount(at, weight, minlength=len(cells)).astype(np.int64)
    return cells, times


def _blocks(n: int, least: int) -> Iterator[slice]:
    """Rows one after the other, ``least`` or more at a time."""
    step = max(_AT_ONCE, least)
    return (slice(first, first + step) for first in range(0, n, step))


def _keys(table: Coded, names: Sequence[str], sizes: Sequence[int], rows: slice) -> Ints:
    """The combination of values of each of some rows as one number, shape (b,)."""
    key = table[names[0]][rows].astype(np.int64)
    for name, size in zip(names[1:], sizes[1:], strict=True):
        key *= size
        key += table[name][rows]
    return key


def phi2(table: Coded) -> Floats:
    """Mean-square contingency of :func:`pairs` of attributes, from 0 (nothing) to 1 (one says the
    other), shape (pairs,).
    """
    sizes = {name: int(codes.max(initial=0)) + 1 for name, codes in table.items()}
    alone = {}
    for name, size in sizes.items():
        values, times = counted(table, [name], [size])
        alone[name] = np.zeros(size, dtype=np.int64)
        alone[name][values] = times
    there_are = {name: int(np.count_nonzero(times)) for name, times in alone.items()}
    figures = []
    for a, b in pairs(list(table)):
        fewer = min(there_are[a], there_are[b])
        if fewer < 2:
            figures.append(0.0)
            continue
        cells, times = counted(table, [a, b], [sizes[a], sizes[b]])
        of_a, of_b = alone[a][cells // sizes[b]], alone[b][cells % sizes[b]]
        figures.append(contingency_of(times, of_a, of_b, fewer))
    return np.array(figures)


def propensity(one: Coded, other: Coded) -> float:
    """The mean squared difference from 1/2 of how probably a row is of the other table, by logistic
    regression on single values (Woo et al. 2009).

    0 where the tables cannot be told apart, 1/4 where every row can. Rows of the larger table weigh
    less, so that both weigh the same. Of attributes with more values the most frequent ones are
    told apart, ``_MOST_VALUES`` of all attributes together, and the others count as one; of more
    attributes than have two values each, every so-manieth is looked at.
    """
    n, others = (len(next(iter(table.values()))) for table in (one, other))
    codes = [np.zeros(n + others, dtype=np.int64)]  # what all rows share
    names = list(one)[:: math.ceil(2 * len(one) / _MOST_VALUES) or 1]
    for name in names:
        values = np.concatenate([one[name], other[name]])
        codes.append(_most_frequent(values, max(2, _MOST_VALUES // len(names))))
    # rows that have the same values are as one, which is of either table with its share
    alike = row_numbers(codes, n + others)
    there_are = int(alike.max(initial=-1)) + 1
    ours, theirs = (
        np.bincount(rows, minlength=there_are) * (0.5 / max(len(rows), 1)) * (n + others)
        for rows in (alike[:n], alike[n:])
    )
    weight, first = ours + theirs, firsts(alike)
    p = _probability(_regression([code[first] for code in codes], theirs / weight, weight))
    return float((weight * (p - 0.5) ** 2).sum() / weight.sum())


def _regression(codes: Sequence[Ints], target: Floats, weight: Floats) -> Floats:
    """The logarithms of the odds that each row is of the other table, shape (n,), by Newton's
    method; a step that would make likely what is less likely is halved until it does not, since
    where rows can be told apart for sure whole steps jump to and fro.
    """
    sizes = [int(code.max()) + 1 for code in codes]
    ends = np.cumsum([0, *sizes])
    estimated = np.concatenate([[True], *([False] + [True] * (size - 1) for size in sizes[1:])])
    beta, odds = np.zeros(ends[-1]), np.zeros(len(target))
    before, moved, unlikely = 0.0, np.inf, _unlikely(beta, odds, target, weight)
    for _ in range(_ROUNDS):
        p = _probability(odds)
        slope = _by_value(weight * (target - p), codes, sizes) - _RIDGE * beta
        if moved > _SLOW * before:  # to measure curvature takes nearly all of the time
            of_pairs = _by_pair if len(codes) <= _MOST_COUNTED else _multiplied
            hessian = of_pairs(weight * p * (1 - p), codes, ends, estimated)
            inverse = np.linalg.inv(hessian + _RIDGE * np.eye(len(hessian)))
        step = np.zeros(ends[-1])
        step[estimated] = inverse @ slope[estimated]
        more, part = _by_row(step, codes, ends), 1.0
        while (now := _unlikely(beta + part * step, odds + part * more, target, weight)) > (
            unlikely + _NOISE * abs(unlikely)
        ):
            part /= 2
        beta, odds, unlikely = beta + part * step, odds + part * more, now
        before, moved = moved, part * float(np.abs(step).max())
        if moved < 1e-8 or before <= moved < _ROUNDING:
            break
    return odds


def _unlikely(beta: Floats, odds: Floats, target: Floats, weight: Floats) -> float:
    """How unlikely the rows are by these odds, and the odds beforehand: what is to be least."""
    of_rows = weight * (np.logaddexp(0, odds) - target * odds)
    return float(of_rows.sum() + _RIDGE / 2 * (beta**2).sum())


def _most_frequent(values: Ints, most: int) -> Ints:
    """The values as codes from 0 on, of which there are ``most``: where there are more values, the
    last one stands for all but the most frequent.
    """
    code = different(values)[1]
    times = np.bincount(code)
    if len(times) <= most:
        return code
    rank = np.empty(len(times), dtype=np.int64)
    rank[np.argsort(-times, kind="stable")] = np.arange(len(times))
    return np.minimum(rank, most - 1)[code]


def _probability(odds: Floats) -> Floats:
    """How probably each row is of the other table, shape (n,), by the logarithms of the odds."""
    probability: Floats = 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
    return probability


def _by_row(of_values: Floats, codes: Sequence[Ints], ends: Ints) -> Floats:
    """What the values of each row add up to, shape (n,)."""
    sums = np.zeros(len(codes[0]))
    for end, code in zip(ends, codes, strict=False):
        sums += of_values[end:][code]
    return sums


def _by_value(of_rows: Floats, codes: Sequence[Ints], sizes: Sequence[int]) -> Floats:
    """What the rows of each value add up to, one attribute after the other."""
    parts = [np.bincount(c, of_rows, size) for c, size in zip(codes, sizes, strict=True)]
    return np.concatenate(parts)


def _by_pair(of_rows: Floats, codes: Sequence[Ints], ends: Ints, estimated: Bools) -> Floats:
    """The same of the rows that have two ``estimated`` values, so that no table of all rows and all
    values is made.
    """
    sums = np.zeros((ends[-1], ends[-1]))
    for i, j in itertools.combinations_with_replacement(range(len(codes)), 2):
        rows, columns = slice(ends[i], ends[i + 1]), slice(ends[j], ends[j + 1])
        wide = ends[j + 1] - ends[j]
        cells = np.bincount(codes[i] * wide + codes[j], of_rows, (ends[i + 1] - ends[i]) * wide)
        sums[rows, columns] = cells.reshape(-1, wide)
        sums[columns, rows] = sums[rows, columns].T
    return sums[np.ix_(estimated, estimated)]


def _multiplied(of_rows: Floats, codes: Sequence[Ints], ends: Ints, estimated: Bools) -> Floats:
    """The same by products of such tables, some rows at a time; ``of_rows``: none below 0."""
    place = np.cumsum(estimated) - 1
    sums = np.zeros((place[-1] + 1, place[-1] + 1))
    for start in range(0, len(of_rows), _BLOCK):
        roots = np.sqrt(of_rows[start : start + _BLOCK])
        table = np.zeros((len(roots), len(sums)))
        for end, code in zip(ends, codes, strict=False):
            value = end + code[start : start + _BLOCK]
            rows = np.flatnonzero(estimated[value])
            table[rows, place[value[rows]]] = roots[rows]
        sums += table.T @ table
    return sums
