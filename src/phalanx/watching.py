# SPDX-License-Identifier: Apache-2.0
"""A command runs in a process of its own, beside one that waits for it: where a library or the system
ends it, as they do where the memory runs out, a sentence says so.
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import FrameType
from typing import Final, NoReturn

from phalanx import unfinished
from phalanx.ended import LIBRARY, MEMORY, SYSTEM, ended
from phalanx.streams import open_closed_streams, write_any_letter

_FORWARDED: Final = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
_DIE_WITH_PARENT: Final = 1
"""Of Linux's prctl: the signal that a process gets where its parent ends."""
_HANDED_ON: Final = signal.SIGUSR1
"""As which an interruption is handed on, so that it can be told from one that came by itself."""
_INTERRUPTED: Final = 130
_WORDS: Final[Mapping[int, str]] = {
    signal.SIGABRT: MEMORY,
    signal.SIGKILL: SYSTEM,
    signal.SIGSEGV: LIBRARY,
    signal.SIGBUS: LIBRARY,
}
"""What is said of a process that a signal ended."""


def start() -> None:
    """The installed command: the command line, in a process of its own."""
    open_closed_streams()
    write_any_letter()
    leaves = in_its_own_process()
    try:
        from phalanx.cli import main  # what is loaded before would be in both

        main()
    except SystemExit as left:
        leaves(0 if left.code is None else left.code if isinstance(left.code, int) else 1)
        raise
    except KeyboardInterrupt:  # while it was loaded
        from phalanx.cli.output import complain

        complain("interrupted.", as_json="--json" in sys.argv)
        leaves(_INTERRUPTED)
        sys.exit(_INTERRUPTED)
    leaves(0)


def in_its_own_process() -> Callable[[int], None]:
    """Go on in a child, for which this process waits, and leaves as it does; on Linux, elsewhere
    nothing is done. What is killed by itself is the child: the system ends the largest process.

    To what is returned the child says its exit code at its end: libraries have been seen to leave
    with 1, which would say that a check does not hold.
    """
    if not sys.platform.startswith("linux"):
        return lambda _: None
    waiting = os.getpid()
    unfinished.share()
    try:
        reads, writes = os.pipe()
    except OSError:  # where no more files may be open
        return lambda _: None
    # where it is ignored, the system does not tell of a child's end
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED | {_HANDED_ON, signal.SIGCHLD})
    try:
        child = os.fork()
    except OSError:  # where no more processes may be, this one does it
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        os.close(reads)
        os.close(writes)
        return lambda _: None
    if child:
        os.close(writes)
        _leave_as(_status_of(child), reads)
    os.close(reads)
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != waiting:  # it ended before that was said
        os.kill(os.getpid(), signal.SIGKILL)
    _interrupt_once()
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return partial(_say_code, writes)


def _say_code(writes: int, code: int) -> None:
    """That the work is done, and all of it written; who interrupts it now comes too late, and Python
    lets go of its handlers at its end, where one that is handed on late would end it otherwise.
    """
    for number in (signal.SIGINT, _HANDED_ON):
        signal.signal(number, signal.SIG_IGN)
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):  # which Python says at its end
                stream.flush()
    os.write(writes, bytes([code & 255]))


def _interrupt_once() -> None:
    """What is sent to both processes, as to their whole group, comes to the child by itself and handed
    on, in any order and however late; the second time must not interrupt what cleans up.
    """
    times = {signal.SIGINT: 0, _HANDED_ON: 0}

    def interrupt(number: int, frame: FrameType | None) -> None:
        before = max(times.values())
        times[signal.Signals(number)] += 1
        if max(times.values()) > before:
            signal.default_int_handler(number, frame)

    interrupts = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(_HANDED_ON, interrupt if interrupts else signal.SIG_IGN)
    if interrupts:
        signal.signal(signal.SIGINT, interrupt)


def _status_of(child: int) -> int:
    """How the child ended: its exit code, or less than 0 for a signal. What this process is sent is
    handed on; what comes from the terminal the child gets, too.
    """
    while True:
        came = signal.sigwaitinfo(_FORWARDED | {signal.SIGCHLD})
        if came.si_signo != signal.SIGCHLD:
            if came.si_code <= 0:  # sent by a process
                interrupts = came.si_signo == signal.SIGINT
                os.kill(child, _HANDED_ON if interrupts else came.si_signo)
            continue
        gone, status = os.waitpid(child, os.WNOHANG)
        if gone:
            return os.waitstatus_to_exitcode(status)


def _leave_as(code: int, reads: int) -> NoReturn:
    """``code``: how the child ended; ``reads``: where it said how it would."""
    os.set_blocking(reads, False)  # what the child started may still hold the other end
    announced = b""
    with contextlib.suppress(BlockingIOError):
        announced = os.read(reads, 1)
    words = _WORDS.get(-code, LIBRARY if 0 <= code <= 1 and not announced else "")
    if not announced and (left := unfinished.told()):
        with contextlib.suppress(Exception):
            from phalanx.temporary import remove

            remove(left)
    if words and announced:  # it failed when all was done
        code = announced[0]
    elif words:
        with contextlib.suppress(Exception):  # the exit code says it where nothing can be written
            from phalanx.cli.output import complain
            from phalanx.temporary import remove_left

            remove_left()
            complain(ended(words), as_json="--json" in sys.argv)
            sys.stdout.flush()
        code = 2
    if code < 0:
        number, code = -code, 128 - code
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
        with contextlib.suppress(OSError):  # that of one that cannot be handled
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # which does not end the first process of a container
    os._exit(code)
