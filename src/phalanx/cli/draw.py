# SPDX-License-Identifier: Apache-2.0
"""``phalanx draw``: tables that a release leaves possible, for any package that takes a plain
table.
"""

from io import BytesIO
from pathlib import Path
from typing import Annotated

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_text, watching


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
    from phalanx.release.folder import FORMATS, encode
    from phalanx.series.released import Release

    if format not in FORMATS:
        raise ReleaseError(f"--format {format} is not known; use csv or parquet.")
    if place_of(to, "the new folder", ReleaseError).exists():
        raise ReleaseError(
            f"{to} exists, and drawn tables are not mixed with others; name a new folder."
        )
    tables = drawing(Release.read(release), times, never=never or ())
    to.mkdir(parents=True)
    names, rows = [], []
    with watching("tables", quiet=quiet or json) as progress:
        for i, table in enumerate(tables, 1):
            names.append(f"draw-{i:0{len(str(times))}}.{format}")
            encode(table, whole := BytesIO(), format)
            (to / names[-1]).write_bytes(whole.getbuffer())  # not half of one, where it is stopped
            rows.append(table.height)
            progress("tables", i, times)
    if json:
        show_json({"folder": str(to), "tables": names, "rows": rows})
        return
    show_text(
        f"{times} table(s) of {min(rows):,}{f' to {max(rows):,}' if len(set(rows)) > 1 else ''}"
        f" rows in {to}: guesses, not releases; analyse each, and pool."
    )
