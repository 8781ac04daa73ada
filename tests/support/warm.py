# SPDX-License-Identifier: Apache-2.0
"""One process in which all is imported and every kernel compiled, so that its forks start at once;
it runs nothing itself, so that it has one thread.
"""

import base64
import importlib
import os
import pickle
import pkgutil
import sys
from collections.abc import Callable
from pathlib import Path

from numba.core.dispatcher import Dispatcher

import phalanx
from crash.forks import forked
from phalanx.report import page

ENVIRONMENT = {
    "POLARS_MAX_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "_RJEM_MALLOC_CONF": "background_thread:false",
}
"""With these no library starts a thread when it is imported."""


def begin_again(module: str) -> None:
    """Run a module anew where a library would have started threads."""
    if not all(
        value in os.environ.get(name, "") for name, value in ENVIRONMENT.items()
    ):  # Polars adds words of its own to one of them
        os.execve(  # noqa: S606 - this very script
            sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], os.environ | ENVIRONMENT
        )


def import_all() -> None:
    """Import every module of Phalanx."""
    for found in pkgutil.walk_packages(phalanx.__path__, "phalanx."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)


def warm_up(rehearse: Callable[[], object], seconds: float = 600) -> None:
    """Import all that there is, and compile in this process all that a rehearsal in a fork
    compiles.
    """
    import_all()

    def run() -> list[list[str]]:
        rehearse()
        return compiled_kernels()

    compile_kernels(forked(run, seconds))
    page._template()
    if threads := other_threads():
        raise RuntimeError(f"threads run beside the one that forks: {', '.join(threads)}")


def other_threads() -> list[str]:
    """The threads beside the first, but for one of Polars that waits for spilled files, holds no
    lock, and is not missed in a fork.
    """
    names = [
        (thread / "comm").read_text().strip()
        for thread in Path("/proc/self/task").iterdir()
        if int(thread.name) != os.getpid()
    ]
    return sorted(name for name in names if not name.startswith("polars-ooc"))


def compiled_kernels() -> list[list[str]]:
    """Every kernel that was used, with the types that it was used with."""
    found = []
    for name, module in list(sys.modules.items()):
        if name.startswith("phalanx."):
            for attribute, kernel in vars(module).items():
                if isinstance(kernel, Dispatcher) and kernel.__module__ == name:
                    found += [
                        [name, attribute, base64.b64encode(pickle.dumps(signature)).decode()]
                        for signature in kernel.signatures
                    ]
    return found


def compile_kernels(kernels: list[list[str]]) -> None:
    """The same kernels in this process, from the disk, without running them."""
    for module, name, signature in kernels:
        getattr(importlib.import_module(module), name).compile(
            pickle.loads(base64.b64decode(signature))  # noqa: S301 - made by our own fork
        )
