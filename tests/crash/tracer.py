# SPDX-License-Identifier: Apache-2.0
"""A small tracer of Linux processes, without a compiler: it stops a process with all its threads at
the n-th system call that lasts.

A call lasts if its effect is seen by others or after the process is gone: writing, flushing,
making, naming and removing files, and sending. Waking another thread of the process (a write to an
eventfd) does not last. The traced function runs in a fork of the caller, so the caller must have
one thread.
"""

import ctypes
import errno
import os
import platform
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

TRACEME, CONT, SETREGSET, GETREGSET, SYSCALL, SETOPTIONS, GET_SYSCALL_INFO = (
    0,
    7,
    0x4205,
    0x4204,
    24,
    0x4200,
    0x420E,
)
OPTIONS: Final = (
    0x01 | 0x02 | 0x04 | 0x08 | 0x10 | 0x100000
)  # TRACESYSGOOD, TRACEFORK, TRACEVFORK, TRACECLONE, TRACEEXEC, EXITKILL
NT_PRSTATUS, NT_ARM_SYSTEM_CALL = 1, 0x404
WALL: Final = 0x40000000
ENTRY, EXIT = 1, 2
CREATES: Final = os.O_CREAT | os.O_TRUNC | getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY

# name: (number on x86_64, number on aarch64, index of the argument that is a file descriptor,
# indices of those that are paths)
_TABLE: Final = {
    "write": (1, 64, 0, ()), "pwrite64": (18, 68, 0, ()), "writev": (20, 66, 0, ()), "pwritev": (296, 70, 0, ()), "pwritev2": (328, 287, 0, ()),
    "sendfile": (40, 71, 0, ()), "splice": (275, 76, 2, ()), "copy_file_range": (326, 285, 2, ()), "msync": (26, 227, None, ()),
    "fsync": (74, 82, 0, ()), "fdatasync": (75, 83, 0, ()), "sync_file_range": (277, 84, 0, ()), "sync": (162, 81, None, ()), "syncfs": (306, 267, 0, ()),
    "truncate": (76, 45, None, (0,)), "ftruncate": (77, 46, 0, ()), "fallocate": (285, 47, 0, ()),
    "open": (2, None, None, (0,)), "creat": (85, None, None, (0,)), "openat": (257, 56, None, (1,)), "openat2": (437, 437, None, (1,)),
    "mkdir": (83, None, None, (0,)), "mkdirat": (258, 34, None, (1,)), "rmdir": (84, None, None, (0,)),
    "rename": (82, None, None, (0, 1)), "renameat": (264, 38, None, (1, 3)), "renameat2": (316, 276, None, (1, 3)),
    "link": (86, None, None, (0, 1)), "linkat": (265, 37, None, (1, 3)), "symlink": (88, None, None, (0, 1)), "symlinkat": (266, 36, None, (0, 2)),
    "unlink": (87, None, None, (0,)), "unlinkat": (263, 35, None, (1,)),
    "chmod": (90, None, None, (0,)), "fchmod": (91, 52, 0, ()), "fchmodat": (268, 53, None, (1,)), "fchmodat2": (452, 452, None, (1,)),
    "sendto": (44, 206, 0, ()), "sendmsg": (46, 211, 0, ()), "sendmmsg": (307, 269, 0, ()),
    "recvfrom": (45, 207, 0, ()), "recvmsg": (47, 212, 0, ()),
}  # fmt: skip
RECEIVES: Final = frozenset({"recvfrom", "recvmsg"})
"""These do not last, but may fail."""
NEEDS_ROOM: Final = frozenset(_TABLE) - RECEIVES - {
    "sendto", "sendmsg", "sendmmsg", "rmdir", "unlink", "unlinkat", "chmod", "fchmod", "fchmodat", "fchmodat2", "sync", "sync_file_range",
}  # fmt: skip
"""What a full disk can refuse."""


@dataclass(frozen=True)
class Call:
    """One system call that lasts."""

    name: str
    paths: tuple[str, ...]
    """The files it is about; for a descriptor, what it refers to."""
    socket: int | None = None
    """The descriptor of the connection that it sends to or receives from."""
    nodes: tuple[os.stat_result | None, ...] = ()
    """What these paths named before it, if anybody watches."""
    result: int = 0
    """What it returned, once it has; negative for an error."""

    def __str__(self) -> str:
        return f"{self.name} {' '.join(self.paths)}"


@dataclass
class Ended:
    """How a traced process ended."""

    status: int | None
    """Its exit code; None where it was killed."""
    calls: list[Call] = field(default_factory=list)
    """All calls that last, as far as it came, in the order in which they began; the last is the one
    at which it was stopped.
    """

    @property
    def killed(self) -> bool:
        return self.status is None


class _Info(ctypes.Structure):
    _fields_ = (("op", ctypes.c_uint8), ("pad", ctypes.c_uint8 * 3), ("arch", ctypes.c_uint32), ("ip", ctypes.c_uint64), ("sp", ctypes.c_uint64),
                ("words", ctypes.c_uint64 * 8))  # fmt: skip


