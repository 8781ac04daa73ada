# SPDX-License-Identifier: Apache-2.0
"""Methods and parameters over a grid, before anything is published: what each would cost.

``grid`` says which points, ``ground`` on what they run and why not on the table itself, ``points``
what is measured of each; ``worker`` is the process that measures and ``running`` starts several;
``keeping`` is the private folder of what came out; ``adopting`` writes the plan of a point;
``exploring`` puts them together. ``estimating`` answers at once, by less.
"""

from phalanx.exploration.adopting import check_place
from phalanx.exploration.estimating import Estimate, Estimator
from phalanx.exploration.exploring import Exploration, explore
from phalanx.methods.base import Asked, Offer, offers
from phalanx.methods.households import Clustered, guarantees_of

__all__ = [
    "Asked",
    "Clustered",
    "Estimate",
    "Estimator",
    "Exploration",
    "Offer",
    "check_place",
    "explore",
    "guarantees_of",
    "offers",
]
