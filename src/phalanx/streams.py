# SPDX-License-Identifier: Apache-2.0
"""The standard streams of a command: each leads somewhere, and what libraries say keeps out of ours."""

import os
import sys
from contextlib import suppress
from io import TextIOWrapper


def open_closed_streams() -> None:
    """Where a command is started without a standard stream, it has one that leads nowhere: else the
    next file that is opened would get its number, and what a library says would stand in that file.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # which gets the lowest number that is free
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def write_any_letter() -> None:
    """A letter that a stream's encoding does not have is written as an escape, and is no fault."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def keep_standard_error() -> None:
    """Python writes to a copy of standard error from now on, so that a bar goes on while
    ``phalanx.data.sources.reading`` silences whatever else writes there.
    """
    stream = sys.__stderr__
    if stream is not None and sys.stderr is stream:
        with suppress(OSError):  # there may be none
            sys.stderr = os.fdopen(
                os.dup(stream.fileno()),
                "w",
                encoding=stream.encoding,
                errors=stream.errors,
                buffering=1,
            )
