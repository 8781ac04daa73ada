"""Adversaries who know the method, and replay it."""

from typing import TYPE_CHECKING, Annotated

import typer

from phalanx.cli.attack.options import IDENTIFIER, LEDGER, ORIGINAL, ORIGINALS, OWN_IDENTIFIER, OWN_LEDGER, RELEASE, RELEASES
from phalanx.cli.attack.playing import interval, play, share
from phalanx.cli.output import JSON, show_table

if TYPE_CHECKING:
    from phalanx.adversaries.minimality.adversary import Replayed
    from phalanx.adversaries.series.counterfeits import Named
    from phalanx.adversaries.series.growth import Grown

app = typer.Typer(rich_markup_mode="markdown")
_PANEL = "Who knows the method"


@app.command("minimality", rich_help_panel=_PANEL)
def minimality(release: RELEASE, original: ORIGINAL, identifier: OWN_IDENTIFIER = None, ledger: OWN_LEDGER = None, json: bool = JSON) -> None:
    """Of one release by Mondrian or slicing: replays the cuts, and learns from those that were not made.

    JSON keys: those of every attack, and interval, by_share, by_share_interval, bound, above, above_success, above_interval, certain, largest, groups, cuts,
    unused.
    """
    from phalanx.adversaries import Minimality

    play(Minimality(), release, original, identifier, ledger, alone=True, json=json, show=_show_replayed)


@app.command("growth", rich_help_panel=_PANEL)
def growth(
    releases: RELEASES,
    original: ORIGINALS,
    identifier: IDENTIFIER,
    ledger: LEDGER,
    bound: Annotated[str | None, typer.Option(help="What the guarantee lets anybody be linked with; 1/l by the manifest if not given.")] = None,
    json: bool = JSON,
) -> None:
    """Of a series by the global guarantee: names the member around whom a group can have grown.

    JSON keys: those of every attack, and interval, by_past, by_past_interval, bound, groups, clear, clear_success, clear_interval, clear_baseline.
    """
    from phalanx.adversaries import Growth

    play(Growth(bound=bound), releases, original, identifier, ledger, json=json, show=_show_grown)


@app.command("counterfeits", rich_help_panel=_PANEL)
def counterfeits(releases: RELEASES, original: ORIGINALS, identifier: IDENTIFIER, ledger: LEDGER, json: bool = JSON) -> None:
    """Of a series by m-invariance: names the values of counterfeits by what was in stock, and persons by what is left.

    JSON keys: those of every attack, and groups, named, named_rightly, named_interval, named_baseline, certain, certain_interval, above.
    """
    from phalanx.adversaries import Counterfeits

    play(Counterfeits(), releases, original, identifier, ledger, json=json, show=_show_named)


def _show_replayed(found: "Replayed") -> None:
    rows = [
        ["replays the method", share(found.success), interval(found.interval)],
        ["ignores it, and names the most frequent value of the group", share(found.by_share), interval(found.by_share_interval)],
        ["names the most frequent value, without the release", share(found.baseline), ""],
    ]
    show_table("", ["what it does", "right", "95 % interval"], rows, right=(1,))
    above = "above the bound" if found.bound is None else f"above {found.bound}"
    header = ["persons", above, "of these right", "one value possible", "largest probability", "cuts that failed", "not counted"]
    cells = [found.persons, found.above, share(found.above_success, "nobody"), found.certain, f"{float(found.largest):.6g}", found.cuts, found.unused]
    show_table("", header, [cells], right=range(7))


def _show_grown(found: "Grown") -> None:
    rows: list[list[object]] = [
        ["all with a protected value", found.groups, share(found.success), interval(found.interval), share(found.baseline)],
        ["one member can have grown it", found.clear, share(found.clear_success, "none"), "", share(found.clear_baseline, "")],
    ]
    rows.append(["all, by the past alone", found.groups, share(found.by_past), interval(found.by_past_interval), ""])
    if found.clear_interval is not None:
        rows[1][3] = interval(found.clear_interval)
    show_table("", ["groups", "", "holder named", "95 % interval", "by naming any member"], rows, right=(1, 2, 4))


def _show_named(found: "Named") -> None:
    rows: list[list[object]] = [
        [
            "groups whose counterfeits it names",
            found.groups,
            found.named,
            found.named_rightly,
            "" if found.named_interval is None else interval(found.named_interval),
        ],
        [
            "persons with one value left",
            found.persons,
            found.certain,
            found.exposed,
            "" if found.certain_interval is None else interval(found.certain_interval),
        ],
    ]
    show_table("", ["", "of", "number", "right", "95 % interval"], rows, right=(1, 2, 3))
    show_table("", ["persons linked with more than 1/m"], [[found.above]], right=(0,))
