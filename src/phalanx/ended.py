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
    """These words as a sentence, and of a publication that the release may be out all the same."""
    publishes = (
        " (a release is published whole or not at all: before you publish it again, see by 'phalanx"
        " series show' whether it is)"
    )
    return f"{words}{publishes * (sys.argv[1:2] == ['publish'])}."
