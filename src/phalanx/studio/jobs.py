# SPDX-License-Identifier: Apache-2.0
"""What takes time runs in a process of its own, which a person may end; a page asks how far it is."""

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final, cast

from phalanx.errors import PhalanxError
from phalanx.ledger import Ledger
from phalanx.plan import Plan
from phalanx.series.staging import recover

_MOST_RUNNING: Final = 3
_MOST_KEPT: Final = 200
_DIED: Final = (
    "the process ended before it was done, perhaps for want of memory; the timeline says what was "
    "published."
)


@dataclass
class Job:
    """One piece of work: what was asked, how far it is, and what came of it."""

    number: int
    kind: str
    """The name of the function in ``work`` that does it."""
    title: str
    about: tuple[str, int] | None
    """The series and the release that it is about."""
    arguments: Mapping[str, Any]
    state: str = "running"
    """``running``, ``done``, ``failed`` or ``cancelled``."""
    steps: list[str] = field(default_factory=list)
    part: Mapping[str, int] | None = None
    """How much of the last step is done, and of how much, where that is known."""
    result: Mapping[str, Any] | None = None
    error: str | None = None
    ended: bool = False
    """Whether it was asked to end; it is ``cancelled`` once its process is gone."""

    def to_json(self) -> dict[str, Any]:
        """Stable keys: number, kind, title, state, steps, part (done, of), result, error."""
        return {
            "number": self.number,
            "kind": self.kind,
            "title": self.title,
            "state": self.state,
            "steps": list(self.steps),
            "part": self.part,
            "result": self.result,
            "error": self.error,
        }


def _mend(path: str) -> None:
    """Finish or remove what a publisher that was ended left, as the next one would."""
    with suppress(PhalanxError, OSError):
        plan = Plan.read(path)
        with Ledger.open(plan.ledger_url(), create=False) as ledger:
            recover(plan.publish_to(), plan.name, lambda: ledger.releases(plan.name, marked=True))


class Jobs:
    """The work of one studio, newest last; what is done is kept for as long as the studio runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[int, Job] = {}
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._listeners: dict[int, threading.Thread] = {}
        self._count = 0

    def start(
        self,
        kind: str,
        title: str,
        arguments: Mapping[str, Any],
        *,
        about: tuple[str, int] | None = None,
    ) -> Job:
        """Begin; PhalanxError where too much runs already, or a release is being published."""
        with self._lock:
            running = [job for job in self._jobs.values() if job.state == "running"]
            if kind == "publish" and any(job.kind == "publish" for job in running):
                raise PhalanxError("a release is being published already; wait until it is done.")
            if len(running) >= _MOST_RUNNING:
                raise PhalanxError(f"{len(running)} pieces of work run already; cancel one first.")
            self._count += 1
            job = Job(self._count, kind, title, about, dict(arguments))
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "phalanx.studio.work"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # what others write there may quote values of persons
            )
            self._jobs[job.number] = job
            self._processes[job.number] = process
            while len(self._jobs) > _MOST_KEPT:
                del self._jobs[next(iter(self._jobs))]
            listener = threading.Thread(target=self._listen, args=(job, process), daemon=True)
            self._listeners[job.number] = listener
            listener.start()
        return job

    def _listen(self, job: Job, process: "subprocess.Popen[bytes]") -> None:
        """Say what to do, and take in what the process says until it ends."""
        outcome: dict[str, Any] = {}
        with suppress(OSError, ValueError), process:
            asked = {"kind": job.kind, "arguments": job.arguments}
            to, heard = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
            to.write(json.dumps(asked).encode())
            to.close()
            for line in heard:
                report = json.loads(line)
                if "step" in report:
                    if job.steps[-1:] != [report["step"]]:
                        job.steps.append(report["step"])
                    job.part = report["part"]
                else:
                    outcome = report
        if job.kind == "publish" and not outcome:
            _mend(job.arguments["plan"])
        with self._lock:
            self._processes.pop(job.number, None)
            if "result" in outcome:
                job.result, job.state = outcome["result"], "done"
            elif job.ended:
                job.state = "cancelled"
            else:
                job.error, job.state = outcome.get("error", _DIED), "failed"

    def cancel(self, number: int) -> None:
        """End a piece of work. A release is published whole or not at all, whenever this comes; and
        the work is called cancelled when its process can do nothing any more.
        """
        with self._lock:
            job, process = self._jobs.get(number), self._processes.get(number)
            if job is None:
                raise PhalanxError("there is no such work; look at the page again.")
            if process is not None and job.state == "running":
                job.ended = True
                process.terminate()

    def wait(self, number: int) -> None:
        """Wait until a piece of work is over."""
        with self._lock:
            listener = self._listeners.get(number)
        if listener is not None:
            listener.join()

    def get(self, number: int) -> Job:
        """One piece of work; PhalanxError where there is none."""
        with self._lock:
            if number not in self._jobs:
                raise PhalanxError("there is no such work; look at the page again.")
            return self._jobs[number]

    def of(self, *kinds: str, about: tuple[str, int] | None = None) -> Sequence[Job]:
        """The work of some kinds, newest first; ``about``: of one release alone."""
        with self._lock:
            jobs = [job for job in self._jobs.values() if job.kind in kinds]
        return [job for job in reversed(jobs) if about is None or job.about == about]

    def end(self) -> None:
        """End everything, as the studio ends."""
        with self._lock:
            processes = list(self._processes.values())
        for process in processes:
            process.terminate()
        for process in processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
