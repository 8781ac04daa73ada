# SPDX-License-Identifier: Apache-2.0
"""What is said of a command that ended by something else than itself; loads nothing."""

import sys
from typing import Final

MEMORY: Final = "the memory ran out; use a larger machine, or fewer rows or columns"
SYSTEM: Final = (
    "the system ended the process, most likely as the memory ran out; use a larger machine, or fewer"
    " rows or columns"
)
LIBRARY: Final = (
    "a library failed and ended the process; run it again, and report it where it stays so"
)


def ended(words: str) -> str:
    """These words as a sentence, and of a publication what that means for the release."""
    publishes = " (a release is published whole or not at all)" * (sys.argv[1:2] == ["publish"])
    return f"{words}{publishes}."
