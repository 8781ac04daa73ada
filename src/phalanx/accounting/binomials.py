# SPDX-License-Identifier: Apache-2.0
"""Binomial probabilities: floats to search with (as logarithms, so that nothing underflows),
decimals rounded outwards to answer with.
"""

import math
from decimal import Context, Decimal
from fractions import Fraction

from phalanx.accounting.directed import downwards, power, quotient, upwards
from phalanx.errors import PlanError

LONGEST = 1_000_000
"""The largest number of steps of one sum or product: beyond it an answer would take more than some
seconds.
"""

_HALF_LOG_TAU = math.log(2 * math.pi) / 2


def too_extreme(what: str) -> PlanError:
    """The refusal of a question that would take more than some seconds."""
    return PlanError(
        f"these parameters are too extreme to be computed in some seconds ({what}); take a smaller"
        " k, a larger epsilon or a larger delta."
    )


# ---- floats, to search


def log_pmf(n: int, j: int, p: float, q: float) -> float:
    """The logarithm of P(Bin(n, p) = j) with q = 1 - p, by Loader's saddle-point form: no large
    numbers are subtracted from each other.
    """
    if j == 0:
        return n * (math.log1p(-p) if p < 0.5 else math.log(q))
    if j == n:
        return n * (math.log1p(-q) if q < 0.5 else math.log(p))
    error = _stirling_error(n) - _stirling_error(j) - _stirling_error(n - j)
    return (
        error
        - _deviance(j, n * p)
        - _deviance(n - j, n * q)
        + 0.5 * math.log(n / (2 * math.pi * j * (n - j)))
    )


def log_tail(n: int, m: int, p: float, q: float) -> float:
    """The logarithm of P(Bin(n, p) >= m), for m above the mean."""
    odds = p / q
    term = total = 1.0
    for j in range(m, min(n, m + LONGEST)):
        term *= (n - j) / (j + 1) * odds
        total += term
        if term < total * 1e-17:
            return log_pmf(n, m, p, q) + math.log(total)
    if n - m > LONGEST:
        raise too_extreme(f"a sum of more than {LONGEST} terms")
    return log_pmf(n, m, p, q) + math.log(total)


def _stirling_error(n: int) -> float:
    """The logarithm of n! minus Stirling's approximation of it."""
    if n < 16:
        return math.lgamma(n + 1) - (n + 0.5) * math.log(n) + n - _HALF_LOG_TAU
    square = float(n) * n
    return (
        1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) / square
    ) / n


def _deviance(x: float, mean: float) -> float:
    """The deviance x ln(x / mean) + mean - x, also where x is near the mean."""
    if abs(x - mean) < 0.1 * (x + mean):
        v = (x - mean) / (x + mean)
        total = (x - mean) * v
        term = 2 * x * v
        for i in range(3, 1000, 2):
            term *= v * v
            new = total + term / i
            if new == total:
                return total
            total = new
    return x * math.log(x / mean) + mean - x


# ---- decimals, to answer


def pmf(context: Context, n: int, j: int, beta: Fraction) -> Decimal:
    """P(Bin(n, beta) = j), rounded to the side of the context."""
    few = min(j, n - j)
    if few > LONGEST:
        raise too_extreme(f"a binomial coefficient of more than {LONGEST} factors")
    result = context.multiply(
        power(context, quotient(context, beta), j),
        power(context, quotient(context, 1 - beta), n - j),
    )
    for i in range(1, few + 1):
        result = context.divide(context.multiply(result, n - few + i), i)
    return result


def tail_between(n: int, m: int, beta: Fraction, digits: int) -> tuple[Decimal, Decimal]:
    """Two decimals with P(Bin(n, beta) >= m) between them, for m above the mean."""
    return _tail(downwards(digits), n, m, beta, upper=False), _tail(
        upwards(digits), n, m, beta, upper=True
    )


def _tail(context: Context, n: int, m: int, beta: Fraction, *, upper: bool) -> Decimal:
    """The tail, term by term; what is left out is at most a geometric series, as the ratio of
    neighbouring terms falls.
    """
    gained, lost = beta.numerator, beta.denominator - beta.numerator
    term = total = pmf(context, n, m, beta)
    small = Decimal(10) ** (5 - context.prec)
    for j in range(m, n):
        term = context.divide(context.multiply(term, (n - j) * gained), (j + 1) * lost)
        total = context.add(total, term)
        ratio = Fraction((n - j - 1) * gained, (j + 2) * lost)
        if term < total * small and ratio < 1:
            return (
                context.add(total, context.multiply(term, quotient(context, ratio / (1 - ratio))))
                if upper
                else total
            )
    return total
