# SPDX-License-Identifier: Apache-2.0
"""How much memory was taken, and how much is left, so that a file which needs more is refused in a
sentence: Polars ends the process where its memory runs out.
"""

import os
import sys
from pathlib import Path
from typing import Final

_BESIDE: Final = 120 << 20
"""What libraries, kernels and threads take that are loaded later, beside any table."""
_PROCESS: Final = Path("/proc/self/statm")
_MACHINE: Final = Path("/proc/meminfo")
_CONTAINER: Final = Path("/sys/fs/cgroup")


def memory_left() -> int:
    """Bytes that this process may still take for tables: what the machine has, less what a limit on
    the process or its container forbids, and less what libraries take beside them.
    """
    left = max(0, min(_of_machine(), _of_container(), _of_process()))
    return left - min(_BESIDE, left // 2)


def memory_taken() -> int:
    """Bytes that this process took at its peak."""
    import resource

    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return taken if sys.platform == "darwin" else taken << 10


def memory_held() -> int:
    """Bytes that this process holds now."""
    fields = _text(_PROCESS).split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else memory_taken()


def in_words(size: int) -> str:
    """So many bytes as people write them.

    >>> in_words(2_300_000_000), in_words(331_000_000), in_words(1_250_000)
    ('2.3 GB', '331 MB', '1.2 MB')
    """
    if size >= 2 * 10**9:
        return f"{size / 1e9:.1f} GB"
    return f"{size / 1e6:.0f} MB" if size >= 10**7 else f"{size / 1e6:.1f} MB"


def _of_machine() -> int:
    for line in _text(_MACHINE).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_container() -> int:
    limit, used = (
        _text(_CONTAINER / "memory.max").strip(),
        _text(_CONTAINER / "memory.current").strip(),
    )
    return int(limit) - int(used) if limit.isdigit() and used.isdigit() else 1 << 62


def _of_process() -> int:
    import resource

    fields = [int(field) for field in _text(_PROCESS).split()]
    left = 1 << 62
    for limit, field in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        allowed = resource.getrlimit(limit)[0]
        if allowed != resource.RLIM_INFINITY:
            taken = fields[field] * os.sysconf("SC_PAGE_SIZE") if fields else 0
            left = min(left, allowed - taken)
    return left


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return ""
