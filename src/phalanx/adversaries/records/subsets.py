# SPDX-License-Identifier: Apache-2.0
"""Which quasi-identifiers an adversary matches by: sets of attributes, all of them or some of every
size, and who agrees with which rows on them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final

import numpy as np
import numpy.typing as npt

from phalanx.exact import Ints
from phalanx.randomness import Stream

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

ALL_OF: Final = 10
"""Of so many attributes, or fewer, all sets are taken."""
_TABLE: Final = 4
"""Up to so many numbers per key are looked up in a table; more are sorted."""


@dataclass(frozen=True, eq=False)
class Subsets:
    """Sets of attributes; where they are not all, every size has some, of that size each equally
    likely.
    """

    has: Bools
    """Which attributes each holds, shape (m, d)."""
    sampled: Bools
    """Whether the sets of a size were drawn, shape (d + 1,)."""

    @classmethod
    def of(cls, d: int, most: int, stream: Stream) -> "Subsets":
        """All sets of ``d`` attributes where d is at most 10; else at most ``most`` and at least
        two of every size that has more.
        """
        each = 2**d if d <= ALL_OF else max(2, most // (d + 1))
        sets: list[tuple[int, ...]] = []
        sampled = np.zeros(d + 1, dtype=bool)
        for size in range(d + 1):
            sampled[size] = comb(d, size) > each
            sets += (
                (tuple(stream.permutation(d)[:size].tolist()) for _ in range(each))
                if sampled[size]
                else combinations(range(d), size)
            )
        has = np.zeros((len(sets), d), dtype=bool)
        for at, held in enumerate(sets):
            has[at, list(held)] = True
        return cls(has, sampled)

    def __len__(self) -> int:
        return len(self.has)

    @property
    def bits(self) -> Ints:
        """Every set as bits of a whole number, shape (m,)."""
        return bits_of(self.has)

    def by_size(self, figure: Floats) -> tuple[Floats, Floats]:
        """The mean of a figure of every set over the sets of each size, and the variance of that
        mean where they were drawn, each of shape (d + 1,).
        """
        size = self.has.sum(axis=1)
        times = np.bincount(size)
        mean = np.bincount(size, weights=figure) / times
        spread = np.bincount(size, weights=(figure - mean[size]) ** 2) / np.maximum(times - 1, 1)
        return mean, np.where(self.sampled, spread / times, 0.0)


def weights(d: int, p: float) -> Floats:
    """How probable each number of attributes is, where each of ``d`` is taken with probability
    ``p``, shape (d + 1,).
    """
    return np.array([comb(d, size) * p**size * (1 - p) ** (d - size) for size in range(d + 1)])


def bits_of(has: Bools) -> Ints:
    """The rows of a table as bits of a whole number each, the first column the lowest, shape
    (m,).
    """
    found: Ints = (has.astype(np.int64) << np.arange(has.shape[1])).sum(axis=1)
    return found


def agreeing(persons: Ints, rows: Ints, subsets: Subsets) -> Iterator[tuple[int, Ints, Ints, Ints]]:
    """For every set of attributes, by its place: a number for each person; the rows that agree with
    some person on all of its attributes; their numbers.

    Numbers are equal just where persons and rows agree. ``persons`` (p, d) and ``rows`` (n, d) are
    codes, the latter -1 for a value that nobody has.
    """
    widths = np.maximum(persons.max(axis=0, initial=0), rows.max(axis=0, initial=0)) + 1
    sets = [tuple(np.flatnonzero(held).tolist()) for held in subsets.has]
    everything = np.arange(len(rows))
    begun: list[tuple[tuple[int, ...], Ints, Ints, Ints]] = [
        ((), np.zeros(len(persons), np.int64), everything, np.zeros(len(rows), np.int64))
    ]
    for at in sorted(
        range(len(sets)), key=sets.__getitem__
    ):  # so that sets that begin alike share the work
        while sets[at][: len(begun[-1][0])] != begun[-1][0]:
            begun.pop()
        for attribute in sets[at][len(begun[-1][0]) :]:
            held, of_person, there, of_row = begun[-1]
            codes, width = rows[there, attribute], int(widths[attribute])
            of_person, of_row = numbered_alike(
                of_person * width + persons[:, attribute],
                np.where(codes < 0, -1, of_row * width + codes),
            )
            kept = of_row >= 0
            begun.append(((*held, attribute), of_person, there[kept], of_row[kept]))
        yield at, *begun[-1][1:]


def numbered_alike(keys: Ints, others: Ints) -> tuple[Ints, Ints]:
    """A number for each of the keys, and for each of the others that equals one the same, else -1;
    keys are 0 or more, and numbers small.
    """
    most = int(keys.max(initial=-1))
    if most >= _TABLE * (len(keys) + len(others)):
        number = renumbered(np.concatenate([keys, others]))
        known = np.zeros(len(number), dtype=bool)
        known[number[: len(keys)]] = True
        return number[: len(keys)], np.where(known[number[len(keys) :]], number[len(keys) :], -1)
    table = np.zeros(most + 2, dtype=np.int64)
    table[keys] = 1
    table = np.where(table, np.cumsum(table) - 1, -1)  # the last is for others that are no key
    return table[keys], table[np.where((others < 0) | (others > most), most + 1, others)]


def renumbered(keys: Ints) -> Ints:
    """The keys numbered from 0 without gaps."""
    return np.unique(keys, return_inverse=True)[1].ravel().astype(np.int64, copy=False)
