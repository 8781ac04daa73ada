# SPDX-License-Identifier: Apache-2.0
"""``phalanx draw``: tables that a release leaves possible, for any package that takes a plain
table.
"""

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_text, watching

if TYPE_CHECKING:
    import polars as pl


def draw(
    release: Annotated[str, typer.Argument(help="The release's folder.", show_default=False)],
    to: Annotated[Path, typer.Option(help="A new folder for the tables.", show_default=False)],
    times: Annotated[int, typer.Option(help="How many tables.")] = 20,
    never: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "A condition that no row fulfils, as in \"age < 16 and married = 'yes'\";"
                " repeat it."
            )
        ),
    ] = None,
    format: Annotated[str, typer.Option(help="csv, or parquet.")] = "csv",
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Draw tables in the original's columns that the release leaves possible, into a new folder;
    analyse each, and pool what comes out.

    JSON keys: folder, tables, rows.
    """
    from phalanx.errors import ReleaseError, place_of
    from phalanx.estimators.draws import drawing
    from phalanx.release.folder import FORMATS
    from phalanx.series.released import Release

    if format not in FORMATS:
        raise ReleaseError(f"--format {format} is not known; use csv or parquet.")
    place = place_of(to, "the new folder", ReleaseError)
    if place.exists() and not (place.is_dir() and _is_left(place)):
        raise ReleaseError(
            f"{to} exists, and drawn tables are not mixed with others; name a new folder, or remove"
            " it."
        )
    names, rows, read = [], [], Release.read(release)
    with watching("tables", quiet=quiet or json) as progress:
        tables = drawing(read, times, never=never or (), progress=progress)
        to.mkdir(parents=True, exist_ok=True)
        try:
            for i, pieces in enumerate(tables, 1):
                name = f"draw-{i:0{len(str(times))}}.{format}"
                drawn = _write(pieces, to / name, format)
                if never and not drawn:
                    (to / name).unlink()
                    raise ReleaseError(
                        "every row meets a condition of --never, however it is drawn; give one that"
                        " rows can keep."
                    )
                names.append(name)
                rows.append(drawn)
                progress("tables", i, times)
        finally:
            if not rows:  # else the next try would find it in its way
                with suppress(OSError):
                    to.rmdir()
    if json:
        show_json({"folder": str(to), "tables": names, "rows": rows})
        return
    show_text(
        f"{times} table(s) of {min(rows):,}{f' to {max(rows):,}' if len(set(rows)) > 1 else ''}"
        f" rows in {to}: guesses, not releases; analyse each, and pool."
        f"{' Rows that met --never each time are left out.' if never else ''}"
    )


def _is_left(folder: Path) -> bool:
    """Whether nothing is in a folder but what a try that was killed has left, which is removed."""
    left = list(folder.glob(".draw-*.partial"))
    if len(left) < sum(1 for _ in folder.iterdir()):
        return False
    for partial in left:
        partial.unlink()
    return True


def _write(pieces: "Iterator[pl.DataFrame]", path: Path, format: str) -> int:
    """Write a table, of which no half stands there under its name where that is stopped; how many
    rows it has.
    """
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            rows = _csv(pieces, file) if format == "csv" else _parquet(pieces, file)
        partial.rename(path)
    except OSError as error:
        error.filename, error.filename2 = str(path), None  # which the user knows
        raise
    finally:
        partial.unlink(missing_ok=True)
    return rows


def _csv(pieces: "Iterator[pl.DataFrame]", file: BinaryIO) -> int:
    rows = 0
    for number, piece in enumerate(pieces):
        lines = piece.write_csv(include_header=not number)
        file.write(lines.encode())  # as Polars does not say why a file cannot be written
        rows += piece.height
    return rows


def _parquet(pieces: "Iterator[pl.DataFrame]", file: BinaryIO) -> int:
    import pyarrow.parquet as pq

    from phalanx.release.folder import encode

    rows, first = 0, next(pieces)
    second = next(pieces, None)
    if second is None:
        encode(first, whole := BytesIO(), "parquet")
        file.write(whole.getbuffer())
        return first.height
    with pq.ParquetWriter(
        file,
        first.to_arrow().schema,
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
    ) as writer:
        for piece in chain([first, second], pieces):
            for batch in piece.to_arrow().to_batches():
                writer.write_batch(batch)
            rows += piece.height
    return rows
