# SPDX-License-Identifier: Apache-2.0
"""Adversaries who ask who is in one release."""

from typing import Annotated

import typer

from phalanx.cli.attack.options import ORIGINAL, OWN_IDENTIFIER, OWN_LEDGER, RELEASE
from phalanx.cli.attack.playing import play
from phalanx.cli.output import JSON

app = typer.Typer(rich_markup_mode="markdown")
_PANEL = "Who is in it, from one release"


@app.command("membership", rich_help_panel=_PANEL)
def membership(
    release: RELEASE,
    original: ORIGINAL,
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Of a sliced release: tells original tuples from fake ones.

    JSON keys: those of every attack, and fakes, drawn, by_number, by_degree, fake_candidates.
    """
    from phalanx.adversaries import Membership

    play(Membership(), release, original, identifier, ledger, alone=True, json=json)


@app.command("extremes", rich_help_panel=_PANEL)
def extremes(
    release: RELEASE,
    original: ORIGINAL,
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Of a release with boxes: who must be in it, by the ends of boxes.

    JSON keys: those of every attack, and groups, proving, extremes, alone, largest.
    """
    from phalanx.adversaries import Extremes

    play(Extremes(), release, original, identifier, ledger, alone=True, json=json)


@app.command("singling-out", rich_help_panel=_PANEL)
def singling_out(
    release: RELEASE,
    original: ORIGINAL,
    expected: Annotated[
        str,
        typer.Option(help="Try predicates that may be expected to hold for at most so many rows."),
    ] = "1/10",
    sample: Annotated[
        int, typer.Option(help="Try at most so many predicates, of regions drawn at random.")
    ] = 2000,
    json: bool = JSON,
) -> None:
    """Knows how frequent values are and nobody's own: makes predicates of low weight that hold for
    exactly one row.

    JSON keys: those of every attack, and interval, predicates, weight, expected.
    """
    from phalanx.adversaries import SinglingOut

    play(
        SinglingOut(expected=expected, sample=sample),
        release,
        original,
        None,
        None,
        alone=True,
        json=json,
    )
