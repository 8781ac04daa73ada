# SPDX-License-Identifier: Apache-2.0
"""Uniform integers from a block of random words, without the bias of a remainder, for kernels that
cannot say beforehand how many they need.
"""

from phalanx.arrays import Ints
from phalanx.kernels import njit

SPARE = 64
"""Draws beyond one per integer; one below 2^31 is refused with a chance below 2^-32, one below 2^41
with one below 2^-22.
"""
_GREATEST = 2**63 - 1


@njit(cache=True, nogil=True, fastmath=False)
def pick(bound: int, draws: Ints, at: int) -> tuple[int, int]:
    """A uniform integer of ``0 .. bound-1``, without the bias of a remainder, and the place after
    the draw that it was made from.

    ``draws``: random numbers of ``0 .. 2^63-1``; those from the place ``at`` on are not used yet.
    ValueError where they run out.
    """
    refused_above = _GREATEST - (_GREATEST % bound + 1) % bound
    while True:
        if at >= len(draws):
            raise ValueError("there are too few draws")
        word = draws[at]
        at += 1
        if word <= refused_above:
            return word % bound, at
