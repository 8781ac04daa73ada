# SPDX-License-Identifier: Apache-2.0
"""Playing an adversary: the evidence it needs, the attack, and what it found as text or JSON."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from phalanx.cli.output import show_json, show_table, show_text

if TYPE_CHECKING:
    from phalanx.adversaries import Adversary


def play(
    adversary: "Adversary",
    releases: Sequence[str],
    beside: Mapping[str, Any],
    *,
    alone: bool = False,
    json: bool,
) -> None:
    """Attack the releases and print what was found.

    ``beside``: the ``original`` tables, their ``identifier`` and the ``ledger``, as they are named.
    ``alone``: the adversary looks at one release, and need not know who is who in the original
    table. PlanError where it is given several, ReleaseError where no person of the original tables
    is in the releases.
    """
    from phalanx.adversaries.base import attacked_by
    from phalanx.adversaries.verdict import verdict
    from phalanx.cli.locations import ledger_url
    from phalanx.errors import PlanError, ReleaseError
    from phalanx.verification import gather_evidence, read_releases
    from phalanx.verification.originals import refuse_others

    if alone and len(releases) > 1:
        raise PlanError(
            f"{adversary.name} looks at one release at a time, and {len(releases)} are given; name"
            " one of them."
        )
    read = read_releases(releases)
    evidence, _ = gather_evidence(
        read,
        ledger=None if beside.get("ledger") is None else ledger_url(beside["ledger"]),
        originals=beside.get("original") or (),
        identifier=beside.get("identifier"),
        persons=not alone,
    )
    ordered = sorted(read, key=lambda release: release.number)
    refuse_others(read, beside.get("original") or ())
    attack = attacked_by(adversary, ordered, evidence)
    if not attack.persons:
        hint = (
            "check that it is the table that was published"
            if alone
            else "check --identifier, and give the originals in the order of the releases"
        )
        raise ReleaseError(
            f"no person of the original table{'' if alone else 's'} is in the"
            f" release{'' if alone else 's'}; {hint}."
        )
    if json:
        show_json(attack.to_json())
        return
    show_text(f"{attack.adversary} {attack.sentence}.")
    show_text(f"{attack.adversary} knows {attack.knows}")
    for header, rows, right in attack.tables():
        show_table("", header, rows, right=right)
    if attack.note:
        show_text(attack.note)
    show_text(verdict(attack, ordered))


def other_publisher(
    releases: Sequence[str], originals: Sequence[str], identifier: str | None
) -> dict[str, Any]:
    """The parameters of an adversary of two publishers: the releases of the second, as ``beside``,
    and what lies beside them, as ``known``.
    """
    from phalanx.verification import gather_evidence, read_releases
    from phalanx.verification.originals import refuse_others

    read = read_releases(releases)
    evidence, _ = gather_evidence(read, ledger=None, originals=originals, identifier=identifier)
    refuse_others(read, originals)
    return {"beside": read, "known": evidence}
