# SPDX-License-Identifier: Apache-2.0
"""The options that several adversaries share, each with its help."""

from typing import Annotated

import typer

from phalanx.cli.locations import release_folders

RELEASE = Annotated[
    list[str],
    typer.Argument(
        help="The release's folder.",
        show_default=False,
        metavar="RELEASE",
        callback=release_folders,
    ),
]
RELEASES = Annotated[
    list[str],
    typer.Argument(
        help="The release folders of one series.",
        show_default=False,
        metavar="RELEASE",
        callback=release_folders,
    ),
]
ORIGINAL = Annotated[
    list[str], typer.Option("--original", help="The table that was published.", show_default=False)
]
ORIGINALS = Annotated[
    list[str],
    typer.Option(
        "--original",
        help="The table that was published, one for each release and in their order; repeat it.",
        show_default=False,
    ),
]
IDENTIFIER = Annotated[
    str,
    typer.Option(
        "--identifier", help="The identifier column of the original tables.", show_default=False
    ),
]
LEDGER = Annotated[
    str,
    typer.Option(
        "--ledger",
        help="The ledger's URL or SQLite file, which knows everybody's group.",
        show_default=False,
    ),
]
OWN_IDENTIFIER = Annotated[
    str | None,
    typer.Option(
        "--identifier", help="The identifier column of the original table; goes with --ledger."
    ),
]
OWN_LEDGER = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help=(
            "The ledger's URL or SQLite file, which knows who was published in which row or group."
        ),
    ),
]
BOUND = Annotated[
    str,
    typer.Option(
        "--bound", help="Count the persons of whom some value is more probable than this."
    ),
]
SAMPLE = Annotated[
    int | None, typer.Option("--sample", help="Attack so many persons, drawn at random.")
]
