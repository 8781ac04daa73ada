# SPDX-License-Identifier: Apache-2.0
"""Work in processes of their own: what is called cancelled does nothing any more."""

import subprocess
import sys
import time
from typing import Any

import pytest

from phalanx.studio.jobs import Jobs

LINGERS = """
import signal, sys, time
def end(*_):
    time.sleep(1)
    sys.exit()
signal.signal(signal.SIGTERM, end)
print('{"step": "began", "part": null}', flush=True)
time.sleep(60)
"""


def test_work_is_cancelled_when_its_process_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that takes its time to end may still do something: until then it is under way."""
    begun: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def lingering(_: Any, **given: Any) -> "subprocess.Popen[bytes]":
        begun.append(popen([sys.executable, "-c", LINGERS], **given))
        return begun[0]

    monkeypatch.setattr(subprocess, "Popen", lingering)
    jobs = Jobs()
    job = jobs.start("check", "a check", {})
    while not job.steps:
        time.sleep(0.01)
    jobs.cancel(job.number)
    assert (job.state, begun[0].poll()) == ("running", None)
    jobs.wait(job.number)
    assert (job.state, begun[0].poll()) == ("cancelled", 0)


COUNTS = """
import sys
for done in range(3):
    print('{"step": "read", "part": {"done": %d, "of": 2}}' % done, flush=True)
print('{"step": "check", "part": null}', flush=True)
print('{"result": {}}', flush=True)
"""


def test_a_step_that_counts_is_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it says how far it is; and the next one counts nothing."""
    popen = subprocess.Popen

    def counting(_: Any, **given: Any) -> "subprocess.Popen[bytes]":
        return popen([sys.executable, "-c", COUNTS], **given)

    monkeypatch.setattr(subprocess, "Popen", counting)
    jobs = Jobs()
    job = jobs.start("check", "a check", {})
    jobs.wait(job.number)
    assert (job.steps, job.part, job.state) == (["read", "check"], None, "done")
