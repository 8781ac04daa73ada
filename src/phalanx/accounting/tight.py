# SPDX-License-Identifier: Apache-2.0
"""The exact delta of the mechanism itself: the hockey-stick divergence between what it says about
two neighbouring tables.

A cell with n rows, or n + 1, shows the count of its sampled rows, P = Bin(n, beta) or Q = Bin(n +
1, beta); all counts below k look alike. ``delta = sup over n of max(sum (Q - e^epsilon P)+, sum (P
- e^epsilon Q)+)``.

**One n is enough in each direction.** With gamma = 1 - (1 - beta) e^-epsilon, g = 1 - (1 - beta)
e^epsilon:

- *Added row.* Q(j)/P(j) = (n+1)(1-beta)/(n+1-j) rises with j and exceeds e^epsilon iff j > (n+1)
  gamma. While (n+1) gamma < k, the best event is {j >= k}, and A_n = P(Bin(n+1) >= k) - e^epsilon
  P(Bin(n) >= k); from n to n+1 it grows by beta P(Bin(n) = k-1) ((n+1)(1-beta)/(n+2-k) -
  e^epsilon), which is positive iff (n+1) gamma < k-1. So A_n rises up to n* = floor((k-1)/gamma).
  From n* on suppression changes nothing, and A_n is the divergence of the bare pair (Bin(n+1),
  Bin(n)); one more coin added to both sides makes it the pair of n+1, so by post-processing it
  falls. The supremum is A at n*.
- *Removed row.* The same with the events {j <= t}: B_n = P(Bin(n) <= k-1) - e^epsilon P(Bin(n+1) <=
  k-1) grows iff (n+1) g < k-1, then it is the bare pair's and falls. The supremum is B at
  floor((k-1)/g) where g > 0; where g <= 0 (epsilon >= -ln(1-beta)) B_n rises to 0 and never is
  positive.

Both are sums of positive terms: A = sum_{j>=k} Q(j) (1 - (n+1-j)/((n+1)(1-gamma))), B = sum_{j<k}
P(j) (1 - (n+1)(1-g)/(n+1-j)).

It falls with k (a larger k is post-processing), falls with epsilon, and rises with beta (a smaller
sample is a sample of the larger one).
"""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from phalanx.accounting.binomials import LONGEST, Gamma, log_pmf, pmf, rest_between, too_extreme
from phalanx.accounting.directed import downwards, quotient, upwards

_ENOUGH = Decimal("1e-25")

_Between = Callable[[int, Fraction, Fraction, int], tuple[Decimal, Decimal]]


