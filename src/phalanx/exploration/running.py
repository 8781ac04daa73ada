# SPDX-License-Identifier: Apache-2.0
"""Several processes that measure points side by side."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final

Task = Mapping[str, Any]
_ALONE: Final = {"POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""A point has one core, so that points do not wait for each other and seconds can be compared."""


def answers(tasks: Sequence[Task], workers: int) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """The place of a task and its answer, as they come; None where its process died of it.

    Whoever stops asking ends the processes.
    """
    waiting: SimpleQueue[tuple[int, Task]] = SimpleQueue()
    found: SimpleQueue[tuple[int, Mapping[str, Any] | None]] = SimpleQueue()
    started: list[subprocess.Popen[str]] = []
    for each in enumerate(tasks):
        waiting.put(each)

    def serve() -> None:
        process = None
        while True:
            try:
                i, task = waiting.get_nowait()
            except Empty:
                return
            try:
                if process is None or process.poll() is not None:
                    process = _started()
                    started.append(process)
                found.put((i, _asked(process, task)))
            except (OSError, ValueError):
                process = None
                found.put((i, None))

    for _ in range(min(workers, len(tasks))):
        Thread(target=serve, daemon=True).start()
    try:
        for _ in tasks:
            yield found.get()
    finally:
        for process in started:
            process.kill()
            process.communicate()


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "phalanx.exploration.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env=os.environ | _ALONE,
    )


def _asked(process: subprocess.Popen[str], task: Task) -> Mapping[str, Any] | None:
    if process.stdin is None or process.stdout is None:  # never, as both are pipes
        return None
    process.stdin.write(json.dumps(task) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        process.wait()
        return None
    found: Mapping[str, Any] = json.loads(line)
    return found
