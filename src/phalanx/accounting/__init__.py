# SPDX-License-Identifier: Apache-2.0
"""What safe sampling costs: delta from (k, beta, epsilon) and every way back, without any data.

- ``theorem``: the paper's d(k, beta, epsilon), and the betas that it allows; ``tight``: the exact
  delta of the mechanism; both as two decimals with the true value between them.
- ``promise``: what is promised, and the figures of both accountings, rounded up; ``solve``:
  whatever is left out of it; ``best``: the (beta, k) that publishes most of a cell.
- ``composition``: what releases cost together; ``amplification``: what sampling does to a promise,
  there and back.
- Below them: ``binomials``: probabilities and the paper's threshold gamma; ``directed``: decimals
  that err on the stated side.
"""

from phalanx.accounting.amplification import amplified, before_sampling
from phalanx.accounting.best import best_beta
from phalanx.accounting.composition import Together, together
from phalanx.accounting.promise import Accounting, Promise, theorem_delta, tight_delta
from phalanx.accounting.solve import largest_beta, solve
from phalanx.accounting.theorem import default_beta, least_epsilon

__all__ = [
    "Accounting",
    "Promise",
    "Together",
    "amplified",
    "before_sampling",
    "best_beta",
    "default_beta",
    "largest_beta",
    "least_epsilon",
    "solve",
    "theorem_delta",
    "tight_delta",
    "together",
]
