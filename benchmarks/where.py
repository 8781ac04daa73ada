# SPDX-License-Identifier: Apache-2.0
"""Where the time of a publication goes, and how far each kernel is from the memory's bandwidth.

    python benchmarks/where.py [--rows 1000000] [--only TEXT]

Jobs are those of `jobs.py`, each in this process, the second time, so that nothing is loaded or
compiled. Stages are counted in the processor's seconds of all threads; what is left is the rest. Of
a kernel that Python calls: by the clock how long all its calls took, and the bytes of its arrays,
each counted once, by the bytes that the same memory copies in the same time. A kernel that looks at
an array once in order is near 1; one that sorts, or goes to places at random, is far below.
"""

import argparse
import contextlib
import io
import os
import shutil
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jobs import jobs, prepare, words
from numba.core.registry import CPUDispatcher

from phalanx.cli import app
from phalanx.data.microdata import Microdata
from phalanx.ledger import Ledger
from phalanx.methods.base import registered
from phalanx.release.folder import Release
from phalanx.series import drafting, given
from phalanx.series.released import Release as Released

STAGES: list[tuple[str, Any, str]] = [
    ("read", given, "read_source"),
    ("encode", Microdata, "encode"),
    ("write", drafting, "write_folder"),
    ("read back", Release, "read"),
    ("check of the files", drafting, "verify"),
    ("check of truth", drafting.Drafting, "truth"),
    ("ledger", Ledger, "commit"),
    ("report", Released, "report"),
]


class Clock:
    """What each stage and each kernel takes; a stage within another is counted in the outer one."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = defaultdict(float)
        self.kernels: dict[str, list[float]] = {}
        self._inside = False
        self._lock = threading.Lock()

    def stage(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """The same work, counted."""

        def counted(*given: Any, **named: Any) -> Any:
            if self._inside:
                return work(*given, **named)
            self._inside, began = True, time.process_time()
            try:
                return work(*given, **named)
            finally:
                self._inside = False
                self.stages[name] += time.process_time() - began

        return counted

    def kernel(self, called: Callable[..., Any]) -> Callable[..., Any]:
        """The same call of a kernel, counted."""

        def counted(kernel: Any, *given: Any) -> Any:
            began = time.perf_counter()
            result = called(kernel, *given)
            took = time.perf_counter() - began
            place = kernel.py_func.__module__.removeprefix("phalanx.methods.")
            with self._lock:
                seen = self.kernels.setdefault(f"{place}.{kernel.py_func.__name__}", [0, 0.0, 0])
                seen[0] += 1
                seen[1] += took
                seen[2] += sum(each.nbytes for each in set_of_arrays([given, result]))
            return result

        return counted


def set_of_arrays(what: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays in it, each once."""
    found: dict[int, np.ndarray[Any, Any]] = {}

    def look(each: Any) -> None:
        if isinstance(each, np.ndarray):
            found[each.__array_interface__["data"][0]] = each
        elif isinstance(each, tuple | list):
            for part in each:
                look(part)

    look(what)
    return list(found.values())


@contextlib.contextmanager
def counting(clock: Clock) -> Iterator[None]:
    """Stages, methods and kernels are counted meanwhile."""
    methods = [("method", point.load(), "publish") for point in registered().values()]
    places = [*STAGES, *methods]
    before = [(owner, name, vars(owner)[name]) for _, owner, name in places]
    for (stage, owner, name), (_, _, found) in zip(places, before, strict=True):
        wrapped: Any = clock.stage(stage, getattr(owner, name))
        if isinstance(found, classmethod):
            wrapped = staticmethod(wrapped)
        setattr(owner, name, wrapped)
    called = CPUDispatcher.__call__
    CPUDispatcher.__call__ = clock.kernel(called)
    try:
        yield
    finally:
        CPUDispatcher.__call__ = called
        for owner, name, found in before:
            setattr(owner, name, found)


def bandwidth() -> float:
    """Bytes that are copied in a second, read and written ones together."""
    source = np.ones(1 << 25)
    to = np.empty_like(source)
    took = []
    for _ in range(5):
        began = time.perf_counter()
        np.copyto(to, source)
        took.append(time.perf_counter() - began)
    return 2 * source.nbytes / min(took[1:])


def run() -> None:
    """Publish, count, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--only", default="", help="jobs whose name holds this text")
    options = parser.parse_args()
    most = bandwidth()
    print(f"memory is copied at {most / 1e9:.1f} GB/s, read and written bytes together")
    for job in jobs(options.rows):
        if options.only not in job.name or job.command != "publish" or job.releases > 1:
            continue
        clock, here = Clock(), Path.cwd()
        with tempfile.TemporaryDirectory() as name:
            prepare(job, Path(name) / "prepared")
            for number in range(2):
                shutil.copytree(Path(name) / "prepared", Path(name) / str(number))
                os.chdir(Path(name) / str(number))
                meanwhile = counting(clock) if number else contextlib.nullcontext()
                with contextlib.redirect_stdout(io.StringIO()), meanwhile:
                    began = time.process_time()
                    app(words(job), standalone_mode=False)
                    took = time.process_time() - began
            os.chdir(here)
        print(f"\n{job.name}, {job.rows} rows: {took:.2f} s of the processor")
        stages = {**clock.stages, "the rest": took - sum(clock.stages.values())}
        for stage, seconds in sorted(stages.items(), key=lambda item: -item[1]):
            print(f"  {stage:<48}{seconds:>8.2f} s{seconds / took:>7.0%}")
        for kernel, (calls, seconds, size) in sorted(
            clock.kernels.items(), key=lambda item: -item[1][1]
        ):
            if seconds > 0.01:
                print(
                    f"  {kernel:<48}{seconds:>8.2f} s{calls:>7.0f} calls{size / 1e6:>8.0f} MB"
                    f"{size / seconds / most:>8.3f} of a copy",
                    flush=True,
                )


if __name__ == "__main__":
    run()
