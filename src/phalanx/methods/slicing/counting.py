# SPDX-License-Identifier: Apache-2.0
"""Who must be in which bucket of a slice, for an adversary who knows each person's
quasi-identifiers: tuples for which counting gives some value more than 1/l.

A tuple that n persons have stands n times in the buckets that it matches, and each column value
stands in a bucket as often as is published. The likeliest numbers with these margins are found by
scaling in turns those that the margins leave open (iterative proportional fitting), and by going
farther along the way that turns take (Varadhan & Roland 2008, SQUAREM). The check of the release
does the same by code of its own.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from phalanx.arrays import Bools, Floats, Ints
from phalanx.methods.slicing.tuples import Coded, numbered

_ROUNDS: Final = 100
_TURNS: Final = 1200
_WORK: Final = 1 << 27
"""Many numbers are scaled in fewer turns, so that all take about as long."""
_TINY: Final = 1e-300
_NEAR: Final = 1e-6
_MARGIN: Final = 0.01
"""So much of the bound is left for what scaling has not settled, and for how the check rounds."""


def above(coded: Coded, bucket: Ints, tuple_of: Ints, bucket_of: Ints, l: float) -> Bools:
    """Which of the different tuples, as ``coded.distinct`` has them, match a bucket above 1/l and
    are themselves above it, or nearly, by counting; shape (t,).

    ``bucket`` (n,): that of every row, 0 .. g-1; ``tuple_of`` and ``bucket_of`` (p,): all pairs of
    a tuple and a bucket that it matches.
    """
    tuples, cells = coded.distinct.astype(np.int64), coded.cells
    of_row = numbered(list(coded.values)).astype(np.int64)
    margins = [(tuple_of, np.bincount(of_row))]
    for values, own in zip(coded.values.astype(np.int64), tuples, strict=True):
        width = int(values.max()) + 1
        keys, counts = np.unique(bucket * width + values, return_counts=True)
        margins.append((np.searchsorted(keys, bucket_of * width + own[tuple_of]), counts))
    x = _likeliest(margins)
    share = x / np.bincount(tuple_of, weights=x)[tuple_of]
    # of every pair, the cells of its bucket beside the tuple's quasi-identifiers
    keys, counts = np.unique(bucket * len(cells.q) + cells.of_row, return_counts=True)
    ends = [bucket_of * len(cells.q) + cells.first[tuples[-1, tuple_of] + side] for side in (0, 1)]
    first, last = (np.searchsorted(keys, end) for end in ends)
    among = margins[-1][1][margins[-1][0]]
    pair = np.repeat(np.arange(len(first)), last - first)
    entry = (
        np.arange(len(pair))
        - np.repeat(np.cumsum(last - first) - (last - first), last - first)
        + first[pair]
    )
    part = counts[entry] / among[pair]
    bad = np.zeros(tuples.shape[1], dtype=np.bool_)
    bad[tuple_of[pair[part * l > 1 + 1e-12]]] = True
    values = int(cells.s.max()) + 1
    owner, place = np.unique(
        tuple_of[pair] * values + cells.s[keys[entry] % len(cells.q)], return_inverse=True
    )
    exceeding = np.zeros(tuples.shape[1], dtype=np.bool_)
    exceeding[owner[np.bincount(place, weights=share[pair] * part) * l > 1 - _MARGIN] // values] = (
        True
    )
    return bad & exceeding


def _likeliest(margins: Sequence[tuple[Ints, Ints]]) -> Floats:
    """The likeliest numbers of pairs, shape (p,), where so many in all belong to each place of a
    margin: (the place of every pair, the totals).
    """
    least, most = (
        np.zeros(len(margins[0][0])),
        np.min([total[of] for of, total in margins], axis=0).astype(np.float64),
    )
    for _ in range(_ROUNDS):
        open_before = float((most - least).sum())
        for of, total in margins:
            rest = total - np.bincount(of, weights=most, minlength=len(total))
            room = total - np.bincount(of, weights=least, minlength=len(total))
            least, most = np.maximum(least, rest[of] + most), np.minimum(most, room[of] + least)
        if open_before == (most - least).sum():
            break
    is_open = least < most
    x = np.where(is_open, 0.0, least)
    places = [of[is_open] for of, _ in margins]
    totals = [
        total.astype(np.float64) - np.bincount(of, weights=x, minlength=len(total))
        for of, total in margins
    ]
    x[is_open] = _fitted(places, totals)
    return x


def _fitted(places: Sequence[Ints], totals: Sequence[Floats]) -> Floats:
    """Numbers above 0 that add up to the totals of their places on every margin, the likeliest ones;
    the nearest that was reached where they do not settle.
    """
    here = np.ones(len(places[0]))
    nearest, off = here, np.inf
    turns = max(_ROUNDS, min(_TURNS, _WORK // max(1, len(here)))) // 3
    for _ in range(turns if len(here) else 0):
        first, _ = _in_turn(here, places, totals)
        second, miss = _in_turn(first, places, totals)
        if miss < off:
            nearest, off = second, miss
        if off < _NEAR:
            break
        start, one, two = np.log(here), np.log(first), np.log(second)
        went, turned = one - start, two - 2 * one + start
        far = max(1.0, -float((went * turned).sum()) / max(float((turned**2).sum()), _TINY))
        ahead = start + 2 * far * went + far**2 * turned
        here, _ = _in_turn(np.exp(np.clip(ahead, -600, 100)), places, totals)
    return nearest


def _in_turn(x: Floats, places: Sequence[Ints], totals: Sequence[Floats]) -> tuple[Floats, float]:
    """The numbers scaled to the totals of each margin in turn, those of tuples last, and by which
    part of it one was missed.
    """
    missed = 0.0
    for of, total in zip(reversed(places), reversed(totals), strict=True):
        there = np.bincount(of, weights=x, minlength=len(total))
        ratio = np.where(there > 0, total / np.maximum(there, _TINY), 1.0)
        missed = max(missed, float(np.abs(ratio - 1).max()))
        x = np.maximum(x * ratio[of], _TINY)
    return x, missed
