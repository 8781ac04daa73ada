# SPDX-License-Identifier: Apache-2.0
"""Adversaries of one release's values: what it makes of everybody's."""

import typer

from phalanx.cli.attack.options import BOUND, ORIGINAL, OWN_IDENTIFIER, OWN_LEDGER, RELEASE
from phalanx.cli.attack.playing import play
from phalanx.cli.output import JSON

app = typer.Typer(rich_markup_mode="markdown")
_PANEL = "Values, from one release"


@app.command("posterior", rich_help_panel=_PANEL)
def posterior(
    release: RELEASE,
    original: ORIGINAL,
    bound: BOUND = "1/2",
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Knows everybody's quasi-identifiers, and says how probable each value of everybody is.

    JSON keys: those of every attack, and interval, drawing, drawing_interval, bound, above,
    above_success, largest.
    """
    from phalanx.adversaries import Posterior

    play(
        Posterior(by="law", bound=bound),
        release,
        original,
        identifier,
        ledger,
        alone=True,
        json=json,
    )


@app.command("posterior-learning", rich_help_panel=_PANEL)
def posterior_learning(
    release: RELEASE,
    original: ORIGINAL,
    bound: BOUND = "1/2",
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Knows everybody's quasi-identifiers, and learns from the release which values go with which
    (deFinetti).

    JSON keys: those of posterior.
    """
    from phalanx.adversaries import Posterior

    play(
        Posterior(by="learning", bound=bound),
        release,
        original,
        identifier,
        ledger,
        alone=True,
        json=json,
    )


@app.command("downcoding", rich_help_panel=_PANEL)
def downcoding(
    release: RELEASE,
    original: ORIGINAL,
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Of a release with boxes: infers finer quasi-identifiers than were published, because boxes
    are no wider than they must be.

    JSON keys: those of every attack, and interval, narrowed, groups, by_attribute.
    """
    from phalanx.adversaries import Downcoding

    play(Downcoding(), release, original, identifier, ledger, alone=True, json=json)
