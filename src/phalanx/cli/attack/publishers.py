# SPDX-License-Identifier: Apache-2.0
"""Adversaries of two publishers who do not know of each other."""

from typing import Annotated

import typer

from phalanx.cli.attack.options import IDENTIFIER, ORIGINALS, RELEASES
from phalanx.cli.attack.playing import play
from phalanx.cli.output import JSON

app = typer.Typer(rich_markup_mode="markdown")


@app.command("composition", rich_help_panel="Two publishers")
def composition(
    releases: RELEASES,
    original: ORIGINALS,
    identifier: IDENTIFIER,
    beside: Annotated[
        list[str],
        typer.Option(
            help="A release folder of the second publisher; repeat it.", show_default=False
        ),
    ],
    beside_original: Annotated[
        list[str],
        typer.Option(
            help="The table that it was made of, one for each and in their order; repeat it.",
            show_default=False,
        ),
    ],
    beside_identifier: Annotated[
        str | None,
        typer.Option(help="The identifier column of these tables, where it is called otherwise."),
    ] = None,
    json: bool = JSON,
) -> None:
    """Knows everybody's quasi-identifiers and who is in both, and intersects what two publishers
    leave possible.

    JSON keys: those of every attack, and interval, alone (of each publisher: exposed, success).
    """
    from phalanx.adversaries import Composition
    from phalanx.verification import gather_evidence, read_releases

    read = read_releases(beside)
    known, _ = gather_evidence(
        read, ledger=None, originals=beside_original, identifier=beside_identifier or identifier
    )
    play(Composition(beside=read, known=known), releases, original, identifier, None, json=json)
