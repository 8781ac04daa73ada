# SPDX-License-Identifier: Apache-2.0
"""Sources: files and databases that hold a table about people, read whole or refused in one
sentence.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import polars as pl

from phalanx.data.sources import csv_blocks
from phalanx.data.sources.coded_files import KINDS, read_coded
from phalanx.data.sources.csv_files import dialect_of, read_csv
from phalanx.data.sources.dialects import Dialect
from phalanx.data.sources.frames import to_polars
from phalanx.data.sources.parquet_folders import check_same, files_of, read_folder, state_of
from phalanx.data.sources.reading import PARQUET, check_values, read_arrow, read_parquet
from phalanx.data.sources.workbooks import read_workbook
from phalanx.errors import SourceError, did_you_mean, kind_of, path_of

_CSV: Final = (".csv", ".tsv")
_IPC: Final = (".arrow", ".feather", ".ipc")
_EXCEL: Final = (".xlsx", ".xlsm")
ENDINGS: Final = (*_CSV, *(f"{kind}.gz" for kind in _CSV), *PARQUET, *_IPC, *_EXCEL, *KINDS)
"""How the names of files end that are read."""


def read_source(
    source: Any,
    *,
    query: str | None = None,
    drop: Collection[str] | None = (),
    text: Collection[str] | None = (),
    dialect: Dialect | None = None,
) -> pl.DataFrame:
    """Read a table whole: a CSV, TSV (also ``.gz``), Parquet, Arrow/Feather, Excel, SPSS, Stata or
    SAS file, a folder of Parquet files, the rows of a query, or a table in memory.

    Types of a CSV, and of a workbook, follow all of its rows (see
    ``phalanx.data.sources.csv_files``), those of SQLite the first million; an empty field is missing.
    Codes of SPSS, Stata and SAS are kept, but for the columns in ``text``, which hold the labels that
    the file has for them. Categories become text.

    Parameters
    ----------
    source : str | Path | frame of shape (n, columns)
        A path, or a URL ``sqlite:///file.db`` or ``postgresql://…`` with a ``query``; or a pandas,
        Polars or Arrow table, or anything with the Arrow PyCapsule interface.
    query : str, optional
        The SQL whose rows are read.
    drop : Collection[str], optional
        Columns that may have any type; None lets all do, for profiling.
    text : Collection[str], optional
        Columns of a file or a query that are text as it stands there; None: all.
    dialect : Dialect, optional
        How a CSV file is written, as a plan states it; None: as ``csv_dialect`` detects.

    Returns
    -------
    pl.DataFrame
        The table, of shape (n, columns).

    Raises
    ------
    SourceError
        Where there is no such file, where it is malformed, declares more than a file of its size can
        hold, holds a value of more than 16 MB, or changes while it is read, where the database
        refuses the query, and for what is no table.
    MachineError
        Where the machine lacks the memory, threads or open files that reading takes.
    """
    named = isinstance(source, str | Path)
    in_a_database = named and "://" in str(source)
    if query is not None and not isinstance(query, str):
        raise SourceError(f"the query is {kind_of(query)}; give it as a text, in SQL.")
    if query is not None and not in_a_database:
        raise SourceError(
            "a query needs a database; give a url such as sqlite:///file.db, or leave the query"
            " out."
        )
    drop, text = _names(drop, "drop"), _names(text, "text")
    table = source
    if named and not in_a_database:
        table = _read_file(path_of(source, "the source", SourceError), text, dialect)
        check_values(table)
    elif named:
        from phalanx.data.sources.databases import read_query

        table = read_query(str(source), query, text or ())
    return to_polars(table, drop=drop)


def _names(given: Collection[str] | str | None, what: str) -> Collection[str] | None:
    """Names of columns; a text is one, and no list of letters."""
    if isinstance(given, str):
        return (given,)
    if given is not None and not isinstance(given, Collection):
        raise SourceError(f"{what} is {kind_of(given)}; give a list of column names.")
    return given


def csv_dialect(source: str | Path) -> Dialect:
    """How a CSV file is written, for a plan to state: the separator (comma, semicolon, tab,
    vertical bar) by its header line, the encoding (UTF-8, Windows-1252) by its bytes, and the
    decimal mark by its columns; the default for a source that is no CSV file.

    Parameters
    ----------
    source : str | Path
        As for ``read_source``.

    Returns
    -------
    Dialect
        The dialect.

    Raises
    ------
    SourceError
        As for ``read_source``.
    """
    if "://" in str(source) or not _is_csv(path := Path(source)) or path.is_dir():
        return Dialect()
    check_there(path)
    if is_csv(path) and not csv_blocks.fits(path):
        return csv_blocks.dialect_by_blocks(path)
    return dialect_of(path, packed=_is_packed(path))


def is_csv(source: Any) -> bool:
    """Whether a source is the path of a CSV file that is not packed, by its name."""
    named = isinstance(source, str | Path) and "://" not in str(source)
    return named and _is_csv(Path(source)) and not _is_packed(Path(source))


def _is_packed(path: Path) -> bool:
    return path.suffix.lower() == ".gz"


def _is_csv(path: Path) -> bool:
    return (Path(path.stem) if _is_packed(path) else path).suffix.lower() in _CSV


def _read_file(path: Path, text: Collection[str] | None, dialect: Dialect | None) -> pl.DataFrame:
    """A file or a folder of some; SourceError where they are not as they were once it was read, as
    half of a table may be another one then.
    """
    if not path.is_dir():
        check_there(path)
    state = state_of(path)
    table = read_folder(path) if path.is_dir() else _read_kind(path, text, dialect)
    check_same(path, state)
    return table


def _read_kind(path: Path, text: Collection[str] | None, dialect: Dialect | None) -> pl.DataFrame:
    ending = path.suffix.lower()
    if _is_csv(path):
        return read_csv(path, dialect=dialect, packed=_is_packed(path), text=text)
    if ending in _EXCEL:
        return read_workbook(path, text=text)
    if ending in KINDS:
        return read_coded(path, text=text)
    if ending in PARQUET:
        return read_parquet(path)
    if ending in _IPC:
        return read_arrow(path)
    raise SourceError(
        f"the file {path.name!r} is not of a known kind; give a .csv, .tsv, .csv.gz, .parquet,"
        " .arrow, .feather, .xlsx, .sav, .dta, .sas7bdat or .xpt file."
    )


def check_there(path: Path) -> None:
    """SourceError where no file is there, with the name that may have been meant, or a folder that
    is no table.
    """
    if path.is_file():
        return
    if path.is_dir():
        files_of(path)
        return
    try:
        siblings = [p.name for p in path.parent.iterdir() if p.is_file()]
    except OSError:
        raise SourceError(
            f"there is no folder {str(path.parent)!r}; check the path of the source."
        ) from None
    raise SourceError(
        "there is no file"
        f" {str(path)!r}{did_you_mean(path.name, siblings) or '; check the path of the source.'}"
    )
