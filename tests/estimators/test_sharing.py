# SPDX-License-Identifier: Apache-2.0
"""What the groups of a query have in common is kept as long as there is room for it."""

import gc

import numpy as np
import pytest

from phalanx.estimators import sharing
from phalanx.estimators.answering import estimate
from phalanx.estimators.bounds import Bounds
from phalanx.estimators.models import Model
from phalanx.estimators.sharing import Shared
from support.estimator_cases import METHODS, people, published


def asked(shared: Shared, key: str, value: object) -> tuple[object, int]:
    """What a key stands for after it was asked for twice, and how often it was worked out."""
    calls: list[int] = []

    def made() -> object:
        calls.append(1)
        return value

    first = shared.of(key, made)
    again = shared.of(key, made)
    assert first is value
    assert again is value
    return again, len(calls)


@pytest.mark.parametrize(
    ("value", "times"),
    [
        (np.zeros(10), 1),
        (np.zeros(11), 2),
        ((np.zeros(5), np.zeros(6)), 2),
        ([(np.zeros(5), None), (np.zeros(6), np.ones(1))], 2),
        ("x" * 1000, 1),
    ],
    ids=["fits", "too large", "two", "nested", "no array"],
)
def test_arrays_are_kept_where_they_fit(monkeypatch, value, times: int) -> None:
    """Into a quarter of what is left; else they are worked out again."""
    monkeypatch.setattr(sharing, "memory_left", lambda: 4 * 80)
    assert asked(Shared(), "a", value)[1] == times


def test_what_was_kept_takes_room_until_the_next_group(monkeypatch) -> None:
    """Then it is looked at anew how much there is; what is known of the group before is taken over."""
    monkeypatch.setattr(sharing, "memory_left", lambda: 4 * 100)
    shared, half = Shared(), np.zeros(7)
    assert asked(shared, "a", half)[1] == 1
    assert asked(shared, "b", np.zeros(7))[1] == 2
    shared.next_group()
    assert shared.of("a", lambda: None) is half
    assert asked(shared, "b", np.zeros(7))[1] == 1


@pytest.mark.parametrize(
    "query", ["count(*) where age > 30 and ill = 'flu'", "avg(pay) where age > 30"]
)
def test_an_answer_leaves_nothing_behind(tmp_path, query: str) -> None:
    """Nothing that was worked out refers to itself, so that it goes with the answer: the command line
    looks for such circles seldom, and a hundred answers held seven gigabytes.
    """
    release = published(METHODS["mondrian"], people(), tmp_path)
    estimate(release, query)
    gc.collect()
    gc.disable()
    try:
        estimate(release, query)
        # by its type, as a weak reference of another test stands for what is gone
        kinds = Model | Bounds | Shared
        left = [each for each in gc.get_objects() if issubclass(type(each), kinds)]
    finally:
        gc.enable()
    assert left == []
