"""Publishing that is broken on purpose is found out by the same trials: a test of them that could not fail would be no test."""

from collections.abc import Callable
from typing import Any

from crash.test_killed import faults

# The twin, how its publisher is stopped, around which call of the second release, and words of a fault that must be found.
FOUND = [
    ("named_too_early", "before", "private/ledger.db-journal", "exists and is not in the ledger"),
    ("unknown_to_the_ledger", "before", "rename", "it has no release.json"),
    ("never_mended", "before", "data.csv", "is left in the folder of the releases"),
    ("statement_by_statement", "after", "unlink", "was changed by others than Phalanx"),
    ("unsealed", "before", "data.csv", "private/ledger.db holds a released text"),
    ("a_copy_beside", "before", "unlink", "temporary file"),
    ("swallowed", "fail", "rename", "the publisher said: it cannot be named; nothing was published"),
    ("removed_too_early", "fail", "rename", "it has no release.json"),
]


def test_every_twin_is_found_out(trials: Callable[..., list[list[dict[str, Any]]]]) -> None:
    """Each way to break publishing gives the fault that it must give, at the call where it must."""
    made = trials(*({"twin": twin, "how": how, "only": call} for twin, how, call, _ in FOUND))
    for (twin, _, _, words), found in zip(FOUND, made, strict=True):
        assert any(words in fault for fault in faults(found)), (twin, faults(found))
