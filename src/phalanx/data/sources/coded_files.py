# SPDX-License-Identifier: Apache-2.0
"""Files of statistics packages: SPSS, Stata and SAS, whose values are codes with labels."""

import json
import signal
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from phalanx.data.names import check_names
from phalanx.data.sources.reading import check_size, malformed, refusing
from phalanx.errors import MachineError, PhalanxError, SourceError, require_extra

Labels = Mapping[str, Sequence[tuple[Any, str]]]
_TRANSPORT: Final = "SAS transport"
KINDS: Final[Mapping[str, tuple[str, str]]] = {
    ".sav": ("SPSS", "read_sav"),
    ".zsav": ("SPSS", "read_sav"),
    ".dta": ("Stata", "read_dta"),
    ".sas7bdat": ("SAS", "read_sas7bdat"),
    ".xpt": (_TRANSPORT, "read_xport"),
}
"""By ending the package's name, and the function that reads its files."""
_ASIDE: Final = "from phalanx.data.sources.coded_files import read_aside; read_aside()"
_REFUSED: Final[dict[int, type[PhalanxError]]] = {3: SourceError, 4: MachineError}
"""How a process ends that refuses a file in a sentence."""
_EXACT: Final = 2**53
"""From here on a number of these files is no longer a whole one for sure."""
_MOST_UNPACKED: Final = 8
"""A number of a transport file takes at least a byte there."""
_RECORD: Final = 80
"""Of so many bytes is every part of a transport file, which does not say how many rows it has."""


def read_coded(path: Path, *, text: Collection[str] | None = ()) -> pl.DataFrame:
    """A file of SPSS, Stata or SAS whole, with its codes; ExtraError where the reader is not
    installed.

    A number is a whole one where all of its column are. A column in ``text`` (``None``: all) has
    the label of each code, and the code itself, as text, where it has none: so its plan decides,
    and no row does. Labels that SAS keeps in a file of their own are not read. What the file
    declares to be missing is missing, and so is an empty text, as in these packages.

    Raises SourceError for a file that is not whole, declares more than it can hold, or does not say
    how many rows it has.
    """
    package, _ = KINDS[path.suffix.lower()]
    require_extra("files", f"reading {package} files")
    with refusing(malformed(path, package)):
        head, _, table = _in_a_process_of_its_own(path).partition(b"\n")
        labels: Labels = json.loads(head)
        frame = pl.read_ipc_stream(table)
        check_names(frame.columns, SourceError)
        return frame.select(
            (
                _labelled(column, dict(labels.get(column.name, ())))
                if text is None or column.name in text
                else _coded(column)
            )
            for column in frame.get_columns()
        )


def _in_a_process_of_its_own(path: Path) -> bytes:
    """What ``read_aside`` writes; an error where it could not.

    The reader is written in C, and a damaged file has been seen to end its process, which must not
    be ours; nothing is imported from the folder of the data (-P).
    """
    aside = subprocess.run(  # noqa: S603 - this very Python, and a path that is not interpreted
        [sys.executable, "-P", "-c", _ASIDE, str(path)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    for code, refusal in _REFUSED.items():
        if aside.returncode == code:
            raise refusal(aside.stdout.decode())
    if aside.returncode == -signal.SIGKILL:  # which the system sends where the memory runs out
        raise MemoryError
    if aside.returncode:
        raise ChildProcessError
    return aside.stdout


def read_aside() -> None:
    """Read the file that the command line names: a line of labels, then an Arrow stream, on
    standard output; or the sentence that refuses it.
    """
    import pyreadstat

    path = Path(sys.argv[1])
    package, reader = KINDS[path.suffix.lower()]
    read = getattr(pyreadstat, reader)
    try:
        _, about = read(path, metadataonly=True, output_format="polars")
        _check(path, package, about)
        frame, about = read(path, output_format="polars")
    except tuple(_REFUSED.values()) as refused:
        sys.stdout.buffer.write(str(refused).encode())
        sys.exit(next(code for code, kind in _REFUSED.items() if isinstance(refused, kind)))
    labels = {name: list(of.items()) for name, of in about.variable_value_labels.items()}
    sys.stdout.buffer.write(json.dumps(labels).encode() + b"\n")
    frame.write_ipc_stream(sys.stdout.buffer)


def _check(path: Path, package: str, about: Any) -> None:
    """What the file declares, before there is room for it; a transport file declares nothing."""
    if package == _TRANSPORT:
        size = path.stat().st_size
        check_size(path, 0, _MOST_UNPACKED * size)
        if size % _RECORD:
            raise malformed(path, package)
    elif about.number_rows is None or about.number_rows < 0:
        raise SourceError(
            f"the file {path.name!r} does not say how many rows it has; save it again."
        )
    else:
        widths = sum(about.variable_storage_width.values())
        check_size(path, about.number_rows * about.number_columns, about.number_rows * widths)


def _coded(values: pl.Series) -> pl.Series:
    """Codes as they are; whole numbers where all are."""
    if values.dtype == pl.String:
        return values.set(values == "", None)
    if not values.dtype.is_numeric():
        return values
    numbers = values.cast(pl.Float64).fill_nan(None)
    return numbers.cast(pl.Int64) if _whole(numbers).all() else numbers


def _labelled(values: pl.Series, labels: Mapping[Any, str]) -> pl.Series:
    """The label of every code; the code where it has none, or one that another code has, too."""
    codes = _coded(values)
    if codes.dtype == pl.Float64:
        whole = codes.set(~_whole(codes), None).cast(pl.Int64)
        codes = whole.cast(pl.String).zip_with(whole.is_not_null(), codes.cast(pl.String))
    texts = [str(label) for label in labels.values()]
    return codes.cast(pl.String).replace(
        {
            str(int(code) if isinstance(code, float) and code.is_integer() else code): label
            for code, label in zip(labels, texts, strict=True)
            if texts.count(label) == 1
        }
    )


def _whole(numbers: pl.Series) -> pl.Series:
    return ((numbers == numbers.round()) & (numbers.abs() < _EXACT)).fill_null(value=True)
