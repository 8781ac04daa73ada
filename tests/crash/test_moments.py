# SPDX-License-Identifier: Apache-2.0
"""Publishers that are killed at random moments: one release or none, nothing left over, the mark
and the ledger agree, and the next publish works.
"""

from datetime import UTC, datetime

import pytest

from crash.conftest import run_alone
from support import postgresql_server

TODAY = str(datetime.now(UTC).toordinal())


@pytest.mark.parametrize("ledger", ["sqlite", "postgresql"])
def test_killed_at_some_moments(ledger: str) -> None:
    """A dozen kills, at other moments each day."""
    if ledger == "postgresql" and (reason := postgresql_server.missing()):
        pytest.skip(reason)
    said = run_alone("-m", "crash.moments", "12", "--seed", TODAY, "--ledger", ledger)
    assert "12 publishers killed" in said and ": 0 fault(s)" in said, said


@pytest.mark.slow
@pytest.mark.parametrize("twin", ["never_mended", "statement_by_statement"])
def test_a_twin_is_found_out(twin: str) -> None:
    """Publishing that nobody mends, or that is recorded part by part, is found out by kills at
    random moments.
    """
    said = run_alone("-m", "crash.moments", "80", "--ledger", "sqlite", "--twin", twin, fails=True)
    assert ": 0 fault(s)" not in said and "killed after" in said, said
