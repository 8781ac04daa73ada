"""``phalanx attack``: what an adversary could learn from a series."""

from typing import Annotated

import typer

from phalanx.cli.output import JSON, show_json, show_table, show_text


def attack(
    releases: Annotated[list[str], typer.Argument(help="The release folders of one series.")],
    original: Annotated[list[str], typer.Option(help="The original table of each release, in their order; repeat it.")],
    identifier: Annotated[str, typer.Option(help="The identifier column of the original tables.")],
    ledger: Annotated[str | None, typer.Option(help="The ledger's URL or SQLite file; the worst case needs its person-to-group mapping.")] = None,
    adversary: Annotated[
        str, typer.Option(help="intersection (knows quasi-identifiers) or intersection-by-person (worst case: knows everybody's group).")
    ] = "intersection",
    json: bool = JSON,
) -> None:
    """Attack a series as an adversary would, and count the persons exposed.

    JSON keys: adversary, knows, persons, exposed, success, baseline, candidates, note.
    """
    from phalanx.adversaries import Intersection
    from phalanx.checking import gather_evidence, read_releases
    from phalanx.cli.locations import ledger_url
    from phalanx.errors import PlanError, ReleaseError, did_you_mean

    views = {"intersection": "box", "intersection-by-person": "person"}
    if adversary not in views:
        raise PlanError(f"--adversary {adversary!r} is not known{did_you_mean(adversary, views) or '; known are ' + ', '.join(views) + '.'}")
    if adversary == "intersection-by-person" and ledger is None:
        raise ReleaseError("the worst case needs to know everybody's group, which only the ledger knows; name it with --ledger.")
    read = read_releases(releases)
    evidence, _ = gather_evidence(read, ledger=None if ledger is None else ledger_url(ledger), originals=original, identifier=identifier)
    found = Intersection(view=views[adversary]).attack(sorted(read, key=lambda release: release.number), evidence)  # type: ignore[arg-type]
    if not found.persons:
        raise ReleaseError("nobody of the original tables is in the releases; check --identifier, and give the originals in the order of the releases.")
    if json:
        show_json(found.to_json())
        return
    show_text(f"{found.adversary} knows {found.knows}")
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
