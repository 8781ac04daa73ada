# SPDX-License-Identifier: Apache-2.0
"""``phalanx measure``: what a release lost, beside its original and a sample of the same size."""

from typing import Annotated

import typer

from phalanx.cli.output import JSON, QUIET, show_json, show_table, show_text, watching


def measure(
    release: Annotated[str, typer.Argument(help="The release's folder.", show_default=False)],
    original: Annotated[
        str, typer.Option(help="The table that was published.", show_default=False)
    ],
    held_out: Annotated[
        str | None,
        typer.Option(
            help="Rows of the same kind that the release was not made of: adds what a model learns."
        ),
    ] = None,
    json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Say how far a release, and tables drawn from it, are from the original; a sample of the same
    size says what chance alone loses.

    The figures follow from private values: they are for the publisher. JSON keys: rows, original,
    figures (each name, release, sample, meaning, better), notes.
    """
    from phalanx.series.released import Release
    from phalanx.verification.originals import refuse_others

    read = Release.read(release)
    with watching("original", quiet=quiet or json) as progress:
        refuse_others([read], [original], progress)
        figures = read.measure(original, held_out=held_out, progress=progress)
    if json:
        show_json(figures.to_json())
        return
    show_text(f"{figures.rows:,} rows of {figures.original:,}")
    show_table(
        "",
        ["figure", "release", "sample of the same size", "what it says"],
        figures.lines(),
        right=(1, 2),
    )
    for note in figures.notes:
        show_text(f"{note[:1].upper()}{note[1:]}.")
