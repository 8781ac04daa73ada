# SPDX-License-Identifier: Apache-2.0
"""The types of arrays, declared once; which numbers of an array are different, and their order;
where numbers and texts stand among others; sets of numbers as rows of bits; and how an array of
Arrow comes to Polars.
"""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]
"""Whole numbers of any width."""
Ints = npt.NDArray[np.int64]
Singles = npt.NDArray[np.float32]
"""Numbers in half the room of :data:`Floats`, where there are tens of millions."""
Sets = npt.NDArray[np.uint64]
"""Sets of numbers, shape (n, words): bit ``v % 64`` of word ``v // 64`` says whether v is in one."""
Times = npt.NDArray[np.uint16]
"""How often something was."""

_DENSE: Final = 4
"""A table of all numbers may be so many times as long as what is looked up."""
_WIDE: Final = 8
"""The same where one look into a table takes the place of a search."""
_MOST_NUMBERS: Final = 1 << 62
"""So many combinations have a number each."""


def different(numbers: Integers) -> tuple[Ints, Ints]:
    """The different ones of some whole numbers, ascending, shape (d,), and the place there of each
    one, shape (n,): what NumPy's ``unique`` gives, in a third to a tenth of its time.

    Where nearly all numbers in between are there, a table of these tells; else the numbers are
    sorted, each with its place in its lowest bits.

    >>> different(np.array([7, 5, 7]))
    (array([5, 7]), array([1, 0, 1]))
    """
    n, numbers = len(numbers), numbers.astype(np.int64, copy=False)
    low, high = (int(numbers.min()), int(numbers.max())) if n else (0, -1)
    width, bits = high - low + 1, n.bit_length()
    if width <= _DENSE * n:
        at = numbers - low
        place = np.zeros(width, dtype=np.int32 if n < 2**31 else np.int64)
        place[at] = 1
        some = np.flatnonzero(place)
        place[some] = np.arange(len(some))
        return some + low, place[at].astype(np.int64)
    if width.bit_length() + bits > 62:
        some, places = np.unique(numbers, return_inverse=True)
        return some, places.ravel().astype(np.int64, copy=False)
    packed = ((numbers - low) << bits) | np.arange(n)
    packed.sort()
    key, order = packed >> bits, packed & ((1 << bits) - 1)
    begins = np.append(True, key[1:] != key[:-1])
    places = np.empty(n, dtype=np.int64)
    places[order] = np.cumsum(begins) - 1
    return key[begins] + low, places


def row_numbers(columns: Iterable[Integers], n: int) -> Ints:
    """The place of each of n rows among the different ones, in their order, shape (n,); ``columns``
    of shape (n,) each, of numbers of 32 bits. What NumPy's ``unique`` gives of rows, in a tenth of
    its time.

    >>> row_numbers([np.array([1, 0, 1]), np.array([-1, 5, -1])], 3)
    array([1, 0, 1])
    """
    number, many = np.zeros(n, dtype=np.int64), 1
    for column in columns if n else ():
        low = int(column.min())
        width = int(column.max()) - low + 1
        if many * width >= _MOST_NUMBERS:
            number = different(number)[1]
            many = int(number.max()) + 1
        number = number * width + (column.astype(np.int64, copy=False) - low)
        many *= width
    return different(number)[1]


def ordered(numbers: Integers) -> tuple[Ints, Ints]:
    """Whole numbers from the least to the greatest, and their places, equal ones in their order,
    both of shape (n,): what NumPy's stable ``argsort`` gives, in a quarter of its time.

    Each number is sorted with its place in its lowest bits, where there is room for both.

    >>> ordered(np.array([7, 5, 7, -1]))
    (array([-1,  5,  7,  7]), array([3, 1, 0, 2]))
    """
    n = len(numbers)
    low, high = (int(numbers.min()), int(numbers.max())) if n else (0, -1)
    bits = n.bit_length()
    if (high - low + 1).bit_length() + bits > 62:
        order = np.argsort(numbers, kind="stable")
        return numbers[order].astype(np.int64), order
    packed = ((numbers.astype(np.int64) - low) << bits) | np.arange(n)
    packed.sort()
    return (packed >> bits) + low, packed & ((1 << bits) - 1)


def in_order(numbers: Integers) -> Ints:
    """The places of whole numbers from the least to the greatest, equal ones in their order, shape
    (n,); as :func:`ordered`.
    """
    return ordered(numbers)[1]


def rounded_up(numbers: Floats) -> Singles:
    """The least number in half the room that is not below each, of numbers from 0 on, shape (n,).

    >>> rounded_up(np.array([2.0, 0.1])) >= np.array([2.0, 0.1])
    array([ True,  True])
    """
    near = numbers.astype(np.float32)
    near.view(np.int32)[:] += near < numbers  # the bits of the next one are the next number
    return near


