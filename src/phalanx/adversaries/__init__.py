"""Adversaries: one file each, each stating what it knows. A new adversary is one file more, and a subcommand of ``phalanx attack``.

``base``: what an adversary is.

- Over a series: ``intersection``, ``history``; ``candidates``: whom a group may hold. ``growth`` (``growing``) replays how groups grew.
- One release of groups or buckets: ``posterior`` (``hosts``, ``learning``), ``membership`` (``matching``), ``extremes`` (``ends``); ``minimality``
  (``replaying``, ``requirements``, ``arrangements``) replays the cuts.
- One release by records: ``disclosure``: what they all find; ``linkage`` (``linking``, ``subsets``), ``informed`` (``nearness``), ``omniscient``
  (``outcomes``, ``assignments``); ``records``: the records of a release.
"""

from phalanx.adversaries.base import Adversary, Attack
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

__all__ = ["Adversary", "Attack", "Extremes", "Growth", "History", "Informed", "Intersection", "Linkage", "Membership", "Minimality", "Omniscient", "Posterior"]