def log_delta(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """The logarithm of the exact delta as floats see it: to search with, not to promise."""
    return max(log_added(k, beta, epsilon), log_removed(k, beta, epsilon))


def log_added(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """The logarithm of sup_n A_n: how much likelier an event may be with the row than e^epsilon
    times without it.
    """
    gamma = Gamma(beta, epsilon)
    trials = gamma.most(k - 1) + 1
    odds = float(beta) / float(1 - beta)
    term, total = 1.0, 0.0
    for j in range(k, min(trials, k + LONGEST) + 1):
        excess = (
            j - trials * gamma.value if gamma.value < 0.5 else trials * gamma.rest - (trials - j)
        )
        total += term * max(excess, 0.0) / (trials * gamma.rest)
        term *= (trials - j) / (j + 1) * odds
        if term < total * 1e-17:
            break
    else:
        if trials - k > LONGEST:
            raise too_extreme(f"a sum of more than {LONGEST} terms")
    return log_pmf(trials, k, float(beta), float(1 - beta)) + (
        math.log(total) if total > 0 else -math.inf
    )


def log_removed(k: int, beta: Fraction, epsilon: Fraction) -> float:
    """The logarithm of sup_n B_n: how much likelier an event may be without the row than e^epsilon
    times with it; minus infinity where it never is.
    """
    gamma = Gamma(beta, -epsilon)
    if not gamma.positive():
        return -math.inf
    n = gamma.most(k - 1)
    odds = float(1 - beta) / float(beta)
    term, total = 1.0, 0.0
    for j in range(k - 1, max(-1, k - 1 - LONGEST), -1):
        excess = (
            (n + 1) * gamma.value - j if gamma.value < 0.5 else n + 1 - j - (n + 1) * gamma.rest
        )
        total += term * max(excess, 0.0) / (n + 1 - j)
        term *= j / (n - j + 1) * odds
        if term < total * 1e-17:
            break
    else:
        if k > LONGEST:
            raise too_extreme(f"a sum of more than {LONGEST} terms")
    return log_pmf(n, k - 1, float(beta), float(1 - beta)) + (
        math.log(total) if total > 0 else -math.inf
    )


def delta_between(k: int, beta: Fraction, epsilon: Fraction) -> tuple[Decimal, Decimal]:
    """Two decimals with the exact delta between them, at most 1e-25 of it apart."""
    added, removed = log_added(k, beta, epsilon), log_removed(k, beta, epsilon)
    doubt = 1e-4 * max(1.0, -added * 1e-6)
    bounds = []
    if added >= removed - doubt:
        bounds.append(_narrowed(added_between, k, beta, epsilon))
    if removed >= added - doubt:
        bounds.append(_narrowed(removed_between, k, beta, epsilon))
    return max(low for low, _ in bounds), max(high for _, high in bounds)


def _narrowed(
    between: _Between, k: int, beta: Fraction, epsilon: Fraction
) -> tuple[Decimal, Decimal]:
    """The bounds, with as many digits as it takes."""
    digits = 50
    while digits < 4000:
        low, high = between(k, beta, epsilon, digits)
        if high - low <= low * _ENOUGH:
            return low, high
        digits *= 2
    raise too_extreme("a sum in more than 4000 digits")


def added_between(
    k: int, beta: Fraction, epsilon: Fraction, digits: int
) -> tuple[Decimal, Decimal]:
    """Two decimals with sup_n A_n between them."""
    trials = Gamma(beta, epsilon).most(k - 1) + 1
    down, up = downwards(digits), upwards(digits)
    least, most = rest_between(beta, epsilon, digits)
    gained, lost = beta.numerator, beta.denominator - beta.numerator
    low_term, high_term = pmf(down, trials, k, beta), pmf(up, trials, k, beta)
    low = high = Decimal(0)
    for j in range(k, trials + 1):
        low_weight = down.subtract(1, up.divide(trials - j, down.multiply(trials, least)))
        high_weight = up.subtract(1, down.divide(trials - j, up.multiply(trials, most)))
        low = down.add(low, down.multiply(low_term, max(low_weight, Decimal(0))))
        high = up.add(high, up.multiply(high_term, high_weight))
        ratio = Fraction((trials - j) * gained, (j + 1) * lost)
        if ratio < Fraction(999_999, 1_000_000) and high_term < high * Decimal(10) ** -40:
            return low, up.add(high, up.multiply(high_term, quotient(up, ratio / (1 - ratio))))
        low_term = down.divide(down.multiply(low_term, (trials - j) * gained), (j + 1) * lost)
        high_term = up.divide(up.multiply(high_term, (trials - j) * gained), (j + 1) * lost)
    return low, high


def removed_between(
    k: int, beta: Fraction, epsilon: Fraction, digits: int
) -> tuple[Decimal, Decimal]:
    """Two decimals with sup_n B_n between them; 0 and 0 where no B_n is positive."""
    gamma = Gamma(beta, -epsilon)
    if not gamma.positive():
        return Decimal(0), Decimal(0)
    n = gamma.most(k - 1)
    down, up = downwards(digits), upwards(digits)
    least, most = rest_between(beta, -epsilon, digits)
    gained, lost = beta.numerator, beta.denominator - beta.numerator
    low_term, high_term = pmf(down, n, k - 1, beta), pmf(up, n, k - 1, beta)
    low = high = Decimal(0)
    for j in range(k - 1, -1, -1):
        low_weight = down.subtract(1, up.divide(up.multiply(n + 1, most), n + 1 - j))
        high_weight = up.subtract(1, down.divide(down.multiply(n + 1, least), n + 1 - j))
        low = down.add(low, down.multiply(low_term, max(low_weight, Decimal(0))))
        high = up.add(high, up.multiply(high_term, high_weight))
        ratio = Fraction(j * lost, (n - j + 1) * gained)
        if ratio < Fraction(999_999, 1_000_000) and high_term < high * Decimal(10) ** -40:
            return low, up.add(high, up.multiply(high_term, quotient(up, ratio / (1 - ratio))))
        low_term = down.divide(down.multiply(low_term, j * lost), (n - j + 1) * gained)
        high_term = up.divide(up.multiply(high_term, j * lost), (n - j + 1) * gained)
    return low, high
