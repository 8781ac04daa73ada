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
