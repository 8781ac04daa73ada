# SPDX-License-Identifier: Apache-2.0
"""Work done in a fork, so that no library starts a thread in the process that forks publishers."""

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any


def forked(work: Callable[[], Any], seconds: float = 600) -> Any:
    """What a function returns, made in a fork; RuntimeError where it gives nothing."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = json.dumps(work()).encode()
            while answer:
                answer = answer[os.write(write, answer) :]
        except BaseException:  # noqa: BLE001 - the fork must never go on as if it were its parent
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(0)
    os.close(write)
    answer, last = b"", time.monotonic() + seconds
    while select.select([read], [], [], max(0, last - time.monotonic()))[0] and (
        part := os.read(read, 1 << 16)
    ):
        answer += part
    os.close(read)
    if late := time.monotonic() > last:
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    if late or not answer:
        raise RuntimeError("a fork hangs" if late else "a fork died")
    return json.loads(answer)
