# SPDX-License-Identifier: Apache-2.0
"""Adversaries of a whole series: what several releases tell together."""

from typing import Annotated

import typer

from phalanx.cli.attack.options import IDENTIFIER, LEDGER, ORIGINALS, OWN_LEDGER, RELEASES
from phalanx.cli.attack.playing import play
from phalanx.cli.output import JSON

app = typer.Typer(rich_markup_mode="markdown")
_PANEL = "Over a series"


@app.command("intersection", rich_help_panel=_PANEL)
def intersection(
    releases: RELEASES,
    original: ORIGINALS,
    identifier: IDENTIFIER,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Knows everybody's quasi-identifiers and intersects the values that the releases leave
    possible.

    JSON keys: adversary, knows, persons, exposed, success, baseline, candidates, note.
    """
    from phalanx.adversaries import Intersection

    play(Intersection(view="box"), releases, original, identifier, ledger, json=json)


@app.command("intersection-by-person", rich_help_panel=_PANEL)
def intersection_by_person(
    releases: RELEASES,
    original: ORIGINALS,
    identifier: IDENTIFIER,
    ledger: LEDGER,
    json: bool = JSON,
) -> None:
    """Knows everybody's group, too: the worst case of intersection.

    JSON keys: adversary, knows, persons, exposed, success, baseline, candidates, note.
    """
    from phalanx.adversaries import Intersection

    play(Intersection(view="person"), releases, original, identifier, ledger, json=json)


@app.command("history", rich_help_panel=_PANEL)
def history(
    releases: RELEASES,
    ledger: LEDGER,
    bound: Annotated[
        str, typer.Option(help="Count the persons who are linked to a value with more than this.")
    ] = "1/2",
    value: Annotated[
        list[str] | None,
        typer.Option(help="Look for this sensitive value; repeat it. All values if not given."),
    ] = None,
    json: bool = JSON,
) -> None:
    """Knows everybody's group, and asks how likely each person was ever linked to a value.

    JSON keys: those of every attack, and bound, above, largest, probabilities.
    """
    from phalanx.adversaries import History

    play(History(bound=bound, values=value or []), releases, [], None, ledger, json=json)


@app.command("learning", rich_help_panel=_PANEL)
def learning(
    releases: RELEASES, original: ORIGINALS, identifier: IDENTIFIER, json: bool = JSON
) -> None:
    """Knows everybody's quasi-identifiers, and learns from all releases which values go with which
    (deFinetti); values persist.

    JSON keys: those of every attack, and interval, alone, alone_interval, by_law, by_law_interval.
    """
    from phalanx.adversaries import SeriesLearning

    play(SeriesLearning(), releases, original, identifier, None, json=json)