def firsts(places: Integers) -> Ints:
    """Where each of the places from 0 on comes first, of which all up to the last one come, shape
    (places,).

    >>> firsts(np.array([1, 0, 1]))
    array([1, 0])
    """
    first = np.empty(int(places.max(initial=-1)) + 1, dtype=np.int64)
    first[places[::-1]] = np.arange(len(places) - 1, -1, -1)
    return first


def places_in(numbers: Integers, ascending: Ints) -> Ints:
    """The place of every number among ascending ones, all of them different, shape (n,); -1 for one
    that is not there. Where these are near each other, a table of all in between tells.

    >>> places_in(np.array([7, 6, 5, 90]), np.array([5, 7]))
    array([ 1, -1,  0, -1])
    """
    numbers = numbers.astype(np.int64, copy=False)
    if not len(ascending):
        return np.full(len(numbers), -1, dtype=np.int64)
    low, high = int(ascending[0]), int(ascending[-1])
    if high - low > _WIDE * (len(numbers) + len(ascending)):
        at = np.minimum(np.searchsorted(ascending, numbers), len(ascending) - 1)
        return np.where(ascending[at] == numbers, at, -1)
    # one place more than there are, for all numbers below and above
    place = np.full(high - low + 2, -1, dtype=np.int32 if len(ascending) < 2**31 else np.int64)
    place[ascending - low] = np.arange(len(ascending))
    inside = (numbers >= low) & (numbers <= high)
    return place[np.where(inside, numbers - low, high - low + 1)].astype(np.int64)


def sets_of(owner: Ints, number: Ints, owners: int, q: int) -> Sets:
    """The set of each of so many owners, of numbers below ``q``; ``owner`` and ``number`` (e,): who
    has which.

    >>> sizes(sets_of(np.array([0, 0, 1]), np.array([3, 70, 3]), owners=3, q=80))
    array([2, 1, 0])
    """
    sets = np.zeros((owners, words(q)), dtype=np.uint64)
    np.bitwise_or.at(sets, (owner, number // 64), np.uint64(1) << (number % 64).astype(np.uint64))
    return sets


def words(q: int) -> int:
    """How many words a set of numbers below ``q`` takes."""
    return -(-q // 64)


def sizes(sets: Sets) -> Ints:
    """How many numbers each set holds, shape (n,)."""
    counts: Ints = np.bitwise_count(sets).sum(axis=1, dtype=np.int64)
    return counts


def places_among(texts: pl.Series, others: pl.Series) -> Ints:
    """The place of every text among other ones, all of them different, shape (n,); as many as there
    are for one that is not there, and for a missing one.

    >>> places_among(pl.Series(["b", "c", None]), pl.Series(["a", "b"]))
    array([1, 2, 2])
    """
    if not len(others):
        return np.zeros(len(texts), dtype=np.int64)
    places = pl.Series(np.arange(len(others), dtype=np.int64))
    known = texts.replace_strict(others, places, default=None, return_dtype=pl.Int64)
    return known.fill_null(len(others)).to_numpy()


def by_highest_bits(numbers: npt.NDArray[np.uint64]) -> tuple[Ints, Bools]:
    """The order of numbers, shape (n,), by so many of their highest bits as leave room for a place;
    and which of them, in this order, are alike in those to the one before them, shape (n,).

    Each is sorted with its place in its lowest bits, which takes half as long as to sort places.
    Of numbers that are as good as random, hardly any are alike.

    >>> order, alike = by_highest_bits(np.array([2**63, 7, 2**62, 6], dtype=np.uint64))
    >>> order, alike
    (array([1, 3, 2, 0]), array([False,  True, False, False]))
    """
    n = len(numbers)
    places = np.uint64((1 << n.bit_length()) - 1)
    packed = numbers & ~places
    packed |= np.arange(n, dtype=np.uint64)
    packed.sort()
    alike = np.zeros(n, dtype=np.bool_)
    np.less_equal(packed[1:] ^ packed[:-1], places, out=alike[1:])
    packed &= places
    order: Ints = packed.view(np.int64)
    return order, alike


def in_runs(alike: Bools) -> tuple[Ints, Ints]:
    """The places that are alike to the one before or the one behind them, and the number of the run
    that each is in; both of shape (t,).

    >>> in_runs(np.array([False, True, False, False, True]))
    (array([0, 1, 3, 4]), array([1, 1, 2, 2]))
    """
    if not alike.any():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    places: Ints = np.flatnonzero(alike | np.append(alike[1:], False))
    return places, np.cumsum(~alike[places])


class _Handed:
    """An array of Arrow as any library hands one to another."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
        return self._array.__arrow_c_array__(requested_schema)


def from_arrow(array: Any) -> pl.Series:
    """An array of pyarrow in Polars, without a copy; by a way for which neither loads what it has
    for others, pandas among it.

    >>> import pyarrow as pa
    >>> from_arrow(pa.array([1, None, 3])).to_list()
    [1, None, 3]
    """
    return pl.Series(_Handed(array))