_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long
_column = {"x86_64": 0, "aarch64": 1}.get(platform.machine())
_NAMES: Final = (
    {}
    if _column is None
    else {row[_column]: name for name, row in _TABLE.items() if row[_column] is not None}
)


def _ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> int:
    answer: int = _libc.ptrace(request, pid, address, data)
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def unavailable() -> str | None:
    """Why nothing can be traced here; None where it can."""
    if sys.platform != "linux" or _column is None or sys.maxsize < 2**32:
        return (
            f"the tracer knows Linux on x86_64 and aarch64, and this is {sys.platform} on"
            f" {platform.machine()}"
        )
    read, write = os.pipe()
    try:
        pid = os.fork()
        if pid == 0:
            with suppress(OSError):
                _ptrace(TRACEME, 0)
                os.kill(os.getpid(), signal.SIGSTOP)
                os.write(write, b"x")
            os._exit(0)
        try:
            os.waitpid(pid, WALL)
            _ptrace(SETOPTIONS, pid, 0, OPTIONS)
            _ptrace(SYSCALL, pid)
            os.waitpid(pid, WALL)
            _info(pid)
        except OSError as error:
            return f"this machine does not let a process trace its child ({error.strerror})"
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(pid, WALL)
    finally:
        os.close(read)
        os.close(write)
    return None


def run(
    work: Callable[[], object],
    *,
    at: int | None = None,
    how: str = "before",
    seconds: float = 600,
    watch: Callable[[Call], None] | None = None,
) -> Ended:
    """Run ``work`` in a fork and do something at its ``at``-th call that lasts, counted from 1.

    ``how``: ``before`` kills all of it before the call happens, ``after`` once it has happened.
    ``fail`` makes this one call fail for want of room instead of happening, or cuts its connection
    before it happens, and counts calls that receive too; ``full`` makes this one and all after it
    fail that need room. ``watch`` is told of every such call when it returns, while its thread
    stands still. A process that is not through after ``seconds`` is killed, and TimeoutError
    raised.
    """
    pid = os.fork()
    if pid == 0:
        _traced(work)
    trace = _Trace(pid, at, how, watch)
    before = signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return trace.follow()
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, WALL)
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _late(*_: object) -> None:
    raise TimeoutError


def _traced(work: Callable[[], object]) -> None:
    status = 70
    try:
        _ptrace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        done = work()
        status = done if isinstance(done, int) else 0
    except BaseException:  # noqa: BLE001 - the fork must never go on as if it were its parent
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(status)


def _info(tid: int) -> _Info:
    info = _Info()
    _ptrace(GET_SYSCALL_INFO, tid, ctypes.sizeof(info), ctypes.addressof(info))
    return info


class _Trace:
    def __init__(
        self, pid: int, at: int | None, how: str, watch: Callable[[Call], None] | None
    ) -> None:
        self.pid, self.at, self.how, self.watch = pid, at, how, watch
        self.ended = Ended(status=None)
        self.begun: dict[int, Call] = {}
        self.failing: set[int] = set()
        self.dying: int | None = None
        self.known = {pid}

    def follow(self) -> Ended:
        os.waitpid(self.pid, WALL)
        _ptrace(SETOPTIONS, self.pid, 0, OPTIONS)
        _ptrace(SYSCALL, self.pid)
        while True:
            try:
                tid, status = os.waitpid(-1, WALL)
            except ChildProcessError:
                return self.ended
            if not os.WIFSTOPPED(status):
                if tid == self.pid and os.WIFEXITED(status):
                    self.ended.status = os.WEXITSTATUS(status)
                continue
            with suppress(ProcessLookupError):  # killed meanwhile
                _ptrace(SYSCALL, tid, 0, self._stopped(tid, status))

    def _stopped(self, tid: int, status: int) -> int:
        """What to do at a stop; returns the signal that the thread is to get."""
        number, event = os.WSTOPSIG(status), status >> 16
        if number == signal.SIGTRAP | 0x80:
            info = _info(tid)
            if info.op == ENTRY:
                self._entered(tid, info)
            elif info.op == EXIT:
                self._returned(tid, ctypes.c_int64(info.words[0]).value)
            return 0
        if event or number == signal.SIGTRAP:
            return 0
        if tid not in self.known:  # a new thread or child begins with a stop
            self.known.add(tid)
            return 0
        return number

    def _entered(self, tid: int, info: _Info) -> None:
        call = None if self.dying else self._lasting(tid, info)
        if call is None:
            return
        self.ended.calls.append(call)
        self.begun[tid] = call
        here = len(self.ended.calls) == self.at
        if here and self.how == "before":
            self._kill(tid)
        elif here and self.how == "after":
            self.dying = tid
        elif here and self.how == "fail" and call.socket is not None:
            _disconnect(self.pid, call.socket)
        elif (here and self.how == "fail") or (
            self.how == "full"
            and self.at
            and len(self.ended.calls) >= self.at
            and call.name in NEEDS_ROOM
        ):
            _set_number(tid, -1)
            self.failing.add(tid)

    def _returned(self, tid: int, result: int) -> None:
        call = self.begun.pop(tid, None)
        if call is None:
            return
        if tid in self.failing:
            self.failing.discard(tid)
            result = -errno.ENOSPC
            _set_result(tid, result)
        if self.watch is not None:
            self.watch(replace(call, result=result))
        if self.dying == tid:
            self._kill(tid)

    def _kill(self, tid: int) -> None:
        with suppress(OSError):
            _set_number(tid, -1)  # at a call's entry: it does not happen, whatever comes first
        self.dying = tid
        os.kill(self.pid, signal.SIGKILL)

    def _lasting(self, tid: int, info: _Info) -> Call | None:
        name = _NAMES.get(info.words[0])
        if name is None or (name in RECEIVES and self.how != "fail"):
            return None
        _, _, descriptor, places = _TABLE[name]
        arguments = info.words[1:7]
        if name in {"open", "openat", "openat2"} and not _flags(tid, name, arguments) & CREATES:
            return None
        if descriptor is None:
            where = tuple(
                _absolute(
                    tid,
                    _text(tid, arguments[i]),
                    arguments[i - 1] if name.endswith(("at", "at2")) and i else None,
                )
                for i in places
            )
        else:
            where = (_descriptor(tid, arguments[descriptor]),)
        if any(
            w.startswith(("anon_inode:", "/memfd:", "/proc/", "/dev/"))
            and not w.startswith("/dev/shm/")  # noqa: S108 - a disk like others
            for w in where
        ):
            return None
        connection = (
            int(arguments[descriptor or 0]) if where and where[0].startswith("socket:") else None
        )
        return Call(name, where, connection, () if self.watch is None else tuple(map(_seen, where)))


