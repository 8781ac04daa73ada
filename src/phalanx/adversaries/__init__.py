"""Adversaries: one file each, each stating what it knows."""

from phalanx.adversaries.base import Adversary, Attack
from phalanx.adversaries.history import History
from phalanx.adversaries.informed import Informed
from phalanx.adversaries.intersection import Intersection
from phalanx.adversaries.linkage import Linkage
from phalanx.adversaries.membership import Membership
from phalanx.adversaries.omniscient import Omniscient
from phalanx.adversaries.posterior import Posterior

__all__ = ["Adversary", "Attack", "History", "Informed", "Intersection", "Linkage", "Membership", "Omniscient", "Posterior"]
