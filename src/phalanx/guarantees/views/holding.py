# SPDX-License-Identifier: Apache-2.0
"""What boxes hold: as whole sets or, where each holds few of many numbers, as these numbers."""

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from phalanx.arrays import Bools, Ints, Sets, sets_of, words

Held = npt.NDArray[Any]
"""A set as the boxes' own are laid: its words, or a truth value for each number."""
_BITS: Final = 64


class Holding(Protocol):
    """What each of b boxes holds."""

    @property
    def words(self) -> int:
        """So many a set takes."""

    @property
    def most(self) -> int:
        """So many words or numbers are looked at of each box."""

    @property
    def nothing(self) -> Held:
        """The empty set."""

    def added(self, held: Held, boxes: Ints) -> Held:
        """A set together with what some boxes hold."""

    def hold_more(self, boxes: Ints, held: Held) -> Bools:
        """Which of some boxes hold what the set does not."""

    def around(self, held: Held, points: int, point: Ints, box: Ints) -> Sets:
        """The set together with what the boxes of each of so many points hold; ``point``,
        ascending, and ``box`` (p,): the pairs.
        """


def holding(box: Ints, number: Ints, boxes: int, q: int) -> Holding:
    """What so many boxes hold of the numbers below ``q``, in whichever way less is looked at; ``box``
    and ``number`` (e,): which holds which, each once.
    """
    most = int(np.bincount(box, minlength=1).max())
    if most >= words(q):
        return AsSets(sets_of(box, number, boxes, q))
    return AsNumbers.of(box, number, boxes, q)


@dataclass(frozen=True, eq=False)
class AsSets:
    """All words of each set."""

    sets: Sets

    @property
    def words(self) -> int:
        return int(self.sets.shape[1])

    @property
    def most(self) -> int:
        return self.words

    @property
    def nothing(self) -> Held:
        return np.zeros(self.most, dtype=np.uint64)

    def added(self, held: Held, boxes: Ints) -> Held:
        together: Held = held | np.bitwise_or.reduce(self.sets[boxes], axis=0)
        return together

    def hold_more(self, boxes: Ints, held: Held) -> Bools:
        return np.asarray((self.sets[boxes] & ~held).any(axis=1), dtype=np.bool_)

    def around(self, held: Held, points: int, point: Ints, box: Ints) -> Sets:
        around = np.tile(held, (points, 1))
        starts = np.flatnonzero(np.diff(point, prepend=-1))
        if len(point):
            around[point[starts]] |= np.bitwise_or.reduceat(self.sets[box], starts)
        return around


@dataclass(frozen=True, eq=False)
class AsNumbers:
    """The numbers in each set."""

    numbers: Ints
    """Shape (b, most); where a box holds fewer, one that is above all and always held."""
    words: int

    @classmethod
    def of(cls, box: Ints, number: Ints, boxes: int, q: int) -> "AsNumbers":
        """The numbers that each box holds, as :func:`holding` is given them."""
        order = np.argsort(box, kind="stable")
        owner, first = box[order], np.searchsorted(box[order], np.arange(boxes))
        most = int(np.bincount(box, minlength=1).max())
        numbers = np.full((boxes, most), words(q) * _BITS, dtype=np.int64)
        numbers[owner, np.arange(len(owner)) - first[owner]] = number[order]
        return cls(numbers, words(q))

    @property
    def most(self) -> int:
        return int(self.numbers.shape[1])

    @property
    def nothing(self) -> Held:
        nothing = np.zeros(self.words * _BITS + 1, dtype=np.bool_)
        nothing[-1] = True
        return nothing

    def added(self, held: Held, boxes: Ints) -> Held:
        held = held.copy()
        held[self.numbers[boxes]] = True
        return held

    def hold_more(self, boxes: Ints, held: Held) -> Bools:
        return np.asarray(~held[self.numbers[boxes]].all(axis=1), dtype=np.bool_)

    def around(self, held: Held, points: int, point: Ints, box: Ints) -> Sets:
        around = np.tile(held, (points, 1))
        around[point[:, None], self.numbers[box]] = True
        octets = np.packbits(around[:, :-1], axis=1, bitorder="little")
        return octets.view("<u8").astype(np.uint64, copy=False)
