# SPDX-License-Identifier: Apache-2.0
"""A command runs in a process of its own, beside one that waits for it: where a library or the system
ends it, as they do where the memory runs out, a sentence says so.
"""

import contextlib
import ctypes
import os
import signal
import sys
from typing import Final, NoReturn

_FORWARDED: Final = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_DIE_WITH_PARENT: Final = 1
"""Of Linux's prctl: the signal that a process gets where its parent ends."""
_WORDS: Final = {
    signal.SIGABRT: (
        "the memory ran out; use a larger machine, or fewer rows or columns (a release is published"
        " whole or not at all)."
    ),
    signal.SIGKILL: (
        "the system ended the process, most likely as the memory ran out; use a larger machine, or"
        " fewer rows or columns (a release is published whole or not at all)."
    ),
    signal.SIGSEGV: (
        "a library failed and ended the process; run it again, and report it where it stays so (a"
        " release is published whole or not at all)."
    ),
}
"""What is said of a process that a signal ended."""


def start() -> None:
    """The installed command: the command line, in a process of its own."""
    in_its_own_process()
    from phalanx.cli import main  # what is loaded before would be in both

    main()


def in_its_own_process() -> None:
    """Go on in a child, for which this process waits, and leaves as it does; on Linux, elsewhere
    nothing is done. What is killed by itself is the child: the system ends the largest process.
    """
    if not sys.platform.startswith("linux"):
        return
    waiting = os.getpid()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED | {signal.SIGCHLD})
    try:
        child = os.fork()
    except OSError:  # where no more processes may be, this one does it
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    if child:
        _leave_as(_status_of(child))
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != waiting:  # it ended before that was said
        os.kill(os.getpid(), signal.SIGKILL)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _status_of(child: int) -> int:
    """How the child ended: its exit code, or less than 0 for a signal. What this process is sent is
    handed on; what comes from the terminal the child gets, too.
    """
    while True:
        came = signal.sigwaitinfo(_FORWARDED | {signal.SIGCHLD})
        if came.si_signo != signal.SIGCHLD:
            if came.si_code <= 0:  # sent by a process
                os.kill(child, came.si_signo)
            continue
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)


def _leave_as(code: int) -> NoReturn:
    if code < 0 and (words := _WORDS.get(signal.Signals(-code))):
        from phalanx.cli.output import complain
        from phalanx.temporary import remove_left

        remove_left()
        with contextlib.suppress(OSError):  # where no reader is left
            complain(words, as_json="--json" in sys.argv)
            sys.stdout.flush()
        code = 2
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {-code})
        os.kill(os.getpid(), -code)
    os._exit(code)
