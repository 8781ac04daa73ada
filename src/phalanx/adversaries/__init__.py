# SPDX-License-Identifier: Apache-2.0
"""Adversaries: one file each, each stating what it knows. A new adversary is one file more, found
by its entry point, and a word of ``phalanx attack`` by that alone.

``base``: what an adversary is; ``registry``: by name; ``showing``: what they found, as tables;
``opinion``: the regulator's three questions, and which adversaries answer them; ``disclosure``:
what they all find; ``verdict``: the same in a sentence; ``candidates``: whom a group may hold;
``naming``: how often the most probable is right. By what they look at: ``series``, ``groups``,
``minimality``, ``records``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from phalanx.adversaries.series.composition import Composition
    from phalanx.adversaries.series.counterfeits import Counterfeits
    from phalanx.adversaries.series.growth import Growth
    from phalanx.adversaries.series.history import History
    from phalanx.adversaries.series.intersection import Intersection
    from phalanx.adversaries.series.series_learning import SeriesLearning

_WHERE = {
    "Adversary": "phalanx.adversaries.base",
    "Attack": "phalanx.adversaries.base",
    "Composition": "phalanx.adversaries.series.composition",
    "Counterfeits": "phalanx.adversaries.series.counterfeits",
    "Downcoding": "phalanx.adversaries.groups.downcoding",
    "Extremes": "phalanx.adversaries.groups.extremes",
    "Growth": "phalanx.adversaries.series.growth",
    "History": "phalanx.adversaries.series.history",
    "Informed": "phalanx.adversaries.records.informed",
    "Intersection": "phalanx.adversaries.series.intersection",
    "Linkage": "phalanx.adversaries.records.linkage",
    "Membership": "phalanx.adversaries.groups.membership",
    "Minimality": "phalanx.adversaries.minimality.adversary",
    "Omniscient": "phalanx.adversaries.records.omniscient",
    "Posterior": "phalanx.adversaries.groups.posterior",
    "SeriesLearning": "phalanx.adversaries.series.series_learning",
    "SinglingOut": "phalanx.adversaries.groups.singling_out",
}

__all__ = [
    "Adversary",
    "Attack",
    "Composition",
    "Counterfeits",
    "Downcoding",
    "Extremes",
    "Growth",
    "History",
    "Informed",
    "Intersection",
    "Linkage",
    "Membership",
    "Minimality",
    "Omniscient",
    "Posterior",
    "SeriesLearning",
    "SinglingOut",
]


def __getattr__(name: str) -> Any:
    """Import an adversary when it is first used: ``phalanx attack --help`` asks only which ones
    there are.
    """
    if name not in _WHERE:
        raise AttributeError(f"module 'phalanx.adversaries' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)
