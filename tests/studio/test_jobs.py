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
print('{"step": "began"}', flush=True)
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
