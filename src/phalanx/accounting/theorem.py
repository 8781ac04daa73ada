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

from phalanx.accounting.binomials import Gamma, log_tail, tail_between
from phalanx.accounting.directed import downwards, log_of, quotient


def log_delta(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """The logarithm of d(k, beta, epsilon) as floats see it: to search with, not to promise."""
    return max(value for _, _, value in _local_maxima(k, Gamma(beta, epsilon)))


def delta_between(k: int, beta: Fraction, epsilon: Fraction) -> tuple[Decimal, Decimal]:
    """Two decimals with d(k, beta, epsilon) between them, some 1e-30 apart."""
    maxima = list(_local_maxima(k, Gamma(beta, epsilon)))
    largest = max(value for _, _, value in maxima)
    digits = 40 + len(str(maxima[-1][1]))
    bounds = [
        tail_between(n, m, beta, digits)
        for m, n, value in maxima
        if value >= largest - float_doubt(n)
    ]
    return max(low for low, _ in bounds), max(high for _, high in bounds)


def float_doubt(n: int) -> float:
    """By how much a logarithm of ours, of a probability among n trials, may be wrong at most, with
    much to spare.
    """
    return 1e-8 + 1e-14 * n


def _local_maxima(k: int, gamma: Gamma) -> Iterator[tuple[int, int, float]]:
    """(m, n_m, ln f(m)) for all m that may hold the maximum."""
    p, q = float(gamma.beta), float(1 - gamma.beta)
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
        ((n, m, value) for m, n, value in _local_maxima(k, Gamma(beta, epsilon))), key=itemgetter(2)
    )
    return None if tail_keeps(n, m, beta, delta) else (n, m)


def tail_keeps(n: int, m: int, beta: Fraction, delta: Fraction) -> bool:
    """Whether P(Bin(n, beta) >= m), with n_m or fewer trials, is at most ``delta``."""
    distance = log_tail(n, m, float(beta), float(1 - beta)) - log_of(delta)
    if abs(distance) > float_doubt(n):
        return distance < 0
    return tail_between(n, m, beta, 60)[1] <= quotient(downwards(60), delta)
