# SPDX-License-Identifier: Apache-2.0
"""What libraries should leave alone of this machine's processor and memory, which is told them before
they are loaded.
"""

import os
from pathlib import Path
from typing import Final

_OF_POLARS: Final = "_RJEM_MALLOC_CONF"
_OF_ARROW: Final = "ARROW_DEFAULT_MEMORY_POOL"
"""What the allocators of Polars and of Arrow go by."""

_SLOW_FAMILY: Final = "25"
"""AMD's Zen 4, in whose AVX-512 one instruction that NumPy sorts by takes over a hundred cycles."""
_FEATURES: Final = "X86_V4 AVX512_ICL AVX512_SPR"
"""What NumPy from 2.4 on calls its AVX-512; an older one does not know the names, and goes on."""


def sort_fast(about: Path = Path("/proc/cpuinfo")) -> None:
    """Let NumPy sort by AVX2 where that takes a quarter of the time, unless it was told something
    by hand; only before it is loaded.
    """
    try:
        with about.open(encoding="utf-8", errors="replace") as lines:
            first = lines.read(8192).split("\n\n")[0]
    except OSError:
        return  # another system than Linux says it elsewhere
    facts = {
        name.strip(): value.strip()
        for name, _, value in (line.partition(":") for line in first.splitlines())
    }
    if (
        facts.get("vendor_id") == "AuthenticAMD"
        and facts.get("cpu family") == _SLOW_FAMILY
        and "avx512f" in facts.get("flags", "").split()
    ):
        os.environ.setdefault("NPY_DISABLE_CPU_FEATURES", _FEATURES)


def give_back() -> None:
    """Let Polars and Arrow hold no addresses that they do not use, where the system counts them and
    limits how many there are, unless they were told something by hand: else a process ends for want
    of memory half of which is free.
    """
    try:
        import resource
    except ImportError:
        return  # another system, which has no such limits
    limits = (resource.getrlimit(limit)[0] for limit in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    if any(limit != resource.RLIM_INFINITY for limit in limits):
        os.environ.setdefault(_OF_ARROW, "system")
        settings = os.environ.get(_OF_POLARS, "")  # Polars leaves some to the processes it starts
        if "retain:" not in settings:
            os.environ[_OF_POLARS] = ",".join(filter(None, [settings, "retain:false"]))
