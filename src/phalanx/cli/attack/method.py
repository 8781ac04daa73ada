# SPDX-License-Identifier: Apache-2.0
"""Adversaries who know the method, and replay it."""

from typing import Annotated

import typer

from phalanx.cli.attack.options import (
    IDENTIFIER,
    LEDGER,
    ORIGINAL,
    ORIGINALS,
    OWN_IDENTIFIER,
    OWN_LEDGER,
    RELEASE,
    RELEASES,
)
from phalanx.cli.attack.playing import play
from phalanx.cli.output import JSON

app = typer.Typer(rich_markup_mode="markdown")
_PANEL = "Who knows the method"


@app.command("minimality", rich_help_panel=_PANEL)
def minimality(
    release: RELEASE,
    original: ORIGINAL,
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Of one release by Mondrian or slicing: replays the cuts, and learns from those that were not
    made.

    JSON keys: those of every attack, and interval, by_share, by_share_interval, bound, above,
    above_success, above_interval, certain, largest, groups, cuts, unused.
    """
    from phalanx.adversaries import Minimality

    play(Minimality(), release, original, identifier, ledger, alone=True, json=json)


@app.command("growth", rich_help_panel=_PANEL)
def growth(
    releases: RELEASES,
    original: ORIGINALS,
    identifier: IDENTIFIER,
    ledger: LEDGER,
    bound: Annotated[
        str | None,
        typer.Option(
            help="What the guarantee lets anybody be linked with; 1/l by the manifest if not given."
        ),
    ] = None,
    json: bool = JSON,
) -> None:
    """Of a series by the global guarantee: names the member around whom a group can have grown.

    JSON keys: those of every attack, and interval, by_past, by_past_interval, bound, groups, clear,
    clear_success, clear_interval, clear_baseline.
    """
    from phalanx.adversaries import Growth

    play(Growth(bound=bound), releases, original, identifier, ledger, json=json)


@app.command("counterfeits", rich_help_panel=_PANEL)
def counterfeits(
    releases: RELEASES,
    original: ORIGINALS,
    identifier: IDENTIFIER,
    ledger: LEDGER,
    json: bool = JSON,
) -> None:
    """Of a series by m-invariance: names the values of counterfeits by what was in stock, and
    persons by what is left.

    JSON keys: those of every attack, and groups, named, named_rightly, named_interval,
    named_baseline, certain, certain_interval, above.
    """
    from phalanx.adversaries import Counterfeits

    play(Counterfeits(), releases, original, identifier, ledger, json=json)
