# SPDX-License-Identifier: Apache-2.0
"""Several processes that measure points side by side."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, Final

from phalanx.exploration.grid import marked
from phalanx.temporary import remove_left

Task = Mapping[str, Any]
_ALONE: Final = {"POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""A point has one core, so that points do not wait for each other and seconds can be compared."""


def answers(tasks: Sequence[Task], workers: int) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """The place of a task and its answer, as they come; None where its process died of it.

    To stop asking ends the processes.
    """
    waiting: SimpleQueue[tuple[int, Task]] = SimpleQueue()
    queue: SimpleQueue[tuple[int, Mapping[str, Any] | None]] = SimpleQueue()
    started: list[subprocess.Popen[str]] = []
    stopped = Event()
    for each in enumerate(tasks):
        waiting.put(each)

    def serve() -> None:
        process = None
        while not stopped.is_set():
            try:
                i, task = waiting.get_nowait()
            except Empty:
                break
            try:
                if process is None:
                    process = _started()
                    started.append(process)
                answer = _asked(process, task)
            except (OSError, ValueError, TypeError, RecursionError):  # also a task that is no JSON
                answer = None
            if answer is None and process is not None:
                _end(process)
                process = None
            queue.put((i, answer))
        if process is not None:
            _end(process)

    threads = [Thread(target=serve, daemon=True) for _ in range(min(workers, len(tasks)))]
    for thread in threads:
        thread.start()
    try:
        for _ in tasks:
            yield queue.get()
    finally:
        stopped.set()
        while any(thread.is_alive() for thread in threads):
            for process in started:  # a process may have been started a moment ago
                process.kill()
            for thread in threads:
                thread.join(0.1)
        remove_left()  # what a process that was killed had not removed


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def _started() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "phalanx.exploration.worker"],  # nothing of the working folder
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
    process.stdin.write(json.dumps(task, default=marked) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    answer: Mapping[str, Any] | None = json.loads(line) if line else None
    return answer
