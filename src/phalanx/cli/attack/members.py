"""Adversaries who ask who is in one release."""

from math import inf
from typing import TYPE_CHECKING, Annotated

import typer

from phalanx.cli.attack.options import ORIGINAL, OWN_IDENTIFIER, OWN_LEDGER, RELEASE
from phalanx.cli.attack.playing import interval, play, share, show_binned, small
from phalanx.cli.output import JSON, show_table

if TYPE_CHECKING:
    from phalanx.adversaries.groups.extremes import Proven
    from phalanx.adversaries.groups.membership import Ranked
    from phalanx.adversaries.groups.singling_out import SingledOut

app = typer.Typer(rich_markup_mode="markdown")
_PANEL = "Who is in it, from one release"


@app.command("membership", rich_help_panel=_PANEL)
def membership(release: RELEASE, original: ORIGINAL, identifier: OWN_IDENTIFIER = None, ledger: OWN_LEDGER = None, json: bool = JSON) -> None:
    """Of a sliced release: tells original tuples from fake ones.

    JSON keys: those of every attack, and fakes, drawn, by_number, by_degree, fake_candidates.
    """
    from phalanx.adversaries import Membership

    play(Membership(), release, original, identifier, ledger, alone=True, json=json, show=_show_ranked)


@app.command("extremes", rich_help_panel=_PANEL)
def extremes(release: RELEASE, original: ORIGINAL, identifier: OWN_IDENTIFIER = None, ledger: OWN_LEDGER = None, json: bool = JSON) -> None:
    """Of a release with boxes: who must be in it, by the ends of boxes.

    JSON keys: those of every attack, and groups, proving, extremes, alone, largest.
    """
    from phalanx.adversaries import Extremes

    play(Extremes(), release, original, identifier, ledger, alone=True, json=json, show=_show_proven)


@app.command("singling-out", rich_help_panel=_PANEL)
def singling_out(
    release: RELEASE,
    original: ORIGINAL,
    expected: Annotated[str, typer.Option(help="Try predicates that may be expected to hold for at most so many rows.")] = "1/10",
    sample: Annotated[int, typer.Option(help="Try at most so many predicates, of regions drawn at random.")] = 2000,
    json: bool = JSON,
) -> None:
    """Knows how frequent values are and nobody's own: makes predicates of low weight that hold for exactly one row.

    JSON keys: those of every attack, and interval, predicates, weight, expected.
    """
    from phalanx.adversaries import SinglingOut

    play(SinglingOut(expected=expected, sample=sample), release, original, None, None, alone=True, json=json, show=_show_singled_out)


def _show_singled_out(found: "SingledOut") -> None:
    header = ["predicates", "hold for one row", "95 % interval", "of the same weights, without the release", "mean weight"]
    baseline = "none" if found.baseline is None else small(found.baseline)
    show_table("", header, [[found.predicates, share(found.success, "none"), interval(found.interval), baseline, f"{found.weight:.2g}"]], right=range(5))
    show_table("", ["rows of the table", "singled out by some predicate"], [[found.persons, found.exposed]], right=(0, 1))
    show_binned(["rows it holds for", "predicates"], found, [("none", -1, 0), ("1", 0, 1), ("2 to 5", 1, 5), ("more than 5", 5, inf)])


def _show_ranked(found: "Ranked") -> None:
    ways = [("the number of matching buckets", found.by_number), ("the matching degree", found.by_degree)]
    rows = [[way, f"{area.area:.3f}", f"{area.low:.3f} to {area.high:.3f}"] for way, area in ways]
    show_table("", ["candidates ranked by", "area under the ROC curve", "95 % interval"], rows, right=(1,))
    header = ["original tuples", "fake tuples", "certainly in the table"]
    show_table("", header, [[found.persons, f"{'about ' if found.drawn else ''}{found.fakes:.0f}", found.exposed]], right=range(3))
    bins = [("1 to 10", 0, 10), ("11 to 20", 10, 20), ("more than 20", 20, inf)]
    counts = [[sum(n for number, n in of.items() if above < number <= upto) for of in (found.histogram, found.of_fakes)] for _, above, upto in bins]
    show_table("", ["matching buckets", "original", "fake"], [[bins[i][0], f"{a:.0f}", f"{b:.0f}"] for i, (a, b) in enumerate(counts)], right=(1, 2))


def _show_proven(found: "Proven") -> None:
    header = ["persons", "certainly in the table", "groups", "with such an end", "largest share of a value"]
    largest = "none" if found.largest is None else share(found.largest)
    show_table("", header, [[found.persons, found.exposed, found.groups, found.proving, largest]], right=range(5))
    if found.extremes:
        rows = [[e.attribute, e.end, e.value, e.group, e.rows, e.sensitive or "", share(e.share, "")] for e in found.extremes]
        show_table("", ["one person's alone", "", "is exactly", "in group", "of rows", "most frequent value", "its share"], rows, right=(2, 3, 4, 6))
    bins = [("1", 0, 1), ("2 to 5", 1, 5), ("6 to 10", 5, 10), ("more than 10", 10, inf), ("no end can be theirs", -1, 0)]
    show_binned(["who can have set an end beside them", "persons"], found, bins)
