# SPDX-License-Identifier: Apache-2.0
"""What the files of a release hold beside their rows: the two formats say the same, and nothing
more than the rows is in them.

A table is written again from its rows. Where the same bytes come out, these say no more than the
rows do. A Parquet file that another version wrote may differ in how its pages are made up; then
every byte must belong to a page, an index or the footer, and that nothing is hidden within these is
not shown.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from phalanx.arrays import from_arrow
from phalanx.data.sources.reading import read_parquet, refusing
from phalanx.errors import ReleaseError, SourceError, lack_behind
from phalanx.guarantees.consistency.parquet_bytes import left_over
from phalanx.release.folder import Release, encode, read_csv
from phalanx.release.parts import table_of

_METADATA: Final = {b"ARROW:schema"}
"""Key-value metadata that writers of plain columns add: the column types once more."""
_UNREADABLE: Final = "it cannot be read as Parquet"


def file_faults(release: Release) -> Iterator[str]:
    """What is wrong with the files that the manifest names; nothing where the form has no
    folder.
    """
    names = [file.name for file in release.manifest.files if (release.path / file.name).is_file()]
    if missing := sorted({file.name for file in release.manifest.files} - set(names)):
        yield f"the file {missing[0]} is missing"
    for name in names:
        if name.endswith(".parquet"):
            try:
                yield from [f"{name}: {fault}" for fault in _parquet_faults(release.path / name)]
            except ReleaseError as refused:
                yield f"{name}: {refused}"
    for stem in sorted(
        {name.removesuffix(".parquet") for name in names if name.endswith(".parquet")}
    ):
        if f"{stem}.csv" in names and not _same_rows(
            release.path / f"{stem}.parquet", release.path / f"{stem}.csv"
        ):
            yield f"{stem}.parquet and {stem}.csv do not say the same"


def _parquet_faults(path: Path) -> Iterator[str]:
    with refusing(ReleaseError(_UNREADABLE)), pq.ParquetFile(path) as file:
        metadata = set((file.metadata.metadata or {}).keys()) - _METADATA
        if metadata or file.schema_arrow.metadata:
            yield "its footer holds metadata beside the column types"
        for field in file.schema_arrow:
            if pa.types.is_dictionary(field.type):
                yield (
                    f"column {field.name!r} is dictionary-encoded, which keeps values that no"
                    " row has"
                )
            elif pa.types.is_nested(field.type):
                yield f"column {field.name!r} holds more than one value per row"
            elif set(field.metadata or {}) - {b"PARQUET:field_id"}:
                yield f"column {field.name!r} carries metadata of its own"
        texts = [
            f.name
            for f in file.schema_arrow
            if pa.types.is_string(f.type)
            or pa.types.is_large_string(f.type)
            or pa.types.is_binary(f.type)
        ]
    yield from (
        f"column {name!r} holds values that no row has" for name in _unused_values(path, texts)
    )


def _unused_values(path: Path, texts: list[str]) -> list[str]:
    """The text columns whose dictionary pages name a value that no row refers to."""
    unused: list[str] = []
    with refusing(ReleaseError(_UNREADABLE)), pq.ParquetFile(path, read_dictionary=texts) as file:
        for part in range(file.metadata.num_row_groups):
            for name, column in zip(
                texts, file.read_row_group(part, columns=texts).columns, strict=True
            ):
                for chunk in column.chunks:
                    if (
                        isinstance(chunk, pa.DictionaryArray)
                        and from_arrow(chunk.indices).drop_nulls().n_unique()
                        < len(chunk.dictionary)
                        and name not in unused
                    ):
                        unused.append(name)
    return unused


def hidden(release: Release) -> tuple[list[str], list[str]]:
    """The faults of files whose bytes say more than their rows, and the names of those of which
    that cannot be told.
    """
    faults, unsettled, tables = [], [], release.written
    for name in (
        file.name for file in release.manifest.files if (release.path / file.name).is_file()
    ):
        stem, format = name.rsplit(".", 1)
        try:
            fault = (hidden_in_parquet if format == "parquet" else hidden_in_csv)(
                release.path / name, tables[table_of(stem)]
            )
        except (
            pl.exceptions.PolarsError,
            pl.exceptions.PanicException,
            pa.ArrowException,
        ) as error:
            if lack := lack_behind(error):
                raise lack from None
            fault = "holds columns that no writer of ours makes"
        if fault:
            faults.append(f"{name} {fault}")
        elif fault is None:
            unsettled.append(name)
    return faults, unsettled


def hidden_in_parquet(path: Path, table: pl.DataFrame) -> str | None:
    """What is wrong with the bytes of a file, empty where nothing is; None where that cannot be
    told. A file that is no Parquet at all is told elsewhere.
    """
    try:
        rows, writer = _pieces(path)
    except ReleaseError:
        return ""
    parts, start = [], 0
    for count in rows:  # pieces of a table become row groups
        parts.append(table[start : start + count])
        start += count
    again = io.BytesIO()
    encode(pl.concat(parts, rechunk=False) if parts else table, again, "parquet")
    if again.getvalue() == path.read_bytes():
        return ""
    uncovered, of_this_writer = left_over(path), _pieces(again)[1] == writer
    if uncovered is None:
        return "does not say where its pages are"
    if uncovered:
        return (
            f"holds {uncovered} byte(s) that no page and no footer needs, in which anything may be"
            " hidden"
        )
    if of_this_writer:
        return "is not what its writer makes of its rows, so that more may be hidden in it"
    return None


def _pieces(source: Path | io.BytesIO) -> tuple[list[int], str]:
    """How many rows each row group of a Parquet file has, and who wrote it."""
    with refusing(ReleaseError(_UNREADABLE)), pq.ParquetFile(source) as file:
        return [
            file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)
        ], file.metadata.created_by


def hidden_in_csv(path: Path, table: pl.DataFrame) -> str | None:
    """The same of a CSV file: quotes and line ends that are not needed, and numbers in other
    digits, could mark rows.
    """
    content, again = path.read_bytes(), io.BytesIO()
    encode(table, again, "csv")
    if content == again.getvalue():
        return ""
    try:
        texts = read_csv(path, dict.fromkeys(table.columns, pl.String), infer=False)
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        if lack := lack_behind(error):
            raise lack from None
        return ""  # which the comparison with the Parquet file tells
    again = io.BytesIO()
    encode(texts, again, "csv")
    exact = [name for name, dtype in table.schema.items() if not dtype.is_float()]
    if content != again.getvalue() or not texts.select(exact).equals(
        table.select(pl.col(exact).cast(pl.String))
    ):
        return (
            "is not what its writer makes of its rows, so that quotes, line ends or digits may mark"
            " some of them"
        )
    return None


def _same_rows(parquet: Path, csv: Path) -> bool:
    try:
        with refusing(ReleaseError("they cannot be compared")):
            table = read_parquet(parquet)
            typed = {
                name: (
                    dtype
                    if dtype.is_numeric() or dtype in (pl.String, pl.Date, pl.Boolean)
                    else pl.String
                )
                for name, dtype in table.schema.items()
            }
            written = read_csv(csv, typed, infer=False)
            beside = table.with_columns(
                pl.col(name).cast(pl.String)
                for name, dtype in table.schema.items()
                if typed[name] != dtype
            )
            return beside.columns == written.columns and beside.equals(written)
    except (ReleaseError, SourceError):
        return False
