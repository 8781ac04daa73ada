"""How much of a slow test is run: all of it at a developer's desk, a sample where every change is checked."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")


def sample(tests: list[T], every: int, day: int) -> tuple[list[T], list[T]]:
    """One of every so many tests, others on every day, and those that are left out.

    >>> sample(["a", "b", "c", "d"], 3, day=3), sample(["a", "b", "c", "d"], 3, day=4)
    ((['a', 'd'], ['b', 'c']), (['b'], ['a', 'c', 'd']))
    """
    chosen = set(range(day % every, len(tests), every))
    return [test for place, test in enumerate(tests) if place in chosen], [test for place, test in enumerate(tests) if place not in chosen]


def examples(number: int) -> int:
    """That many examples, or a quarter of them where the environment variable CI is set."""
    return number // 4 if os.environ.get("CI") else number


def today() -> int:
    """The number of the day, by which samples rotate."""
    return datetime.now(UTC).toordinal()


def turn(things: Sequence[T]) -> Sequence[T]:
    """All of them, or where the environment variable CI is set every fourth, others on every day."""
    return things[today() % 4 :: 4] if os.environ.get("CI") else things
