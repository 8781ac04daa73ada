# SPDX-License-Identifier: Apache-2.0
"""What the groups of a query have in common, worked out once."""

from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

import numpy as np

from phalanx.data.sources.available_memory import memory_left
from phalanx.errors import ReleaseError

T = TypeVar("T")
MOST_STEPS: Final = 1 << 28
"""So many entries of a release are looked at for a group of a query at most, where parts of its
condition are not independent of each other: some ten seconds.
"""
_NOTHING: Any = object()
"""No value; keys are long, and a question of one hashes it once."""


class Shared:
    """What was worked out for the group that is being answered and for the one before it.

    What depends on no group is asked for in each, and stays; what belongs to one group is forgotten
    when the group after the next begins, so that room does not grow with groups. Arrays are kept as
    long as they take a quarter of what memory is left, and else worked out again.
    """

    def __init__(self, whole: "Shared | None" = None) -> None:
        """``whole``: that of which this one is for a part."""
        self._whole = whole
        self._before: dict[Hashable, Any] = {}
        self._now: dict[Hashable, Any] = {}
        self._steps = 0
        self._room = memory_left() // 4

    def next_group(self) -> None:
        """Another group begins."""
        self._before, self._now, self._steps = self._now, {}, 0
        self._room = memory_left() // 4

    def apart(self) -> "Shared":
        """That of a part, which keeps nothing in this one; steps are those of all parts."""
        return Shared(self)

    def spend(self, steps: int) -> None:
        """So many more steps are taken for a group; ReleaseError where they are too many."""
        if self._whole is not None:
            self._whole.spend(steps)
            return
        self._steps += steps
        if self._steps > MOST_STEPS:
            raise ReleaseError(
                "too many parts of the condition ask of the same attributes in different ways for an"
                " estimate; ask in several questions, or by IN and BETWEEN."
            )

    def of(self, key: Hashable, made: Callable[[], T]) -> T:
        """What a key stands for, ``made`` where neither this group nor the one before asked for it.

        >>> shared = Shared()
        >>> shared.of("rows", lambda: 3), shared.of("rows", lambda: 4)
        (3, 3)
        """
        value: T = self._now.get(key, _NOTHING)
        if value is _NOTHING:
            value = self._before.get(key, _NOTHING)
            if value is _NOTHING:
                value = made()
                if (size := _size(value)) > self._room:
                    return value
                self._room -= size
            self._now[key] = value
        return value


def _size(value: Any) -> int:
    """How many bytes the arrays of a value take."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    return sum(map(_size, value)) if isinstance(value, tuple | list) else 0
