# SPDX-License-Identifier: Apache-2.0
"""What is left out today comes another day, no function is left out on any, and what is chosen
keeps the limit.
"""

from pathlib import Path

import pytest

from support import thoroughly
from support.thoroughly import chosen, function, has_turn, part, some_of_each

QUICK = (
    [f"a.py::test_one[{i}]" for i in range(10)]
    + ["a.py::test_two"]
    + [f"b.py::test_three[{i}]" for i in range(3)]
)


@pytest.fixture(autouse=True)
def _a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked here is asked of every run alike, `make quick` among them."""
    monkeypatch.setattr(thoroughly, "SLOW_SHARE", 0.4)


@pytest.mark.parametrize("limit", [14, 7, 5, 3, 1])
def test_every_quick_test_has_its_day(limit: int) -> None:
    """Each day has a case of each function, in their order; in ten days each case of each function
    comes.
    """
    days = [some_of_each(QUICK, lambda _: 1, limit, 739_000 + day) for day in range(10)]
    assert {test for day in days for test in day} == set(QUICK)
    assert all(
        {function(test) for test in day} == {function(test) for test in QUICK} for day in days
    )
    assert all(
        len(day) <= max(limit, 3) and day == [test for test in QUICK if test in day] for day in days
    )


@pytest.mark.parametrize("limit", [1, 20, 60, 1000])
def test_every_slow_test_has_its_day(limit: int) -> None:
    """In as many days as there are parts each slow test comes once, and no part is much above the
    limit but by one test.
    """
    cost = {f"s.py::test_{i}": float(1 + i * i % 17) for i in range(30)}
    number = max(1, -int(-sum(cost.values()) // limit))
    days = [part(list(cost), cost.__getitem__, limit, 739_000 + day) for day in range(number)]
    assert sorted(test for day in days for test in day) == sorted(cost)
    assert all(sum(cost[test] for test in day) <= limit + max(cost.values()) for day in days)


def test_a_choice_can_be_repeated() -> None:
    """The same turn chooses the same tests, and the next one others."""
    seconds = {"s.py::test_0": 5.0, "a.py::test_one": 0.9}
    slow = [f"s.py::test_{i}" for i in range(20)]
    assert (
        chosen(QUICK + slow, set(slow), seconds, 20, 5)
        == chosen(QUICK + slow, set(slow), seconds, 20, 5)
        != chosen(QUICK + slow, set(slow), seconds, 20, 6)
    )


def test_what_takes_long_comes_in_its_turn() -> None:
    """A test that takes long is not run each time, marked or not, and comes first where it is; what
    a share leaves of the limit is for the others.
    """
    seconds = {"a.py::test_two": 50.0, "b.py::test_three": 2.0}
    days = [chosen(QUICK, set(), seconds, 50, day) for day in range(6)]
    assert {test for day in days for test in day} == set(QUICK)
    assert sum("a.py::test_two" in day for day in days) < 6
    assert all(day[0] == "a.py::test_two" for day in days if "a.py::test_two" in day)


def test_tests_that_share_what_takes_long_come_together() -> None:
    """Where a file's fixtures take long, all its tests come on one day, and none on another; what
    is slow by itself has a day of its own.
    """
    seconds = {"b.py": 30.0, "a.py": 1.0}
    tests = [*QUICK, "b.py::test_slow"]
    days = [chosen(tests, {"b.py::test_slow"}, seconds, 60, day) for day in range(6)]
    shared = {f"b.py::test_three[{i}]" for i in range(3)}
    assert {len(shared & set(day)) for day in days} == {0, 3}
    assert any("b.py::test_slow" in day and not shared & set(day) for day in days)
    assert all("a.py::test_two" in day for day in days)


def test_slow_tests_without_a_share_do_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is marked, takes long, or shares what does is left to other runs; all else comes."""
    monkeypatch.setattr(thoroughly, "SLOW_SHARE", 0)
    tests, seconds = [*QUICK, "s.py::test_0", "c.py::test_1"], {"a.py::test_two": 5.0, "c.py": 30.0}
    assert set(chosen(tests, {"s.py::test_0"}, seconds, 99, 7)) == set(QUICK) - {"a.py::test_two"}


def test_a_file_without_a_turn_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where slow tests have no share, and where all tests of the file are slow."""
    path = Path(__file__)
    place = path.relative_to(thoroughly.ROOT).as_posix()
    slow = {f"{place}::{name}": 9.0 for name in globals() if name.startswith("test_")}
    quicker = slow | {f"{place}::test_a_choice_can_be_repeated": 0.0}
    monkeypatch.setenv("BUDGET", "60")
    monkeypatch.setattr(thoroughly, "SLOW_SHARE", 0.4)
    assert has_turn(path, slow)
    monkeypatch.setattr(thoroughly, "SLOW_SHARE", 0)
    assert not has_turn(path, slow) and not has_turn(path, {place: 9.0})
    assert has_turn(path, quicker) and has_turn(path, {})
    monkeypatch.setenv("BUDGET", "")
    assert has_turn(path, slow)


def test_nothing_to_choose_from() -> None:
    """No tests are no choice."""
    assert chosen([], set(), {}, 10, 3) == []
