# SPDX-License-Identifier: Apache-2.0
"""The three questions of the regulator, each answered by adversaries that were played (Article 29
Working Party, Opinion 05/2014, section 2.2).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from phalanx.adversaries.base import Attack, attacked_by
from phalanx.adversaries.registry import ABOUT, KNOWN, OURS, made
from phalanx.errors import PhalanxError
from phalanx.progress import Progress, silent
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

QUESTIONS: Final[Mapping[str, str]] = {
    "singling out": "Can some or all records that identify an individual be isolated?",
    "linkability": "Can records about the same person, in one table or in two, be linked?",
    "inference": "Can the value of an attribute be deduced with significant probability?",
}
"""What the opinion asks."""
_UNSAID: Final = "inference"
"""What an adversary is about that does not say it."""
_ELSEWHERE: Final = "it needs {}; play it by 'phalanx attack'"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was found about one question. Without an adversary that was played it is not asked,
    which is no answer, and never a good one.
    """

    question: str
    """One of ``QUESTIONS``."""
    played: Sequence[Attack]
    not_played: Mapping[str, str]
    """The adversaries that could not be played, each with the reason."""

    @property
    def asks(self) -> str:
        """The question in the opinion's words."""
        return QUESTIONS[self.question]

    @property
    def asked(self) -> bool:
        """Whether some adversary was played."""
        return len(self.played) > 0

    def to_json(self) -> dict[str, Any]:
        """Stable keys: question, asks, asked, adversaries (each with sentence, and the keys of its
        own), not_played (each adversary, why).
        """
        return {
            "question": self.question,
            "asks": self.asks,
            "asked": self.asked,
            "adversaries": [
                {"sentence": attack.sentence} | attack.to_json() for attack in self.played
            ],
            "not_played": [
                {"adversary": name, "why": why} for name, why in self.not_played.items()
            ],
        }


def answers(attacks: Sequence[Attack], not_played: Mapping[str, str] | None = None) -> list[Answer]:
    """The three questions, in their order, each with the attacks that are about it.

    ``not_played``: by adversary, why it was not played. An adversary that no question names is
    about inference.
    """
    questions = []
    for question in QUESTIONS:
        those = {
            name: why for name, why in (not_played or {}).items() if question_of(name) == question
        }
        questions.append(
            Answer(
                question=question,
                played=[a for a in attacks if question_of(a.adversary) == question],
                not_played=those,
            )
        )
    return questions


def question_of(adversary: str) -> str:
    """The question that an adversary is about.

    >>> question_of("singling-out"), question_of("posterior")
    ('singling out', 'inference')
    """
    if adversary in ABOUT:
        return ABOUT[adversary]
    with suppress(KeyError, PhalanxError):
        return str(getattr(KNOWN[adversary], "question", _UNSAID))
    return _UNSAID


def play_none(why: str, attacks: Sequence[Attack] = ()) -> list[Answer]:
    """The three questions with what was ``attacks`` already; every other adversary is named with the
    reason.
    """
    return answers(
        attacks, dict.fromkeys(sorted(set(KNOWN) - {attack.adversary for attack in attacks}), why)
    )


def play_one(release: Release, evidence: Evidence, attacks: Sequence[Attack] = ()) -> list[Answer]:
    """Play every adversary of one release that its form and the evidence allow, but for those of
    whom there is a finding already.

    Those of a series are named as not played: they need the original tables of all releases.
    """
    done = {attack.adversary for attack in attacks}
    played = list(attacks)
    not_played: dict[str, str] = {}
    for name, looks_at in _everybody(not_played):
        if looks_at == "series":
            not_played[name] = _ELSEWHERE.format("the original tables of all releases")
        elif looks_at == "publishers":
            not_played[name] = _ELSEWHERE.format("another publisher's releases")
        elif name not in done:
            _play(name, [release], evidence, played, not_played)
    return answers(played, not_played)


def play_all(
    releases: Sequence[Release],
    evidence: Evidence,
    progress: Progress = silent,
) -> list[Answer]:
    """Play every adversary that the releases and the evidence allow, those of one release against
    the last one; ``progress`` is told the name of each, of ``KNOWN``, in its turn.

    An adversary that cannot be played, as it needs another form or knows what is not given, is
    named with the reason; *composition* needs a second publisher, and is played by itself. One that
    attacks no person was not played.
    """
    series = sorted(releases, key=lambda release: release.number)
    played: list[Attack] = []
    not_played: dict[str, str] = {}
    for name, looks_at in _everybody(not_played):
        progress(name, 0, None)
        instead = getattr(KNOWN[name], "not_of_one", "")
        if looks_at == "publishers":
            not_played[name] = "no other publisher's releases are given; play it by itself"
        elif instead and len(series) == 1:
            not_played[name] = f"there is one release; {instead}"
        else:
            _play(
                name, series[-1:] if looks_at == "release" else series, evidence, played, not_played
            )
    return answers(played, not_played)


def _everybody(not_played: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Every adversary with what it looks at; one whose package cannot be loaded goes to
    ``not_played``.
    """
    for name in KNOWN:
        try:
            looks_at = str(getattr(KNOWN[name], "looks_at", "series"))
        except PhalanxError as error:
            not_played[name] = str(error).rstrip(".")
        else:
            yield name, looks_at


def _play(
    name: str,
    releases: Sequence[Release],
    evidence: Evidence,
    played: list[Attack],
    not_played: dict[str, str],
) -> None:
    """Play one of them: what it found goes to ``played``, or why it was not to ``not_played``."""
    try:
        attack = attacked_by(made(name), releases, evidence)
    except PhalanxError as error:
        not_played[name] = str(error).rstrip(".")
    except Exception as error:
        if name in OURS:
            raise
        not_played[name] = f"the package that it comes from fails ({type(error).__name__})"
    else:
        if attack.persons:
            played.append(attack)
        else:
            not_played[name] = "no person of the original table is in the release"
