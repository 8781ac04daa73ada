# SPDX-License-Identifier: Apache-2.0
"""What histories demand, in one pass over their pairs: compressed rows of (``value``, ``ratio``), from
``starts`` (h + 1,) on.
"""

from typing import Any

import numpy as np

from phalanx.arrays import Bools, Codes, Floats, Ints, Singles
from phalanx.kernels import njit

_kernel: Any = njit(cache=True, nogil=True, fastmath=False, boundscheck=False, error_model="numpy")


@_kernel
def raised(since: Ints, starts: Ints, value: Codes, ratio: Singles, most: Floats) -> None:
    """Raise ``most`` (f, v) to what each history demands, in the row that ``since`` (h,) gives for
    it; below 0, in none.
    """
    for h in range(len(since)):
        if since[h] >= 0:
            of = most[since[h]]
            for e in range(starts[h], starts[h + 1]):
                of[value[e]] = max(of[value[e]], ratio[e])


@_kernel
def spent(
    starts: Ints, value: Codes, ratio: Singles, share: Floats, filled: float, people: int
) -> Bools:
    """Of which histories some ratio is above ``people``, or times the ``share`` (v,) of its value
    above ``filled``, shape (h,).
    """
    some = np.zeros(len(starts) - 1, np.bool_)
    for h in range(len(some)):
        for e in range(starts[h], starts[h + 1]):
            finite = min(ratio[e], people + 1.0)
            if finite > people or finite * share[value[e]] > filled:
                some[h] = True
                break
    return some
