# SPDX-License-Identifier: Apache-2.0
"""The paper's own figure: d(k, beta, epsilon) of Theorem 3.9, never below the true one.

``d = max over n >= ceil(k / gamma - 1) of P(Bin(n, beta) > gamma n)``, gamma = 1 - (1 - beta)
e^-epsilon.

**Local maxima.** Where ``m - 1 <= gamma n < m`` the probability is P(Bin(n, beta) >= m), and rises
with n; so only the last such n counts, ``n_m = floor(m / gamma)``, and d is the largest of ``f(m) =
P(Bin(n_m, beta) >= m)`` over m = k, k + 1, ... (It falls with k, as it is a maximum over less.)

**Of those, few.** Among the m that share the gap ``c = n_m - m`` the first is the largest: f(m) is
the probability of at most c failures in m + c trials.

**When to stop.** Chernoff: P(Bin(n, beta) > gamma n) <= exp(-n KL(gamma || beta)) for every n, and
that falls in n. Once it is below the largest f(m) so far it cannot be beaten.

Source: Li, Qardaji, Su, "On Sampling, Anonymization, and Differential Privacy", Theorem 3.9.
"""

import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from operator import itemgetter

from phalanx.accounting.binomials import Gamma, float_doubt, log_tail, tail_between
from phalanx.accounting.directed import (
    downwards,
    exponential,
    float_below,
    log_of,
    logarithm,
    quotient,
    rounded_down,
    rounded_up,
    upwards,
)
from phalanx.errors import PlanError

PLACES = 15
"""Decimals of a beta that is solved for: a float prints and reads them back unchanged."""

EPSILON_PLACES = 12
"""Decimals of an epsilon that is solved for."""

_BELOW_ONE = math.nextafter(1.0, 0.0)


def log_delta(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """The logarithm of d(k, beta, epsilon) as floats see it: to search with, not to promise."""
    return max(value for _, _, value in _local_maxima(k, beta, epsilon))


def delta_between(k: int, beta: Fraction, epsilon: Fraction) -> tuple[Decimal, Decimal]:
    """Two decimals with d(k, beta, epsilon) between them, some 1e-30 apart."""
    maxima = list(_local_maxima(k, beta, epsilon))
    largest = max(value for _, _, value in maxima)
    digits = 40 + len(str(maxima[-1][1]))
    bounds = [
        tail_between(n, m, beta, digits)
        for m, n, value in maxima
        if value >= largest - float_doubt(n)
    ]
    return max(low for low, _ in bounds), max(high for _, high in bounds)


def _local_maxima(k: int, beta: Fraction, epsilon: Fraction) -> Iterator[tuple[int, int, float]]:
    """(m, n_m, ln f(m)) for all m that may hold the maximum."""
    gamma, p, q = Gamma(beta, epsilon), float(beta), float(1 - beta)
    rate = gamma.divergence() / gamma.value
    sure = -math.inf
    m = k
    while -(m - 1) * rate >= sure:  # whatever is left has gamma n >= m - 1
        n = gamma.most(m)
        value = log_tail(n, m, p, q)
        sure = max(sure, value - float_doubt(n))
        yield m, n, value
        m = max(m + 1, gamma.gap(n - m + 1))


def broken_at(k: int, beta: Fraction, epsilon: Fraction, delta: Fraction) -> tuple[int, int] | None:
    """The (n, m) whose probability is the largest, where it is above ``delta``."""
    n, m, _ = max(
        ((n, m, value) for m, n, value in _local_maxima(k, beta, epsilon)), key=itemgetter(2)
    )
    return None if tail_keeps(n, m, beta, delta) else (n, m)


def tail_keeps(n: int, m: int, beta: Fraction, delta: Fraction) -> bool:
    """Whether P(Bin(n, beta) >= m), with n_m or fewer trials, is at most ``delta``."""
    distance = log_tail(n, m, float(beta), float(1 - beta)) - log_of(delta)
    if abs(distance) > float_doubt(n):
        return distance < 0
    return tail_between(n, m, beta, 60)[1] <= quotient(downwards(60), delta)


# ---- of which betas it speaks


def covers(beta: Fraction, epsilon: Fraction) -> bool:
    """Whether epsilon >= -ln(1 - beta), exactly."""
    digits = 40
    while True:  # e^-epsilon is irrational, so enough digits tell
        low, high = exponential(-epsilon, digits)
        if quotient(upwards(digits), 1 - beta) < low:
            return False
        if quotient(downwards(digits), 1 - beta) > high:
            return True
        digits *= 2


def refuse_uncovered(beta: Fraction, epsilon: Fraction) -> None:
    """PlanError where the theorem says nothing of this beta."""
    if not covers(beta, epsilon):
        raise PlanError(
            f"beta = {float(beta)} is more than the theorem allows at epsilon = {float(epsilon)}:"
            f' take a beta of at most {float(default_beta(epsilon))}, or accounting = "tight".'
        )


def default_beta(epsilon: Fraction) -> Fraction:
    """The largest beta that the theorem allows, 1 - e^-epsilon, rounded down to 15 decimals.

    >>> float(default_beta(Fraction(1)))
    0.632120558828557
    """
    beta = Fraction(0)
    if epsilon > 0:
        beta = min(rounded_down(_most(epsilon), PLACES), 1 - Fraction(1, 10**PLACES))
    if beta <= 0:
        raise PlanError(
            "epsilon must be above 0 (and above 1e-15, of which beta has 15 decimals), and is"
            f" {float(epsilon)}."
        )
    return beta


def nearest_beta(epsilon: Fraction) -> Fraction:
    """The same rounded down to the decimals of a float, of which it may have more: between two
    betas of 15 decimals the theorem's d may jump.

    >>> float(nearest_beta(Fraction(1)))
    0.6321205588285576
    """
    return max(default_beta(epsilon), Fraction(repr(min(float_below(_most(epsilon)), _BELOW_ONE))))


def _most(epsilon: Fraction) -> Decimal:
    """1 - e^-epsilon, at most, to some sixty digits."""
    return downwards(60).subtract(1, exponential(-epsilon, 80)[1])


def least_epsilon(beta: Fraction) -> Fraction:
    """The smallest epsilon for which the theorem allows that beta, -ln(1 - beta), rounded up to 12
    decimals.
    """
    return rounded_up(-logarithm(1 - beta, 60 + len(str(beta.denominator)))[0], EPSILON_PLACES)
