# SPDX-License-Identifier: Apache-2.0
"""Groups by balanced cuts: narrow, and open to no adversary who knows the method (see
``methods/mondrian/kernels/balanced.py``).
"""

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
_SAMPLE: Final = 1 << 14
"""Of so many rows it is seen how often groups of one size hold too much ..."""
_TRIED: Final = 16
"""... for so many sizes."""
_FAILED: Final = 2
"""So many times larger, about, a group comes to be where rows drawn at random hold too much: rows
that stand near each other hold the same more often, and where cuts fail groups stay together.
"""

_STEPS: Final = 1 << 16
"""So many steps of a line, or as many as there are rows, are told apart by a table."""


def nothing_shared(n: int) -> Shares:
    """No protected values, for ``n`` rows."""
    none, codes = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32)
    demands = np.zeros(n, dtype=np.int32), np.zeros(2, dtype=np.int64), codes
    return Shares(none, codes, np.empty(0), *demands, np.empty(0, dtype=np.float32))


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
    if len(order) == 0:
        return group
    if not _all_may(order, shares, asked):
        return None
    sizes, no_lots = Sizes(unit, least, odd=True), np.empty(0, dtype=np.int32)
    _cut(places_of(positions[order]), order.copy(), no_lots, sizes, shares, asked, group)
    return group


def places_of(positions: Floats) -> Places:
    """Where rows are, by the numbers of the places that there are; ``positions`` (r, d)."""
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
    steps = min(_STEPS, len(column))
    of_step = np.zeros(steps + 1, dtype=np.int64)
    of_values, of_column = (
        np.clip(numbers * steps, 0, steps).astype(np.int64) for numbers in (values, column)
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
    codes[:d] = places.codes
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

    Where no cut is sure any more, rows are first dealt out at random into parts that can be halved
    down to about ``least`` rows (``methods/mondrian/kernels/dealing.py``), by lots that do not order
    rows of equal places: they see values only in the order of the lots, and so does the size that
    groups are to come to. No row of ``shares`` demands more than another.
    """
    n = len(positions)
    shares = nothing_shared(n) if shares is None else shares
    order, lots = stream.permutation(n), stream.permutation(n).astype(np.int32)
    if n == 0:
        return order
    if not _all_may(order, shares, asked):
        return None
    first = np.flatnonzero(lots < _SAMPLE)
    drawn = first[np.argsort(lots[first])]
    sizes = Sizes(promising(drawn, least, shares, asked), least, odd=False)
    group = np.empty(n, dtype=np.int64)
    _cut(places_of(positions[order]), order, lots, sizes, shares, asked, group)
    return group


def promising(drawn: Ints, least: int, shares: Shares, asked: Asked) -> int:
    """The size, of ``least`` rows or more, of which groups promise to be the smallest, as few that
    are ``drawn`` at random hold too much.
    """

    def comes_to(size: int) -> float:
        held: float = kernel.share_held(drawn, size, shares, asked)
        return size * (1 + _FAILED * (1 - held))

    most = min(2 * least, len(drawn) + 1)
    return min(range(least, max(most, least + 1), 1 + least // _TRIED), key=comes_to)


def _all_may(order: Ints, shares: Shares, asked: Asked) -> bool:
    """Whether the rows of ``order`` may be one group."""
    n = len(order)
    return bool(kernel.share_held(order, n, shares, asked) == 1)


def _cut(
    places: Places,
    order: Ints,
    lots: Codes,
    sizes: Sizes,
    shares: Shares,
    asked: Asked,
    group: Ints,
) -> None:
    """Cut the rows of ``order``, which is reordered, by all threads; ``places`` are theirs."""
    places = laid_out(places, order, shares, asked)

    def cut(nodes: Ints, grain: int) -> Ints:
        left: Ints = kernel.cut(places, order, lots, nodes, sizes, shares, asked, grain, group)
        return left

    root = np.array([[0, len(order), 1, sizes.unit if sizes.odd else 0]], dtype=np.int64)
    if len(order) < _ALONE or threads() == 1:
        cut(root, 0)
        return
    on_all(lambda node: cut(node[None, :], 0), cut(root, len(order) // _GRAIN))
