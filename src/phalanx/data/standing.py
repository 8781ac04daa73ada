# SPDX-License-Identifier: Apache-2.0
"""Where the persons of one table stand in another one."""

from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from phalanx.arrays import Ints, by_highest_bits, in_runs
from phalanx.data.repeated import are_keys, file_numbers, halves, repeated

_AT_ONCE: Final = 1 << 20
"""So many persons, on average, are looked at together."""


def rows_of(persons: pl.Series, among: pl.Series) -> Ints:
    """The row of each of ``persons`` (n,) among others (k,), of several the last, and -1 for who is
    not there, shape (n,); a missing person is nowhere.

    Keyed hashes are as good as random numbers: sorted by their first bits, which is faster than to
    look them up, hardly any stand otherwise than sorted whole.
    """
    if not (len(persons) and len(among)):
        return np.full(len(persons), -1, dtype=np.int64)
    if not (are_keys(persons) and are_keys(among)):
        return _joined(persons, among)
    if persons.equals(among) and not repeated(among):  # as where a release is the first
        return np.arange(len(persons))
    ours, theirs = halves(persons), halves(among)
    many = min(1 + max(len(ours), len(theirs)) // _AT_ONCE, 256)
    of_ours, of_theirs = (file_numbers(each, many).astype(np.uint8) for each in (ours, theirs))
    rows = np.full(len(ours), -1, dtype=np.int64)
    for number in range(many):
        some, others = np.flatnonzero(of_ours == number), np.flatnonzero(of_theirs == number)
        at = _rows_of(ours.take(some, axis=0), theirs.take(others, axis=0))
        if at is None:
            return _joined(persons, among)
        there = at >= 0
        rows[some[there]] = others[at[there]]
    return rows


def _joined(persons: pl.Series, among: pl.Series) -> Ints:
    """The same of any texts or bytes."""
    numbered = pl.DataFrame({"person": among, "row": np.arange(len(among))})
    last = numbered.unique("person", keep="last", maintain_order=True)
    met = pl.DataFrame({"person": persons}).join(
        last, on="person", how="left", maintain_order="left"
    )
    return met["row"].fill_null(-1).to_numpy().astype(np.int64)


def _rows_of(ours: NDArray[np.uint64], theirs: NDArray[np.uint64]) -> Ints | None:
    """The same of the halves of keyed hashes, (n, 2) and (k, 2); None where any stands twice."""
    order, order_of_theirs = _in_order(ours[:, 0]), _in_order(theirs[:, 0])
    if order is None or order_of_theirs is None:
        return None
    ours, theirs = ours.take(order, axis=0), theirs.take(order_of_theirs, axis=0)
    rows = np.full(len(ours), -1, dtype=np.int64)
    if np.array_equal(ours, theirs):
        rows[order] = order_of_theirs
    elif len(theirs):
        place = np.searchsorted(theirs[:, 0], ours[:, 0]).clip(max=len(theirs) - 1)
        there = (theirs[place, 0] == ours[:, 0]) & (theirs[place, 1] == ours[:, 1])
        rows[order[there]] = order_of_theirs[place[there]]
    return rows


def _in_order(numbers: NDArray[np.uint64]) -> Ints | None:
    """The order of ``numbers`` (n,), shape (n,); None where two are equal."""
    order, alike = by_highest_bits(numbers)
    places, run = in_runs(alike)
    if len(places):
        some = order[places]
        some = some[np.lexsort((numbers[some], run))]
        order[places] = some
        if (numbers[some[1:]] == numbers[some[:-1]]).any():
            return None
    return order


__all__ = ["rows_of"]
