# SPDX-License-Identifier: Apache-2.0
"""Groups by balanced cuts: narrow, and open to no adversary who knows the method (see
``methods/mondrian/kernels/balanced.py``).
"""

import math
from typing import Final

import numpy as np
import polars as pl

from phalanx.arrays import Codes, Floats, Ints
from phalanx.kernels.rule import Asked, of_size
from phalanx.methods.mondrian.kernels import balanced as kernel
from phalanx.methods.mondrian.kernels.balanced import Shares, Sizes
from phalanx.methods.mondrian.kernels.dividing import Places
from phalanx.methods.threads import on_all, threads
from phalanx.randomness import Stream

_ALONE: Final = 50_000
"""Below this many rows threads cost more than they save."""
_GRAIN: Final = 16
"""A node of less than this part of the table is one thread's work."""
_DEALS: Final = 20
"""How often rows are dealt out into parts of the same sizes."""

_THIRDS: Final = (1, 3, 9, 27)
"""Into so many parts a part is cut before it is halved."""
_HALVED: Final = 4
"""How much larger groups come to be where a part cannot be halved down to them: by so many over the
largest power of two that divides its rows.
"""
_SURE: Final = 3.0
"""Few parts that are drawn at random hold more of a value than by so many standard deviations."""
_STEADY: Final = 8
"""Most cuts cannot fail where those of parts of so many times less rows cannot."""
_LEFT: Final = 256
"""Then at most one row in so many is dealt out apart, but for what could else not be halved ..."""
_HALVINGS: Final = 3
"""... so often."""

_STEPS: Final = 1 << 16
"""So many steps of a line are told apart by a table."""


def nothing_shared(n: int) -> Shares:
    """No protected values, for ``n`` rows."""
    none, codes, floats = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0)
    return Shares(
        none, codes, floats, np.zeros(n, dtype=np.int32), np.zeros(2, dtype=np.int64), codes, floats
    )


def nothing_required() -> Asked:
    """Nothing to keep but the least size."""
    return Asked(np.empty(0, dtype=np.int32), of_size(1))


def by_cuts(
    positions: Floats, order: Ints, unit: int, least: int, shares: Shares, asked: Asked
) -> Ints | None:
    """The group of every row, named by one of its rows, shape (n,), -1 for rows that are not in
    ``order``; None where all rows together may not be a group.

    ``positions`` (n, d): every row's place in [0, 1]; ``order`` (r,): the rows to group, in random
    order; ``unit``: the size that most groups with something to keep will need, ``least``: the
    least size of any. The number of threads has no influence on the groups.
    """
    group = np.full(len(positions), -1, dtype=np.int64)
    if not kernel.may_be_groups(order, np.array([len(order)]), shares, asked):
        return None
    sizes = Sizes(unit, least, odd=True)
    _cut(places_of(positions), order.copy(), sizes, shares, asked, group)
    return group


def places_of(positions: Floats) -> Places:
    """Where all rows are, by the numbers of the places that there are; ``positions`` (n, d)."""
    values = [pl.Series(column).unique().sort().to_numpy() for column in positions.T]
    codes = np.empty(positions.shape[::-1], dtype=np.int32)
    for of, column, there in zip(codes, positions.T, values, strict=True):
        of[:] = _places_among(there, column)
    starts = np.cumsum([0, *(len(there) for there in values[:-1])])
    return Places(codes, np.concatenate(values), starts)


def _places_among(values: Floats, column: Floats) -> Ints:
    """Where each number of a column, from 0 to 1, stands among its different ``values``, ascending:
    by a look into a table of narrow steps, and by a search where a step has several.
    """
    of_step = np.zeros(_STEPS + 1, dtype=np.int64)
    of_values, of_column = (
        np.clip(numbers * _STEPS, 0, _STEPS).astype(np.int64) for numbers in (values, column)
    )
    of_step[of_values] = np.arange(len(values))
    at = of_step[of_column]
    several = np.flatnonzero(values[at] != column)
    at[several] = np.searchsorted(values, column[several])
    return at


def laid_out(places: Places, order: Ints, shares: Shares, asked: Asked) -> Places:
    """Those of the rows of an ``order``, and what they hold."""
    d = len(places.codes)
    codes = np.empty((d + 3, len(order)), dtype=np.int32)
    for of, column in zip(codes, places.codes, strict=False):
        np.take(column, order, out=of)
    codes[d:] = kernel.held_by(order, shares, asked)
    return places._replace(codes=codes)


def shares_of(values: Codes, ratio: float) -> Shares:
    """Rows of which each holds several ``values`` (n, s), none of which may be in more than one of
    ``ratio`` rows of a group.
    """
    n, s = values.shape
    v = int(values.max(initial=-1)) + 1
    held = np.unique(np.repeat(np.arange(n), s) * v + values.ravel())
    starts = np.searchsorted(held, np.arange(n + 1) * v).astype(np.int64)
    base = np.full(v, ratio)
    return nothing_shared(n)._replace(starts=starts, codes=(held % v).astype(np.int32), base=base)


