# SPDX-License-Identifier: Apache-2.0
"""How much a call does, counted and not timed: the same on every machine, however busy it is."""

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType, ModuleType
from typing import Any

import pytest
from numba.core.dispatcher import Dispatcher


class Overworked(AssertionError):
    """More lines were run than were granted."""


def lines(call: Callable[[], object], most: int = 10**7) -> int:
    """The lines of Python that a call runs, those of all that it calls among them, each as often as
    it is run.

    A loop over rows counts each of them; what numpy, polars and compiled kernels do inside counts
    nothing. Overworked beyond ``most``.

    >>> lines(lambda: [row for row in range(1000)]) > 1000 > lines(lambda: list(range(1000)))
    True
    """
    count, before = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count > most:
                raise Overworked(
                    f"more than {most} lines, at {frame.f_code.co_filename}:{frame.f_lineno}"
                )
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def memory(call: Callable[[], object]) -> int:
    """The most bytes that a call holds at a time in Python objects and numpy's arrays, beyond what
    was there before.
    """
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def uncompiled(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> None:
    """Let a test run the kernels of these modules as Python, so that their lines are counted."""
    for module in modules:
        for name, kernel in list(vars(module).items()):
            if isinstance(kernel, Dispatcher):
                monkeypatch.setattr(module, name, kernel.py_func)
