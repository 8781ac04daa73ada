"""A publisher is killed at every call that lasts: its release is whole and in the ledger, or absent from both, and the next publisher goes on."""

from collections.abc import Callable
from typing import Any

import pytest

Trial = dict[str, Any]
Trials = Callable[..., list[list[Trial]]]


def faults(trials: list[Trial]) -> list[str]:
    """What is wrong, and at which call."""
    return [f"{trial['at']} ({trial['call']}): {fault}" for trial in trials for fault in trial["faults"]]


def check(trials: list[Trial]) -> None:
    """Nothing is wrong anywhere; early calls leave no release, late ones leave it, and the last publisher comes through."""
    assert faults(trials) == []
    recorded = [trial["recorded"] for trial in trials]
    assert recorded == sorted(recorded)
    assert not recorded[0] and recorded[-1]
    assert trials[-1]["passed"] and not any(trial["passed"] for trial in trials[:-1])


def check_said(trials: list[Trial]) -> None:
    """Nothing is wrong, and publishers did say that they failed."""
    assert faults(trials) == []
    assert sum("nothing was" in trial["said"] for trial in trials) > 2
    assert trials[-1]["passed"] and not trials[-1]["said"]


def test_stopped_at_some_calls(trials: Trials) -> None:
    """The first and the second release, killed at every tenth call or so; the second on a disk that is full from there on, or for that call alone."""
    killed_first, killed_second, full, failed = trials(
        {"releases": 0, "how": "after", "first": 4, "step": 13},
        {"releases": 1, "how": "before", "first": 2, "step": 9},
        {"releases": 1, "how": "full", "first": 3, "step": 11},
        {"releases": 1, "how": "fail", "first": 8, "step": 12},
    )
    check(killed_first)
    check(killed_second)
    check_said(full)
    check_said(failed)


@pytest.mark.slow
@pytest.mark.parametrize(("releases", "how"), [(0, "after"), (1, "before")])
def test_killed_at_every_call(trials: Trials, releases: int, how: str) -> None:
    """The first release, killed after every single call; the second, killed before every single call."""
    (made,) = trials({"releases": releases, "how": how})
    check(made)
    assert len(made) > 50


@pytest.mark.slow
def test_killed_twice(trials: Trials) -> None:
    """The next publisher, who mends what the first left, is killed as well: the third one goes on."""
    for made in trials(*({"how": "after", "first": 1 + again % 5, "step": 6, "again": again} for again in (3, 20, 46))):
        check(made)


@pytest.mark.slow
@pytest.mark.parametrize(("releases", "how"), [(0, "full"), (1, "full"), (1, "fail")])
def test_a_full_disk_at_every_call(trials: Trials, releases: int, how: str) -> None:
    """The disk is full from any call on, or for any call alone: one sentence that is true, nothing is lost, and there is a next release."""
    (made,) = trials({"releases": releases, "how": how})
    check_said(made)
