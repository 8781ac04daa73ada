# SPDX-License-Identifier: Apache-2.0
"""The one door to randomness: a ChaCha20 keystream under a fresh key from the operating system, one
independent stream per task.

Nothing else in Phalanx draws random numbers. A seed is possible for tests and papers, and marks
what it touches as not for publication.
"""

import os
import struct
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from phalanx.arrays import by_highest_bits, in_runs
from phalanx.errors import PhalanxError

_KEY_BYTES: Final = 32
_AT_ONCE: Final = 2**20
"""So many rows are drawn at a time, so that a large table does not need as many words at once."""

_ZEROS: Final = memoryview(bytes(2**18))
"""What becomes keystream, so much at a time."""


@dataclass(frozen=True, repr=False)
class Randomness:
    """The randomness of one release: a 256-bit key from which every task gets a stream of its own.

    ``repr`` and pickling never show the key. Made by :meth:`secure` for a release, by
    :meth:`seeded` for tests only.
    """

    _key: bytes
    for_publication: bool

    @classmethod
    def secure(cls) -> "Randomness":
        """A fresh key from the operating system's generator."""
        return cls(os.urandom(_KEY_BYTES), for_publication=True)

    @classmethod
    def seeded(cls, seed: int) -> "Randomness":
        """Reproducible, hence predictable: the release made with it is marked as not for
        publication.
        """
        if not 0 <= seed < 2**64:
            raise PhalanxError("a seed is a whole number from 0 to 2^64 - 1; choose another.")
        return cls(_derive(struct.pack(">Q", seed), b"phalanx seed"), for_publication=False)

    def stream(self, task: str) -> "Stream":
        """The stream of one task; the same name gives the same stream, so a name is used once.

        >>> r = Randomness.seeded(1)
        >>> (r.stream("a").words(4) == r.stream("b").words(4)).any()
        np.False_
        """
        return Stream(_derive(self._key, task.encode()))

    def of(self, unit: str) -> "Randomness":
        """The randomness of one unit of work, of which every task gets a stream as of a release of
        its own; the same name gives the same.

        >>> r = Randomness.seeded(1)
        >>> (r.of("a").stream("task").words(4) == r.stream("task").words(4)).any()
        np.False_
        """
        return Randomness(_derive(self._key, b"unit " + unit.encode()), self.for_publication)

    def shared(self) -> "Shared":
        """What other processes draw from that do units of the release's work; it is as secret as
        the rows that they are given, and says nothing of what this one draws from.

        >>> shared = Randomness.seeded(1).shared()
        >>> a, b = (shared.of("a").stream("task").words(4) for _ in range(2))
        >>> (a == b).all(), (a == Randomness.seeded(1).of("a").stream("task").words(4)).any()
        (np.True_, np.False_)
        """
        return Shared(_derive(self._key, b"shared"), self.for_publication)

    def __repr__(self) -> str:
        return f"Randomness(for_publication={self.for_publication})"

    def __reduce__(self) -> str:
        raise PhalanxError(
            "randomness is not passed between processes; give each task a stream of its own name"
            " instead."
        )


@dataclass(frozen=True, repr=False)
class Shared:
    """Randomness on its way to other processes, of which each takes that of its units of work, by
    their names: a unit that is done twice, as one process died, is done with the same draws.
    """

    _key: bytes
    for_publication: bool

    def of(self, unit: str) -> Randomness:
        """The randomness of one unit of work; the same name gives the same."""
        return Randomness(_derive(self._key, b"unit " + unit.encode()), self.for_publication)

    def __repr__(self) -> str:
        return f"Shared(for_publication={self.for_publication})"


@dataclass(repr=False)
class Stream:
    """Uniform draws from one keystream; refuses to be used in a forked child, where it would repeat
    its parent's draws.
    """

    _key: bytes
    _pid: int = field(default_factory=os.getpid, init=False)

    def __post_init__(self) -> None:
        self._keystream = Cipher(ChaCha20(self._key, bytes(16)), mode=None).encryptor()

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """``n`` independent 64-bit words, shape (n,)."""
        if os.getpid() != self._pid:
            raise PhalanxError(
                "a random stream was carried into another process, where it would repeat itself;"
                " make it there."
            )
        words = np.empty(8 * n, dtype=np.uint8)
        for at in range(0, 8 * n, len(_ZEROS)):
            some = words.data[at : at + len(_ZEROS)]
            self._keystream.update_into(_ZEROS[: len(some)], some)
        return words.view("<u8").astype(np.uint64, copy=False)

    def __reduce__(self) -> str:
        raise PhalanxError(
            "a random stream is neither copied nor passed between processes, where it would repeat"
            " itself; make it there."
        )

    def permutation(self, n: int) -> npt.NDArray[np.int64]:
        """A uniform permutation of ``0 .. n-1``, shape (n,)."""
        order, alike = by_highest_bits(self.words(n))
        places, run = in_runs(alike)
        while len(places):  # equal keys would favour the order that they stand in
            keys = self.words(len(places))
            anew = np.lexsort((keys, run))
            order[places] = order[places[anew]]
            keys = keys[anew]
            if not ((keys[1:] == keys[:-1]) & (run[1:] == run[:-1])).any():
                break
        return order

    def integers(self, bound: int, n: int) -> npt.NDArray[np.int64]:
        """``n`` independent uniform integers of ``0 .. bound-1``, shape (n,), without the bias of a
        plain remainder; bound at most 2^63.
        """
        if not 1 <= bound <= 2**63:
            raise ValueError(f"bound is {bound} and must be from 1 to 2^63")
        limit = np.uint64((2**64 // bound) * bound - 1)
        drawn = self.words(n)
        while (over := drawn > limit).any():
            drawn = drawn.copy()
            drawn[over] = self.words(int(over.sum()))
        return (drawn % np.uint64(bound)).astype(np.int64)

    def bernoulli(self, beta: Fraction, n: int) -> npt.NDArray[np.int64]:
        """The numbers of those of ``n`` rows that a fresh Bernoulli sample takes, each by itself
        with probability exactly ``beta``, in order, shape (s,).

        The denominator of ``beta`` is at most 2^63; no probability is rounded, as with a comparison
        of floats.
        """
        if not 0 <= beta <= 1:
            raise ValueError(f"beta is {beta} and must be from 0 to 1")
        taken = [
            first
            + np.flatnonzero(
                self.integers(beta.denominator, min(_AT_ONCE, n - first)) < beta.numerator
            )
            for first in range(0, n, _AT_ONCE)
        ]
        return np.concatenate(taken) if taken else np.zeros(0, dtype=np.int64)


def _derive(key: bytes, label: bytes) -> bytes:
    return HKDF(hashes.SHA256(), _KEY_BYTES, salt=None, info=b"phalanx/" + label).derive(key)
