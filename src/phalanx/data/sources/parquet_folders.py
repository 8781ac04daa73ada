# SPDX-License-Identifier: Apache-2.0
"""A folder of Parquet files, as Spark and others write a large table: one table, whose rows stand
file after file in the order of their names.
"""

import os
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs

from phalanx.data.sources.available_memory import in_words, memory_left
from phalanx.data.sources.reading import (
    PARQUET,
    bytes_needed,
    read_parquet,
    refusing_parquet,
    unreadable,
)
from phalanx.errors import MachineError, SourceError

State = tuple[tuple[str, int, int, int], ...]
"""Of each file its name, when it was written, its size and its number."""
_BESIDE = (".", "_")
"""How the names of files begin that are no part of the table: checksums, a mark of success."""


def files_of(path: Path) -> list[Path]:
    """The file, or those of a folder; SourceError for a folder in which something else lies, too, or
    nothing.
    """
    if not path.is_dir():
        return [path]
    try:
        inside = sorted(p for p in path.iterdir() if not p.name.startswith(_BESIDE))
        are_files = [other.is_file() for other in inside]
    except OSError:
        raise SourceError(
            f"the folder {path.name!r} cannot be read; check that you may read it."
        ) from None
    for other, is_file in zip(inside, are_files, strict=True):
        if not is_file or other.suffix.lower() not in PARQUET:
            raise SourceError(
                f"the source {str(path)!r} is a folder with {other.name!r} in it, and Parquet files"
                " alone are read together; name a file in it."
            )
    if not inside:
        raise SourceError(
            f"the source {str(path)!r} is a folder without a Parquet file; name a file."
        )
    return inside


def state_of(path: Path) -> State:
    """Of the files that are there; SourceError as :func:`files_of`."""
    try:
        states = [(file.name, file.stat()) for file in files_of(path)]
    except OSError:
        return ()
    return tuple((name, of.st_mtime_ns, of.st_size, of.st_ino) for name, of in states)


def check_same(path: Path, state: State) -> None:
    """SourceError where a file, or one of a folder, is not as it was."""
    if state_of(path) != state:
        raise SourceError(
            f"{path.name!r} changed while it was read; publish when nothing writes to it any more."
        )


def read_folder(path: Path) -> pl.DataFrame:
    """All rows; SourceError where its files have not the same columns, MachineError where they do not
    fit the memory.
    """
    files = files_of(path)
    metas = [meta_of(file) for file in files]
    check_alike(files, metas)
    needed, room = sum(map(bytes_needed, metas)), memory_left()
    if needed > room:
        raise MachineError(
            f"the files of the folder {path.name!r} need {in_words(needed)} of memory or more,"
            f" and {in_words(room)} are left; read it on a larger machine, or in parts."
        )
    frames = [
        read_parquet(file).with_columns(cs.by_dtype(pl.Categorical, pl.Enum).cast(pl.String))
        for file in files
    ]
    return pl.concat([frame.select(frames[0].columns) for frame in frames])


def meta_of(path: Path) -> Any:
    """What the footer of a Parquet file says; SourceError where it has none."""
    import pyarrow.parquet as pq

    if path.is_file() and not os.access(path, os.R_OK):
        raise unreadable(path)
    with refusing_parquet(path):
        return pq.read_metadata(path)


def check_alike(files: Sequence[Path], metas: Sequence[Any]) -> None:
    """SourceError where the files of one table have other columns, or other types of them."""
    types = [
        {field.name: str(field.type).removeprefix("large_") for field in schema}
        for schema in (meta.schema.to_arrow_schema() for meta in metas)
    ]
    for (one, first), (other, then) in pairwise(zip(files, types, strict=True)):
        for name in (*first, *then):
            if first.get(name) == then.get(name):
                continue
            if name in first and name in then:
                raise SourceError(
                    f"the column {name!r} is {first[name]} in {one.name!r} and {then[name]} in"
                    f" {other.name!r}; write all files of the folder alike."
                )
            has, lacks = (one, other) if name in first else (other, one)
            raise SourceError(
                f"the column {name!r} of {has.name!r} is missing in {lacks.name!r}; write all files"
                " of the folder alike."
            )
