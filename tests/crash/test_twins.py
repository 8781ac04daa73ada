# SPDX-License-Identifier: Apache-2.0
"""Publishing that is broken on purpose is found out by the same trials: a test of them that could
not fail would be no test.
"""

import pytest

from crash.conftest import Trials, faults
from crash.twins import TWINS

# The twin, the trial that must find it, the calls of the second release at which it is stopped, and
# words of a fault that must be found.
FOUND = [
    (
        "named_too_early",
        {"how": "before"},
        "private/ledger.db-journal",
        "exists and is not in the ledger",
    ),
    ("unknown_to_the_ledger", {"how": "before"}, "rename", "it has no release.json"),
    ("never_mended", {"how": "before"}, "data.csv", "is left in the folder of the releases"),
    ("statement_by_statement", {"how": "after"}, "unlink", "was changed by others than Phalanx"),
    ("unsealed", {"how": "before"}, "rmdir", "private/ledger.db holds a released text"),
    ("a_copy_beside", {"how": "before"}, "unlink", "temporary file"),
    ("a_copy_elsewhere", {"how": "before"}, "rmdir", "is outside of the place"),
    ("marked_too_late", {"how": "after"}, "rename", "have their names, and the mark says"),
    ("marked_too_early", {"how": "after"}, ".mark", "is older than what was published"),
    (
        "swallowed",
        {"how": "fail"},
        "rename",
        "the publisher said: it cannot be named; nothing was published",
    ),
    ("removed_too_early", {"how": "fail"}, "rename", "it has no release.json"),
    ("never_flushed", {"how": "after", "power": "flushed"}, "rename", "its release is not there"),
    ("never_flushed", {"how": "after", "power": "names"}, "rename", "the next publish fails"),
    (
        "not_named_on_the_disk",
        {"how": "after", "power": "flushed"},
        "sync",
        "it has no release.json",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("twin", "how", "calls", "words"), FOUND)
def test_every_twin_is_found_out(
    trials: Trials, twin: str, how: dict[str, str], calls: str, words: str
) -> None:
    """Each way to break publishing gives the fault that it must give, at the call where it must."""
    (made,) = trials(how | {"twin": twin, "only": calls})
    assert any(words in fault for fault in faults(made)), faults(made)


def test_every_twin_is_tried() -> None:
    """None is listed that nothing tries."""
    assert {twin for twin, *_ in FOUND} == set(TWINS)
