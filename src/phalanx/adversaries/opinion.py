"""The three questions of the regulator, each answered by adversaries that were played (Article 29 Working Party, Opinion 05/2014, section 2.2)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from phalanx.adversaries.base import Adversary, Attack
from phalanx.adversaries.groups.downcoding import Downcoding
from phalanx.adversaries.groups.extremes import Extremes
from phalanx.adversaries.groups.membership import Membership
from phalanx.adversaries.groups.posterior import Posterior
from phalanx.adversaries.groups.singling_out import SinglingOut
from phalanx.adversaries.minimality.adversary import Minimality
from phalanx.adversaries.records.informed import Informed
from phalanx.adversaries.records.linkage import Linkage
from phalanx.adversaries.records.omniscient import Omniscient
from phalanx.adversaries.series.counterfeits import Counterfeits
from phalanx.adversaries.series.growth import Growth
from phalanx.adversaries.series.history import History
from phalanx.adversaries.series.intersection import Intersection
from phalanx.adversaries.series.series_learning import SeriesLearning
from phalanx.errors import PhalanxError
from phalanx.release.evidence.evidence import Evidence
from phalanx.release.folder import Release

QUESTIONS: Final[Mapping[str, str]] = {
    "singling out": "Can some or all records that identify an individual be isolated?",
    "linkability": "Can records about the same person, in one table or in two, be linked?",
    "inference": "Can the value of an attribute be deduced with significant probability?",
}
"""What the opinion asks."""

_OF_QUESTION: Final[Mapping[str, Sequence[str]]] = {
    "singling out": ("singling-out", "extremes", "membership"),
    "linkability": ("intersection", "intersection-by-person", "composition", "linkage", "informed", "omniscient"),
    "inference": ("posterior", "posterior-learning", "learning", "history", "downcoding", "minimality", "growth", "counterfeits"),
}
_OF_ONE_RELEASE: Final[Sequence[Callable[[], Adversary]]] = (
    SinglingOut,
    Extremes,
    Membership,
    partial(Linkage, sample=2000),
    partial(Informed, sample=2000),
    partial(Omniscient, sample=2000),
    Posterior,
    partial(Posterior, by="learning"),
    Downcoding,
    Minimality,
)
_OF_A_SERIES: Final[Sequence[Callable[[], Adversary]]] = (Intersection, partial(Intersection, view="person"), SeriesLearning, History, Growth, Counterfeits)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was found about one question. Without an adversary that was played it is not asked, which is no answer, and never a good one."""

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
        """Stable keys: question, asks, asked, adversaries (each with sentence, and the keys of its own), not_played (each adversary, why)."""
        return {
            "question": self.question,
            "asks": self.asks,
            "asked": self.asked,
            "adversaries": [{"sentence": found.sentence} | found.to_json() for found in self.played],
            "not_played": [{"adversary": name, "why": why} for name, why in self.not_played.items()],
        }


def answers(attacks: Sequence[Attack], not_played: Mapping[str, str] | None = None) -> list[Answer]:
    """The three questions, in their order, each with the attacks that are about it.

    ``not_played``: by adversary, why it was not played. An adversary that no question names is about inference.
    """
    found = []
    for question in QUESTIONS:
        those = {name: why for name, why in (not_played or {}).items() if question_of(name) == question}
        found.append(Answer(question=question, played=[a for a in attacks if question_of(a.adversary) == question], not_played=those))
    return found


def question_of(adversary: str) -> str:
    """The question that an adversary is about.

    >>> question_of("singling-out"), question_of("posterior")
    ('singling out', 'inference')
    """
    return next((question for question, names in _OF_QUESTION.items() if adversary in names), "inference")


def play_none(why: str, found: Sequence[Attack] = ()) -> list[Answer]:
    """The three questions with what was ``found`` already; every other adversary is named with the reason."""
    everybody = {make().name for make in (*_OF_ONE_RELEASE, *_OF_A_SERIES)} | {"composition"}
    return answers(found, dict.fromkeys(sorted(everybody - {attack.adversary for attack in found}), why))


def play_one(release: Release, evidence: Evidence, found: Sequence[Attack] = ()) -> list[Answer]:
    """Play every adversary of one release that its form and the evidence allow, but for those of whom there is a finding already.

    Those of a series are named as not played: they need the original tables of all releases.
    """
    done = {attack.adversary for attack in found}
    not_played = {make().name: "it needs the original tables of all releases; play it by 'phalanx attack'" for make in _OF_A_SERIES}
    not_played["composition"] = "it needs another publisher's releases; play it by 'phalanx attack'"
    played = list(found)
    for make in _OF_ONE_RELEASE:
        if (adversary := make()).name not in done:
            _play(adversary, [release], evidence, played, not_played)
    return answers(played, not_played)


def play_all(releases: Sequence[Release], evidence: Evidence) -> list[Answer]:
    """Play every adversary that the releases and the evidence allow, those of one release against the last one.

    An adversary that cannot be played, as it needs another form or knows what is not given, is named with the reason; *composition* needs a second
    publisher, and is played by itself. One that attacks nobody was not played.
    """
    series = sorted(releases, key=lambda release: release.number)
    played: list[Attack] = []
    not_played = {"composition": "no other publisher's releases are given; play it by itself"}
    for make in (*_OF_ONE_RELEASE, *_OF_A_SERIES):
        adversary, alone = make(), make in _OF_ONE_RELEASE
        if adversary.name == "learning" and len(series) == 1:
            not_played[adversary.name] = "there is one release; posterior-learning is played on it"
            continue
        _play(adversary, series[-1:] if alone else series, evidence, played, not_played)
    return answers(played, not_played)


def _play(adversary: Adversary, releases: Sequence[Release], evidence: Evidence, played: list[Attack], not_played: dict[str, str]) -> None:
    """Play one of them: what it found goes to ``played``, or why it was not to ``not_played``."""
    try:
        found = adversary.attack(releases, evidence)
    except PhalanxError as error:
        not_played[adversary.name] = str(error).rstrip(".")
        return
    if found.persons:
        played.append(found)
    else:
        not_played[adversary.name] = "nobody of the original table is in the release"
