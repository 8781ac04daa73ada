"""Groups by balanced cuts: narrow, and open to nobody who knows the method (see ``kernels/balanced.py``)."""

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
import numpy.typing as npt

from phalanx.kernels import balanced as kernel
from phalanx.kernels.balanced import Requirement, Shares

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_ALONE: Final = 50_000
"""Below this many rows threads cost more than they save."""
_GRAIN: Final = 16
"""A node of less than this part of the table is one thread's work."""


def nothing_shared(n: int) -> Shares:
    """No protected values, for ``n`` rows."""
    none, codes, floats = np.zeros(n + 1, dtype=np.int64), np.empty(0, dtype=np.int32), np.empty(0)
    return Shares(none, codes, floats, none, codes, floats)


def nothing_required() -> Requirement:
    """Nothing to keep but the least size."""
    ints, codes = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
    return Requirement(codes, ints, 0.0, ints, codes[None, :], ints[None, :])


def by_cuts(positions: Floats, order: Ints, unit: int, least: int, shares: Shares, asked: Requirement) -> Ints | None:
    """The group of every row, named by one of its rows, shape (n,), -1 for rows that are not in ``order``; None where all rows together may not be a group.

    ``positions`` (n, d): every row's place in [0, 1]; ``order`` (r,): the rows to group, in random order; ``unit``: the size that most groups with something
    to keep will need, ``least``: the least size of any. The number of threads has no influence on the groups.
    """
    order = order.copy()
    group = np.full(len(positions), -1, dtype=np.int64)
    if not kernel.may_be_group(order, shares, asked):
        return None

    def cut(nodes: Ints, grain: int) -> Ints:
        left: Ints = kernel.cut(positions, order, nodes, unit, least, shares, asked, grain, group)
        return left

    root = np.array([[0, len(order), 1]], dtype=np.int64)
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if len(order) < _ALONE or threads == 1:
        cut(root, 0)
        return group
    left = cut(root, len(order) // _GRAIN)
    with ThreadPoolExecutor(threads) as pool:
        for waiting in [pool.submit(cut, left[i : i + 1], 0) for i in range(len(left))]:
            waiting.result()
    return group
