# SPDX-License-Identifier: Apache-2.0
"""Images of rows: numbering the different ones, and counting them, so that those that occur too
seldom are dropped whole.

Source: Li, Qardaji, Su, section 3.2, the second step of a safe k-anonymization: g is applied to
each tuple, and tuples whose image occurs fewer than k times are taken out.
"""

import numpy as np

from phalanx.arrays import Codes, Ints
from phalanx.kernels import njit

_DENSE = 8
"""A table of all keys may be so many times as long as the rows."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True, fastmath=False)
def add_digit(key: Ints, of_code: Codes, codes: Codes, rows: Ints, count: int) -> None:
    """Append one attribute to the ``key`` (s,) of every row, as a digit of base ``count``: the cell
    ``of_code`` of its code.

    ``codes`` (n,): the attribute's codes; ``rows`` (s,): the rows whose keys these are.
    """
    for i in range(len(rows)):
        key[i] = key[i] * count + of_code[codes[rows[i]]]


@njit(cache=True, nogil=True, fastmath=False)
def _slot(key: int, bits: int) -> np.int64:
    """Where a key is looked for first, among 2^bits slots: the uppermost bits of its product with
    an odd number.
    """
    return np.int64((np.uint64(key) * _SPREAD) >> np.uint64(64 - bits))


@njit(cache=True, nogil=True, fastmath=False)
def _number_all(key: Ints, number_of: Codes, image: Ints, first: Ints) -> int:
    """Set each row's ``image`` (s,), and where each number is ``first``, of keys for all of which
    there is a place in ``number_of``, -1 so far; how many are different.
    """
    g = np.int32(0)
    for i in range(len(key)):
        if number_of[key[i]] < 0:
            number_of[key[i]] = g
            first[g] = i
            g += np.int32(1)
        image[i] = number_of[key[i]]
    return int(g)


@njit(cache=True, nogil=True, fastmath=False)
def _number_some(
    key: Ints, begin: int, g: int, bits: int, slots: Ints, image: Ints, first: Ints
) -> tuple[int, int]:
    """The same of a ``key`` (s,) of any size, from row ``begin`` on, of which ``g`` were different
    so far, until half of the ``slots``, 2^``bits``, are taken: where that was, and how many are
    different.
    """
    i = begin
    while i < len(key) and 2 * g < len(slots):
        at = _slot(key[i], bits)
        while slots[at] >= 0 and key[first[slots[at]]] != key[i]:
            at = np.int64((at + 1) % len(slots))
        if slots[at] < 0:
            slots[at] = g
            first[g] = i
            g += 1
        image[i] = slots[at]
        i += 1
    return i, g


@njit(cache=True, nogil=True, fastmath=False)
def _put_again(key: Ints, g: int, bits: int, slots: Ints, first: Ints) -> None:
    """Put the ``g`` different ones of a ``key`` (s,), each of which stands ``first`` somewhere, into
    2^``bits`` empty ``slots``.
    """
    for number in range(g):
        at = _slot(key[first[number]], bits)
        while slots[at] >= 0:
            at = np.int64((at + 1) % len(slots))
        slots[at] = number


@njit(cache=True, nogil=True, fastmath=False)
def number(key: Ints) -> tuple[Ints, Ints]:
    """Number different keys in the order in which they first occur: the number of each ``key``
    (s,), and where each first stands (g,).

    Where there are hardly more keys than rows, a table of all of them has their numbers. Else keys
    are put into a table of slots that is at least half empty, the next slot being tried where one
    is taken, and grows by doubling.
    """
    image, first = np.empty(len(key), dtype=np.int64), np.empty(len(key), dtype=np.int64)
    least, most = np.int64(0), np.int64(-1)
    for i in range(len(key)):
        least, most = min(least, key[i]), max(most, key[i])
    if least == 0 and most < _DENSE * len(key):
        g = _number_all(key, np.full(most + 1, -1, dtype=np.int32), image, first)
        return image, first[:g].copy()
    bits, done, g = 12, 0, 0
    while True:
        slots = np.full(1 << bits, -1, dtype=np.int64)
        _put_again(key, g, bits, slots, first)
        done, g = _number_some(key, done, g, bits, slots, image, first)
        if done == len(key):
            return image, first[:g].copy()
        bits += 1


@njit(cache=True, nogil=True, fastmath=False)
def crowded(image: Ints, counts: Ints, k: int) -> tuple[Ints, Ints]:
    """Count how often each image occurs, into ``counts`` (g,), and set to 0 those that occur fewer
    than ``k`` times.

    ``image`` (s,): the image of every sampled row, 0 .. g-1. Returns ``counts`` and ``image``, of
    which those of dropped rows are -1.
    """
    for i in range(len(image)):
        counts[image[i]] += 1
    for j in range(len(counts)):
        if counts[j] < k:
            counts[j] = 0
    is_published = np.empty_like(image)
    for i in range(len(image)):
        is_published[i] = image[i] if counts[image[i]] > 0 else -1
    return counts, is_published
