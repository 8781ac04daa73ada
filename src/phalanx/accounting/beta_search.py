# SPDX-License-Identifier: Apache-2.0
"""The largest beta that keeps epsilon and delta with a given k.

The exact delta rises with beta, so bisection finds it. The theorem's does not: with beta the count
that is bad for a given number of rows moves, and d falls a little at every move. There the search
comes down from the largest beta the theorem allows, and never passes over a beta that keeps delta:
where P(Bin(n_m(b), b) >= m) > delta, the smaller beta' at which P(Bin(n_m(b), beta') >= m) = delta
is a next place to look, as in between n_m is no smaller, and the probability no smaller either.
"""

from fractions import Fraction

from phalanx.accounting import theorem
from phalanx.accounting.promise import PLACES, Accounting, default_beta, surely_keeps
from phalanx.accounting.promise import keeps as keeps_delta
from phalanx.errors import PlanError

_SCALE: int = 10**PLACES


def largest_beta(accounting: Accounting, k: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest beta of 15 decimals with which k keeps (epsilon, delta); for the theorem at most
    1 - e^-epsilon.

    >>> of_one = (40, Fraction(1), Fraction("1e-6"))
    >>> largest_beta("tight", *of_one) > largest_beta("theorem", *of_one)
    True
    """
    search = _largest_tight if accounting == "tight" else _largest_by_theorem
    steps = search(k, epsilon, delta)
    while steps > 0 and not surely_keeps(accounting, k, Fraction(steps, _SCALE), epsilon, delta):
        steps -= 1
    if Fraction(steps, _SCALE) <= delta:
        raise PlanError(
            f"no beta above delta keeps epsilon = {float(epsilon)} and delta = {float(delta):g}"
            f" with k = {k}: take a larger k."
        )
    return Fraction(steps, _SCALE)


def _largest_tight(k: int, epsilon: Fraction, delta: Fraction) -> int:
    low, high = 0, _SCALE
    while high - low > 1:
        middle = (low + high) // 2
        if keeps_delta("tight", k, Fraction(middle, _SCALE), epsilon, delta):
            low = middle
        else:
            high = middle
    return low


def _largest_by_theorem(k: int, epsilon: Fraction, delta: Fraction) -> int:
    steps = int(default_beta(epsilon) * _SCALE)
    while steps > 0 and (broken := theorem.broken_at(k, Fraction(steps, _SCALE), epsilon, delta)):
        n, m = broken
        low, high = 0, steps
        while high - low > 1:
            middle = (low + high) // 2
            if theorem.tail_keeps(n, m, Fraction(middle, _SCALE), delta):
                low = middle
            else:
                high = middle
        steps = low
    return steps
