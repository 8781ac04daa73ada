# SPDX-License-Identifier: Apache-2.0
"""Kernels that hold no lock, on all processors at once."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")


def threads() -> int:
    """How many processors this process may use: those it is bound to, or ``PHALANX_THREADS`` where
    another program has given them out.
    """
    if (given := os.environ.get("PHALANX_THREADS", "")).isdecimal() and int(given):
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_all(work: Callable[[Part], object], parts: Iterable[Part]) -> None:
    """Do the work on each part, as many at once as there are processors; no two parts may touch the
    same place. Raises what the first part raised that failed.
    """
    with ThreadPoolExecutor(threads()) as pool:
        for _ in pool.map(work, parts):
            pass
