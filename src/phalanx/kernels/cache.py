# SPDX-License-Identifier: Apache-2.0
"""Where compiled kernels lie: beside their source, else in the user's own cache, else, for one run,
in a private temporary folder.

numba loads what it finds there as code, so that no folder is used that another user may write to;
where there is none at all, importing numba's kernels would end in an error of its own. And numba
is told where by the environment alone: it would also read a file of the folder that a process was
started in, which may be one that a release came in.
"""

import atexit
import hashlib
import os
import shutil
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any, Final

from phalanx.errors import PhalanxError, PhalanxWarning

BESIDE: Final = Path(__file__).parents[1]
"""The package, in whose folders numba keeps what it compiles; anyone who may write there may change
the source, too.
"""
_TEMPORARY: Final = "phalanx-kernels-"
_VARIABLE: Final = "NUMBA_CACHE_DIR"
_LOCATORS: Final = "NUMBA_CACHE_LOCATOR_CLASSES"
_HERE: Final = "__pycache__"


class CompilesEachTime(PhalanxWarning):
    """Kernels are compiled in every run, because nothing can be kept."""


def choose() -> Path:
    """Find the folder, and tell numba of it; warns where it is a temporary one that begins empty.
    PhalanxError where there is none.

    The folder of ``NUMBA_CACHE_DIR`` comes first. What was compiled beside the source by a user
    who could write there is copied to the temporary one.
    """
    wanted = os.environ.get(_VARIABLE)
    if wanted and _usable(Path(wanted)) and _ours(Path(wanted)):
        return Path(wanted)
    if not wanted and _usable(BESIDE / _HERE):
        return BESIDE
    place = _of_the_user()
    if place is not None and _usable(place) and _ours(place):
        os.environ[_VARIABLE] = str(place)
    else:
        place = _temporary()
    _copy(place)
    return place


@cache
def made_of(source: Path) -> str:
    """A digest of what a kernel in the file ``source`` is made of: this file, and all of ours that
    have kernels or what these share. One that was compiled of anything else is compiled anew.
    """
    digest = hashlib.sha256(_all_of_ours())
    digest.update(source.read_bytes())
    return digest.hexdigest()


@cache
def _all_of_ours() -> bytes:
    digest = hashlib.sha256()
    for room in (BESIDE / "kernels", *sorted((BESIDE / "methods").glob("*/kernels*"))):
        for file in sorted(room.glob("*.py")) if room.is_dir() else (room,):
            digest.update(file.read_bytes())
    return digest.digest()


def _of_the_user() -> Path | None:
    """The folder in the user's own cache; None for a user without a home, as containers have."""
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (base if base.is_absolute() else Path.home() / ".cache") / "phalanx"
    except RuntimeError:
        return None


def _usable(folder: Path) -> bool:
    """Whether we may write to a folder, which is made if need be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _ours(folder: Path) -> bool:
    """Whether only its owner may write to it, who is us or root."""
    status = folder.stat()
    return status.st_uid in {0, os.geteuid()} and not status.st_mode & 0o022


def _temporary() -> Path:
    try:
        folder = Path(tempfile.mkdtemp(prefix=_TEMPORARY))  # of mode 0700
    except OSError:
        raise PhalanxError(
            "no folder may be written, and compiled kernels need one; set TMPDIR or NUMBA_CACHE_DIR"
            " to a folder of yours."
        ) from None
    os.environ[_VARIABLE] = str(folder)
    atexit.register(_remove, folder, os.getpid())
    if not any(BESIDE.rglob("*.nbi")):
        warnings.warn(
            "kernels are compiled in each run, for neither the installation nor a cache folder may"
            " be written; run 'phalanx warm' as the user who installed it.",
            CompilesEachTime,
            stacklevel=2,
        )
    return folder


def _remove(folder: Path, process: int) -> None:
    """At exit of the process that made it, and of none that was forked from it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(folder: Path) -> None:
    """What lies compiled beside the source, to where numba looks for it in a folder of its own."""
    from numba.core.caching import _CacheLocator

    wanted: dict[Path, bool] = {}
    for compiled in BESIDE.rglob(f"{_HERE}/*.nb[ci]"):
        source = compiled.parent.parent / "any.py"  # numba asks for a file and looks at its folder
        target = folder / _CacheLocator.get_suitable_cache_subpath(str(source))  # type: ignore[no-untyped-call]
        if wanted.setdefault(target, not target.exists()):
            target.mkdir(mode=0o700, exist_ok=True)
            shutil.copy(compiled, target / compiled.name)


def _without_its_file() -> Any:
    """Numba's settings, loaded without the file of the working folder that it would read."""
    hidden = "yaml"  # what numba reads it by; without that it warns, and goes on
    loaded = sys.modules.get(hidden)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sys.modules[hidden] = None  # type: ignore[assignment]
        try:
            from numba.core import config
        finally:
            del sys.modules[hidden]
            if loaded is not None:
                sys.modules[hidden] = loaded
    config._config_fname = os.devnull  # noqa: SLF001 - before it compiles, numba looks for the file again
    return config


_settings: Final = _without_its_file()
PLACE: Final = choose()
"""The folder of this process."""
KEPT: Final = not PLACE.name.startswith(_TEMPORARY)
"""Whether it outlives the process."""
_settings.CACHE_DIR = os.environ.get(_VARIABLE, "")
_settings.CACHE_LOCATOR_CLASSES = os.environ.get(_LOCATORS, "")
