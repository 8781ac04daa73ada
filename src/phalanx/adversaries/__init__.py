"""Adversaries: one file each, each stating what it knows. A new adversary is one file more, and a word in ``phalanx attack``.

``base``: what an adversary is.

- Over a series: ``intersection``, ``history``; ``candidates``: whom a group may hold.
- One release of groups or buckets: ``posterior`` (``hosts``, ``learning``), ``membership`` (``matching``), ``extremes`` (``ends``).
- One release by records: ``disclosure``: what they all find; ``linkage`` (``linking``, ``subsets``), ``informed`` (``nearness``), ``omniscient``
  (``outcomes``, ``assignments``); ``records``: the records of a release.
"""

from phalanx.adversaries.base import Adversary, Attack
from phalanx.adversaries.extremes import Extremes
from phalanx.adversaries.history import History
from phalanx.adversaries.informed import Informed
from phalanx.adversaries.intersection import Intersection
from phalanx.adversaries.linkage import Linkage
from phalanx.adversaries.membership import Membership
from phalanx.adversaries.minimality import Minimality
from phalanx.adversaries.omniscient import Omniscient
from phalanx.adversaries.posterior import Posterior

__all__ = ["Adversary", "Attack", "Extremes", "History", "Informed", "Intersection", "Linkage", "Membership", "Minimality", "Omniscient", "Posterior"]
