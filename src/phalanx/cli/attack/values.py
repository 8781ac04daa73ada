"""Adversaries of one release's values: what it makes of everybody's."""

from typing import TYPE_CHECKING

import typer

from phalanx.cli.attack.options import BOUND, ORIGINAL, OWN_IDENTIFIER, OWN_LEDGER, RELEASE
from phalanx.cli.attack.playing import interval, play, share
from phalanx.cli.output import JSON, show_table

if TYPE_CHECKING:
    from phalanx.adversaries.groups.downcoding import Downcoded
    from phalanx.adversaries.groups.posterior import Inferred

app = typer.Typer(rich_markup_mode="markdown")
_PANEL = "Values, from one release"


@app.command("posterior", rich_help_panel=_PANEL)
def posterior(
    release: RELEASE, original: ORIGINAL, bound: BOUND = "1/2", identifier: OWN_IDENTIFIER = None, ledger: OWN_LEDGER = None, json: bool = JSON
) -> None:
    """Knows everybody's quasi-identifiers, and says how probable each value of everybody is.

    JSON keys: those of every attack, and interval, drawing, drawing_interval, bound, above, above_success, largest.
    """
    from phalanx.adversaries import Posterior

    play(Posterior(by="law", bound=bound), release, original, identifier, ledger, alone=True, json=json, show=_show_inferred)


@app.command("posterior-learning", rich_help_panel=_PANEL)
def posterior_learning(
    release: RELEASE, original: ORIGINAL, bound: BOUND = "1/2", identifier: OWN_IDENTIFIER = None, ledger: OWN_LEDGER = None, json: bool = JSON
) -> None:
    """Knows everybody's quasi-identifiers, and learns from the release which values go with which (deFinetti).

    JSON keys: those of posterior.
    """
    from phalanx.adversaries import Posterior

    play(Posterior(by="learning", bound=bound), release, original, identifier, ledger, alone=True, json=json, show=_show_inferred)


@app.command("downcoding", rich_help_panel=_PANEL)
def downcoding(release: RELEASE, original: ORIGINAL, identifier: OWN_IDENTIFIER = None, ledger: OWN_LEDGER = None, json: bool = JSON) -> None:
    """Of a release with boxes: infers finer quasi-identifiers than were published, because boxes are no wider than they must be.

    JSON keys: those of every attack, and interval, narrowed, groups, by_attribute.
    """
    from phalanx.adversaries import Downcoding

    play(Downcoding(), release, original, identifier, ledger, alone=True, json=json, show=_show_downcoded)


def _show_downcoded(found: "Downcoded") -> None:
    rows: list[list[object]] = [
        ["narrowed rightly", found.exposed, share(found.success), interval(found.interval)],
        ["narrowed", found.narrowed, share(found.narrowed / max(found.persons, 1)), ""],
        ["right by chance, if boxes may be wider than they must", "", share(found.baseline), ""],
        ["all", found.persons, "", ""],
    ]
    show_table("", ["records", "", "of all", "95 % interval"], rows, right=(1, 2))
    if found.by_attribute:
        show_table("", ["narrowed on", "records"], sorted(found.by_attribute.items()), right=(1,))


def _show_inferred(found: "Inferred") -> None:
    rows = [
        ["names the most probable value", share(found.success), interval(found.interval)],
        ["draws a value by its probability", share(found.drawing), interval(found.drawing_interval)],
        ["names the most frequent value, without the release", share(found.baseline), ""],
    ]
    show_table("", ["what it does", "right", "95 % interval"], rows, right=(1,))
    show_table(
        "",
        ["persons", f"a value above {found.bound}", "of these right", "certain, and right", "largest probability"],
        [[found.persons, found.above, share(found.above_success, "nobody"), found.exposed, f"{found.largest:.6g}"]],
        right=range(5),
    )
    show_table("", ["values possible", "persons"], sorted(found.histogram.items()), right=(0, 1))
