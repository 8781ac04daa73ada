"""How much of a slow test is run: all of it at a developer's desk, a sample where every change is checked."""

import os


def examples(number: int) -> int:
    """That many examples, or a quarter of them where the environment variable CI is set."""
    return number // 4 if os.environ.get("CI") else number
