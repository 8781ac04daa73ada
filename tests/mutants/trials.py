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
from typing import Any

import hypothesis
import pytest

from mutants.mutations import Mutation, mutated

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("guarantees", "ledger", "accounting")
TESTS = (
    *(f"tests/{name}" for name in PACKAGES),
    "tests/test_verification.py",
    "tests/series/test_reconciling.py",
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
_LONGEST = 30.0
_MEMORY = 6 << 30


@dataclass
class Tests:
    """What is known of the tests: how long each takes, and which lines of the source it runs."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """By test and file."""

    def of(self, mutation: Mutation) -> list[str]:
        """The tests that run a mutant, those that mirror its file first, then the quick ones
        first.
        """
        statement = range(mutation.first, mutation.last + 1)
        found = [
            test
            for test, files in self.lines.items()
            if mutation.file in files
            and (not mutation.inside or any(i in statement for i in files[mutation.file]))
        ]
        mirror = f"test_{Path(mutation.file).stem}"
        return sorted(
            found, key=lambda test: (self.seconds[test] > 1, mirror not in test, self.seconds[test])
        )


class _Recorder:
    """A plugin that notes the lines of ``source`` that each test runs, and how long it takes; and
    stops at no failure.
    """

    def __init__(self, source: Path) -> None:
        self.source, self.tests, self.failed = str(source) + "/", Tests(), set[str]()
        self._lines: dict[str, set[int]] = defaultdict(set)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            item
            for item in items
            if item.get_closest_marker("slow") is None
            and not _CLOCK.search(inspect.getsource(item.function))
        ]  # type: ignore[attr-defined]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._lines, began = defaultdict(set), time.monotonic()
        threading.settrace(self._trace)
        sys.settrace(self._trace)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            self.tests.seconds[item.nodeid] = time.monotonic() - began
            self.tests.lines[item.nodeid] = {
                name.removeprefix(self.source): sorted(lines) for name, lines in self._lines.items()
            }

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self.failed.add(report.nodeid)

    def _trace(self, frame: Any, *_: Any) -> Any:
        name = frame.f_code.co_filename
        if (
            not name.startswith(self.source)
            or name[len(self.source) :].split("/")[0] not in PACKAGES
        ):
            return None
        lines = self._lines[name]

        def line(frame: Any, *_: Any) -> Any:
            lines.add(frame.f_lineno)
            return line

        return line

    def answer(self) -> dict[str, Any]:
        """What was noted, of the tests that pass and are not too long."""
        good = [
            test
            for test, seconds in self.tests.seconds.items()
            if test not in self.failed and seconds < _LONGEST
        ]
        return {
            "seconds": {test: self.tests.seconds[test] for test in good},
            "lines": {test: self.tests.lines[test] for test in good},
            "failed": sorted(self.failed),
        }


class _Chosen:
    """A plugin that runs these tests in this order."""

    def __init__(self, order: Sequence[str]) -> None:
        self.place, self.failed = {test: i for i, test in enumerate(order)}, ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.place),
            key=lambda item: self.place[item.nodeid],
        )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


class _Same:
    """A plugin after which hypothesis tries the same examples each time, so many of them."""

    def __init__(self, examples: int) -> None:
        self.examples = examples

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        hypothesis.settings.register_profile(
            "mutants", deadline=None, derandomize=True, database=None, max_examples=self.examples
        )
        hypothesis.settings.load_profile("mutants")


def pytest_on(
    source: Path, files: Sequence[str], plugin: Any, *words: str, examples: int = 100
) -> int:
    """Pytest's answer about a copy of the source, in this process, which must be a fork."""
    for name in list(sys.modules):
        if name == "phalanx" or name.startswith("phalanx."):
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
    """Work in a fork, in a process group of its own, and what it says."""

    pid: int
    answer: Path
    last: float

    @classmethod
    def start(cls, work: Callable[[], Any], answer: Path, seconds: float) -> "Fork":
        answer.unlink(missing_ok=True)
        if pid := os.fork():
            return cls(pid, answer, time.monotonic() + seconds)
        status = 1
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
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
    code = pytest_on(
        source, files, recorder, examples=20
    )  # that is enough to see which lines a test runs
    if code not in {0, 1, NO_TEST}:
        raise RuntimeError(f"tests that cannot be collected: {', '.join(files)}")
    return recorder.answer()


def noticed(source: Path, order: Sequence[str]) -> dict[str, Any]:
    """Whether one of these tests fails, and which."""
    if not order:
        return {"code": NO_TEST, "test": ""}
    chosen = _Chosen(order)
    files = list(dict.fromkeys(test.partition("::")[0] for test in order))
    code = pytest_on(source, files, chosen, "-x")
    return {"code": code, "test": chosen.failed}


def apply(copy: Copy, mutation: Mutation) -> None:
    """Make the change in the copy."""
    copy.write(
        mutation.file,
        mutated((ROOT / "src" / "phalanx" / mutation.file).read_text(), mutation.number),
    )


def restore(copy: Copy, mutation: Mutation) -> None:
    """Take it back."""
    copy.write(mutation.file, (ROOT / "src" / "phalanx" / mutation.file).read_text())
