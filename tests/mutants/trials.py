# SPDX-License-Identifier: Apache-2.0
"""Tests run in forks of one warm process, each on a copy of the source; which lines each test runs,
and whether a mutant is noticed.

The process that forks has imported the libraries and nothing of Phalanx, and started no thread.
"""

import importlib
import inspect
import json
import os
import re
import resource
import shutil
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import hypothesis
import pytest

from mutants.mutations import Mutation, mutated
from support import thoroughly

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("guarantees", "ledger", "accounting")
TESTS = (
    *(f"tests/{name}" for name in PACKAGES),
    "tests/release",
    "tests/series",
    "tests/threats",
    "tests/cli/test_budget.py",
    "tests/cli/test_ledger_commands.py",
    "tests/cli/test_series.py",
    "tests/methods/test_not_applicable.py",
    "tests/methods/test_weights.py",
    "tests/methods/slicing/test_counting.py",
    "tests/test_registry.py",
    "tests/test_testing.py",
    "tests/test_third_party.py",
    "tests/test_verification.py",
)
"""Where tests are that may notice a mutant."""
WARM = (
    "numpy",
    "polars",
    "numba",
    "scipy.stats",
    "scipy.optimize",
    "pyarrow.parquet",
    "cryptography.hazmat.primitives.ciphers.aead",
    "pydantic",
    "jinja2",
    "typer",
)
_CLOCK = re.compile(r"process_time|perf_counter|monotonic\(")
"""A test that looks at the clock says nothing about a mutant on a machine that is busy with
others.
"""
NO_TEST = 5
"""Pytest's word for having had nothing to run."""
_EXAMPLES = 20
"""Of Hypothesis, enough to see which lines a test runs."""
_OFTEN = 50
_LONGEST = 6.0
"""Tests that are known to take so many seconds of a processor are left out."""
_OWN = 3
"""Tests that mirror a file are slow from so many seconds on, others from one."""
_FIRST = 30
_MEMORY = 6 << 30
_BUSY = 20
"""How many seconds may go by for one of a processor, on a machine that is busy with others."""


