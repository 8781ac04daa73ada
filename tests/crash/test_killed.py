# SPDX-License-Identifier: Apache-2.0
"""A publisher is killed at every call that lasts: its release is whole and in the ledger, or absent
from both, and the next publisher goes on.

Also where the power fails with it, where the next one is killed too, and where it is not killed but
meets a full disk or loses its connection.
"""

from typing import Any

import pytest

from crash.conftest import Trial, Trials, faults, parts


def check(trials: list[Trial]) -> None:
    """Nothing is wrong anywhere; early calls leave no release, late ones leave it, and the last
    publisher comes through.
    """
    assert faults(trials) == []
    recorded = [trial["recorded"] for trial in trials]
    assert recorded == sorted(recorded)
    assert not recorded[0] and recorded[-1]
    assert trials[-1]["passed"] and not any(trial["passed"] for trial in trials[:-1])


def check_said(trials: list[Trial]) -> None:
    """Nothing is wrong, and publishers did say that they failed; whether something was recorded is
    unknown only in the moment of recording.
    """
    assert faults(trials) == []
    assert sum("nothing was" in trial["said"] for trial in trials) > 2
    unknown = [trial["call"] for trial in trials if "not known" in trial["said"]]
    assert len(unknown) <= max(2, len(trials) // 5)
    assert all("world/private" in call or "socket" in call for call in unknown)
    assert trials[-1]["passed"] and not trials[-1]["said"]


def test_stopped_at_some_calls(trials: Trials) -> None:
    """The first and the second release, stopped at every fifteenth call or so."""
    killed_first, killed_second, full, flushed = trials(
        {"releases": 0, "how": "after", "first": 4, "step": 19},
        {"how": "before", "first": 2, "step": 13},
        {"how": "full", "first": 3, "step": 16},
        {"how": "after", "first": 23, "step": 17, "power": "flushed"},
    )
    check(killed_first)
    check(killed_second)
    check_said(full)
    check(flushed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "order", [*parts(8, releases=0, how="after"), *parts(8, releases=1, how="before")]
)
def test_killed_at_every_call(trials: Trials, order: dict[str, Any]) -> None:
    """The first release, killed after every single call; the second, killed before every single
    call.
    """
    (made,) = trials(order)
    check(made)
    assert len(made) > 50 / 8


@pytest.mark.slow
@pytest.mark.parametrize("again", [3, 20, 46])
def test_killed_twice(trials: Trials, again: int) -> None:
    """The next publisher, who mends what the first left, is killed as well: the third one goes
    on.
    """
    (made,) = trials({"how": "after", "first": 1 + again % 5, "step": 6, "again": again})
    assert faults(made) == []
    assert made[-1]["recorded"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [
        *parts(2, releases=0, how="after", power="flushed", only="sync"),
        *parts(2, releases=1, how="after", power="flushed", only="sync"),
        *parts(3, releases=0, how="after", power="names", step=3),
        *parts(4, releases=1, how="after", power="names", step=2),
    ],
)
def test_a_power_failure(trials: Trials, order: dict[str, Any]) -> None:
    """The power fails after any call that could make a difference: a release that the ledger knows
    is there, and so is one whose publisher was content.
    """
    (made,) = trials(order)
    check(made)


@pytest.mark.slow
@pytest.mark.parametrize(
    "order",
    [
        *parts(3, releases=0, how="full", step=3),
        *parts(8, releases=1, how="full"),
        *parts(5, releases=1, how="fail", step=2),
    ],
)
def test_a_full_disk(trials: Trials, order: dict[str, Any]) -> None:
    """The disk is full from a call on, or for a call alone: one sentence that is true, nothing is
    lost, and there is a next release.
    """
    (made,) = trials(order)
    check_said(made)
