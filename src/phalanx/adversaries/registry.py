# SPDX-License-Identifier: Apache-2.0
"""Adversaries by the name under which they are played: ours, and those of other packages."""

from collections.abc import Mapping
from typing import Any, Final

from phalanx.installed import Installed

OURS: Final[Mapping[str, str]] = {
    "singling-out": "phalanx.adversaries.groups.singling_out:SinglingOut",
    "extremes": "phalanx.adversaries.groups.extremes:Extremes",
    "membership": "phalanx.adversaries.groups.membership:Membership",
    "linkage": "phalanx.adversaries.records.linkage:Linkage",
    "informed": "phalanx.adversaries.records.informed:Informed",
    "omniscient": "phalanx.adversaries.records.omniscient:Omniscient",
    "posterior": "phalanx.adversaries.groups.posterior:Posterior",
    "posterior-learning": "phalanx.adversaries.groups.posterior:Posterior",
    "downcoding": "phalanx.adversaries.groups.downcoding:Downcoding",
    "minimality": "phalanx.adversaries.minimality.adversary:Minimality",
    "intersection": "phalanx.adversaries.series.intersection:Intersection",
    "intersection-by-person": "phalanx.adversaries.series.intersection:Intersection",
    "learning": "phalanx.adversaries.series.series_learning:SeriesLearning",
    "history": "phalanx.adversaries.series.history:History",
    "growth": "phalanx.adversaries.series.growth:Growth",
    "counterfeits": "phalanx.adversaries.series.counterfeits:Counterfeits",
    "composition": "phalanx.adversaries.series.composition:Composition",
}
"""In the order in which they are played. What ``pyproject.toml`` lists too."""
ABOUT: Final[Mapping[str, str]] = {
    "singling-out": "singling out",
    "extremes": "singling out",
    "membership": "singling out",
    "linkage": "linkability",
    "informed": "linkability",
    "omniscient": "linkability",
    "posterior": "inference",
    "posterior-learning": "inference",
    "downcoding": "inference",
    "minimality": "inference",
    "intersection": "linkability",
    "intersection-by-person": "linkability",
    "learning": "inference",
    "history": "inference",
    "growth": "inference",
    "counterfeits": "inference",
    "composition": "linkability",
}
"""The ``question`` of each of ours, so that to name one who was not played loads none."""
_QUESTIONS: Final = tuple(dict.fromkeys(ABOUT.values()))
_LOOKS: Final = ("release", "series", "publishers")


def _unfit(name: str, cls: Any) -> str:
    """Why a class of another package is no adversary of this name."""
    called = getattr(cls, "name", name)  # which may follow from its parameters
    if isinstance(called, str) and name not in {called, *getattr(cls, "variants", ())}:
        return f"it calls itself {called!r}"
    if not callable(getattr(cls, "attack", None)):
        return "it has no attack()"
    for word, known in (("question", _QUESTIONS), ("looks_at", _LOOKS)):
        if (answer := getattr(cls, word, known[0])) not in known:
            return f"its {word} is {answer!r}, and known are {', '.join(known)}"
    return ""


KNOWN: Final = Installed("phalanx.adversaries", OURS, _unfit)


def made(name: str, **options: Any) -> Any:
    """The adversary of a name, as it is played by itself; KeyError where there is
    none.
    """
    cls = KNOWN[name]
    return cls(
        **{
            **getattr(cls, "played_with", {}),
            **getattr(cls, "variants", {}).get(name, {}),
            **options,
        }
    )