def _seen(path: str) -> os.stat_result | None:
    with suppress(OSError):
        return os.lstat(path)
    return None


def _disconnect(pid: int, descriptor: int) -> None:
    """Shut down a socket of another process, in both directions."""
    process = os.pidfd_open(pid)
    try:
        own = _libc.syscall(
            ctypes.c_long(438), ctypes.c_int(process), ctypes.c_int(descriptor), ctypes.c_uint(0)
        )  # pidfd_getfd
        if own < 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(process)
    with (
        socket.socket(fileno=own) as connection,
        suppress(OSError),
    ):  # where it is not connected any more
        connection.shutdown(socket.SHUT_RDWR)


def _flags(tid: int, name: str, arguments: ctypes.Array[ctypes.c_uint64]) -> int:
    if name == "openat2":
        return int.from_bytes(_memory(tid, arguments[2], 8), sys.byteorder)
    return int(arguments[1 if name == "open" else 2])


def _memory(tid: int, address: int, length: int) -> bytes:
    with Path(f"/proc/{tid}/mem").open("rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(length)


def _text(tid: int, address: int) -> str:
    """The text that ends in a zero; read up to a page's end, behind which there may be nothing."""
    content = b""
    while b"\0" not in content and len(content) < 8192:
        content += _memory(tid, address + len(content), 4096 - (address + len(content)) % 4096)
    return os.fsdecode(content.split(b"\0", 1)[0])


def _absolute(tid: int, path: str, folder: int | None) -> str:
    if path.startswith("/"):
        return os.path.normpath(path)
    if folder is None or ctypes.c_int32(folder & 0xFFFFFFFF).value == -100:  # AT_FDCWD
        return os.path.normpath(Path(f"/proc/{tid}/cwd").readlink() / path)
    return os.path.normpath(Path(_descriptor(tid, folder)) / path)


def _descriptor(tid: int, number: int) -> str:
    try:
        return str(Path(f"/proc/{tid}/fd/{ctypes.c_int32(number & 0xFFFFFFFF).value}").readlink())
    except OSError:
        return "nothing"


def _registers(tid: int) -> tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_uint64]]:
    values = ctypes.create_string_buffer(27 * 8 if _column == 0 else 34 * 8)
    vector = (ctypes.c_uint64 * 2)(ctypes.addressof(values), len(values))
    _ptrace(GETREGSET, tid, NT_PRSTATUS, ctypes.addressof(vector))
    return values, vector


def _set_number(tid: int, number: int) -> None:
    """Another system call than the one that is about to begin; -1 is none."""
    if _column == 0:
        values, vector = _registers(tid)
        struct.pack_into("<q", values, 15 * 8, number)  # orig_rax
        _ptrace(SETREGSET, tid, NT_PRSTATUS, ctypes.addressof(vector))
    else:
        value = ctypes.c_int32(number)
        vector = (ctypes.c_uint64 * 2)(ctypes.addressof(value), 4)
        _ptrace(SETREGSET, tid, NT_ARM_SYSTEM_CALL, ctypes.addressof(vector))


def _set_result(tid: int, result: int) -> None:
    values, vector = _registers(tid)
    struct.pack_into("<q", values, 10 * 8 if _column == 0 else 0, result)  # rax, x0
    _ptrace(SETREGSET, tid, NT_PRSTATUS, ctypes.addressof(vector))


if __name__ == "__main__":
    print(unavailable() or "")  # noqa: T201 - a script
