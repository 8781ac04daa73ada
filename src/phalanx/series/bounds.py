# SPDX-License-Identifier: Apache-2.0
"""What adversaries find out of a release before it leaves, and whether its plan allows that."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from phalanx.adversaries.disclosure import Disclosed
from phalanx.exact import Number, exact
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release
from phalanx.release.kinds import form_class

if TYPE_CHECKING:
    from phalanx.adversaries.opinion import Answer

MOST_ROWS: Final = 1_000
"""A larger release is not attacked for its report. The limit is on published rows, which anyone
knows, so that no time and no silence follows the values.
"""
_JUDGED: Final = 2000
"""By so many persons, drawn at random, an adversary is judged of which a plan allows only so much."""
_SHOWN: Final = 500
"""So many are attacked where it is only said what an adversary finds, so that it costs no more than
the method.
"""
_STATES: Final = 1 << 20
"""So many states are gone through then."""


def disclosed(
    release: Release, evidence: Evidence, bounds: Mapping[str, Number], *, shown: bool
) -> list[Disclosed]:
    """What three adversaries find out of a perturbed release, the one who knows most first;
    nothing of other releases, whose promises say it all. Where a page does not show it (``shown``),
    only those are played whom ``bounds`` are about.

    ``evidence`` holds the original table, who is in which row, and the random output tables. The
    omniscient adversary attacks all persons where ``bounds`` are about it, as its persons are drawn
    by groups and tell less than as many drawn by themselves; elsewhere its work has a budget, and
    where no group is so small that this suffices, it is not played. Of the
    others more persons are drawn where ``bounds`` are about them.
    """
    if not release.form.is_drawn or not (bounds or shown):
        return []
    from phalanx.adversaries.records.informed import Informed  # which other releases do not need
    from phalanx.adversaries.records.linkage import P_MATCH, Linkage
    from phalanx.adversaries.records.omniscient import Omniscient, TooLargeError

    persons = {name: _JUDGED if name in bounds else _SHOWN for name in ("linkage", "informed")}
    attacks: list[Disclosed] = []
    if shown or "omniscient" in bounds:
        every = "omniscient" in bounds
        omniscient = Omniscient() if every else Omniscient(sample=_SHOWN, work=_STATES)
        with suppress(TooLargeError):
            attacks.append(omniscient.attack([release], evidence))
    if shown or "informed" in bounds:
        attacks.append(Informed(sample=persons["informed"]).attack([release], evidence))
    if shown or "linkage" in bounds:
        linked = Linkage(sample=persons["linkage"]).attack([release], evidence)
        attacks.append(max((linked.at(p) for p in P_MATCH), key=_identity))
    return attacks


def questions(
    release: Release, evidence: Evidence, attacks: Sequence[Disclosed], *, played: bool = True
) -> "list[Answer]":
    """The regulator's three questions about a release, answered by adversaries that were played on
    it; ``attacks``: what some of them found already.

    No other is played where the plan wants none (``played``), on a release of more than ``MOST_ROWS``
    rows, nor on a differentially private one, of whose table nothing but the release may be told;
    then each adversary is named with that reason.
    """
    from phalanx.adversaries.opinion import (
        play_none,
        play_one,
    )  # the learning adversaries are slow to import

    if form_class(release.manifest.form).tells_itself_alone:
        return play_none(
            "what it finds would say more of the original table than differential privacy allows"
        )
    if not played:
        return play_none(
            "adversaries are turned off for this page; 'phalanx attack' plays those of its form",
            attacks,
        )
    if release.manifest.rows > MOST_ROWS:
        why = (
            f"beyond its budget: the release has {release.manifest.rows:,} rows, and up to"
            f" {MOST_ROWS:,} are attacked here; play it by 'phalanx attack'"
        )
        return play_none(why, attacks)
    return play_one(release, evidence, attacks)


def beyond(attacks: Sequence[Disclosed], bounds: Mapping[str, Number]) -> Disclosed | None:
    """The first of the adversaries that names more rows rightly than its bound allows; where
    persons were drawn, by the end of the interval.
    """
    for adversary in attacks:
        bound = bounds.get(adversary.adversary)
        if bound is not None and _at_most(adversary) > exact(bound, "a bound"):
            return adversary
    return None


def _at_most(attack: Disclosed) -> Fraction:
    """How often it names the right row, at most."""
    named, interval = attack.named_rightly
    return exact(named if attack.sample is None else interval[1], "a share")


def _identity(attack: Disclosed) -> float:
    return attack.identity
