# SPDX-License-Identifier: Apache-2.0
"""What goes wrong in a worker, said in its results: an exception there would be repeated by Spark,
and stand in its logs with whatever it quotes of a row.
"""

import json
import traceback
from pathlib import Path
from typing import Final, NoReturn

import polars as pl

from phalanx import errors
from phalanx.errors import PhalanxError

ANY: Final = (Exception, pl.exceptions.PanicException)
"""What may go wrong in a worker; a panic of Rust code is no Exception."""


class WorkerFault(Exception):  # noqa: N818 - what the command line calls it, too
    """A fault of Phalanx itself in a worker: what it was and where, never what it said."""


def told(error: BaseException) -> str:
    """What may be told of an error in a worker: a sentence of ours, the number of a system's, and of
    any other its class and place.

    >>> told(errors.MethodError("no group of 5 is there."))
    '["MethodError", "no group of 5 is there."]'
    >>> told(ValueError("Zq7"))
    '["", "ValueError in nowhere, line 0"]'
    """
    if isinstance(error, PhalanxError):
        return json.dumps([type(error).__name__, str(error)])
    if isinstance(error, OSError) and error.errno is not None:
        return json.dumps(["OSError", [error.errno, error.strerror, error.filename]])
    last = traceback.extract_tb(error.__traceback__)[-1:]
    file, line = (Path(last[0].filename).name, last[0].lineno) if last else ("nowhere", 0)
    return json.dumps(["", f"{type(error).__name__} in {file}, line {line}"])


def raise_told(fault: str) -> NoReturn:
    """Raise here what was told there.

    >>> raise_told('["MethodError", "no group of 5 is there."]')
    Traceback (most recent call last):
    phalanx.errors.MethodError: no group of 5 is there.
    """
    kind, message = json.loads(fault)
    if kind == "OSError":
        number, why, path = message
        raise OSError(number, why, path)
    if not kind:
        raise WorkerFault(message)
    known: type[PhalanxError] = getattr(errors, kind, PhalanxError)
    raise known(message)
