# SPDX-License-Identifier: Apache-2.0
"""Writing a page or a picture to a place that a person names: whole or not at all, over nothing but
an older one, and through no link.
"""

import errno
import os
from pathlib import Path
from typing import Final

PAGE: Final = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy"'
)
PICTURE: Final = '<svg xmlns="http://www.w3.org/2000/svg" class="multiples"'
CURVES: Final = '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title says"'
"""How what is written begins, and what it may replace: no page or drawing of another program."""
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def check_place(path: Path, begins: str) -> None:
    """OSError where a page or a picture cannot stand: where its folder is not, and where there is
    something else than an older one.
    """
    path.parent.stat()
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not os.path.lexists(path):
        return
    if path.is_file():  # and no device, to which one could write, and which must not be replaced
        with path.open("rb") as older:
            if older.read(len(begins)) in (b"", begins.encode()):
                return
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def write(path: Path, text: str, *, private: bool = False) -> None:
    """Write it, ``private``: for its owner alone, whatever the umask; OSError where it cannot be, or
    cannot stand there.
    """
    check_place(path, next(begins for begins in (PAGE, PICTURE, CURVES) if text.startswith(begins)))
    beside = path.with_name(f".{path.name}.part")
    beside.unlink(missing_ok=True)  # of one that was killed, or a link to elsewhere
    try:
        mode = 0o600 if private else 0o644  # as the umask lets
        with os.fdopen(os.open(beside, _NEW, mode), "w", encoding="utf-8") as file:
            file.write(text)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
