"""Adversaries who link persons to the records of one release."""

from math import inf
from typing import TYPE_CHECKING, Annotated

import typer

from phalanx.cli.attack.options import ORIGINAL, OWN_IDENTIFIER, OWN_LEDGER, RELEASE, SAMPLE
from phalanx.cli.attack.playing import interval, play, share, show_binned, small
from phalanx.cli.output import JSON, show_table

if TYPE_CHECKING:
    from phalanx.adversaries.disclosure import Disclosed

app = typer.Typer(rich_markup_mode="markdown")
_PANEL = "Whose record is which, from one release"


@app.command("linkage", rich_help_panel=_PANEL)
def linkage(
    release: RELEASE,
    original: ORIGINAL,
    p_match: Annotated[str, typer.Option(help="Use each quasi-identifier with this probability.")] = "1",
    sample: SAMPLE = None,
    identifier: OWN_IDENTIFIER = None,
    ledger: OWN_LEDGER = None,
    json: bool = JSON,
) -> None:
    """Knows everybody's quasi-identifiers, and matches records by them.

    JSON keys: those of every attack, and identity, identity_interval, identity_baseline, attribute, attribute_interval, attribute_baseline, sample,
    p_match.
    """
    from phalanx.adversaries import Linkage

    play(Linkage(p_match=p_match, sample=sample), release, original, identifier, ledger, alone=True, json=json, show=_show_disclosed)


@app.command("informed", rich_help_panel=_PANEL)
def informed(
    release: RELEASE, original: ORIGINAL, sample: SAMPLE = None, identifier: OWN_IDENTIFIER = None, ledger: OWN_LEDGER = None, json: bool = JSON
) -> None:
    """Of a perturbed release: takes the nearest row that may be the person's.

    JSON keys: those of linkage without p_match.
    """
    from phalanx.adversaries import Informed

    play(Informed(sample=sample), release, original, identifier, ledger, alone=True, json=json, show=_show_disclosed)


@app.command("omniscient", rich_help_panel=_PANEL)
def omniscient(
    release: RELEASE, original: ORIGINAL, sample: SAMPLE = None, identifier: OWN_IDENTIFIER = None, ledger: OWN_LEDGER = None, json: bool = JSON
) -> None:
    """Of a perturbed release: the worst case, knows the groups and how probably everybody published which values.

    JSON keys: those of informed, and named, named_interval, largest, largest_identity, approximate.
    """
    from phalanx.adversaries import Omniscient

    play(Omniscient(sample=sample), release, original, identifier, ledger, alone=True, json=json, show=_show_disclosed)


def _show_disclosed(found: "Disclosed") -> None:
    from phalanx.adversaries.records.linkage import P_MATCH, Matched
    from phalanx.adversaries.records.omniscient import Inverted

    rows = [["the person's own record", share(found.identity), interval(found.identity_interval), small(found.identity_baseline)]]
    if isinstance(found, Inverted):
        rows.append(["the same, if it takes the most probable one", share(found.named), interval(found.named_interval), ""])
    if found.attribute is not None and found.attribute_interval is not None and found.attribute_baseline is not None:
        rows.append(["a record with the person's value", share(found.attribute), interval(found.attribute_interval), small(found.attribute_baseline)])
    show_table("", ["what it picks", "how often", "95 % interval", "by picking any"], rows, right=(1, 3))
    if isinstance(found, Matched):
        others = [found.at(p) for p in P_MATCH]
        rows = [[f"{float(other.p_match):.1f}", share(other.identity), share(other.attribute, "")] for other in others]
        show_table("", ["if it uses each value with", "own record", "person's value"], rows, right=range(3))
    show_table("", ["persons", "linked to their own record alone"], [[found.persons, found.exposed]], right=(0, 1))
    bins = [("0", -1, 0), ("1", 0, 1), ("2 to 5", 1, 5), ("6 to 10", 5, 10), ("11 to 100", 10, 100), ("more than 100", 100, inf)]
    show_binned(["records left", "persons"], found, bins)
