# SPDX-License-Identifier: Apache-2.0
"""The same with the ledger in PostgreSQL: the connection is cut as well, and the server's files,
logs and rows are searched too.
"""

from typing import Any

import pytest

from crash.conftest import Trials, faults, parts
from crash.test_killed import check, check_said


def test_killed_at_some_calls(trials_with_postgresql: Trials) -> None:
    """The second release, killed at few calls."""
    (made,) = trials_with_postgresql({"how": "before", "since": "staging", "step": 17})
    check(made)


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [
        *parts(14, how="before", since="staging"),
        *parts(2, how="before", first=3, step=13),
        *parts(2, releases=0, how="after", first=2, step=7),
    ],
)
def test_killed_at_every_call(trials_with_postgresql: Trials, order: dict[str, Any]) -> None:
    """The second release, killed before every single call since something is written; before that,
    and the first release, at many.
    """
    (made,) = trials_with_postgresql(order)
    check(made)
    assert len(made) > 40 / 14


@pytest.mark.slow
@pytest.mark.parametrize("order", parts(4, how="fail", since="staging", step=3))
def test_a_connection_that_is_cut(trials_with_postgresql: Trials, order: dict[str, Any]) -> None:
    """Cut before a message is sent or received, or on a full disk: one sentence that is true,
    nothing is lost, and there is a next release.
    """
    (made,) = trials_with_postgresql(order)
    check_said(made)


@pytest.mark.slow
@pytest.mark.parametrize("order", parts(3, how="after", since="staging", step=4, power="flushed"))
def test_a_power_failure(trials_with_postgresql: Trials, order: dict[str, Any]) -> None:
    """The publisher's power fails, not that of the server."""
    (made,) = trials_with_postgresql(order)
    check(made)


@pytest.mark.slow
@pytest.mark.parametrize("order", parts(3, how="after", first=74, step=6, again=80))
def test_a_second_death(trials_with_postgresql: Trials, order: dict[str, Any]) -> None:
    """The next publisher is killed as well."""
    (made,) = trials_with_postgresql(order)
    assert faults(made) == []
    assert made[-1]["recorded"]


@pytest.mark.slow
def test_a_twin_is_found_out(trials_with_postgresql: Trials) -> None:
    """What stands unsealed in the database is found in its rows, and in what the server writes."""
    (made,) = trials_with_postgresql({"how": "before", "twin": "unsealed", "only": "rmdir"})
    assert any("the ledger holds a released text" in fault for fault in faults(made))
    assert any("the server's" in fault for fault in faults(made))
