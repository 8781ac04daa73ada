# SPDX-License-Identifier: Apache-2.0
"""How much is tested: everything, or as much as takes so many seconds of a processor, other tests
on other days.

``BUDGET`` in the environment says how many seconds; without it, everything is tested (`make
thorough`). ``SEED`` says which tests come, and is the number of the day by default: whoever names
the one that a run has printed repeats its choice. What each test takes stands in seconds.json, as
`make seconds` measured it.
"""

import heapq
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = ROOT / "tests" / "seconds.json"
"""By test function: the seconds of one of its cases, where they are a tenth or more; by file: those
of the fixtures that its tests share.
"""
UNKNOWN, UNKNOWN_SLOW = 0.03, 30.0
LONG = float(os.environ.get("LONG", "0.25"))
"""A test of so many seconds has its turn as one that is marked slow."""
SLOW_SHARE = float(os.environ.get("SLOW_SHARE", "0.4"))
"""The part of the budget that belongs to slow tests; where it is 0, none of them comes."""
SHARED = 2.0
"""Where the fixtures of a file take so many seconds, its tests come together, as one slow test."""
elsewhere: dict[str, float] = {}
"""By name, the seconds that a process beside has used so far, which outlives a test."""


def budget() -> float | None:
    """How many seconds there are; None where there is no limit."""
    return float(os.environ["BUDGET"]) if os.environ.get("BUDGET") else None


def seed() -> int:
    """By which samples rotate; the day's number unless it is given, and the same in every process
    of a run.
    """
    return int(os.environ.setdefault("SEED", str(datetime.now(UTC).toordinal())))


def examples(number: int) -> int:
    """That many examples, or an eighth of them, five at least, where there is a budget; they are
    others in each run.
    """
    return number if budget() is None else max(min(5, number), number // 8)


def function(test: str) -> str:
    """The function whose case a test is.

    >>> function("tests/a.py::test_it[one-2]")
    'tests/a.py::test_it'
    """
    return test.partition("[")[0]


def file(test: str) -> str:
    """The file in which a test stands.

    >>> file("tests/a.py::test_it[one-2]")
    'tests/a.py'
    """
    return test.partition("::")[0]


@cache
def known() -> dict[str, float]:
    """What was measured."""
    return json.loads(SECONDS.read_text(encoding="utf-8"))


def has_turn(path: Path, seconds: Mapping[str, float]) -> bool:
    """Whether a file may have a test that is run: not where slow ones have no share, and its tests
    are slow, all of them.
    """
    if SLOW_SHARE or budget() is None:
        return True
    place = path.relative_to(ROOT).as_posix()
    tests = re.findall(r"^ *def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return seconds.get(place, 0.0) < SHARED and (
        not tests or any(seconds.get(f"{place}::{test}", 0.0) < LONG for test in tests)
    )


def chosen(
    tests: Sequence[str], marked: set[str], seconds: Mapping[str, float], limit: float, turn: int
) -> list[str]:
    """The tests that are run within a limit: a share of those that are marked slow or take long,
    first, and some cases of each other function.
    """

    def cost(test: str) -> float:
        return seconds.get(function(test), UNKNOWN_SLOW if test in marked else UNKNOWN)

    units = defaultdict(list)
    for test in tests:
        shared = seconds.get(file(test), 0.0) >= SHARED
        if test in marked or cost(test) >= LONG:
            units[test].append(test)
        elif shared:
            units[file(test)].append(test)
    costs = {
        unit: sum(map(cost, together)) + seconds.get(file(unit), 0.0)
        for unit, together in units.items()
    }
    share = part(list(units), costs.__getitem__, limit * SLOW_SHARE, turn) if SLOW_SHARE else []
    slow = {test for together in units.values() for test in together}
    quick = [test for test in tests if test not in slow]
    rest = limit - sum(costs[unit] for unit in share)
    return [test for unit in share for test in units[unit]] + some_of_each(quick, cost, rest, turn)


def some_of_each(
    tests: Sequence[str], cost: Callable[[str], float], limit: float, turn: int
) -> list[str]:
    """Of each function every n-th case, one at least, with the least n that keeps the limit; in n
    turns every case comes.

    Where even one case of each function is too much, it is that.

    >>> some_of_each(["t[a]", "t[b]", "t[c]", "u"], lambda test: 1, 3, turn=0)
    ['t[a]', 't[c]', 'u']
    >>> some_of_each(["t[a]", "t[b]", "t[c]", "u"], lambda test: 1, 3, turn=1)
    ['t[b]', 'u']
    """
    families = defaultdict(list)
    for test in tests:
        families[function(test)].append(test)
    most = max(map(len, families.values()), default=1)
    every = next(
        (
            n
            for n in range(1, most)
            if sum(-(-len(cases) // n) * cost(cases[0]) for cases in families.values()) <= limit
        ),
        most,
    )
    here = {
        test
        for cases in families.values()
        for test in cases[turn % min(every, len(cases)) :: every]
    }
    return [test for test in tests if test in here]


def part(tests: Sequence[str], cost: Callable[[str], float], limit: float, turn: int) -> list[str]:
    """One of the parts of about equal cost into which tests fall, as few as the limit allows: each
    comes once in so many turns. The longest first.

    >>> [part(["a", "b", "c", "d"], {"a": 3, "b": 2, "c": 2, "d": 1}.get, 4, turn) for turn in (6, 7)]
    [['a', 'd'], ['b', 'c']]
    """
    parts = [
        (0.0, place, list[str]()) for place in range(max(1, -int(-sum(map(cost, tests)) // limit)))
    ]
    for test in sorted(tests, key=lambda test: (-cost(test), test)):
        sum_, place, here = heapq.heappop(parts)
        heapq.heappush(parts, (sum_ + cost(test), place, [*here, test]))
    return {place: here for _, place, here in parts}[turn % len(parts)]