@dataclass
class Tests:
    """What is known of the tests: how many seconds of a processor each takes, and which lines of the
    source it runs.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """By test and file."""

    def of(self, mutation: Mutation) -> list[str]:
        """The tests that run a mutant, those that mirror its file first, then the quick ones first;
        slow ones last.
        """
        statement = range(mutation.first, mutation.last + 1)
        found = [
            test
            for test, files in self.lines.items()
            if mutation.file in files
            and (not mutation.inside or any(i in statement for i in files[mutation.file]))
        ]
        path = Path(mutation.file)
        alike, mirror = f"test_{path.stem}", f"tests/{path.parent}/test_{path.name}::"

        def late(test: str) -> tuple[bool, bool, bool, float]:
            own, seconds = test.startswith(mirror), self.seconds[test]
            return seconds > (_OWN if own else 1), not own, alike not in test, seconds

        return sorted(found, key=late)


@dataclass
class _Lines:
    """The lines of a piece of code that a test has not run yet."""

    code: CodeType
    file: str
    left: set[int]
    calls: int = 0
    """Since it last ran a new one."""


class _Recorder:
    """A plugin that notes the lines of ``source`` that each test runs, and how long it takes; and
    stops at no failure.

    Code that a test calls again and again is looked at less often: a line may then be taken for one
    that the test does not run, but never the other way round.
    """

    def __init__(self, source: Path) -> None:
        self.source, self.tests, self.failed = str(source) + "/", Tests(), set[str]()
        self._lines: dict[str, set[int]] = {}
        self._codes: dict[int, _Lines | CodeType] = {}
        """By the code's id; by the code itself, so that it stays, where it is not of interest."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = thoroughly.known()
        items[:] = [
            item
            for item in items
            if item.get_closest_marker("slow") is None
            and known.get(thoroughly.function(item.nodeid), 0) < _LONGEST
            and not _CLOCK.search(inspect.getsource(item.function))
        ]  # type: ignore[attr-defined]
        for test in {item.obj for item in items}:  # type: ignore[attr-defined]
            own = getattr(test, "_hypothesis_internal_use_settings", None)
            if own is not None and own.max_examples > _EXAMPLES:
                test._hypothesis_internal_use_settings = hypothesis.settings(
                    own, max_examples=_EXAMPLES
                )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._lines, began = defaultdict(set), used()
        self._codes = {at: code for at, code in self._codes.items() if not isinstance(code, _Lines)}
        _forget()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self.tests.seconds[item.nodeid] = used() - began
            self.tests.lines[item.nodeid] = {
                name.removeprefix(self.source): sorted(lines) for name, lines in self._lines.items()
            }

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def _trace(self, frame: FrameType, *_: Any) -> Any:
        code = frame.f_code
        known = self._codes.get(id(code)) or self._met(code)
        if not isinstance(known, _Lines) or not known.left:
            return None
        known.calls += 1
        if known.calls > _OFTEN and known.calls % _OFTEN:
            return None
        left, seen = known.left, self._lines[known.file]

        def line(frame: FrameType, *_: Any) -> Any:
            if frame.f_lineno in left:
                left.discard(frame.f_lineno)
                seen.add(frame.f_lineno)
                known.calls = 0
                frame.f_trace_lines = bool(left)
            return line

        return line

    def _met(self, code: CodeType) -> _Lines | CodeType:
        name, new = code.co_filename, code
        if name.startswith(self.source) and name[len(self.source) :].split("/")[0] in PACKAGES:
            new = _Lines(code, name, {line for _, _, line in code.co_lines() if line})
        self._codes[id(code)] = new
        return new

    def answer(self) -> dict[str, Any]:
        """What was noted, of the tests that pass."""
        good = [test for test in self.tests.seconds if test not in self.failed]
        return {
            "seconds": {test: self.tests.seconds[test] for test in good},
            "lines": {test: self.tests.lines[test] for test in good},
            "failed": sorted(self.failed),
        }


def used() -> float:
    """The seconds of a processor that this process and its children have used."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


def _forget() -> None:
    """Empty the caches of the package, so that what an earlier test asked is run again."""
    for name, module in list(sys.modules.items()):
        if name.startswith("phalanx."):
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


class _Chosen:
    """A plugin that runs these tests in this order."""

    def __init__(self, order: Sequence[str]) -> None:
        self.place, self.failed = {test: i for i, test in enumerate(order)}, list[str]()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place),
            key=lambda item: self.place[item.nodeid],
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


class _Same:
    """A plugin after which hypothesis tries the same examples each time, so many of them."""

    def __init__(self, examples: int) -> None:
        self.examples = examples

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        hypothesis.settings.register_profile(
            "mutants",
            deadline=None,
            derandomize=True,
            database=None,
            max_examples=self.examples,
            suppress_health_check=[hypothesis.HealthCheck.too_slow],
        )
        hypothesis.settings.load_profile("mutants")


def pytest_on(
    source: Path, files: Sequence[str], plugin: Any, *words: str, examples: int = 100
) -> int:
    """Pytest's answer about a copy of the source, in this process, which must be a fork."""
    if sys.path[0] != str(source.parent):
        if any(name == "phalanx" or name.startswith("phalanx.") for name in sys.modules):
            raise RuntimeError("a process that has imported the package cannot test a copy of it")
        sys.path.insert(0, str(source.parent))
        os.environ["PYTHONPATH"] = os.pathsep.join([str(source.parent), str(ROOT / "tests")])
        os.chdir(ROOT)
    return int(
        pytest.main(
            ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain", *words, *files],
            plugins=[plugin, _Same(examples)],
        )
    )


