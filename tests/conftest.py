# SPDX-License-Identifier: Apache-2.0
"""For all tests: a machine that is busy with something else is no failure, and as many of them are
run as there is time for (thoroughly.py).
"""

import json
import os
import resource
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import is_hypothesis_test, settings

from support import thoroughly

settings.register_profile("phalanx", deadline=None, max_examples=thoroughly.examples(100))
settings.load_profile("phalanx")
_measured: dict[str, list[float]] = defaultdict(list)
"""By test function, the seconds of a processor that each of its cases took."""
_shared: dict[str, dict[str, float]] = defaultdict(dict)
"""By file, the seconds that each fixture took which its tests share."""


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How to run the same tests again, and what took longer than seconds.json says."""
    if not (limit := thoroughly.budget()):
        return
    seed, known = thoroughly.seed(), thoroughly.known()
    terminalreporter.write_line(
        f"tests for {limit:.0f} seconds of a processor, others on other days; these again:"
        f" SEED={seed}"
    )
    over = {
        name: seconds * len(_measured.get(name, [0]))
        for name, seconds in _seconds().items()
        if seconds > 2 * known.get(name, 0.0) + 1
    }
    for name in sorted(over, key=over.__getitem__, reverse=True)[:10]:
        terminalreporter.write_line(
            f"{over[name]:6.1f} s, more than seconds.json says (`make seconds`): {name}"
        )


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """To read a file takes time, which is saved where none of its tests can come."""
    if collection_path.match("test_*.py"):
        return not thoroughly.has_turn(collection_path, thoroughly.known()) or None
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where there is a budget: the tests that keep it, the slow ones first, with fewer examples."""
    limit, turn = thoroughly.budget(), thoroughly.seed()
    if limit is None:
        return
    by_name = {item.nodeid: item for item in items}
    marked = {name for name, item in by_name.items() if item.get_closest_marker("slow")}
    items[:] = [
        by_name[name]
        for name in thoroughly.chosen(list(by_name), marked, thoroughly.known(), limit, turn)
    ]
    there = set(items)
    config.hook.pytest_deselected(items=[item for item in by_name.values() if item not in there])
    fewer_examples(items)


def fewer_examples(items: list[pytest.Item]) -> None:
    """Let each test of Hypothesis, which has a number of examples of its own, try a part of
    them.
    """
    for test in {
        item.obj
        for item in items
        if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)
    }:
        own: Any = getattr(test, "_hypothesis_internal_use_settings", None)
        if own is not None and own is not settings.default:
            test._hypothesis_internal_use_settings = settings(
                own, max_examples=thoroughly.examples(own.max_examples)
            )


def _used() -> float:
    """The seconds of a processor that this process and its children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used) + sum(thoroughly.elsewhere.values())


_fixtures: dict[str, float] = {}
"""The fixtures of a file that this process has made since the last report."""


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Iterator[None]:
    """Note what a fixture uses that the tests of a file share."""
    before = _used()
    try:
        return (yield)
    finally:
        if fixturedef.scope in {"module", "class"}:
            _fixtures[fixturedef.argname] = _used() - before


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note what was used before a test."""
    item.user_properties.append(("used", _used()))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Say with each report what was used until then, and by which fixtures."""
    item.user_properties.append(("fixtures", dict(_fixtures)))
    _fixtures.clear()
    report: Any = yield
    report.user_properties.append(("used", _used()))
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note what a test used, and what the fixtures did that it shares."""
    if report.when == "teardown":
        used = [value for name, value in report.user_properties if name == "used"]
        made = [value for name, value in report.user_properties if name == "fixtures"]
        shared = {name: seconds for fixtures in made for name, seconds in fixtures.items()}
        _measured[thoroughly.function(report.nodeid)].append(
            used[-1] - used[0] - sum(shared.values())
        )
        _shared[thoroughly.file(report.nodeid)] |= shared


def _seconds() -> dict[str, float]:
    """What was measured, in the form of seconds.json."""
    means = {test: sum(all_) / len(all_) for test, all_ in _measured.items()}
    return means | {file: sum(fixtures.values()) for file, fixtures in _shared.items()}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write what was measured beside what was known, where ``SECONDS`` says so; a worker of several
    writes nothing.
    """
    if "SECONDS" in os.environ and not hasattr(session.config, "workerinput"):
        there = thoroughly.known() | {name: round(s, 2) for name, s in _seconds().items()}
        text = json.dumps(
            {name: seconds for name, seconds in sorted(there.items()) if seconds >= 0.1}, indent=0
        )
        Path(os.environ["SECONDS"]).write_text(text + "\n", encoding="utf-8")
