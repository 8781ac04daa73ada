# SPDX-License-Identifier: Apache-2.0
"""Adversaries who link persons to the records of one release."""

from typing import Annotated

import typer

from phalanx.cli.attack.options import ORIGINAL, OWN_IDENTIFIER, OWN_LEDGER, RELEASE, SAMPLE
from phalanx.cli.attack.playing import play
from phalanx.cli.output import JSON

app = typer.Typer(rich_markup_mode="markdown")
_PANEL = "Whose record is which, from one release"


@app.command("linkage", rich_help_panel=_PANEL)
def linkage(
    release: RELEASE,
    original: ORIGINAL,
    p_match: Annotated[
        str, typer.Option(help="Use each quasi-identifier with this probability.")
    ] = "1",
    sample: SAMPLE = None,
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Knows everybody's quasi-identifiers, and matches records by them.

    JSON keys: those of every attack, and identity, identity_interval, identity_baseline, attribute,
    attribute_interval, attribute_baseline, sample, p_match.
    """
    from phalanx.adversaries import Linkage

    play(
        Linkage(p_match=p_match, sample=sample),
        release,
        original,
        identifier,
        ledger,
        alone=True,
        json=json,
    )


@app.command("informed", rich_help_panel=_PANEL)
def informed(
    release: RELEASE,
    original: ORIGINAL,
    sample: SAMPLE = None,
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Of a perturbed release: takes the nearest row that may be the person's.

    JSON keys: those of linkage without p_match.
    """
    from phalanx.adversaries import Informed

    play(Informed(sample=sample), release, original, identifier, ledger, alone=True, json=json)


@app.command("omniscient", rich_help_panel=_PANEL)
def omniscient(
    release: RELEASE,
    original: ORIGINAL,
    sample: SAMPLE = None,
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Of a perturbed release: the worst case, knows the groups and how probably everybody published
    which values.

    JSON keys: those of informed, and named, named_interval, largest, largest_identity, approximate.
    """
    from phalanx.adversaries import Omniscient

    play(Omniscient(sample=sample), release, original, identifier, ledger, alone=True, json=json)
