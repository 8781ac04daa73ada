"""``phalanx attack``: what an adversary could learn from a series."""

from typing import TYPE_CHECKING, Annotated

import typer

from phalanx.cli.output import JSON, show_json, show_table, show_text

if TYPE_CHECKING:
    from phalanx.adversaries import Adversary, Attack

_ADVERSARIES = ("intersection", "intersection-by-person", "history")


def attack(
    releases: Annotated[list[str], typer.Argument(help="The release folders of one series.")],
    original: Annotated[list[str] | None, typer.Option(help="The original table of each release, in their order; repeat it. history needs none.")] = None,
    identifier: Annotated[str | None, typer.Option(help="The identifier column of the original tables.")] = None,
    ledger: Annotated[str | None, typer.Option(help="The ledger's URL or SQLite file; the worst case needs its person-to-group mapping.")] = None,
    adversary: Annotated[
        str,
        typer.Option(
            help="intersection (knows quasi-identifiers), intersection-by-person (worst case: knows everybody's group) "
            "or history (knows everybody's group; how likely somebody was ever linked to a value)."
        ),
    ] = "intersection",
    bound: Annotated[str | None, typer.Option(help="history: count the persons who were linked to a value with more than this; 1/2 if not given.")] = None,
    value: Annotated[list[str] | None, typer.Option(help="history: look for this sensitive value; repeat it. All values if not given.")] = None,
    json: bool = JSON,
) -> None:
    """Attack a series as an adversary would, and count the persons exposed.

    JSON keys: adversary, knows, persons, exposed, success, baseline, candidates, note; of history also bound, above, largest, probabilities.
    """
    from phalanx.checking import gather_evidence, read_releases
    from phalanx.cli.locations import ledger_url
    from phalanx.errors import PlanError, ReleaseError, did_you_mean

    if adversary not in _ADVERSARIES:
        raise PlanError(f"--adversary {adversary!r} is not known{did_you_mean(adversary, _ADVERSARIES) or '; known are ' + ', '.join(_ADVERSARIES) + '.'}")
    if adversary != "intersection" and ledger is None:
        raise ReleaseError("the worst case needs to know everybody's group, which only the ledger knows; name it with --ledger.")
    if adversary != "history":
        if not original or identifier is None:
            raise PlanError(f"{adversary} knows the original tables; name one for each release with --original, and --identifier.")
        if bound is not None or value:
            raise PlanError("--bound and --value are about the history adversary; add --adversary history, or leave them out.")
    attacker = _named(adversary, bound, value)
    read = read_releases(releases)
    evidence, _ = gather_evidence(read, ledger=None if ledger is None else ledger_url(ledger), originals=original or [], identifier=identifier)
    found = attacker.attack(sorted(read, key=lambda release: release.number), evidence)
    if not found.persons:
        raise ReleaseError("nobody of the original tables is in the releases; check --identifier, and give the originals in the order of the releases.")
    if json:
        show_json(found.to_json())
    else:
        _show(found)


def _named(adversary: str, bound: str | None, value: list[str] | None) -> "Adversary":
    from phalanx.adversaries import History, Intersection

    if adversary == "history":
        return History(bound=bound or "1/2", values=value or [])
    return Intersection(view="box" if adversary == "intersection" else "person")


def _show(found: "Attack") -> None:
    from phalanx.adversaries.history import Linked

    show_text(f"{found.adversary} knows {found.knows}")
    if isinstance(found, Linked):
        show_table(
            "",
            ["persons", f"linked with more than {found.bound}", "surely linked", "largest probability"],
            [[found.persons, found.above, found.exposed, f"{float(found.largest):.6g}"]],
            right=range(4),
        )
        show_table("", ["linked with up to", "persons"], sorted(found.probabilities.items()), right=(0, 1))
    else:
        show_table(
            "",
            ["persons", "exposed", "success", "without the release"],
            [[found.persons, found.exposed, _share(found.success), _share(found.baseline)]],
            right=range(4),
        )
        show_table("", ["candidates left", "persons"], sorted(found.histogram.items()), right=(0, 1))
    if found.note:
        show_text(found.note)


def _share(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.1%}"
