"""How much of a slow test is run: all of it at a developer's desk, a sample where every change is checked."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

T = TypeVar("T")


def examples(number: int) -> int:
    """That many examples, or a quarter of them where the environment variable CI is set."""
    return number // 4 if os.environ.get("CI") else number


def turn(things: Sequence[T]) -> Sequence[T]:
    """All of them, or where the environment variable CI is set every fourth, others on every day."""
    return things[datetime.now(UTC).toordinal() % 4 :: 4] if os.environ.get("CI") else things