@dataclass
class Copy:
    """A copy of the source for one fork at a time."""

    folder: Path
    _changes: int = 0

    @property
    def source(self) -> Path:
        return self.folder / "src" / "phalanx"

    def make(self) -> None:
        """Copied with the compiled kernels beside it."""
        shutil.copytree(ROOT / "src" / "phalanx", self.source, dirs_exist_ok=True)

    def write(self, file: str, text: str) -> None:
        """With a time of change that no earlier text of the file had, so that no compiled file of
        another text is taken for it.
        """
        path = self.source / file
        path.write_text(text)
        self._changes += 1
        when = 1_000_000_000 + self._changes
        os.utime(path, (when, when))


@dataclass
class Fork:
    """Work in a fork, in a process group of its own, and what it says. It may use so many seconds of
    a processor.
    """

    pid: int
    answer: Path
    last: float

    @classmethod
    def start(cls, work: Callable[[], Any], answer: Path, seconds: float) -> "Fork":
        answer.unlink(missing_ok=True)
        if pid := os.fork():
            return cls(pid, answer, time.monotonic() + _BUSY * seconds)
        status = 1
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
            said = os.open(answer.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(said, 1)
            os.dup2(said, 2)
            answer.write_text(json.dumps(work()))
            status = 0
        except BaseException:  # noqa: BLE001 - a fork must never go on as if it were its parent
            sys.excepthook(*sys.exc_info())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    def ended(self) -> bool:
        """Whether it has ended, by itself or because its time is over."""
        late = time.monotonic() > self.last
        if late:
            for kill in (os.killpg, os.kill):
                try:
                    kill(self.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        pid, status = os.waitpid(self.pid, 0 if late else os.WNOHANG)
        if pid and os.WIFEXITED(status) and os.WEXITSTATUS(status):  # not the source is at fault
            raise RuntimeError(f"a fork failed:\n{self.answer.with_suffix('.log').read_text()}")
        return pid != 0

    def manifest_fields(self) -> Any:
        """Its answer; None where it was stopped or died."""
        return json.loads(self.answer.read_text()) if self.answer.exists() else None


def warm() -> None:
    """Import what every fork would import; one thread for each, as there are two of them."""
    for name in (
        "POLARS_MAX_THREADS",
        "NUMBA_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "OMP_NUM_THREADS",
    ):
        os.environ.setdefault(name, "1")
    for name in WARM:
        importlib.import_module(name)


def record(source: Path, files: Sequence[str]) -> dict[str, Any]:
    """Run the tests of some files and note what each runs."""
    recorder = _Recorder(source)
    code = pytest_on(source, files, recorder, examples=_EXAMPLES)
    if code not in {0, 1, NO_TEST}:
        raise RuntimeError(f"tests that cannot be collected: {', '.join(files)}")
    return recorder.answer()


def noticed(source: Path, order: Sequence[str]) -> dict[str, Any]:
    """Whether one of these tests fails, and which; the files of the first ones are imported
    first.
    """
    for part in (order[:_FIRST], order[_FIRST:]):
        answer = failing(source, part, "-x")
        if answer["code"] not in {0, NO_TEST}:
            return answer
    return {"code": NO_TEST, "failed": []}


def failing(source: Path, order: Sequence[str], *words: str) -> dict[str, Any]:
    """Which of these tests fail."""
    if not order:
        return {"code": NO_TEST, "failed": []}
    chosen = _Chosen(order)
    files = list(dict.fromkeys(test.partition("::")[0] for test in order))
    code = pytest_on(source, files, chosen, *words)
    return {"code": code, "failed": chosen.failed}


def apply(copy: Copy, mutation: Mutation) -> None:
    """Make the change in the copy."""
    copy.write(
        mutation.file,
        mutated((ROOT / "src" / "phalanx" / mutation.file).read_text(), mutation.number),
    )


def restore(copy: Copy, mutation: Mutation) -> None:
    """Take it back."""
    copy.write(mutation.file, (ROOT / "src" / "phalanx" / mutation.file).read_text())