def by_even_cuts(
    positions: Floats, stream: Stream, least: int, asked: Asked, shares: Shares | None = None
) -> Ints | None:
    """As :func:`by_cuts` for all rows, where no cut that may fail is ever odd: the chance of each
    member of a group is exactly the share of the group, whatever is asked.

    Rows are first dealt out, at random, into parts whose sizes can be halved down to about
    ``least`` rows (:func:`sizes`, :func:`steady_sizes`); each part is cut by itself. A deal of
    which a part may not be a group is drawn again. How often is decided by all values of the table
    together, so that it tells of no person.
    """
    n = len(positions)
    shares = nothing_shared(n) if shares is None else shares
    order = stream.permutation(n)
    if not kernel.may_be_groups(order, np.array([n]), shares, asked):
        return None
    parts = _deal(order, positions.shape[1], least, shares, asked)
    part_of = np.empty(n, dtype=np.int64)
    for p, (_, rows) in enumerate(parts):
        part_of[rows] = p
    # afresh, as what failed before a deal was kept says something of the order
    order = stream.permutation(n)
    group, places = np.empty(n, dtype=np.int64), places_of(positions)
    for p, (size, _) in enumerate(parts):
        even = Sizes(size, least, odd=False)
        _cut(places, order[part_of[order] == p], even, shares, asked, group)
    return group


def steady_sizes(n: int, unit: int, smallest: int) -> list[tuple[int, int]]:
    """Into how many rows ``n`` are dealt out where most cuts can be made whatever rows hold: a whole
    number of ``unit`` rows times a power of two, and the few that are left, unless they are none,
    but ``smallest`` at least.
    """
    step = unit << max(_HALVINGS, (n // (_LEFT * unit)).bit_length() - 1)
    left = n % step
    left += 0 if left in (0, n) else -(-max(0, smallest - left) // step) * step
    return [(rows, unit) for rows in ([n] if left >= n else [n - left, left]) if rows > 0]


def sizes(n: int, unit: int, smallest: int, d: int) -> list[tuple[int, int]]:
    """Into how many rows ``n`` are dealt out, each time with the size that its groups come to: that
    times a power of two, and times a small power of three, is the number of rows.

    No part but the only one is below ``smallest``. The parts are those that promise the narrowest
    boxes on ``d`` attributes: fewer rows stand further apart, and where a part can be halved more
    often, more cuts are tried where one fails.
    """
    dealt, remaining = [], n
    while remaining > 0:
        best = (math.inf, remaining, remaining)
        most = remaining // unit
        for ways in (odd << i for odd in _THIRDS for i in range((most // odd).bit_length())):
            for size in {remaining // ways, (remaining - smallest) // ways}:
                rows = size * ways
                rest = remaining - rows
                if size >= unit and (rest == 0 or min(rest, rows) >= smallest):
                    group = min(size * (1 + _HALVED / (rows & -rows)), rows)
                    width = rows * (group / rows) ** (1 / d)
                    width += rest * (1.3 * unit / max(rest, 1)) ** (1 / d)
                    best = min(best, (width, rows, size))
        dealt.append(best[1:])
        remaining -= best[1]
    return dealt


def _deal(order: Ints, d: int, unit: int, shares: Shares, asked: Asked) -> list[tuple[int, Ints]]:
    """Parts of the rows, each with the size of its groups, that may all be groups; with larger and
    larger parts where small ones fail.
    """
    n, smallest = len(order), unit
    steady = kernel.steady(order, unit, _SURE, shares, asked) * _STEADY <= n
    while True:
        dealt = steady_sizes(n, unit, smallest) if steady else sizes(n, unit, smallest, d)
        ends = np.cumsum([rows for rows, _ in dealt])
        for turn in range(_DEALS):
            turned = np.roll(order, turn * n // _DEALS)
            if len(dealt) == 1 or kernel.may_be_groups(turned, ends, shares, asked):
                return [
                    (size, turned[end - rows : end])
                    for end, (rows, size) in zip(ends, dealt, strict=True)
                ]
        smallest *= 4


def _cut(
    places: Places, order: Ints, sizes: Sizes, shares: Shares, asked: Asked, group: Ints
) -> None:
    """Cut the rows of ``order``, which is reordered, by all threads; ``places`` are those of all
    rows.
    """
    places = laid_out(places, order, shares, asked)

    def cut(nodes: Ints, grain: int) -> Ints:
        left: Ints = kernel.cut(places, order, nodes, sizes, shares, asked, grain, group)
        return left

    root = np.array([[0, len(order), 1]], dtype=np.int64)
    if len(order) < _ALONE or threads() == 1:
        cut(root, 0)
        return
    on_all(lambda node: cut(node[None, :], 0), cut(root, len(order) // _GRAIN))
