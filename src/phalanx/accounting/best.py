# SPDX-License-Identifier: Apache-2.0
"""The (beta, k) that publishes most of a cell under a promise.

Of a cell of c rows, each is published with probability beta P(Bin(c - 1, beta) >= k - 1), which
rises with beta and falls with k. So for every k only the largest beta that keeps the promise is of
interest, and for every beta only the smallest k. The search runs over k: about forty values up to
c, evenly on a logarithmic scale, then all values between the neighbours of the best (or forty of
them, again and again, where they are more); betas are compared to six digits. The best of them are
then solved for in full.
"""

import math
from fractions import Fraction

from phalanx.accounting.binomials import log_tail
from phalanx.accounting.directed import float_kept, log_of
from phalanx.accounting.promise import Accounting, Promise, promised
from phalanx.accounting.solve import largest_beta, log_delta, smallest_k
from phalanx.accounting.theorem import default_beta
from phalanx.errors import PlanError
from phalanx.exact import MOST_EPSILON, Number, bounded, exact, whole

_MOST_ROWS = 10**12
_LEAST_DELTA = Fraction(1, 10**300)
"""Betas are compared as floats, of which there are few below it."""
_AT_ONCE = 40
_DIGITS = 6
_SOLVED = 12
"""So many of the best are solved in full: by the theorem delta falls at jumps, where the rough beta
is off.
"""


def best_beta(
    epsilon: Number,
    delta: Number,
    cell: int,
    accounting: Accounting = "theorem",
    *,
    epsilon_scheme: Number = 0,
) -> Promise:
    """The promise with the largest expected number of published rows of a ``cell`` of so many rows
    of the table, a trillion at most.

    >>> best = best_beta(1, "1e-6", 200, "tight")
    >>> best.k, round(float(best.beta), 3)
    (148, 0.815)
    """
    cell = whole(cell, "cell")
    if cell > _MOST_ROWS:
        raise PlanError("a cell has at most a trillion rows; give the rows of one cell.")
    own, scheme, limit = (
        exact(epsilon, "epsilon") - bounded(epsilon_scheme, "epsilon_scheme", 0),
        exact(epsilon_scheme, "epsilon_scheme"),
        exact(delta, "delta"),
    )
    if own <= 0 or not 0 < limit < 1:
        raise PlanError(
            "epsilon must be above epsilon_scheme and 0, and delta between 0 and 1; they are"
            f" {epsilon} and {delta}."
        )
    bounded(epsilon, "epsilon", 0, MOST_EPSILON)
    if limit < _LEAST_DELTA:
        raise PlanError(
            f"delta must be at least {float(_LEAST_DELTA):g} where a cell is given, and is {delta}; leave"
            " the cell out, or take a larger delta."
        )
    roughly: dict[int, float] = {}
    ks = _spread(1, cell)
    while True:
        for k in ks:
            if k not in roughly:
                roughly[k] = log_published(
                    cell, k, _largest_beta_roughly(accounting, k, own, limit)
                )
        tried = sorted(roughly)
        at = tried.index(max(roughly, key=roughly.__getitem__))
        near = tried[max(at - 1, 0)], tried[min(at + 1, len(tried) - 1)]
        ks = _spread(*near)
        if all(k in roughly for k in ks):
            break
    k_of = {}
    best = sorted(roughly, key=roughly.__getitem__)[-_SOLVED:]
    for k in {near[0], tried[at], near[1], *best}:
        if roughly[k] > -math.inf:
            try:
                beta = largest_beta(accounting, k, own, limit)
            except PlanError:  # none after all
                continue
            least = smallest_k(accounting, beta, own, limit)
            k_of[log_published(cell, least, float(beta))] = (least, beta)
    if not k_of:
        raise PlanError(
            f"a cell of {cell} rows is too small to be published at epsilon = {epsilon} and delta ="
            f" {delta}: take a larger cell or a weaker promise."
        )
    k, beta = k_of[max(k_of)]
    return promised(accounting, k, beta, own, scheme, float_kept(limit))


def log_published(cell: int, k: int, beta: float) -> float:
    """The logarithm of the probability that a row of a cell of so many rows is published: beta
    P(Bin(cell - 1, beta) >= k - 1).
    """
    if beta <= 0 or k > cell:
        return -math.inf
    n, m = cell - 1, k - 1
    if m > n * beta:
        return math.log(beta) + log_tail(n, m, beta, 1 - beta)
    if m == 0:
        return math.log(beta)
    return math.log(beta) + math.log1p(-math.exp(log_tail(n, n - m + 1, 1 - beta, beta)))


def _spread(low: int, high: int) -> list[int]:
    """Whole numbers from ``low`` to ``high``, all of them where they are few, else some, evenly on
    a logarithmic scale.
    """
    if high - low <= _AT_ONCE:
        return list(range(low, high + 1))
    return sorted({round(low * (high / low) ** (i / _AT_ONCE)) for i in range(_AT_ONCE + 1)})


def _largest_beta_roughly(
    accounting: Accounting, k: int, epsilon: Fraction, delta: Fraction
) -> float:
    """About the largest beta that keeps the promise with ``k``, by bisection as if it rose
    everywhere; 0 where there is none above delta.
    """
    goal, most = (
        log_of(delta),
        default_beta(epsilon) if accounting == "theorem" else 1 - Fraction(1, 10**9),
    )
    if log_delta(accounting, k, most, epsilon) <= goal:
        return float(most)
    low, high = float(delta), float(most)
    while high - low > high * 10**-_DIGITS:
        middle = math.sqrt(low) * math.sqrt(high) if high > 4 * low else (low + high) / 2
        if log_delta(accounting, k, Fraction(middle), epsilon) <= goal:
            low = middle
        else:
            high = middle
    return low if low > float(delta) else 0.0
