"""Playing an adversary: the evidence it needs, the attack, and what it found as text or JSON."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from phalanx.cli.output import show_json, show_table, show_text

if TYPE_CHECKING:
    from phalanx.adversaries import Adversary, Attack


def play(
    adversary: "Adversary",
    releases: Sequence[str],
    originals: Sequence[str],
    identifier: str | None,
    ledger: str | None,
    *,
    alone: bool = False,
    json: bool,
    show: "Callable[[Any], None] | None" = None,
) -> None:
    """Attack the releases and print what was found; ``show`` prints more than every attack has.

    ``alone``: the adversary looks at one release, and need not know who is who in the original table. PlanError where it is given several, ReleaseError
    where nobody of the original tables is in the releases.
    """
    from phalanx.adversaries.verdict import verdict
    from phalanx.cli.locations import ledger_url
    from phalanx.errors import PlanError, ReleaseError
    from phalanx.verification import gather_evidence, read_releases

    if alone and len(releases) > 1:
        raise PlanError(f"{adversary.name} looks at one release at a time, and {len(releases)} are given; name one of them.")
    read = read_releases(releases)
    evidence, _ = gather_evidence(read, ledger=None if ledger is None else ledger_url(ledger), originals=originals, identifier=identifier, persons=not alone)
    ordered = sorted(read, key=lambda release: release.number)
    found = adversary.attack(ordered, evidence)
    if not found.persons:
        hint = "check that it is the table that was published" if alone else "check --identifier, and give the originals in the order of the releases"
        raise ReleaseError(f"nobody of the original table{'' if alone else 's'} is in the release{'' if alone else 's'}; {hint}.")
    if json:
        show_json(found.to_json())
        return
    show_text(f"{found.adversary} {found.sentence}.")
    show_text(f"{found.adversary} knows {found.knows}")
    (show or show_candidates)(found)
    if found.note:
        show_text(found.note)
    show_text(verdict(found, ordered))


def show_candidates(found: "Attack") -> None:
    """How many persons are exposed, and how many candidates are left for how many."""
    show_table(
        "",
        ["persons", "exposed", "success", "without the release"],
        [[found.persons, found.exposed, share(found.success), share(found.baseline)]],
        right=range(4),
    )
    show_table("", ["candidates left", "persons"], sorted(found.histogram.items()), right=(0, 1))


def show_binned(header: Sequence[str], found: "Attack", bins: Sequence[tuple[str, float, float]]) -> None:
    """The persons of whom more than one number and up to another are left, the empty bins left out; each bin with its name."""
    counts = [[name, sum(n for left, n in found.histogram.items() if above < left <= upto)] for name, above, upto in bins]
    show_table("", header, [row for row in counts if row[1]], right=(1,))


def share(figure: float | None, without: str = "unknown") -> str:
    """A share as a percentage with one digit; ``without`` where there is none."""
    return without if figure is None else f"{figure:.1%}"


def small(figure: float) -> str:
    """A share that may be small, with two digits that count."""
    return f"{100 * figure:.2g}%"


def interval(ends: tuple[float, float]) -> str:
    """A confidence interval."""
    return f"{ends[0]:.1%} to {ends[1]:.1%}"
