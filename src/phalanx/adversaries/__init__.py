"""Adversaries: one file each, each stating what it knows. A new adversary is one file more, and a word in ``phalanx attack``.

``base``: what an adversary is; ``opinion``: the regulator's three questions, and which adversaries answer them.

- Over a series: ``intersection``, ``history``, ``series_learning``; ``candidates``: whom a group may hold; ``sightings``: who is followed. ``growth``
  (``growing``) replays how groups grew, ``counterfeits`` why they were needed.
- Two publishers: ``composition``.
- One release of groups or buckets: ``posterior`` (``hosts``, ``learning``), ``membership`` (``matching``), ``extremes`` and ``downcoding`` (``ends``),
  ``singling_out`` (``predicates``); ``minimality`` (``replaying``, ``requirements``, ``arrangements``) replays the cuts.
- One release by records: ``disclosure``: what they all find; ``linkage`` (``linking``, ``subsets``), ``informed`` (``nearness``), ``omniscient``
  (``outcomes``, ``assignments``); ``records``: the records of a release.
"""

from phalanx.adversaries.base import Adversary, Attack
from phalanx.adversaries.composition import Composition
from phalanx.adversaries.counterfeits import Counterfeits
from phalanx.adversaries.downcoding import Downcoding
from phalanx.adversaries.extremes import Extremes
from phalanx.adversaries.growth import Growth
from phalanx.adversaries.history import History
from phalanx.adversaries.informed import Informed
from phalanx.adversaries.intersection import Intersection
from phalanx.adversaries.linkage import Linkage
from phalanx.adversaries.membership import Membership
from phalanx.adversaries.minimality import Minimality
from phalanx.adversaries.omniscient import Omniscient
from phalanx.adversaries.posterior import Posterior
from phalanx.adversaries.series_learning import SeriesLearning
from phalanx.adversaries.singling_out import SinglingOut

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
