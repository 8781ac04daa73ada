# SPDX-License-Identifier: Apache-2.0
"""Room for what was read of releases: a long series of large tables need not be in memory at once."""

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Room(Generic[T]):
    """Keeps what was read until it is more than ``most`` bytes together; then what was asked for
    longest ago makes room, and is read anew when it is asked for.

    ``size`` says how many bytes something takes. The last thing is kept in any case.
    """

    def __init__(self, most: float, size: Callable[[T], int]) -> None:
        self._most, self._size, self._taken = most, size, 0
        self._kept: dict[Hashable, tuple[T, int]] = {}

    def get(self, key: Hashable, read: Callable[[], T]) -> T:
        """What is known under a key, read if it is not there."""
        known: Any = self._kept.pop(key, None)
        if known is None:
            made = read()
            known = made, self._size(made)
            self._taken += known[1]
        self._kept[key] = known
        while self._taken > self._most and len(self._kept) > 1:
            self._taken -= self._kept.pop(next(iter(self._kept)))[1]
        thing: T = known[0]
        return thing
